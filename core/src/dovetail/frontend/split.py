"""torch's names for views of parts along one dim: selected, narrowed, split."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from dovetail.dtypes import INTEGRAL, int64
from dovetail.engine.attributes import Absent
from dovetail.engine.dims import need_dims
from dovetail.engine.integers import integers
from dovetail.engine.public import public
from dovetail.engine.scopes import anywhere, watched
from dovetail.engine.tensor import Parameter, Tensor
from dovetail.engine.views import as_view, together
from dovetail.errors import (
    ArgumentError,
    ArgumentTypeError,
    DTypeError,
    IndexOutOfRange,
)
from dovetail.frontend.views import existing_dim
from dovetail.ops import view as v
from dovetail.ops.shape import along

_PLAIN: Final = (Tensor, Parameter)


def part(x: Tensor, dim: int, entry: Any) -> Tensor:
    """A basic index applied to one dim."""
    if isinstance(entry, slice) and entry.step is not None and entry.step <= 0:
        raise ArgumentError("slice", "step", was=entry.step, needed="1 or more")
    slicer = x._kind.slicer
    index = along(dim, entry)
    if slicer is None or type(x) not in _PLAIN or (anywhere[0] and watched()):
        return v.basic_index(x, index)
    try:
        native = slicer(x._a, (*index, ...))
    except IndexError:  # the op says what is wrong
        y = v.basic_index(x, index)
        return y
    return as_view(v.basic_index.op, x, native, index)


def rows(x: Tensor, dim: int) -> tuple[Tensor, ...]:
    """All slices along a dim, which vanishes."""
    return together("unbind", x, _rows(x, dim))


def _rows(x: Tensor, dim: int) -> list[Tensor]:
    count = int(x._a.shape[dim])
    slicer = x._kind.slicer
    if slicer is None or type(x) not in _PLAIN or (anywhere[0] and watched()):
        return [part(x, dim, i) for i in range(count)]
    before, native, op = (slice(None),) * dim, x._a, v.basic_index.op
    indices = [(*before, i) for i in range(count)]
    return [as_view(op, x, slicer(native, (*at, ...)), at) for at in indices]


@public("select")
def select(input: Tensor, dim: int, index: int) -> Tensor:
    """The slice at `index` along `dim`, which vanishes."""
    return part(input, existing_dim("select", input, dim), int(index))


@public("narrow")
def narrow(input: Tensor, dim: int, start: int | Tensor, length: int) -> Tensor:
    """The `length` slices from `start` on along `dim`."""
    dim = existing_dim("narrow", input, dim)
    size = int(input._a.shape[dim])
    if isinstance(start, Tensor) and (start.ndim or start.dtype not in INTEGRAL):
        raise DTypeError(
            "narrow", "start", was=f"a {start.dtype.name} tensor",
            needed="a 0-d integer one",
        )  # fmt: skip
    first = int(start)
    if not -size <= first <= size:
        raise IndexOutOfRange("narrow", "start", was=first, needed=f"-{size} to {size}")
    first = first + size if first < 0 else first
    if length < 0 or first + length > size:
        raise ArgumentError(
            "narrow", "length", was=length,
            needed=f"at most {size - first} from {first}",
        )  # fmt: skip
    return part(input, dim, slice(first, first + length))


def _cut(x: Tensor, dim: int, sizes: Sequence[int]) -> tuple[Tensor, ...]:
    found, at = [], 0
    for size in sizes:
        found.append(part(x, dim, slice(at, at + size)))
        at += size
    return tuple(found)


@public("torch.split")
def split(
    tensor: Tensor, split_size_or_sections: int | Sequence[int], dim: int = 0
) -> tuple[Tensor, ...]:
    """Parts along `dim` of one size, the last maybe smaller, or of the sizes given.

    Returns: views.

    Raises: ArgumentError for a size below 0, or sizes that do not add up to the dim's.

    >>> torch.split(torch.arange(5), 2)
    (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """
    dim = existing_dim("split", tensor, dim)
    total, size = int(tensor._a.shape[dim]), split_size_or_sections
    if isinstance(size, Tensor) and not size.ndim:
        (size,) = integers("split", "split_size", size, 0)
    if isinstance(size, int):
        if size < 0 or (not size and total):
            raise ArgumentError(
                "split", "split_size", was=size, needed="a positive size"
            )
        starts = range(0, total, size) if total else range(1)
        parts = _cut(tensor, dim, [min(size, total - at) for at in starts])
        return together("split", tensor, parts)
    if not isinstance(size, tuple | list):
        raise ArgumentTypeError(
            "split", "split_size_or_sections", was=repr(size),
            needed="an int, or a list of sizes", remedy="call int() of it",
        )  # fmt: skip
    sections = list(integers("split", "sections", size, 0))
    if sum(sections) != total or any(n < 0 for n in sections):
        raise ArgumentError(
            "split", "sections", was=sections,
            needed=f"sizes that sum to {total}, that of dim {dim}",
        )  # fmt: skip
    return together("split", tensor, _cut(tensor, dim, sections))


@public("Tensor.split")
def split_of(
    self: Tensor, split_size: int | Sequence[int], dim: int = 0
) -> tuple[Tensor, ...]:
    """Parts along `dim` of one size, the last maybe smaller, or of the sizes given."""
    return split(self, split_size, dim)


@public("split_with_sizes")
def split_with_sizes(
    input: Tensor, split_sizes: Sequence[int], dim: int = 0
) -> tuple[Tensor, ...]:
    """Parts along `dim` of the sizes given."""
    if isinstance(split_sizes, int):
        raise ArgumentTypeError(
            "split_with_sizes", "split_sizes", was=split_sizes, needed="several sizes"
        )
    return split(input, split_sizes, dim)


@public("chunk")
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most `chunks` parts along `dim`, of equal size but for the last.

    Returns: views, maybe fewer than `chunks`.

    Raises: ArgumentError for less than one chunk.

    >>> torch.chunk(torch.arange(5), 2)
    (tensor([0, 1, 2]), tensor([3, 4]))
    """
    if chunks <= 0:
        raise ArgumentError("chunk", "chunks", was=chunks, needed="at least 1")
    dim = existing_dim("chunk", input, dim)
    total = int(input._a.shape[dim])
    if not total:
        return _cut(input, dim, [0] * chunks)
    return split(input, -(-total // chunks), dim)


@public("tensor_split")
def tensor_split(
    input: Tensor, sections: int | Sequence[int] | Tensor | Absent = None, dim: int = 0,
    *, indices: Sequence[int] | Tensor | Absent = None,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Parts along `dim`: that many of nearly equal size, or cut before the indices.

    Args:
        sections: how many; the indices may stand here too, as a list or tensor.

    Raises: OutOfMemory for more parts than there is room for.
    """
    dim = existing_dim("tensor_split", input, dim)
    total, at = int(input._a.shape[dim]), one_of("tensor_split", sections, indices)
    if isinstance(at, Tensor) and at.dtype is not int64:
        raise DTypeError(
            "tensor_split", "indices", was=at.dtype.name, needed="an int64 tensor"
        )
    if isinstance(at, Tensor):
        at = at.tolist()
    if not isinstance(at, int):
        at = integers("tensor_split", "indices", at, 0)
    else:
        if at <= 0:
            raise ArgumentError("tensor_split", "sections", was=at, needed="at least 1")
        size, larger = divmod(total, at)
        # Lists repeated ask for their room at once: too many parts are told at once.
        return _cut(input, dim, [size + 1] * larger + [size] * (at - larger))
    cuts = [0, *at, total]
    spans = [slice(a, b) for a, b in zip(cuts[:-1], [*cuts[1:-1], None], strict=True)]
    return tuple(part(input, dim, span) for span in spans)


def one_of(name: str, sections: Any, indices: Any) -> Any:
    """The one of the two that is given.

    Raises:
        ArgumentTypeError: none is, or both are.
    """
    if (sections is None) == (indices is None):
        raise ArgumentTypeError(
            name, "sections", was="missing" if sections is None else "given twice",
            needed="either sections or indices",
        )  # fmt: skip
    return indices if sections is None else sections


def _nth_split(name: str, least: int, dim: int) -> Callable[..., tuple[Tensor, ...]]:
    def split_there(
        input: Tensor, sections: int | Sequence[int] | Tensor | Absent = None, *,
        indices: Sequence[int] | Tensor | Absent = None,
    ) -> tuple[Tensor, ...]:  # fmt: skip
        need_dims(name, "input", input, least=least)
        at = 0 if input.ndim == 1 else dim
        sections = one_of(name, sections, indices)
        if isinstance(sections, int | np.integer) and (
            not sections or input._a.shape[at] % sections
        ):
            raise ArgumentError(
                name, "sections", was=sections,
                needed=f"a divisor of {input._a.shape[at]}",
            )  # fmt: skip
        return tensor_split(input, sections, at)

    split_there.__name__ = name
    split_there.__doc__ = f"Parts along dim {dim}, as `tensor_split` cuts them."
    return public(name)(split_there)


hsplit = _nth_split("hsplit", 1, 1)
vsplit = _nth_split("vsplit", 2, 0)
dsplit = _nth_split("dsplit", 3, 2)


@public("unbind")
def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """The slices along `dim`, which vanishes."""
    return rows(input, existing_dim("unbind", input, dim))
