"""Tensors on the CPU in pinned memory, from which copies to a device need no host."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dovetail.device import PREFERENCE, named
from dovetail.device import device as Device
from dovetail.device_api import HostMemory, registry
from dovetail.device_api.host_copies import PinnedMemory, pinned_array, pinned_behind
from dovetail.device_api.meta import contiguous_strides
from dovetail.engine.public import public
from dovetail.engine.scopes import outside
from dovetail.engine.tensor import Tensor, wrap
from dovetail.errors import ArgumentError, NotSupported
from dovetail.frontend.creation import DeviceLike
from dovetail.frontend.views import as_strided


@public("Tensor.is_pinned")
def is_pinned(self: Tensor, device: DeviceLike = None) -> bool:
    """Whether `pin_memory` made the memory; for devices of a type, if one is named."""
    if device is not None and Device(device).type not in PREFERENCE:
        registry.resolve(device)  # raises for a type that nothing is known of
    memory = self._kind.backend.capability(HostMemory)
    block = None if memory is None else pinned_behind(memory.expose(self._a))
    if block is None:
        return False
    return device is None or Device(device).type == block.device


@public("Tensor.pin_memory")
def pin_memory(self: Tensor, device: DeviceLike = None) -> Tensor:
    """A copy on the CPU in pinned memory; itself where it is there already.

    From there, `to(device, non_blocking=True)` returns before the values have
    travelled. The memory is given back when the last tensor that looks into it dies,
    and copies from it are done.

    Args:
        device: the one that copies go to; the accelerator if not given.

    Raises:
        DeviceError: there is no such device. NotSupported: it has no pinned memory.
        ArgumentError: this tensor is not on the CPU.
    """
    kind = self._kind
    memory = kind.backend.capability(HostMemory)
    if memory is None:
        raise ArgumentError(
            "pin_memory", "tensor", was=f"on {self.device}",
            needed="a dense tensor on the CPU", remedy="take x.cpu() first",
        )  # fmt: skip
    if is_pinned(self, device):
        return self
    pinned, index = _accelerator(device)
    outside("pin_memory")
    shape = tuple(self._a.shape)
    native = memory.adopt(pinned_array(pinned, (math.prod(shape),), kind.dtype, index))
    made = as_strided(wrap(native, kind), shape, _dense(shape, self.stride()))
    made.copy_(self)
    return made


def _dense(shape: tuple[int, ...], strides: Sequence[int]) -> tuple[int, ...]:
    """The same order of dims without gaps; rows where elements share places."""
    found, step = [0] * len(shape), 1
    if any(s == 0 and n > 1 for n, s in zip(shape, strides, strict=True)):
        return contiguous_strides(shape)
    for d in sorted(range(len(shape)), key=lambda d: (strides[d], shape[d], -d)):
        found[d] = step
        step *= shape[d]
    return tuple(found)


def _accelerator(device: DeviceLike) -> tuple[PinnedMemory, int]:
    """What has pinned memory for a device, and the index of that device."""
    backend, index = registry.resolve("auto" if device is None else device)
    found = backend.capability(PinnedMemory)
    if found is None:
        raise NotSupported(
            "pin_memory", "device", was=named(backend.type, index),
            needed="an accelerator with pinned memory",
            remedy="move it with .to(device): copies take any memory",
        )  # fmt: skip
    return found, index
