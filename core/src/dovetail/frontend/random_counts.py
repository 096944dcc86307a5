"""Random counts: poisson, binomial; proposed, and accepted or proposed anew."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from dovetail import frontend as ft
from dovetail.dtypes import DType, bool_, float32, float64
from dovetail.engine.generator import Generator
from dovetail.engine.level_hooks import of_all_rows
from dovetail.engine.modes import no_grad
from dovetail.engine.public import public
from dovetail.engine.scopes import unseen
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, DTypeError
from dovetail.frontend.random import floats, uniform_of
from dovetail.limits import finfo
from dovetail.ops.arithmetic import lt
from dovetail.ops.compare import ge
from dovetail.ops.create import filled
from dovetail.ops.formats import cast

_LOOK: Final = 8  # counts, after which it is looked whether some are left
# The mean from which counts are proposed, and not counted up to.
_LARGE: Final = 10.0


@public("torch.poisson")
def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Counts of events, one for each rate in `input`; the gradient to rates is zero.

    Raises: ArgumentError for rates that are negative, infinite or NaN.

    >>> torch.poisson(torch.zeros(2))
    tensor([0., 0.])
    """
    _check_real("poisson", "input", input)
    _check_values("poisson", "input", input)
    y: Tensor = poisson_of(input.detach(), generator)
    return y + filled(input, 0) if input.requires_grad else y


@public("torch.binomial")
def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor:
    """How many of `count` tries succeed, each with the probability `prob`.

    Returns: the broadcast shape, in the dtype of both; the gradient to `prob` is zero.

    Raises: ArgumentError for counts or probabilities that are infinite or NaN;
        DTypeError for two dtypes. As torch has it, counts below 0 are 0, and
        probabilities are cut to those from 0 to 1.

    >>> torch.binomial(torch.tensor([3.0, 4.0]), torch.tensor([0.0, 1.0]))
    tensor([0., 4.])
    """
    _check_real("binomial", "count", count)
    _check_real("binomial", "prob", prob)
    if count.dtype is not prob.dtype:
        raise DTypeError(
            "binomial", "prob", was=prob.dtype.name,
            needed=f"{count.dtype.name}, as count has", remedy="cast one with .to()",
        )  # fmt: skip
    n = ft.floor(ft.clamp(count.detach(), min=0))
    p = ft.clamp(prob.detach(), 0, 1)
    _check_values("binomial", "count", n)
    _check_values("binomial", "prob", p)
    wide: Any = ft.broadcast_tensors(n, p)
    y: Tensor = binomial_of(wide[0], wide[1], generator)
    return y + filled(prob, 0) if prob.requires_grad else y


def _check_real(name: str, argument: str, x: Tensor) -> None:
    if floats(name, x._kind).dtype.is_complex:
        raise DTypeError(name, argument, was=x.dtype.name, needed="a real dtype")


def _check_values(name: str, argument: str, x: Tensor) -> None:
    """Raise unless all values are finite and 0 or more; waits for them."""
    if x._kind.backend.rules_only or not math.prod(x._a.shape):
        return
    with unseen():
        wide = of_all_rows(x.detach()).to(_wide(x))
        fine = (wide >= 0) & (wide < math.inf)
        if not bool(fine.all().item()):
            raise ArgumentError(
                name, argument, was="a tensor with negative, infinite or NaN values",
                needed="finite values of 0 or more",
            )  # fmt: skip


def _anywhere(flags: Tensor) -> bool:
    """Whether one holds, of any row; waits for them."""
    return bool(of_all_rows(flags).any().item())


def _wide(x: Tensor) -> DType:
    """The dtype that chances are summed in: the widest the device has."""
    return float64 if float64 in x._kind.backend.dtypes else float32


@no_grad()
def poisson_of(rate: Tensor, generator: Generator | None = None) -> Any:
    """Poisson values, one for each rate."""
    wide = rate.to(_wide(rate))
    large = wide >= _LARGE
    small = ft.where(large, ft.zeros_like(wide), wide)
    y = _counted_up(ft.exp(-small), lambda k: small / k, generator)
    if _anywhere(large):
        mean = ft.where(large, wide, ft.full_like(wide, _LARGE))
        y = ft.where(large, _transformed(mean, generator), y)
    return y.to(rate.dtype)


