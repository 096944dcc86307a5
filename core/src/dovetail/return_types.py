"""The types of results with fields, by the names of the functions that give them.

>>> import dovetail as dt
>>> found = dt.tensor([3.0, 1.0, 2.0]).sort()
>>> found.values, found.indices
(tensor([1., 2., 3.]), tensor([1, 2, 0]))
"""

from __future__ import annotations

from typing import Any

from dovetail.engine.op import vocabulary
from dovetail.engine.return_types import RETURN_TYPES


def __getattr__(name: str) -> Any:
    if name not in RETURN_TYPES:
        vocabulary.complete()
    if name not in RETURN_TYPES and name in vocabulary:
        vocabulary[name].form(vocabulary[name].outputs)
    if name in RETURN_TYPES:
        return RETURN_TYPES[name]
    raise AttributeError(f"module 'dovetail.return_types' has no attribute {name!r}")
