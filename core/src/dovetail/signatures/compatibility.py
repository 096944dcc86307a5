"""docs/torch-compatibility.md, written from what the code declares."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from dovetail.engine.omissions import OMISSIONS, Omission
from dovetail.torch_names.left_out import LEFT_OUT

# Only a checkout has a folder of documentation.
PAGE: Final = Path(__file__).parents[4] / "docs" / "torch-compatibility.md"
_HEAD: Final = """# Names of torch's

<!-- Written by `python -m dovetail.signatures`. -->

Functions, methods and classes have torch's names, in torch's places: `torch.linalg.qr`
is `dovetail.linalg.qr`. This page lists what is left out on purpose, each with its
reason, which the error for the name says too. A name that is neither there nor listed
is not there yet: asking for it raises an AttributeError that names the nearest one.

A name that …"""
_MODULES: Final = """# Modules of torch's

Imports need no more than `dovetail` for `torch`: `from dovetail.nn.modules.conv import
Conv2d` finds what dovetail has elsewhere, and takes no time from programs that do not
use it. What follows is left out, with what is below it, and an import says why; where
`torch` means dovetail (`dovetail run --as-torch`), it may be imported, and a name of it
raises when it is called.

A module that …"""


def page() -> str:
    """The text of the page."""
    left = [_modules(left.reason, left.modules.split()) for left in LEFT_OUT]
    return "\n\n".join([_HEAD, *map(_section, OMISSIONS), _MODULES, *left]) + "\n"


def _modules(reason: str, modules: list[str]) -> str:
    listed = ", ".join(sorted(modules))
    return "\n\n".join([_wrapped(f"**… {reason}:**"), _wrapped(f"- {listed}", "  ")])


def _section(omission: Omission) -> str:
    reason = _wrapped(f"**… {omission.reason}:**")
    return "\n\n".join([reason, "\n".join(_items(omission))])


def _items(omission: Omission) -> Iterator[str]:
    for room, names in omission.names.items():
        place = {"torch": "dovetail", "Tensor": "Tensor"}.get(room, f"dovetail.{room}")
        listed = " ".join(f"`{name}`" for name in sorted(names.split()))
        yield textwrap.fill(
            f"of `{place}`: {listed}", 88, initial_indent="- ", subsequent_indent="  ",
            break_long_words=False, break_on_hyphens=False,
        )  # fmt: skip


def _wrapped(text: str, indent: str = "") -> str:
    return textwrap.fill(
        text, 88, subsequent_indent=indent, break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip
