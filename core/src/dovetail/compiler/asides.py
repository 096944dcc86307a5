"""What programs tell torch's compiler, and what `dovetail.compile` need not be told."""

from __future__ import annotations

from typing import TypeVar

from dovetail.compiler.states import is_compiling

T = TypeVar("T")


def allow_in_graph(fn: T) -> T:
    """The function itself: what it does is recorded as anything else is."""
    return fn


def assume_constant_result(fn: T) -> T:
    """The function itself, which is called each time."""
    return fn


def cudagraph_mark_step_begin() -> None:
    """Say that a step begins: nothing is kept from one to the next."""


def is_exporting() -> bool:
    """False: nothing is exported."""
    return False


def is_dynamo_compiling() -> bool:
    """Whether a function is being recorded, by its older name."""
    return is_compiling()
