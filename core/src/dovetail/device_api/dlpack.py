"""DLPack for backends: capsules asked for and read, and all of it for NumPy arrays.

The layout of the structs is that of dlpack.h, version 1.0:
https://dmlc.github.io/dlpack/latest/c_api.html
"""

from __future__ import annotations

import ctypes
from typing import Any, Final

import numpy as np

from dovetail import dtypes
from dovetail.device_api.capabilities import Borrowed, DLPack
from dovetail.dtypes import Array
from dovetail.errors import ArgumentError, ExchangeError

CPU: Final = 1
_HOSTS: Final = (CPU, 3, 11)  # memory of the host, also pinned by CUDA or ROCm
_UINT: Final = 1
BFLOAT: Final = 4
# Codes of formats that NumPy's own capsules do not tell from bits, by dlpack.h.
CODES: Final = {
    "bfloat16": BFLOAT, "float8_e4m3fn": 10, "float8_e4m3fnuz": 11, "float8_e5m2": 12,
    "float8_e5m2fnuz": 13, "float8_e8m0fnu": 14,
}  # fmt: skip
_NAMED: Final = {code: dtypes.by_name(name) for name, code in CODES.items()}
LEGACY: Final = b"dltensor"
VERSIONED: Final = b"dltensor_versioned"


class DLTensor(ctypes.Structure):
    """`DLTensor`: an array, wherever it is."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class Versioned(ctypes.Structure):
    """`DLManagedTensorVersioned`; the older one begins with its `DLTensor`."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", DLTensor),
    )


# Prototypes of our own: those on `ctypes.pythonapi` are everybody's.
_is_valid: Final = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_IsValid", ctypes.pythonapi)
)
_pointer: Final = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


class Capsule:
    """A capsule as an object with DLPack's methods; it can be taken once."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    @property
    def legacy(self) -> bool:
        """Whether it is of a version before 1.0, which knows no read-only memory."""
        return bool(_is_valid(self.capsule, LEGACY))

    @property
    def tensor(self) -> DLTensor:
        """What the capsule describes, in place.

        Raises:
            ExchangeError: it is no DLPack capsule, or has been taken.
        """
        if self.legacy:
            found = DLTensor.from_address(_pointer(self.capsule, LEGACY))
        elif _is_valid(self.capsule, VERSIONED):
            whole = Versioned.from_address(_pointer(self.capsule, VERSIONED))
            if whole.major != 1:
                raise ExchangeError(
                    "from_dlpack", "capsule", needed="version 1",
                    was=f"of DLPack {whole.major}.{whole.minor}",
                )  # fmt: skip
            found = whole.tensor
        else:
            raise ExchangeError(
                "from_dlpack", "capsule", was=f"{self.capsule!r}",
                needed="a DLPack capsule that nobody has taken yet",
                remedy="pass the tensor itself: it makes a capsule each time",
            )  # fmt: skip
        return found

    def __dlpack__(self, **_: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        tensor = self.tensor
        return int(tensor.device_type), int(tensor.device_id)


def request(source: Any, **options: Any) -> Capsule:
    """The capsule of an exporter, which may be older than some of the options.

    Args:
        options: `stream`, `copy` and `dl_device`; None means not to ask.
    """
    asked = {name: o for name, o in options.items() if o is not None}
    if asked.get("copy", True):
        asked.pop("copy", None)
    try:
        return Capsule(source.__dlpack__(max_version=(1, 0), **asked))
    except TypeError:
        asked.pop("copy", None)
    return Capsule(source.__dlpack__(**asked))


class NumpyDLPack(DLPack):
    """DLPack for a backend whose native arrays are NumPy's.

    NumPy has no bfloat16: it lends the bits as integers, and the capsule is relabelled.
    """

    def dlpack_device(self, native: Array) -> tuple[int, int]:
        return CPU, 0

    def dlpack_index(self, device: tuple[int, int]) -> int | None:
        return 0 if device[0] in _HOSTS else None

    def dlpack_export(
        self,
        native: Array,
        *,
        stream: int | None,
        max_version: tuple[int, int] | None,
        copy: bool | None,
        readonly: bool,
    ) -> Any:
        if stream not in (None, -1):
            raise ArgumentError(
                "__dlpack__", "stream", was=stream, needed="None: the CPU has none"
            )
        code = CODES.get(native.dtype.name)
        array = native.view(f"u{native.itemsize}") if code else native.view()
        if readonly:
            array.flags.writeable = False
        found = array.__dlpack__(max_version=max_version, copy=copy)
        if code:
            Capsule(found).tensor.code = code
        return found

    def dlpack_import(self, source: Any, index: int, *, copy: bool | None) -> Borrowed:
        capsule = request(source, copy=copy)
        tensor, legacy = capsule.tensor, capsule.legacy
        own = _NAMED.get(tensor.code)
        if own and (tensor.bits, tensor.lanes) != (own.itemsize * 8, 1):
            own = None
        if own:
            tensor.code = _UINT
        array: Array = np.from_dlpack(capsule)
        if own:
            array = array.view(own.numpy)
        dtype = dtypes.from_numpy(array.dtype)
        if legacy:  # NumPy takes it for read-only, PyTorch does not
            array = _writable(array)
        return Borrowed(array, dtype, not array.flags.writeable)


def _writable(array: Array) -> Array:
    """The memory of an array again, this time to be written."""
    if not array.size:
        return array
    low, high = np.lib.array_utils.byte_bounds(array)
    buffer = (ctypes.c_char * (high - low)).from_address(low)
    buffer.owner = array  # type: ignore[attr-defined]
    offset = array.ctypes.data - low
    lent = memoryview(buffer)
    return np.ndarray(array.shape, array.dtype, lent, offset, array.strides)
