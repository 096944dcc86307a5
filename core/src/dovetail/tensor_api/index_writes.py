"""Writes at an index: into the view it names, to places, or where a mask holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from dovetail.dtypes import FLOAT8, uint8
from dovetail.engine import modes
from dovetail.engine.annotations import check_size, described
from dovetail.engine.checks import check_fits
from dovetail.engine.elements import scalar
from dovetail.engine.inplace import fill, inplace, overwrite
from dovetail.engine.overrides import ask, overridden
from dovetail.engine.scopes import anywhere, watched
from dovetail.engine.tape import storage_of
from dovetail.engine.tensor import Tensor, alias, extend
from dovetail.engine.writable import check_writable
from dovetail.errors import ArgumentTypeError, DTypeError, ShapeError
from dovetail.frontend.create import _moved, tensor
from dovetail.ops import view as ops
from dovetail.ops.advanced import index_put, index_put_, put
from dovetail.ops.create import full
from dovetail.ops.formats import bitcast
from dovetail.ops.masked import mask_indices, masked_fill
from dovetail.ops.primitive import cast, clone, where
from dovetail.tensor_api.index_parser import WHOLE, Parsed, parse
from dovetail.tensor_api.indexing import is_places, plain_view, region_of


def setitem(x: Tensor, index: Any, value: Any) -> None:
    """`x[index] = value`, in place.

    Args:
        value: a number, or a tensor that broadcasts to the place; it is cast for a
            view, and has the dtype of `x` where tensors or lists of indices say which
            elements are written.

    Raises: IndexError for an index outside of its dim, DTypeError for a tensor of
        another dtype, InplaceError where a write would make gradients wrong.

    >>> x = torch.zeros(3)
    >>> x[1:] = torch.tensor([4.0, 5.0])
    >>> x
    tensor([0., 4., 5.])
    """
    if overridden((x, value)):
        ask(setitem, "setitem", overridden((x, value)), (x, index, value), {})
        return
    region = x if index is Ellipsis else None
    if region is None and not (anywhere[0] and watched()):
        region = plain_view(x, index)
    if region is None:
        if is_places(index):
            _set_places(x, Parsed((), (), [index]), value)
            return
        parsed = parse(x, index)
        if parsed.mask is not None or parsed.advanced is not None:
            if not isinstance(value, Tensor) or value.numel() == 1:
                _refuse_bytes(index)
            _set_places(x, parsed, value)
            return
        region = region_of(x, parsed)
    if type(value) in _NUMBERS:
        if type(value) is not int or not -(1 << 15) <= value < 1 << 15:
            value = _number_for(x, value)
        fill(region, value, "setitem", overlap=False)
    else:
        given = _without_leading_ones(_as_value(x, value), region.ndim)
        overwrite("copy_", region, copied(region, given))


_NUMBERS: Final = (int, float, bool, complex)


def _number_for(x: Tensor, value: Any) -> Any:
    """A number to be written, which has at most 64 bits with its sign."""
    if type(value) is int:
        check_size("setitem", "value", "int", value)
    return scalar("setitem", x._kind.dtype, value)


def _refuse_bytes(index: Any) -> None:
    """Raise for bytes as the one mask of places that get one value.

    Raises:
        DTypeError: the mask is a uint8 tensor.
    """
    given = index if isinstance(index, tuple) else (index,)
    tensors = [e for e in given if isinstance(e, Tensor)]
    if len(tensors) == 1 and tensors[0].ndim and tensors[0].dtype is uint8:
        raise DTypeError(
            "setitem", "index", was="a uint8 mask", needed="a bool mask for one value",
            remedy="cast it with .bool()",
        )  # fmt: skip


def _set_places(x: Tensor, parsed: Parsed, value: Any) -> None:
    """Write at places that tensors of indices or a mask name."""
    if parsed.mask is not None:
        if type(value) in _NUMBERS:
            number = _number_for(x, value)
            inplace("index_put_", masked_fill, x, parsed.mask, number)
            return
        value = _as_value(x, value)
        if value.numel() == 1:
            check_fits("setitem", x._kind.dtype, value)
            inplace("index_put_", _masked, x, parsed.mask, ops.reshape(value, ()))
            return
        parsed = parsed._replace(advanced=list(mask_indices(parsed.mask)))
    region = region_of(x, parsed)
    if type(value) in _NUMBERS:
        value = full((), _number_for(x, value), x._kind)
    else:
        value = _as_value(x, value)
        if value.dtype is not x.dtype:
            raise DTypeError(
                "setitem", "value", was=f"of {value.dtype.name}",
                needed=f"{x.dtype.name}, the dtype written to, at places that tensors "
                "name", remedy="cast it with .to(dtype)",
            )  # fmt: skip
        value = _without_ones(value)
    write_places(region, value, parsed.advanced, False)


def written_at(x: Tensor, value: Tensor, at: Any, accumulate: bool) -> Tensor:
    """`x` with values written or added at tuples of indices."""
    if _of_bits(x, value, accumulate):
        return bitcast(index_put(bitcast(x, uint8), bitcast(value, uint8), at), x.dtype)
    return put(x, value, at, accumulate)


def write_places(x: Tensor, value: Tensor, at: Any, accumulate: bool) -> Tensor:
    """Write or add at tuples of indices; in place alone where no gradient is wanted."""
    if _of_bits(x, value, accumulate):
        write_places(x.view(uint8), bitcast(value, uint8), at, False)
        return x
    if x.dtype in FLOAT8 or _wants_gradient(x, value):
        return inplace("index_put_", put, x, value, at, accumulate)
    check_writable("index_put_", x, overlap=True)
    if x._kind.backend.rules_only:
        index_put(x, value, at, accumulate)  # its rule checks the shapes
    else:
        index_put_(x, value, at, accumulate)
    return x


def _of_bits(x: Tensor, value: Tensor, accumulate: bool) -> bool:
    """Whether floats of 8 bits can be moved as bytes: nothing is computed of them."""
    same = x.dtype in FLOAT8 and value.dtype is x.dtype
    return same and not accumulate and not _wants_gradient(x, value)


def _wants_gradient(x: Tensor, value: Tensor) -> bool:
    return modes.grad_enabled() and (x.requires_grad or value.requires_grad)


def _masked(x: Tensor, mask: Tensor, value: Tensor) -> Tensor:
    return where(mask, cast(value, x.dtype) if value.dtype is not x.dtype else value, x)


def _as_value(x: Tensor, value: Any) -> Tensor:
    """What is written, as a tensor on the device of `x`."""
    if not isinstance(value, Tensor):
        if not isinstance(value, (*_NUMBERS, np.integer)):
            raise ArgumentTypeError(
                "setitem", "value", was=described(value),
                needed="a tensor or a number", remedy="make one with dovetail.tensor()",
            )  # fmt: skip
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


def _without_leading_ones(source: Tensor, ndim: int) -> Tensor:
    """A value of no more dims than what is assigned to, where those before are of 1."""
    extra = source.ndim - ndim
    if extra > 0 and all(n == 1 for n in source._a.shape[:extra]):
        return ops.reshape(source, tuple(source._a.shape[extra:]))
    return source


def copied(x: Tensor, source: Tensor) -> Tensor:
    """`source` in the shape and dtype of `x`, for a write to it."""
    shape = tuple(x._a.shape)
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
    parsed = parse(x, tuple(WHOLE if i is None else i for i in indices))
    if parsed.mask is not None:
        return list(mask_indices(parsed.mask))
    if parsed.advanced is None or any(c != WHOLE for c in parsed.cuts) or parsed.fresh:
        raise ArgumentTypeError(
            "index_put", "indices", was=indices, needed="a tuple of tensors of indices"
        )
    return parsed.advanced


extend(__setitem__=setitem)
