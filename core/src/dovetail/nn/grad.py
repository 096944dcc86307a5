"""Gradients of convolutions, as functions of what came in: torch.nn.grad."""

from __future__ import annotations

import typing as _typing
from collections.abc import Callable, Sequence
from typing import Any

from dovetail.autograd import grad
from dovetail.engine.missing_names import missing_name as _missing_name
from dovetail.engine.modes import enable_grad, is_grad_enabled
from dovetail.engine.tensor import Tensor
from dovetail.nn import functional as F

Numbers = int | tuple[int, ...]


def _pulled(
    convolve: Callable[[Tensor], Tensor], like: Tensor, size: Sequence[int],
    grad_output: Tensor,
) -> Tensor:  # fmt: skip
    """What a cotangent of a convolution's result is for an operand of a size.

    A convolution is linear in each operand: what the operand is does not matter.
    """
    needed = is_grad_enabled() and (grad_output.requires_grad or like.requires_grad)
    with enable_grad():
        operand = like.detach().new_zeros(tuple(size)).requires_grad_()
        found: Any = grad(convolve(operand), operand, grad_output, create_graph=needed)
    result: Tensor = found[0]
    return result


def conv1d_input(
    input_size: Sequence[int], weight: Tensor, grad_output: Tensor,
    stride: Numbers = 1, padding: Numbers = 0, dilation: Numbers = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """The gradient of `conv1d` for its input, whose size is given."""

    def convolve(x: Tensor) -> Tensor:
        return F.conv1d(x, weight, None, stride, padding, dilation, groups)

    return _pulled(convolve, weight, input_size, grad_output)


def conv1d_weight(
    input: Tensor, weight_size: Sequence[int], grad_output: Tensor,
    stride: Numbers = 1, padding: Numbers = 0, dilation: Numbers = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """The gradient of `conv1d` for its weight, whose size is given."""

    def convolve(w: Tensor) -> Tensor:
        return F.conv1d(input, w, None, stride, padding, dilation, groups)

    return _pulled(convolve, input, weight_size, grad_output)


def conv2d_input(
    input_size: Sequence[int], weight: Tensor, grad_output: Tensor,
    stride: Numbers = 1, padding: Numbers = 0, dilation: Numbers = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """The gradient of `conv2d` for its input, whose size is given."""

    def convolve(x: Tensor) -> Tensor:
        return F.conv2d(x, weight, None, stride, padding, dilation, groups)

    return _pulled(convolve, weight, input_size, grad_output)


def conv2d_weight(
    input: Tensor, weight_size: Sequence[int], grad_output: Tensor,
    stride: Numbers = 1, padding: Numbers = 0, dilation: Numbers = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """The gradient of `conv2d` for its weight, whose size is given."""

    def convolve(w: Tensor) -> Tensor:
        return F.conv2d(input, w, None, stride, padding, dilation, groups)

    return _pulled(convolve, input, weight_size, grad_output)


def conv3d_input(
    input_size: Sequence[int], weight: Tensor, grad_output: Tensor,
    stride: Numbers = 1, padding: Numbers = 0, dilation: Numbers = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """The gradient of `conv3d` for its input, whose size is given."""

    def convolve(x: Tensor) -> Tensor:
        return F.conv3d(x, weight, None, stride, padding, dilation, groups)

    return _pulled(convolve, weight, input_size, grad_output)


def conv3d_weight(
    input: Tensor, weight_size: Sequence[int], grad_output: Tensor,
    stride: Numbers = 1, padding: Numbers = 0, dilation: Numbers = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """The gradient of `conv3d` for its weight, whose size is given."""

    def convolve(w: Tensor) -> Tensor:
        return F.conv3d(input, w, None, stride, padding, dilation, groups)

    return _pulled(convolve, input, weight_size, grad_output)


__all__ = [
    "conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input",
    "conv3d_weight",
]  # fmt: skip

if not _typing.TYPE_CHECKING:
    __getattr__ = _missing_name(__name__)
