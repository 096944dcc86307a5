"""Modules made without starting values, and weights in other memory formats."""

from __future__ import annotations

from typing import Any

from ..conv import Conv2d, Conv3d, _ConvNd
from ..conv_transpose import ConvTranspose2d, ConvTranspose3d
from ..module import Module


def skip_init(module_cls: Any, *args: Any, **kwargs: Any) -> Any:
    """A module whose parameters have no starting values: they are arbitrary.

    Examples:
        >>> nn.utils.skip_init(nn.Linear, 5, 1)
        Linear(in_features=5, out_features=1, bias=True)
    """
    device = kwargs.pop("device", "cpu")
    return module_cls(*args, **kwargs, device="meta").to_empty(device=device)


def _converted(module: Module, kinds: tuple[type, ...], memory_format: Any) -> Module:
    for each in module.modules():
        if isinstance(each, kinds) and isinstance(each, _ConvNd):
            weight = each.weight
            weight.data = weight.detach().clone(memory_format=memory_format)
    return module


def convert_conv2d_weight_memory_format(module: Module, memory_format: Any) -> Module:
    """Have the weights of convolutions of images lie in a memory format."""
    return _converted(module, (Conv2d, ConvTranspose2d), memory_format)


def convert_conv3d_weight_memory_format(module: Module, memory_format: Any) -> Module:
    """Have the weights of convolutions of volumes lie in a memory format."""
    return _converted(module, (Conv3d, ConvTranspose3d), memory_format)
