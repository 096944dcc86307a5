"""Datapipes: datasets made of others, one step after another (torch.utils.data).

`iter` has steps of items one after another, `map` of items by number; both are also
methods of pipes. They load when asked for.
"""

from .datapipe import DataChunk, DFIterDataPipe, IterDataPipe, MapDataPipe
from .decorators import (
    argument_validation,
    functional_datapipe,
    guaranteed_datapipes_determinism,
    non_deterministic,
    runtime_validation,
    runtime_validation_disabled,
)

__all__ = [
    "DFIterDataPipe", "DataChunk", "IterDataPipe", "MapDataPipe",
    "argument_validation", "functional_datapipe", "guaranteed_datapipes_determinism",
    "non_deterministic", "runtime_validation", "runtime_validation_disabled",
]  # fmt: skip
