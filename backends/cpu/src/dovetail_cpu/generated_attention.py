"""Generated kernels for attention of several heads, or of long sequences."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

from dovetail.codegen.runtime.blas import blas
from dovetail.device_api import Kernel
from dovetail.errors import NotSupported

LEAST: Final = 1 << 18
"""Multiplications from which on a kernel takes less time than NumPy's calls."""
ATTENTION: Final = frozenset({"mixture", "mixture_backward"})

Array = np.ndarray[Any, Any]


def bind(own: Kernel, least: int) -> Callable[..., Any]:
    """What binds a kernel that asks for the size first, in front of another one.

    Args:
        least: multiplications.
    """
    forward = own.op == "mixture"

    def bound(causal: bool) -> Any:
        small = partial(own.function, causal=causal)

        def mixture(q: Array, k: Array, v: Array, mask: Any, scale: float) -> Any:
            y = None
            if _fit(q, k, v, least) and _takes(mask, q, k, causal):
                y = _large("forward", q, k, v, mask, causal, scale)
            return small(q, k, v, mask, scale=scale) if y is None else y

        def gradient(
            ct: Array, q: Array, k: Array, v: Array, mask: Any, scale: float
        ) -> Any:
            found = None
            if _fit(q, k, v, least) and _takes(mask, q, k, causal):
                found = _large("backward", ct, q, k, v, mask, causal, scale)
            return small(ct, q, k, v, mask, scale=scale) if found is None else found

        return mixture if forward else gradient

    return bound


def _fit(q: Array, k: Array, v: Array, least: int) -> bool:
    """Whether these are batches of one shape, and worth a kernel."""
    lead, (length, width) = q.shape[:-2], q.shape[-2:]
    (keys, own), depth = k.shape[-2:], v.shape[-1]
    if k.shape[:-2] != lead or v.shape[:-2] != lead or own != width:
        return False
    work = math.prod(lead) * length * keys * (width + depth)
    return work >= least and bool(width and depth) and v.shape[-2] == keys


def _takes(mask: Array | None, q: Array, k: Array, causal: bool) -> bool:
    """Whether there is no mask, or one that is repeated to the shape of scores."""
    if mask is None:
        return True
    shape = (*q.shape[:-1], k.shape[-2])
    ends = zip(reversed(mask.shape), reversed(shape), strict=False)
    fits = mask.ndim <= len(shape) and all(n in (1, whole) for n, whole in ends)
    return fits and not causal and mask.ndim > 1 and mask.dtype == q.dtype


def _large(which: str, *arrays_and_numbers: Any) -> Any:
    # With LLVM's text and mathematics: nothing that a small program needs.
    from dovetail.codegen import eager_attention

    if blas() is None:
        return None
    try:
        return getattr(eager_attention, which)(*arrays_and_numbers)
    except NotSupported:
        return None
