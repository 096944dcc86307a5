"""Distributions of counts: of successes, of failures, of events."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from dovetail import frontend as ft
from dovetail.engine.tensor import Tensor
from dovetail.engine.tensor_type import Size
from dovetail.errors import ArgumentError
from dovetail.frontend.random_counts import poisson_of

from . import constraints
from .constraints import Constraint
from .distribution import Distribution, ExponentialFamily
from .probabilities import check_one_given, inside, softplus, weighted
from .quantiles import uniform_like
from .rejection import standard_gamma


class ByChance(Distribution):
    """Distributions by the probability of a success, or its logit."""

    def __getattr__(self, name: str) -> Any:
        if name == "probs" and "logits" in self.__dict__:
            return ft.sigmoid(self.__dict__["logits"])
        if name == "logits" and "probs" in self.__dict__:
            return ft.logit(inside(self.__dict__["probs"]))
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    @property
    def param_shape(self) -> Size:
        """The shape of the probabilities."""
        return Size(self.probs.shape)

    def _successes(self, shape: Sequence[int]) -> Any:
        probs = self.probs
        return (uniform_like(probs, shape) <= probs).to(probs.dtype)

    def _log_chances(self) -> tuple[Any, Any]:
        """The logarithms of the probabilities of a success and of a failure."""
        logits = self.logits
        return -softplus(-logits), -softplus(logits)


class Bernoulli(ByChance, ExponentialFamily):
    """One with a probability, and else zero.

    Args:
        probs: the probability; or give `logits`, the logarithm of its odds.
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "probs": constraints.unit_interval, "logits": constraints.real,
    }  # fmt: skip
    support = constraints.boolean
    has_enumerate_support = True

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        check_one_given("Bernoulli", probs, logits)
        self._keep(validate_args, probs=probs, logits=logits)

    @property
    def mean(self) -> Any:
        return self.probs

    @property
    def mode(self) -> Any:
        found = (self.probs >= 0.5).to(self.probs.dtype)
        return ft.where(self.probs == 0.5, ft.full_like(found, math.nan), found)

    @property
    def variance(self) -> Any:
        return self.probs * (1 - self.probs)

    def _draw(self, shape: Size) -> Any:
        return self._successes(shape)

    def _log_prob(self, value: Tensor) -> Any:
        success, failure = self._log_chances()
        return weighted(value, success) + weighted(1 - value, failure)

    def entropy(self) -> Any:
        success, failure = self._log_chances()
        probs = self.probs
        return -weighted(probs, success) - weighted(1 - probs, failure)

    def enumerate_support(self, expand: bool = True) -> Any:
        probs = self.probs
        values = ft.arange(2, dtype=probs.dtype, device=probs.device)
        values = values.view(2, *(1 for _ in self._batch_shape))
        return values.expand((2, *self._batch_shape)) if expand else values


