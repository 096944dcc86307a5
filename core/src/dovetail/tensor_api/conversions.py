"""Tensor beside Python and NumPy: predicates, new tensors, protocols, resizing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dovetail import dtypes
from dovetail.device import device as Device
from dovetail.device_api.meta import contiguous_strides
from dovetail.dtypes import FLOAT8, DType, get_default_dtype
from dovetail.engine.annotations import described
from dovetail.engine.guard import guarded
from dovetail.engine.inplace import fill, touched
from dovetail.engine.public import public
from dovetail.engine.scopes import outside
from dovetail.engine.tape import storage_of
from dovetail.engine.tensor import Tensor, extend
from dovetail.engine.writable import check_writable
from dovetail.errors import (
    ArgumentError,
    ArgumentTypeError,
    DeviceError,
    DTypeError,
    NotSupported,
    ShapeError,
)
from dovetail.frontend.creation import sizes
from dovetail.frontend.split import narrow
from dovetail.frontend.tensor_classes import CLASSES, meant
from dovetail.ops import view as v
from dovetail.ops.diagonal import diagonal
from dovetail.ops.primitive import cast
from dovetail.ops.primitive import clone as clone_of
from dovetail.ops.sums import sum_to
from dovetail.tensor_api.as_python import need_one
from dovetail.tensor_api.casts import caster, to
from dovetail.tensor_api.properties import numel

# ---- predicates


@public("is_floating_point")
def is_floating_point(input: Tensor) -> bool:
    """Whether the dtype is a real floating point format."""
    return input.dtype.is_floating_point


@public("is_complex")
def is_complex(input: Tensor) -> bool:
    """Whether the dtype is complex."""
    return input.dtype.is_complex


@public("is_signed")
def is_signed(input: Tensor) -> bool:
    """Whether the dtype has negative values."""
    return input.dtype.is_signed


@public("is_same_size")
def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have one shape."""
    return tuple(input._a.shape) == tuple(other._a.shape)


@public("torch.is_tensor", asks=False)
def is_tensor(obj: Any) -> bool:
    """Whether an object is a Tensor."""
    return isinstance(obj, Tensor)


@public("torch.typename", asks=False)
def typename(obj: Any, /) -> str:
    """What a tensor's `type()` says, or a class (or an object's) with its module."""
    if isinstance(obj, Tensor):
        return str(obj.type())
    named = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(named, "__module__", None) or "builtins"
    own: str = named.__qualname__
    return own if module == "builtins" else f"{module}.{own}"


@public("Tensor.get_device")
def get_device(self: Tensor) -> int:
    """The index of the device, -1 where it has none, as on the CPU."""
    index = self._kind.device.index
    return -1 if index is None else index


def _on(device_type: str) -> property:
    def is_there(self: Tensor) -> bool:
        return self._kind.backend.type == device_type

    return property(is_there, doc=f"Whether the tensor is on a {device_type} device.")


def _nbytes(self: Tensor) -> int:
    """Bytes that the elements take."""
    return self.numel() * self._kind.dtype.itemsize


extend(is_cuda=_on("cuda"), is_xpu=_on("xpu"), nbytes=property(_nbytes))


def mover(device_type: str) -> Any:
    """The method that moves a tensor to a device of a type.

    Raises: DeviceError for a device of another type.
    """

    def move(self: Tensor, device: Any = None, non_blocking: bool = False) -> Tensor:
        where = device_type if device is None else device
        whole = isinstance(where, int) and not isinstance(where, bool)
        asked = Device(f"{device_type}:{where}" if whole else where)
        if asked.type != device_type:
            raise DeviceError(
                device_type, "device", was=repr(str(asked)),
                needed=f"one of the type {device_type}", remedy="use to(device)",
            )  # fmt: skip
        return to(self, asked, non_blocking=non_blocking)

    move.__name__ = move.__qualname__ = device_type
    move.__doc__ = f"This tensor on a {device_type} device."
    return guarded(move, device_type, False)


extend(cuda=mover("cuda"), xpu=mover("xpu"))


def _type(
    self: Tensor, dtype: DType | str | None = None, non_blocking: bool = False
) -> Any:
    """The name of torch's class for the dtype, or this tensor in another one.

    A class moves it, too, unless it is on a device of the type already; one for sparse
    tensors leaves them so.
    """
    found = meant(dtype.replace("sparse.", "") if isinstance(dtype, str) else dtype)
    if found is not None:
        wanted, place = found
        here = place == self._kind.backend.type
        return to(self, wanted) if here else to(self, place, wanted, non_blocking)
    if isinstance(dtype, str):
        raise ArgumentError(
            "type", "dtype", was=repr(dtype), needed="a dtype, or the whole name of a "
            "class for it, such as torch.FloatTensor",
        )  # fmt: skip
    if (
        isinstance(dtype, type) and dtype is Tensor
    ):  # by its name for tensors of the default dtype
        dtype = get_default_dtype()
    elif isinstance(dtype, type):
        dtype = CLASSES.get(dtype.__name__, dtype)
    if isinstance(dtype, type):  # such as int, which others take for a dtype
        raise ArgumentTypeError(
            "type", "dtype", was=described(dtype), needed="a dtype of dovetail's"
        )
    if dtype is not None:
        return to(self, dtype)
    names = {v: k for k, v in CLASSES.items()}
    if self.dtype in FLOAT8:  # a name without a class, as torch's
        names[self.dtype] = f"{self.dtype.name.capitalize()}Tensor"
    if self.dtype not in names:
        raise DTypeError(
            "type",
            "tensor",
            was=self.dtype.name,
            needed="a dtype with a class of torch's: give the dtype to change to",
        )
    place = self._kind.backend.type
    prefix = "torch" if place == "cpu" else f"torch.{place}"
    return f"{prefix}.{names[self.dtype]}"


