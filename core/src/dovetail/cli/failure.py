"""How the command reports errors: one red line on stderr, and a status."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import IO, Any

import click

INTERRUPTED = 130
"""Exit status after Ctrl-C: 128 + SIGINT, as shells count."""


class Failure(click.ClickException):
    """An error that a user can act on; exit status 1."""

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the message in red as one line."""
        text = " ".join(self.format_message().split())
        stream = sys.stderr if file is None else file
        click.secho(f"error: {text}", file=stream, fg="red")


def of_the_kit(module: str, what: str) -> Any:
    """A module that needs what only the extra `conformance` brings.

    Raises:
        Failure: something that it imports is not there; `what` says who needs it.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if str(error.name).startswith("dovetail"):
            raise
        raise Failure(
            f"{what} needs {error.name}: pip install 'dovetail[conformance]'"
        ) from error


def describe(error: BaseException) -> str:
    """The error's message, and its root cause where the message lacks it."""
    text = str(error) or type(error).__name__
    root = root_cause(error)
    if root is error or (str(root) and str(root) in text):
        return text
    return f"{text} (because of {type(root).__name__}: {root})"


def root_cause(error: BaseException) -> BaseException:
    """The first error of the chain that ended in `error`."""
    return chain(error)[-1]


def chain(error: BaseException) -> list[BaseException]:
    """`error`, what it was raised from, and so on to the root cause."""
    found = [error]
    while (cause := found[-1].__cause__) is not None and cause not in found:
        found.append(cause)
    return found
