"""Losses over classes under torch's names and signatures."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

from dovetail.dtypes import INTEGRAL, int64, uint8
from dovetail.engine.annotations import described
from dovetail.engine.autocast import as_one
from dovetail.engine.level_hooks import of_all_rows
from dovetail.engine.public import public
from dovetail.engine.scopes import unseen
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ArgumentTypeError, DTypeError, ShapeError
from dovetail.nn.functional._reduction import reduction_of
from dovetail.nn.loss_options import LinearCrossEntropyOptions
from dovetail.ops import cross_entropy as ops
from dovetail.ops import nll_loss as nll
from dovetail.ops.compare import ne
from dovetail.ops.extremes import amax
from dovetail.ops.matmul import linear
from dovetail.ops.primitive import cast, where
from dovetail.ops.shape import cat
from dovetail.ops.softmax import log_softmax
from dovetail.ops.sums import sum
from dovetail.ops.view import reshape
from dovetail.xp.classes import class_dim


def _labels(op: str, input: Tensor, target: Tensor) -> Tensor:
    """Class numbers as places, which bytes may be, too.

    Raises:
        DTypeError: they are no integers.
    """
    if target.dtype not in INTEGRAL:
        raise DTypeError(
            op, "target",
            was=f"of dtype {target.dtype.name}, shape {tuple(target.shape)}",
            needed=f"classes as int64, [n, ...] for an input of {tuple(input.shape)}"
            ": expected scalar type Long",
            remedy="cast it with .long(), without NaN, which is no class",
        )  # fmt: skip
    return cast(target, int64) if target.dtype is uint8 else target


@public("F.nll_loss")
def nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None,
    size_average: bool | None = None, ignore_index: int = -100,
    reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Minus the entries of the log probabilities `input` at the classes `target`.

    Args:
        input: [n, classes, ...] or [classes] log probabilities.
        target: [n, ...] or [] class numbers.
        weight: [classes] factors.
        ignore_index: the class number that does not count.
        reduction: "mean" (over the weights of what counts), "sum" or "none".

    >>> logp = F.log_softmax(torch.zeros(2, 4), dim=1)
    >>> F.nll_loss(logp, torch.tensor([0, 3]))
    tensor(1.3863)
    """
    reduction = reduction_of("nll_loss", reduction, size_average, reduce)
    target = _labels("nll_loss", input, target)
    if weight is not None and weight.dtype is not input.dtype:
        raise DTypeError(
            "nll_loss", "weight", was=weight.dtype.name,
            needed=f"{input.dtype.name}, the dtype of input: expected scalar type",
        )  # fmt: skip
    return nll.nll_loss(input, target, weight, ignore_index, reduction)


@public("F.cross_entropy", plain=ops.cross_entropy, takes=("input", "target", "weight"))
def cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None,
    size_average: bool | None = None, ignore_index: int = -100,
    reduce: bool | None = None, reduction: str = "mean", label_smoothing: float = 0.0,
) -> Tensor:  # fmt: skip
    """Minus the log probability that the logits `input` give to `target`.

    Args:
        input: [n, classes, ...] or [classes] logits.
        target: [n, ...] class numbers, or probabilities in the shape of `input`.
        weight: [classes] factors.
        ignore_index: the class number that does not count.
        reduction: "mean" (over the weights of what counts), "sum" or "none".
        label_smoothing: how much of the target is spread over all classes
            (Szegedy et al. 2015, section 7).

    Raises:
        IndexOutOfRange: a class that is none.
        ShapeError: a target that is not one class a sample.

    Examples:
        >>> import dovetail
        >>> F = dovetail.nn.functional
        >>> F.cross_entropy(dovetail.zeros(2, 4), dovetail.tensor([2, 0]))
        tensor(1.3863)
    """
    if size_average is not None or reduce is not None or reduction != "mean":
        reduction = reduction_of("cross_entropy", reduction, size_average, reduce)
    if not 0.0 <= label_smoothing <= 1.0:
        raise ArgumentError(
            "cross_entropy", "label_smoothing", was=label_smoothing, needed="0.0 to 1.0"
        )
    soft = target._kind.dtype.is_floating_point and input.ndim
    if soft and target._a.shape == input._a.shape:
        _refuse_ignored(ignore_index)
        return _soft_cross_entropy(input, target, weight, reduction, label_smoothing)
    target = _labels("cross_entropy", input, target)
    if label_smoothing == 0.0:
        return ops.cross_entropy(input, target, weight, ignore_index, reduction)
    return _smoothed(input, target, weight, ignore_index, reduction, label_smoothing)


