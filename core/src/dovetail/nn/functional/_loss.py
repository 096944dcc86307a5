"""Losses of elements under torch's names and signatures."""

from __future__ import annotations

import math
import warnings
from typing import Any

from dovetail.engine.checks import at_hand
from dovetail.engine.level_hooks import of_all_rows
from dovetail.engine.public import public
from dovetail.engine.tensor import Tensor
from dovetail.errors import (
    ArgumentError,
    ArgumentTypeError,
    DeviceError,
    DTypeError,
    ShapeError,
)
from dovetail.nn.functional._reduction import Losses, loss, reduced, reduction_of
from dovetail.ops import loss as ops
from dovetail.ops.create import full
from dovetail.ops.primitive import lt, where
from dovetail.ops.sums import sum
from dovetail.ops.view import unsqueeze


def _weighted(op: str, losses: Tensor, input: Tensor, weight: Tensor | None) -> Losses:
    """Losses whose mean is over the sum of their weights."""
    if weight is None:
        return losses
    _require_weights(op, input, weight)
    return losses * weight, weight


def _require_weights(op: str, input: Tensor, weight: Tensor) -> None:
    if weight._a.shape != input._a.shape:
        raise ArgumentError(
            op, "weight", was=f"of shape {tuple(weight.shape)}",
            needed=f"{tuple(input.shape)}: Weights and input must have the same size",
        )  # fmt: skip


def _warn_of_broadcast(op: str, input: Tensor, target: Tensor) -> None:
    """Warn where sizes differ and would broadcast, as torch does.

    Raises:
        DeviceError: they are on different devices; a number is broadcast on its own.
    """
    if input._a.shape != target._a.shape:
        if input.device != target.device:
            raise DeviceError(
                op, "target", was=f"on {target.device}",
                needed=f"{input.device}, where input is",
                remedy=f'move it with .to("{input.device}")',
            )  # fmt: skip
        warnings.warn(
            f"{op}: Using a target size ({tuple(target._a.shape)}) that is different "
            f"to the input size ({tuple(input._a.shape)}): they will be broadcast",
            stacklevel=5,
        )


def _require_size(op: str, input: Tensor, target: Tensor) -> None:
    if input._a.shape != target._a.shape:
        raise ArgumentError(
            op, "target", was=f"of shape {tuple(target._a.shape)}",
            needed=f"{tuple(input._a.shape)}, the same size as input",
        )  # fmt: skip


@loss("mse_loss", after="target")
def mse_loss(input: Tensor, target: Tensor, weight: Tensor | None = None) -> Losses:
    """Squared differences; with `weight`, each times its weight.

    Args:
        input: [...] numbers.
        target: as `input`; other sizes broadcast, with a warning.
        reduction: "mean" (with weights, the sum over that of the weights), "sum" or
            "none", which gives [...].

    Raises: ArgumentError for another reduction.

    Examples:
        >>> import dovetail
        >>> x = dovetail.tensor([1.0, 2.0])
        >>> dovetail.nn.functional.mse_loss(x, dovetail.zeros(2))
        tensor(2.5000)
    """
    _warn_of_broadcast("mse_loss", input, target)
    return _weighted("mse_loss", ops.squared_error(input, target), input, weight)


@loss("l1_loss", after="target", autocast="float32")
def l1_loss(input: Tensor, target: Tensor, weight: Tensor | None = None) -> Losses:
    """Absolute differences; shapes, weights and reductions as in `mse_loss`."""
    _warn_of_broadcast("l1_loss", input, target)
    return _weighted("l1_loss", (input - target).abs(), input, weight)


@loss("smooth_l1_loss", after="target")
def smooth_l1_loss(input: Tensor, target: Tensor, beta: float = 1.0) -> Losses:
    """Half the squared difference over `beta` up to there, then linear.

    Girshick 2015, arXiv:1504.08083, equation 3; `beta` is 0 or more.
    """
    _warn_of_broadcast("smooth_l1_loss", input, target)
    return ops.smooth_l1_loss(input, target, beta)


@loss("huber_loss", after="target", old=False)
def huber_loss(
    input: Tensor, target: Tensor, delta: float = 1.0, weight: Tensor | None = None
) -> Losses:
    """Half the squared difference up to a positive `delta`, then linear (Huber 1964).

    Shapes and reductions as in `mse_loss`.

    Args:
        weight: factors in the shape of `input`; a mean is over the elements' number.
    """
    if delta <= 0:
        raise ArgumentError("huber_loss", "delta", was=delta, needed="greater than 0")
    _warn_of_broadcast("huber_loss", input, target)
    losses = ops.smooth_l1_loss(input, target, delta) * delta
    if weight is None:
        return losses
    _require_weights("huber_loss", input, weight)
    return losses * weight


def _require_fractions(op: str, **tensors: Tensor) -> None:
    """Raise for values outside [0, 1], where they are at hand."""
    for name, x in tensors.items():
        values = at_hand(x)
        if values is not None and not ((values >= 0) & (values <= 1)).all():
            raise ArgumentError(
                op, name, was="outside: all elements should be between 0 and 1",
                needed="values from 0 to 1", remedy="use sigmoid() or clamp()",
            )  # fmt: skip


