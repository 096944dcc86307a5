"""The formats of numbers: their categories and limits."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.dtypes import DType

BOOL, INT, FLOAT, COMPLEX = range(4)  # as `DType.category` has them


def limits(dtype: DType) -> Any:
    """NumPy's `finfo` or `iinfo` of a dtype, of ml_dtypes for bfloat16."""
    if dtype.category == INT:
        return np.iinfo(dtype.numpy)
    if dtype.name == "bfloat16":
        import ml_dtypes

        return ml_dtypes.finfo(dtype.numpy)  # type: ignore[no-untyped-call]
    return np.finfo(dtype.numpy)
