"""special.

Written by `python -m dovetail.signatures`.
"""

from collections.abc import Sequence
from typing import Any

from dovetail.engine.tensor import Tensor

def airy_ai(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """Airy's function Ai; NaN where `input` is infinite, as torch has it."""

def bessel_j0(
    input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """The Bessel function of the first kind, of order 0 (DLMF 10)."""

def bessel_j1(
    input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """The Bessel function of the first kind, of order 1 (DLMF 10)."""

def bessel_y0(
    input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """The Bessel function of the second kind, of order 0 (DLMF 10)."""

def bessel_y1(
    input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """The Bessel function of the second kind, of order 1 (DLMF 10)."""

def chebyshev_polynomial_t(
    input: Tensor | complex,
    n: Tensor | complex,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """Chebyshev's T of degree `n`; 0 for negative degrees."""

def chebyshev_polynomial_u(
    input: Tensor | complex,
    n: Tensor | complex,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """Chebyshev's U of degree `n`; 0 for negative degrees."""

def chebyshev_polynomial_v(
    input: Tensor | complex,
    n: Tensor | complex,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """Chebyshev's V of degree `n`; 0 for negative degrees."""

def chebyshev_polynomial_w(
    input: Tensor | complex,
    n: Tensor | complex,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """Chebyshev's W of degree `n`; 0 for negative degrees."""

def digamma(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The derivative of lgamma (DLMF 5.5.2, 5.5.4, 5.11.2)."""

def entr(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """-input log(input): 0 at 0, -inf below."""

def erf(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The error function, 2 / sqrt(pi) times the integral of exp(-t²) up to
    it.
    """

def erfc(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """1 - erf(input), accurate where it is small."""

def erfcx(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """exp(x²) erfc(x), which falls as 1 / x (Shepherd and Laframboise 1981)."""

def erfinv(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The inverse of erf; infinite at ±1, NaN beyond."""

def exp2(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """2 to the power of input."""

def expit(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """1 / (1 + exp(-input)), without overflow."""

def expm1(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """exp(input) - 1, accurate near 0 (Kahan; Higham 2002, section 1.14.1)."""

def gammainc(
    input: Tensor, other: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """The share of the gamma integral of `input` that lies below `other`: P(a,
    x).
    """

def gammaincc(
    input: Tensor, other: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """The share of the gamma integral of `input` that lies above `other`: Q(a,
    x).
    """

def gammaln(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The logarithm of |gamma(input)|: recurrence, Stirling's series,
    reflection.
    """

def hermite_polynomial_h(
    input: Tensor | complex,
    n: Tensor | complex,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """Hermite's H, of physics, of degree `n`; 0 for negative degrees."""

def hermite_polynomial_he(
    input: Tensor | complex,
    n: Tensor | complex,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """Hermite's He, of probability, of degree `n`; 0 for negative degrees."""

def i0(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The modified Bessel function I of order 0."""

def i0e(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """exp(-|x|) times the modified Bessel function I of order 0 (DLMF 10.25)."""

def i1(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The modified Bessel function I of order 1."""

def i1e(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """exp(-|x|) times the modified Bessel function I of order 1 (DLMF 10.25)."""

def laguerre_polynomial_l(
    input: Tensor | complex,
    n: Tensor | complex,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """Laguerre's L of degree `n`; 0 for negative degrees."""

def legendre_polynomial_p(
    input: Tensor | complex,
    n: Tensor | complex,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """Legendre's P of degree `n`; 0 for negative degrees."""

def log1p(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """log(1 + input), accurate near 0 (Kahan; Higham 2002, problem 1.5)."""

def log_ndtr(
    input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """The logarithm of ndtr, also far below 0."""

def log_softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """The logarithm of softmax."""

def logit(
    input: Tensor,
    eps: complex | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """log(input / (1 - input)), with `input` kept at least `eps` from 0 and 1."""

def logsumexp(
    input: Tensor,
    dim: int | Sequence[int],
    keepdim: bool = False,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """log(sum(exp(input))) over `dim`, shifted by the greatest; -inf over
    nothing.
    """

def modified_bessel_i0(
    input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """The modified Bessel function I of order 0."""

def modified_bessel_i1(
    input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """The modified Bessel function I of order 1."""

def modified_bessel_k0(
    input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """The modified Bessel function K of order 0 (DLMF 10.25)."""

def modified_bessel_k1(
    input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """The modified Bessel function K of order 1 (DLMF 10.25)."""

def multigammaln(
    input: Tensor, p: int, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """`mvlgamma` under SciPy's name."""

def ndtr(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The area below the normal density, up to `input`."""

def ndtri(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """Where the normal distribution has the value of `input` (Wichura 1988, AS
    241).
    """

def polygamma(
    n: int, input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """The derivative of order `n` of digamma."""

def psi(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The derivative of lgamma (DLMF 5.5.2, 5.5.4, 5.11.2)."""

def round(
    input: Tensor, *, decimals: int = 0, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """The nearest integer or multiple of 10 ** -decimals, halves to even."""

def scaled_modified_bessel_k0(
    input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """The modified Bessel function K of order 0, times exp(input) (DLMF
    10.25).
    """

def scaled_modified_bessel_k1(
    input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """The modified Bessel function K of order 1, times exp(input) (DLMF
    10.25).
    """

def shifted_chebyshev_polynomial_t(
    input: Tensor | complex,
    n: Tensor | complex,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """Chebyshev's T of degree `n`, of 2 input - 1; 0 for negative degrees."""

def shifted_chebyshev_polynomial_u(
    input: Tensor | complex,
    n: Tensor | complex,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """Chebyshev's U of degree `n`, of 2 input - 1; 0 for negative degrees."""

def shifted_chebyshev_polynomial_v(
    input: Tensor | complex,
    n: Tensor | complex,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """Chebyshev's V of degree `n`, of 2 input - 1; 0 for negative degrees."""

def shifted_chebyshev_polynomial_w(
    input: Tensor | complex,
    n: Tensor | complex,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """Chebyshev's W of degree `n`, of 2 input - 1; 0 for negative degrees."""

def sinc(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """sin(pi input) / (pi input), which is 1 at 0."""

def softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """Exponentials along `dim`, over their sum."""

def spherical_bessel_j0(
    input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """sin(input) / input, which is 1 at 0 and 0 at infinity (DLMF 10.49.3)."""

def xlog1py(
    input: Tensor | complex,
    other: Tensor | complex,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """input log(1 + other), which is 0 where `input` is 0 and `other` is not
    NaN.
    """

def xlogy(
    input: Tensor | complex,
    other: Tensor | complex,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """input log(other), which is 0 where `input` is 0 and `other` is not NaN."""

def zeta(
    input: Tensor | complex,
    other: Tensor | complex,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """Hurwitz's zeta function: the sum of (other + k)^-input over k = 0, 1, …"""
