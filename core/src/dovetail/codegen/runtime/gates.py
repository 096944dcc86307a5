"""Builtins that ask how large a call of one or two arrays is, in 10 ns.

A function of Python's in front of `numpy.add` would cost small calls a tenth of their
time. `gate.ll` says what such a builtin does.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from dovetail.codegen.runtime.assembly import assembled
from dovetail.codegen.runtime.launch import (
    FIELDS,
    Method,
    has_known_arrays,
    new_builtin,
)

_FASTCALL_WITH_NAMES: Final = 0x82  # METH_FASTCALL | METH_KEYWORDS
_TYPE: Final = 8  # bytes into an object, where its type is
_NEVER: Final = 2**63 - 1  # elements that no array has
_kept: Final[list[Any]] = []  # what builtins refer to by address


def gate(
    small: Callable[..., Any], large: Callable[..., Any], least: int, much: int = _NEVER
) -> Callable[..., Any] | None:
    """What calls `large` of one or two arrays that give many elements, else `small`.

    None where there are no such builtins.

    Args:
        least: how many are many where arrays are broadcast by each other.
        much: how many are many however they are.
    """
    method = _method()
    if method is None:
        return None
    called = [_vectorcall()(function) for function in (small, large)]
    if not all(called):
        return None
    words = [id(small), id(large), least, id(np.ndarray), *called, much]
    _kept.append((small, large))
    made: Callable[..., Any] = new_builtin()(
        ctypes.addressof(method), np.array(words, np.uint64), None
    )
    return made


@cache
def _vectorcall() -> Any:
    """What tells where a function is called, as the words of a builtin hold it."""
    try:
        found = ctypes.pythonapi["PyVectorcall_Function"]
    except AttributeError:
        return None
    found.restype, found.argtypes = ctypes.c_void_p, [ctypes.py_object]
    return found


@cache
def _method() -> Method | None:
    """The builtins' common definition, which has to stay where it is."""
    if not has_known_arrays() or _vectorcall() is None:
        return None
    probe = np.zeros(1)
    if ctypes.c_uint64.from_address(id(probe) + _TYPE).value != id(type(probe)):
        return None
    text = Path(__file__).with_name("gate.ll").read_text(encoding="utf-8")
    for name, place in {**FIELDS, "TYPE": _TYPE}.items():
        text = text.replace(name, str(place))
    (address,) = assembled(("gate",), text, text).addresses
    method = Method(b"gate", address, _FASTCALL_WITH_NAMES, b"Serve one or two arrays.")
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(method))
    return method
