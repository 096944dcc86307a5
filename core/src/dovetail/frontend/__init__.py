"""torch's names and semantics over the vocabulary."""

from __future__ import annotations

from typing import Any, Final

from dovetail.engine.declare import close
from dovetail.engine.later import FUNCTIONS, load
from dovetail.engine.public import NAMESPACES
from dovetail.frontend import (  # noqa: F401
    activation,
    complex,
    create,
    dropout,
    elementwise,
    generators,
    index,
    later,
    matmul,
    norm,
    order,
    pad,
    predicates,
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
    properties,
    streams,
    writes,
)

close()  # the vocabulary is whole
NAMES: Final = NAMESPACES["torch"]
globals().update(NAMES)


def __getattr__(name: str) -> Any:
    """A function of a family that is not loaded yet."""
    if name not in FUNCTIONS:
        raise AttributeError(f"module 'dovetail.frontend' has no attribute {name!r}")
    load(FUNCTIONS[name])
    return NAMES[name]
