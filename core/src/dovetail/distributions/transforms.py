"""Maps with inverses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from typing import Any, ClassVar, Final

from dovetail import frontend as ft
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, NotSupported
from dovetail.limits import finfo

from . import constraints
from .constraints import Constraint
from .distribution import summed
from .probabilities import softplus


class Transform:
    """A map of values, with its inverse and the logarithm of its slope.

    Args:
        cache_size: 1 keeps the last value with what it was mapped to, so that the
            inverse of that is the value itself; 0 computes it anew.

    Attributes:
        domain, codomain: what it maps, and where to.
        bijective: whether there is one value to each.
        sign: whether it rises, 1, or falls, -1; 0 if neither.
    """

    domain: Constraint = constraints.real
    codomain: Constraint = constraints.real
    bijective: ClassVar[bool] = True
    sign: Any = 1

    _cache_size = 0
    _last: tuple[Any, Any] = (None, None)

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ArgumentError(
                type(self).__name__, "cache_size", was=cache_size, needed="0 or 1"
            )
        self._cache_size = cache_size

    def __getstate__(self) -> dict[str, Any]:
        """What copies and pickles take along: all but what is kept of the last call."""
        return {k: v for k, v in self.__dict__.items() if k != "_last"}

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The same map, and those that it is made of, with another `cache_size`."""
        if self._cache_size == cache_size:
            return self
        new = copy(self)
        Transform.__init__(new, cache_size)
        for name, value in vars(new).items():
            setattr(new, name, _with_cache(value, cache_size))
        return new

    @property
    def event_dim(self) -> int:
        """How many dims at the end make one value."""
        return max(self.domain.event_dim, self.codomain.event_dim)

    def __eq__(self, other: object) -> bool:
        """Whether it is a map of the same kind, made of the same values."""
        if type(other) is not type(self):
            return NotImplemented
        mine, theirs = (
            {k: v for k, v in vars(x).items() if k not in ("_last", "_cache_size")}
            for x in (self, other)
        )
        return mine.keys() == theirs.keys() and all(
            _alike(mine[name], theirs[name]) for name in mine
        )

    __hash__ = object.__hash__

    def __call__(self, x: Tensor) -> Any:
        """The value that `x` is mapped to."""
        if not self._cache_size:
            return self._call(x)
        before, after = self._last
        if before is not x:
            after = self._call(x)
            self._last = x, after
        return after

    def _inv_call(self, y: Tensor) -> Any:
        """The value that is mapped to `y`."""
        if not self._cache_size:
            return self._inverse(y)
        before, after = self._last
        if after is not y:
            before = self._inverse(y)
            self._last = before, y
        return before

    def _call(self, x: Tensor) -> Any:
        raise NotImplementedError

    def _inverse(self, y: Tensor) -> Any:
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Any:
        """The logarithm of the slope at `x`, which is mapped to `y`."""
        raise NotSupported(
            type(self).__name__, "log_abs_det_jacobian", was="not there",
            needed="a map with an inverse",
        )  # fmt: skip

    @property
    def inv(self) -> Transform:
        """The inverse."""
        return _InverseTransform(self)

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The shape that values of a shape are mapped to."""
        return tuple(shape)

    def inverse_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The shape that values are mapped from."""
        return tuple(shape)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class _InverseTransform(Transform):
    def __init__(self, forward: Transform) -> None:
        super().__init__()
        self.forward = forward
        self.domain, self.codomain = forward.codomain, forward.domain
        self.sign = forward.sign

    @property
    def inv(self) -> Transform:
        return self.forward

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self.forward.with_cache(cache_size).inv

    def _call(self, x: Tensor) -> Any:
        return self.forward._inv_call(x)

    def _inverse(self, y: Tensor) -> Any:
        return self.forward(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Any:
        return -self.forward.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        return self.forward.inverse_shape(shape)

    def inverse_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        return self.forward.forward_shape(shape)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.forward!r})"


class ComposeTransform(Transform):
    """Several maps, one after another.

    Args:
        parts: the maps, the first one first.
    """

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.parts = _with_cache(list(parts), cache_size) if cache_size else list(parts)
        if self.parts:
            self.domain = _widened(self.parts[0].domain, self._events_in())
            self.codomain = _widened(self.parts[-1].codomain, self._events_out())
        self.sign = math.prod([part.sign for part in self.parts])

    def _events_in(self) -> int:
        """How many dims of what is mapped make one value."""
        events = self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            events += part.domain.event_dim - part.codomain.event_dim
            events = max(events, part.domain.event_dim)
        return events

    def _events_out(self) -> int:
        events = self.parts[0].domain.event_dim
        for part in self.parts:
            events += part.codomain.event_dim - part.domain.event_dim
            events = max(events, part.codomain.event_dim)
        return events

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return tuple(shape)

    def inverse_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return tuple(shape)

    def _call(self, x: Tensor) -> Any:
        for part in self.parts:
            x = part(x)
        return x

    def _inverse(self, y: Tensor) -> Any:
        for part in reversed(self.parts):
            y = part._inv_call(y)
        return y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Any:
        total: Any = None
        events = self.domain.event_dim
        for part in self.parts:
            after = part(x)
            slope = part.log_abs_det_jacobian(x, after)
            slope = summed(slope, events - part.domain.event_dim)
            events += part.codomain.event_dim - part.domain.event_dim
            total, x = slope if total is None else total + slope, after
        return ft.zeros_like(x) if total is None else total

    def __repr__(self) -> str:
        return f"ComposeTransform({self.parts})"


