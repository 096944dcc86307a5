"""Convolutions, which the frontend has under torch's names and signatures."""

from __future__ import annotations

from collections.abc import Callable

from dovetail import frontend as ft
from dovetail.engine.tensor import Tensor

conv1d: Callable[..., Tensor] = ft.conv1d
conv2d: Callable[..., Tensor] = ft.conv2d
conv3d: Callable[..., Tensor] = ft.conv3d
conv_transpose1d: Callable[..., Tensor] = ft.conv_transpose1d
conv_transpose2d: Callable[..., Tensor] = ft.conv_transpose2d
conv_transpose3d: Callable[..., Tensor] = ft.conv_transpose3d
