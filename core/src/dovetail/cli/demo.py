"""`dovetail demo`: the programs of `dovetail.demos`."""

from __future__ import annotations

from typing import Final

import click

from dovetail.cli.lazy import LazyGroup

DEMOS: Final = {"digits": "dovetail.demos.digits.command:digits"}


@click.group(cls=LazyGroup, lazy=DEMOS)
def demo() -> None:
    """Small, complete programs on real data.

    \b
    Example:
      dovetail demo digits --epochs 5 --output five.png
    """
