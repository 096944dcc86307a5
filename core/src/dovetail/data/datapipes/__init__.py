"""Datapipes: datasets made of others, one step after another (torch.utils.data).

`iter` has steps of items one after another, `map` of items by number; both are also
methods of pipes. They load when asked for.
"""

import typing as _typing
from importlib import import_module as _import_module

from dovetail.engine.missing_names import missing_name as _missing_name

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

_missing = _missing_name(__name__)


def _loaded(name: str) -> _typing.Any:
    if name in {"iter", "map"}:
        return _import_module(f"{__name__}.{name}")
    return _missing(name)


if not _typing.TYPE_CHECKING:
    __getattr__ = _loaded
