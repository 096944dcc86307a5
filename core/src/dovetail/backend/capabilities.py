"""Optional capabilities of a backend: typed objects, asked for by their class.

`backend.capability(Pool)` gives the object or None; there are no booleans to set
and no `hasattr` to guess from.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np


class HostMemory(ABC):
    """Native arrays that share memory with NumPy's: `from_numpy` copies nothing."""

    @abstractmethod
    def adopt(self, array: np.ndarray[Any, Any]) -> Any:
        """A native array over the memory of `array`, which it keeps alive."""

    @abstractmethod
    def expose(self, native: Any) -> np.ndarray[Any, Any]:
        """A NumPy array over the memory of `native`, which it keeps alive."""

    @abstractmethod
    def address(self, native: Any) -> int:
        """The address of the first element of `native`, in bytes."""


class Pool(ABC):
    """An allocator that counts what it hands out."""

    @abstractmethod
    def live_bytes(self, index: int) -> int:
        """Bytes in use by native arrays on device `index`."""

    @abstractmethod
    def peak_bytes(self, index: int) -> int:
        """The most bytes in use at once since the process started."""


class ViewCopies(ABC):
    """Arrays without strides: counts the copies that stand in for views."""

    @abstractmethod
    def view_copies(self) -> tuple[int, int]:
        """How many views were gathered and how many scattered since the start."""
