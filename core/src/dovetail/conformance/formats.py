"""The formats of numbers: their categories and limits."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.dtypes import FLOAT8, DType, bfloat16

BOOL, INT, FLOAT, COMPLEX = range(4)  # as `DType.category` has them


def limits(dtype: DType) -> Any:
    """NumPy's `finfo` or `iinfo` of a dtype, ml_dtypes' where NumPy has none."""
    if dtype.category == INT:
        return np.iinfo(dtype.numpy)
    if dtype is bfloat16 or dtype in FLOAT8:
        import ml_dtypes

        return ml_dtypes.finfo(dtype.numpy)  # type: ignore[no-untyped-call]
    return np.finfo(dtype.numpy)
