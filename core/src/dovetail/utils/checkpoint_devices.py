"""States of devices' generators, by the tensors that a checkpoint is given."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from typing import Any

from dovetail import accelerator
from dovetail.device import device as Device
from dovetail.engine.generator import generator_of
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentTypeError


class DefaultDeviceType:
    """The type of the devices meant where no tensor is on one beside the CPU.

    Checkpoints themselves take the states of all generators that have been used.
    """

    _default_device_type: str | None = None

    @staticmethod
    def set_device_type(device: str = "cuda") -> None:
        """Let this be the type."""
        if not isinstance(device, str):
            raise ArgumentTypeError(
                "set_device_type", "device", was=repr(device),
                needed='the type of a device, such as "cuda"',
            )  # fmt: skip
        DefaultDeviceType._default_device_type = device

    @staticmethod
    def get_device_type() -> str:
        """The type: the one that was set, else the accelerator's, else "cpu"."""
        if DefaultDeviceType._default_device_type is None:
            found = accelerator.current_accelerator()
            return "cpu" if found is None else found.type
        return DefaultDeviceType._default_device_type


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """The devices of the tensors, by index, and their generators' states.

    Args:
        args: tensors, or lists, tuples and dicts of them; what is on the CPU, on meta
            or no tensor does not count. Of several types of devices the one called
            "cuda" counts, else the first.

    Returns: one entry for each tensor, as `set_device_states` takes them.
    """
    found = [x.device for x in _tensors(args) if x.device.type not in ("cpu", "meta")]
    if not found:
        return [], []
    types = list(dict.fromkeys(where.type for where in found))
    wanted = "cuda" if "cuda" in types else types[0]
    if len(types) > 1:
        warnings.warn(
            f"get_device_states: tensors are on devices of the types {types}; only "
            f"states of {wanted!r} are taken, so others may draw other random numbers",
            stacklevel=2,
        )
    chosen = [where for where in found if where.type == wanted]
    states = [generator_of(where).get_state() for where in chosen]
    return [where.index or 0 for where in chosen], states


def set_device_states(
    devices: Iterable[int], states: Iterable[Tensor], *, device_type: str | None = None
) -> None:
    """Set the states of devices' generators.

    Args:
        devices: by index.
        states: as `get_device_states` gives them.
        device_type: of the devices; that of `DefaultDeviceType` if None.
    """
    wanted = device_type or DefaultDeviceType.get_device_type()
    if wanted == "meta":
        return
    for index, state in zip(devices, states, strict=False):
        generator_of(Device(wanted, index)).set_state(state)


def _tensors(values: Any) -> Iterator[Tensor]:
    if isinstance(values, Tensor):
        yield values
    elif isinstance(values, list | tuple | dict):
        for value in values.values() if isinstance(values, dict) else values:
            yield from _tensors(value)
