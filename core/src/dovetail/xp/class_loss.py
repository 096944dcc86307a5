"""Losses over classes, which on the host refuse classes out of range by themselves."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from dovetail.device_api.kernels import KernelTable
from dovetail.dtypes import FLOAT, HALF
from dovetail.errors import IndexOutOfRange
from dovetail.xp.classes import class_dim, refuse_label
from dovetail.xp.kernels import on_device
from dovetail.xp.orders import rows
from dovetail.xp.short_rows import (
    short_cross_entropy,
    short_cross_entropy_backward,
    short_log_softmax_nll,
)
from dovetail.xp.softmax import log_softmax_of

_WIDE = FLOAT - HALF


def install(table: KernelTable, xp: Any) -> None:
    """Add losses over classes to a table."""
    looks = not on_device(xp)
    table.add(
        "nll_loss", _nll_loss(xp), dtypes=_WIDE, checks=True, checks_indices=looks
    )
    table.add("nll_loss_backward", _nll_backward(xp), dtypes=_WIDE)
    table.add(
        "log_softmax_nll", _log_softmax_nll(xp), dtypes=_WIDE, binds=True, checks=True,
        checks_indices=looks,
    )  # fmt: skip
    table.add(
        "cross_entropy", _cross_entropy(xp), dtypes=_WIDE, binds=True, checks=True,
        checks_indices=looks,
    )  # fmt: skip
    table.add(
        "cross_entropy_backward", _cross_entropy_backward(xp), dtypes=_WIDE, binds=True,
        checks=True,
    )  # fmt: skip


def _extremes(target: Any) -> tuple[int, int]:
    """The least and the greatest class.

    Read at their places: that takes a third of a reduction's time where there are few.
    """
    flat = target.reshape(-1)
    return int(flat[flat.argmin()]), int(flat[flat.argmax()])


def in_range(name: str, target: Any, classes: int, ignore_index: int) -> bool:
    """Whether every sample counts; raises for a class that is none."""
    if not target.size:
        return True
    low, high = _extremes(target)
    if low >= 0 and high < classes and not low <= ignore_index <= high:
        return True
    counted = target[target != ignore_index]
    if counted.size:
        low, high = _extremes(counted)
        if low < 0 or high >= classes:
            raise refuse_label(name, low if low < 0 else high, classes)
    return bool(counted.size == target.size)


def _coordinates(xp: Any, target: Any) -> tuple[Any, ...]:
    """The place of each sample's class in the scores."""
    if target.ndim == 1:
        return xp.arange(target.shape[0]), target
    grid = list(xp.ogrid[tuple(slice(n) for n in target.shape)])
    grid.insert(class_dim(target.ndim + 1), target)
    return tuple(grid)


def sample_weights(
    xp: Any, target: Any, weight: Any, ignore_index: int, whole: bool, like: Any
) -> tuple[Any, Any]:
    """Classes with 0 for samples that do not count, and the samples' weights."""
    if whole:
        return target, None if weight is None else weight[target]
    valid = target != ignore_index
    safe = xp.where(valid, target, 0)
    if weight is None:
        return safe, valid.astype(like.dtype)
    return safe, xp.where(valid, weight[safe], weight.dtype.type(0))  # not 0 * NaN


def _check_samples(x: Any, target: Any, weight: Any) -> None:
    """Raise for labels and weights of other shapes than the scores ask for."""
    dim = class_dim(x.ndim)
    classes = x.shape[dim : dim + 1]
    if (*x.shape[:dim], *x.shape[dim + 1 :]) != target.shape or (
        weight is not None and weight.shape != classes
    ):
        raise ValueError  # the op's rule words it


def _cross_entropy(xp: Any) -> Callable[..., Any]:
    """The loss without the log probabilities."""
    both = _both(xp)

    def cross_entropy(ignore_index: int, reduction: str) -> Callable[..., Any]:
        def beside(x: Any, target: Any, weight: Any) -> Any:
            try:
                return both(x, target, weight, ignore_index, reduction)[0]
            except IndexOutOfRange as refused:
                raise refused.of("cross_entropy") from None

        return short_cross_entropy(xp, beside, ignore_index, reduction)

    return cross_entropy


