"""Where saved tensors go when they are loaded: `map_location`, as PyTorch has it."""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

from dovetail import dtypes
from dovetail.device import device
from dovetail.device_api import registry
from dovetail.device_api.contract import Backend
from dovetail.engine.kinds import kind_of
from dovetail.engine.tensor import Tensor, wrap
from dovetail.errors import ArgumentTypeError, DeviceError

Place = str | device
MapLocation = (
    Place | Mapping[str, Place] | Callable[[Any, str], Tensor | Place | None] | None
)

_current: Final[contextvars.ContextVar[MapLocation]] = contextvars.ContextVar(
    "dovetail_map_location", default=None
)


@contextmanager
def map_location(where: MapLocation) -> Iterator[None]:
    """Within the block, what is loaded or unpickled goes elsewhere.

    Args:
        where: a device for everything; a dict from saved devices to others; or a
            function of a CPU tensor over the saved memory (None for a generator) and
            the saved device, whose result, a device or a tensor on it, says where
            that memory goes. None leaves things where they were, for the function
            and as a whole.
    """
    token = _current.set(where)
    try:
        yield
    finally:
        _current.reset(token)


def place(saved: str, values: np.ndarray[Any, Any] | None) -> tuple[Backend, int]:
    """Backend and index for what was saved on a device.

    Raises:
        DeviceError: that device is absent, and nothing maps it to another.
    """
    wanted = _mapped(_current.get(), saved, values)
    if wanted is not None:
        return registry.resolve(wanted)
    try:
        return registry.resolve(saved)
    except DeviceError as error:
        raise DeviceError(
            "load", "device", was=f"{saved!r}, on which this was saved ({error})",
            needed="a device that is present",
            remedy='load it elsewhere: dovetail.load(file, map_location="cpu"), or '
            'for a pickle, `with dovetail.io.map_location("cpu"): pickle.load(file)`',
        ) from error  # fmt: skip


def _mapped(
    where: MapLocation, saved: str, values: np.ndarray[Any, Any] | None
) -> Place | None:
    """The device that `map_location` names, None for the one of the file."""
    if where is None or isinstance(where, str | device):
        return where
    if isinstance(where, Mapping):
        return where.get(saved, where.get(saved.partition(":")[0]))
    if not callable(where):
        raise ArgumentTypeError(
            "load", "map_location", was=f"a {type(where).__name__}",
            needed="a device, a dict of devices, or a function that gives one",
        )  # fmt: skip
    found = where(None if values is None else _on_the_cpu(values), saved)
    if found is None or isinstance(found, str | device):
        return found
    if isinstance(found, Tensor):
        return found.device
    raise ArgumentTypeError(
        "load", "the result of map_location", was=f"a {type(found).__name__}",
        needed="a device, a tensor on it, or None",
    )  # fmt: skip


def _on_the_cpu(values: np.ndarray[Any, Any]) -> Tensor:
    kind = kind_of("cpu", dtypes.from_numpy(values.dtype))
    return wrap(kind.backend.copy_in(values, kind.index), kind)
