"""Kullback and Leibler's divergences, each registered for two distributions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from dovetail import frontend as ft
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentTypeError, NotSupported
from dovetail.linalg import solve_triangular

from .classes import Categorical, OneHotCategorical
from .counts import Bernoulli, Binomial, Geometric, Poisson
from .distribution import Distribution, ExponentialFamily, summed
from .gamma_family import Gamma
from .independent import Independent
from .location_scale import Laplace, Normal
from .matrices import Wishart, multigammaln
from .multivariate import MultivariateNormal, squared_distance
from .powers import Exponential, Uniform
from .probabilities import inside, weighted
from .proportions import Beta, Dirichlet

_Pair = tuple[type, type]
_divergences: dict[_Pair, Callable[[Any, Any], Any]] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Any], Any]:
    """Decorate a function that gives the divergence of two kinds of distributions.

    Args:
        type_p, type_q: classes, whose subclasses it serves too.
    """
    given: dict[str, Any] = {"type_p": type_p, "type_q": type_q}
    for name, cls in given.items():
        if not isinstance(cls, type):  # also one that only has what these have
            raise ArgumentTypeError(
                "register_kl", name, was=repr(cls), needed="a class"
            )

    def keep(function: Any) -> Any:
        _divergences[type_p, type_q] = function
        return function

    return keep


def kl_divergence(p: Distribution, q: Distribution) -> Any:
    """Kullback and Leibler's divergence of q from p: E_p[log p - log q].

    Raises: NotSupported if nothing is registered for the two.
    """
    fits = [
        (p_type, q_type) for p_type, q_type in _divergences
        if isinstance(p, p_type) and isinstance(q, q_type)
    ]  # fmt: skip
    if not fits:
        raise _unregistered(p, q)
    nearest = min(fits, key=lambda pair: _distance(p, pair[0]) + _distance(q, pair[1]))
    return _divergences[nearest](p, q)


def _unregistered(p: Any, q: Any) -> NotSupported:
    return NotSupported(
        "kl_divergence", "p and q", was=f"{type(p).__name__} and {type(q).__name__}",
        needed="a registered pair", remedy="register_kl",
    )  # fmt: skip


def _distance(value: Any, cls: type) -> int:
    """How far up among the classes of a value one is."""
    return type(value).__mro__.index(cls)


@register_kl(ExponentialFamily, ExponentialFamily)
def _families(p: ExponentialFamily, q: ExponentialFamily) -> Any:
    """Of two of one class of users', by what it says of its family."""
    if type(p) is not type(q):
        raise _unregistered(p, q)
    norm, params, slopes = p.slopes()
    found = q._log_normalizer(*q._natural_params) - norm
    for mine, theirs, slope in zip(params, q._natural_params, slopes, strict=True):
        found = found - summed((theirs - mine) * slope, len(q.event_shape))
    return found


@register_kl(Normal, Normal)
def _normal(p: Normal, q: Normal) -> Any:
    ratio = (p.scale / q.scale) ** 2
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale) ** 2 - 1 - ft.log(ratio))


@register_kl(Laplace, Laplace)
def _laplace(p: Laplace, q: Laplace) -> Any:
    ratio, apart = p.scale / q.scale, ft.abs(p.loc - q.loc)
    return ratio * ft.exp(-apart / p.scale) + apart / q.scale - ft.log(ratio) - 1


@register_kl(Wishart, Wishart)
def _wishart(p: Wishart, q: Wishart) -> Any:
    """By the means of a matrix and of its log determinant (Bishop 2006, B.79)."""
    n = p.event_shape[-1]
    halves = 0.5 * ft.arange(n, dtype=p.df.dtype, device=p.df.device)
    slope = ft.digamma(p.df.unsqueeze(-1) / 2 - halves).sum(-1)
    left = solve_triangular(q.scale_tril, p.scale_tril, upper=False)
    trace = (left * left).sum((-2, -1))
    logs = [ft.log(ft.diagonal(x.scale_tril, dim1=-2, dim2=-1)).sum(-1) for x in (p, q)]
    norms = multigammaln(q.df / 2, n) - multigammaln(p.df / 2, n)
    means = 0.5 * (p.df - q.df) * slope + 0.5 * p.df * (trace - n)
    return q.df * (logs[1] - logs[0]) + norms + means


