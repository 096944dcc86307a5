"""Maps of several maps, and of the shapes of values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dovetail import frontend as ft
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ShapeError
from dovetail.limits import finfo

from . import constraints
from .distribution import Distribution, summed
from .probabilities import softplus
from .transforms import Transform, clipped_sigmoid


def _kept(parts: Sequence[Transform], cache_size: int) -> list[Transform]:
    """The maps that one is made of, which keep what they map if it does."""
    return [t.with_cache(cache_size) if cache_size else t for t in parts]


class IndependentTransform(Transform):
    """Another map, of whose dims several make one value.

    Args:
        base_transform: the other map.
        reinterpreted_batch_ndims: how many more dims.
    """

    def __init__(
        self, base_transform: Transform, reinterpreted_batch_ndims: int,
        cache_size: int = 0,
    ) -> None:  # fmt: skip
        super().__init__(cache_size)
        (self.base_transform,) = _kept([base_transform], cache_size)
        self.reinterpreted_batch_ndims = n = reinterpreted_batch_ndims
        self.domain = constraints.independent(base_transform.domain, n)
        self.codomain = constraints.independent(base_transform.codomain, n)
        self.sign = base_transform.sign

    def _call(self, x: Tensor) -> Any:
        return self.base_transform(x)

    def _inverse(self, y: Tensor) -> Any:
        return self.base_transform._inv_call(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Any:
        slope = self.base_transform.log_abs_det_jacobian(x, y)
        return summed(slope, self.reinterpreted_batch_ndims)

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        return self.base_transform.inverse_shape(shape)

    def __repr__(self) -> str:
        n = self.reinterpreted_batch_ndims
        return f"IndependentTransform({self.base_transform}, {n})"


class ReshapeTransform(Transform):
    """The same elements in another shape.

    Args:
        in_shape, out_shape: the last dims before and after.
    """

    def __init__(
        self, in_shape: Sequence[int], out_shape: Sequence[int], cache_size: int = 0
    ) -> None:
        super().__init__(cache_size)
        self.in_shape, self.out_shape = tuple(in_shape), tuple(out_shape)
        if math.prod(self.in_shape) != math.prod(self.out_shape):
            raise ArgumentError(
                "ReshapeTransform", "out_shape", was=self.out_shape,
                needed=f"as many elements as {self.in_shape}",
            )  # fmt: skip
        self.domain = constraints.independent(constraints.real, len(self.in_shape))
        self.codomain = constraints.independent(constraints.real, len(self.out_shape))

    def _call(self, x: Tensor) -> Any:
        return x.reshape(self.forward_shape(x.shape))

    def _inverse(self, y: Tensor) -> Any:
        return y.reshape(self.inverse_shape(y.shape))

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Any:
        batch = x.shape[: x.ndim - len(self.in_shape)]
        return ft.zeros(tuple(batch), dtype=x.dtype, device=x.device)

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        return _replaced(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        return _replaced(shape, self.out_shape, self.in_shape)


def _replaced(
    shape: Sequence[int], end: tuple[int, ...], new: tuple[int, ...]
) -> tuple[int, ...]:
    """A shape with other last dims."""
    cut = len(shape) - len(end)
    if cut < 0 or tuple(shape[cut:]) != end:
        raise ShapeError(
            "ReshapeTransform", "x", was=f"of shape {tuple(shape)}",
            needed=f"{end} at its end",
        )  # fmt: skip
    return (*shape[:cut], *new)


class _OfParts(Transform):
    """Maps of the parts of a value, along one dim."""

    transforms: list[Transform]
    dim: int

    def _parts(self, x: Tensor) -> list[Any]:
        raise NotImplementedError

    def _joined(self, parts: list[Any]) -> Any:
        raise NotImplementedError

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        """Whether all maps are."""
        return all(t.bijective for t in self.transforms)

    def _call(self, x: Tensor) -> Any:
        pairs = zip(self.transforms, self._parts(x), strict=True)
        return self._joined([t(part) for t, part in pairs])

    def _inverse(self, y: Tensor) -> Any:
        pairs = zip(self.transforms, self._parts(y), strict=True)
        return self._joined([t._inv_call(part) for t, part in pairs])


class CatTransform(_OfParts):
    """Maps of the pieces of a value, which are cut along a dim.

    Args:
        tseq: the maps.
        dim: the dim.
        lengths: of the pieces; by default, each of 1.
    """

    def __init__(
        self, tseq: Sequence[Transform], dim: int = 0,
        lengths: Sequence[int] | None = None, cache_size: int = 0,
    ) -> None:  # fmt: skip
        super().__init__(cache_size)
        self.transforms, self.dim = _kept(tseq, cache_size), dim
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        self.domain = constraints.cat(
            [t.domain for t in self.transforms], dim, self.lengths
        )
        self.codomain = constraints.cat(
            [t.codomain for t in self.transforms], dim, self.lengths
        )

    @property
    def length(self) -> int:
        """Of all pieces."""
        return sum(self.lengths)

    def _parts(self, x: Tensor) -> list[Any]:
        return list(x.split(self.lengths, self.dim))

    def _joined(self, parts: list[Any]) -> Any:
        return ft.cat(parts, self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Any:
        slopes = [
            summed(t.log_abs_det_jacobian(a, b), self.event_dim - t.event_dim)
            for t, a, b in zip(
                self.transforms, self._parts(x), self._parts(y), strict=True
            )
        ]
        dim = self.dim - x.ndim if self.dim >= 0 else self.dim
        if dim + self.event_dim < 0:
            return ft.cat(slopes, dim + self.event_dim)
        return sum(slopes[1:], slopes[0])


class StackTransform(_OfParts):
    """Maps of the slices of a value, along a dim.

    Args:
        tseq: the maps, one a slice.
        dim: the dim.
    """

    def __init__(
        self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0
    ) -> None:
        super().__init__(cache_size)
        self.transforms, self.dim = _kept(tseq, cache_size), dim
        self.domain = constraints.stack([t.domain for t in self.transforms], dim)
        self.codomain = constraints.stack([t.codomain for t in self.transforms], dim)

    def _parts(self, x: Tensor) -> list[Any]:
        return list(x.unbind(self.dim))

    def _joined(self, parts: list[Any]) -> Any:
        return ft.stack(parts, self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Any:
        pairs = zip(self.transforms, self._parts(x), self._parts(y), strict=True)
        return ft.stack([t.log_abs_det_jacobian(a, b) for t, a, b in pairs], self.dim)


class CumulativeDistributionTransform(Transform):
    """The probability of values up to one, by a distribution.

    Args:
        distribution: one of real numbers, with `cdf`.
    """

    codomain = constraints.unit_interval

    def __init__(self, distribution: Distribution, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.distribution = distribution
        self.domain = distribution.support

    def _call(self, x: Tensor) -> Any:
        return self.distribution.cdf(x)

    def _inverse(self, y: Tensor) -> Any:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Any:
        return self.distribution.log_prob(x)


class StickBreakingTransform(Transform):
    """Real numbers as probabilities: shares that are broken off what is left."""

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _offset(self, x: Tensor) -> Any:
        n = x.shape[-1]
        return ft.log(ft.arange(n, 0, -1, dtype=x.dtype, device=x.device))

    def _call(self, x: Tensor) -> Any:
        z = clipped_sigmoid(x - self._offset(x))
        left = ft.cumprod(1 - z, -1)
        one = ft.ones_like(z[..., :1])
        return ft.cat([z, one], -1) * ft.cat([one, left], -1)

    def _inverse(self, y: Tensor) -> Any:
        first = y[..., :-1]
        left = ft.clamp(1 - ft.cumsum(first, -1), min=finfo(y.dtype).tiny)
        return ft.log(first) - ft.log(left) + self._offset(first)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Any:
        moved = x - self._offset(x)
        log = -softplus(-moved)
        return (log - moved + ft.log(y[..., :-1])).sum(-1)

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        return (*shape[:-1], shape[-1] + 1)

    def inverse_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        return (*shape[:-1], shape[-1] - 1)


__all__ = [
    "CatTransform", "CumulativeDistributionTransform", "IndependentTransform",
    "ReshapeTransform", "StackTransform", "StickBreakingTransform",
]  # fmt: skip
