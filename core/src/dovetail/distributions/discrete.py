"""Distributions of whole numbers and of classes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from dovetail import frontend as ft
from dovetail.engine.tensor import Tensor
from dovetail.engine.tensor_type import Size
from dovetail.errors import ArgumentError
from dovetail.limits import finfo

from . import constraints
from .constraints import Constraint
from .continuous import uniform_like
from .distribution import Distribution, ExponentialFamily
from .rejection import poisson, standard_gamma


def _one_of(op: str, probs: Any, logits: Any) -> None:
    if (probs is None) == (logits is None):
        raise ArgumentError(
            op, "probs and logits",
            was="missing" if probs is None else "both given", needed="one of them",
        )  # fmt: skip


def _inside(probs: Tensor) -> Any:
    """Probabilities whose logarithms are finite."""
    eps = finfo(probs.dtype).eps
    return ft.clamp(probs, eps, 1 - eps)


class _ByChance(Distribution):
    """Distributions by the probability of a success, or its logit."""

    def __getattr__(self, name: str) -> Any:
        if name == "probs" and "logits" in self.__dict__:
            return ft.sigmoid(self.__dict__["logits"])
        if name == "logits" and "probs" in self.__dict__:
            return ft.logit(_inside(self.__dict__["probs"]))
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
        return -_softplus(-logits), -_softplus(logits)


def _softplus(x: Tensor) -> Any:
    return ft.clamp(x, min=0) + ft.log1p(ft.exp(-ft.abs(x)))


def _weighted(x: Any, log: Any) -> Any:
    """x * log, and 0 where x is."""
    found = x * log
    return ft.where(x == 0, ft.zeros_like(found), found)


class Bernoulli(_ByChance, ExponentialFamily):
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
        _one_of("Bernoulli", probs, logits)
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
        return _weighted(value, success) + _weighted(1 - value, failure)

    def entropy(self) -> Any:
        success, failure = self._log_chances()
        probs = self.probs
        return -_weighted(probs, success) - _weighted(1 - probs, failure)

    def enumerate_support(self, expand: bool = True) -> Any:
        probs = self.probs
        values = ft.arange(2, dtype=probs.dtype, device=probs.device)
        values = values.view(2, *(1 for _ in self._batch_shape))
        return values.expand((2, *self._batch_shape)) if expand else values


class Geometric(_ByChance):
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
        _one_of("Geometric", probs, logits)
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
        return ft.floor(ft.log(drawn) / ft.log1p(-_inside(probs)))

    def _log_prob(self, value: Tensor) -> Any:
        success, failure = self._log_chances()
        return _weighted(value, failure) + success

    def entropy(self) -> Any:
        success, failure = self._log_chances()
        probs = self.probs
        return -(_weighted(probs, success) + _weighted(1 - probs, failure)) / probs


class Binomial(_ByChance):
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
        _one_of("Binomial", probs, logits)
        chance = probs if logits is None else logits
        if isinstance(total_count, Tensor) and isinstance(chance, Tensor):
            total_count = total_count.to(chance.dtype)
        self._keep(validate_args, probs=probs, logits=logits, total_count=total_count)

    @property
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
        return ways + _weighted(value, success) + _weighted(n - value, failure)

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


class NegativeBinomial(_ByChance):
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
        _one_of("NegativeBinomial", probs, logits)
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
        return poisson(rate)

    def _log_prob(self, value: Tensor) -> Any:
        n = self.total_count
        success, failure = self._log_chances()
        ways = ft.lgamma(n + value) - ft.lgamma(value + 1) - ft.lgamma(n)
        none = (n + value) == 0
        ways = ft.where(none, ft.zeros_like(ways), ways)
        return n * failure + _weighted(value, success) + ways


class _Classes(Distribution):
    """Distributions by the probabilities of classes, along the last dim."""

    event_dims: ClassVar[dict[str, int]] = {"probs": 1, "logits": 1}
    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "probs": constraints.simplex, "logits": constraints.real_vector,
    }  # fmt: skip
    has_enumerate_support = True
    probs: Tensor
    logits: Tensor

    def _keep_classes(
        self, probs: Any, logits: Any, validate_args: bool | None
    ) -> None:
        """Keep both, the probabilities summing to one."""
        op = type(self).__name__
        _one_of(op, probs, logits)
        given = probs if logits is None else logits
        if not isinstance(given, Tensor) or given.ndim < 1:
            raise ArgumentError(
                op, "probs" if logits is None else "logits", was=given,
                needed="a tensor of one dim or more",
            )  # fmt: skip
        if logits is None:
            probs = probs / probs.sum(-1, keepdim=True)
            logits = ft.log(_inside(probs))
            names = {"probs": probs}
        else:
            logits = logits - ft.logsumexp(logits, -1, keepdim=True)
            probs = ft.exp(logits)
            names = {"logits": logits}
        self._keep(validate_args, **names)
        self.probs, self.logits = probs, logits

    @property
    def param_shape(self) -> Size:
        """The shape of the probabilities."""
        return Size(self.probs.shape)

    @property
    def _count(self) -> int:
        return int(self.probs.shape[-1])

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = super().expand(batch_shape)
        for name in ("probs", "logits"):
            setattr(new, name, getattr(self, name).expand((*batch_shape, self._count)))
        return new

    def entropy(self) -> Any:
        least = finfo(self.logits.dtype).min
        return -(ft.clamp(self.logits, min=least) * self.probs).sum(-1)

    def _drawn_classes(self, batch: Sequence[int]) -> Any:
        probs = self.probs.expand((*batch, self._count))
        rows = probs.reshape(-1, self._count)
        return ft.multinomial(rows, 1, True).view(tuple(batch))


class Categorical(_Classes):
    """A class, by its number.

    Args:
        probs: [..., classes], made to sum to one; or give `logits`.

    Examples:
        >>> classes = torch.distributions.Categorical(torch.tensor([1.0, 3.0]))
        >>> classes.log_prob(torch.tensor(1)).exp()
        tensor(0.7500)
    """

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._keep_classes(probs, logits, validate_args)

    @property
    def support(self) -> Any:
        return constraints.integer_interval(0, self._count - 1)

    @property
    def mean(self) -> Any:
        return ft.full_like(self.probs[..., 0], math.nan)

    variance = mean

    @property
    def mode(self) -> Any:
        return self.probs.argmax(-1)

    def _draw(self, shape: Size) -> Any:
        return self._drawn_classes(shape)

    def _log_prob(self, value: Tensor) -> Any:
        batch = ft.broadcast_shapes(value.shape, self._batch_shape)
        at = value.long().expand(batch).unsqueeze(-1)
        return self.logits.expand((*batch, self._count)).gather(-1, at).squeeze(-1)

    def enumerate_support(self, expand: bool = True) -> Any:
        values = ft.arange(self._count, device=self.probs.device)
        values = values.view(-1, *(1 for _ in self._batch_shape))
        return values.expand((-1, *self._batch_shape)) if expand else values


class OneHotCategorical(_Classes):
    """A class, as a vector of zeros and a one.

    Args:
        probs: [..., classes], made to sum to one; or give `logits`.
    """

    support = constraints.one_hot

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._keep_classes(probs, logits, validate_args)

    def _event_of(self, tensors: dict[str, Tensor]) -> Any:
        return next(iter(tensors.values())).shape[-1:]

    def _one_hot(self, classes: Tensor) -> Any:
        numbers = ft.arange(self._count, device=classes.device)
        return (classes.unsqueeze(-1) == numbers).to(self.probs.dtype)

    @property
    def mean(self) -> Any:
        return self.probs

    @property
    def mode(self) -> Any:
        return self._one_hot(self.probs.argmax(-1))

    @property
    def variance(self) -> Any:
        return self.probs * (1 - self.probs)

    def _draw(self, shape: Size) -> Any:
        return self._one_hot(self._drawn_classes(shape[:-1]))

    def _log_prob(self, value: Tensor) -> Any:
        return _weighted(value, self.logits).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Any:
        n = self._count
        values = ft.eye(n, dtype=self.probs.dtype, device=self.probs.device)
        values = values.view(n, *(1 for _ in self._batch_shape), n)
        return values.expand((n, *self._batch_shape, n)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """The same, whose samples have the gradient of the probabilities."""

    has_rsample = True

    def rsample(self, sample_shape: Sequence[int] = ()) -> Any:
        return self.sample(sample_shape) + (self.probs - self.probs.detach())


class Multinomial(_Classes):
    """How often each class comes in a number of draws.

    Args:
        total_count: the number of draws.
        probs: [..., classes], made to sum to one; or give `logits`.
    """

    has_enumerate_support = False

    def __init__(
        self, total_count: int = 1, probs: Any = None, logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        self.total_count = total_count
        self._keep_classes(probs, logits, validate_args)

    def _event_of(self, tensors: dict[str, Tensor]) -> Any:
        return next(iter(tensors.values())).shape[-1:]

    @property
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    @property
    def mean(self) -> Any:
        return self.probs * self.total_count

    @property
    def variance(self) -> Any:
        return self.total_count * self.probs * (1 - self.probs)

    def _draw(self, shape: Size) -> Any:
        drawn = self._drawn_classes((self.total_count, *shape[:-1]))
        numbers = ft.arange(self._count, device=drawn.device)
        return (drawn.unsqueeze(-1) == numbers).to(self.probs.dtype).sum(0)

    def _log_prob(self, value: Tensor) -> Any:
        ways = ft.lgamma(value.sum(-1) + 1) - ft.lgamma(value + 1).sum(-1)
        return ways + _weighted(value, self.logits).sum(-1)

    def entropy(self) -> Any:
        n = self.total_count
        counts = ft.arange(n + 1, dtype=self.probs.dtype, device=self.probs.device)
        counts = counts.view(-1, *(1 for _ in self.probs.shape))
        one = Binomial(n, probs=self.probs, validate_args=False)
        ways = (ft.exp(one._log_prob(counts)) * ft.lgamma(counts + 1)).sum((0, -1))
        return n * super().entropy() - math.lgamma(n + 1) + ways


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
        return poisson(self.rate.expand(shape))

    def _log_prob(self, value: Tensor) -> Any:
        return ft.xlogy(value, self.rate) - self.rate - ft.lgamma(value + 1)


__all__ = [
    "Bernoulli", "Binomial", "Categorical", "Geometric", "Multinomial",
    "NegativeBinomial",
    "OneHotCategorical", "OneHotCategoricalStraightThrough", "Poisson",
]  # fmt: skip
