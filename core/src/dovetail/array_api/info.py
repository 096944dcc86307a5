"""What the namespace can do, by the standard's inspection API."""

from __future__ import annotations

from typing import Any

from dovetail.array_api.kinds import of_kind
from dovetail.device import device as Device
from dovetail.device_api import registry
from dovetail.dtypes import DType, get_default_dtype, int64
from dovetail.frontend.create import empty


class Info:
    """What `__array_namespace_info__()` gives; lists are tuples from 2025.12 on."""

    def __init__(self, sequence: type) -> None:
        self._sequence = sequence

    def capabilities(self) -> dict[str, Any]:
        """What the standard leaves to libraries."""
        return {
            "boolean indexing": True,
            "data-dependent shapes": True,
            "max dimensions": 64,
        }

    def default_device(self) -> Device:
        """Where arrays are made of which nobody says where."""
        found: Device = empty(0).device
        return found

    def default_dtypes(self, *, device: Any = None) -> dict[str, DType]:
        """The dtypes of arrays of which nobody says what they hold."""
        real = get_default_dtype()
        return {
            "real floating": real,
            "complex floating": real.complex,
            "integral": int64,
            "indexing": int64,
        }

    def dtypes(
        self, *, device: Any = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, DType]:
        """The standard's dtypes that a device has, by name: all, or of some kinds."""
        if kind is None:
            kind = ("bool", "numeric")
        kinds = (kind,) if isinstance(kind, str) else kind
        found = {name: dtype for k in kinds for name, dtype in of_kind(k).items()}
        has = _dtypes_of(device)
        return {name: dtype for name, dtype in found.items() if dtype in has}

    def devices(self) -> Any:
        """Every device that can be used."""
        cpu = [Device("cpu")]
        others = [Device(t, i) for t, i in registry.available() if t != "cpu"]
        return self._sequence(cpu + others)


def _dtypes_of(device: Any) -> frozenset[DType]:
    backend, _ = registry.resolve(empty(0, device=device).device)
    return backend.dtypes
