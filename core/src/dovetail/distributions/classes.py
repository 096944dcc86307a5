"""Distributions of classes, by the probability of each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from dovetail import frontend as ft
from dovetail.engine.modes import no_grad
from dovetail.engine.tensor import Tensor
from dovetail.engine.tensor_type import Size
from dovetail.errors import ArgumentError
from dovetail.limits import finfo

from . import constraints
from .constraints import Constraint
from .counts import Binomial
from .distribution import Distribution
from .probabilities import check_one_given, inside, weighted


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
        check_one_given(op, probs, logits)
        given = probs if logits is None else logits
        if not isinstance(given, Tensor) or given.ndim < 1:
            raise ArgumentError(
                op, "probs" if logits is None else "logits", was=given,
                needed="a tensor of one dim or more",
            )  # fmt: skip
        if logits is None:
            probs = probs / probs.sum(-1, keepdim=True)
            logits = ft.log(inside(probs))
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
        new = super().expand(batch_shape, _instance)
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

    @constraints.dependent_property(is_discrete=True, event_dim=0)
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
        return weighted(value, self.logits).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Any:
        n = self._count
        values = ft.eye(n, dtype=self.probs.dtype, device=self.probs.device)
        values = values.view(n, *(1 for _ in self._batch_shape), n)
        return values.expand((n, *self._batch_shape, n)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """The same, whose samples have the gradient of the probabilities."""

    has_rsample = True

    def rsample(self, sample_shape: Sequence[int] = ()) -> Any:
        with no_grad():
            drawn = self._draw(self._extended_shape(sample_shape))
        return drawn + (self.probs - self.probs.detach())


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

    @constraints.dependent_property(is_discrete=True, event_dim=1)
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
        return ways + weighted(value, self.logits).sum(-1)

    def entropy(self) -> Any:
        n = self.total_count
        counts = ft.arange(n + 1, dtype=self.probs.dtype, device=self.probs.device)
        counts = counts.view(-1, *(1 for _ in self.probs.shape))
        one = Binomial(n, probs=self.probs, validate_args=False)
        ways = (ft.exp(one._log_prob(counts)) * ft.lgamma(counts + 1)).sum((0, -1))
        return n * super().entropy() - math.lgamma(n + 1) + ways


__all__ = [
    "Categorical",
    "Multinomial",
    "OneHotCategorical",
    "OneHotCategoricalStraightThrough",
]
