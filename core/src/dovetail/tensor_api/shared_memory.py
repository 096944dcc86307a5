"""Tensors whose memory other processes see."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail.device_api import HostMemory
from dovetail.device_api.shared_files import SharedFile, file_behind
from dovetail.engine.kinds import Kind
from dovetail.engine.public import public
from dovetail.engine.scopes import outside
from dovetail.engine.tape import storage_of
from dovetail.engine.tensor import Tensor, wrap
from dovetail.frontend.views import as_strided
from dovetail.tensor_api.storages import UntypedStorage


def file_of(x: Tensor) -> SharedFile | None:
    """The shared file that a tensor lies in, if it does."""
    memory = x._kind.backend.capability(HostMemory)
    return None if memory is None else file_behind(memory.expose(x._a))


def in_file(
    file: SharedFile, kind: Kind, size: Sequence[int], stride: Sequence[int], first: int
) -> Tensor:  # fmt: skip
    """A tensor over the memory of a file.

    Args:
        kind: its backend has `HostMemory`.
        size, stride, first: where its elements lie, counted in elements.
    """
    memory = kind.backend.capability(HostMemory)
    assert memory is not None
    count = len(file) // kind.dtype.itemsize
    array = file.array()[: count * kind.dtype.itemsize].view(kind.dtype.numpy)
    whole = wrap(memory.adopt(array), kind)
    return as_strided(whole, size, stride, first)


def place_in_file(x: Tensor) -> int:
    """Where the first element of a shared tensor lies, in elements."""
    memory = x._kind.backend.capability(HostMemory)
    file = file_of(x)
    assert memory is not None
    assert file is not None
    start = int(file.array().ctypes.data)
    return (memory.address(x._a) - start) // x.dtype.itemsize if x.numel() else 0


@public("Tensor.is_shared")
def is_shared(self: Tensor) -> bool:
    """Whether other processes can see the memory of this tensor; see `share_memory_`.

    Memory of devices other than the CPU is never shared.
    """
    return file_of(self) is not None


@public("Tensor.share_memory_")
def share_memory_(self: Tensor) -> Tensor:
    """Move the elements into memory that processes share, and look into it from now on.

    What this process forks or sends a tensor to by `dovetail.multiprocessing` reads and
    writes the same elements. Other views of the old memory keep it. On devices other
    than the CPU, and where it is shared already, nothing happens.

    >>> torch.ones(2).share_memory_().is_shared()
    True
    """
    memory = self._kind.backend.capability(HostMemory)
    if memory is None or file_of(self) is not None:
        return self
    outside("share_memory_")
    old = UntypedStorage(self).flat().detach()
    count, size = old.numel(), self.dtype.itemsize
    here = memory.address(self._a) - memory.address(old._a) if count else 0
    new = in_file(SharedFile.fresh(count * size), self._kind, (count,), (1,), 0)
    new.copy_(old)
    moved = as_strided(new, self.shape, self.stride(), here // size)
    own = type(storage_of(self))  # which says whether it is of inference tensors
    self._storage, self._a = own(storage_of(moved).root), moved._a
    return self


def sent(x: Tensor) -> tuple[SharedFile, tuple[Any, ...]]:
    """A tensor, moved into shared memory, as its file and where it lies in that."""
    file = file_of(share_memory_(x))
    assert file is not None
    return file, (tuple(x.shape), tuple(x.stride()), place_in_file(x))
