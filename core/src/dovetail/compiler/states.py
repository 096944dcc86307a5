"""Whether this context follows a compiled function, or must follow none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

FOLLOWING: Final = "following"
DISABLED: Final = "disabled"
_state: ContextVar[str | None] = ContextVar("compiling", default=None)

state: Final = _state.get
"""FOLLOWING, DISABLED, or None outside of both."""


@contextmanager
def in_state(state: str) -> Iterator[None]:
    """One of them while the block runs."""
    token = _state.set(state)
    try:
        yield
    finally:
        _state.reset(token)


def is_compiling() -> bool:
    """Whether this context runs a compiled function."""
    return state() == FOLLOWING


__all__ = ["DISABLED", "FOLLOWING", "in_state", "is_compiling", "state"]
