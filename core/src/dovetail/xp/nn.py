"""Kernels of networks: softmax, losses over classes, normalisation, attention."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail.device_api.kernels import KernelTable
from dovetail.dtypes import FLOAT, HALF
from dovetail.xp import class_loss, norm, softmax
from dovetail.xp.attention import become_weights
from dovetail.xp.orders import in_rows


def install(table: KernelTable, xp: Any) -> None:
    """Add softmax, normalisations, losses and attention to a table."""
    softmax.install(table, xp)
    class_loss.install(table, xp)
    norm.install(table, xp)
    table.add("attention", in_rows(_attention(xp)), dtypes=FLOAT - HALF)


def _attention(xp: Any) -> Callable[..., Any]:
    def attention(q: Any, k: Any, v: Any, mask: Any, causal: bool, scale: float) -> Any:
        p = xp.matmul(q * q.dtype.type(scale), k.swapaxes(-2, -1))
        if mask is not None:
            p = xp.add(p, mask, out=p) if _fits(mask.shape, p.shape) else p + mask
        if causal:
            xp.copyto(
                p, p.dtype.type(-xp.inf), where=~xp.tri(*p.shape[-2:], dtype=bool)
            )
        if p.size:
            become_weights(xp, p)
        return xp.matmul(p, v), p

    return attention


def _fits(shape: tuple[int, ...], into: tuple[int, ...]) -> bool:
    """Whether an array of one shape broadcasts to another."""
    pairs = zip(shape[::-1], into[::-1], strict=False)
    return len(shape) <= len(into) and all(n in (1, m) for n, m in pairs)
