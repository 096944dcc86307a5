"""Making arrays, as the array API standard has it."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from dovetail import frontend as f
from dovetail.array_api.arrays import conforming
from dovetail.dtypes import DType, get_default_dtype
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ArgumentTypeError
from dovetail.frontend.ranges import arange as _arange
from dovetail.frontend.ranges import linspace as _linspace
from dovetail.tensor_api import dlpack


@conforming
def asarray(
    obj: Any, /, *, dtype: DType | None = None, device: Any = None,
    copy: bool | None = None,
) -> Any:  # fmt: skip
    """An array of what a number, nested sequences, an array or a buffer hold.

    Args:
        copy: True for memory of its own, False to raise where that is needed; None
            shares the memory of tensors, NumPy arrays and buffers where it can.

    Raises: ArgumentError where a copy is needed and forbidden.
    """
    source = _shared(obj)
    if source is None:
        if copy is False:
            raise _needs_copy(f"a {type(obj).__name__}")
        return f.tensor(obj, dtype=dtype, device=device)
    made = source if device is None else source.to(device)
    made = made if dtype is None else made.to(dtype)
    if made is source:
        return made.clone() if copy else made
    if copy is False:
        raise _needs_copy(f"{source.dtype.name} on {source.device}")
    return made


def _needs_copy(was: str) -> ArgumentError:
    return ArgumentError(
        "asarray", "copy", was=f"False, for {was}",
        needed="an array or buffer of the dtype and device that are asked for",
    )  # fmt: skip


def _shared(obj: Any) -> Tensor | None:
    """A tensor over the memory of an array or a buffer; None for other things."""
    if isinstance(obj, Tensor):
        return obj
    if isinstance(obj, np.generic):
        obj = np.asarray(obj)
    elif isinstance(obj, bytes | bytearray | memoryview) or _is_buffer(obj):
        obj = np.asarray(memoryview(obj))
    if isinstance(obj, np.ndarray):
        plain = all(s >= 0 for s in obj.strides) and obj.dtype.isnative
        made: Tensor = f.from_numpy(obj if plain else _native(obj))
        return made
    if hasattr(obj, "__dlpack__"):
        return dlpack.from_dlpack(obj)
    return None


def _is_buffer(obj: Any) -> bool:
    if isinstance(obj, str | np.ndarray) or hasattr(obj, "__dlpack__"):
        return False
    try:
        memoryview(obj)
    except TypeError:
        return False
    return True


def _native(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.ascontiguousarray(array).astype(array.dtype.newbyteorder("="))


@conforming
def arange(
    start: float, /, stop: float | None = None, step: float = 1, *,
    dtype: DType | None = None, device: Any = None,
) -> Any:  # fmt: skip
    """Evenly spaced numbers from `start` on, `stop` excluded."""
    if stop is None:
        start, stop = 0, start
    if (stop - start) * step <= 0:
        numbers = (start, stop, step)
        whole = all(isinstance(n, int) for n in numbers)
        kind = dtype or (f.arange(0).dtype if whole else get_default_dtype())
        return f.empty(0, dtype=kind, device=device)
    return _arange(start, stop, step, dtype=dtype, device=device)


@conforming
def linspace(
    start: complex, stop: complex, /, num: int, *,
    dtype: DType | None = None, device: Any = None, endpoint: bool = True,
) -> Any:  # fmt: skip
    """`num` evenly spaced numbers from `start` to `stop`, which `endpoint` includes."""
    kind = dtype or _kind_of(start, stop)
    if endpoint or not num:
        return _linspace(start, stop, num, dtype=kind, device=device)
    return _linspace(start, stop, num + 1, dtype=kind, device=device)[:-1].clone()


def _kind_of(*numbers: complex) -> DType:
    real = get_default_dtype()
    return real.complex if any(isinstance(n, complex) for n in numbers) else real


@conforming
def eye(
    n_rows: int, n_cols: int | None = None, /, *, k: int = 0,
    dtype: DType | None = None, device: Any = None,
) -> Any:  # fmt: skip
    """Ones on the `k`-th diagonal, zeros elsewhere."""
    n_cols = n_rows if n_cols is None else n_cols
    k = max(-n_rows, min(k, n_cols))
    rows = f.arange(n_rows, device=device).unsqueeze(1)
    columns = f.arange(n_cols, device=device)
    return (rows + k == columns).to(dtype or get_default_dtype())


@conforming
def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Any:
    """An array over memory that another library lends through DLPack."""
    return dlpack.from_dlpack(x, device=device, copy=copy)


@conforming
def empty(
    shape: int | tuple[int, ...], *, dtype: DType | None = None, device: Any = None
) -> Any:
    """An array whose elements are unspecified."""
    return f.empty(shape, dtype=dtype, device=device)


@conforming
def empty_like(x: Any, /, *, dtype: DType | None = None, device: Any = None) -> Any:
    """An array of the same shape whose elements are unspecified."""
    return f.empty_like(x, dtype=dtype, device=device)


@conforming
def full(
    shape: int | tuple[int, ...], fill_value: complex, *,
    dtype: DType | None = None, device: Any = None,
) -> Any:  # fmt: skip
    """An array that holds one number, in the number's default dtype."""
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    return f.full(shape, fill_value, dtype=dtype, device=device)


@conforming
def full_like(
    x: Any, /, fill_value: complex, *, dtype: DType | None = None, device: Any = None
) -> Any:
    """An array of the same shape that holds one number."""
    return f.full_like(x, fill_value, dtype=dtype, device=device)


@conforming
def ones(
    shape: int | tuple[int, ...], *, dtype: DType | None = None, device: Any = None
) -> Any:
    """An array of ones."""
    return f.ones(shape, dtype=dtype, device=device)


@conforming
def ones_like(x: Any, /, *, dtype: DType | None = None, device: Any = None) -> Any:
    """An array of ones of the same shape."""
    return f.ones_like(x, dtype=dtype, device=device)


@conforming
def zeros(
    shape: int | tuple[int, ...], *, dtype: DType | None = None, device: Any = None
) -> Any:
    """An array of zeros."""
    return f.zeros(shape, dtype=dtype, device=device)


@conforming
def zeros_like(x: Any, /, *, dtype: DType | None = None, device: Any = None) -> Any:
    """An array of zeros of the same shape."""
    return f.zeros_like(x, dtype=dtype, device=device)


@conforming
def tril(x: Any, /, *, k: int = 0) -> Any:
    """The matrices' lower triangles, with what is up to `k` above the diagonal."""
    return f.tril(x, k)


@conforming
def triu(x: Any, /, *, k: int = 0) -> Any:
    """The matrices' upper triangles, from `k` above the diagonal on."""
    return f.triu(x, k)


@conforming
def meshgrid(*arrays: Any, indexing: Literal["xy", "ij"] = "xy") -> Any:
    """The coordinates of a grid, one array for each dim."""
    if not arrays:
        return ()
    shared = arrays[0].dtype
    if any(a.dtype is not shared for a in arrays):
        raise ArgumentTypeError(
            "meshgrid", "arrays", was="of several dtypes", needed="one dtype"
        )
    return tuple(f.meshgrid(*arrays, indexing=indexing))
