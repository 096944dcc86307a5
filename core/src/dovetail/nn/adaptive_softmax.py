"""Softmax over many classes, of which frequent ones are cheap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from dovetail import frontend as ft
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ShapeError

from . import functional as F
from .containers import ModuleList, Sequential
from .linear import Linear
from .module import Module


class _ASMoutput(NamedTuple):
    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log probabilities of classes in clusters (Grave et al. 2017, arXiv:1609.04309).

    Classes are numbered by falling frequency. The first ones have logits of their own,
    each of the others in a cluster, whose weights are the narrower the rarer it is.

    Args:
        in_features: width of the input.
        n_classes: how many classes.
        cutoffs: where clusters start, rising.
        div_value: by what the width falls from one cluster to the next.
        head_bias: whether the head has a bias.

    Shape:
        [n, in_features] or [in_features] and targets [n] or [] -> log probabilities of
        the targets in the same shape, and minus their mean
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        starts = list(cutoffs)
        if (
            not starts
            or any(int(c) != c for c in starts)
            or starts != sorted(set(starts))
            or starts[0] <= 0
            or starts[-1] > n_classes - 1
        ):
            raise ArgumentError(
                "AdaptiveLogSoftmaxWithLoss", "cutoffs", was=starts,
                needed=f"rising ints from 1 to {n_classes - 1}",
            )  # fmt: skip
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*starts, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        kind = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, head_bias, **kind)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            width = int(in_features // div_value ** (i + 1))
            size = self.cutoffs[i + 1] - self.cutoffs[i]
            narrow = Linear(in_features, width, False, **kind)
            self.tail.append(Sequential(narrow, Linear(width, size, False, **kind)))

    def reset_parameters(self) -> None:
        """Draw the weights anew."""
        self.head.reset_parameters()
        for cluster in self.tail:
            for layer in cluster.children():
                layer.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        single = target_.ndim == 0
        if target_.ndim not in (0, 1) or input_.ndim != target_.ndim + 1:
            raise ShapeError(
                "AdaptiveLogSoftmaxWithLoss", "target_",
                was=f"of shape {tuple(target_.shape)}",
                needed=f"one class for each row of {tuple(input_.shape)}",
            )  # fmt: skip
        x = input_.unsqueeze(0) if single else input_
        target = target_.unsqueeze(0) if single else target_
        if x.shape[0] != target.shape[0]:
            raise ShapeError(
                "AdaptiveLogSoftmaxWithLoss", "target_", was=f"{target.shape[0]} rows",
                needed=f"{x.shape[0]}: Input and target should have the same size in "
                "the batch dimension",
            )  # fmt: skip
        found = self._of_targets(x, target)
        loss = (-found).mean()
        return _ASMoutput(found.squeeze(0) if single else found, loss)

    def _of_targets(self, x: Tensor, target: Tensor) -> Tensor:
        """The log probability of each row's target."""
        within = (target >= 0) & (target < self.n_classes)
        if not bool(within.all().item()):
            raise ArgumentError(
                "AdaptiveLogSoftmaxWithLoss", "target_", was="no class somewhere",
                needed=f"0 to {self.n_classes - 1}",
            )  # fmt: skip
        head = F.log_softmax(self.head(x), 1)
        short = target.clamp(max=self.shortlist_size - 1).unsqueeze(1)
        found: Tensor = head.gather(1, short).squeeze(1)
        for i, (low, high) in enumerate(
            zip(self.cutoffs, self.cutoffs[1:], strict=False)
        ):
            rows = ((target >= low) & (target < high)).nonzero().squeeze(1)
            if not rows.numel():
                continue
            inner = F.log_softmax(self.tail[i](x.index_select(0, rows)), 1)
            place = (target.index_select(0, rows) - low).unsqueeze(1)
            own = inner.gather(1, place).squeeze(1)
            cluster = head[:, self.shortlist_size + i].index_select(0, rows)
            found = found.index_copy(0, rows, own + cluster)
        return found

    def log_prob(self, input: Tensor) -> Tensor:
        """Log probabilities of all classes: [n, in_features] -> [n, n_classes]."""
        head = F.log_softmax(self.head(input), 1)
        parts = [head[:, : self.shortlist_size]]
        for i, cluster in enumerate(self.tail):
            own = head[:, self.shortlist_size + i].unsqueeze(1)
            parts.append(F.log_softmax(cluster(input), 1) + own)
        joined: Tensor = ft.cat(parts, 1)
        return joined

    def predict(self, input: Tensor) -> Tensor:
        """The most probable class of each row."""
        best: Tensor = self.log_prob(input).argmax(1)
        return best
