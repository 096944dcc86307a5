"""Dtypes, their categories, and torch's promotion between them."""

from __future__ import annotations

import contextvars
from functools import cache
from typing import Any, Final

import numpy as np

from dovetail.errors import ArgumentTypeError, DTypeError, StoredDTypeError

# What annotations call arrays on the host, and shapes.
Array = np.ndarray[Any, Any]
Sizes = tuple[int, ...]

BOOL_CATEGORY: Final = 0
INT_CATEGORY: Final = 1
FLOAT_CATEGORY: Final = 2
COMPLEX_CATEGORY: Final = 3


class DType:
    """The format of a tensor's elements; interned, compared by identity.

    Attributes:
        name: torch's name, e.g. `float32`.
        category: 0 bool, 1 integer, 2 float, 3 complex.
        itemsize: bytes an element.
        is_signed: whether negative values exist.
    """

    __slots__ = ("_numpy", "category", "is_signed", "itemsize", "name")

    def __init__(self, name: str, category: int, itemsize: int, signed: bool) -> None:
        self.name = name
        self.category = category
        self.itemsize = itemsize
        self.is_signed = signed
        self._numpy: Any = None

    @property
    def is_floating_point(self) -> bool:
        return self.category == FLOAT_CATEGORY

    @property
    def is_complex(self) -> bool:
        return self.category == COMPLEX_CATEGORY

    @property
    def is_inexact(self) -> bool:
        """Whether values are rounded: floats and complex numbers."""
        return self.category >= FLOAT_CATEGORY

    @property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy dtype of the same format (ml_dtypes' where NumPy has none)."""
        if self._numpy is None:
            self._numpy = _numpy_dtype(self.name)
        found: np.dtype[Any] = self._numpy
        return found

    @property
    def real(self) -> DType:
        """The dtype of the real part."""
        return {"complex64": float32, "complex128": float64}.get(self.name, self)

    @property
    def complex(self) -> DType:
        """The complex dtype whose parts hold this one.

        Raises: DTypeError for a format of 8 bits, which has none.
        """
        if self in FLOAT8:
            raise DTypeError(
                "to_complex", "dtype", was=self.name,
                needed="a dtype that complex numbers are made of",
            )  # fmt: skip
        wide = self is float64 or self is complex128
        return complex128 if wide else complex64

    def to_real(self) -> DType:
        return self.real

    def to_complex(self) -> DType:
        return self.complex

    def __repr__(self) -> str:
        return f"dovetail.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return by_name, (self.name,)

    def __copy__(self) -> DType:
        return self

    def __deepcopy__(self, memo: object) -> DType:
        return self


class NamedDType(DType):
    """A format that has a name alone: no tensor is of it, and no call takes it."""

    __slots__ = ()

    @property
    def numpy(self) -> np.dtype[Any]:
        raise self.refused("dtype", "dtype")

    @property
    def real(self) -> DType:
        return float16

    @property
    def complex(self) -> DType:
        return self

    def refused(self, op: str, argument: str) -> StoredDTypeError:
        """What a call says that is given it."""
        return StoredDTypeError(
            op, argument, was=f"{self.name}, which is a name without tensors: NumPy "
            "has no complex numbers of two float16", needed="a dtype that tensors have",
            remedy="use complex64, or pairs of float16",
        )  # fmt: skip


def _numpy_dtype(name: str) -> np.dtype[Any]:
    if name == "bfloat16" or name.startswith("float8"):
        import ml_dtypes  # costs 8 ms: only for those who use it

        found: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
        return found
    plain: np.dtype[Any] = np.dtype(name)
    return plain


bool_: Final = DType("bool", BOOL_CATEGORY, 1, False)
uint8: Final = DType("uint8", INT_CATEGORY, 1, False)
uint16: Final = DType("uint16", INT_CATEGORY, 2, False)
uint32: Final = DType("uint32", INT_CATEGORY, 4, False)
uint64: Final = DType("uint64", INT_CATEGORY, 8, False)
int8: Final = DType("int8", INT_CATEGORY, 1, True)
int16: Final = DType("int16", INT_CATEGORY, 2, True)
int32: Final = DType("int32", INT_CATEGORY, 4, True)
int64: Final = DType("int64", INT_CATEGORY, 8, True)
float16: Final = DType("float16", FLOAT_CATEGORY, 2, True)
bfloat16: Final = DType("bfloat16", FLOAT_CATEGORY, 2, True)
float32: Final = DType("float32", FLOAT_CATEGORY, 4, True)
float64: Final = DType("float64", FLOAT_CATEGORY, 8, True)
float8_e4m3fn: Final = DType("float8_e4m3fn", FLOAT_CATEGORY, 1, True)
float8_e5m2: Final = DType("float8_e5m2", FLOAT_CATEGORY, 1, True)
float8_e4m3fnuz: Final = DType("float8_e4m3fnuz", FLOAT_CATEGORY, 1, True)
float8_e5m2fnuz: Final = DType("float8_e5m2fnuz", FLOAT_CATEGORY, 1, True)
float8_e8m0fnu: Final = DType("float8_e8m0fnu", FLOAT_CATEGORY, 1, False)
complex64: Final = DType("complex64", COMPLEX_CATEGORY, 8, True)
complex128: Final = DType("complex128", COMPLEX_CATEGORY, 16, True)

# Programs name it in tables of dtypes.
complex32: Final = NamedDType("complex32", COMPLEX_CATEGORY, 4, True)

_COMPUTING: Final = (
    bool_, uint8, int8, int16, int32, int64, uint16, uint32, uint64,
    float16, bfloat16, float32, float64, complex64, complex128,
)  # fmt: skip
# Formats that are stored, moved, cast and compared, but not computed with.
_STORING: Final = (
    float8_e4m3fn, float8_e5m2, float8_e4m3fnuz, float8_e5m2fnuz, float8_e8m0fnu,
)  # fmt: skip
ALL: Final = _COMPUTING + _STORING
NAMED: Final = {"complex32": complex32, "chalf": complex32}
_BY_NAME: Final = {dtype.name: dtype for dtype in ALL}
ALIASES: Final = {
    "half": float16, "float": float32, "double": float64, "short": int16,
    "int": int32, "long": int64, "cfloat": complex64, "cdouble": complex128,
}  # fmt: skip

# What an op accepts, by the promoted dtype of its inputs.
BOOL: Final = frozenset({bool_})
INTEGRAL: Final = frozenset(d for d in _COMPUTING if d.category == INT_CATEGORY)
BITS: Final = BOOL | INTEGRAL
FLOAT: Final = frozenset(d for d in _COMPUTING if d.is_floating_point)
COMPLEX: Final = frozenset(d for d in _COMPUTING if d.is_complex)
INEXACT: Final = FLOAT | COMPLEX
REAL: Final = INTEGRAL | FLOAT
ORDERED: Final = BOOL | REAL
NUMERIC: Final = REAL | COMPLEX
ANY: Final = frozenset(_COMPUTING)
FLOAT8: Final = frozenset(_STORING)
STORED: Final = ANY | FLOAT8
HALF: Final = frozenset({float16, bfloat16})


def by_name(name: str) -> DType:
    """The dtype of that name or torch alias."""
    found = _BY_NAME.get(name) or ALIASES.get(name) or NAMED.get(name)
    if found is None:
        raise DTypeError(
            "dtype", "name", was=repr(name), needed=f"one of {', '.join(_BY_NAME)}"
        )
    return found


@cache
def from_numpy(dtype: np.dtype[Any]) -> DType:
    """The dovetail dtype of a NumPy dtype."""
    found = _BY_NAME.get(dtype.name)
    if found is None or not dtype.isnative:
        raise DTypeError(
            "from_numpy", "dtype", was=f"numpy {dtype!s}",
            needed=f"one of {', '.join(_BY_NAME)} in native byte order",
            remedy="convert the array with .astype first",
        )  # fmt: skip
    return found


def as_dtype(value: object, op: str = "dtype") -> DType:
    """A dtype from a dtype, a Python type, or raise."""
    if type(value) is DType:
        return value
    if isinstance(value, NamedDType):
        raise value.refused(op, "dtype")
    if value is float:
        return float64
    if value is bool:
        return bool_
    if value is int:
        return int64
    if value is complex:
        return complex128
    raise ArgumentTypeError(
        op, "dtype", was=repr(value), needed="a dovetail dtype such as dovetail.float32"
    )


def check_computing(op: str, dtype: DType, name: str = "dtype") -> None:
    """Raise for a dtype that is only stored, moved, cast and compared.

    Raises: StoredDTypeError: it is one of 8-bit floats.
    """
    if dtype in FLOAT8:
        raise StoredDTypeError(
            op, name, was=dtype.name, needed="a dtype that is computed with",
            remedy="compute in float32, and cast with .to(dtype)",
        )  # fmt: skip


_default: contextvars.ContextVar[DType] = contextvars.ContextVar(
    "dovetail_default_dtype", default=float32
)


def get_default_dtype() -> DType:
    """The dtype of Python floats and of integers taken to floating point."""
    return _default.get()


def set_default_dtype(d: DType) -> None:
    """Make `d` the dtype of Python floats, in this context."""
    given: object = d
    if not isinstance(given, DType) or given not in FLOAT:
        raise DTypeError(
            "set_default_dtype", "d", was=d,
            needed="a floating point dtype that is computed with",
        )  # fmt: skip
    _default.set(d)


@cache
def promote(a: DType, b: DType) -> DType:
    """The smallest dtype that holds both, by torch's lattice."""
    if a is b:
        return a
    if a in FLOAT8 or b in FLOAT8:
        raise DTypeError(
            "promote_types", None, was=f"{a} with {b}",
            needed="one dtype: Promotion for Float8 Types is not supported",
            remedy="cast one of them with .to(dtype) first",
        )  # fmt: skip
    if a.category != b.category:
        low, high = sorted((a, b), key=lambda d: d.category)
        if high.is_complex and low.is_floating_point:
            return complex128 if low is float64 else high
        return high
    if a.category == INT_CATEGORY:
        return _promote_ints(a, b)
    if a.itemsize == b.itemsize:  # float16 with bfloat16
        return float32
    return a if a.itemsize > b.itemsize else b


def _promote_ints(a: DType, b: DType) -> DType:
    if a.is_signed == b.is_signed:
        return a if a.itemsize > b.itemsize else b
    signed, unsigned = (a, b) if a.is_signed else (b, a)
    if signed.itemsize > unsigned.itemsize:
        return signed
    if unsigned.itemsize == 1:  # int8 with uint8
        return int16
    raise DTypeError(
        "promote_types", None, was=f"{signed} with {unsigned}",
        needed="dtypes one of which holds the other", remedy="cast one of them first",
    )  # fmt: skip


def promote_types(type1: DType, type2: DType) -> DType:
    """The smallest dtype that holds both, by torch's lattice."""
    return promote(as_dtype(type1, "promote_types"), as_dtype(type2, "promote_types"))


def can_cast(from_: DType, to: DType) -> bool:
    """Whether torch casts implicitly: never to a lower category."""
    source, target = as_dtype(from_, "can_cast"), as_dtype(to, "can_cast")
    if source.category != target.category:
        return source.category < target.category
    return True


def dtype_of_scalar(value: object) -> DType:
    """The dtype a Python number promotes with, by its category alone."""
    if isinstance(value, bool | np.bool_):
        return bool_
    if isinstance(value, int | np.integer):
        return int64
    if isinstance(value, float | np.floating):
        return get_default_dtype()
    if isinstance(value, complex | np.complexfloating):
        return get_default_dtype().complex
    raise ArgumentTypeError(
        "promotion", None, was=repr(value), needed="a tensor or a Python number"
    )
