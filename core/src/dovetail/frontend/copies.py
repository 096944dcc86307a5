"""torch's views as contiguous copies: `expand_copy` is `expand`, and a copy."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, Final

from dovetail.dtypes import DType  # noqa: F401
from dovetail.engine.attributes import (  # noqa: F401 (annotations of views name them)
    AxesOrEvery,
    Axis,
    AxisSet,
    NewAxis,
    Shape,
)
from dovetail.engine.integers import axis
from dovetail.engine.public import NAMESPACES, public
from dovetail.engine.tensor import Tensor
from dovetail.frontend import memory_order
from dovetail.frontend.complex import view_as_complex, view_as_real
from dovetail.ops.primitive import clone

_VIEWS: Final = (
    "as_strided", "detach", "diagonal", "select", "squeeze", "t", "transpose", "unfold",
    "unsqueeze", "view",
)  # fmt: skip
_LISTS: Final = ("split_with_sizes", "unbind")


def _offer(view: str, several: bool) -> None:
    plain = NAMESPACES["torch"].get(view) or getattr(Tensor, view)

    def copy(input: Tensor, *args: Any, **kwargs: Any) -> Any:
        found = plain(input, *args, **kwargs)
        return tuple(map(clone, found)) if several else clone(found)

    copy.__signature__ = _of_input(plain)  # type: ignore[attr-defined]
    copy.__doc__ = f"`{view}` in memory of its own."
    public(f"torch.{view}_copy")(copy)


def _of_input(function: Any) -> inspect.Signature:
    """The signature of a function of tensors, whose tensor is called input."""
    signature = inspect.signature(function)
    first, *rest = signature.parameters.values()
    return signature.replace(parameters=[first.replace(name="input"), *rest])


for _view in _VIEWS:
    _offer(_view, False)
for _view in _LISTS:
    _offer(_view, True)


@public("torch.alias_copy")
def alias_copy(input: Tensor) -> Tensor:
    """`input` in memory of its own."""
    return memory_order.copied("alias_copy", input, None)


@public("torch.expand_copy")
def expand_copy(
    input: Tensor, size: Sequence[int], *, implicit: bool = False
) -> Tensor:
    """`expand` in memory of its own."""
    return clone(input.expand(size))


@public("torch.permute_copy")
def permute_copy(input: Tensor, dims: Sequence[int]) -> Tensor:
    """`permute` in memory of its own."""
    return clone(input.permute(dims))


@public("torch.split_copy")
def split_copy(input: Tensor, split_size: int, dim: int = 0) -> tuple[Tensor, ...]:
    """`split` into parts of one size, in memory of their own."""
    return tuple(map(clone, input.split(split_size, dim)))


@public("torch.slice_copy")
def slice_copy(
    input: Tensor, dim: int = 0, start: int | None = None, end: int | None = None,
    step: int = 1,
) -> Tensor:  # fmt: skip
    """`input[start:end:step]` along a dim, in memory of its own."""
    at = axis("slice_copy", "dim", dim, input.ndim)
    part: Tensor = input[(*(slice(None),) * at, slice(start, end, step))]
    return clone(part)


@public("torch.view_as_real_copy")
def view_as_real_copy(input: Tensor) -> Tensor:
    """`view_as_real` in memory of its own."""
    return clone(view_as_real(input))


@public("torch.view_as_complex_copy")
def view_as_complex_copy(input: Tensor) -> Tensor:
    """`view_as_complex` in memory of its own."""
    return clone(view_as_complex(input))


@public("unsafe_chunk")
def unsafe_chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """`chunk`, whose views may be written here as well."""
    return tuple(input.chunk(chunks, dim))


@public("unsafe_split")
def unsafe_split(input: Tensor, split_size: int, dim: int = 0) -> tuple[Tensor, ...]:
    """`split`, whose views may be written here as well."""
    return tuple(input.split(split_size, dim))


@public("unsafe_split_with_sizes")
def unsafe_split_with_sizes(
    input: Tensor, split_sizes: Sequence[int], dim: int = 0
) -> tuple[Tensor, ...]:
    """`split_with_sizes`, whose views may be written here as well."""
    return tuple(input.split_with_sizes(split_sizes, dim))
