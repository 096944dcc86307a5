"""Pooling, which the frontend has under torch's names and signatures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail import frontend as ft
from dovetail.engine.tensor import Tensor
from dovetail.frontend import pool

adaptive_avg_pool1d: Callable[..., Tensor] = ft.adaptive_avg_pool1d
adaptive_avg_pool2d: Callable[..., Tensor] = ft.adaptive_avg_pool2d
adaptive_avg_pool3d: Callable[..., Tensor] = ft.adaptive_avg_pool3d
adaptive_max_pool1d: Callable[..., Any] = ft.adaptive_max_pool1d
adaptive_max_pool2d: Callable[..., Any] = ft.adaptive_max_pool2d
adaptive_max_pool3d: Callable[..., Any] = ft.adaptive_max_pool3d
avg_pool1d: Callable[..., Tensor] = ft.avg_pool1d
avg_pool2d: Callable[..., Tensor] = ft.avg_pool2d
avg_pool3d: Callable[..., Tensor] = ft.avg_pool3d
max_pool1d: Callable[..., Any] = ft.max_pool1d
max_pool2d: Callable[..., Any] = ft.max_pool2d
max_pool3d: Callable[..., Any] = ft.max_pool3d
fold: Callable[..., Tensor] = pool.fold
unfold: Callable[..., Tensor] = pool.unfold