@public("F.linear_cross_entropy")
def linear_cross_entropy(
    input: Tensor, linear_weight: Tensor, target: Tensor, *,
    linear_bias: Tensor | None = None, weight: Tensor | None = None,
    reduction: str = "mean", ignore_index: int | None = None,
    label_smoothing: float = 0.0, options: Any = None,
) -> Tensor:  # fmt: skip
    """`cross_entropy` of a linear map of the input.

    Args:
        input: [n, width] or [width].
        linear_weight: [classes, ..., width].
        target: as that of `cross_entropy` for logits [n, classes, ...].
        linear_bias: [classes, ...].
        options: the logits are made in chunks of rows, as
            `nn.LinearCrossEntropyOptions` says.
    """
    _check_linear(input, linear_weight, target, linear_bias, ignore_index)
    how = reduction_of("linear_cross_entropy", reduction)
    if options is not None and not isinstance(options, LinearCrossEntropyOptions):
        raise ArgumentTypeError(
            "linear_cross_entropy", "options", was=described(options),
            needed="nn.LinearCrossEntropyOptions",
        )  # fmt: skip
    dims = tuple(linear_weight.shape)[:-1]
    ignored = -100 if ignore_index is None else ignore_index
    if options is not None and input.ndim == 2 and len(dims) == 1:
        losses = [
            cross_entropy(
                linear(x, linear_weight, linear_bias), labels, weight,
                ignore_index=ignored, reduction="none",
                label_smoothing=label_smoothing,
            )
            for x, labels in _chunks(input, target, linear_weight, options)
        ]  # fmt: skip
        return _joined(cat(losses, 0), target, weight, ignored, how)
    flat = reshape(linear_weight, (math.prod(dims), linear_weight.shape[-1]))
    bias = None if linear_bias is None else reshape(linear_bias, (-1,))
    logits = linear(input, flat, bias)
    logits = reshape(logits, (*tuple(input.shape)[:-1], *dims))
    whole: Tensor = cross_entropy(
        logits, target, weight, ignore_index=ignored, reduction=how,
        label_smoothing=label_smoothing,
    )  # fmt: skip
    return whole


def _check_linear(
    input: Tensor, linear_weight: Tensor, target: Tensor, linear_bias: Tensor | None,
    ignore_index: int | None,
) -> None:  # fmt: skip
    """Raise where the shapes do not make logits, or probabilities have a class out."""
    sizes, dims = tuple(input.shape), tuple(linear_weight.shape)
    if len(sizes) not in (1, 2) or len(dims) < 2 or sizes[-1] != dims[-1]:
        raise ShapeError(
            "linear_cross_entropy", "input and linear_weight",
            was=f"of shapes {sizes} and {dims}",
            needed="[n, width] or [width], and [classes, ..., width]",
        )  # fmt: skip
    if len(sizes) == 1 and len(dims) > 2:
        raise ShapeError(
            "linear_cross_entropy", "input", was=f"of shape {sizes}",
            needed=f"[n, width], linear_weight being {len(dims)}-d",
        )  # fmt: skip
    if linear_bias is not None and tuple(linear_bias.shape) != dims[:-1]:
        raise ShapeError(
            "linear_cross_entropy", "linear_bias",
            was=f"of shape {tuple(linear_bias.shape)}", needed=f"{dims[:-1]}",
        )  # fmt: skip
    if ignore_index is not None and tuple(target.shape) == (*sizes[:-1], *dims[:-1]):
        raise ArgumentError(
            "linear_cross_entropy", "ignore_index",
            was=f"{ignore_index} with probabilities",
            needed="class numbers as the target", remedy="weigh that class with 0",
        )  # fmt: skip


