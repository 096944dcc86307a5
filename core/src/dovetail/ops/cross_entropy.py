"""Cross entropy: the negative log likelihood of logits."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from dovetail.dtypes import FLOAT, Array
from dovetail.engine.cases import case, ints, values
from dovetail.engine.declare import op
from dovetail.engine.exact import exact
from dovetail.engine.op import Checked
from dovetail.engine.tensor import Tensor
from dovetail.ops.nll_loss import (
    check_cotangent,
    labelled,
    labels_check,
    nll_backward_truth,
    nll_loss_backward,
    nll_truth,
    picked_loss,
    samples_shape,
    through_weight,
)  # fmt: skip
from dovetail.ops.primitive import exp
from dovetail.ops.softmax import log_softmax, log_softmax_backward, sum_along
from dovetail.xp.classes import class_dim


def _loss_shape(
    x: Any, target: Any, weight: Any, *, ignore_index: int, reduction: str
) -> Any:
    samples = samples_shape("cross_entropy", x, target, weight)
    return samples if reduction == "none" else ()


def _shapes(
    x: Any, target: Any, weight: Any, *, ignore_index: int, reduction: str
) -> Any:
    samples = samples_shape("log_softmax_nll", x, target, weight)
    return samples if reduction == "none" else (), x


def _logits_shape(
    ct: Any, target: Any, logp: Any, weight: Any, *, reduction: str, **_: Any
) -> Any:
    samples = samples_shape("cross_entropy_backward", logp, target, weight)
    check_cotangent("cross_entropy_backward", ct, samples, reduction)
    return logp


@op(autocast="float32", cancels=True, shape=_shapes, accepts=FLOAT, indices=("target",),
    outputs=("y", "logp"))  # fmt: skip
def log_softmax_nll(
    input: Tensor, target: Tensor, weight: Tensor | None,
    ignore_index: int, reduction: Literal["none", "mean", "sum"],
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """nll_loss of log_softmax of the logits `input`, and these log probabilities."""
    logp = log_softmax(input, class_dim(input.ndim))
    return picked_loss(logp, target, weight, ignore_index, reduction), logp


@log_softmax_nll.check
def _(x: Tensor, target: Tensor, *_: Any, ignore_index: int, **__: Any) -> Checked:
    return labels_check("log_softmax_nll", x, target, ignore_index)


@op(autocast="float32", cancels=True, shape=_loss_shape, accepts=FLOAT,
    indices=("target",), checked_by_body=True)  # fmt: skip
def cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None,
    ignore_index: int = -100, reduction: Literal["none", "mean", "sum"] = "mean",
) -> Tensor:  # fmt: skip
    """nll_loss of log_softmax of the logits `input`.

    Its gradient is that of `log_softmax_nll`, which keeps the log probabilities; calls
    that keep nothing need not compute them as a result.
    """
    return log_softmax_nll(input, target, weight, ignore_index, reduction)[0]


@cross_entropy.check
def _(x: Tensor, target: Tensor, *_: Any, ignore_index: int, **__: Any) -> Checked:
    return labels_check("cross_entropy", x, target, ignore_index)


def _through_logits(
    ct: Any, target: Tensor, weight: Any, logp: Tensor, ignore_index: int,
    reduction: str,
) -> Any:  # fmt: skip
    """The part through the loss, and that through the log probabilities."""
    ct_y, ct_logp = ct
    g = None
    if ct_y is not None:
        g = cross_entropy_backward(ct_y, target, logp, weight, ignore_index, reduction)
    if ct_logp is None:
        return g
    more = log_softmax_backward(ct_logp, logp, class_dim(logp.ndim))
    return more if g is None else g + more


log_softmax_nll.grad(
    input=_through_logits,
    weight=lambda ct, target, weight, y, logp, ignore_index, reduction: (
        None
        if ct[0] is None
        else through_weight(ct[0], logp, target, weight, y, ignore_index, reduction)
    ),
)


@op(undefined_on=("special",), cancels=True, shape=_logits_shape, accepts=FLOAT,
    indices=("target",))  # fmt: skip
def cross_entropy_backward(
    ct: Tensor, target: Tensor, logp: Tensor, weight: Tensor | None,
    ignore_index: int, reduction: str,
) -> Tensor:  # fmt: skip
    """The gradient of cross_entropy: (softmax - one-hot) times the sample's weight."""
    dim = class_dim(logp.ndim)
    classes = logp._a.shape[dim]
    g = nll_loss_backward(ct, target, weight, classes, ignore_index, reduction)
    return g - exp(logp) * sum_along(g, dim)


@log_softmax_nll.oracle
def _both(
    x: Array, target: Array, weight: Array | None, ignore_index: int, reduction: str
) -> Any:
    dim = class_dim(x.ndim)
    logp = log_softmax.op.oracle(x, dim)  # type: ignore[misc]
    return nll_truth(logp, target, weight, ignore_index, reduction), logp


@cross_entropy.oracle
def _(
    x: Array, target: Array, weight: Array | None = None,
    ignore_index: int = -100, reduction: str = "mean",
) -> Any:  # fmt: skip
    return _both(x, target, weight, ignore_index, reduction)[0]


@cross_entropy_backward.oracle
def _(
    ct: Array, target: Array, logp: Array, weight: Array | None, ignore_index: int,
    reduction: str,
) -> Any:  # fmt: skip
    dim = class_dim(logp.ndim)
    g = nll_backward_truth(ct, target, weight, logp.shape[dim], ignore_index, reduction)
    return g - exact("exp")(logp) * g.sum(axis=dim, keepdims=True)


cross_entropy.cases(labelled)


@log_softmax_nll.cases
def _(make: Any) -> Any:
    for given in labelled(make):
        x, target, *rest = given.args
        attrs = {"ignore_index": -100, "reduction": "mean"} | given.kwargs
        yield case(x, target, rest[0] if rest else None, **attrs)


@cross_entropy_backward.cases
def _(make: Any) -> Any:
    yield case(make(), make.ints(4, high=3), make(4, 3), None, -100, "mean")
    weights = values(4, low=0.5)
    yield [2, 3], ints(2, 3, high=4), [2, 4, 3], weights, 1, "none"
    yield [], np.array([0, 2, 1]), [3, 4], weights, 1, "mean"
    yield [], ints(2, 3, high=4), [2, 4, 3], None, 1, "mean"