def _with_cache(value: Any, cache_size: int) -> Any:
    """Maps, or a list of them, with a `cache_size`; all else as it is."""
    if isinstance(value, Transform):
        return value.with_cache(cache_size)
    if isinstance(value, list) and value and isinstance(value[0], Transform):
        return [part.with_cache(cache_size) for part in value]
    return value


def _alike(a: Any, b: Any) -> bool:
    if isinstance(a, Tensor) or isinstance(b, Tensor):
        both = isinstance(a, Tensor) and isinstance(b, Tensor)
        return both and a.shape == b.shape and bool((a == b).all().item())
    if isinstance(a, Constraint) and type(a) is type(b):
        return True
    return bool(a == b)


def _widened(constraint: Constraint, events: int) -> Constraint:
    """A set, of whose dims so many make one value."""
    more = events - constraint.event_dim
    return constraints.independent(constraint, more) if more > 0 else constraint


identity_transform = ComposeTransform([])


class ExpTransform(Transform):
    """exp(x)."""

    codomain = constraints.positive

    def _call(self, x: Tensor) -> Any:
        return ft.exp(x)

    def _inverse(self, y: Tensor) -> Any:
        return ft.log(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Any:
        return x


class PowerTransform(Transform):
    """x to a power, of positive numbers."""

    domain = constraints.positive
    codomain = constraints.positive

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.exponent = exponent
        self.sign = ft.sign(ft.as_tensor(exponent))

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        return _with_shapes(shape, self.exponent)

    inverse_shape = forward_shape

    def _call(self, x: Tensor) -> Any:
        return x**self.exponent

    def _inverse(self, y: Tensor) -> Any:
        return y ** (1 / self.exponent)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Any:
        return ft.log(ft.abs(self.exponent * y / x))


def clipped_sigmoid(x: Tensor) -> Any:
    """1 / (1 + exp(-x)), inside of 0 ... 1: no end of it has an inverse."""
    limits = finfo(x.dtype)
    return ft.clamp(ft.sigmoid(x), limits.tiny, 1.0 - limits.eps)


class SigmoidTransform(Transform):
    """1 / (1 + exp(-x)), which gives neither 0 nor 1."""

    codomain = constraints.unit_interval

    def _call(self, x: Tensor) -> Any:
        return clipped_sigmoid(x)

    def _inverse(self, y: Tensor) -> Any:
        limits = finfo(y.dtype)
        y = ft.clamp(y, limits.tiny, 1.0 - limits.eps)
        return ft.log(y) - ft.log1p(-y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Any:
        return -softplus(-x) - softplus(x)


class SoftplusTransform(Transform):
    """log(1 + exp(x))."""

    codomain = constraints.positive

    def _call(self, x: Tensor) -> Any:
        return softplus(x)

    def _inverse(self, y: Tensor) -> Any:
        return ft.log(-ft.expm1(-y)) + y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Any:
        return -softplus(-x)


class TanhTransform(Transform):
    """tanh(x)."""

    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x: Tensor) -> Any:
        return ft.tanh(x)

    def _inverse(self, y: Tensor) -> Any:
        return ft.atanh(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Any:
        return 2 * (math.log(2) - x - softplus(-2 * x))


class AbsTransform(Transform):
    """|x|, whose inverse takes the positive one."""

    codomain = constraints.nonnegative
    bijective = False
    sign = 0

    def _call(self, x: Tensor) -> Any:
        return ft.abs(x)

    def _inverse(self, y: Tensor) -> Any:
        return y


class AffineTransform(Transform):
    """loc + scale * x.

    Args:
        loc, scale: numbers or tensors.
        event_dim: how many dims at the end make one value.
    """

    def __init__(
        self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0
    ) -> None:
        super().__init__(cache_size)
        self.loc, self.scale = loc, scale
        if event_dim:
            self.domain = self.codomain = constraints.independent(
                constraints.real, event_dim
            )
        self.sign = ft.sign(ft.as_tensor(scale))

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        return _with_shapes(shape, self.loc, self.scale)

    inverse_shape = forward_shape

    def _call(self, x: Tensor) -> Any:
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Any:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Any:
        slope = ft.log(ft.abs(ft.as_tensor(self.scale, dtype=x.dtype)))
        return summed(slope.expand(x.shape), self.event_dim)


class SoftmaxTransform(Transform):
    """exp(x), along the last dim made to sum to one."""

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = False

    def _call(self, x: Tensor) -> Any:
        return x.softmax(-1)

    def _inverse(self, y: Tensor) -> Any:
        return ft.log(y)


def _with_shapes(shape: Sequence[int], *parameters: Any) -> tuple[int, ...]:
    """A shape, broadcast with those of a map's parameters."""
    wider = ft.broadcast_shapes(shape, *(getattr(p, "shape", ()) for p in parameters))
    return tuple(wider)


# Those of shapes and matrices are in modules of their own, which are made of this one;
# the package gives them to it.
ELSEWHERE: Final = (
    "CatTransform", "CorrCholeskyTransform", "CumulativeDistributionTransform",
    "IndependentTransform", "LowerCholeskyTransform", "PositiveDefiniteTransform",
    "ReshapeTransform", "StackTransform", "StickBreakingTransform",
)  # fmt: skip
__all__ = [  # noqa: PLE0604  names, and those of other modules
    "AbsTransform", "AffineTransform", "ComposeTransform", "ExpTransform",
    "PowerTransform", "SigmoidTransform", "SoftmaxTransform", "SoftplusTransform",
    "TanhTransform", "Transform", "identity_transform", *ELSEWHERE,
]  # fmt: skip
