"""torch's names for elementwise ops: arithmetic, comparison, logic, complex numbers."""

# An op is callable with anything; its declaration says what it returns.

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dovetail.dtypes import DType, bool_, complex128, float64, get_default_dtype, iinfo
from dovetail.engine.out import write_out
from dovetail.engine.promotion import index_dtype
from dovetail.engine.public import public
from dovetail.engine.tape import storage_of
from dovetail.engine.tensor import Tensor, extend
from dovetail.errors import ArgumentError, ArgumentTypeError, DTypeError, NotSupported
from dovetail.frontend import activation  # noqa: F401
from dovetail.frontend.export import NAMES, torch_name
from dovetail.ops import compare as c
from dovetail.ops import complex as z
from dovetail.ops import elementwise as e
from dovetail.ops import primitive as p
from dovetail.ops import rounding as r
from dovetail.ops import special as s
from dovetail.ops import sums
from dovetail.ops import transcendental as t
from dovetail.ops.power import power

Function = Callable[..., Any]


def offer(function: Any, call: Function, names: str, writes: bool) -> None:
    """The op as a method, `call` with torch's parameter names as a function."""
    call.__doc__ = function.__doc__
    for name in (names or function.op.name).split():
        torch_name(name, method=False, out=False)(call)
        torch_name(name, top=False, writes=writes)(function)


def unary(function: Any, names: str = "", writes: bool = True) -> None:
    """Offer an op of one tensor."""

    def call(input: Tensor, *, out: Tensor | None = None) -> Any:
        y = function(input)
        return y if out is None else write_out(function.op.name, out, y)

    offer(function, call, names, writes)


def binary(function: Any, names: str = "", second: str = "other") -> None:
    """Offer an op of two operands, of which torch takes some as numbers."""
    first_may, second_may = _takes_numbers(
        names.split(maxsplit=1)[0] if names else function.op.name
    )

    def call(input: Any, *args: Any, out: Tensor | None = None, **kwargs: Any) -> Any:
        if kwargs:
            args = (*args, kwargs.pop(second))
        if not first_may:
            _tensor(function, "input", input)
        if not second_may:
            _tensor(function, second, *args)
        y = function(input, *args, **kwargs)
        return y if out is None else write_out(function.op.name, out, y)

    offer(function, call, names, True)


def _takes_numbers(name: str) -> tuple[bool, bool]:
    both = name.startswith("bitwise") or name in ("remainder", "xlogy", "mul")
    return both, both or name in _SECOND_NUMBER


def _tensor(function: Any, argument: str, value: Any) -> None:
    if not isinstance(value, Tensor):
        raise ArgumentTypeError(
            function.op.name, argument, was=repr(value), needed="a Tensor"
        )


_SECOND_NUMBER: Final = frozenset(
    {"fmod", "floor_divide", "copysign", "eq", "ne", "lt", "le", "gt", "ge"}
)
_UNARY: Final = {
    s.erf: "", s.erfc: "",
    s.lgamma: "", s.digamma: "", s.erfinv: "", z.conj_physical: "",
}  # fmt: skip
for _op, _names in _UNARY.items():
    unary(_op, _names)
unary(z.angle, writes=False)


# ---- arithmetic whose signature is more than its operands


