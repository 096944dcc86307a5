"""Classes as numbers between them, whose samples have gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from dovetail import frontend as ft
from dovetail.engine.tensor import Tensor
from dovetail.engine.tensor_type import Size
from dovetail.limits import finfo

from . import constraints
from .classes import Categorical
from .constraints import Constraint
from .counts import Bernoulli
from .distribution import Distribution
from .independent import Independent
from .location_scale import Normal
from .probabilities import softplus
from .quantiles import uniform_like
from .shaped_transforms import StickBreakingTransform
from .transformed_distribution import TransformedDistribution
from .transforms import ExpTransform, SigmoidTransform


class _Relaxed(Distribution):
    """Distributions of classes, smoothed by a temperature."""

    has_rsample = True
    _base: Any
    temperature: Tensor

    @property
    def probs(self) -> Any:
        """The probabilities of the classes."""
        return self._base.probs

    @property
    def logits(self) -> Any:
        """Their logarithms, or those of their odds."""
        return self._base.logits

    @property
    def param_shape(self) -> Size:
        """The shape of the probabilities."""
        return Size(self._base.param_shape)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        """The same distribution for a larger batch."""
        new = self._unexpanded(_instance)
        new._base = self._base.expand(batch_shape)
        new._batch_shape = Size(batch_shape)
        return new

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._base})"


def _temperature(value: Any, like: Tensor) -> Any:
    return ft.as_tensor(value, dtype=like.dtype, device=like.device)


class LogitRelaxedBernoulli(_Relaxed):
    """The log odds of a relaxed 0 or 1.

    Args:
        temperature: how smooth it is.
        probs: the probability of a one; or give `logits`.
    """

    support = constraints.real

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        self._base = Bernoulli(probs, logits, validate_args)
        self.temperature = _temperature(temperature, self._base.probs)
        super().__init__(self._base.batch_shape, (), validate_args)

    def _draw(self, shape: Size) -> Any:
        u, p = _open(uniform_like(self.logits, shape)), _open(self.probs)
        return (ft.logit(u) + ft.log(p) - ft.log1p(-p)) / self.temperature

    def _log_prob(self, value: Tensor) -> Any:
        apart = self.logits - value * self.temperature
        return ft.log(self.temperature) + apart - 2 * softplus(apart)


class ExpRelaxedCategorical(_Relaxed):
    """The logarithms of relaxed classes.

    Args:
        temperature: how smooth they are.
        probs: [..., classes], made to sum to one; or give `logits`.
    """

    support: Any = constraints.real_vector

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        self._base = Categorical(probs, logits, validate_args)
        self.temperature = _temperature(temperature, self._base.probs)
        event = self._base.param_shape[-1:]
        super().__init__(self._base.batch_shape, event, validate_args)

    def _draw(self, shape: Size) -> Any:
        u = _open(uniform_like(self.logits, shape))
        scores = (self.logits - ft.log(-ft.log(u))) / self.temperature
        return scores - ft.logsumexp(scores, -1, keepdim=True)

    def _log_prob(self, value: Tensor) -> Any:
        n, t = self._event_shape[-1], self.temperature
        count = ft.full_like(t, float(n))
        scores = self.logits - t * value
        scores = (scores - ft.logsumexp(scores, -1, keepdim=True)).sum(-1)
        return scores + ft.lgamma(count) + (n - 1) * ft.log(t)


class _OfLogits(TransformedDistribution):
    """Relaxed values, of which a base has the logarithms or their odds."""

    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "probs": constraints.unit_interval, "logits": constraints.real,
    }  # fmt: skip

    @property
    def temperature(self) -> Any:
        """How smooth they are."""
        return self.base_dist.temperature  # type: ignore[attr-defined]

    @property
    def probs(self) -> Any:
        """The probabilities of the classes."""
        return self.base_dist.probs  # type: ignore[attr-defined]

    @property
    def logits(self) -> Any:
        """Their logarithms, or those of their odds."""
        return self.base_dist.logits  # type: ignore[attr-defined]


class RelaxedBernoulli(_OfLogits):
    """A number in 0 ... 1 that is near its ends where the temperature is low.

    Maddison et al. 2017, arXiv:1611.00712; Jang et al. 2017, arXiv:1611.01144.

    Args:
        temperature: how smooth it is.
        probs: the probability of a one; or give `logits`.
    """

    support: Any = constraints.unit_interval

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        base = LogitRelaxedBernoulli(temperature, probs, logits, validate_args)
        super().__init__(base, SigmoidTransform(), validate_args)


class RelaxedOneHotCategorical(_OfLogits):
    """Probabilities that are near one class where the temperature is low.

    Args:
        temperature: how smooth they are.
        probs: [..., classes], made to sum to one; or give `logits`.
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "probs": constraints.simplex, "logits": constraints.real_vector,
    }  # fmt: skip
    support: Any = constraints.simplex

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args)
        super().__init__(base, ExpTransform(), validate_args)


def _open(x: Tensor) -> Any:
    """Numbers in 0 ... 1, without the ends."""
    eps = finfo(x.dtype).eps
    return ft.clamp(x, eps, 1 - eps)


class LogisticNormal(TransformedDistribution):
    """Probabilities by breaking sticks at normal numbers.

    Args:
        loc, scale: [..., n], of the normal numbers; there are n + 1 probabilities.
    """

    arg_constraints = Normal.arg_constraints
    support: Any = constraints.simplex

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args)
        if not base.batch_shape:
            base = base.expand((1,))
        rows = Independent(base, 1)
        super().__init__(rows, StickBreakingTransform(), validate_args)

    @property
    def loc(self) -> Any:
        """The means of the normal numbers."""
        return self.base_dist.base_dist.loc  # type: ignore[attr-defined]

    @property
    def scale(self) -> Any:
        """Their standard deviations."""
        return self.base_dist.base_dist.scale  # type: ignore[attr-defined]


__all__ = [
    "ExpRelaxedCategorical", "LogisticNormal", "LogitRelaxedBernoulli",
    "RelaxedBernoulli", "RelaxedOneHotCategorical",
]  # fmt: skip