extend(type=guarded(_type, "type", False))


extend(byte=caster("byte", dtypes.uint8), char=caster("char", dtypes.int8))


# ---- geometry and memory


@public("Tensor.sum_to_size*")
def sum_to_size(self: Tensor, size: Sequence[int]) -> Tensor:
    """The sum over the dims that broadcasting would add or stretch from `size`."""
    shape = sizes((size,))
    have = tuple(self._a.shape)
    if len(shape) > len(have) or any(
        n not in (1, m) for n, m in zip(reversed(shape), reversed(have), strict=False)
    ):
        raise ShapeError(
            "sum_to_size", "size", was=shape, needed=f"one that expands to {have}"
        )
    if shape and shape == tuple(self._a.shape):
        return self
    wide = self if self.dtype.is_inexact else cast(self, dtypes.int64)
    return sum_to(wide, shape)


@public("narrow_copy", out=True)
def narrow_copy(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """A copy of `length` slices from `start` on."""
    return clone_of(narrow(input, dim, start, length))


@public("Tensor.fill_diagonal_")
def fill_diagonal_(self: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """Set the main diagonal; with `wrap`, again below the square of a tall matrix."""
    if self.ndim < 2 or (self.ndim > 2 and len(set(self._a.shape)) > 1):
        raise ArgumentError(
            "fill_diagonal_", "tensor", was=f"of shape {tuple(self.shape)}",
            needed="a matrix, or several dims of one size",
        )  # fmt: skip
    if self.ndim > 2:
        line = self
        while line.ndim > 1:
            line = diagonal(line, 0, 0, line.ndim - 1)
        fill(line, fill_value)
        return self
    rows, columns = (int(n) for n in self._a.shape)
    starts = range(0, max(rows, 1), columns + 1) if wrap and columns else (0,)
    for start in starts:
        fill(diagonal(self, -start, 0, 1), fill_value)
    return self


@public("Tensor.resize_*")
def resize_(self: Tensor, size: Sequence[int]) -> Tensor:
    """Give this tensor another shape; elements that it gains are unspecified.

    A view gets the elements that follow its first one in memory.

    Raises: NotSupported for one that requires gradients, and for a view that would
        reach beyond the memory that it looks into.
    """
    check_writable("resize_", self)
    if self.requires_grad:
        raise NotSupported(
            "resize_", "tensor", was="one that requires grad",
            needed="one outside the graph", remedy="call it on detach()",
        )  # fmt: skip
    outside("resize_")
    shape, kind = sizes((size,)), self._kind
    if shape == tuple(self._a.shape):
        return self
    if self._is_view():
        return _looking_elsewhere(self, shape)
    backend, old = kind.backend, v.contiguous(self.detach())
    kept = min(math.prod(shape), numel(old))
    if math.prod(shape) <= numel(old):
        fresh = backend.view(old._a, shape, contiguous_strides(shape), 0)
    else:
        fresh = backend.empty(shape, kind.dtype, kind.index)
        if kept:
            head = backend.view(fresh, (kept,), (1,), 0)
            backend.copy(head, backend.view(old._a, (kept,), (1,), 0))
    storage = storage_of(self)
    self._a = fresh
    storage.root = fresh
    touched(self)
    return self


def _looking_elsewhere(self: Tensor, shape: tuple[int, ...]) -> Tensor:
    """A view of another shape, in rows from its first element on."""
    backend, root = self._kind.backend, storage_of(self).root
    _, start = backend.geometry(self._a, root)
    needed = start + math.prod(shape)
    if needed > math.prod(root.shape):
        raise NotSupported(
            "resize_", "size", was=f"{shape}, for a view of {math.prod(root.shape)} "
            "elements", needed="no more than are there from its first one on",
            remedy="resize the tensor that owns the memory, or a clone()",
        )  # fmt: skip
    self._a = backend.view(root, shape, contiguous_strides(shape), start)
    self._node = None
    touched(self)
    return self


@public("Tensor.resize_as_")
def resize_as_(self: Tensor, the_template: Tensor) -> Tensor:
    """Give this tensor the shape of another."""
    return resize_(self, tuple(the_template.shape))


# ---- Python's and NumPy's protocols


def _contains(self: Tensor, element: Any) -> bool:
    """Whether any element equals a number or a 0-d tensor."""
    if not isinstance(element, Tensor | int | float | complex):
        raise ArgumentTypeError(
            "in", "element", was=repr(element), needed="a number or a tensor"
        )
    found: Any = self == element
    return bool(found.any())


def _format(self: Tensor, spec: str) -> str:
    """A 0-d tensor by its number, others as they print."""
    if not self.ndim and not self._kind.backend.rules_only and self.__class__ is Tensor:
        return format(self.item(), spec)
    if spec:
        raise ArgumentTypeError(
            "format", "spec", was=repr(spec), needed="none for a tensor with dims",
            remedy="format its numbers, as of tolist()",
        )  # fmt: skip
    return str(self)


def _array(self: Tensor, dtype: Any = None, copy: bool | None = None) -> Any:
    """For NumPy: the values, sharing memory where nothing has to change."""
    values = self.numpy()
    if dtype is None or values.dtype == dtype:
        return values.copy() if copy else values
    if copy is False:
        raise ArgumentError(
            "__array__", "copy", was=False, needed="True, for another dtype"
        )
    return values.astype(dtype)


def _complex(self: Tensor) -> complex:
    need_one(self)
    return complex(self.item())


def _reversed(self: Tensor) -> Tensor:
    return self.flip(0) if self.ndim else self


extend(
    __contains__=_contains, __format__=_format, __array__=_array,
    __complex__=_complex, __reversed__=_reversed, __array_priority__=1000,
)  # fmt: skip
