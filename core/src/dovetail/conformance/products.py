"""Products of matrices whose sums are made in other ways, all of them right.

A sum whose terms leave the format on their way is what its order makes of them: NaN,
an infinity of either sign, or a number. A body that goes on from there, as attention
does from scores, gives as many results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from dovetail.dtypes import Array

Product = Callable[[Array, Array], Array]
_WIDER: Final[dict[str, Any]] = {
    "float16": np.float32, "bfloat16": np.float32, "float32": np.float64,
    "float64": np.longdouble, "complex64": np.complex128,
    "complex128": np.clongdouble,
}  # fmt: skip


def rounded_once(a: Array, b: Array) -> Array:
    """Sums in a wider format, which are rounded at their end."""
    wide = _WIDER[a.dtype.name]
    return np.asarray(np.matmul(a.astype(wide), b.astype(wide)).astype(a.dtype))


def fused_in_order(a: Array, b: Array) -> Array:
    """Term after term is multiplied and added in one rounding, as processors do."""
    return _fused(a, b, range(a.shape[-1]))


def fused_in_reverse(a: Array, b: Array) -> Array:
    """So, from the last term on."""
    return _fused(a, b, range(a.shape[-1])[::-1])


def _fused(a: Array, b: Array, order: Sequence[int]) -> Array:
    wide = _WIDER[a.dtype.name]
    # Half formats are added up in float32.
    kept = np.float32 if a.dtype.itemsize == 2 else a.dtype
    left, right = a.astype(wide), b.astype(wide)
    total = np.zeros((*a.shape[:-1], b.shape[-1]), kept)
    for k in order:
        terms = left[..., :, k, None] * right[..., None, k, :]
        total = (total.astype(wide) + terms).astype(kept)
    return total.astype(a.dtype)


MANNERS: Final[tuple[Product, ...]] = (rounded_once, fused_in_order, fused_in_reverse)
