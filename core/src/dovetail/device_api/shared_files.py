"""Memory that processes share: files without names, which end with their last user."""

from __future__ import annotations

import mmap
import os
import tempfile
import weakref
from typing import Any, Self

import numpy as np


class SharedFile(mmap.mmap):
    """The bytes of a file in memory; processes that have its descriptor map them too.

    Attributes:
        fd: the descriptor, which is closed when nothing looks into the memory any more.
    """

    fd: int

    @classmethod
    def over(cls, fd: int, size: int) -> Self:
        """Map a file whose descriptor this takes over.

        Args:
            size: in bytes, at least 1.
        """
        made = cls(fd, size)
        made.fd = fd
        weakref.finalize(made, os.close, fd).atexit = False
        return made

    @classmethod
    def fresh(cls, size: int) -> Self:
        """A new file of zeros.

        Raises: OSError where memory or descriptors are spent.
        """
        fd = _opened()
        try:
            os.ftruncate(fd, max(size, 1))
            return cls.over(fd, max(size, 1))
        except BaseException:
            os.close(fd)
            raise

    def array(self) -> np.ndarray[Any, Any]:
        """All bytes as an array over this memory."""
        return np.frombuffer(self, np.uint8)


def _opened() -> int:
    """A descriptor of an empty file that has no name."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("dovetail tensor")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def file_behind(array: np.ndarray[Any, Any]) -> SharedFile | None:
    """The shared file that an array looks into, if it does."""
    base: Any = array
    while base is not None and not isinstance(base, SharedFile):
        base = base.obj if isinstance(base, memoryview) else getattr(base, "base", None)
    return base