@no_grad()
def binomial_of(n: Tensor, p: Tensor, generator: Generator | None = None) -> Any:
    """Binomial values, for whole counts and probabilities of one shape."""
    dtype, n, p = n.dtype, n.to(_wide(n)), p.to(_wide(p))
    rare = ft.minimum(p, 1 - p)
    large = n * rare >= _LARGE
    chance = ft.where(large, ft.zeros_like(rare), rare)
    odds = chance / (1 - chance)
    none = ft.exp(n * ft.log1p(-chance))
    y = _counted_up(none, lambda k: odds * (n - k + 1) / k, generator)
    y = ft.minimum(y, n)
    if _anywhere(large):
        many = ft.where(large, n, ft.full_like(n, 4 * _LARGE))
        often = ft.where(large, rare, ft.full_like(rare, 0.5))
        y = ft.where(large, _tried(many, often, generator), y)
    return ft.where(p > 0.5, n - y, y).to(dtype)


def _counted_up(
    none: Tensor, more: Callable[[int], Any], generator: Generator | None
) -> Any:
    """By inversion: the first count up to which the probabilities reach a number.

    Args:
        none: the probabilities of the count 0.
        more: the quotients of the probabilities of a count and the one before; where
            no count is left, 0.
    """
    drawn = uniform(none, generator)
    count, one, reached = ft.zeros_like(drawn), none, none
    least, k = finfo(one.dtype).tiny, 0
    open_ = lt(reached, drawn)
    while _anywhere(open_):
        count, k = count + cast(open_, one.dtype), k + 1
        one = one * more(k)
        reached = reached + one
        open_ = lt(reached, drawn)
        if k % _LOOK == 0 and not _anywhere(ge(one, least)):
            break  # rounding: the probabilities sum to a little less than one
    return count


def _transformed(rate: Tensor, generator: Generator | None) -> Any:
    """Hörmann 1993, The transformed rejection method for Poisson variables (PTRS)."""
    b = 0.931 + 2.53 * ft.sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse, quick = 1.1239 + 1.1328 / (b - 3.4), 0.9277 - 3.6224 / (b - 2)

    def propose() -> tuple[Any, Any]:
        u, v = uniform(rate, generator) - 0.5, uniform(rate, generator)
        us = ft.clamp(0.5 - ft.abs(u), min=finfo(rate.dtype).eps)
        k = ft.floor((2 * a / us + b) * u + rate + 0.43)
        at = ft.clamp(k, min=0)
        density = at * ft.log(rate) - rate - ft.lgamma(at + 1)
        below = ft.log(v * inverse / (a / (us * us) + b)) <= density
        possible = (k >= 0) & ~((us < 0.013) & (v > us))
        return k, ((us >= 0.07) & (v <= quick)) | (possible & below)

    return accepted(rate, propose)


def _tried(n: Tensor, p: Tensor, generator: Generator | None) -> Any:
    """Hörmann 1993, The generation of binomial random variates (BTRS), of p <= 1/2."""
    spread = ft.sqrt(n * p * (1 - p))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    quick, scale = 0.92 - 4.2 / b, (2.83 + 5.1 / b) * spread
    mode = ft.floor((n + 1) * p)
    highest = ft.lgamma(mode + 1) + ft.lgamma(n - mode + 1)
    odds = ft.log(p / (1 - p))

    def propose() -> tuple[Any, Any]:
        u, v = uniform(n, generator) - 0.5, uniform(n, generator)
        us = ft.clamp(0.5 - ft.abs(u), min=finfo(n.dtype).eps)
        k = ft.floor((2 * a / us + b) * u + n * p + 0.5)
        at = ft.minimum(ft.clamp(k, min=0), n)
        ways = highest - ft.lgamma(at + 1) - ft.lgamma(n - at + 1)
        below = ft.log(v * scale / (a / (us * us) + b)) <= ways + (at - mode) * odds
        possible = (k >= 0) & (k <= n)
        return at, possible & (((us >= 0.07) & (v <= quick)) | below)

    return accepted(n, propose)


def accepted(like: Tensor, propose: Callable[[], tuple[Any, Any]]) -> Any:
    """The first proposals that are accepted, element by element."""
    found, open_ = ft.zeros_like(like), ft.ones_like(like, dtype=bool_)
    while _anywhere(open_):
        value, good = propose()
        found = ft.where(open_ & good, value, found)
        open_ = open_ & ~good
    return found


def uniform(like: Tensor, generator: Generator | None = None) -> Any:
    """Uniform numbers in (0, 1)."""
    drawn = uniform_of("uniform", tuple(like.shape), like._kind, generator)
    return ft.clamp(drawn, min=finfo(like.dtype).tiny)
