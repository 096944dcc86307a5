"""torch's reductions: sums, products, extremes, truth."""

from __future__ import annotations

from typing import Any, NamedTuple

from dovetail.engine.attributes import axis
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentTypeError, EmptyDimError
from dovetail.frontend.export import torch_name
from dovetail.ops import extremes as x
from dovetail.ops import order as o
from dovetail.ops.elementwise import minimum
from dovetail.ops.primitive import maximum
from dovetail.ops.view import reshape, unsqueeze


class ValuesIndices(NamedTuple):
    """Elements along a dim, and where they were."""

    values: Tensor
    indices: Tensor


class MinMax(NamedTuple):
    """The least and the greatest."""

    min: Tensor
    max: Tensor


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


def flattened(input: Tensor) -> Tensor:
    """All elements in one dim."""
    return reshape(input, (-1,))


def picked(input: Tensor, index: Tensor, dim: int, keepdim: bool) -> ValuesIndices:
    """The elements at one place a line, and the places."""
    values = o.pick(input, index, dim)
    if keepdim and input.ndim:
        values, index = unsqueeze(values, dim), unsqueeze(index, dim)
    return ValuesIndices(values, index)


def _extreme(name: str, of_all: Any, along: Any, of_two: Any) -> Any:
    """torch's three forms: of all, along a dim with indices, of two tensors."""

    def call(
        input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Any = None
    ) -> Any:
        if not isinstance(input, Tensor):
            raise ArgumentTypeError(name, "input", was=repr(input), needed="a Tensor")
        if isinstance(dim, Tensor):
            other, dim = dim, None
        if other is not None:
            return of_two(input, other)
        if dim is None:
            filled(name, input, None)
            return of_all(input)
        if isinstance(dim, tuple | list):
            raise ArgumentTypeError(
                name,
                "dim",
                was=repr(dim),
                needed="one int",
                remedy=f"use a{name} for several",
            )
        return ValuesIndices(*along(input, dim, keepdim))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = (
        f"The {name} of all, along `dim` with its indices, or of two tensors."
    )
    return torch_name(name)(call)


max = _extreme("max", x.amax, o.max_along, maximum)
min = _extreme("min", x.amin, o.min_along, minimum)


@torch_name("aminmax")
def aminmax(input: Tensor, *, dim: int | None = None, keepdim: bool = False) -> MinMax:
    """The least and the greatest, of all or along `dim`."""
    filled("aminmax", input, dim)
    return MinMax(x.amin(input, dim, keepdim), x.amax(input, dim, keepdim))


__all__ = ["MinMax", "ValuesIndices"]
