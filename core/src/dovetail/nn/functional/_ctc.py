"""Connectionist temporal classification (Graves et al. 2006)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from dovetail.dtypes import INTEGRAL, int64
from dovetail.engine import level_hooks
from dovetail.engine.checks import refuse, values_of
from dovetail.engine.public import NAMESPACES, public
from dovetail.engine.tensor import Tensor, wrap
from dovetail.errors import ArgumentError, DTypeError, IndexOutOfRange, ShapeError
from dovetail.nn.functional._reduction import reduction_of
from dovetail.ops.create import counted, full
from dovetail.ops.ctc import ctc_losses
from dovetail.ops.primitive import cast, where
from dovetail.ops.ranges import any_outside
from dovetail.ops.shape import cat, stack

_REDUCTIONS: Final = ("none", "mean", "sum")


@public("torch.ctc_loss", autocast="float32")
def _numbered(
    log_probs: Tensor, targets: Tensor, input_lengths: Tensor | Sequence[int],
    target_lengths: Tensor | Sequence[int], blank: int = 0, reduction: int = 1,
    zero_infinity: bool = False,
) -> Tensor:  # fmt: skip
    """`nn.functional.ctc_loss`, with the reduction as a number: none, mean or sum."""
    if not 0 <= reduction < len(_REDUCTIONS):
        raise ArgumentError("ctc_loss", "reduction", was=reduction, needed="0, 1 or 2")
    how = _REDUCTIONS[reduction]
    return ctc_loss(
        log_probs, targets, input_lengths, target_lengths, blank, how, zero_infinity
    )


@public("F.ctc_loss", autocast="float32")
def ctc_loss(
    log_probs: Tensor, targets: Tensor, input_lengths: Tensor | Sequence[int],
    target_lengths: Tensor | Sequence[int], blank: int = 0, reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:  # fmt: skip
    """Minus the log probability of label sequences, over all their alignments.

    The gradient is that of logits whose log_softmax `log_probs` is, as torch has it.

    Args:
        log_probs: [t, n, classes], or [t, classes].
        targets: [n, s], or the labels of all sequences in one vector.
        input_lengths, target_lengths: one for each sequence.
        blank: the class that stands for no label.
        reduction: "mean" (of losses over their targets' lengths), "sum" or "none".
        zero_infinity: whether infinite losses, of targets that do not fit into their
            input, count as zero.
    """
    how = reduction_of("ctc_loss", reduction)
    single = log_probs.ndim == 2
    _check_ctc(log_probs, targets, blank)
    lp = log_probs.unsqueeze(1) if single else log_probs
    steps, n, _ = lp.shape
    frames = _lengths("input_lengths", input_lengths, n, steps)
    counts = _lengths("target_lengths", target_lengths, n, None)
    labels = _padded(targets, counts, blank, single)
    losses = _losses(lp, labels, frames, counts, blank)
    if zero_infinity:
        losses = where(losses == math.inf, 0.0, losses)
    if how == "none":
        return losses.squeeze(0) if single else losses
    if how == "sum":
        return losses.sum()
    over = [max(c, 1) for c in counts]
    return (losses / _vector(over, lp)).mean()


def _check_ctc(log_probs: Tensor, targets: Tensor, blank: int) -> None:
    if log_probs.ndim not in (2, 3) or targets.ndim not in (1, 2):
        raise ShapeError(
            "ctc_loss", "log_probs and targets",
            was=f"of shapes {tuple(log_probs.shape)} and {tuple(targets.shape)}",
            needed="[t, n, classes] and [n, s], or all labels in one vector",
        )  # fmt: skip
    if not log_probs.dtype.is_floating_point or targets.dtype not in INTEGRAL:
        raise DTypeError(
            "ctc_loss", "log_probs and targets",
            was=f"{log_probs.dtype.name} and {targets.dtype.name}",
            needed="floats and integers",
        )  # fmt: skip
    if not 0 <= blank < log_probs.shape[-1]:
        raise ArgumentError(
            "ctc_loss", "blank", was=blank,
            needed=f"a class, 0 to {log_probs.shape[-1] - 1}: blank must be in label "
            "range",
        )  # fmt: skip


def _lengths(name: str, given: Any, n: int, most: int | None) -> list[int]:
    """Lengths as numbers, which are read where they are a tensor."""
    if isinstance(given, Tensor):
        if given.dtype not in INTEGRAL:
            raise DTypeError("ctc_loss", name, was=given.dtype.name, needed="integers")
        values = values_of(given, "ctc_loss").reshape(-1).tolist()
    elif isinstance(given, Sequence):
        values = [int(v) for v in given]
    else:
        values = [int(given)]
    if len(values) != n:
        raise ArgumentError(
            "ctc_loss", name, was=f"{len(values)} numbers", needed=f"{n}: {name} must "
            "be of size batch_size",
        )  # fmt: skip
    if any(v < 0 or (most is not None and v > most) for v in values):
        raise ArgumentError(
            "ctc_loss", name, was=values,
            needed="0 or more" if most is None else f"0 to {most}, the steps there are",
        )  # fmt: skip
    return values


def _vector(values: list[int], like: Tensor, dtype: Any = None) -> Tensor:
    kind = like._kind.with_dtype(dtype or like.dtype)
    host = np.array(values, kind.dtype.numpy)
    return wrap(kind.backend.copy_in(host, kind.index), kind)


def _padded(targets: Tensor, counts: list[int], blank: int, single: bool) -> Tensor:
    """[n, s] labels, with blanks behind the ends of sequences."""
    longest = max(counts, default=0)
    targets = cast(targets, int64)
    if targets.ndim == 2 or single:
        targets = targets.unsqueeze(0) if targets.ndim == 1 else targets
        if targets.shape[0] != len(counts) or targets.shape[1] < longest:
            raise ArgumentError(
                "ctc_loss", "targets", was=f"of shape {tuple(targets.shape)}",
                needed=f"[{len(counts)}, {longest} or more]",
            )  # fmt: skip
        targets = targets[:, :longest]
        if min(counts, default=longest) == longest:
            return targets
        ends = _vector(counts, targets).unsqueeze(1)
        return where(counted(longest, targets) < ends, targets, blank)
    if targets.shape[0] != sum(counts):
        raise ArgumentError(
            "ctc_loss", "targets", was=f"{targets.shape[0]} labels",
            needed=f"{sum(counts)}, the sum of target_lengths",
        )  # fmt: skip
    rows, start = [], 0
    for count in counts:
        fill = full((longest - count,), blank, targets._kind)
        rows.append(cat([targets[start : start + count], fill], 0))
        start += count
    return stack(rows, 0)


def _losses(
    lp: Tensor, labels: Tensor, frames: list[int], counts: list[int], blank: int
) -> Tensor:
    """Minus the log probability of each sequence, with the gradient of logits."""
    classes = lp.shape[2]

    def error() -> Exception:
        return IndexOutOfRange(
            "ctc_loss", "targets", was="no class somewhere",
            needed=f"0 to {classes - 1}",
        )  # fmt: skip

    if not lp._kind.backend.rules_only and labels.numel():
        refuse(lambda: (any_outside(labels, 0, classes, ()), error))
    lasts = _vector(frames, lp, int64)
    found = ctc_losses(lp, labels, lasts, _vector(counts, lp, int64), blank)
    if not lp.requires_grad and not level_hooks.level_of:
        return found  # nothing has derivatives
    every = min(frames, default=0) == lp.shape[0]
    return found + _of_logits(lp, None if every else lasts)


def _of_logits(lp: Tensor, lasts: Tensor | None) -> Tensor:
    """Zeros whose gradient makes that of log probabilities that of their logits."""
    power = lp.exp()
    if lasts is not None:
        times = NAMESPACES["torch"]["arange"](lp.shape[0], device=lp.device)
        counted = (times.unsqueeze(1) < lasts.reshape(1, -1)).unsqueeze(2)
        power = where(counted, power, 0.0)
    total = power.sum((0, 2))
    return total - total.detach()
