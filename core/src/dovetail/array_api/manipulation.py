"""Shapes and orders of arrays, as the array API standard has it."""

from __future__ import annotations

from typing import Any

from dovetail import frontend as f
from dovetail.array_api.arrays import conforming, promoted
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, DimError

Dims = int | tuple[int, ...]


@conforming
def broadcast_arrays(*arrays: Any) -> Any:
    """Arrays stretched to one shape."""
    return tuple(f.broadcast_tensors(*arrays)) if arrays else ()


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that arrays of these shapes broadcast to.

    Raises: ArgumentError where they do not.
    """
    try:
        return tuple(f.broadcast_shapes(*shapes)) if shapes else ()
    except RuntimeError as error:
        raise ArgumentError(
            "broadcast_shapes", "shapes", was=shapes,
            needed="sizes that are equal or 1, from the last dim on",
        ) from error  # fmt: skip


@conforming
def broadcast_to(x: Any, /, shape: tuple[int, ...]) -> Any:
    """The array stretched to a shape; a view."""
    return f.broadcast_to(x, shape)


@conforming
def concat(arrays: Any, /, *, axis: int | None = 0) -> Any:
    """Arrays one after the other along a dim; flattened, if that is None."""
    arrays = promoted(*arrays)
    if axis is None:
        return f.cat([a.reshape(-1) for a in arrays])
    return f.cat(arrays, axis)


@conforming
def expand_dims(x: Any, /, axis: Dims = 0) -> Any:
    """The array with dims of size 1 at these places of the result.

    Raises: DimError for a place outside the result.
    """
    axes = (axis,) if isinstance(axis, int) else axis
    ndim = x.ndim + len(axes)
    if any(not -ndim <= a < ndim for a in axes):
        raise DimError("expand_dims", "axis", was=axis, needed=f"{-ndim} to {ndim - 1}")
    if len({a % ndim for a in axes}) < len(axes):
        raise ArgumentError("expand_dims", "axis", was=axis, needed="each dim once")
    for place in sorted(a % ndim for a in axes):
        x = x.unsqueeze(place)
    return x


@conforming
def flip(x: Any, /, *, axis: Dims | None = None) -> Any:
    """The array turned along some dims, or all."""
    axes = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    return f.flip(x, tuple(axes))


@conforming
def moveaxis(x: Any, source: Dims, destination: Dims, /) -> Any:
    """The array with dims moved to other places; a view."""
    return f.moveaxis(x, source, destination)


@conforming
def permute_dims(x: Any, /, axes: tuple[int, ...]) -> Any:
    """The array with its dims in another order; a view."""
    return f.permute(x, tuple(axes))


@conforming
def repeat(x: Any, repeats: Any, /, *, axis: int | None = None) -> Any:
    """Each element, or slice, as often as `repeats` says."""
    if axis is None:
        x, axis = x.reshape(-1), 0
    if isinstance(repeats, Tensor) and repeats.numel() == 1:
        repeats = int(repeats.item())
    if isinstance(repeats, Tensor):
        repeats = repeats.to(f.arange(0).dtype)
    return f.repeat_interleave(x, repeats, dim=axis)


@conforming
def reshape(x: Any, /, shape: tuple[int, ...], *, copy: bool | None = None) -> Any:
    """The array in another shape.

    Raises: ArgumentError where a copy is needed and forbidden.
    """
    if copy is False:
        try:
            return x.view(shape)
        except RuntimeError as error:
            raise ArgumentError(
                "reshape", "copy", was="False", needed="True or None for this layout"
            ) from error
    return f.reshape(x.clone() if copy else x, shape)


@conforming
def roll(x: Any, /, shift: Dims, *, axis: Dims | None = None) -> Any:
    """The array with elements moved along dims, around the ends."""
    if axis is None:
        return f.roll(x.reshape(-1), shift, 0).reshape(x.shape)
    if isinstance(shift, int) and not isinstance(axis, int):
        shift = (shift,) * len(axis)
    return f.roll(x, shift, axis)


@conforming
def squeeze(x: Any, /, axis: Dims) -> Any:
    """The array without some dims of size 1.

    Raises: ArgumentError where their size is another.
    """
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    for a in axes:
        if -x.ndim <= a < x.ndim and x.shape[a] != 1:
            raise ArgumentError(
                "squeeze", "axis", was=f"{a}, of size {x.shape[a]}", needed="size 1"
            )
    return f.squeeze(x, axes)


@conforming
def stack(arrays: Any, /, *, axis: int = 0) -> Any:
    """Arrays of one shape along a new dim."""
    return f.stack(promoted(*arrays), axis)


@conforming
def tile(x: Any, repetitions: tuple[int, ...], /) -> Any:
    """The array repeated along each dim."""
    return f.tile(x, tuple(repetitions))


@conforming
def unstack(x: Any, /, *, axis: int = 0) -> Any:
    """The slices along a dim, as a tuple of views."""
    return tuple(f.unbind(x, axis))
