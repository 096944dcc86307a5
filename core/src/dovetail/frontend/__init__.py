"""torch's names and semantics over the vocabulary."""

from __future__ import annotations

from typing import Any, Final

from dovetail.engine.declare import close
from dovetail.engine.public import NAMESPACES
from dovetail.frontend import (  # noqa: F401
    activation,
    complex,
    conv,
    create,
    distance,
    dropout,
    einstein,
    elementwise,
    generators,
    index,
    later,
    matmul,
    norm,
    order,
    pad,
    pool,
    predicates,
    quantile,
    random,
    random_fill,
    random_integers,
    random_mask,
    ranges,
    reduce,
    shape,
    softmax,
    statistics,
    tensor_call,
)
from dovetail.ops import families  # noqa: F401
from dovetail.tensor_api import (  # noqa: F401
    as_python,
    autograd,
    conversions,
    copying,
    devices,
    dlpack,
    index_writes,
    indexing,
    interchange,
    memory,
    printing,
    properties,
    streams,
    writes,
)

close()  # the vocabulary is whole
NAMES: Final = NAMESPACES["torch"]
globals().update(NAMES)


def __getattr__(name: str) -> Any:
    raise AttributeError(f"module 'dovetail.frontend' has no attribute {name!r}")
