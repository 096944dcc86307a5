"""Indexing: slices and ints are views, tensors and lists gather, masks select."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from dovetail.dtypes import bool_, int32, int64, uint8
from dovetail.engine import modes
from dovetail.engine.elements import scalar
from dovetail.engine.inplace import fill, inplace, overwrite
from dovetail.engine.overrides import overridden
from dovetail.engine.scopes import anywhere, here, watched
from dovetail.engine.tape import storage_of
from dovetail.engine.tensor import Parameter, Tensor, alias, extend
from dovetail.engine.views import as_view
from dovetail.engine.writable import check_writable
from dovetail.errors import (
    ArgumentError,
    ArgumentTypeError,
    IndexOutOfRange,
    ShapeError,
)
from dovetail.frontend.create import _moved, tensor
from dovetail.ops import view as ops
from dovetail.ops.advanced import index_get, index_put, index_put_
from dovetail.ops.create import full
from dovetail.ops.masked import mask_indices, masked_fill, masked_select
from dovetail.ops.primitive import cast, clone, where

_BASIC: Final = ops.basic_index.op
_MASKS: Final = (bool_, uint8)
_PLACES: Final = (int64, int32, *_MASKS)


class Parsed(NamedTuple):
    """What an index means: cuts, then new dims, then tensors of indices.

    Attributes:
        cuts: an int or slice for each dim of the tensor, from the first.
        fresh: where dims of size 1 are inserted after that, ascending.
        advanced: then a tensor of indices or None for each dim; None if none has one.
        mask: the index where it is one mask of the tensor's shape, and all else empty.
    """

    cuts: tuple[Any, ...]
    fresh: tuple[int, ...]
    advanced: list[Tensor | None] | None
    mask: Tensor | None = None


def getitem(x: Tensor, index: Any) -> Tensor:
    """`x[index]`.

    Integers, slices, `...` and None give a view, which shares memory. Tensors of
    indices or bools, and lists, give a copy.

    Raises:
        IndexError: an index outside of its dim, or more indices than dims.

    Examples:
        >>> import dovetail as torch
        >>> x = torch.arange(12).reshape(3, 4)
        >>> x[1]
        tensor([4, 5, 6, 7])
        >>> x[:, -1]
        tensor([ 3,  7, 11])
        >>> x[x > 8]
        tensor([ 9, 10, 11])
        >>> x[torch.tensor([0, 2]), 0]
        tensor([0, 8])
    """
    cls = type(x)
    if type(index) is slice and (cls is Tensor or cls is Parameter):
        # The common case `x[a:b]` goes straight to the backend's own slicing.
        step = index.step
        slicer = x._kind.slicer
        if (
            slicer is not None
            and (step is None or (type(step) is int and step > 0))
            and (not anywhere[0] or here() is None)
        ):
            try:
                native = slicer(x._a, index)
            except (TypeError, ValueError, IndexError):
                return _indexed(x, index)
            return as_view(_BASIC, x, native, index)
    return _indexed(x, index)


def _indexed(x: Tensor, index: Any) -> Tensor:
    """`x[index]` for whatever users write."""
    if overridden((x,)):
        found: Tensor = type(x).__torch_function__(getitem, (type(x),), (x, index))
        return found
    if not (anywhere[0] and watched()):
        view = _plain_view(x, index)
        if view is not None:
            return view
        if _is_places(index):
            return index_get(x, [index])
    parsed = parse(x, index)
    if parsed.mask is not None:
        return masked_select(x, parsed.mask)
    region = _region(x, parsed)
    return region if parsed.advanced is None else index_get(region, parsed.advanced)


def _is_places(index: Any) -> bool:
    """Whether an index is one plain tensor of int64, which names places along dim 0."""
    return type(index) is Tensor and index.dtype is int64 and len(index._a.shape) > 0


def _plain_view(x: Tensor, index: Any) -> Tensor | None:
    """A view by ints, slices and new dims, natively; None for all else."""
    slicer = x._kind.slicer
    if slicer is None:
        return None
    if type(index) is tuple:
        dots = _plain(index)
        if dots > 1:
            return None
    elif type(index) is int or type(index) is slice:
        index, dots = (index,), _plain((index,))
        if dots:
            return None
    elif index is None or index is Ellipsis:
        index, dots = (index,), int(index is Ellipsis)
    else:
        return None
    try:
        native = slicer(x._a, index if dots else (*index, ...))
    except (TypeError, ValueError, IndexError, OverflowError):
        return None
    return as_view(_BASIC, x, native, index)


def _plain(index: tuple[Any, ...]) -> int:
    """How often `...` stands in an index without tensors; many where it has others."""
    dots = 0
    for entry in index:
        cls = type(entry)
        if cls is slice:
            step = entry.step
            if step is not None and not (type(step) is int and step > 0):
                return 2
        elif entry is Ellipsis:
            dots += 1
        elif cls is not int and entry is not None:
            return 2
    return dots


def _region(x: Tensor, parsed: Parsed) -> Tensor:
    """The view that the basic part of an index names."""
    if parsed.advanced is None or any(c != _WHOLE for c in parsed.cuts):
        x = ops.basic_index(x, parsed.cuts)
    for axis in parsed.fresh:
        x = ops.unsqueeze(x, axis)
    return x


_WHOLE: Final = slice(None)


def setitem(x: Tensor, index: Any, value: Any) -> None:
    """`x[index] = value`, in place.

    >>> x = torch.zeros(3)
    >>> x[1:] = torch.tensor([4.0, 5.0])
    >>> x
    tensor([0., 4., 5.])
    """
    if overridden((x, value)):
        cls = type(x) if overridden((x,)) else type(value)
        cls.__torch_function__(setitem, (cls,), (x, index, value))
        return
    region = x if index is Ellipsis else None
    if region is None and not (anywhere[0] and watched()):
        region = _plain_view(x, index)
    if region is None:
        if _is_places(index):
            _set_places(x, Parsed((), (), [index]), value)
            return
        parsed = parse(x, index)
        if parsed.mask is not None or parsed.advanced is not None:
            _set_places(x, parsed, value)
            return
        region = _region(x, parsed)
    if type(value) in _NUMBERS:
        fill(region, scalar("setitem", x._kind.dtype, value), "setitem", overlap=False)
    else:
        overwrite("copy_", region, copied(region, _as_value(x, value)))


_NUMBERS: Final = (int, float, bool, complex)


def _set_places(x: Tensor, parsed: Parsed, value: Any) -> None:
    """Write at places that tensors of indices or a mask name."""
    if parsed.mask is not None:
        if type(value) in _NUMBERS:
            inplace(
                "index_put_",
                masked_fill,
                x,
                parsed.mask,
                scalar("setitem", x._kind.dtype, value),
            )
            return
        value = _as_value(x, value)
        if value.numel() == 1:
            inplace("index_put_", _masked, x, parsed.mask, ops.reshape(value, ()))
            return
        parsed = parsed._replace(advanced=list(mask_indices(parsed.mask)))
    region = _region(x, parsed)
    if type(value) in _NUMBERS:
        value = full((), scalar("setitem", x._kind.dtype, value), x._kind)
    else:
        value = _as_value(x, value)
        value = _without_ones(value if value.dtype is x.dtype else cast(value, x.dtype))
    write_places(region, value, parsed.advanced, False)


def write_places(x: Tensor, value: Tensor, at: Any, accumulate: bool) -> Tensor:
    """Write or add at tuples of indices; in place alone where no gradient is wanted."""
    if modes.grad_enabled() and (x.requires_grad or value.requires_grad):
        return inplace("index_put_", index_put, x, value, at, accumulate)
    check_writable("index_put_", x, overlap=True)
    if x._kind.backend.rules_only:
        index_put(x, value, at, accumulate)  # its rule checks the shapes
    else:
        index_put_(x, value, at, accumulate)
    return x


def _masked(x: Tensor, mask: Tensor, value: Tensor) -> Tensor:
    return where(mask, cast(value, x.dtype) if value.dtype is not x.dtype else value, x)


def _as_value(x: Tensor, value: Any) -> Tensor:
    """What is written, as a tensor on the device of `x`."""
    if not isinstance(value, Tensor):
        return tensor(value, dtype=x.dtype, device=x.device)
    if not value.ndim and value._kind.device != x._kind.device:
        return _moved(value, x._kind.with_dtype(value.dtype))
    return value


def _without_ones(value: Tensor) -> Tensor:
    """Without leading dims of size 1, which a written value may have too many of."""
    shape = tuple(value._a.shape)
    extra = 0
    while extra < len(shape) and shape[extra] == 1:
        extra += 1
    return ops.reshape(value, shape[extra:]) if extra else value


def copied(x: Tensor, source: Tensor) -> Tensor:
    """`source` in the shape and dtype of `x`, for a write to it."""
    shape = tuple(x._a.shape)
    extra = source.ndim - len(shape)
    if extra > 0 and all(n == 1 for n in source._a.shape[:extra]):
        source = ops.reshape(source, tuple(source._a.shape[extra:]))
    if tuple(source._a.shape) != shape:
        try:
            source = ops.expand(source, shape)
        except ShapeError:
            raise ShapeError(
                "copy_", "value", was=f"of shape {tuple(source._a.shape)}",
                needed=f"one that broadcasts to {shape}, the shape written to",
            ) from None  # fmt: skip
    if source._kind.dtype is not x._kind.dtype:
        source = cast(source, x._kind.dtype)
    if source._node is not None and modes.grad_enabled() and source.requires_grad:
        return clone(source)
    if source._node is not None:
        source = alias(source)
    storage_of(source)  # its memory stays its own: the bits are copied
    return source


def masks_as_indices(x: Tensor, indices: Sequence[Any]) -> list[Tensor | None]:
    """Tensors of indices for `index_put`, masks being turned into them."""
    if not isinstance(indices, list | tuple):
        raise ArgumentTypeError(
            "index_put", "indices", was=f"a {type(indices).__name__}",
            needed="a tuple of tensors of indices",
        )  # fmt: skip
    parsed = parse(x, tuple(_WHOLE if i is None else i for i in indices))
    if parsed.mask is not None:
        return list(mask_indices(parsed.mask))
    if parsed.advanced is None or any(c != _WHOLE for c in parsed.cuts) or parsed.fresh:
        raise ArgumentTypeError(
            "index_put", "indices", was=indices, needed="a tuple of tensors of indices"
        )
    return parsed.advanced


def parse(x: Tensor, index: Any) -> Parsed:
    """Read an index as NumPy and torch do.

    Raises:
        IndexOutOfRange: more indices than dims, or a mask of another shape.
    """
    given = index if isinstance(index, tuple) else (index,)
    entries = _without_ellipsis([_entry(e, x) for e in given], x.ndim)
    if len(entries) == 1 and _is_mask(entries[0]) and entries[0].ndim == x.ndim > 0:
        _check_mask(entries[0], x, 0)
        return Parsed((), (), None, _as_bool(entries[0]))
    cuts: list[Any] = []
    fresh: list[int] = []
    tensors: list[Tensor | None] = []
    for entry in entries:
        if entry is None:
            fresh.append(len(tensors))
            tensors.append(None)
        elif isinstance(entry, slice):
            cuts.append(entry)
            tensors.append(None)
        elif isinstance(entry, int):
            cuts.append(entry)
        elif _is_mask(entry) and not entry.ndim:
            fresh.append(len(tensors))
            tensors.append(tensor([0] * bool(entry), dtype=int64, device=x.device))
        elif _is_mask(entry):
            _check_mask(entry, x, len(cuts))
            cuts += [_WHOLE] * entry.ndim
            tensors += mask_indices(_as_bool(entry))
        else:
            cuts.append(_WHOLE)
            tensors.append(entry)
    if len(cuts) > x.ndim:
        raise IndexOutOfRange(
            "indexing", "number of indices", was=len(cuts),
            needed=f"at most {x.ndim}, the dims of {tuple(x.shape)}",
        )  # fmt: skip
    advanced = None if all(t is None for t in tensors) else tensors
    return Parsed(tuple(cuts), tuple(fresh), advanced)


def _is_mask(entry: Any) -> bool:
    return isinstance(entry, Tensor) and entry.dtype in _MASKS


def _as_bool(mask: Tensor) -> Tensor:
    return mask if mask.dtype is bool_ else cast(mask, bool_)


def _check_mask(mask: Tensor, x: Tensor, dim: int) -> None:
    have, want = tuple(mask._a.shape), tuple(x._a.shape[dim : dim + mask.ndim])
    if have != want:
        raise IndexOutOfRange(
            "indexing", "mask", was=f"of shape {have} at dim {dim}",
            needed=f"{want}, the sizes of the dims that it indexes",
        )  # fmt: skip


def _entry(entry: Any, x: Tensor) -> Any:
    """One index: None, Ellipsis, int, slice or tensor."""
    if entry is None or entry is Ellipsis:
        return entry
    if isinstance(entry, slice):
        return _slice(entry)
    if isinstance(entry, bool | np.bool_):
        return tensor(bool(entry), device=x.device)
    if isinstance(entry, int | np.integer):
        return int(entry)
    if isinstance(entry, list | tuple | range | np.ndarray):
        found = tensor(
            entry if isinstance(entry, np.ndarray) else list(entry), device=x.device
        )
        return found if found.numel() else cast(found, int64)
    if isinstance(entry, Tensor):
        return _tensor_entry(entry, x)
    if hasattr(entry, "__index__") and not isinstance(entry, type):
        return entry.__index__()
    raise ArgumentTypeError(
        "indexing", "index", was=repr(entry),
        needed="ints, slices, None, ..., tensors or lists of ints or bools",
    )  # fmt: skip


def _tensor_entry(entry: Tensor, x: Tensor) -> Any:
    if entry.dtype.is_inexact:
        raise IndexOutOfRange(
            "indexing", "index",
            was=f"a {entry.dtype.name} tensor: tensors used as indices "
            "must be integer or bool", needed="an integer or bool tensor",
            remedy="cast it with .long()",
        )  # fmt: skip
    if entry.dtype not in _PLACES:
        raise IndexOutOfRange(
            "indexing", "index",
            was=f"a {entry.dtype.name} tensor", needed="one of int64, int32, uint8 or "
            "bool: tensors used as indices must be long, int, byte or bool tensors",
            remedy="cast it with .long()",
        )  # fmt: skip
    if not entry.ndim and entry.dtype not in _MASKS:
        return int(entry.item())
    if entry._kind.backend is not x._kind.backend and entry._kind.backend.type == "cpu":
        return _moved(entry, x._kind.with_dtype(entry.dtype))
    return entry


def _slice(entry: slice) -> slice:
    parts = [
        int(p.item()) if isinstance(p, Tensor) else p
        for p in (entry.start, entry.stop, entry.step)
    ]
    if parts[2] is not None and parts[2] <= 0:
        raise ArgumentError(
            "indexing", "slice step", was=parts[2],
            needed="1 or more: step must be positive",
            remedy="use flip() to reverse",
        )  # fmt: skip
    return slice(*parts)


def _without_ellipsis(entries: list[Any], ndim: int) -> list[Any]:
    """The dims that the first `...` stands for, whole; further ones add none."""
    at = next((i for i, e in enumerate(entries) if e is Ellipsis), None)
    if at is None:
        return entries
    left = ndim - sum(map(_dims_of, entries))
    after = entries[at + 1 :]
    second = next((i for i, e in enumerate(after) if e is Ellipsis), len(after))
    beyond = after[second:]
    if left > 0 and any(e is not Ellipsis for e in beyond):
        raise IndexOutOfRange(
            "indexing", "...", was="given twice before an index",
            needed="one, since the first takes all dims that are left",
        )  # fmt: skip
    return [*entries[:at], *[_WHOLE] * left, *(e for e in after if e is not Ellipsis)]


def _dims_of(entry: Any) -> int:
    """How many dims an index takes."""
    if entry is None or entry is Ellipsis:
        return 0
    return int(entry.ndim) if _is_mask(entry) else 1


extend(__getitem__=getitem, __setitem__=setitem)