class Geometric(ByChance):
    """How many failures come before the first success.

    Args:
        probs: the probability of a success; or give `logits`.
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "probs": constraints.unit_interval, "logits": constraints.real,
    }  # fmt: skip
    support = constraints.nonnegative_integer

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        check_one_given("Geometric", probs, logits)
        self._keep(validate_args, probs=probs, logits=logits)

    @property
    def mean(self) -> Any:
        return 1 / self.probs - 1

    @property
    def mode(self) -> Any:
        return ft.zeros_like(self.probs)

    @property
    def variance(self) -> Any:
        return (1 / self.probs - 1) / self.probs

    def _draw(self, shape: Size) -> Any:
        probs = self.probs
        drawn = uniform_like(probs, shape)
        return ft.floor(ft.log(drawn) / ft.log1p(-inside(probs)))

    def _log_prob(self, value: Tensor) -> Any:
        success, failure = self._log_chances()
        return weighted(value, failure) + success

    def entropy(self) -> Any:
        success, failure = self._log_chances()
        probs = self.probs
        return -(weighted(probs, success) + weighted(1 - probs, failure)) / probs


class Binomial(ByChance):
    """How many of a number of tries succeed.

    Args:
        total_count: the number of tries.
        probs: the probability of a success; or give `logits`.
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval, "logits": constraints.real,
    }  # fmt: skip
    has_enumerate_support = True
    total_count: Tensor

    def __init__(
        self, total_count: Any = 1, probs: Any = None, logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        check_one_given("Binomial", probs, logits)
        chance = probs if logits is None else logits
        if isinstance(total_count, Tensor) and isinstance(chance, Tensor):
            total_count = total_count.to(chance.dtype)
        self._keep(validate_args, probs=probs, logits=logits, total_count=total_count)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Any:
        return self.total_count * self.probs

    @property
    def mode(self) -> Any:
        return ft.floor((self.total_count + 1) * self.probs).clamp(max=self.total_count)

    @property
    def variance(self) -> Any:
        return self.total_count * self.probs * (1 - self.probs)

    def _draw(self, shape: Size) -> Any:
        most = int(self.total_count.max().item()) if self.total_count.numel() else 0
        tries = self._successes((most, *shape))
        numbers = ft.arange(most, dtype=tries.dtype, device=tries.device)
        counted = numbers.view(most, *(1 for _ in shape)) < self.total_count
        return ft.where(counted, tries, ft.zeros_like(tries)).sum(0)

    def _log_prob(self, value: Tensor) -> Any:
        n = self.total_count
        ways = ft.lgamma(n + 1) - ft.lgamma(value + 1) - ft.lgamma(n - value + 1)
        success, failure = self._log_chances()
        return ways + weighted(value, success) + weighted(n - value, failure)

    def entropy(self) -> Any:
        values = self.enumerate_support(False)
        logs = self._log_prob(values)
        return -(ft.exp(logs) * logs).sum(0)

    def enumerate_support(self, expand: bool = True) -> Any:
        n = self.total_count
        most = int(n.max().item())
        if most != int(n.min().item()):
            raise ArgumentError(
                "Binomial", "total_count", was=n, needed="the same in the whole batch"
            )
        values = ft.arange(most + 1, dtype=self.probs.dtype, device=n.device)
        values = values.view(most + 1, *(1 for _ in self._batch_shape))
        return values.expand((most + 1, *self._batch_shape)) if expand else values


class NegativeBinomial(ByChance):
    """How many successes come before a number of failures.

    Args:
        total_count: the number of failures.
        probs: the probability of a success; or give `logits`.
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "total_count": constraints.nonnegative,
        "probs": constraints.half_open_interval(0.0, 1.0), "logits": constraints.real,
    }  # fmt: skip
    support = constraints.nonnegative_integer
    total_count: Tensor

    def __init__(
        self, total_count: Any, probs: Any = None, logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        check_one_given("NegativeBinomial", probs, logits)
        self._keep(validate_args, probs=probs, logits=logits, total_count=total_count)

    @property
    def mean(self) -> Any:
        return self.total_count * ft.exp(self.logits)

    @property
    def mode(self) -> Any:
        return ft.floor(ft.clamp(self.total_count - 1, min=0) * ft.exp(self.logits))

    @property
    def variance(self) -> Any:
        return self.mean / ft.sigmoid(-self.logits)

    def _draw(self, shape: Size) -> Any:
        rate = standard_gamma(self.total_count.expand(shape)) * ft.exp(self.logits)
        return poisson_of(rate)

    def _log_prob(self, value: Tensor) -> Any:
        n = self.total_count
        success, failure = self._log_chances()
        ways = ft.lgamma(n + value) - ft.lgamma(value + 1) - ft.lgamma(n)
        none = (n + value) == 0
        ways = ft.where(none, ft.zeros_like(ways), ways)
        return n * failure + weighted(value, success) + ways


class Poisson(ExponentialFamily):
    """How many events come, at a rate."""

    arg_constraints: ClassVar[dict[str, Constraint]] = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer
    rate: Tensor

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        self._keep(validate_args, rate=rate)

    @property
    def mean(self) -> Any:
        return self.rate

    variance = mean

    @property
    def mode(self) -> Any:
        return ft.floor(self.rate)

    def _draw(self, shape: Size) -> Any:
        return poisson_of(self.rate.expand(shape))

    def _log_prob(self, value: Tensor) -> Any:
        return ft.xlogy(value, self.rate) - self.rate - ft.lgamma(value + 1)


__all__ = ["Bernoulli", "Binomial", "Geometric", "NegativeBinomial", "Poisson"]
