"""Activations; `nn.functional` has the mathematics."""

from __future__ import annotations

import warnings
from typing import Any

from dovetail import frontend as ft
from dovetail.engine.modes import no_grad
from dovetail.engine.tensor import Parameter, Tensor
from dovetail.errors import ArgumentError

from . import functional as F
from .layer import FunctionLayer, layer
from .module import Module


@layer(F.sigmoid)
class Sigmoid(FunctionLayer):
    """`1 / (1 + exp(-x))`."""


@layer(F.tanh)
class Tanh(FunctionLayer):
    """The hyperbolic tangent."""


@layer(F.logsigmoid)
class LogSigmoid(FunctionLayer):
    """The logarithm of the sigmoid, without its rounding."""


@layer(F.softsign)
class Softsign(FunctionLayer):
    """`x / (1 + |x|)`."""


@layer(F.tanhshrink)
class Tanhshrink(FunctionLayer):
    """`x - tanh(x)`."""


@layer(F.relu)
class ReLU(FunctionLayer):
    """The larger of the input and zero.

    Examples:
        >>> nn.ReLU()(torch.tensor([-1.0, 2.0]))
        tensor([0., 2.])
    """

    inplace: bool = False


@layer(F.silu)
class SiLU(FunctionLayer):
    """`x * sigmoid(x)`, also called swish (Elfwing et al. 2017, arXiv:1702.03118).

    Examples:
        >>> nn.SiLU()(torch.tensor([-1.0, 2.0]))
        tensor([-0.2689,  1.7616])
    """

    inplace: bool = False


@layer(F.mish)
class Mish(FunctionLayer):
    """`x * tanh(softplus(x))` (Misra 2019, arXiv:1908.08681)."""

    inplace: bool = False


@layer(F.selu)
class SELU(FunctionLayer):
    """`ELU`, scaled so that signals keep their variance (arXiv:1706.02515)."""

    inplace: bool = False


@layer(F.hardsigmoid)
class Hardsigmoid(FunctionLayer):
    """`relu6(x + 3) / 6`."""

    inplace: bool = False


@layer(F.hardswish)
class Hardswish(FunctionLayer):
    """`x * hardsigmoid(x)` (Howard et al. 2019, arXiv:1905.02244)."""

    inplace: bool = False


@layer(F.elu)
class ELU(FunctionLayer):
    """`x`, and `alpha * (exp(x) - 1)` below zero (arXiv:1511.07289)."""

    alpha: float = 1.0
    inplace: bool = False


@layer(F.celu)
class CELU(FunctionLayer):
    """`ELU` with a continuous derivative (Barron 2017, arXiv:1704.07483)."""

    alpha: float = 1.0
    inplace: bool = False


@layer(F.leaky_relu)
class LeakyReLU(FunctionLayer):
    """`x`, times `negative_slope` below zero."""

    negative_slope: float = 0.01
    inplace: bool = False


@layer(F.threshold)
class Threshold(FunctionLayer):
    """`x` where it is above `threshold`, else `value`."""

    threshold: float
    value: float
    inplace: bool = False


@layer(F.gelu)
class GELU(FunctionLayer):
    """`x` times the normal distribution function of `x` (arXiv:1606.08415).

    Args:
        approximate: "none", or "tanh" for the paper's approximation.

    Examples:
        >>> nn.GELU()(torch.tensor([-1.0, 2.0]))
        tensor([-0.1587,  1.9545])
    """

    approximate: str = "none"


@layer(F.softplus)
class Softplus(FunctionLayer):
    """`log(1 + exp(beta * x)) / beta`, and `x` where `beta * x` is over `threshold`."""

    beta: float = 1.0
    threshold: float = 20.0


@layer(F.hardshrink, named=False)
class Hardshrink(FunctionLayer):
    """`x`, and zero where `|x|` is at most `lambd`."""

    lambd: float = 0.5


@layer(F.softshrink, named=False)
class Softshrink(FunctionLayer):
    """`x` moved towards zero by `lambd`, as far as zero."""

    lambd: float = 0.5


@layer(F.softmax)
class Softmax(FunctionLayer):
    """Exponentials along `dim`, scaled to sum to one.

    Examples:
        >>> nn.Softmax(dim=1)(torch.zeros(1, 4))
        tensor([[0.2500, 0.2500, 0.2500, 0.2500]])
    """

    dim: int | None = None


@layer(F.softmin)
class Softmin(FunctionLayer):
    """`Softmax` of the negated input."""

    dim: int | None = None


@layer(F.log_softmax)
class LogSoftmax(FunctionLayer):
    """The logarithm of `Softmax`, without its rounding."""

    dim: int | None = None


@layer(F.glu)
class GLU(FunctionLayer):
    """Half of `x` along `dim`, times the sigmoid of the other (arXiv:1612.08083)."""

    dim: int = -1


class PReLU(Module):
    """`x`, times a learned slope below zero (He et al. 2015, arXiv:1502.01852).

    Args:
        num_parameters: one slope, or one for each channel.
        init: what the slopes start from.
    """

    weight: Tensor

    def __init__(
        self,
        num_parameters: int = 1,
        init: float = 0.25,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(ft.empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the slopes to `init`."""
        with no_grad():
            self.weight.fill_(self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


class Hardtanh(Module):
    """`x` clipped to `min_val` … `max_val`.

    Args:
        min_value, max_value: torch's old names of the first two.
    """

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__()
        if min_value is not None or max_value is not None:
            warnings.warn(
                "Hardtanh: min_value and max_value are deprecated; give min_val and "
                "max_val instead",
                FutureWarning,
                stacklevel=2,
            )
        self.min_val = min_val if min_value is None else min_value
        self.max_val = max_val if max_value is None else max_value
        self.inplace = inplace
        if not self.min_val < self.max_val:
            raise ArgumentError(
                "Hardtanh", "max_val", was=self.max_val, needed=f"> {self.min_val}"
            )

    def forward(self, input: Tensor) -> Tensor:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        end = ", inplace=True" if self.inplace else ""
        return f"min_val={self.min_val}, max_val={self.max_val}{end}"


class ReLU6(Hardtanh):
    """`x` clipped to 0 … 6."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class RReLU(Module):
    """`x`, times a slope below zero that is drawn anew in training (arXiv:1505.00853).

    Args:
        lower, upper: the bounds of the slopes, whose mean is the slope in eval mode.
    """

    def __init__(
        self, lower: float = 1 / 8, upper: float = 1 / 3, inplace: bool = False
    ) -> None:
        super().__init__()
        self.lower = lower
        self.upper = upper
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        end = ", inplace=True" if self.inplace else ""
        return f"lower={self.lower}, upper={self.upper}{end}"


class Softmax2d(Module):
    """`Softmax` over the channels of [n, c, h, w] or [c, h, w]."""

    def forward(self, input: Tensor) -> Tensor:
        if input.ndim not in (3, 4):
            raise ArgumentError(
                "Softmax2d", "input", was=f"{input.ndim}-dimensional",
                needed="3 or 4 dimensions",
            )  # fmt: skip
        return F.softmax(input, -3)