@torch_name("add", writes=True)
def add(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    """input + alpha * other; integers wrap, bools are or'ed."""
    return (
        p.add(input, other)
        if alpha == 1
        else p.add(input, _scaled("add", input, other, alpha))
    )


@torch_name("sub", "subtract", writes=True)
def sub(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    """input - alpha * other; integers wrap."""
    return (
        p.sub(input, other)
        if alpha == 1
        else p.sub(input, _scaled("sub", input, other, alpha))
    )


@torch_name("rsub", out=False)
def rsub(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    """other - alpha * input."""
    return sub(other, input, alpha=alpha)


def _scaled(name: str, input: Any, other: Any, alpha: Any) -> Any:
    tensors = [x for x in (input, other) if isinstance(x, Tensor)]
    if isinstance(alpha, float) and not any(x.dtype.is_inexact for x in tensors):
        raise ArgumentError(
            name, "alpha", was=alpha, needed="no float: For integral input tensors, "
            "argument alpha must not be a floating point number",
        )  # fmt: skip
    if not isinstance(alpha, int | float | complex | Tensor):
        raise ArgumentTypeError(
            name, "alpha", was=f"a {type(alpha).__name__}", needed="a number"
        )
    return other * alpha


@torch_name("div", "divide", writes=True)
def div(input: Any, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """input / other: exact, towards zero (`"trunc"`) or down (`"floor"`)."""
    if rounding_mode is None:
        return p.div(input, other)
    if rounding_mode == "trunc":
        return r.trunc_divide(input, other)
    if rounding_mode == "floor":
        return r.floor_divide(input, other)
    raise ArgumentError(
        "div", "rounding_mode", was=repr(rounding_mode),
        needed="None, 'trunc' or 'floor'",
    )  # fmt: skip


@torch_name("pow", writes=True)
def pow(input: Any, exponent: Any) -> Tensor:
    """input to the power of exponent; integers wrap."""
    return power(input, exponent)


@torch_name("float_power", writes=True)
def float_power(input: Any, exponent: Any) -> Tensor:
    """input to the power of exponent, computed in float64 or complex128."""
    return power(_double(input), _double(exponent))


def _double(x: Any) -> Any:
    if not isinstance(x, Tensor):
        if not isinstance(x, int | float | complex):
            raise ArgumentTypeError(
                "float_power", "exponent", was=f"a {type(x).__name__}",
                needed="a Tensor or a number",
            )  # fmt: skip
        return complex(x) if isinstance(x, complex) else float(x)
    return p.cast(x, complex128 if x.dtype.is_complex else float64)


@public("ldexp ldexp_", out=True)
def ldexp(input: Tensor, other: Tensor) -> Tensor:
    """input * 2 ** other; integers become floats."""
    return p.mul(input, t.exp2(other))


@torch_name("round", writes=True)
def round(input: Tensor, *, decimals: int = 0) -> Tensor:
    """The nearest integer or multiple of 10 ** -decimals, halves to even."""
    if not decimals:
        return r.round(input)
    if not input.dtype.is_floating_point:
        raise DTypeError(
            "round",
            "input",
            was=input.dtype.name,
            needed="floats where decimals are given",
        )
    scale = 10.0 ** abs_int(decimals)
    if decimals > 0:
        return r.round(input * scale) / scale
    return r.round(input / scale) * scale


def abs_int(n: int) -> int:
    """|n|, where `abs` is an op."""
    return n if n >= 0 else -n


@torch_name("positive", out=False)
def positive(input: Tensor) -> Tensor:
    """`input` itself, which may not be bool."""
    return +input


@torch_name("clamp", "clip", writes=True)
def clamp(input: Tensor, min: Any = None, max: Any = None) -> Tensor:
    """`input` raised to `min`, then lowered to `max`: numbers, tensors or None."""
    if min is None and max is None:
        raise ArgumentError(
            "clamp", "min and max", was="None", needed="at least one of them"
        )
    return _bounded(input, min, max)


def _bounded(x: Tensor, low: Any, high: Any) -> Tensor:
    """By the op for numbers, where they cannot change the dtype."""
    if not isinstance(x, Tensor):
        raise ArgumentTypeError("clamp", "input", was=repr(x), needed="a Tensor")
    allowed = _NUMBERS if x.dtype.is_inexact else _WHOLE
    if type(low) in allowed and type(high) in allowed and x.dtype is not bool_:
        if not x.dtype.is_inexact:
            low, high = _within(x.dtype, low), _within(x.dtype, high)
        return e.clip(x, low, high)
    return e.clamp(x, low, high)


def _within(dtype: DType, bound: int | None) -> int | None:
    """The nearest number that the dtype has."""
    limits = iinfo(dtype)
    if bound is None:
        return None
    return (
        limits.min
        if bound < limits.min
        else limits.max
        if bound > limits.max
        else bound
    )


_WHOLE: Final = frozenset({int, type(None)})
_NUMBERS: Final = frozenset({int, float, type(None)})


@torch_name("clamp_min", writes=True)
def clamp_min(input: Tensor, min: Any) -> Tensor:
    """`input` raised to `min`."""
    return _bounded(input, min, None)


@torch_name("clamp_max", writes=True)
def clamp_max(input: Tensor, max: Any) -> Tensor:
    """`input` lowered to `max`."""
    return _bounded(input, None, max)


@torch_name("polygamma", method=False)
def polygamma(n: int, input: Tensor) -> Tensor:
    """The derivative of order `n` of digamma, for `n` 0 and 1."""
    if n not in (0, 1):
        raise NotSupported("polygamma", "n", was=n, needed="0 or 1")
    return s.trigamma(input) if n else s.digamma(input)


# ---- selection and comparison of whole tensors


@torch_name("where")
def where(condition: Tensor, input: Any = None, other: Any = None) -> Any:
    """`input` where the condition holds, else `other`; alone, where it is not zero."""
    if input is None and other is None:
        find = NAMES.get("nonzero")
        if find is None:
            raise NotSupported("where", "input", was="missing", needed="two operands")
        return find(condition, as_tuple=True)
    return p.where(condition, input, other)


def _where(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """This tensor where the condition holds, else `other`."""
    return p.where(condition, self, other)


extend(where=_where)


@torch_name("isclose", out=False)
def isclose(
    input: Any, other: Any, rtol: float = 1e-5, atol: float = 1e-8,
    equal_nan: bool = False,
) -> Tensor:  # fmt: skip
    """Whether |input - other| <= atol + rtol |other|, or both are equal."""
    if not (isinstance(input, Tensor) and isinstance(other, Tensor)):
        raise ArgumentTypeError(
            "isclose", "operands", was=f"{input!r}, {other!r}", needed="two Tensors"
        )
    if rtol < 0 or atol < 0:
        raise ArgumentError(
            "isclose", "rtol and atol", was=(rtol, atol), needed="no negative one"
        )
    same = p.eq(input, other)
    if equal_nan:
        same = same | (c.isnan(input) & c.isnan(other))
    input, other = _as_floats(input), _as_floats(other)
    near = c.le(e.abs(input - other), atol + rtol * e.abs(other))
    return same | (near & c.isfinite(input) & c.isfinite(other))


def _as_floats(x: Tensor) -> Tensor:
    """Differences of integers would wrap."""
    return x if x.dtype.is_inexact else p.cast(x, get_default_dtype())


def holds(condition: Tensor) -> bool:
    """Whether a condition holds everywhere; waits for it."""
    count = index_dtype(condition._kind)
    failures = sums.sum(c.logical_not(condition), dtype=count)
    return not failures.item()


@torch_name("allclose", out=False)
def allclose(
    input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8,
    equal_nan: bool = False,
) -> bool:  # fmt: skip
    """Whether all elements are close; see `isclose`."""
    return holds(isclose(input, other, rtol, atol, equal_nan))


@torch_name("equal", out=False)
def equal(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have one shape and equal elements."""
    if tuple(input._a.shape) != tuple(other._a.shape):
        return False
    return holds(p.eq(input, other))


# ---- complex numbers


@torch_name("conj", out=False)
def conj(input: Tensor) -> Tensor:
    """The complex conjugate; a real tensor is its own."""
    return p.conj(input)


@torch_name("resolve_conj", "resolve_neg", out=False)
def resolved(input: Tensor) -> Tensor:
    """`input` itself: conjugates and negations are computed at once."""
    return input


@torch_name("is_conj", "is_neg", out=False)
def is_lazy(input: Tensor) -> bool:
    """False: conjugates and negations are computed at once."""
    return False


@torch_name("real", method=False, out=False)
def real(input: Tensor) -> Tensor:
    """The real part, in memory of its own; a real tensor is its own."""
    return _copied(z.real(input), "real") if input.dtype.is_complex else input


def _copied(y: Tensor, name: str) -> Tensor:
    """Mark a copy that is a view in torch: a write to it would be lost."""
    storage_of(
        y
    ).readonly = f"a copy made by {name}: a write would not reach its origin"
    return y


@torch_name("imag", method=False, out=False)
def imag(input: Tensor) -> Tensor:
    """The imaginary part of a complex tensor, in memory of its own."""
    return _copied(z.imag(input), "imag")


extend(real=property(real), imag=property(imag))


@torch_name("isreal", out=False)
def isreal(input: Tensor) -> Tensor:
    """Whether the imaginary part is 0."""
    if input.dtype.is_complex:
        return p.eq(z.imag(input), 0)
    return c.constant(input, True)


@torch_name("complex", method=False)
def complex_(real: Tensor, imag: Tensor) -> Tensor:
    """real + imag * i."""
    if real.dtype is not imag.dtype:
        raise DTypeError(
            "complex",
            "imag",
            was=imag.dtype.name,
            needed=f"{real.dtype.name} as in real",
        )
    return z.complex(real, imag)


@torch_name("polar", method=False)
def polar(abs: Tensor, angle: Tensor) -> Tensor:
    """The complex number of that modulus and angle in radians."""
    return z.polar(abs, angle)


@torch_name("view_as_real", method=False, out=False)
def view_as_real(input: Tensor) -> Tensor:
    """Real and imaginary parts along a new last dim, in memory of their own."""
    return _copied(z.real_pairs(input), "view_as_real")


@torch_name("view_as_complex", method=False, out=False)
def view_as_complex(input: Tensor) -> Tensor:
    """Complex numbers from pairs along the last dim, in memory of their own."""
    return _copied(z.from_pairs(input), "view_as_complex")


@torch_name("is_complex", out=False)
def is_complex(input: Tensor) -> bool:
    """Whether the dtype is complex."""
    return input.dtype.is_complex


@torch_name("is_floating_point", out=False)
def is_floating_point(input: Tensor) -> bool:
    """Whether the dtype is a float."""
    return input.dtype.is_floating_point


@torch_name("is_nonzero", out=False)
def is_nonzero(input: Tensor) -> bool:
    """Whether the one element is not zero; waits for it."""
    return bool(input)
