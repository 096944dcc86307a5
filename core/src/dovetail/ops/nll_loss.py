"""Losses over classes: the negative log likelihood, of log probabilities."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from dovetail.dtypes import FLOAT, Array, Sizes, int32
from dovetail.engine.cases import case, ints, values
from dovetail.engine.checks import all_values
from dovetail.engine.declare import op
from dovetail.engine.op import Checked
from dovetail.engine.tensor import Tensor
from dovetail.errors import IndexOutOfRange, ShapeError
from dovetail.ops.create import full
from dovetail.ops.primitive import (
    iota,
    take_along,
    where,
)  # fmt: skip
from dovetail.ops.ranges import any_outside
from dovetail.ops.sums import sum
from dovetail.ops.view import reshape, squeeze, unsqueeze
from dovetail.xp.classes import class_dim, refuse_label


def samples_shape(name: str, x: Sizes, target: Sizes, weight: Sizes | None) -> Sizes:
    """The shape of one loss a sample; raises where shapes do not fit."""
    if not x:
        raise ShapeError(
            name, "input", was="0-d", needed="[classes] or [n, classes, ...]"
        )
    dim = class_dim(len(x))
    want = (*x[:dim], *x[dim + 1 :])
    if tuple(target) != want:
        raise ShapeError(
            name, "target", was=f"of shape {tuple(target)} with input {tuple(x)}",
            needed=f"{want}, one class a sample: expected input batch_size to match "
            "target batch_size",
        )  # fmt: skip
    if weight is not None and tuple(weight) != (x[dim],):
        raise ShapeError(
            name, "weight", was=f"of shape {tuple(weight)}",
            needed=f"{(x[dim],)}: weight tensor should be defined for all classes",
        )  # fmt: skip
    return want


def _nll_shape(x: Any, target: Any, weight: Any, *, reduction: str, **_: Any) -> Any:
    samples = samples_shape("nll_loss", x, target, weight)
    return samples if reduction == "none" else ()


def _dense_shape(
    ct: Any, target: Any, weight: Any, *, classes: int, reduction: str, **_: Any
) -> Any:
    dim = class_dim(len(target) + 1)
    dense = (*target[:dim], classes, *target[dim:])
    samples = samples_shape("nll_loss_backward", dense, target, weight)
    check_cotangent("nll_loss_backward", ct, samples, reduction)
    return dense


def check_cotangent(name: str, ct: Sizes, samples: Sizes, reduction: str) -> None:
    """Refuse a cotangent that is not of the shape of a loss so reduced."""
    needed = tuple(samples) if reduction == "none" else ()
    if tuple(ct) != needed:
        raise ShapeError(
            name, "ct", was=f"of shape {tuple(ct)}",
            needed=f"{needed}, as the loss with reduction {reduction!r}",
        )  # fmt: skip


def labels_check(name: str, x: Tensor, target: Tensor, ignore_index: int) -> Checked:
    """What the check of an op gives for classes out of range."""
    if not math.prod(target._a.shape):
        return None
    classes = x._a.shape[class_dim(x.ndim)]

    def error() -> IndexOutOfRange:
        found = all_values(target).reshape(-1)
        bad = (found < 0) | (found >= classes)
        return refuse_label(name, int(found[bad & (found != ignore_index)][0]), classes)

    return any_outside(target, 0, classes, (ignore_index,)), error


def _valid(target: Tensor, ignore_index: int) -> tuple[Tensor, Tensor]:
    """Which samples count, and their classes with 0 for the others."""
    valid = target != ignore_index
    return valid, where(valid, target, 0)


def _sample_weights(
    target: Tensor, weight: Any, ignore_index: int, like: Tensor
) -> Tensor:
    """The weight of each sample: that of its class, 0 where it does not count."""
    valid, safe = _valid(target, ignore_index)
    shape = tuple(target._a.shape)
    if weight is None:
        ones = full(shape, 1, like._kind)
    else:
        ones = reshape(take_along(weight, reshape(safe, (-1,)), 0), shape)
    return where(valid, ones, 0)


def _chosen(target: Tensor, classes: int, ignore_index: int) -> Tensor:
    """True at the class of each sample that counts: one-hot, as bools."""
    dim = class_dim(target.ndim + 1)
    numbers = reshape(
        iota(classes, target._kind.with_dtype(int32)),
        (classes, *(1,) * (target.ndim - dim)),
    )
    wide = unsqueeze(target, dim)
    return (wide == numbers) & (wide != ignore_index)


@op(autocast="float32", shape=_nll_shape, accepts=FLOAT, indices=("target",))
def nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None,
    ignore_index: int = -100, reduction: Literal["none", "mean", "sum"] = "mean",
) -> Tensor:  # fmt: skip
    """Minus the log probability of the class `target`, times that class's weight.

    The mean divides by the sum of the weights used; without samples it is NaN.
    """
    return picked_loss(input, target, weight, ignore_index, reduction)


def picked_loss(
    x: Tensor, target: Tensor, weight: Any, ignore_index: int, reduction: str
) -> Tensor:
    """The loss, without the check of its classes."""
    dim = class_dim(x.ndim)
    _, safe = _valid(target, ignore_index)
    weights = _sample_weights(target, weight, ignore_index, x)
    picked = squeeze(take_along(x, unsqueeze(safe, dim), dim), (dim,))
    losses = where(target != ignore_index, -(picked * weights), 0)
    if reduction == "none":
        return losses
    total = sum(losses, None)
    return total if reduction == "sum" else total / sum(weights, None)


def through_weight(
    ct: Tensor, input: Tensor, target: Tensor, weight: Tensor, y: Tensor,
    ignore_index: int, reduction: str,
) -> Tensor:  # fmt: skip
    """The cotangent of the class weights, by which the mean is divided too."""
    dim = class_dim(input.ndim)
    chosen = _chosen(target, input._a.shape[dim], ignore_index)
    dims = tuple(d for d in range(input.ndim) if d != dim)
    if reduction == "mean":
        total = sum(_sample_weights(target, weight, ignore_index, input), None)
        picked = where(chosen, (-input - y) * ct / total, 0)
    else:
        scale = unsqueeze(ct, dim) if reduction == "none" else ct
        picked = where(chosen, -input * scale, 0)
    return sum(picked, dims) if dims else picked


@op(shape=_dense_shape, accepts=FLOAT, indices=("target",),
    cases=lambda _: [
        ([], ints(4, high=3), None, 3, -100, "mean"),
        ([2, 3], ints(2, 3, high=4), values(4, low=0.5), 4, 1, "none"),
        ([], ints(high=3), None, 3, -100, "sum"),
    ], levels={"classes": ()})  # fmt: skip
def nll_loss_backward(
    ct: Tensor, target: Tensor, weight: Tensor | None, classes: int,
    ignore_index: int, reduction: str,
) -> Tensor:  # fmt: skip
    """The gradient of nll_loss: minus the sample's weight at its class, else 0."""
    weights = _sample_weights(target, weight, ignore_index, ct)
    scale = where(weights == 0, 0, -ct * weights)  # not 0 * inf
    if reduction == "mean":
        total = sum(weights, None)
        scale = scale / where(total == 0, 1, total)
    chosen = _chosen(target, classes, ignore_index)
    dim = class_dim(target.ndim + 1)
    return where(chosen, unsqueeze(scale, dim), 0)


