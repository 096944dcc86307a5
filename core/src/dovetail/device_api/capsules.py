"""DLPack capsules made and taken, for backends whose library does not know DLPack.

The structs, and who calls which deleter when, are those of dlpack.h, version 1.0:
https://dmlc.github.io/dlpack/latest/python_spec.html
"""

from __future__ import annotations

import ctypes
import re
from ctypes import c_char_p, c_int, c_int64, c_void_p
from math import prod
from typing import Any, Final

from dovetail import dtypes
from dovetail.device_api.dlpack import (
    BFLOAT,
    CODES,
    LEGACY,
    VERSIONED,
    DLTensor,
    Versioned,
)
from dovetail.dtypes import DType
from dovetail.errors import ExchangeError

Ints = tuple[int, ...]
_CODES: Final = {
    "int": 0, "uint": 1, "float": 2, "bfloat": BFLOAT, "complex": 5, "bool": 6,
}  # fmt: skip
_READONLY: Final = 1
_NAMES: Final = (VERSIONED, LEGACY)
_USED: Final = {VERSIONED: b"used_dltensor_versioned", LEGACY: b"used_dltensor"}


class Managed(ctypes.Structure):
    """`DLManagedTensor`, as it was before version 1.0."""

    _fields_ = (("tensor", DLTensor), ("context", c_void_p), ("deleter", c_void_p))


def _python(name: str, result: Any, *arguments: Any) -> Any:
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


# Capsules by their addresses, since a destructor must not count a dying object.
_is_valid: Final = _python("PyCapsule_IsValid", c_int, c_void_p, c_char_p)
_pointer: Final = _python("PyCapsule_GetPointer", c_void_p, c_void_p, c_char_p)
_new: Final = _python("PyCapsule_New", ctypes.py_object, c_void_p, c_char_p, c_void_p)
_rename: Final = _python("PyCapsule_SetName", c_int, c_void_p, c_char_p)
_Deleter: Final = ctypes.CFUNCTYPE(None, c_void_p)  # called with or without the GIL

_lent: Final[dict[int, Any]] = {}
"""What consumers have, by the address of its struct."""


def _forget(address: int) -> None:
    _lent.pop(address, None)


_give_back: Final = _Deleter(_forget)


def _untaken(capsule: int) -> None:
    """Give back what nobody took out of a capsule; who takes it renames the capsule."""
    for name in _NAMES:
        if _is_valid(capsule, name):
            _forget(_pointer(capsule, name))


_capsule_dies: Final = ctypes.PYFUNCTYPE(None, c_void_p)(_untaken)


def lend(
    owner: Any, address: int, device: tuple[int, int], dtype: DType, shape: Ints,
    strides: Ints, *, versioned: bool, readonly: bool,
) -> Any:  # fmt: skip
    """A capsule over memory at an address, which keeps `owner` until it is given back.

    Args:
        strides: of elements.
        versioned: whether the consumer knows DLPack 1.0.

    Raises:
        BufferError: DLPack has no number for the dtype, or the consumer's version
            does not say that memory is read-only.
    """
    if readonly and not versioned:
        raise BufferError("DLPack before 1.0 does not say that memory is read-only")
    code, bits = code_of(dtype)
    sizes = (c_int64 * len(shape))(*shape)
    steps = (c_int64 * len(shape))(*strides)
    tensor = DLTensor(
        address if prod(shape) else None, *device, len(shape), code, bits, 1,
        sizes, steps, 0,
    )  # fmt: skip
    deleter = ctypes.cast(_give_back, c_void_p)
    made: Any
    if versioned:
        made = Versioned(1, 0, None, deleter, _READONLY * readonly, tensor)
    else:
        made = Managed(tensor, None, deleter)
    place = ctypes.addressof(made)
    _lent[place] = made, sizes, steps, owner
    name = VERSIONED if versioned else LEGACY
    return _new(place, name, ctypes.cast(_capsule_dies, c_void_p))


class Taken:
    """Memory out of a capsule, which its producer gets back when this dies.

    Attributes:
        strides: of elements.
        readonly: whether it must not be written; versions before 1.0 do not say.
    """

    def __init__(self, capsule: Any) -> None:
        self._release: Any = None
        at = id(capsule)
        name = next((n for n in _NAMES if _is_valid(at, n)), None)
        if name is None:
            raise ExchangeError(
                "from_dlpack", "capsule", was=f"{capsule!r}",
                needed="a DLPack capsule that nobody has taken yet",
                remedy="pass the tensor itself: it makes a capsule each time",
            )  # fmt: skip
        kind: Any = Versioned if name == VERSIONED else Managed
        self._place = _pointer(at, name)
        managed = kind.from_address(self._place)
        tensor = managed.tensor
        self.dtype = _dtype_of(tensor.code, tensor.bits, tensor.lanes)
        self.shape: Ints = tuple(tensor.shape[: tensor.ndim])
        self.strides = self._steps(tensor)
        self.address = (tensor.data or 0) + tensor.byte_offset
        self.readonly = name == VERSIONED and bool(managed.flags & _READONLY)
        if managed.deleter:
            self._release = _Deleter(managed.deleter)
        _rename(at, _USED[name])

    def _steps(self, tensor: DLTensor) -> Ints:
        if tensor.strides:
            return tuple(tensor.strides[: tensor.ndim])
        return tuple(prod(self.shape[d + 1 :]) for d in range(tensor.ndim))

    def __del__(self) -> None:
        if self._release is not None:
            self._release(self._place)


def code_of(dtype: DType) -> tuple[int, int]:
    """How DLPack numbers a dtype: kind and bits.

    Raises:
        BufferError: it does not.
    """
    word = re.fullmatch(r"([a-z]+)\d*", dtype.name)
    code = CODES.get(dtype.name) if word is None else _CODES.get(word[1])
    if code is None:
        raise BufferError(f"DLPack has no number for {dtype.name}")
    return code, 8 * dtype.itemsize


def _dtype_of(code: int, bits: int, lanes: int) -> DType:
    if lanes == 1:
        for dtype in dtypes.ALL:
            if code_of(dtype) == (code, bits):
                return dtype
    raise BufferError(f"no dtype of DLPack's kind {code}, {bits} bits, {lanes} lanes")
