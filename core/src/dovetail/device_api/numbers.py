"""The capability of numbers: kernels get them as such, and no array is made of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from dovetail.dtypes import DType


class Numbers(ABC):
    """Numbers beside tensors, as in `x * 2.0`, without memory of the device.

    A native array that stands for a number goes wherever arrays go: to kernels, onto
    the tape, into views. Kernels that know such arrays pass the number with their
    launch. Whoever asks for its memory has some made, which holds the number for every
    stream of the device, and for work that is done before a graph is launched in whose
    recording it was asked for.
    """

    @abstractmethod
    def number(self, value: Any, dtype: DType, index: int) -> Any:
        """A native array without dims that stands for a number, and is never written.

        Making it moves nothing, launches nothing and takes no memory of the device.

        Args:
            value: a Python number that the dtype holds, rounded or not.
        """
