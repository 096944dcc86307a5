"""torch's views as copies: `expand_copy` is `expand`, in memory of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from dovetail.engine.public import public
from dovetail.engine.tensor import Tensor

_VIEWS: Final = (
    "as_strided", "diagonal", "expand", "permute", "squeeze", "t", "transpose",
    "unfold", "unsqueeze", "view",
)  # fmt: skip
_LISTS: Final = ("split", "split_with_sizes", "unbind")


def _offer(view: str, several: bool) -> None:
    def copy(input: Tensor, *args: Any, **kwargs: Any) -> Any:
        found = getattr(input, view)(*args, **kwargs)
        return tuple(y.clone() for y in found) if several else found.clone()

    copy.__doc__ = f"`{view}` in memory of its own."
    public(f"torch.{view}_copy")(copy)


for _view in _VIEWS:
    _offer(_view, False)
for _view in _LISTS:
    _offer(_view, True)


@public("torch.alias_copy")
def alias_copy(input: Tensor) -> Tensor:
    """`input` in memory of its own."""
    return input.clone()


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
