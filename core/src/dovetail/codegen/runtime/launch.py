"""Kernels as builtins of Python's: a call of one costs a tenth of one through ctypes.

`launch.ll` says what such a builtin does. It reads from array objects what NumPy's own
header says that is there; where that is not so, there are none, and ctypes serves.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from dovetail.codegen.runtime.assembly import assembled
from dovetail.codegen.runtime.kernels import CHUNKS, Kernel
from dovetail.codegen.runtime.pool import POOL

EACH: Final = -1
"""Pieces where each element of arrays that lie alike is one."""

Launch = Callable[..., bool]

_FASTCALL: Final = 0x80  # METH_FASTCALL
# Bytes into an array object: its address, number of dims, shape, and flags.
FIELDS: Final = {"DATA": 16, "RANK": 24, "SHAPE": 32, "FLAGS": 64}


class Method(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


def launching(
    kernel: Kernel, arrays: int, words: Sequence[int], pieces: int, grain: int
) -> Launch | None:
    """What runs a kernel on that many arrays; None where there are no such builtins.

    It tells whether it did; where not, the kernel has to be run by `Kernel.run`. It
    knows nothing of dtypes, and of layouts only where each element is a piece.

    Args:
        words: that the kernel gets behind the addresses of the arrays.
        pieces: of work, or `EACH`.
        grain: how many of them a thread takes at a time.
    """
    method = _method()
    if method is None:
        return None
    plan = [
        kernel.address, arrays, len(words), pieces, grain, grain * CHUNKS,
        *_functions(), id(True), id(False), *words,
    ]  # fmt: skip
    held = np.array([word % 2**64 for word in plan], np.uint64)
    made: Launch = new_builtin()(ctypes.addressof(method), held, None)
    return made


@cache
def _functions() -> tuple[int, ...]:
    """Where the pool is, and what builtins call."""
    api = ctypes.pythonapi
    called = (
        POOL.entry_of_run(), api.PyEval_SaveThread, api.PyEval_RestoreThread,
        api.Py_IncRef,
    )  # fmt: skip
    return *POOL.places(), *map(address_of, called)


@cache
def new_builtin() -> Any:
    """What makes a builtin: of its definition, what it is bound to, and no module."""
    new = ctypes.pythonapi["PyCFunction_NewEx"]  # not the one that others may set up
    new.restype = ctypes.py_object
    new.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    return new


def address_of(function: Any) -> int:
    return int(ctypes.cast(function, ctypes.c_void_p).value or 0)


@cache
def _method() -> Method | None:
    """The builtins' common definition, which has to stay where it is."""
    if not has_known_arrays():
        return None
    text = Path(__file__).with_name("launch.ll").read_text(encoding="utf-8")
    for name, place in FIELDS.items():
        text = text.replace(name, str(place))
    (address,) = assembled(("launch",), text, text).addresses
    method = Method(b"launch", address, _FASTCALL, b"Run a kernel on arrays.")
    # Builtins look into it when they go, which may be after this module.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(method))
    return method


def has_known_arrays() -> bool:
    """Whether Python has such builtins, and arrays keep their facts in these places."""
    if not hasattr(ctypes, "pythonapi") or not hasattr(
        ctypes.pythonapi, "PyCFunction_NewEx"
    ):
        return False
    probes = (np.zeros((3, 5), np.int8)[1:], np.zeros((7, 3), np.int8)[:, :2])
    return all(map(_has_fields, probes))


def _has_fields(a: np.ndarray[Any, Any]) -> bool:
    data, rank, shape, flags = (id(a) + place for place in FIELDS.values())
    if ctypes.c_uint64.from_address(data).value != int(a.ctypes.data):
        return False
    if ctypes.c_int.from_address(rank).value != a.ndim:
        return False
    sizes = (ctypes.c_int64 * a.ndim).from_address(
        ctypes.c_uint64.from_address(shape).value
    )
    row_major = bool(ctypes.c_int.from_address(flags).value & 1)
    return tuple(sizes) == a.shape and row_major == a.flags.c_contiguous
