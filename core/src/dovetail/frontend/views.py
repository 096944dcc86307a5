"""torch's names for views: the same memory under another geometry."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from dovetail.engine.annotations import described
from dovetail.engine.dims import need_dims
from dovetail.engine.integers import axis, axis_set, integers
from dovetail.engine.public import public
from dovetail.engine.signature import broadcast
from dovetail.engine.tape import storage_of
from dovetail.engine.tensor import Tensor
from dovetail.engine.tensor_type import Size
from dovetail.engine.views import memory_size
from dovetail.errors import ArgumentError, ArgumentTypeError, DimError, MisusedDimError
from dovetail.ops import view as v
from dovetail.ops.primitive import conj
from dovetail.ops.strided import as_strided as strided_view
from dovetail.ops.view_shapes import resolve_shape


def existing_dim(name: str, x: Tensor, dim: int) -> int:
    """A dim counted from the front, of a tensor that has at least one."""
    if not x.ndim:
        raise MisusedDimError(name, "input", was="0-d", needed="at least one dim")
    return axis(name, "dim", dim, x.ndim)


@public("swapaxes Tensor.swapaxes_", view=True)
def swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor:
    """Two dims swapped."""
    return v.transpose(input, axis0, axis1)


@public("movedim moveaxis")
def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """Dims moved to other places; the rest keep their order."""
    ndim = input.ndim
    taken = axis_set("movedim", "source", source, ndim)
    places = axis_set("movedim", "destination", destination, ndim)
    if len(taken) != len(places):
        raise DimError(
            "movedim", "source and destination", was=f"{source} and {destination}",
            needed="as many of one as of the other",
        )  # fmt: skip
    order = [d for d in range(ndim) if d not in taken]
    for to, d in sorted(zip(places, taken, strict=True)):
        order.insert(to, d)
    return v.permute(input, tuple(order[:ndim]))


@public("torch.reshape Tensor.reshape*", plain=v.view)
def reshape(input: Tensor, shape: Sequence[int]) -> Tensor:
    """The same elements under another shape: a view where possible, else a copy.

    Args:
        shape: sizes, of which one may be -1 for what is left.

    Raises: ShapeError for another number of elements.

    Examples:
        >>> import dovetail as torch
        >>> torch.arange(6).reshape(2, -1)
        tensor([[0, 1, 2],
                [3, 4, 5]])
    """
    sizes = tuple(shape)
    # What fits is remembered by sizes, and a tensor may be another number later.
    if any(type(n) is not int for n in sizes):
        sizes = integers("reshape", "shape", sizes, input.ndim)
    return v.reshape(input, sizes)


@public("flatten")
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """The dims from `start_dim` to `end_dim` made one; itself if it is one dim.

    Raises: DimError for a dim that is not there, or an `end_dim` before `start_dim`.

    >>> torch.flatten(torch.ones(2, 3, 4), start_dim=1).shape
    dovetail.Size([2, 12])
    """
    ndim = input.ndim
    first = axis("flatten", "start_dim", start_dim, ndim)
    last = axis("flatten", "end_dim", end_dim, ndim)
    if first > last:
        raise MisusedDimError(
            "flatten", "start_dim", was=start_dim, needed=f"at most end_dim, {end_dim}"
        )
    if not ndim:
        return v.reshape(input, (1,))
    if first == last:
        return input
    size = tuple(input._a.shape)
    middle = math.prod(size[first : last + 1])
    return v.reshape(input, (*size[:first], middle, *size[last + 1 :]))


@public("unflatten")
def unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """One dim made several of the sizes given, one of which may be -1."""
    dim = existing_dim("unflatten", input, dim)
    size = tuple(input._a.shape)
    if not sizes:
        raise ArgumentError(
            "unflatten", "sizes", was="empty", needed="at least one size"
        )
    inner = resolve_shape("unflatten", (size[dim],), tuple(sizes))
    return v.reshape(input, (*size[:dim], *inner, *size[dim + 1 :]))


@public("ravel")
def ravel(input: Tensor) -> Tensor:
    """All elements in one dim, contiguous."""
    return v.reshape(v.contiguous(input), (-1,))


@public("as_strided Tensor.as_strided_", view=True)
def as_strided(
    input: Tensor, size: Sequence[int], stride: Sequence[int],
    storage_offset: int | None = None,
) -> Tensor:  # fmt: skip
    """Elements of the memory by element strides; the offset counts from its start."""
    backend = input._kind.backend
    layout, own = backend.geometry(input._a, storage_of(input).root)
    size, stride = tuple(size), tuple(stride)
    start = own if storage_offset is None else int(storage_offset)
    if start < 0:
        raise ArgumentError(
            "as_strided", "storage_offset", was=start, needed="at least 0"
        )
    _check_extent(input, size, stride, start)
    return strided_view(input, size, stride, start - own, tuple(layout))


def _check_extent(
    x: Tensor, size: tuple[int, ...], stride: tuple[int, ...], start: int
) -> None:
    """Refuse elements that lie outside the memory of `x`."""
    if 0 in size or len(size) != len(stride) or any(s < 0 for s in stride):
        return  # no elements, or what the op refuses by itself
    held = memory_size(x) // x._kind.dtype.itemsize
    last = start + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    if last >= held:
        raise ArgumentError(
            "as_strided", "size, stride and storage_offset",
            was=f"{size}, {stride} and {start}, which reach element {last}",
            needed=f"elements within the memory, of which there are {held}",
        )  # fmt: skip


@public("torch.broadcast_shapes")
def broadcast_shapes(*shapes: int | Sequence[int]) -> Size:
    """The common shape of operands of these shapes."""
    given = [(s,) if isinstance(s, int) else tuple(s) for s in shapes]
    if not given:
        return Size(())
    names = [f"shapes[{i}]" for i in range(len(given))]
    for name, shape in zip(names, given, strict=True):
        if any(size < 0 for size in shape):
            raise ArgumentError(
                "broadcast_shapes", name, was=shape, needed="no negative size"
            )
    return Size(broadcast("broadcast_shapes", given, names))


@public("torch.broadcast_tensors")
def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    """The tensors expanded to their common shape."""
    shape = broadcast_shapes(*(tuple(x._a.shape) for x in tensors))
    return tuple(v.expand(x, tuple(shape)) for x in tensors)


def open_tensors(tensors: tuple[Any, ...]) -> tuple[Any, ...]:
    """Tensors given one by one or as one sequence."""
    if len(tensors) == 1 and isinstance(tensors[0], tuple | list):
        return tuple(tensors[0])
    return tensors


def _opened(name: str, tensors: tuple[Any, ...]) -> tuple[Tensor, ...]:
    """`open_tensors`, if they are tensors."""
    given = open_tensors(tensors)
    for x in given:
        if not isinstance(x, Tensor):
            raise ArgumentTypeError(
                name, "tensors", was=described(x), needed="Tensors, or one sequence"
            )
    return given


def _at_least(name: str, grow: Callable[[Tensor], Tensor]) -> None:
    def atleast(*tensors: Tensor | Sequence[Tensor]) -> Any:
        given = tuple(map(grow, _opened(name, tensors)))
        alone = len(tensors) == 1 and isinstance(tensors[0], Tensor)
        return given[0] if alone else given

    atleast.__name__ = name
    atleast.__doc__ = f"Views with dims of size 1 added up to {name[-2]}."
    public(f"torch.{name}")(atleast)


def grown_1d(x: Tensor) -> Tensor:
    return v.reshape(x, (1,)) if not x.ndim else x


def grown_2d(x: Tensor) -> Tensor:
    return v.unsqueeze(grown_1d(x), 0) if x.ndim < 2 else x


def grown_3d(x: Tensor) -> Tensor:
    return v.unsqueeze(grown_2d(x), -1) if x.ndim < 3 else x


_at_least("atleast_1d", grown_1d)
_at_least("atleast_2d", grown_2d)
_at_least("atleast_3d", grown_3d)


def _matrix_transposed(self: Tensor) -> Tensor:
    """The last two dims swapped; of a 0-d tensor itself."""
    if not self.ndim:
        return self
    need_dims("mT", "tensor", self, least=2)
    return v.transpose(self, -2, -1)


@public("adjoint")
def adjoint(input: Tensor) -> Tensor:
    """The last two dims swapped and the elements conjugated."""
    return conj(_matrix_transposed(input))


def _conjugate_transposed(self: Tensor) -> Tensor:
    """A matrix transposed and conjugated."""
    need_dims("H", "tensor", self, 0, 2)
    return adjoint(self)


def _reversed_dims(self: Tensor) -> Tensor:
    """The dims in the opposite order."""
    return v.permute(self, tuple(range(self.ndim)[::-1]))


@public("Tensor.expand_as")
def expand_as(self: Tensor, other: Tensor) -> Tensor:
    """This tensor expanded to the shape of another."""
    return v.expand(self, tuple(other._a.shape))


@public("Tensor.reshape_as")
def reshape_as(self: Tensor, other: Tensor) -> Tensor:
    """This tensor in the shape of another."""
    return v.reshape(self, tuple(other._a.shape))


@public("Tensor.view_as")
def view_as(self: Tensor, other: Tensor) -> Tensor:
    """A view in the shape of another tensor."""
    return v.view(self, tuple(other._a.shape))


for _name, _function in {
    "T": _reversed_dims, "mT": _matrix_transposed, "H": _conjugate_transposed,
    "mH": adjoint,
}.items():  # fmt: skip
    setattr(Tensor, _name, property(_function))
