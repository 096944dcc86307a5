"""Batch normalisation."""

from __future__ import annotations

from typing import Any, ClassVar

from dovetail import frontend as ft
from dovetail.dtypes import int64
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, NotSupported

from . import functional as F
from .affine import add_affine, reset_affine
from .module import Module


class _NormBase(Module):
    """What is normalised by channel has: weight and bias, and running statistics."""

    _version = 2
    allowed_dims: ClassVar[tuple[int, ...]]

    weight: Tensor | None
    bias: Tensor | None
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        add_affine(self, num_features, affine, affine and bias, device, dtype)
        kind = {"device": device, "dtype": dtype}
        tracked = track_running_stats
        self.register_buffer(
            "running_mean", ft.zeros(num_features, **kind) if tracked else None
        )
        self.register_buffer(
            "running_var", ft.ones(num_features, **kind) if tracked else None
        )
        count = self._no_batches(device) if tracked else None
        self.register_buffer("num_batches_tracked", count)

    @staticmethod
    def _no_batches(device: Any) -> Tensor:
        """The count of batches before the first one."""
        count: Tensor = ft.zeros((), dtype=int64, device=device)
        return count

    def reset_running_stats(self) -> None:
        """Forget what was tracked: mean 0, variance 1."""
        if self.running_mean is not None and self.running_var is not None:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            if self.num_batches_tracked is not None:
                self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Weight one, bias zero, nothing tracked."""
        self.reset_running_stats()
        reset_affine(self)

    def _check_input_dim(self, input: Tensor) -> None:
        if input.ndim not in self.allowed_dims:
            allowed = " or ".join(map(str, self.allowed_dims))
            raise ArgumentError(
                type(self).__name__, "input",
                was=f"{input.ndim}-dimensional, {tuple(input.shape)}",
                needed=f"{allowed} dimensions",
            )  # fmt: skip

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, "
            f"affine={self.affine}, bias={self.bias is not None}, "
            f"track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        version = local_metadata.get("version")
        key = f"{prefix}num_batches_tracked"
        count = self.num_batches_tracked
        if (version is None or version < 2) and count is not None:
            state_dict.setdefault(key, ft.zeros_like(count))  # as before PyTorch 0.4.1
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict,
            missing_keys, unexpected_keys, error_msgs,
        )  # fmt: skip


class _BatchNorm(_NormBase):
    """Normalises each channel over the batch (Ioffe & Szegedy 2015, arXiv:1502.03167).

    In training with the batch's mean and variance, which also move the running ones;
    in eval mode with the running ones.

    Args:
        num_features: channels.
        eps: what is added to the variance.
        momentum: how far the running statistics move; None keeps their plain mean.
        affine: whether weight and bias are learned.
        track_running_stats: without, the batch's statistics are used in eval mode too.
        bias: whether an affine layer has a bias.

    Shape:
        [n, num_features, *spatial], the same out

    Attributes:
        weight, bias: [num_features], ones and zeros at first.
        running_mean, running_var: [num_features]; the variance is the unbiased one.
        num_batches_tracked: how many batches moved them.
    """

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        mean, var = self.running_mean, self.running_var
        factor = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats:
            if self.num_batches_tracked is not None:
                self.num_batches_tracked.add_(1)
                if self.momentum is None:  # waits for the device
                    factor = 1.0 / float(self.num_batches_tracked.item())
        elif self.training:
            mean = var = None
        by_batch = self.training or (mean is None and var is None)
        return F.batch_norm(
            input, mean, var, self.weight, self.bias, by_batch, factor, self.eps
        )


class BatchNorm1d(_BatchNorm):
    """`_BatchNorm` of [n, c] or [n, c, l].

    Examples:
        >>> m = nn.BatchNorm1d(4)
        >>> m(torch.randn(8, 4)).mean(0).abs().max().item() < 1e-5
        True
        >>> m.num_batches_tracked
        tensor(1)
    """

    allowed_dims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """`_BatchNorm` of images [n, c, h, w].

    Examples:
        >>> nn.BatchNorm2d(3)(torch.randn(8, 3, 5, 5)).shape
        dovetail.Size([8, 3, 5, 5])
    """

    allowed_dims = (4,)


class BatchNorm3d(_BatchNorm):
    """`_BatchNorm` of volumes [n, c, d, h, w]."""

    allowed_dims = (5,)


class SyncBatchNorm(_BatchNorm):
    """Batch normalisation over the processes of a group, of which there is one.

    Args:
        process_group: of several processes; not there yet, only None.

    Shape:
        [n, num_features, *spatial], the same out
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype,
            bias=bias,
        )  # fmt: skip
        if process_group is not None:
            raise NotSupported(
                "SyncBatchNorm", "process_group", was=repr(process_group), needed="None"
            )
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.ndim < 2:
            raise ArgumentError(
                "SyncBatchNorm", "input", was=f"{input.ndim}-dimensional",
                needed="2 dimensions or more",
            )  # fmt: skip

    @classmethod
    def convert_sync_batchnorm(
        cls, module: Module, process_group: Any = None
    ) -> Module:
        """The module with its batch norms replaced by `SyncBatchNorm`."""
        made = module
        if isinstance(module, _BatchNorm) and not isinstance(module, cls):
            made = cls(
                module.num_features, module.eps, module.momentum, module.affine,
                module.track_running_stats, process_group,
            )  # fmt: skip
            made._parameters.update(module._parameters)
            made._buffers.update(module._buffers)
            made.train(module.training)
        for name, child in module.named_children():
            made.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return made
