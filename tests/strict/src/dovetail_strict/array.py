"""Arrays with the attributes of CuPy's, which never become NumPy's unasked."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Final

import numpy as np

from dovetail_strict import names
from dovetail_strict.waits import wait

Numpy = np.ndarray[Any, Any]
_WAITING: Final = {"item", "tolist", "nonzero"}
_REDUCING: Final = {"sum", "max", "min", "mean", "all", "any", "prod"}
_PLACES: Final = {"argmax", "argmin"}


def lower(x: Any) -> Any:
    """NumPy's side of an argument; raises for what CuPy does not take."""
    if type(x) is StrictArray:
        if x.numpy.dtype.name == "bfloat16":
            raise TypeError("CuPy casts, copies and views bfloat16; no more is sure")
        return x.numpy
    if isinstance(x, np.ndarray):
        raise TypeError(f"Unsupported type {type(x)}")
    if isinstance(x, tuple | list):
        return type(x)(map(lower, x))
    return x


def lift(x: Any) -> Any:
    """An array of ours for NumPy's, and for its scalars: CuPy has 0-d arrays."""
    if isinstance(x, np.ndarray | np.generic):
        return StrictArray(np.asarray(x))
    if isinstance(x, tuple):
        return tuple(map(lift, x))
    return list(map(lift, x)) if isinstance(x, list) else x


def index_of(a: Numpy, key: Any) -> tuple[Any, ...]:
    """An index as CuPy takes it: what is out of range wraps around, unseen."""
    keys = key if isinstance(key, tuple) else (key,)
    found: list[Any] = []
    dim = 0
    spare = a.ndim - sum(k is not None and k is not Ellipsis for k in keys)
    for part in keys:
        k = part if part is None or part is Ellipsis else lower(part)
        if k is Ellipsis:
            dim += spare
        elif isinstance(k, np.ndarray) and k.dtype == bool:
            wait("a boolean index")
            dim += max(k.ndim, 1)
        elif k is not None:
            if isinstance(k, np.ndarray) and a.shape[dim]:
                k = k % a.shape[dim]
            dim += 1
        found.append(k)
    return tuple(found)


def _owner(a: Numpy) -> Any:
    """What has the memory of an array."""
    while isinstance(a.base, np.ndarray):
        a = a.base
    return a


def refuse_axis_of_number(a: Any, axis: Any) -> None:
    """NumPy takes axis 0 of a number as none; CuPy refuses it."""
    if not a.ndim and axis not in (None, ()):
        raise np.exceptions.AxisError(axis if isinstance(axis, int) else axis[0], 0)


def place_of_extreme(name: str, a: Numpy, axis: Any, keepdims: bool = False) -> Any:
    """The place of the greatest or least; of several NaNs the last, CuPy's is any."""
    found = getattr(np, name)(a, axis=axis, keepdims=keepdims)
    if a.dtype.kind not in "fV" or not a.size:
        return found
    nan = np.isnan(a)
    whole = nan.reshape(-1) if axis is None else nan
    along = 0 if axis is None else axis
    from_end = np.argmax(np.flip(whole, along), axis=along)
    last = np.reshape(whole.shape[along] - 1 - from_end, np.shape(found))
    return np.where(nan.any(axis=axis, keepdims=keepdims), last, found)


class StrictArray:
    """A NumPy array behind the attributes that CuPy's have."""

    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]
    __slots__ = ("numpy",)

    device = 0
    """CuPy's have an object here; kernels ask no more than that it is hashable."""

    def __init__(self, values: Numpy, *more: Any) -> None:
        if more or type(values) is not np.ndarray:
            raise TypeError("Argument 'memptr' has incorrect type")
        self.numpy = values

    @property
    def data(self) -> Any:
        return SimpleNamespace(ptr=self.numpy.ctypes.data, mem=_owner(self.numpy))

    @property
    def real(self) -> StrictArray:
        return StrictArray(self.numpy.real)

    @real.setter
    def real(self, values: Any) -> None:
        self.numpy.real = lower(values)

    @property
    def imag(self) -> StrictArray:
        return StrictArray(self.numpy.imag)

    @imag.setter
    def imag(self, values: Any) -> None:
        self.numpy.imag = lower(values)

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")

    def __getattr__(self, name: str) -> Any:
        if name not in names.ARRAY:
            raise AttributeError(f"'ndarray' object has no attribute {name!r}")
        found = getattr(self.numpy, name)
        return _method(self, name, found) if callable(found) else _value(found)

    def __getitem__(self, key: Any) -> Any:
        return lift(self.numpy[index_of(self.numpy, key)])

    def __setitem__(self, key: Any, value: Any) -> None:
        kept = type(value) is StrictArray and value.dtype == self.dtype
        self.numpy[index_of(self.numpy, key)] = value.numpy if kept else lower(value)

    def __len__(self) -> int:
        return len(self.numpy)

    def __bool__(self) -> bool:
        wait("bool")
        return bool(self.numpy)

    def __int__(self) -> int:
        wait("int")
        return int(self.numpy)

    def __float__(self) -> float:
        wait("float")
        return float(self.numpy)

    def __index__(self) -> int:
        wait("index")
        return self.numpy.__index__()


def _value(found: Any) -> Any:
    return lift(found) if isinstance(found, np.ndarray) else found


def _method(a: StrictArray, name: str, found: Callable[..., Any]) -> Callable[..., Any]:
    if name in _PLACES:
        return lambda axis=None, keepdims=False: lift(
            place_of_extreme(name, a.numpy, axis, keepdims)
        )

    def method(*args: Any, **options: Any) -> Any:
        if name in _WAITING:
            wait(name)
        if name in _REDUCING:
            refuse_axis_of_number(a, options.get("axis", args[0] if args else None))
        if name == "take":
            options.setdefault("mode", "wrap")
        if name in ("sort", "argsort") and {"quicksort", "mergesort"} & {*args}:
            raise ValueError("kind can only be None or 'stable'")
        given = {k: lower(v) for k, v in options.items()}
        made = found(*map(lower, args), **given)
        if name == "view" and made.size and made.ctypes.data % made.itemsize:
            raise TypeError("misaligned address")  # which ends a context on a card
        return made if name in ("item", "tolist") else lift(made)

    return method


def _operator(name: str) -> Callable[..., Any]:
    def operator(self: Any, *others: Any) -> Any:
        made = getattr(self.numpy, name)(*map(lower, others))
        if name.startswith("__i") and name != "__invert__":
            if made is not self.numpy:
                raise TypeError(f"{name} of {self.dtype}")
            return self
        return NotImplemented if made is NotImplemented else lift(made)

    return operator


_TWO: Final = """
add sub mul truediv floordiv mod pow and or xor lshift rshift matmul
"""
_ONE: Final = "lt le gt ge eq ne neg pos abs invert"
for _stem in _TWO.split():
    for _name in (f"__{_stem}__", f"__r{_stem}__", f"__i{_stem}__"):
        setattr(StrictArray, _name, _operator(_name))
for _stem in _ONE.split():
    setattr(StrictArray, f"__{_stem}__", _operator(f"__{_stem}__"))
