"""The same random numbers in every run, on whichever device they are drawn.

A model may be made on the CPU and moved while its data is drawn on the device: with a
stream for each device, as always, the CPU alone would give other numbers.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import numpy as np

from dovetail.device_api import registry
from dovetail.engine import generator
from dovetail.engine.generator import Generator, T


class _Shared(Generator):
    """The default generator of one device, which draws from a stream of several."""

    __slots__ = ("_stream",)

    def __init__(self, device: str, stream: Generator) -> None:
        place = stream._seed, stream._offset
        self._stream = stream
        super().__init__(device)
        stream._set(*place)

    @property
    def _seed(self) -> int:
        return self._stream._seed

    @_seed.setter
    def _seed(self, seed: int) -> None:
        self._stream._seed = seed

    @property
    def _offset(self) -> int:
        return self._stream._offset

    @_offset.setter
    def _offset(self, offset: int) -> None:
        self._stream._offset = offset

    def spend(self, words: int, align: int, make: Callable[[int, int], T]) -> T:
        return self._stream.spend(words, align, make)


@contextmanager
def one_stream(seed: int, devices: Iterable[str]) -> Iterator[None]:
    """Draw from one stream on these devices, on the CPU, in Python and in NumPy.

    Afterwards all of them go on as they were.
    """
    python, numpy = random.getstate(), np.random.get_state()
    stream = Generator("cpu").manual_seed(seed)
    before = dict(generator._defaults)
    for name in ("cpu", *devices):
        backend, index = registry.resolve(name)
        generator._defaults[backend.type, index] = _Shared(name, stream)
    random.seed(seed)
    np.random.seed(seed % 2**32)
    try:
        yield
    finally:
        generator._defaults.clear()
        generator._defaults.update(before)
        random.setstate(python)
        np.random.set_state(numpy)
