"""Losses that are minus a log likelihood, or a divergence of distributions."""

from __future__ import annotations

from typing import Any

from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError

from . import functional as F
from .functional._reduction import reduction_of
from .loss import _Loss
from .module import Module


class KLDivLoss(Module):
    """The divergence of the target from the log probabilities of the input.

    Args:
        reduction: "batchmean" too, which is the divergence of the mathematics.
        log_target: whether the target has log probabilities, too.

    Examples:
        >>> logp = torch.tensor([[0.5, 0.5]]).log()
        >>> nn.KLDivLoss(reduction="batchmean")(logp, torch.tensor([[1.0, 0.0]]))
        tensor(0.6931)
    """

    def __init__(
        self,
        size_average: Any = None,
        reduce: Any = None,
        reduction: str = "mean",
        log_target: bool = False,
    ) -> None:
        super().__init__()
        if reduction != "batchmean":
            reduction = reduction_of("KLDivLoss", reduction, size_average, reduce)
        self.reduction = reduction
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.kl_div(
            input, target, reduction=self.reduction, log_target=self.log_target
        )


class PoissonNLLLoss(_Loss):
    """Minus the log likelihood of a Poisson variable.

    Args:
        log_input: whether the input is the rate's logarithm.
        full: whether Stirling's term is added.
        eps: what is added to rates of which a logarithm is taken.
    """

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        size_average: Any = None,
        eps: float = 1e-8,
        reduce: Any = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_input = log_input
        self.full = full
        self.eps = eps

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        return F.poisson_nll_loss(
            log_input, target, log_input=self.log_input, full=self.full, eps=self.eps,
            reduction=self.reduction,
        )  # fmt: skip


class GaussianNLLLoss(_Loss):
    """Minus the log likelihood of a Gaussian variable.

    Args:
        full: whether the constant log(2π) / 2 is added.
        eps: the least variance.
    """

    def __init__(
        self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
    ) -> None:
        super().__init__(reduction=reduction)
        self.full = full
        self.eps = eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        return F.gaussian_nll_loss(
            input, target, var, full=self.full, eps=self.eps, reduction=self.reduction
        )


class CTCLoss(_Loss):
    """Minus the log probability of label sequences (Graves et al. 2006).

    Args:
        blank: the class that stands for no label.
        zero_infinity: whether infinite losses, of targets that do not fit into
            their input, count as zero.

    Shape:
        log probabilities [t, n, classes], targets [n, s] or all of them in one
        vector, lengths of inputs [n], lengths of targets [n]
    """

    def __init__(
        self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False
    ) -> None:
        super().__init__(reduction=reduction)
        if blank < 0:
            raise ArgumentError("CTCLoss", "blank", was=blank, needed="0 or more")
        self.blank = blank
        self.zero_infinity = zero_infinity

    def forward(
        self, log_probs: Tensor, targets: Tensor, input_lengths: Any,
        target_lengths: Any,
    ) -> Tensor:  # fmt: skip
        return F.ctc_loss(
            log_probs, targets, input_lengths, target_lengths, self.blank,
            self.reduction, self.zero_infinity,
        )  # fmt: skip
