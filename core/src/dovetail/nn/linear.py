"""Linear layers, and those that only reshape."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dovetail import frontend as ft
from dovetail.engine.tensor import Parameter, Tensor

from . import functional as F
from . import init
from .layer import FunctionLayer, layer
from .module import Module


class Identity(Module):
    """Returns its input; takes any arguments and ignores them.

    Examples:
        >>> nn.Identity(64, unused=True)(torch.ones(2))
        tensor([1., 1.])
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


class Linear(Module):
    """An affine map of the last axis: `x @ weight.T + bias`.

    Args:
        in_features: length of the last axis of the input.
        out_features: length of the last axis of the output.
        bias: whether anything is added.

    Shape:
        [..., in_features] -> [..., out_features]

    Attributes:
        weight: [out_features, in_features], from U(-1/sqrt(in_features), +…).
        bias: [out_features], the same distribution; None without.

    Examples:
        >>> import dovetail
        >>> layer = dovetail.nn.Linear(20, 30)
        >>> layer(dovetail.randn(128, 20)).shape
        dovetail.Size([128, 30])
    """

    in_features: int
    out_features: int
    weight: Tensor
    bias: Tensor | None

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        shape = (out_features, in_features)
        self.weight = Parameter(ft.empty(shape, device=device, dtype=dtype))
        add_bias(self, out_features if bias else None, device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias anew."""
        reset_weight_and_bias(self.weight, self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


def add_bias(module: Module, size: int | None, device: Any, dtype: Any) -> None:
    """Give a module an empty bias, or register that it has none."""
    if size is None:
        module.register_parameter("bias", None)
    else:
        module.bias = Parameter(ft.empty(size, device=device, dtype=dtype))


def reset_weight_and_bias(weight: Tensor, bias: Tensor | None) -> None:
    """Draw both from U(-1/sqrt(fan_in), +1/sqrt(fan_in)), as Linear and Conv do."""
    init.kaiming_uniform_(weight, a=math.sqrt(5))
    if bias is not None:
        fan_in, _ = init._calculate_fan_in_and_fan_out(weight)
        if fan_in > 0:
            bound = 1 / math.sqrt(fan_in)
            init.uniform_(bias, -bound, bound)


class Bilinear(Module):
    """A bilinear map: `x1 @ weight[k] @ x2 + bias[k]` for each output k.

    Args:
        in1_features: length of the last axis of the first input.
        in2_features: length of the last axis of the second input.
        out_features: length of the last axis of the output.
        bias: whether anything is added.

    Shape:
        [..., in1_features], [..., in2_features] -> [..., out_features]
    """

    weight: Tensor
    bias: Tensor | None

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        shape = (out_features, in1_features, in2_features)
        self.weight = Parameter(ft.empty(shape, device=device, dtype=dtype))
        add_bias(self, out_features if bias else None, device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias anew."""
        bound = 1 / math.sqrt(self.in1_features)
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )


@layer(Tensor.flatten)
class Flatten(FunctionLayer):
    """Joins the axes `start_dim` … `end_dim` into one.

    Shape:
        [n, *rest] -> [n, prod(rest)] with the defaults

    Examples:
        >>> nn.Flatten()(torch.ones(2, 3, 4)).shape
        dovetail.Size([2, 12])
    """

    start_dim: int = 1
    end_dim: int = -1


@layer(Tensor.unflatten)
class Unflatten(FunctionLayer):
    """Splits the axis `dim` into axes of the given lengths, one of which may be -1."""

    dim: int
    unflattened_size: Sequence[int]
