"""Tensor's in-place draws: `uniform_`, `normal_`, `random_`, `bernoulli_` …"""

# Ops are known by their declarations; what they return is typed where it matters.

from __future__ import annotations

import functools
import math
from typing import Any

from dovetail.dtypes import FLOAT, HALF, check_computing, float32, get_default_dtype
from dovetail.engine.generator import Generator
from dovetail.engine.inplace import write
from dovetail.engine.kinds import Kind
from dovetail.engine.public import public
from dovetail.engine.tensor import Tensor
from dovetail.engine.writable import check_writable
from dovetail.errors import ArgumentError, DTypeError
from dovetail.frontend.random import drawn, floats, normal_of, number, uniform_of
from dovetail.frontend.random_integers import integers_of, limits, random_range
from dovetail.frontend.random_mask import mask_of, probability, trials
from dovetail.limits import finfo
from dovetail.ops import random as ops
from dovetail.ops.primitive import cast, cos, exp, floor, maximum, sin
from dovetail.ops.view import expand


def _fills(function: Any) -> Any:
    """Make `name_(self, …)`, which gives new values, a method that writes them."""
    name = function.__name__

    @functools.wraps(function)
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        check_writable(name, self)
        return write(name, self, function(self, *args, **kwargs))

    public(f"Tensor.{name}")(method)
    return function


@_fills
def uniform_(
    self: Tensor, from_: float = 0, /, to: float = 1, *,
    generator: Generator | None = None,
) -> Tensor:  # fmt: skip
    """Fill with floats uniform in [from, to)."""
    kind = floats("uniform_", self._kind)
    if not from_ <= to:
        raise ArgumentError("uniform_", "from", was=from_, needed=f"at most to, {to}")
    if to - from_ > finfo(kind.dtype).max:
        raise ArgumentError(
            "uniform_", "to - from", was=to - from_,
            needed=f"a number of {kind.dtype.name}",
        )  # fmt: skip
    return uniform_of("uniform_", tuple(self.shape), kind, generator, from_, to)


@_fills
def normal_(
    self: Tensor, mean: float = 0, std: float = 1, *, generator: Generator | None = None
) -> Tensor:
    """Fill with normal floats."""
    kind = floats("normal_", self._kind)
    std = number("NonNegative", "normal_", "std", std)
    return normal_of("normal_", tuple(self.shape), kind, generator, mean, std)


@_fills
def random_(
    self: Tensor, from_: int | None = None, /, to: int | None = None, *,
    generator: Generator | None = None,
) -> Tensor:  # fmt: skip
    """Fill with integers in [from, to), or [0, from); without either, from 0 on, all
    that the dtype holds exactly."""
    kind = self._kind
    check_computing("random_", kind.dtype)
    if kind.dtype.is_complex:
        raise DTypeError("random_", "dtype", was=kind.dtype.name, needed="a real dtype")
    if from_ is None:
        low, high = 0, limits(kind.dtype)[1] if to is None else to
    else:
        low, high = (0, from_) if to is None else (from_, to)
    low, high = random_range("random_", low, high, kind.dtype)
    return integers_of("random_", tuple(self.shape), kind, generator, low, high)


@_fills
def bernoulli_(
    self: Tensor, p: float | Tensor = 0.5, *, generator: Generator | None = None
) -> Tensor:
    """Fill with 1 with probability `p`, a number or a tensor of them, else 0."""
    shape, kind = tuple(self.shape), self._kind
    if isinstance(p, Tensor):
        chosen = trials("bernoulli_", expand(p.detach(), shape), generator)
        return cast(chosen, kind.dtype)
    mask = mask_of("bernoulli_", shape, kind, probability("bernoulli_", p), generator)
    return cast(mask, kind.dtype)


def _wide(kind: Kind) -> Kind:
    """Where transforms are computed: 16-bit floats in float32."""
    return kind.with_dtype(float32) if kind.dtype in HALF else kind


@_fills
def exponential_(
    self: Tensor, lambd: float = 1, *, generator: Generator | None = None
) -> Tensor:
    """Fill with exponential floats of rate `lambd`; never 0."""
    kind = _real("exponential_", self._kind)
    rate = number("Positive", "exponential_", "lambd", lambd)
    shape = tuple(self.shape)
    return drawn("exponential_", ops.exponential, kind, generator, shape, rate)


def _real(name: str, kind: Kind) -> Kind:
    check_computing(name, kind.dtype)
    if kind.dtype not in FLOAT:
        raise DTypeError(
            name, "dtype", was=kind.dtype.name, needed="a floating point dtype"
        )
    return kind


@_fills
def geometric_(self: Tensor, p: float, *, generator: Generator | None = None) -> Tensor:
    """Fill with the number of trials until one of probability `p` succeeds, from 1."""
    if not 0 < p < 1:
        raise ArgumentError("geometric_", "p", was=p, needed="between 0 and 1")
    floating = self.dtype in FLOAT
    kind = _wide(self._kind if floating else self._kind.with_dtype(get_default_dtype()))
    shape, rate = tuple(self.shape), -math.log1p(-p)
    waits = drawn("geometric_", ops.exponential, kind, generator, shape, rate)
    return cast(maximum(floor(waits * -1) * -1, 1), self.dtype)


@_fills
def log_normal_(
    self: Tensor, mean: float = 1, std: float = 2, *, generator: Generator | None = None
) -> Tensor:
    """Fill with floats whose logarithms are normal."""
    kind = _real("log_normal_", self._kind)
    std = number("Positive", "log_normal_", "std", std)
    shape = tuple(self.shape)
    y = exp(normal_of("log_normal_", shape, _wide(kind), generator, mean, std))
    return cast(y, kind.dtype)


@_fills
def cauchy_(
    self: Tensor, median: float = 0, sigma: float = 1, *,
    generator: Generator | None = None,
) -> Tensor:  # fmt: skip
    """Fill with floats of the Cauchy distribution: the tangent of a uniform angle."""
    kind = _real("cauchy_", self._kind)
    sigma = number("Positive", "cauchy_", "sigma", sigma)
    u = uniform_of("cauchy_", tuple(self.shape), _wide(kind), generator)
    angle = (u - 0.5) * math.pi
    return cast(sin(angle) / cos(angle) * sigma + median, kind.dtype)
