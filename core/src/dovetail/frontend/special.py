"""torch.special: what is there under other names, and what is composed of ops."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from dovetail.dtypes import HALF, bool_, float32, get_default_dtype
from dovetail.engine.attributes import Operand
from dovetail.engine.promotion import result_type
from dovetail.engine.public import NAMESPACES, public
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, DTypeError
from dovetail.ops import bessel, bessel_third, gamma  # noqa: F401
from dovetail.ops.arithmetic import exp, log
from dovetail.ops.bounds import minimum
from dovetail.ops.compare import isnan
from dovetail.ops.create import filled
from dovetail.ops.elementwise import abs
from dovetail.ops.error_function import erfc
from dovetail.ops.formats import cast, where
from dovetail.ops.special import erfcx
from dovetail.ops.transcendental import log1p
from dovetail.ops.zeta import derived, hurwitz

_TORCH: Final = NAMESPACES["torch"]
_SPECIAL: Final = NAMESPACES.setdefault("special", {})
_SAME: Final = (
    "digamma erf erfc erfinv exp2 expm1 log1p logit logsumexp round sinc xlogy"
)
_SPECIAL.update({name: _TORCH[name] for name in _SAME.split()})
_SPECIAL.update(
    expit=_TORCH["sigmoid"], gammaln=_TORCH["lgamma"], psi=_TORCH["digamma"]
)


def _real(name: str, x: Any) -> tuple[Tensor, Any]:
    """A tensor as floats of 32 bits or more, and what its result is cast to."""
    if x.dtype.is_complex:
        raise DTypeError(name, "input", was=x.dtype.name, needed="real numbers")
    if x.dtype in HALF:
        return cast(x, float32), x.dtype
    return (x if x.dtype.is_inexact else cast(x, get_default_dtype())), None


def _offer(names: str, function: Callable[[Tensor], Tensor], doc: str) -> None:
    """Offer a function of real numbers under torch's names."""
    first = names.split(maxsplit=1)[0].rpartition(".")[2]

    def call(input: Tensor) -> Tensor:
        x, narrow = _real(first, input)
        y = function(x)
        return y if narrow is None else cast(y, narrow)

    call.__doc__ = doc
    public(names, out=True)(call)


def _i0(x: Tensor) -> Tensor:
    return bessel.i0e(x) * exp(abs(x))


def _i1(x: Tensor) -> Tensor:
    return bessel.i1e(x) * exp(abs(x))


def _entropy(x: Tensor) -> Tensor:
    y = -x * log(where(x > 0, x, 1))
    return where(x < 0, -math.inf, where(isnan(x), x, y))


def _normal(x: Tensor) -> Tensor:
    return erfc(x * -math.sqrt(0.5)) * 0.5


def _log_normal(x: Tensor) -> Tensor:
    """The tail by erfcx, whose exponential is taken off in logarithms."""
    low, high = minimum(x, -1), where(x < -1, 0, x)
    tail = log(erfcx(low * -math.sqrt(0.5)) * 0.5) - low * low * 0.5
    whole = log1p(erfc(high * math.sqrt(0.5)) * -0.5)
    return where(x < -1, tail, whole)


_ROOT_2PI: Final = math.sqrt(2 * math.pi)
_MOST_GAMMAS: Final = 1 << 16  # that a product is made of, one by one


_offer("special.i0 special.modified_bessel_i0 i0 i0_", _i0,
       "The modified Bessel function I of order 0.")  # fmt: skip
_offer("special.i1 special.modified_bessel_i1", _i1,
       "The modified Bessel function I of order 1.")  # fmt: skip
_offer("special.entr", _entropy, "-input log(input): 0 at 0, -inf below.")
_offer("special.ndtr", _normal, "The area below the normal density, up to `input`.")
_offer("special.log_ndtr", _log_normal, "The logarithm of ndtr, also far below 0.")


def _pair(name: str, input: Any, other: Any) -> tuple[Any, Any, Any]:
    """Two operands as floats of 32 bits or more, and what the result is cast to."""
    dtype = result_type((input, other))
    dtype = dtype if dtype.is_inexact else get_default_dtype()
    if dtype.is_complex:
        raise DTypeError(name, "input", was=dtype.name, needed="real numbers")
    wide = float32 if dtype in HALF else dtype
    given = [cast(x, wide) if isinstance(x, Tensor) else x for x in (input, other)]
    if not isinstance(given[0], Tensor):
        given[0] = filled(given[1], given[0])
    if not isinstance(given[1], Tensor):
        given[1] = filled(given[0], given[1])
    return given[0], given[1], dtype


@public("special.xlog1py", out=True)
def xlog1py(input: Operand, other: Operand) -> Tensor:
    """input log(1 + other), which is 0 where `input` is 0 and `other` is not NaN."""
    x, y, dtype = _pair("special.xlog1py", input, other)
    zero = (x == 0) & ~isnan(y)
    return cast(where(zero, 0, x * log1p(where(zero, 0, y))), dtype)


@public("special.zeta", out=True)
def zeta(input: Operand, other: Operand) -> Tensor:
    """Hurwitz's zeta function: the sum of (other + k)^-input over k = 0, 1, …"""
    x, q, dtype = _pair("special.zeta", input, other)
    return cast(hurwitz(x, q), dtype)


def _polygamma(n: int, input: Tensor) -> Tensor:
    x, narrow = _real("polygamma", input)
    if n < 0:
        raise ArgumentError("polygamma", "n", was=n, needed="at least 0")
    if n == 0:
        y = gamma.digamma(x)
    elif n == 1:
        y = gamma.trigamma(x)
    else:
        y = derived(x, n)
    return y if narrow is None else cast(y, narrow)


@public("torch.polygamma special.polygamma", out=True)
def polygamma(n: int, input: Tensor) -> Tensor:
    """The derivative of order `n` of digamma."""
    return _polygamma(n, input)


@public("Tensor.polygamma Tensor.polygamma_")
def method_polygamma(self: Tensor, n: int) -> Tensor:
    """The derivative of order `n` of digamma."""
    return _polygamma(n, self)


def _multigamma(name: str, input: Tensor, p: int) -> Tensor:
    """DLMF 35.3.4."""
    if input.dtype is bool_:
        raise DTypeError(name, "input", was="bool", needed="numbers")
    x, narrow = _real(name, input)
    if not 1 <= p <= _MOST_GAMMAS:
        raise ArgumentError(name, "p", was=p, needed=f"from 1 to {_MOST_GAMMAS}")
    y = x * 0 + p * (p - 1) / 4 * math.log(math.pi)
    for k in range(p):
        y = y + gamma.lgamma(x - k / 2)
    return y if narrow is None else cast(y, narrow)


@public("mvlgamma Tensor.mvlgamma_", out=True)
def mvlgamma(input: Tensor, p: int) -> Tensor:
    """The logarithm of the gamma function of `p` dims."""
    return _multigamma("mvlgamma", input, p)


@public("special.multigammaln", out=True)
def multigammaln(input: Tensor, p: int) -> Tensor:
    """`mvlgamma` under SciPy's name."""
    return _multigamma("multigammaln", input, p)


def _softmax(name: str, words: str) -> None:
    apply = _TORCH[name]

    def call(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
        y: Tensor = apply(input, dim, dtype=dtype)
        return y

    call.__doc__ = words
    public(f"special.{name}")(call)


_softmax("softmax", "Exponentials along `dim`, over their sum.")
_softmax("log_softmax", "The logarithm of softmax.")
