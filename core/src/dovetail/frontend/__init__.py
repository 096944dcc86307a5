"""torch's names and semantics over the vocabulary."""

from __future__ import annotations

from typing import Any

from dovetail.frontend import (  # noqa: F401
    autograd,
    conv,
    copying,
    create,
    devices,
    dlpack,
    elementwise,
    index,
    indexing,
    matmul,
    nn,
    order,
    pool,
    printing,
    properties,
    random,
    random_fill,
    random_mask,
    ranks,
    reduce,
    shape,
    statistics,
    streams,
)
from dovetail.frontend.export import NAMES
from dovetail.ops import dunders  # noqa: F401

globals().update(NAMES)


def __getattr__(name: str) -> Any:
    raise AttributeError(f"module 'dovetail.frontend' has no attribute {name!r}")
