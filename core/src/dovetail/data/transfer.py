"""Objects sent from process to process, the memory of their tensors shared.

Pickles of protocol 5 leave large buffers out. These go into one anonymous file in
memory, which has no name that a dying process could leave behind, and which the
receiver's tensors look into without a copy.
"""

from __future__ import annotations

import mmap
import os
import pickle
import sys
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle, send_handle
from typing import Any, Final, NamedTuple

# Where each buffer begins, in bytes: what vector loads and all dtypes want.
_ALIGNED: Final = 64
# Below this many bytes in all, a file costs more than a copy through the pipe.
_SMALL: Final = 1 << 14
# Elsewhere a file's receiver answers on the pipe, where the other thread listens.
_CAN_SHARE: Final = sys.platform.startswith("linux")


class Sealed(NamedTuple):
    """An object, packed.

    Attributes:
        pickled: all but its buffers.
        sizes: of the buffers, in bytes.
        buffers: the buffers themselves, None where they are in a file.
    """

    pickled: bytes
    sizes: list[int]
    buffers: list[bytes] | None


def send(connection: Connection, value: Any, receiver: int) -> None:
    """Send an object.

    Args:
        receiver: the process that receives, by its id.
    """
    found: list[pickle.PickleBuffer] = []
    pickled = pickle.dumps(value, protocol=5, buffer_callback=found.append)
    views = [buffer.raw() for buffer in found]
    sizes = [view.nbytes for view in views]
    if sum(sizes) < _SMALL or not _CAN_SHARE:
        connection.send(Sealed(pickled, sizes, [bytes(view) for view in views]))
        return
    file = os.memfd_create("dovetail batch")
    try:
        os.ftruncate(file, sum(map(_padded, sizes)))
        with mmap.mmap(file, 0) as memory:
            at = 0
            for view in views:
                memory[at : at + view.nbytes] = view
                at += _padded(view.nbytes)
        connection.send(Sealed(pickled, sizes, None))
        send_handle(connection, file, receiver)
    finally:
        os.close(file)


def receive(connection: Connection) -> Any:
    """Receive an object that `send` sent."""
    sealed: Sealed = connection.recv()
    if sealed.buffers is not None:
        return pickle.loads(sealed.pickled, buffers=map(bytearray, sealed.buffers))
    file = recv_handle(connection)
    try:
        memory = memoryview(mmap.mmap(file, 0))
    finally:
        os.close(file)
    buffers, at = [], 0
    for size in sealed.sizes:
        buffers.append(memory[at : at + size])
        at += _padded(size)
    return pickle.loads(sealed.pickled, buffers=buffers)


def _padded(size: int) -> int:
    return -(-size // _ALIGNED) * _ALIGNED