@register_kl(Exponential, Exponential)
def _exponential(p: Exponential, q: Exponential) -> Any:
    ratio = q.rate / p.rate
    return ratio - ft.log(ratio) - 1


@register_kl(Uniform, Uniform)
def _uniform(p: Uniform, q: Uniform) -> Any:
    found = ft.log((q.high - q.low) / (p.high - p.low))
    outside = (q.low > p.low) | (q.high < p.high)
    return ft.where(outside, ft.full_like(found, math.inf), found)


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Bernoulli, q: Bernoulli) -> Any:
    return _two(p, q)


@register_kl(Binomial, Binomial)
def _binomial(p: Binomial, q: Binomial) -> Any:
    found = p.total_count * _two(p, q)
    more = ft.full_like(found, math.inf)
    return ft.where(p.total_count > q.total_count, more, found)


@register_kl(Geometric, Geometric)
def _geometric(p: Geometric, q: Geometric) -> Any:
    return _two(p, q) / p.probs


@register_kl(Categorical, Categorical)
@register_kl(OneHotCategorical, OneHotCategorical)
def _classes(p: Any, q: Any) -> Any:
    return weighted(p.probs, p.logits - q.logits).sum(-1)


@register_kl(Poisson, Poisson)
def _poisson(p: Poisson, q: Poisson) -> Any:
    return weighted(p.rate, ft.log(p.rate) - ft.log(q.rate)) - (p.rate - q.rate)


@register_kl(Gamma, Gamma)
def _gamma(p: Gamma, q: Gamma) -> Any:
    a, b = p.concentration, q.concentration
    norms = ft.lgamma(b) - ft.lgamma(a) + b * ft.log(p.rate / q.rate)
    return norms + (a - b) * ft.digamma(a) + a * (q.rate / p.rate - 1)


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Dirichlet, q: Dirichlet) -> Any:
    a, b = p.concentration, q.concentration
    slope = ft.digamma(a) - ft.digamma(a.sum(-1, keepdim=True))
    return q._log_norm() - p._log_norm() + ((a - b) * slope).sum(-1)


@register_kl(Beta, Beta)
def _beta(p: Beta, q: Beta) -> Any:
    return _dirichlet(p._pair, q._pair)


@register_kl(MultivariateNormal, MultivariateNormal)
def _normal_vectors(p: MultivariateNormal, q: MultivariateNormal) -> Any:
    n = p.event_shape[0]
    logs = q._half_log_det() - p._half_log_det()
    spread = squared_distance(q.scale_tril.unsqueeze(-3), p.scale_tril.mT).sum(-1)
    return logs + 0.5 * (spread + squared_distance(q.scale_tril, p.loc - q.loc) - n)


@register_kl(Independent, Independent)
def _independent(p: Independent, q: Independent) -> Any:
    return summed(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


def _two(p: Any, q: Any) -> Any:
    """The divergence of two chances."""
    (log_p, log_not_p), (log_q, log_not_q) = _logs(p), _logs(q)
    success = p.probs * (log_p - log_q)
    failure = (1 - p.probs) * (log_not_p - log_not_q)
    return _at_ends(success, p.probs, q.probs) + _at_ends(
        failure, 1 - p.probs, 1 - q.probs
    )


def _logs(d: Any) -> tuple[Any, Any]:
    """Of a success and a failure, from what was given: logits of small chances are cut.

    At the ends they are finite, as slopes have to be.
    """
    if "logits" in d.__dict__:
        return d._log_chances()  # type: ignore[no-any-return]
    chance = d.probs
    certain = (chance == 0) | (chance == 1)
    chance = ft.where(certain, inside(chance), chance)
    return ft.log(chance), ft.log1p(-chance)


def _at_ends(part: Tensor, p: Tensor, q: Tensor) -> Any:
    """A part of a divergence: infinite where q cannot be, 0 where p cannot."""
    part = ft.where(q == 0, ft.full_like(part, math.inf), part)
    return ft.where(p == 0, ft.zeros_like(part), part)
