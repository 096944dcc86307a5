"""Numbers and nested lists of them as a NumPy array, whose integers fit the dtype."""

from __future__ import annotations

from array import array
from collections.abc import Set
from contextlib import suppress
from functools import reduce
from typing import Any, Final

import numpy as np

from dovetail import dtypes
from dovetail.dtypes import INT_CATEGORY, Array, DType
from dovetail.engine.elements import stored
from dovetail.engine.tensor import Tensor
from dovetail.errors import (
    ArgumentError,
    ArgumentTypeError,
    DTypeError,
    NumberOutOfRange,
    ShapeError,
)
from dovetail.float8 import convert

_DEEPEST: Final = 64  # dims of an array
_OF_NUMBERS: Final = frozenset({bool, int, float, complex})
_REAL: Final = frozenset({float, int})
_NEEDED: Final = "numbers, nested lists of numbers, an array or a tensor"


def host_array(data: Any, dtype: DType | None) -> Array:
    """`data` as a fresh or the same array, of `dtype` or of the one it implies.

    Integers of lists must fit; floats round, and overflow to infinity, as torch's do.
    Arrays and tensors are cast as `to` casts them.

    Raises:
        ArgumentError: ragged lists, or tensors of several elements in them.
        ShapeError: lists nested too deeply.
        NumberOutOfRange: an integer or float that an integer dtype does not hold.
        DTypeError: complex numbers for a real dtype.
    """
    if isinstance(data, np.ndarray | np.generic):
        found = np.asarray(data)
        return _cast(found, dtype) if found.dtype.kind in "biufc" else _refuse(data)
    single = _of_floats(data, dtype or dtypes.get_default_dtype())
    if single is not None:
        return single
    leaves: set[Any] = set()
    host = _of_lists(_plain(data, 0, leaves), data)
    if host.dtype.kind == "O":
        host = _of_large(host, data, dtype)
    wanted = dtype or _implied(host, leaves)
    if host.dtype.kind == "c" and wanted.category and not wanted.is_complex:
        raise DTypeError(
            "tensor", "data", was="complex", needed=f"real numbers for {wanted.name}"
        )
    if wanted.numpy == host.dtype and wanted not in dtypes.FLOAT8:
        return host
    if wanted.category == INT_CATEGORY and host.size:
        for extreme in (host.min(), host.max()):  # NaN is both
            stored("tensor", wanted, extreme.item(), "data")
    return _cast(host, wanted)


def _of_floats(data: Any, dtype: DType) -> Array | None:
    """A float, or a list of some and ints, in single precision; None for all else.

    `array` rounds as C does, so that nothing need be said of overflow.
    """
    if dtype is not dtypes.float32:
        return None
    if type(data) is float:
        return np.frombuffer(array("f", (data,)), np.float32).reshape(())
    if type(data) is not list and type(data) is not tuple:
        return None
    classes = set(map(type, data))
    if float not in classes or not classes <= _REAL:
        return None
    try:
        return np.frombuffer(array("f", data), np.float32)
    except OverflowError:  # an int that no float holds
        return None


def _plain(data: Any, depth: int, leaves: set[Any]) -> Any:
    """Nested lists with tensors of one element turned into numbers, as torch does.

    Args:
        leaves: gets what is in them: the types of numbers, the dtypes of arrays.
    """
    if isinstance(data, Tensor):
        leaves.add(data.dtype)
        if depth and data.numel() != 1:
            raise ArgumentError(
                "tensor", "data", was=f"a list with a tensor of {tuple(data.shape)}",
                needed="one-element tensors, which stand for numbers",
                remedy="use stack or cat",
            )  # fmt: skip
        return data.item() if depth else data.detach().cpu().numpy()
    if not isinstance(data, list | tuple):
        known = isinstance(data, np.ndarray | np.generic) and data.dtype.kind in "biufc"
        leaves.add(dtypes.from_numpy(data.dtype) if known else type(data))
        return data
    if depth == _DEEPEST:
        raise ShapeError(
            "tensor", "data", was="nested more deeply",
            needed=f"at most {_DEEPEST} lists in each other",
        )  # fmt: skip
    classes = set(map(type, data))
    if classes <= _OF_NUMBERS:
        leaves |= classes
        return data
    return [_plain(v, depth + 1, leaves) for v in data]


def _of_lists(plain: Any, data: Any) -> Array:
    try:
        host = np.array(plain)
    except ValueError as error:
        raise ArgumentError(
            "tensor", "data", was=f"ragged: {error}",
            needed="nested lists of equal lengths",
        ) from error  # fmt: skip
    except TypeError as error:
        raise _refusal(data) from error
    return host if host.dtype.kind in "biufcO" else _refuse(data)


def _of_large(host: Array, data: Any, dtype: DType | None) -> Array:
    """An array of Python's objects, which NumPy makes of integers beyond 64 bits."""
    if not all(isinstance(v, int | float | complex) for v in host.flat):
        _refuse(data)
    wanted = dtype or _implied(host)
    if wanted.is_inexact or not wanted.category:
        with suppress(OverflowError):
            return host.astype(np.float64)
    largest = max(host.flat, key=abs)
    raise NumberOutOfRange(
        "tensor", "data", was=f"an integer of {int(largest).bit_length()} bits",
        needed=f"numbers in the range of {wanted.name}", remedy="pass floats",
    )  # fmt: skip


def _implied(host: Array, leaves: Set[Any] = frozenset()) -> DType:
    """The dtype that torch gives to a list: that of Python's numbers, and of arrays."""
    given = [leaf for leaf in leaves if isinstance(leaf, DType)]
    if given:
        numbers = (leaf for leaf in leaves if leaf in _OF_NUMBERS)
        given += [dtypes.dtype_of_scalar(leaf(0)) for leaf in numbers]
        return reduce(dtypes.promote_types, given)
    kind = host.dtype.kind
    if kind == "c":
        return dtypes.get_default_dtype().complex
    if kind == "f" or not host.size:
        return dtypes.get_default_dtype()
    return dtypes.bool_ if kind == "b" else dtypes.int64


def _cast(host: Array, dtype: DType | None) -> Array:
    if dtype is None:
        return host
    with np.errstate(over="ignore", invalid="ignore"):
        if dtype in dtypes.FLOAT8:
            packed: Array = convert(np, host, dtype)
            return packed
        return host.astype(dtype.numpy, copy=False)


def _refusal(data: Any) -> ArgumentTypeError:
    return ArgumentTypeError(
        "tensor", "data", was=f"of type {type(data).__name__}", needed=_NEEDED
    )


def _refuse(data: Any) -> Any:
    raise _refusal(data)
