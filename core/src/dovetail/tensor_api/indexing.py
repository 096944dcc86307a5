"""Indexing: slices and ints are views, tensors and lists gather, masks select."""

from __future__ import annotations

from typing import Any, Final

from dovetail.dtypes import int64
from dovetail.engine.overrides import ask, overridden
from dovetail.engine.scopes import anywhere, here, watched
from dovetail.engine.tensor import Parameter, Tensor, extend
from dovetail.engine.views import as_view
from dovetail.ops import view as ops
from dovetail.ops.advanced import index_get
from dovetail.ops.masked import masked_select
from dovetail.tensor_api.index_parser import WHOLE, Parsed, parse

_BASIC: Final = ops.basic_index.op


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
        found: Tensor = ask(getitem, "getitem", overridden((x,)), (x, index), {})
        return found
    if not (anywhere[0] and watched()):
        view = plain_view(x, index)
        if view is not None:
            return view
        if is_places(index):
            return index_get(x, [index])
    parsed = parse(x, index)
    if parsed.mask is not None:
        return masked_select(x, parsed.mask)
    region = region_of(x, parsed)
    return region if parsed.advanced is None else index_get(region, parsed.advanced)


def is_places(index: Any) -> bool:
    """Whether an index is one plain tensor of int64, which names places along dim 0."""
    return type(index) is Tensor and index.dtype is int64 and len(index._a.shape) > 0


def plain_view(x: Tensor, index: Any) -> Tensor | None:
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


def region_of(x: Tensor, parsed: Parsed) -> Tensor:
    """The view that the basic part of an index names."""
    if parsed.advanced is None or any(c != WHOLE for c in parsed.cuts):
        x = ops.basic_index(x, parsed.cuts)
    for axis in parsed.fresh:
        x = ops.unsqueeze(x, axis)
    return x


extend(__getitem__=getitem)
