"""Kernels of oneDNN in front of others, for calls that are worth a primitive."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from dovetail.device_api import Kernel, KernelTable
from dovetail.dtypes import DType
from dovetail_cpu.generated_rows import bound_by_attributes
from dovetail_cpu.onednn.by_size import BySize, Served
from dovetail_cpu.onednn.library import SWITCH, why_not
from dovetail_cpu.onednn.makers import SERVES, large_matmul

LEAST: Final = 1 << 16
"""Products of numbers in a call from which on a primitive is made for its sizes, which
takes a millisecond."""

_NONE: Final[frozenset[DType]] = frozenset()
Array = np.ndarray[Any, Any]


def least_work() -> int:
    """`LEAST`, or the number that `DOVETAIL_ONEDNN` has."""
    chosen = os.environ.get(SWITCH, "")
    return int(chosen) if chosen.isdecimal() else LEAST


def install(table: KernelTable, plain: KernelTable) -> None:
    """Add the kernels of a table to another one, with oneDNN in front of some.

    Each stays one kernel, of the rank that it had: what a plug-in adds goes before it.
    """
    serve = SERVES if why_not() is None else {}
    least = least_work()
    for op in plain.names():
        for own in plain.rivals(op):
            options = own._asdict()
            for name in ("op", "function", "owner", "dtypes"):
                del options[name]
            dtypes, make = serve.get(op, (_NONE, None))
            served = own.dtypes & dtypes
            if make is not None and served:
                bind = _bound(make, own, least)
                table.add(op, bind, dtypes=served, **options | {"binds": True})
            if own.dtypes - served:
                table.add(op, own.function, dtypes=own.dtypes - served, **options)


def _bound(make: Served, own: Kernel, least: int) -> Callable[..., BySize]:
    def bind(**attributes: Any) -> BySize:
        small = bound_by_attributes(own, attributes)
        return BySize(make, small, attributes, least)

    return bind


def product() -> Served | None:
    """Products of large matrices and of batches of small ones, of float32; None where
    there is no oneDNN.

    It takes two arrays, and a row that is added to each of the first one's, or None. It
    gives None where BLAS is as good, which takes half a microsecond for each matrix.
    """
    if why_not() is not None:
        return None
    serves = BySize(large_matmul, lambda *_: None, {}, least_work())

    def served(a: Array, b: Array, row: Array | None) -> Any:
        return serves(a, b, row) if a.dtype.char == b.dtype.char == "f" else None

    return served