def _chunks(
    input: Tensor, target: Tensor, weight: Tensor, options: Any
) -> Iterator[tuple[Tensor, Tensor]]:
    """Rows of the input and their targets, at least one chunk."""
    count, width = input.shape
    rows = options.rows(count, width, weight.shape[0])
    for start in range(0, max(count, 1), rows):
        yield input[start : start + rows], target[start : start + rows]


def _joined(
    losses: Tensor, target: Tensor, weight: Tensor | None, ignored: int, how: str
) -> Tensor:
    """The losses of all rows reduced, a mean being over the weights of what counts."""
    if how == "none":
        return losses
    total: Tensor = sum(losses)
    if how == "sum":
        return total
    if target.dtype.is_floating_point:
        total = total / max(losses.shape[0], 1)
        return total
    counted = ne(target, ignored)
    used = cast(counted, losses.dtype)
    if weight is not None:
        used = used * weight[where(counted, target, 0)]
    return total / sum(used)


def _refuse_ignored(ignore_index: int) -> None:
    if ignore_index >= 0:
        raise ArgumentError(
            "cross_entropy", "ignore_index", was=f"{ignore_index} with probabilities",
            needed="class numbers as the target", remedy="weigh that class with 0",
        )  # fmt: skip


def _refuse_nan(op: str, target: Tensor) -> None:
    """Raise for a label that is NaN; waits for the values."""
    if target._kind.backend.rules_only or not math.prod(target._a.shape):
        return
    with unseen():
        whole = of_all_rows(target)
        found = amax(ne(whole, whole), None).item()
    if found:
        raise ArgumentError(
            op, "target", was="NaN in at least one place", needed="probabilities",
            remedy="leave out samples without a label, e.g. by a mask",
        )  # fmt: skip


@partial(as_one, policy="float32")
def _soft_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None, reduction: str, eps: float
) -> Tensor:
    """With probabilities as the target; the mean is over samples."""
    dim = class_dim(input.ndim)
    count = input.shape[dim]
    _refuse_nan("cross_entropy", target)
    if eps:
        target = target * (1 - eps) + eps / count
    terms = _weighed(log_softmax(input, dim), weight) * target
    losses: Tensor = -sum(terms, dim)
    if reduction == "none":
        return losses
    total: Tensor = sum(losses)
    if reduction == "sum":
        return total
    return total / (math.prod(input.shape) / count if count else math.nan)


def _weighed(logp: Tensor, weight: Tensor | None) -> Tensor:
    """Log probabilities times their class's weight."""
    if weight is None:
        return logp
    dim = class_dim(logp.ndim)
    return logp * reshape(weight, (-1, *(1,) * (logp.ndim - dim - 1)))


def _smoothed(
    input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int,
    reduction: str, eps: float,
) -> Tensor:  # fmt: skip
    """Part of the target spread evenly over the classes."""
    dim = class_dim(input.ndim)
    logp = log_softmax(input, dim)
    hard = nll.nll_loss(logp, target, weight, ignore_index, reduction)
    counted = ne(target, ignore_index)
    spread = where(counted, -sum(_weighed(logp, weight), dim), 0)
    if reduction != "none":
        spread = sum(spread)
    if reduction == "mean":
        used = cast(counted, input.dtype)
        if weight is not None:
            used = used * weight[where(counted, target, 0)]
        spread = spread / sum(used)
    smoothed: Tensor = hard * (1 - eps) + spread * (eps / input.shape[dim])
    return smoothed
