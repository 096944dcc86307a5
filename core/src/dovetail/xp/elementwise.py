"""Elementwise kernels: one ufunc of the library, or a few in a row."""

from __future__ import annotations

from typing import Any, Final

from dovetail.device_api.kernels import KernelTable
from dovetail.dtypes import (
    ANY,
    BITS,
    BOOL,
    COMPLEX,
    FLOAT,
    HALF,
    INEXACT,
    INTEGRAL,
    NUMERIC,
    ORDERED,
    REAL,
    STORED,
    float16,
)  # fmt: skip
from dovetail.xp import chosen
from dovetail.xp.kernels import undispatched
from dovetail.xp.orders import elementwise

# NumPy's for float16 gives the first of two zeros, where C gives the second.
_NEXT: Final = FLOAT - {float16}
# op: (name of the ufunc, dtypes). IEEE 754 says what these give, to the last bit.
ROUNDED: Final = {
    "add": ("add", ANY), "sub": ("subtract", NUMERIC), "mul": ("multiply", ANY),
    "div": ("divide", INEXACT), "sqrt": ("sqrt", INEXACT),
    "float_fmod": ("fmod", FLOAT), "fmod": ("fmod", REAL),
    "remainder": ("remainder", REAL), "floor_divide": ("floor_divide", REAL),
    "floor": ("floor", FLOAT), "ceil": ("ceil", FLOAT), "trunc": ("trunc", FLOAT),
    "round": ("rint", FLOAT), "maximum": ("maximum", ORDERED),
    "minimum": ("minimum", ORDERED), "fmax": ("fmax", ORDERED),
    "fmin": ("fmin", ORDERED),
    "lt": ("less", ORDERED), "le": ("less_equal", ORDERED), "gt": ("greater", ORDERED),
    "ge": ("greater_equal", ORDERED), "eq": ("equal", STORED),
    "ne": ("not_equal", STORED),
    "bitwise_and": ("bitwise_and", BITS), "bitwise_or": ("bitwise_or", BITS),
    "bitwise_xor": ("bitwise_xor", BITS), "bitwise_not": ("invert", BITS),
    "shift_left": ("left_shift", INTEGRAL),
    "bitwise_left_shift": ("left_shift", INTEGRAL),
    "bitwise_right_shift": ("right_shift", INTEGRAL),
    "logical_and": ("logical_and", ANY), "logical_or": ("logical_or", ANY),
    "logical_xor": ("logical_xor", ANY), "logical_not": ("logical_not", ANY),
    "isnan": ("isnan", INEXACT), "isinf": ("isinf", INEXACT),
    "isfinite": ("isfinite", INEXACT), "signbit": ("signbit", FLOAT),
    "copysign": ("copysign", FLOAT), "nextafter": ("nextafter", _NEXT),
    "abs": ("absolute", NUMERIC), "neg": ("negative", NUMERIC),
    "square": ("square", NUMERIC), "reciprocal": ("reciprocal", INEXACT),
    "sign": ("sign", INTEGRAL), "conj_physical": ("conjugate", COMPLEX),
    "gcd": ("gcd", INTEGRAL), "lcm": ("lcm", INTEGRAL),
}  # fmt: skip
# The last bits of these, and of complex numbers, depend on the loop that a layout
# gets, so that writing over an operand would not give what a fresh result holds.
APPROXIMATE: Final = {
    "exp": ("exp", INEXACT), "exp2": ("exp2", INEXACT), "expm1": ("expm1", INEXACT),
    "log": ("log", INEXACT), "log2": ("log2", INEXACT), "log10": ("log10", INEXACT),
    "log1p": ("log1p", FLOAT), "sin": ("sin", INEXACT), "cos": ("cos", INEXACT),
    "tan": ("tan", INEXACT), "asin": ("arcsin", INEXACT), "acos": ("arccos", INEXACT),
    "atan": ("arctan", INEXACT), "sinh": ("sinh", INEXACT), "cosh": ("cosh", INEXACT),
    "tanh": ("tanh", INEXACT), "asinh": ("arcsinh", INEXACT),
    "acosh": ("arccosh", INEXACT), "atanh": ("arctanh", INEXACT),
    "float_pow": ("power", INEXACT), "pow": ("power", INEXACT),
    "atan2": ("arctan2", FLOAT), "hypot": ("hypot", FLOAT),
    "logaddexp": ("logaddexp", FLOAT), "logaddexp2": ("logaddexp2", FLOAT),
}  # fmt: skip
_PLAIN: Final[dict[str, Any]] = {"broadcasts": True, "checks": True}
_WIDE: Final = FLOAT - HALF
_MUCH: Final = 4096


