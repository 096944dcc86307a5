"""Custom autograd functions under autocast."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from dovetail import dtypes
from dovetail.amp.autocast_mode import (
    autocast,
    get_autocast_dtype,
    is_autocast_enabled,
)
from dovetail.dtypes import DType
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentTypeError


def custom_fwd(
    fwd: Callable[..., Any] | None = None,
    *,
    device_type: str,
    cast_inputs: DType | None = None,
) -> Callable[..., Any]:
    """Decorate the `forward` of a custom Function for use under autocast.

    Args:
        fwd: `forward`, whose first argument is the context.
        device_type: whose autocast counts.
        cast_inputs: what floating-point tensors are cast to under autocast, which is
            off within `fwd` then; None leaves both as they are.
    """
    _check("custom_fwd", device_type)
    if fwd is None:
        return functools.partial(
            custom_fwd, device_type=device_type, cast_inputs=cast_inputs
        )
    forward = fwd

    @functools.wraps(forward)
    def decorated(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        ctx._dtype = get_autocast_dtype(device_type)
        enabled = is_autocast_enabled(device_type)
        ctx._fwd_used_autocast = enabled and cast_inputs is None
        if not enabled or cast_inputs is None:
            return forward(ctx, *args, **kwargs)
        args, kwargs = _cast((args, kwargs), device_type, cast_inputs)
        with autocast(device_type, enabled=False):
            return forward(ctx, *args, **kwargs)

    return decorated


def custom_bwd(
    bwd: Callable[..., Any] | None = None, *, device_type: str
) -> Callable[..., Any]:
    """Decorate a custom Function's `backward`, which runs in its forward's autocast."""
    _check("custom_bwd", device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)
    backward = bwd

    @functools.wraps(backward)
    def decorated(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        with autocast(device_type, ctx._dtype, ctx._fwd_used_autocast):
            return backward(ctx, *args, **kwargs)

    return decorated


def _cast(value: Any, device_type: str, dtype: DType) -> Any:
    """Floating-point tensors of a device type, wherever they are, in a dtype."""
    if isinstance(value, Tensor):
        fits = value.is_floating_point() and value.device.type == device_type
        return value.to(dtype) if fits and value.dtype != dtypes.float64 else value
    if isinstance(value, Mapping):
        return {k: _cast(v, device_type, dtype) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_cast(v, device_type, dtype) for v in value)
    return value


def _check(name: str, device_type: Any) -> None:
    if not isinstance(device_type, str):
        raise ArgumentTypeError(
            name, "device_type", was=repr(device_type), needed='a string such as "cpu"'
        )
