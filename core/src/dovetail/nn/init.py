"""Filling tensors with starting values, in place and unrecorded.

Each function returns the tensor it filled. `generator` is where the random numbers
come from; None is the default generator of the tensor's device.
"""

# What the frontend offers is known by name at run time; these give it types.
from __future__ import annotations

import functools
import math
import typing as _typing
import warnings
from typing import Any

from dovetail.engine.missing_names import missing_name as _missing_name
from dovetail.engine.modes import no_grad
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError

_LINEAR = frozenset(
    ["linear", "sigmoid", "conv1d", "conv2d", "conv3d"]
    + [f"conv_transpose{n}d" for n in (1, 2, 3)]
)
_GAINS = {"tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4}


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor that keeps a signal's variance through `nonlinearity`.

    Args:
        nonlinearity: the name of a function in `nn.functional`.
        param: the slope of "leaky_relu", 0.01 if None.
    """
    if nonlinearity in _LINEAR:
        return 1.0
    if nonlinearity in _GAINS:
        return _GAINS[nonlinearity]
    if nonlinearity != "leaky_relu":
        raise ArgumentError(
            "calculate_gain", "nonlinearity", was=repr(nonlinearity),
            needed=f"leaky_relu or one of {', '.join(sorted({*_GAINS, *_LINEAR}))}",
        )  # fmt: skip
    slope = 0.01 if param is None else param
    if isinstance(slope, bool) or not isinstance(slope, int | float):
        raise ArgumentError("calculate_gain", "param", was=slope, needed="a number")
    return math.sqrt(2.0 / (1 + slope**2))


def uniform_(
    tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None
) -> Tensor:
    """Fill with values uniform from `a` to `b`."""
    with no_grad():
        y: Tensor = tensor.uniform_(a, b, generator=generator)
        return y


def normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None
) -> Tensor:
    """Fill with normal values.

    Examples:
        >>> nn.init.normal_(torch.empty(3, 5), std=0.02).shape
        dovetail.Size([3, 5])
    """
    with no_grad():
        y: Tensor = tensor.normal_(mean, std, generator=generator)
        return y


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Any = None,
) -> Tensor:
    """Fill with normal values, those outside `a` … `b` redrawn.

    By the inverse of the distribution function: a uniform draw between the two
    ends' probabilities.
    """

    def probability(x: float) -> float:
        return (1.0 + math.erf((x - mean) / std / math.sqrt(2.0))) / 2.0

    low, high = probability(a), probability(b)
    with no_grad():
        tensor.uniform_(2 * low - 1, 2 * high - 1, generator=generator)
        y: Tensor = tensor.erfinv_().mul_(std * math.sqrt(2.0)).add_(mean).clamp_(a, b)
        return y


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with `val`.

    Examples:
        >>> nn.init.constant_(torch.empty(2), 0.3)
        tensor([0.3000, 0.3000])
    """
    with no_grad():
        y: Tensor = tensor.fill_(val)
        return y


def ones_(tensor: Tensor) -> Tensor:
    """Fill with ones."""
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill with zeros.

    Examples:
        >>> nn.init.zeros_(torch.empty(2))
        tensor([0., 0.])
    """
    return constant_(tensor, 0.0)


def eye_(tensor: Tensor) -> Tensor:
    """Fill a matrix with ones on the diagonal and zeros elsewhere."""
    if tensor.ndim != 2:
        raise ArgumentError(
            "init.eye_", "tensor", was=f"{tensor.ndim}-dimensional",
            needed="2 dimensions",
        )  # fmt: skip
    with no_grad():
        tensor.zero_().diagonal().fill_(1)
    return tensor


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Fill uniformly, keeping variance forwards and backwards (Glorot & Bengio 2010).

    The bound is `gain * sqrt(6 / (fan_in + fan_out))`.

    Examples:
        >>> w = nn.init.xavier_uniform_(torch.empty(12, 12))
        >>> w.abs().max().item() <= 0.5
        True
    """
    bound = gain * math.sqrt(6.0 / sum(_calculate_fan_in_and_fan_out(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Fill normally, keeping variance forwards and backwards (Glorot & Bengio 2010)."""
    std = gain * math.sqrt(2.0 / sum(_calculate_fan_in_and_fan_out(tensor)))
    return normal_(tensor, 0.0, std, generator)


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> Tensor:
    """Fill uniformly, keeping variance through rectifiers (He et al. 2015).

    Args:
        a: the slope of "leaky_relu".
        mode: "fan_in" keeps it in the forward pass, "fan_out" in the backward.
        nonlinearity: what follows; "relu" or "leaky_relu".

    Examples:
        >>> w = nn.init.kaiming_uniform_(torch.empty(16, 24), nonlinearity="relu")
        >>> w.abs().max().item() <= 0.5
        True
    """
    if tensor.numel() == 0:
        return tensor
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> Tensor:
    """Fill normally, keeping variance through rectifiers (He et al. 2015).

    Examples:
        >>> w = nn.init.kaiming_normal_(torch.empty(1000, 200))
        >>> abs(w.std().item() - 0.1) < 0.01
        True
    """
    if tensor.numel() == 0:
        return tensor
    return normal_(tensor, 0.0, _kaiming_std(tensor, a, mode, nonlinearity), generator)


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    fan = _calculate_correct_fan(tensor, mode)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    """The inputs ("fan_in") or outputs ("fan_out") that one element takes part in."""
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ArgumentError(
            "init", "mode", was=repr(mode), needed="'fan_in' or 'fan_out'"
        )
    return _calculate_fan_in_and_fan_out(tensor)[mode == "fan_out"]


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """How many inputs each output has, and how many outputs each input."""
    if tensor.ndim < 2:
        raise ArgumentError(
            "init", "tensor", was=f"{tensor.ndim}-dimensional, {tuple(tensor.shape)}",
            needed="2 dimensions or more, to have a fan in and a fan out",
        )  # fmt: skip
    outputs, inputs, *window = tensor.shape
    field = math.prod(window)
    return inputs * field, outputs * field


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill so that a convolution returns as many of its channels as it can.

    Args:
        tensor: [out, in, *window] of one to three spatial axes.
        groups: of the convolution; they divide out.

    Examples:
        >>> nn.init.dirac_(torch.empty(1, 1, 3))
        tensor([[[0., 1., 0.]]])
    """
    if tensor.ndim not in (3, 4, 5):
        raise ArgumentError(
            "init.dirac_", "tensor", was=f"{tensor.ndim}-dimensional",
            needed="3, 4 or 5 dimensions",
        )  # fmt: skip
    outputs, inputs, *window = tensor.shape
    if outputs % groups:
        raise ArgumentError(
            "init.dirac_", "groups", was=groups, needed=f"a divisor of {outputs}"
        )
    each = outputs // groups
    middle = tuple(n // 2 for n in window)
    with no_grad():
        tensor.zero_()
        for group in range(groups):
            for i in range(min(each, inputs)):
                tensor[(group * each + i, i, *middle)] = 1
    return tensor


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Any = None) -> Tensor:
    """Fill with a matrix whose rows or columns are orthonormal (arXiv:1312.6120).

    Args:
        tensor: of 2 dims or more, of which all but the first count as one.
        gain: what it is multiplied by.

    Examples:
        >>> w = nn.init.orthogonal_(torch.empty(3, 5))
        >>> torch.allclose(w @ w.T, torch.eye(3), atol=1e-5)
        True
    """
    if tensor.ndim < 2:
        raise ArgumentError(
            "init.orthogonal_", "tensor", was=f"{tensor.ndim}-dimensional",
            needed="2 dimensions or more",
        )  # fmt: skip
    if not tensor.numel():
        return tensor
    rows = tensor.shape[0]
    with no_grad():
        flat = tensor.new_empty((rows, tensor.numel() // rows))
        flat.normal_(0, 1, generator=generator)
        wide = rows < flat.shape[1]
        q, r = (flat.T if wide else flat).qr()
        q = q * r.diagonal().sign()
        q = q.T if wide else q
        tensor.view_as(tensor).copy_(q.reshape(tensor.shape))
        tensor.mul_(gain)
    return tensor


def sparse_(
    tensor: Tensor, sparsity: float, std: float = 0.01, generator: Any = None
) -> Tensor:
    """Fill a matrix normally, with a part of each column being zero (Martens 2010).

    Args:
        sparsity: how much of each column is zero.
    """
    if tensor.ndim != 2:
        raise ArgumentError(
            "init.sparse_", "tensor", was=f"{tensor.ndim}-dimensional",
            needed="2 dimensions",
        )  # fmt: skip
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    with no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(columns):
            order = tensor.new_empty((rows,)).uniform_(generator=generator).argsort()
            tensor[order[:zeros], column] = 0
    return tensor


def _by_its_old_name(function: Any) -> Any:
    """A function under its name without the underscore, which warns."""
    new = function.__name__

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        warnings.warn(
            f"nn.init.{new[:-1]} is deprecated in favor of nn.init.{new}",
            FutureWarning,
            stacklevel=2,
        )
        return function(*args, **kwargs)

    call.__name__ = call.__qualname__ = new[:-1]
    call.__doc__ = f"`{new}` by its old name; warns."
    return call


uniform = _by_its_old_name(uniform_)
normal = _by_its_old_name(normal_)
constant = _by_its_old_name(constant_)
eye = _by_its_old_name(eye_)
dirac = _by_its_old_name(dirac_)
xavier_uniform = _by_its_old_name(xavier_uniform_)
xavier_normal = _by_its_old_name(xavier_normal_)
kaiming_uniform = _by_its_old_name(kaiming_uniform_)
kaiming_normal = _by_its_old_name(kaiming_normal_)
orthogonal = _by_its_old_name(orthogonal_)
sparse = _by_its_old_name(sparse_)

# Names of torch's that are not public, and that programs call.
_no_grad_uniform_ = uniform_
_no_grad_normal_ = normal_
_no_grad_trunc_normal_ = trunc_normal_
_no_grad_fill_ = constant_
_no_grad_zero_ = zeros_

if not _typing.TYPE_CHECKING:
    __getattr__ = _missing_name(__name__)
