"""torch's reductions that are no op: forms of one name, and pairs of extremes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail.engine.attributes import Absent
from dovetail.engine.integers import axis
from dovetail.engine.public import public
from dovetail.engine.return_types import fields
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentTypeError, EmptyDimError
from dovetail.ops import extremes as x
from dovetail.ops import pick
from dovetail.ops.bounds import minimum
from dovetail.ops.primitive import maximum

VALUED = ("values", "indices")


def dim_of(name: str, dim: int, x: Tensor) -> int:
    """A dim counted from the front.

    Raises:
        DimError: `x` does not have it.
    """
    return axis(name, "dim", dim, x.ndim)


def filled(name: str, input: Tensor, dim: int | None) -> None:
    """Raise where nothing is left to choose from.

    Raises:
        EmptyDimError: the dim, or the whole tensor if there is none, is empty.
    """
    if dim is None and 0 in input._a.shape:
        raise EmptyDimError(
            name, "input", was=f"empty ({tuple(input._a.shape)})",
            needed="at least one element, or a dim to reduce over",
        )  # fmt: skip


@public("max", out="same")
def max(
    input: Tensor, dim: int | Sequence[int] | Tensor | Absent = None,
    keepdim: bool = False, *, other: Tensor | Absent = None,
) -> Any:  # fmt: skip
    """The greatest of all, along `dim` with its indices, or of two tensors.

    Args:
        input: any shape, of real numbers; NaN is the greatest.
        dim: one dim, or the other tensor.

    Returns:
        A tensor; with a dim, `values` and `indices`, those of the first of several.

    Raises:
        EmptyDimError: there is nothing to choose from.

    >>> import dovetail as dt
    >>> dt.tensor([[1.0, 3.0], [4.0, 2.0]]).max(1).values
    tensor([3., 4.])
    """
    second = _second("max", dim, other)
    if second is not None:
        return maximum(input, second)
    return _extreme("max", x.amax, pick.max_along, input, dim, keepdim)


@public("min", out="same")
def min(
    input: Tensor, dim: int | Sequence[int] | Tensor | Absent = None,
    keepdim: bool = False, *, other: Tensor | Absent = None,
) -> Any:  # fmt: skip
    """The least of all, along `dim` with its indices, or of two tensors; as `max`.

    Raises: EmptyDimError over no elements.

    >>> torch.tensor([[1.0, 3.0], [4.0, 2.0]]).min(1).indices
    tensor([0, 1])
    """
    second = _second("min", dim, other)
    if second is not None:
        return minimum(input, second)
    return _extreme("min", x.amin, pick.min_along, input, dim, keepdim)


def _second(name: str, dim: Any, other: Tensor | None) -> Tensor | None:
    """The other tensor, if the call is of two."""
    if other is not None and dim is not None:
        raise ArgumentTypeError(
            name, "other", was="given beside dim", needed="one of them"
        )
    return dim if isinstance(dim, Tensor) else other


def _extreme(
    name: str, of_all: Any, along: Any, input: Tensor, dim: Any, keepdim: bool
) -> Any:
    if dim is None:
        filled(name, input, None)
        return of_all(input)
    if isinstance(dim, tuple | list):
        raise ArgumentTypeError(
            name, "dim", was=repr(dim), needed="one int",
            remedy=f"use a{name} for several",
        )  # fmt: skip
    return fields(name, VALUED)(along(input, dim, keepdim))


@public("aminmax", out="same")
def aminmax(input: Tensor, *, dim: int | None = None, keepdim: bool = False) -> Any:
    """The least and the greatest, `min` and `max`, of all or along `dim`."""
    filled("aminmax", input, dim)
    of = () if dim is None else dim
    found = x.amin(input, of, keepdim), x.amax(input, of, keepdim)
    return fields("aminmax", ("min", "max"))(found)


__all__ = ["VALUED", "aminmax", "dim_of", "filled", "max", "min"]
