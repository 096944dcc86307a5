"""Numbers as arrays without memory: kernels get them among the words of a launch."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from dovetail.device_api import Numbers
from dovetail.dtypes import DType, float32, float64
from dovetail_xpu.launch import Launcher
from dovetail_xpu.memory import Block, Device, XpuArray, fresh

_LARGE: Final = 3e38  # near the greatest float32
# How dtypes are packed, and integers of as many bytes: NumPy takes microseconds.
_PACKED: Final = {
    float32: (struct.Struct("<f").pack, struct.Struct("<i").unpack),
    float64: (struct.Struct("<d").pack, struct.Struct("<q").unpack),
}


def word_of(value: Any, dtype: DType) -> int:
    """The bits of a number in a dtype."""
    packed = _PACKED.get(dtype)
    if packed is not None and -_LARGE <= value <= _LARGE:
        word: int = packed[1](packed[0](value))[0]
        return word
    with np.errstate(all="ignore"):
        held = np.array(value).astype(dtype.numpy).tobytes()
    return int.from_bytes(held, "little", signed=True)


class Number(XpuArray):
    """An array without dims, whose memory is made when something asks for it.

    It is not dense, so that what reads dense arrays asks for a copy, which a kernel
    makes of the number.

    Attributes:
        word: its bits.
    """

    __slots__ = ("_device", "_make", "_memory", "word")

    def __init__(
        self, device: Device, dtype: DType, word: int,
        make: Callable[[Number], XpuArray],
    ) -> None:  # fmt: skip
        self.dtype = dtype
        self.shape = self.strides = ()
        self.dense = False
        self.word = word
        self._device = device
        self._make = make
        self._memory: XpuArray | None = None

    @property
    def device(self) -> Device:
        """Where it is needed."""
        return self._device

    def there(self) -> XpuArray:
        """An array in memory that holds the number."""
        if self._memory is None:
            with self._device.lock:
                if self._memory is None:
                    self._memory = self._make(self)
        return self._memory

    @property
    def block(self) -> Block:  # type: ignore[override]
        """Memory that holds the number."""
        return self.there().block

    @property
    def address(self) -> int:  # type: ignore[override]
        """Where in it the number is."""
        return self.there().address

    def read_as(self, dtype: DType) -> Number:
        """The same bits in another dtype of the same width."""
        return Number(self._device, dtype, self.word, self._make)


class XpuNumbers(Numbers):
    """Numbers without memory, as a backend has them."""

    launcher: Launcher
    share: Callable[[XpuArray, int], None]
    _fill: Callable[[XpuArray, int], None]

    def number(self, value: Any, dtype: DType, index: int) -> Number:
        device = self.launcher.devices[index]
        return Number(device, dtype, word_of(value, dtype), self._in_memory)

    def _in_memory(self, number: Number) -> XpuArray:
        """Written by the current stream; by the default one where that records."""
        index = number.device.index
        if self.launcher.stream(index).work is None:
            made = self.launcher.fresh((), number.dtype, index)
            self._fill(made, number.word)
            self.share(made, index)
            return made
        stream = number.device.stream
        made = fresh(stream, (), number.dtype)
        size = number.dtype.itemsize
        held = np.frombuffer(number.word.to_bytes(size, "little", signed=True), "u1")
        stream.queue.memcpy(made.block.memory, held, size)
        return made


__all__: Final = ["Number", "XpuNumbers", "word_of"]
