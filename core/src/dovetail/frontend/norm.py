"""Normalisations: torch's signatures over `ops/norm.py`."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dovetail.dtypes import HALF, float32
from dovetail.engine.inplace import inplace
from dovetail.engine.modes import no_grad
from dovetail.engine.public import public
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, DTypeError, ShapeError
from dovetail.frontend.views import existing_dim
from dovetail.limits import finfo
from dovetail.ops import layer_norm as layer
from dovetail.ops import norm as ops
from dovetail.ops import rms_norm as rms
from dovetail.ops.elementwise import lerp
from dovetail.ops.formats import clone
from dovetail.ops.primitive import cast
from dovetail.ops.view import reshape


@public(
    "torch.layer_norm F.layer_norm", plain=layer.layer_norm,
    takes=("input", "normalized_shape", "weight", "bias", "eps"),
)  # fmt: skip
def layer_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None,
    bias: Tensor | None = None, eps: float = 1e-05,
) -> Tensor:  # fmt: skip
    """Mean 0 and variance 1 over the last dims (Ba et al. 2016, arXiv:1607.06450).

    Args:
        input: [..., *normalized_shape] floats.
        weight, bias: [*normalized_shape], to scale and shift the result.
        eps: added to the variance, which is the biased one.

    Raises: ShapeError where the last dims have not `normalized_shape`.

    Examples:
        >>> import dovetail
        >>> F = dovetail.nn.functional
        >>> F.layer_norm(dovetail.tensor([1.0, 3.0, 5.0, 7.0]), (4,))
        tensor([-1.3416, -0.4472,  0.4472,  1.3416])
    """
    wide = _wide("layer_norm", input, weight=weight, bias=bias)
    y = layer.layer_norm(wide, weight, bias, tuple(normalized_shape), eps)
    return y if wide is input else cast(y, input.dtype)


def _wide(name: str, x: Tensor, **parameters: Tensor | None) -> Tensor:
    """The input in float32, where it has 16 bits and the parameters have 32.

    So it is computed, and the result is rounded to the input's format, as in torch.

    Raises:
        DTypeError: parameters have another dtype than the input otherwise, or each
            other.
    """
    given = {n: t.dtype for n, t in parameters.items() if t is not None}
    if set(given.values()) <= {x.dtype}:
        return x
    mixed = x.dtype in HALF
    for argument, dtype in given.items():
        if dtype is not (float32 if mixed else x.dtype):
            other = f", {float32.name}" if mixed else ""
            raise DTypeError(
                name, argument, was=f"{dtype.name} beside an input of {x.dtype.name}",
                needed=f"{x.dtype.name}{other}: mixed dtype (CPU): all parameters are "
                "of one dtype", remedy="cast one of them with .to(dtype)",
            )  # fmt: skip
    return cast(x, float32)


@public("torch.rms_norm F.rms_norm")
def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:  # fmt: skip
    """Root mean square 1 over the last dims (Zhang & Sennrich 2019, arXiv:1910.07467).

    Args:
        input: [..., *normalized_shape] floats.
        weight: [*normalized_shape], to scale the result.
        eps: added to the mean square; the format's own unless given.
    """
    sizes = None if weight is None else weight._a.shape
    dims = layer.last_dims(
        "rms_norm", tuple(input._a.shape), tuple(normalized_shape), sizes
    )
    epsilon = finfo(input.dtype).eps if eps is None else eps
    if input.dtype.is_complex:
        # torch takes squares as they are, not those of absolute values
        y = input * ((input * input).mean(dims, keepdim=True) + epsilon).rsqrt()
        return y if weight is None else y * weight
    y = rms.rms_norm(input, weight, dims, epsilon)[0]
    return y if y.dtype is input.dtype else cast(y, input.dtype)


@public("torch.group_norm F.group_norm")
def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None,
    bias: Tensor | None = None, eps: float = 1e-05,
) -> Tensor:  # fmt: skip
    """Mean 0 and variance 1 over groups of channels (Wu & He 2018, arXiv:1803.08494).

    Args:
        input: [n, channels, ...] floats.
        num_groups: a divisor of the channels.
        weight, bias: [channels].
    """
    size = tuple(input._a.shape)
    if len(size) < 2 or num_groups < 1 or size[1] % num_groups:
        raise ShapeError(
            "group_norm", "num_groups",
            was=f"{num_groups} for an input of shape {size}",
            needed="a divisor of the number of channels (dim 1)",
        )  # fmt: skip
    n, channels = size[:2]
    _check_affine("group_norm", channels, weight, bias)
    rest = math.prod(size[2:])
    wide = _wide("group_norm", input, weight=weight, bias=bias)
    grouped = reshape(wide, (n, num_groups, channels // num_groups, rest))
    y, *_ = ops.normalise(
        grouped, _grouped(weight, num_groups), _grouped(bias, num_groups), (2, 3), eps
    )
    y = reshape(y, size)
    return y if wide is input else cast(y, input.dtype)


def _grouped(w: Tensor | None, groups: int) -> Tensor | None:
    return None if w is None else reshape(w, (groups, w.shape[0] // groups, 1))


def _check_affine(op: str, channels: int, *weights: Tensor | None) -> None:
    for w in weights:
        if w is not None and tuple(w._a.shape) != (channels,):
            raise ShapeError(
                op, "weight or bias", was=f"of shape {tuple(w._a.shape)}",
                needed=f"({channels},), one for each channel",
            )  # fmt: skip


@public("F.instance_norm")
def instance_norm(
    input: Tensor, running_mean: Tensor | None = None,
    running_var: Tensor | None = None, weight: Tensor | None = None,
    bias: Tensor | None = None, use_input_stats: bool = True, momentum: float = 0.1,
    eps: float = 1e-05,
) -> Tensor:  # fmt: skip
    """Mean 0 and variance 1 over each channel of each sample (Ulyanov et al. 2016).

    Raises: ArgumentError without running statistics where the input's are not used.
    """
    size = tuple(input._a.shape)
    if not use_input_stats:
        if running_mean is None or running_var is None:
            missing = "running_mean" if running_mean is None else "running_var"
            raise ArgumentError(
                "instance_norm", missing, was=None, needed="a tensor: Expected "
                "running_mean and running_var to be defined when use_input_stats is "
                "false",
            )  # fmt: skip
        existing_dim("instance_norm", input, 1)
        return batch_norm(
            input, running_mean, running_var, weight, bias, False, 0.0, eps
        )
    if (running_mean is None) is not (running_var is None):
        raise ArgumentError(
            "instance_norm", "running_mean" if running_mean is None else "running_var",
            was=None, needed="a tensor, or both None",
        )  # fmt: skip
    if len(size) < 3 or math.prod(size[2:]) == 1:
        raise ArgumentError(
            "instance_norm", "input", was=f"of shape {size}",
            needed="more than 1 spatial element when training",
        )  # fmt: skip
    _check_affine("instance_norm", size[1], running_mean, running_var, weight, bias)
    if weight is not None and 0 in size[:2]:
        raise ArgumentError(
            "instance_norm", "input", was=f"of shape {size}",
            needed="a sample and a channel, where there is a weight",
        )  # fmt: skip
    wide = _wide(
        "instance_norm", input, weight=weight, bias=bias, running_mean=running_mean,
        running_var=running_var,
    )  # fmt: skip
    dims = tuple(range(2, len(size)))
    w, b = _by_channel(weight, len(size)), _by_channel(bias, len(size))
    y, mean, var, _ = ops.normalise(wide, w, b, dims, eps)
    if running_mean is not None and running_var is not None:
        count = math.prod(size[2:])
        _track(running_mean, running_var, mean, var, count, momentum)
    return y if wide is input else cast(y, input.dtype)


@public("F.batch_norm")
def batch_norm(
    input: Tensor, running_mean: Tensor | None, running_var: Tensor | None,
    weight: Tensor | None = None, bias: Tensor | None = None, training: bool = False,
    momentum: float = 0.1, eps: float = 1e-05,
) -> Tensor:  # fmt: skip
    """Mean 0 and variance 1 for each channel (Ioffe & Szegedy 2015, algorithm 1).

    In training with the batch's own statistics, by which the running ones move by
    `momentum` (the variance without bias); else with the running ones.

    Args:
        input: [n, channels, ...] floats.
        running_mean, running_var: [channels]; needed outside of training.
        weight, bias: [channels].

    Raises: ArgumentError in training with one value a channel, or without `eps`.
    """
    if eps < 0.0 or (training and eps == 0.0):
        needed = "a positive number" if training else "0 or more"
        raise ArgumentError("batch_norm", "eps", was=eps, needed=needed)
    size = tuple(input._a.shape)
    if size == (0,) and all(w is None or w.numel() for w in (weight, bias)):
        return clone(input)  # of no elements there is nothing to normalise
    if len(size) < 2:
        raise ShapeError(
            "batch_norm", "input", was=f"of shape {size}", needed="[n, channels, ...]"
        )
    _check_affine("batch_norm", size[1], running_mean, running_var, weight, bias)
    if not size[1] and weight is not None:
        raise ShapeError(
            "batch_norm", "weight", was="of no channels", needed="one channel or more"
        )
    wide = _wide(
        "batch_norm", input, weight=weight, bias=bias, running_mean=running_mean,
        running_var=running_var,
    )  # fmt: skip
    w, b = _by_channel(weight, len(size)), _by_channel(bias, len(size))
    result: Tensor
    if not training:
        if running_mean is None or running_var is None:
            raise ArgumentError(
                "batch_norm", "running_mean and running_var", was="None",
                needed="both in evaluation: Expected running_mean to be defined",
            )  # fmt: skip
        mean = _by_channel(running_mean, len(size))
        var = _by_channel(running_var, len(size))
        result = ops.normalise_by(wide, mean, var, w, b, eps)
        return result if wide is input else cast(result, input.dtype)
    dims = (0, *range(2, len(size)))
    count = math.prod(size) // max(size[1], 1)
    if count == 1:
        raise ArgumentError(
            "batch_norm", "input", was=f"one value per channel, {size}",
            needed="more than one in training", remedy="call .eval() or batch more",
        )  # fmt: skip
    y, mean, var, _ = ops.normalise(wide, w, b, dims, eps)
    if running_mean is not None and running_var is not None:
        _track(running_mean, running_var, mean, var, count, momentum)
    result = y
    return result if wide is input else cast(result, input.dtype)


@public("torch.batch_norm")
def _batch_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None,
    running_mean: Tensor | None, running_var: Tensor | None, training: bool,
    momentum: float, eps: float, cudnn_enabled: bool,
) -> Tensor:  # fmt: skip
    """`nn.functional.batch_norm` with its arguments in another order."""
    return batch_norm(
        input, running_mean, running_var, weight, bias, training, momentum, eps
    )


@public("torch.instance_norm")
def _instance_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None,
    running_mean: Tensor | None, running_var: Tensor | None, use_input_stats: bool,
    momentum: float, eps: float, cudnn_enabled: bool,
) -> Tensor:  # fmt: skip
    """`nn.functional.instance_norm` with its arguments in another order."""
    return instance_norm(
        input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps
    )


def _by_channel(w: Tensor | None, ndim: int) -> Tensor | None:
    """A vector with an entry a channel, shaped to broadcast along dim 1."""
    if w is None or ndim == 2:
        return w
    return reshape(w, (-1, *(1,) * (ndim - 2)))


def _track(
    running_mean: Tensor, running_var: Tensor, mean: Tensor, var: Tensor, count: int,
    momentum: float,
) -> None:  # fmt: skip
    """Move running statistics towards the batch's, without a record on the tape."""
    if not count:
        return  # nothing was seen
    with no_grad():
        unbiased = var.detach() * (count / (count - 1) if count > 1 else math.nan)
        for running, new in ((running_mean, mean.detach()), (running_var, unbiased)):
            channels = running._a.shape[0]
            rows = math.prod(new._a.shape) // max(channels, 1)
            batch = reshape(new, (rows, channels)).mean(0) if rows > 1 else new
            batch = reshape(batch, (channels,))
            inplace("batch_norm", lerp, running, batch, momentum)