def install(table: KernelTable, xp: Any) -> None:
    """Add the library's ufuncs, and what a few of them make, to a table."""
    for op, (ufunc, dtypes) in (ROUNDED | APPROXIMATE).items():
        kernel = getattr(xp, ufunc)
        fixed = dtypes - COMPLEX if op in ROUNDED else frozenset()
        table.add(op, kernel, dtypes=fixed, **_PLAIN, supports_out=True)
        table.add(op, kernel, dtypes=dtypes - fixed, **_PLAIN)
    table.add("idiv", _idiv(xp), dtypes=INTEGRAL, **_PLAIN)
    table.add("trunc_divide", _idiv(xp), dtypes=INTEGRAL, **_PLAIN)
    table.add("trunc_divide", _trunc_divide(xp), dtypes=_WIDE, **_PLAIN)
    table.add("shift_right", _shift_right(xp), dtypes=INTEGRAL, **_PLAIN)
    table.add("pow", _integer_pow(xp), dtypes=INTEGRAL, **_PLAIN)
    table.add("where", undispatched(xp.where), dtypes=STORED, **_PLAIN)
    table.add("clamp", _clamp(xp), dtypes=ORDERED - BOOL, **_PLAIN)
    table.add("cube", lambda a: a * a * a, dtypes=NUMERIC - HALF, **_PLAIN)
    table.add("rsqrt", lambda a: xp.reciprocal(xp.sqrt(a)), dtypes=_WIDE, **_PLAIN)
    table.add("sign", _sign(xp), dtypes=FLOAT, **_PLAIN)
    table.add("real", lambda a: a.real.copy(), dtypes=COMPLEX, **_PLAIN)
    table.add("imag", lambda a: a.imag.copy(), dtypes=COMPLEX, **_PLAIN)
    table.add("complex", _complex(xp), dtypes=FLOAT, **_PLAIN)
    table.add("addcmul", _addcmul(xp), dtypes=(REAL | COMPLEX) - HALF, **_PLAIN)
    table.add("addcdiv", _addcdiv, dtypes=INEXACT - HALF, **_PLAIN)
    table.add("lerp", _lerp(xp), dtypes=INEXACT - HALF, **_PLAIN)
    chosen.install(table, xp)


def _complex(xp: Any) -> Any:
    def of_parts(real: Any, imag: Any) -> Any:
        """Numbers of both parts as they are; a product with i has NaNs at infinity."""
        wide = xp.complex128 if real.dtype == xp.float64 else xp.complex64
        made = xp.empty(xp.broadcast_shapes(real.shape, imag.shape), wide)
        made.real = real
        made.imag = imag
        return made

    return elementwise(xp, of_parts)


def _idiv(xp: Any) -> Any:
    def idiv(a: Any, b: Any) -> Any:
        """Truncated quotient from the floored one; n / 0 is 0."""
        quotient = xp.floor_divide(a, b)
        inexact = quotient * b != a
        return quotient + (inexact & (quotient < 0) & (b != 0)).astype(quotient.dtype)

    return idiv


def _trunc_divide(xp: Any) -> Any:
    return lambda a, b: xp.trunc(xp.divide(a, b))


def _shift_right(xp: Any) -> Any:
    unsigned = {
        "int8": "uint8",
        "int16": "uint16",
        "int32": "uint32",
        "int64": "uint64",
    }

    def shift_right(a: Any, b: Any) -> Any:
        """Logical shift: of the same bits without a sign."""
        name = unsigned.get(a.dtype.name)
        if name is None:
            return xp.right_shift(a, b)
        return xp.right_shift(a.view(name), b.astype(name)).view(a.dtype)

    return shift_right


def _integer_pow(xp: Any) -> Any:
    def integer_pow(a: Any, b: Any) -> Any:
        """Powers that wrap; a negative one is what truncating 1 / a^-b leaves."""
        if a.dtype.kind == "u":
            return xp.power(a, b)
        y = xp.power(a, xp.maximum(b, 0))
        negative = b < 0
        if not negative.any():
            return y
        of_unit = xp.where((b & 1) == 0, a * a, a)
        inverse = xp.where(xp.abs(a) == 1, of_unit, xp.zeros_like(a))
        return xp.where(negative, inverse, y)

    return integer_pow


def _clamp(xp: Any) -> Any:
    maximum, minimum = xp.maximum, xp.minimum

    def clamp(a: Any, low: Any, high: Any) -> Any:
        """Raised first, then lowered; NaN wins. One pass, where there is much to do."""
        if low is None:
            return minimum(a, high)
        if a.size > _MUCH and a.dtype.kind == "f" and high is not None:
            return a.clip(low, high)
        y = maximum(a, low)
        return y if high is None else minimum(y, high)

    return clamp


def _sign(xp: Any) -> Any:
    def sign(a: Any) -> Any:
        """NaN has the sign 0, unlike NumPy's."""
        return xp.subtract(a > 0, a < 0, dtype=a.dtype)

    return sign


def _addcmul(xp: Any) -> Any:
    def addcmul(x: Any, a: Any, b: Any, value: Any) -> Any:
        if a.dtype.kind in "iu":  # a negative factor wraps, as products do
            value = xp.asarray(int(value)).astype(a.dtype)
        return x + a * b * value

    return addcmul


def _addcdiv(x: Any, a: Any, b: Any, value: Any) -> Any:
    return x + a / b * value


def _lerp(xp: Any) -> Any:
    where, absolute = undispatched(xp.where), xp.absolute

    def lerp(a: Any, b: Any, weight: Any) -> Any:
        """Towards `b` from the nearer end, so that it is `b` where the weight is 1."""
        step = b - a
        near_a = absolute(weight) < 0.5
        return where(near_a, a + weight * step, b - step * (1 - weight))

    return lerp
