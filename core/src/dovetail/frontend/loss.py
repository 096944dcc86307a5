"""torch's names for losses."""

# Ops are functions known by their declaration: what they return is Any to mypy.

from __future__ import annotations

import math
import warnings
from typing import Any, Final

from dovetail.dtypes import INTEGRAL
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, DTypeError
from dovetail.frontend.export import torch_name
from dovetail.ops import cross_entropy as classes
from dovetail.ops import loss as ops
from dovetail.ops import softmax as s
from dovetail.ops.compare import ne
from dovetail.ops.create import full as filled_with
from dovetail.ops.primitive import cast, lt, reduce_max, reduce_sum, where
from dovetail.ops.reduce import mean, sum
from dovetail.ops.view import reshape, unsqueeze

_PLAIN: Final[dict[str, Any]] = {"method": False, "out": False}
_REDUCTIONS: Final = ("none", "mean", "sum")


def reduced(op: str, losses: Tensor, reduction: str) -> Tensor:
    """The mean or the sum of losses, or themselves."""
    if reduction == "mean":
        return mean(losses)
    if reduction == "sum":
        return sum(losses)
    _check_reduction(op, reduction)
    return losses


def _check_reduction(op: str, reduction: str) -> None:
    if reduction not in _REDUCTIONS:
        raise ArgumentError(
            op, "reduction", was=repr(reduction), needed=f"one of {_REDUCTIONS}"
        )


def _same_size(op: str, input: Tensor, target: Tensor) -> None:
    """Warn where sizes differ and would broadcast, as torch does."""
    if input._a.shape != target._a.shape:
        warnings.warn(
            f"{op}: Using a target size ({tuple(target._a.shape)}) that is different "
            f"to the input size ({tuple(input._a.shape)}): they will be broadcast",
            stacklevel=3,
        )


def _require_size(op: str, input: Tensor, target: Tensor) -> None:
    if input._a.shape != target._a.shape:
        raise ArgumentError(
            op, "target", was=f"of shape {tuple(target._a.shape)}",
            needed=f"{tuple(input._a.shape)}, the same size as input",
        )  # fmt: skip


# ---- losses over classes


def _check_labels(op: str, input: Tensor, target: Tensor) -> None:
    if target.dtype not in INTEGRAL:
        raise DTypeError(
            op, "target",
            was=f"of dtype {target.dtype.name}, shape {tuple(target.shape)}",
            needed=f"classes as int64, [n, ...] for an input of {tuple(input.shape)}"
            ": expected scalar type Long",
            remedy="cast it with .long(), without NaN, which is no class",
        )  # fmt: skip


@torch_name("nll_loss", **_PLAIN)
def nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, *,
    ignore_index: int = -100, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Minus the log probabilities `input` of the classes `target`."""
    _check_reduction("nll_loss", reduction)
    _check_labels("nll_loss", input, target)
    y: Tensor = classes.nll_loss(input, target, weight, ignore_index, reduction)
    return y


@torch_name("cross_entropy", **_PLAIN)
def cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, *,
    ignore_index: int = -100, reduction: str = "mean", label_smoothing: float = 0.0,
) -> Tensor:  # fmt: skip
    """Minus the log probabilities that the logits `input` give to `target`.

    Args:
        target: classes, or probabilities in the shape of `input`.
        label_smoothing: how much of the target is spread over all classes.
    """
    if reduction not in _REDUCTIONS:
        _check_reduction("cross_entropy", reduction)
    if not 0.0 <= label_smoothing <= 1.0:
        raise ArgumentError(
            "cross_entropy", "label_smoothing", was=label_smoothing, needed="0.0 to 1.0"
        )
    if target._kind.dtype.is_floating_point and target._a.shape == input._a.shape:
        return _soft_cross_entropy(input, target, weight, reduction, label_smoothing)
    _check_labels("cross_entropy", input, target)
    if label_smoothing == 0.0:
        return classes.cross_entropy(input, target, weight, ignore_index, reduction)[0]
    return _smoothed(input, target, weight, ignore_index, reduction, label_smoothing)


def _refuse_nan(op: str, target: Tensor) -> None:
    """Raise for a label that is NaN; waits for the values."""
    if target._kind.backend.rules_only or not math.prod(target._a.shape):
        return
    if reduce_max(ne(target, target), None).item():
        raise ArgumentError(
            op, "target", was="NaN in at least one place", needed="probabilities",
            remedy="leave out samples without a label, e.g. by a mask",
        )  # fmt: skip


def _soft_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None, reduction: str, eps: float
) -> Tensor:
    """With probabilities as the target; the mean is over samples."""
    dim = classes.class_dim(input.ndim)
    count = input.shape[dim]
    _refuse_nan("cross_entropy", target)
    if eps:
        target = target * (1 - eps) + eps / count
    terms = _log_probabilities(input, weight) * target
    losses: Tensor = -reduce_sum(terms, dim)
    if reduction == "none":
        return losses
    total: Tensor = sum(losses)
    if reduction == "sum":
        return total
    return total / (math.prod(input.shape) / count if count else math.nan)


def _log_probabilities(input: Tensor, weight: Tensor | None) -> Tensor:
    """Log probabilities times their class's weight."""
    dim = classes.class_dim(input.ndim)
    logp: Tensor = s.log_softmax(input, dim)
    if weight is None:
        return logp
    return logp * reshape(weight, (-1, *(1,) * (input.ndim - dim - 1)))


