"""torch's ways to make a tensor: from data, and filled."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from dovetail import dtypes
from dovetail.dtypes import DType, as_dtype
from dovetail.engine.casts import back, cast_in_order
from dovetail.engine.elements import stored
from dovetail.engine.integers import MOST, integers
from dovetail.engine.kinds import Kind
from dovetail.engine.public import public
from dovetail.engine.scopes import anywhere, outside, tell, watched
from dovetail.engine.tape import storage_of
from dovetail.engine.tensor import Tensor, without_overrides, wrap
from dovetail.engine.views import unshared
from dovetail.errors import (
    ArgumentError,
    ArgumentTypeError,
    DTypeError,
    NotSupported,
)
from dovetail.frontend.creation import DeviceLike, Place, creates, sizes
from dovetail.frontend.literals import host_array
from dovetail.frontend.memory_order import MemoryFormat
from dovetail.frontend.numpy_memory import from_numpy
from dovetail.memory_formats import contiguous_format, order_in
from dovetail.ops import create as ops
from dovetail.ops import view as v
from dovetail.ops.primitive import cast

_NUMBERS: Final = frozenset({int, float, bool})


@creates("tensor", new=True, out=False, asks=False, new_lacks=("pin_memory", "layout"))
def tensor(place: Place, data: Any) -> Tensor:
    """A fresh leaf with the values of numbers, nested lists, an array or a tensor.

    Args:
        data: whole numbers become int64 (int32 on a device that lacks it), others the
            default dtype; arrays and tensors keep theirs.
        requires_grad: whether backward computes its gradient.

    Raises:
        ValueError: rows of different lengths, or a number that does not fit `dtype`.

    Examples:
        >>> import dovetail as torch
        >>> torch.tensor([[1.0, 2.0], [3.0, 4.0]])
        tensor([[1., 2.],
                [3., 4.]])
        >>> torch.tensor([1, 2], dtype=torch.float64, requires_grad=True)
        tensor([1., 2.], dtype=dovetail.float64, requires_grad=True)
    """
    if isinstance(data, Tensor):
        # Of a subclass, too, it is a plain tensor.
        copied = without_overrides(lambda: data.detach().clone(), (), {})
        return _moved(copied, place.like(data).kind())
    host = host_array(data, place.dtype and as_dtype(place.dtype, "tensor"))
    kind = place.kind(dtypes.from_numpy(host.dtype))
    if host.dtype != kind.dtype.numpy:
        host = _narrow(data, host, kind)
    order = _order_of(host) if 0 not in getattr(data, "strides", ()) else None
    turned = host if order is None else host.transpose(order)
    made = wrap(kind.backend.copy_in(turned, kind.index), kind)
    if anywhere[0]:
        tell("made", made)
    return made if order is None else unshared(v.permute(made, back(order)))


def _order_of(host: np.ndarray[Any, Any]) -> tuple[int, ...] | None:
    """The dims of an array by their strides, None where they lie in rows."""
    if host.ndim < 2 or host.flags.c_contiguous or min(host.strides) <= 0:
        return None
    return tuple(sorted(range(host.ndim), key=lambda dim: -host.strides[dim]))


def _narrow(data: Any, host: np.ndarray[Any, Any], kind: Kind) -> Any:
    """Whole numbers for a device without int64; an array of these is refused."""
    if isinstance(data, np.ndarray | np.generic):
        kind.with_dtype(dtypes.from_numpy(host.dtype))  # raises
    return host_array(data, kind.dtype)


def _moved(x: Tensor, kind: Kind, wait: bool = True) -> Tensor:
    """`x` in another kind: cast first, unless only the target has the dtype.

    Args:
        wait: whether the host waits for the values.
    """
    if x._kind.dtype is not kind.dtype and kind.dtype in x._kind.backend.dtypes:
        x = cast_in_order(x, kind.dtype)
    if x._kind.backend is not kind.backend or x._kind.index != kind.index:
        if x._kind.backend.rules_only:
            raise NotSupported(
                "copy", "tensor", was=f"on {x._kind.device}: Cannot copy out of meta "
                "tensor; no data!", needed="a tensor with data",
            )  # fmt: skip
        wait = wait or x._kind.dtype is not kind.dtype  # a cast reads them
        x = ops.transfer(x, kind.with_dtype(x._kind.dtype), wait)
    return x if x._kind is kind else cast(x, kind.dtype)


@public("torch.as_tensor", asks=False)
def as_tensor(
    data: Any, dtype: DType | None = None, device: DeviceLike = None
) -> Tensor:
    """`data` as a tensor, sharing memory where dtype and device allow it.

    Args:
        data: a tensor, a NumPy array, a number or nested lists of numbers.

    Raises: as `tensor` does.

    >>> x = torch.tensor([1.0])
    >>> torch.as_tensor(x) is x
    True
    """
    if isinstance(data, np.ndarray):
        data = from_numpy(data)
    if isinstance(data, Tensor):
        return _moved(data, Place(dtype, device, data._kind).kind())
    return tensor(data, dtype=dtype, device=device)


@public("torch.asarray", asks=False)
def asarray(
    obj: Any, *, dtype: DType | None = None, device: DeviceLike = None,
    copy: bool | None = None, requires_grad: bool | None = None,
) -> Tensor:  # fmt: skip
    """`obj` as a tensor, sharing memory where it can.

    Args:
        copy: True for memory of its own; False to refuse where memory cannot be shared.

    Raises:
        ArgumentError: `copy` is False, and sharing is impossible.
    """
    if not isinstance(obj, Tensor | np.generic) and hasattr(type(obj), "__array__"):
        obj = np.asarray(obj)  # which shares what the object has
    made = as_tensor(obj, dtype, device)
    if (
        requires_grad is None and getattr(obj, "requires_grad", False)
        and not made.dtype.is_inexact
    ):  # fmt: skip
        raise DTypeError(
            "asarray", "dtype", was=made.dtype.name, needed="a floating-point or "
            "complex one for a tensor that requires gradients",
            remedy="pass requires_grad=False",
        )  # fmt: skip
    if copy:
        made = made.detach().clone()
    elif copy is False and not _shares(made, obj):
        raise ArgumentError(
            "asarray", "copy", was=False, needed="True or None: dtype, device or the "
            "kind of data need a copy",
        )  # fmt: skip
    if requires_grad:
        made.requires_grad = True
    return made


def _shares(made: Tensor, data: Any) -> bool:
    """Whether a tensor that was made of data lies in its memory."""
    if isinstance(data, Tensor):
        return storage_of(made) is storage_of(data)
    is_array = isinstance(data, np.ndarray) and made._kind.backend.type == "cpu"
    return is_array and np.shares_memory(made._a, data)


def _is_plain(shape: tuple[int, ...], kind: Kind) -> bool:
    """Whether memory serves without an op: nobody watches, nor is it one for rows."""
    if anywhere[0] and watched():
        return False
    return bool(shape) or kind.backend.stands_for is None


def _filled(shape: tuple[int, ...], value: Any, kind: Kind) -> Tensor:
    """`ops.full`, without its checks where nothing wants to see the call."""
    cls = type(value)
    if cls not in _NUMBERS or not _is_plain(shape, kind):
        return ops.full(shape, value, kind)
    every = cls is int and 0 <= value <= 1  # which every dtype has
    number = value if every else stored("full", kind.dtype, value)
    native = kind.backend.empty(shape, kind.dtype, kind.index)
    kind.backend.fill(native, number)
    return wrap(native, kind)


@creates("zeros", like=True, new=True)
def zeros(place: Place, *size: int | Sequence[int]) -> Tensor:
    """Zeros of a shape given as ints or one sequence.

    Raises: ArgumentError for a negative size, OutOfMemory for too large a shape.

    Examples:
        >>> import dovetail as torch
        >>> torch.zeros(2, 3)
        tensor([[0., 0., 0.],
                [0., 0., 0.]])
        >>> torch.zeros((2,), dtype=torch.int64)
        tensor([0, 0])

    >>> torch.zeros_like(torch.ones(2, dtype=torch.int32))
    tensor([0, 0], dtype=dovetail.int32)
    """
    return _filled(sizes(size), 0, place.kind())


@creates("ones", like=True, new=True)
def ones(place: Place, *size: int | Sequence[int]) -> Tensor:
    """Ones of a shape given as ints or one sequence.

    Raises: ArgumentError for a negative size, OutOfMemory for too large a shape.

    >>> torch.ones(2, 3)
    tensor([[1., 1., 1.],
            [1., 1., 1.]])
    """
    return _filled(sizes(size), 1, place.kind())


@creates("empty", like=True, new=True)
def empty(
    place: Place, *size: int | Sequence[int],
    memory_format: MemoryFormat | None = contiguous_format,
) -> Tensor:  # fmt: skip
    """A tensor with unspecified contents, whose dims lie in a memory format.

    Raises: ArgumentError for a negative size, or a format for another number of dims;
        OutOfMemory for too large a shape.

    >>> torch.empty(2, 3).shape
    dovetail.Size([2, 3])
    """
    shape, kind = sizes(size), place.kind()
    if memory_format is None or memory_format is contiguous_format:
        if not _is_plain(shape, kind):
            return ops.empty(shape, kind)
        return wrap(kind.backend.empty(shape, kind.dtype, kind.index), kind)
    order = order_in("empty", memory_format, len(shape))
    made = ops.empty(tuple(shape[d] for d in order), kind)
    return unshared(v.permute(made, back(order)))


@creates("full", like=True, new=True)
def full(place: Place, size: Sequence[int], fill_value: Any) -> Tensor:
    """Every element `fill_value`, whose type decides the dtype where none is named.

    Args:
        size: the shape, a sequence.
        fill_value: a number or a 0-d tensor.

    Raises: NumberOutOfRange if the value does not fit the dtype.

    >>> torch.full((2, 2), 7)
    tensor([[7, 7],
            [7, 7]])
    """
    if isinstance(fill_value, Tensor) and not fill_value.ndim:
        fill_value = _number(fill_value)
    kind = place.kind(dtypes.dtype_of_scalar(fill_value))
    return _filled(sizes((size,)), fill_value, kind)


def _number(value: Tensor) -> Any:
    """The number in a 0-d tensor; waits for it."""
    if value.requires_grad:
        raise ArgumentTypeError(
            "full", "fill_value", was="a tensor that requires grad", needed="a number",
            remedy="use value.expand(size) for a result that depends on it",
        )  # fmt: skip
    return value.item()


@creates("scalar_tensor", out=False)
def scalar_tensor(place: Place, s: Any) -> Tensor:
    """A 0-d tensor of a number, float unless a dtype is named."""
    return ops.full((), s, float_kind(place, s))


@creates("empty_strided", new=True, out=False)
def empty_strided(place: Place, size: Sequence[int], stride: Sequence[int]) -> Tensor:
    """Unspecified contents under given element strides."""
    shape, steps = sizes((size,)), integers("empty_strided", "stride", stride, 0)
    if len(shape) != len(steps) or any(s < 0 for s in steps):
        raise ArgumentError(
            "empty_strided", "stride", was=steps, needed=f"one for each size of {shape}"
        )
    if math.prod(shape) > MOST:
        raise ArgumentError(
            "empty_strided", "size", was=shape, needed="elements that 64 bits count"
        )
    kind = place.kind()
    reach = sum((n - 1) * s for n, s in zip(shape, steps, strict=True))
    outside("empty_strided")
    flat = kind.backend.empty((1 + max(reach, 0),), kind.dtype, kind.index)
    return wrap(kind.backend.view(flat, shape, steps, 0), kind)


def float_kind(place: Place, *ends: Any) -> Kind:
    """The kind of numbers that are floats, or complex, unless another is named."""
    default = dtypes.get_default_dtype()
    return place.kind(
        default.complex if any(isinstance(v, complex) for v in ends) else default
    )
