"""Memory of large NumPy arrays that is used again; `blocks.ll` does the work.

NumPy asks the allocator of the context that it runs in, and every array gives its
memory back to the one that it came from, when nothing looks at it any more: views keep
it alive. So an array may go anywhere, and outlive whoever made it.
"""

from __future__ import annotations

import ctypes
import mmap
import os
from pathlib import Path
from typing import Any, Final

from dovetail.codegen.runtime import machine
from dovetail.codegen.runtime.assembly import assembled
from dovetail.codegen.runtime.kernel_log import log

VARIABLE: Final = "DOVETAIL_KEPT_MEMORY"
LEAST: Final = 1 << 16
"""Bytes of an array that gets a block."""
_MOST: Final = 2 << 30  # bytes that are kept, and an eighth of the machine's at most
_MARK: Final = 0x5DE7_A11B_10C4_0D0E
_SET_HANDLER: Final = 304  # places in NumPy's table of functions
_DEFAULT_HANDLER: Final = 306
_CAPSULE: Final = b"mem_handler"

_word = ctypes.c_int64
_address = ctypes.c_void_p


class _Blocks(ctypes.Structure):
    """What `blocks.ll` calls `%blocks`."""

    _fields_ = (
        ("mutex", _word * 16), ("former", _address * 5), ("least", _word),
        ("limit", _word), ("kept", _word), ("count", _word), ("live", _word),
        ("reused", _word), ("mapped", _word), ("slots", _word * 128),
    )  # fmt: skip


class _Handler(ctypes.Structure):
    """NumPy's `PyDataMem_Handler`: a name, a version, and an allocator."""

    _fields_ = (
        ("name", ctypes.c_char * 127), ("version", ctypes.c_uint8),
        ("allocator", _address * 5),
    )  # fmt: skip


class Blocks:
    """An allocator for contexts of Python; it is never freed, for arrays refer to it.

    Raises:
        NotSupported: nothing can be compiled here.
        OSError: the system or NumPy is one that it does not know.
    """

    def __init__(self) -> None:
        if os.name != "posix" or ctypes.sizeof(_address) != 8:
            raise OSError("memory is kept on 64-bit POSIX systems")
        machine.require()
        self._functions = _numpy_functions()
        entries = _entries()
        former = _Handler.from_address(_pointer(_default(self._functions)))
        self.state = _Blocks(former=former.allocator, least=LEAST, limit=limit())
        at = ctypes.addressof(self.state)
        ctypes.CFUNCTYPE(None, _address)(entries["blocks_initialise"])(at)
        self._release = ctypes.CFUNCTYPE(_word, _address)(entries["blocks_release"])
        allocator = [at, *[entries[f"blocks_{n}"] for n in _ALLOCATOR]]
        self._handler = _Handler(b"dovetail", 1, (_address * 5)(*allocator))
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = (
            ctypes.py_object,
            [_address, ctypes.c_char_p, _address],
        )
        self._capsule = new(ctypes.addressof(self._handler), _CAPSULE, None)
        machine.keep_forever(self, self.state, self._handler, self._capsule, _CAPSULE)

    def use(self) -> None:
        """Let NumPy's arrays of this context be served from now on."""
        kind = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)
        kind(self._functions[_SET_HANDLER])(self._capsule)

    def keep_at_most(self, size: int | None) -> None:
        """Keep no more bytes than these, or than `limit()` where there is no number."""
        self.release()
        self.state.limit = limit() if size is None else min(size, limit())

    def release(self) -> int:
        """Give back what is kept for later arrays; how many bytes."""
        return int(self._release(ctypes.addressof(self.state)))


_ALLOCATOR: Final = ("malloc", "calloc", "realloc", "free")


def limit() -> int:
    """The most bytes that are kept: as the variable says, 0 for none."""
    wish = os.environ.get(VARIABLE, "")
    if wish.lower() in {"off", "no", "false"}:
        return 0
    if wish.isdecimal():
        return int(wish)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min(_MOST, memory // 8)


def _numpy_functions() -> Any:
    """NumPy's table of functions for C."""
    from numpy._core import multiarray

    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = _address, [ctypes.py_object, ctypes.c_char_p]
    table = get(multiarray._ARRAY_API, None)
    return (_address * (_DEFAULT_HANDLER + 1)).from_address(table)


def _default(functions: Any) -> Any:
    return ctypes.cast(functions[_DEFAULT_HANDLER], ctypes.POINTER(ctypes.py_object))[0]


def _pointer(capsule: Any) -> int:
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = _address, [ctypes.py_object, ctypes.c_char_p]
    return int(get(capsule, _CAPSULE))


def _entries() -> dict[str, int]:
    """The addresses of the functions."""
    text = Path(__file__).with_name("blocks.ll").read_text(encoding="utf-8")
    huge = getattr(mmap, "MADV_HUGEPAGE", None)
    for name, value in {
        "HAS_HUGE": str(huge is not None).lower(), "HUGE": huge or 0, "MARK": _MARK,
        "PRIVATE": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS,
    }.items():  # fmt: skip
        text = text.replace(name, str(value))
    short = ("initialise", "release", *_ALLOCATOR)
    names = tuple(f"blocks_{name}" for name in short)
    made = assembled(names, text, text)
    log(f"memory is kept, {limit():,} bytes at most")
    return dict(zip(names, made.addresses, strict=True))