def _log_softmax_nll(xp: Any) -> Callable[..., Any]:
    """The loss with the log probabilities."""
    both = _both(xp)

    def log_softmax_nll(ignore_index: int, reduction: str) -> Callable[..., Any]:
        beside = partial(both, ignore_index=ignore_index, reduction=reduction)
        return short_log_softmax_nll(xp, beside, ignore_index, reduction)

    return log_softmax_nll


def _both(xp: Any) -> Callable[..., Any]:
    log_softmax, looks = log_softmax_of(xp), not on_device(xp)

    def log_softmax_nll(
        x: Any, target: Any, weight: Any, ignore_index: int, reduction: str
    ) -> Any:
        _check_samples(x, target, weight)
        dim = class_dim(x.ndim)
        logp = log_softmax(dim)(x)
        whole = looks and in_range(
            "log_softmax_nll", target, x.shape[dim], ignore_index
        )
        given = target, weight, ignore_index, reduction
        return _picked_loss(xp, logp, whole, *given), logp

    return log_softmax_nll


def _picked_loss(
    xp: Any, logp: Any, whole: bool, target: Any, weight: Any, ignore_index: int,
    reduction: str,
) -> Any:  # fmt: skip
    """Minus the log probabilities of the labels, of which `whole` says all count."""
    safe, weights = sample_weights(xp, target, weight, ignore_index, whole, logp)
    losses = logp[_coordinates(xp, safe)]
    if weights is not None:
        losses = losses * weights
    if not whole:  # not 0 * inf
        losses = xp.where(target == ignore_index, logp.dtype.type(0), losses)
    if reduction == "none":
        return -losses
    total = -losses.sum(dtype=logp.dtype)
    if reduction == "mean":
        total /= losses.dtype.type(target.size) if weights is None else weights.sum()
    return total


def _nll_loss(xp: Any) -> Callable[..., Any]:
    looks = not on_device(xp)

    def nll_loss(
        logp: Any, target: Any, weight: Any, ignore_index: int, reduction: str
    ) -> Any:
        _check_samples(logp, target, weight)
        dim = class_dim(logp.ndim)
        whole = looks and in_range("nll_loss", target, logp.shape[dim], ignore_index)
        return _picked_loss(xp, logp, whole, target, weight, ignore_index, reduction)

    return nll_loss


def _scales(xp: Any, ct: Any, target: Any, weights: Any, reduction: str) -> Any:
    """What each sample's gradient is multiplied with: 0 where it does not count."""
    scale = ct if weights is None else xp.where(weights == 0, 0, ct * weights)
    if reduction != "mean":
        return scale
    if weights is None:
        return scale / ct.dtype.type(target.size)
    total = weights.sum()
    return scale / xp.where(total == 0, ct.dtype.type(1), total)


def _nll_backward(xp: Any) -> Callable[..., Any]:
    looks = not on_device(xp)

    def nll_loss_backward(
        ct: Any, target: Any, weight: Any, classes: int, ignore_index: int,
        reduction: str,
    ) -> Any:  # fmt: skip
        whole = looks and in_range("nll_loss", target, classes, ignore_index)
        safe, weights = sample_weights(xp, target, weight, ignore_index, whole, ct)
        dim = class_dim(target.ndim + 1)
        g = xp.zeros((*target.shape[:dim], classes, *target.shape[dim:]), ct.dtype)
        g[_coordinates(xp, safe)] = -_scales(xp, ct, target, weights, reduction)
        return g

    return nll_loss_backward


def _cross_entropy_backward(xp: Any) -> Callable[..., Any]:
    looks = not on_device(xp)

    def of_any_size(
        ct: Any, target: Any, logp: Any, weight: Any, ignore_index: int, reduction: str
    ) -> Any:
        _check_samples(logp, target, weight)
        dim = class_dim(logp.ndim)
        whole = looks and in_range(
            "cross_entropy", target, logp.shape[dim], ignore_index
        )
        safe, weights = sample_weights(xp, target, weight, ignore_index, whole, logp)
        scale = _scales(xp, ct, target, weights, reduction)
        g = xp.exp(logp)
        g *= xp.expand_dims(scale, dim) if scale.ndim else scale
        g[_coordinates(xp, safe)] -= scale
        return rows(g)

    def cross_entropy_backward(ignore_index: int, reduction: str) -> Callable[..., Any]:
        beside = partial(of_any_size, ignore_index=ignore_index, reduction=reduction)
        return short_cross_entropy_backward(xp, beside, ignore_index, reduction)

    return cross_entropy_backward
