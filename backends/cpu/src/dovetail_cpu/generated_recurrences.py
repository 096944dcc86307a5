"""Generated kernels for what goes from element to element along a dim."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from dovetail.device_api import Kernel
from dovetail_cpu.patience import patient

Array = np.ndarray[Any, Any]
_EARLY: Final = 5  # halvings of the least size: NumPy takes one after the other


def bind(own: Kernel, least: int) -> Callable[..., Any]:
    """What binds a kernel that asks for the size first, in front of another one."""
    return patient(own, max(least >> _EARLY, 1), RECURRENCES[own.op])


def _cumprod_backward(ct: Array, x: Array, y: Array, dim: int) -> Array | None:
    from dovetail.codegen.eager_recurrences import (
        slopes_of_products,  # with LLVM's text
    )

    if not ct.ndim or not ct.size:
        return None
    return slopes_of_products(ct, x, y, dim % ct.ndim)


RECURRENCES: Final[dict[str, Callable[..., Any]]] = {
    "cumprod_backward": _cumprod_backward
}
"""What serves large arrays, by the op; None of it where NumPy's kernel has to serve."""