def _require_expanding(
    op: str, input: Tensor, weight: Tensor | None, name: str = "weight"
) -> None:
    """Raise for weights that would make more losses than there are elements.

    Raises:
        ShapeError: they do not expand to the shape of the input.
    """
    if weight is None:
        return
    whole, own = tuple(input.shape), tuple(weight.shape)
    expands = zip(reversed(own), reversed(whole), strict=False)
    if len(own) > len(whole) or any(n not in (1, m) for n, m in expands):
        raise ShapeError(
            op, name, was=f"of shape {own}",
            needed=f"one that expands to {whole}, that of input",
        )  # fmt: skip


@loss("binary_cross_entropy")
def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None
) -> Losses:
    """Minus the log probability of `target` where `input` is that of one.

    Args:
        input: [...] probabilities.
        target: [...] from 0 to 1.
        weight: factors for each element.
    """
    _require_size("binary_cross_entropy", input, target)
    _require_expanding("binary_cross_entropy", input, weight)
    _require_fractions("binary_cross_entropy", input=input, target=target)
    losses = ops.binary_cross_entropy(input, target)
    return losses if weight is None else losses * weight


@loss("binary_cross_entropy_with_logits", after="weight")
def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None,
    pos_weight: Tensor | None = None,
) -> Losses:  # fmt: skip
    """`binary_cross_entropy` of `sigmoid(input)`, exact where that would round.

    Args:
        weight: factors for each element.
        pos_weight: factors for the part of each element where `target` is one.

    >>> F.binary_cross_entropy_with_logits(torch.zeros(2), torch.ones(2))
    tensor(0.6931)
    """
    _require_size("binary_cross_entropy_with_logits", input, target)
    _require_expanding("binary_cross_entropy_with_logits", input, weight)
    _require_expanding(
        "binary_cross_entropy_with_logits", input, pos_weight, "pos_weight"
    )
    losses = ops.binary_cross_entropy_with_logits(input, target, pos_weight)
    return losses if weight is None else losses * weight


@public("F.kl_div")
def kl_div(
    input: Tensor, target: Tensor, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean", log_target: bool = False,
) -> Tensor:  # fmt: skip
    """The divergence of `target` from the log probabilities `input`.

    The reduction "batchmean" divides the sum by the first size, as the mathematics
    has it (Kullback & Leibler 1951); "mean" divides by the number of elements.

    Args:
        log_target: `target` has log probabilities, too.
    """
    for name, x in (("input", input), ("target", target)):
        if not x.dtype.is_inexact:
            raise DTypeError(
                "kl_div", name, was=x.dtype.name,
                needed="floats: Integral inputs not supported",
            )  # fmt: skip
    losses = ops.kl_div(input, target, log_target)
    if reduction == "batchmean":
        total: Tensor = sum(losses)
        return total / input.shape[0] if input.ndim else total
    return reduced(losses, reduction_of("kl_div", reduction, size_average, reduce))


@public("F.poisson_nll_loss", autocast="float32")
def poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: bool = True, full: bool = False,
    size_average: bool | None = None, eps: float = 1e-8, reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """rate - target log(rate), of a Poisson variable; `full` adds Stirling's term.

    Args:
        input: [...] rates, or with `log_input` their logarithms.
        eps: added to rates of which a logarithm is taken.
    """
    if log_input:
        losses = input.exp() - target * input
    else:
        losses = input - target * (input + eps).log()
    if full:
        large = target > 1
        safe = where(large, target, 1.0)
        stirling = safe * safe.log() - safe + 0.5 * (2 * math.pi * safe).log()
        losses = losses + where(large, stirling, 0.0)
    how = reduction_of("poisson_nll_loss", reduction, size_average, reduce)
    return reduced(losses, how)


@loss("gaussian_nll_loss", old=False, autocast="none")
def gaussian_nll_loss(
    input: Tensor, target: Tensor, var: Tensor | float, full: bool = False,
    eps: float = 1e-6,
) -> Losses:  # fmt: skip
    """(log var + (input - target)² / var) / 2, with a variance of at least `eps`.

    Gradients ignore that floor (Nix & Weigend 1994).

    Args:
        var: one an element, one a row of the last dim, or one for all.
        full: add log(2π) / 2.
    """
    spread = _variance(input, var)
    floor = spread + (spread.detach().clamp(min=eps) - spread.detach())
    losses = 0.5 * (floor.log() + ops.squared_error(input, target) / floor)
    return losses + 0.5 * math.log(2 * math.pi) if full else losses


def _variance(input: Tensor, var: Any) -> Tensor:
    """One variance an element, or the same along some dims."""
    if not isinstance(var, Tensor | float):
        raise ArgumentTypeError(
            "gaussian_nll_loss", "var", was=repr(var), needed="a tensor or a float"
        )
    v: Tensor = var if isinstance(var, Tensor) else full((), var, input._kind)
    if v.ndim == input.ndim - 1 and tuple(v.shape) == tuple(input.shape)[:-1]:
        v = unsqueeze(v, -1)
    whole, own = tuple(input.shape), tuple(v.shape)
    fits = v.ndim == input.ndim or not isinstance(var, Tensor)
    fits = fits and all(o in (1, w) for o, w in zip(own, whole, strict=False))
    if not fits:
        raise ArgumentError(
            "gaussian_nll_loss", "var", was=f"of shape {own}",
            needed=f"{whole}, or 1 where it is the same along a dim",
        )  # fmt: skip
    if bool(of_all_rows(lt(v, 0)).any()):
        raise ArgumentError(
            "gaussian_nll_loss", "var", was="negative somewhere", needed="0 or more"
        )
    return v
