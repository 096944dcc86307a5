"""Copies of a module on several devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail.nn.module import Module

from .scatter_gather import DeviceLike


def replicate(
    network: Module, devices: Sequence[DeviceLike], detach: bool = False
) -> list[Module]:
    """A module for each device, to be called once: its parameters lead to the module's.

    Args:
        network: whose parameters get the gradients of all copies.
        detach: the copies' parameters lead nowhere.

    Returns: modules without parameters of their own, whose attributes are copies.
    """
    return [_replica(network, place, detach, {}) for place in devices]


def _replica(
    module: Module, place: DeviceLike, detach: bool, made: dict[int, Any]
) -> Module:
    """A copy of a module and of those below it, each of which is copied once."""
    if id(module) in made:
        known: Module = made[id(module)]
        return known
    replica = made[id(module)] = object.__new__(type(module))
    vars(replica).update(vars(module))
    vars(replica)["_modules"] = {
        name: None if child is None else _replica(child, place, detach, made)
        for name, child in module._modules.items()
    }
    vars(replica).update(_parameters={}, _buffers=dict(module._buffers))
    for name, kept in module._parameters.items():
        if kept is None:
            replica._parameters[name] = None
            continue
        # A view, so that it is no parameter where it is on the device already.
        vars(replica)[name] = _moved(kept.view_as(kept), place, detach, made, kept)
    for name, held in module._buffers.items():
        if held is not None:
            replica._buffers[name] = _moved(held, place, True, made, held)
    return replica


def _moved(
    value: Any, place: DeviceLike, detach: bool, made: dict[int, Any], key: Any
) -> Any:
    """A tensor on a device, moved there once."""
    if id(key) not in made:
        moved = value.to(place)
        made[id(key)] = moved.detach() if detach else moved
    return made[id(key)]