def _smoothed(
    input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int,
    reduction: str, eps: float,
) -> Tensor:  # fmt: skip
    """Part of the target spread evenly (Szegedy et al. 2015, section 7)."""
    dim = classes.class_dim(input.ndim)
    logp = s.log_softmax(input, dim)
    hard = classes.nll_loss(logp, target, weight, ignore_index, reduction)
    counted = ne(target, ignore_index)
    spread = where(counted, -reduce_sum(_log_probabilities(input, weight), dim), 0)
    if reduction != "none":
        spread = sum(spread)
    if reduction == "mean":
        used = cast(counted, input.dtype)
        if weight is not None:
            used = used * weight[where(counted, target, 0)]
        spread = spread / sum(used)
    smoothed: Tensor = hard * (1 - eps) + spread * (eps / input.shape[dim])
    return smoothed


# ---- losses of elements


@torch_name("mse_loss", **_PLAIN)
def mse_loss(input: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    """Squared differences."""
    _same_size("mse_loss", input, target)
    return reduced("mse_loss", ops.squared_error(input, target), reduction)


@torch_name("l1_loss", **_PLAIN)
def l1_loss(input: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    """Absolute differences."""
    _same_size("l1_loss", input, target)
    return reduced("l1_loss", (input - target).abs(), reduction)


@torch_name("smooth_l1_loss", **_PLAIN)
def smooth_l1_loss(
    input: Tensor, target: Tensor, *, reduction: str = "mean", beta: float = 1.0
) -> Tensor:
    """Half the squared difference over `beta` up to there, then linear."""
    if beta < 0:
        raise ArgumentError("smooth_l1_loss", "beta", was=beta, needed="not negative")
    _same_size("smooth_l1_loss", input, target)
    losses = ops.smooth_l1(input, target, beta)
    return reduced("smooth_l1_loss", losses, reduction)


@torch_name("huber_loss", **_PLAIN)
def huber_loss(
    input: Tensor, target: Tensor, *, reduction: str = "mean", delta: float = 1.0
) -> Tensor:
    """Half the squared difference up to `delta`, then linear (Huber 1964)."""
    if delta <= 0:
        raise ArgumentError("huber_loss", "delta", was=delta, needed="greater than 0")
    _same_size("huber_loss", input, target)
    losses = ops.smooth_l1(input, target, delta) * delta
    return reduced("huber_loss", losses, reduction)


@torch_name("binary_cross_entropy", **_PLAIN)
def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, *,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Minus the log probability of `target` where `input` is that of one."""
    _require_size("binary_cross_entropy", input, target)
    losses = ops.binary_cross_entropy(input, target)
    if weight is not None:
        losses = losses * weight
    return reduced("binary_cross_entropy", losses, reduction)


@torch_name("binary_cross_entropy_with_logits", **_PLAIN)
def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, *,
    reduction: str = "mean", pos_weight: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """binary_cross_entropy of sigmoid(input), exact where that would round."""
    op = "binary_cross_entropy_with_logits"
    _require_size(op, input, target)
    losses = ops.binary_cross_entropy_with_logits(input, target, pos_weight)
    if weight is not None:
        losses = losses * weight
    return reduced(op, losses, reduction)


@torch_name("kl_div", **_PLAIN)
def kl_div(
    input: Tensor, target: Tensor, *, reduction: str = "mean", log_target: bool = False
) -> Tensor:
    """The divergence of `target` from the log probabilities `input`.

    The reduction "batchmean" divides the sum by the first size, as the mathematics
    has it; "mean" divides by the number of elements.
    """
    losses = ops.kl_div(input, target, log_target)
    if reduction == "batchmean":
        total: Tensor = sum(losses)
        return total / input.shape[0] if input.ndim else total
    return reduced("kl_div", losses, reduction)


@torch_name("poisson_nll_loss", **_PLAIN)
def poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: bool = True, full: bool = False, *,
    eps: float = 1e-8, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """rate - target log(rate), of a Poisson variable; `full` adds Stirling's term."""
    if log_input:
        losses = input.exp() - target * input
    else:
        losses = input - target * (input + eps).log()
    if full:
        large = target > 1
        safe = where(large, target, 1.0)
        stirling = safe * safe.log() - safe + 0.5 * (2 * math.pi * safe).log()
        losses = losses + where(large, stirling, 0.0)
    return reduced("poisson_nll_loss", losses, reduction)


@torch_name("gaussian_nll_loss", **_PLAIN)
def gaussian_nll_loss(
    input: Tensor, target: Tensor, var: Tensor | float, full: bool = False,
    eps: float = 1e-6, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """(log var + (input - target)² / var) / 2, with a variance of at least `eps`.

    Gradients ignore that floor.
    """
    spread = _variance(input, var)
    floor = spread + (spread.detach().clamp(min=eps) - spread.detach())
    losses = 0.5 * (floor.log() + ops.squared_error(input, target) / floor)
    if full:
        losses = losses + 0.5 * math.log(2 * math.pi)
    return reduced("gaussian_nll_loss", losses, reduction)


def _variance(input: Tensor, var: Tensor | float) -> Tensor:
    """One variance an element, or one a row of the last dim."""
    v: Tensor = var if isinstance(var, Tensor) else filled_with((), var, input._kind)
    if v.ndim == input.ndim - 1 and tuple(v.shape) == tuple(input.shape)[:-1]:
        v = unsqueeze(v, -1)
    if bool(lt(v, 0).any()):
        raise ArgumentError(
            "gaussian_nll_loss", "var", was="negative somewhere", needed="0 or more"
        )
    return v
