"""Capabilities of copies: memory of the host that is pinned, and copies among devices.

They are for programs that ask for them (`pin_memory`, `non_blocking=True`); without
them values travel by `copy_in` and `copy_out`, which take any memory and wait.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from dovetail.device_api.capabilities import HostMemory
from dovetail.device_api.contract import Backend, Native
from dovetail.dtypes import Array, DType


class PinnedBlock:
    """Bytes of the host's memory that a driver holds in place; arrays keep it alive.

    Args:
        device: the type of the devices that know it.
        give_back: called when the last array that looks into it has died; what owns
            the memory may be kept in it.
    """

    __slots__ = ("__array_interface__", "__weakref__", "_give_back", "device")

    def __init__(
        self, device: str, address: int, size: int, give_back: Callable[[], None]
    ) -> None:
        self.device = device
        self._give_back = give_back
        self.__array_interface__ = {
            "data": (address, False), "shape": (size,), "typestr": "|u1", "version": 3,
        }  # fmt: skip

    def array(self) -> Array:
        """All bytes, as an array over this memory."""
        return np.asarray(self)

    def __del__(self) -> None:
        self._give_back()


def pinned_behind(array: Array) -> PinnedBlock | None:
    """The pinned memory that an array looks into, if it does."""
    base: Any = array
    while base is not None and not isinstance(base, PinnedBlock):
        base = getattr(base, "base", None)
    return base


class PinnedMemory(ABC):
    """Pinned memory of the host, from and to which copies run without the host waiting.

    A copy is work of the current stream: its values are there, and its source may be
    written, after a wait for what comes later in that stream. Until it is done, the
    backend keeps the host's array alive; `InFlight` helps.
    """

    @abstractmethod
    def pinned(self, size: int, index: int) -> PinnedBlock:
        """So many bytes (1 or more) of the host's memory, for copies with a device.

        Raises:
            OutOfMemory: there is no such memory left.
        """

    @abstractmethod
    def pinned_bytes(self) -> int:
        """Bytes of such memory in use, by arrays or by copies that are under way."""

    @abstractmethod
    def copy_in_later(self, host: Array, index: int) -> Native:
        """A fresh array that gets the values of `host`; does not wait.

        Args:
            host: in pinned memory of this backend, contiguous.
        """

    @abstractmethod
    def copy_out_later(self, a: Native, host: Array) -> None:
        """Write the values of `a`, which lies in any way, into `host`; does not wait.

        Args:
            host: in pinned memory of this backend, contiguous, of the same shape and
                dtype.
        """


class PeerCopies(ABC):
    """Copies from one device to another of the type, other than by `copy_out`."""

    @abstractmethod
    def copy_peer(self, a: Native, index: int) -> Native:
        """A fresh contiguous array with the values of `a` on another device.

        In order on both sides: behind the work of the current stream of the device of
        `a`, ahead of what comes later in the current streams of both.
        """


class InFlight:
    """Keeps memory alive while copies from or to it are under way."""

    def __init__(self) -> None:
        self._kept: list[tuple[Any, Callable[[], bool]]] = []
        self._lock = threading.Lock()

    def keep(self, memory: Any, done: Callable[[], bool]) -> None:
        """Hold `memory` until `done()` is true when somebody looks."""
        with self._lock:
            self._kept.append((memory, done))

    def settle(self) -> None:
        """Let go of what copies are done with; for `synchronize`, and new copies."""
        if not self._kept:
            return
        with self._lock:
            both = [(entry, entry[1]()) for entry in self._kept]
            self._kept = [entry for entry, done in both if not done]
        del both  # outside of the lock: what dies here may come back to it


def copied_later(
    source: Backend, a: Native, dtype: DType, place: int, target: Backend, index: int
) -> Native | None:
    """A copy that the host does not wait for; None where these devices have none.

    Args:
        a: on device `place` of `source`, of `dtype`.
        index: of the device of `target`.
    """
    arriving = target.capability(PinnedMemory)
    memory = source.capability(HostMemory)
    if arriving is not None and memory is not None:
        host = memory.expose(a)
        block = pinned_behind(host)
        if block is None or block.device != target.type or not _lies_flat(host):
            return None
        return arriving.copy_in_later(host, index)
    leaving, here = source.capability(PinnedMemory), target.capability(HostMemory)
    if leaving is None or here is None:
        return None
    host = pinned_array(leaving, a.shape, dtype, place)
    leaving.copy_out_later(a, host)
    return here.adopt(host)


def pinned_array(
    memory: PinnedMemory, shape: tuple[int, ...], dtype: DType, index: int
) -> Array:
    """A fresh contiguous array in pinned memory, without values."""
    count = 1
    for n in shape:
        count *= n
    size = count * dtype.itemsize
    flat = memory.pinned(max(size, 1), index).array()[:size]
    return flat.view(dtype.numpy).reshape(shape)


def _lies_flat(host: Array) -> bool:
    return bool(host.flags.c_contiguous and host.flags.aligned)


def copied(
    source: Backend, a: Native, place: int, target: Backend, index: int
) -> Native:
    """A copy on another device, of whose values the host may know that they are there.

    Args:
        a: on device `place` of `source`.
        index: of the device of `target`.
    """
    if source is target and place != index:
        peers = source.capability(PeerCopies)
        if peers is not None:
            return peers.copy_peer(a, index)
    return target.copy_in(source.copy_out(a), index)