@nll_loss.check
def _(x: Tensor, target: Tensor, *_: Any, ignore_index: int, **__: Any) -> Checked:
    return labels_check("nll_loss", x, target, ignore_index)


nll_loss.grad(
    input=lambda ct, input_shape, target, weight, ignore_index, reduction: (
        nll_loss_backward(
            ct, target, weight, input_shape[class_dim(len(input_shape))],
            ignore_index, reduction,
        )
    ),
    weight=through_weight,
)  # fmt: skip


def _one_hot(x: Array, target: Array, weight: Array | None, ignore: int) -> Array:
    """The weight of each sample at its class, zero elsewhere, in the shape of `x`."""
    dim = class_dim(x.ndim)
    found = np.zeros(x.shape)
    for place in np.ndindex(target.shape):
        label = int(target[place])
        if label != ignore:
            found[(*place[:dim], label, *place[dim:])] = (
                1 if weight is None else weight[label]
            )
    return found


@nll_loss.oracle
def nll_truth(
    x: Array, target: Array, weight: Array | None = None,
    ignore_index: int = -100, reduction: str = "mean",
) -> Any:  # fmt: skip
    """By NumPy, sample by sample."""
    hot = _one_hot(x, target, weight, ignore_index)
    losses = -np.sum(np.where(hot == 0, 0, hot * x), axis=class_dim(x.ndim))
    if reduction == "none":
        return losses
    return losses.sum() / (hot.sum() if reduction == "mean" else 1)


@nll_loss_backward.oracle
def nll_backward_truth(
    ct: Array, target: Array, weight: Array | None, classes: int, ignore_index: int,
    reduction: str,
) -> Any:  # fmt: skip
    """By NumPy, sample by sample."""
    dim = class_dim(target.ndim + 1)
    shape = (*target.shape[:dim], classes, *target.shape[dim:])
    hot = _one_hot(np.zeros(shape), target, weight, ignore_index)
    ct = np.expand_dims(ct, dim) if reduction == "none" else ct
    share = -hot * ct / (hot.sum() if reduction == "mean" else 1)
    return np.where(hot == 0, 0, share)  # not 0 * NaN for the other classes


@nll_loss.cases
def labelled(make: Any) -> Any:
    """Calls with each reduction, weights, and samples that do not count."""
    yield case(make(4, 3), make.ints(4, high=3))
    for reduction in ("none", "sum", "mean"):
        ignore = {"ignore_index": 1, "reduction": reduction}
        weight = make(3, low=0.5, high=2)
        yield case(make(5, 3), np.array([0, 2, 2, 1, 0]), weight, **ignore)
        yield case(make(2, 3, 4), make.ints(2, 4, high=3), **ignore)
    yield case(make(3), make.ints(high=3), reduction="sum")
    yield case(make(2, 3, 2, 2), make.ints(2, 2, 2, high=3), make(3, low=0.5, high=2))
