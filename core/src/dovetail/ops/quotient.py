"""Quotients and remainders under torch's names: integers by 0 are refused.

The ops give 0 there, so that no kernel has to trap and gradients, bodies and captured
programs need not look. As in PyTorch, calls on the host's memory are refused, where
looking costs no waiting. A device that tells errors late tells of these, too, at the
next wait, as it does of indices; other accelerators give what the ops give.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from dovetail.engine.attributes import Operand
from dovetail.engine.checks import at_hand, tell_later
from dovetail.engine.elements import operand
from dovetail.engine.public import public
from dovetail.engine.tensor import Tensor
from dovetail.errors import DivisionByZero
from dovetail.ops import rounding


def refuse_zero(name: str, input: Any, other: Any) -> None:
    """Raise where an integer would be divided by 0."""
    if isinstance(other, Tensor):
        if not other.dtype.is_inexact and _is_whole(input):
            values = at_hand(other)
            if values is None:
                tell_later(other, _itself, partial(_by_zero, name))
            elif not values.all():
                raise _by_zero(name, other)
    elif isinstance(other, int | np.integer) and _is_whole(input):
        other = int(other)
        dtype = input.dtype if isinstance(input, Tensor) else None
        if not (other if dtype is None else operand(name, dtype, other)):
            raise _by_zero(name, other)


def _is_whole(x: Any) -> bool:
    """Whether `x` holds integers or bools, one at least."""
    if isinstance(x, Tensor):
        return not x.dtype.is_inexact and 0 not in x._a.shape
    return isinstance(x, int | np.integer)


def _itself(x: Any) -> Any:
    return x


def _by_zero(name: str, other: Any) -> DivisionByZero:
    was = repr(other) if isinstance(other, int) else "a tensor with a 0 in it"
    return DivisionByZero(
        name, "other", was=was, needed="no 0 where integers are divided",
        remedy="divide floats, or use where(other != 0, …)",
    )  # fmt: skip


def refusing(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` of two operands, which refuses to divide integers by 0."""

    def divide(input: Any, other: Any) -> Any:
        refuse_zero(name, input, other)
        return function(input, other)

    return divide


@public("floor_divide Tensor.floor_divide_", out=True)
def floor_divide(input: Operand, other: Operand) -> Tensor:
    """input / other rounded down. Raises: DivisionByZero for integers by 0."""
    refuse_zero("floor_divide", input, other)
    return rounding.floor_divide(input, other)


@public("remainder Tensor.remainder_", out=True)
def remainder(input: Operand, other: Operand) -> Tensor:
    """input modulo other, with the sign of `other`.

    Raises: DivisionByZero for integers by 0.
    """
    refuse_zero("remainder", input, other)
    return rounding.remainder(input, other)


@public("fmod Tensor.fmod_", out=True)
def fmod(input: Tensor, other: Operand) -> Tensor:
    """What truncated division leaves, with the sign of `input`.

    Raises: DivisionByZero for integers by 0.
    """
    refuse_zero("fmod", input, other)
    return rounding.fmod(input, other)
