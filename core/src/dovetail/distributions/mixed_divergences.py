"""Divergences of distributions of two kinds, and of the rarer ones of one kind.

KL(p, q) is E_p[log p] - E_p[log q]: the entropy of p, and what moments of p say of q.
"""

from __future__ import annotations

import math
from typing import Any, Final

from dovetail import frontend as ft
from dovetail.engine.tensor import Tensor
from dovetail.errors import NotSupported

from .bounded import ContinuousBernoulli
from .counts import Bernoulli, Binomial, Poisson
from .distribution import Distribution, summed
from .divergences import kl_divergence, register_kl
from .gamma_family import Gamma
from .location_scale import (
    Cauchy,
    Gumbel,
    HalfNormal,
    Laplace,
    LogNormal,
    Normal,
)
from .matrices import LowRankMultivariateNormal
from .multivariate import MultivariateNormal
from .powers import Exponential, Pareto, Uniform
from .proportions import Beta
from .quantiles import EULER
from .transformed_distribution import TransformedDistribution

_LOG_ROOT_TAU: Final = 0.5 * math.log(2 * math.pi)

# Where p has values that q has not, whatever the parameters.
_BEYOND: Final[dict[type[Distribution], tuple[type[Distribution], ...]]] = {
    Beta: (Pareto,),
    ContinuousBernoulli: (Pareto,),
    Exponential: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gamma: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gumbel: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Laplace: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Normal: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Pareto: (Beta, ContinuousBernoulli, Uniform),
    Poisson: (Bernoulli, Binomial),
}


def _infinite(p: Any, q: Any) -> Any:
    like = getattr(p, p._given()[0])
    shape = ft.broadcast_shapes(p.batch_shape, q.batch_shape)
    return ft.full(shape, math.inf, dtype=like.dtype, device=like.device)


for _p, _others in _BEYOND.items():
    for _q in _others:
        register_kl(_p, _q)(_infinite)


def _inside(found: Any, fits: Tensor) -> Any:
    """A divergence, infinite where q has not all values of p."""
    return ft.where(fits, found, math.inf)


# ---- against a normal, an exponential, a gamma one


@register_kl(Beta, Normal)
@register_kl(ContinuousBernoulli, Normal)
@register_kl(Exponential, Normal)
@register_kl(Gamma, Normal)
@register_kl(Gumbel, Normal)
@register_kl(Laplace, Normal)
@register_kl(Uniform, Normal)
def _any_normal(p: Any, q: Normal) -> Any:
    square = p.variance + (p.mean - q.loc) ** 2
    spread = square / (2 * q.scale**2)
    return spread + ft.log(q.scale) + _LOG_ROOT_TAU - p.entropy()


@register_kl(Pareto, Normal)
def _pareto_normal(p: Pareto, q: Normal) -> Any:
    return _inside(_any_normal(p, q), p.alpha > 2)


@register_kl(Beta, Exponential)
@register_kl(ContinuousBernoulli, Exponential)
@register_kl(Gamma, Exponential)
def _any_exponential(p: Any, q: Exponential) -> Any:
    return q.rate * p.mean - ft.log(q.rate) - p.entropy()


@register_kl(Pareto, Exponential)
def _pareto_exponential(p: Pareto, q: Exponential) -> Any:
    return _inside(_any_exponential(p, q), p.alpha > 1)


@register_kl(Uniform, Exponential)
def _uniform_exponential(p: Uniform, q: Exponential) -> Any:
    return _inside(_any_exponential(p, q), p.low >= 0)


def _of_gamma(p: Any, q: Gamma, log: Any) -> Any:
    """Against a gamma distribution, by the mean of the logarithm."""
    a = q.concentration
    norm = ft.lgamma(a) - a * ft.log(q.rate)
    return norm - (a - 1) * log + q.rate * p.mean - p.entropy()


@register_kl(Beta, Gamma)
def _beta_gamma(p: Beta, q: Gamma) -> Any:
    a = p.concentration1
    return _of_gamma(p, q, ft.digamma(a) - ft.digamma(a + p.concentration0))


@register_kl(Exponential, Gamma)
def _exponential_gamma(p: Exponential, q: Gamma) -> Any:
    return _of_gamma(p, q, -EULER - ft.log(p.rate))


@register_kl(Pareto, Gamma)
def _pareto_gamma(p: Pareto, q: Gamma) -> Any:
    found = _of_gamma(p, q, ft.log(p.scale) + 1 / p.alpha)
    return _inside(found, p.alpha > 1)


@register_kl(Uniform, Gamma)
def _uniform_gamma(p: Uniform, q: Gamma) -> Any:
    def area(x: Any) -> Any:
        return ft.xlogy(x, x) - x

    log = (area(p.high) - area(ft.clamp(p.low, min=0))) / (p.high - p.low)
    return _inside(_of_gamma(p, q, log), p.low >= 0)


# ---- against others


def _of_gumbel(p: Any, q: Gumbel, tail: Any) -> Any:
    """Against a Gumbel distribution, by the mean of exp(-(x - loc) / scale)."""
    return ft.log(q.scale) + (p.mean - q.loc) / q.scale + tail - p.entropy()


@register_kl(Normal, Gumbel)
def _normal_gumbel(p: Normal, q: Gumbel) -> Any:
    moved = (q.loc - p.loc) / q.scale + 0.5 * (p.scale / q.scale) ** 2
    return _of_gumbel(p, q, ft.exp(moved))


@register_kl(Exponential, Gumbel)
def _exponential_gumbel(p: Exponential, q: Gumbel) -> Any:
    product = p.rate * q.scale
    return _of_gumbel(p, q, ft.exp(q.loc / q.scale) * product / (product + 1))


@register_kl(Gamma, Gumbel)
def _gamma_gumbel(p: Gamma, q: Gumbel) -> Any:
    shrunk = ft.log1p(1 / (p.rate * q.scale)) * p.concentration
    return _of_gumbel(p, q, ft.exp(q.loc / q.scale - shrunk))


@register_kl(Uniform, Gumbel)
def _uniform_gumbel(p: Uniform, q: Gumbel) -> Any:
    ends = [ft.exp((q.loc - x) / q.scale) for x in (p.low, p.high)]
    return _of_gumbel(p, q, q.scale * (ends[0] - ends[1]) / (p.high - p.low))


@register_kl(Gumbel, Gumbel)
def _gumbel(p: Gumbel, q: Gumbel) -> Any:
    ratio = p.scale / q.scale
    return _of_gumbel(p, q, ft.exp((q.loc - p.loc) / q.scale + ft.lgamma(1 + ratio)))


@register_kl(Normal, Laplace)
def _normal_laplace(p: Normal, q: Laplace) -> Any:
    away = (p.loc - q.loc) / p.scale
    peak = math.sqrt(2 / math.pi) * ft.exp(-0.5 * away**2)
    distance = p.scale * (peak + away * ft.erf(away / math.sqrt(2)))
    return ft.log(2 * q.scale) + distance / q.scale - p.entropy()


@register_kl(Beta, ContinuousBernoulli)
def _beta_coin(p: Beta, q: ContinuousBernoulli) -> Any:
    return _of_coin(p, q)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _coin(p: ContinuousBernoulli, q: ContinuousBernoulli) -> Any:
    return _of_coin(p, q)


def _of_coin(p: Any, q: ContinuousBernoulli) -> Any:
    success, failure = q._log_chances()
    linear = p.mean * (success - failure) + failure
    return -p.entropy() - linear - q._log_norm()


@register_kl(Uniform, ContinuousBernoulli)
def _uniform_coin(p: Uniform, q: ContinuousBernoulli) -> Any:
    return _inside(_of_coin(p, q), (p.low >= 0) & (p.high <= 1))


@register_kl(Beta, Uniform)
@register_kl(ContinuousBernoulli, Uniform)
def _unit_uniform(p: Any, q: Uniform) -> Any:
    found = -p.entropy() + ft.log(q.high - q.low)
    return _inside(found, (q.low <= 0) & (q.high >= 1))


@register_kl(Uniform, Beta)
def _uniform_beta(p: Uniform, q: Beta) -> Any:
    def area(x: Any) -> Any:
        return ft.xlogy(x, x) - x

    width = p.high - p.low
    low, high = (ft.clamp(x, 0, 1) for x in (p.low, p.high))
    up = (area(high) - area(low)) / width
    down = (area(1 - low) - area(1 - high)) / width
    a, b = q.concentration1, q.concentration0
    norm = ft.lgamma(a) + ft.lgamma(b) - ft.lgamma(a + b)
    found = norm - (a - 1) * up - (b - 1) * down - p.entropy()
    return _inside(found, (p.low >= 0) & (p.high <= 1))


@register_kl(Uniform, Pareto)
def _uniform_pareto(p: Uniform, q: Pareto) -> Any:
    log = (ft.xlogy(p.high, p.high) - ft.xlogy(p.low, p.low)) / (p.high - p.low) - 1
    norm = ft.log(q.alpha) + q.alpha * ft.log(q.scale)
    found = (q.alpha + 1) * log - norm - p.entropy()
    return _inside(found, p.low >= q.scale)


@register_kl(Pareto, Pareto)
def _pareto(p: Pareto, q: Pareto) -> Any:
    ratio = p.scale / q.scale
    slope = q.alpha / p.alpha
    found = q.alpha * ft.log(ratio) - ft.log(slope) + slope - 1
    return _inside(found, ratio >= 1)


@register_kl(Bernoulli, Poisson)
def _bernoulli_poisson(p: Bernoulli, q: Poisson) -> Any:
    return -p.entropy() - (p.probs * ft.log(q.rate) - q.rate)


@register_kl(Cauchy, Cauchy)
def _cauchy(p: Cauchy, q: Cauchy) -> Any:
    reach = (p.scale + q.scale) ** 2 + (p.loc - q.loc) ** 2
    return ft.log(reach) - ft.log(4 * p.scale * q.scale)


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p: HalfNormal, q: HalfNormal) -> Any:
    return kl_divergence(p._base, q._base)


@register_kl(LogNormal, LogNormal)
def _log_normal(p: LogNormal, q: LogNormal) -> Any:
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
@register_kl(LowRankMultivariateNormal, MultivariateNormal)
@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _normal_vectors(p: Any, q: Any) -> Any:
    return kl_divergence(_whole(p), _whole(q))


def _whole(p: Any) -> MultivariateNormal:
    return MultivariateNormal(p.loc, scale_tril=p.scale_tril, validate_args=False)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: TransformedDistribution, q: TransformedDistribution) -> Any:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotSupported(
            "kl_divergence", "transforms", was=f"{p.transforms} and {q.transforms}",
            needed="the same in both",
        )  # fmt: skip
    inner = kl_divergence(p.base_dist, q.base_dist)
    return summed(inner, len(p.event_shape) - len(p.base_dist.event_shape))


__all__: list[str] = []
