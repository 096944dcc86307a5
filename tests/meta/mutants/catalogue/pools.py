"""Pools that give memory out again too soon, and random fills that go by address."""

from __future__ import annotations

import weakref
from collections import defaultdict
from contextlib import suppress
from functools import wraps
from typing import Any, Final

import numpy as np
from tests.meta.mutants.catalogue.capabilities import Chaotic
from tests.meta.mutants.mutant import Mutant, backend, core

import dovetail as dt
from dovetail.conformance.subject import Subject
from dovetail.dtypes import DType
from dovetail.engine.tensor import Tensor
from dovetail.testing.chaos_device.memory import Cell, ChaosArray

Ints = tuple[int, ...]


class Pooled(Chaotic):
    """Gives out again what the program let go of, when its own stream is done."""

    def __init__(self) -> None:
        super().__init__()
        self.free: dict[Any, list[Cell]] = defaultdict(list)

    def allocate(self, shape: Ints, dtype: DType, index: int, op: str) -> ChaosArray:
        made = super().allocate(shape, dtype, index, op)
        free = self.free[shape, dtype, index]
        cell = made.cell
        if free:
            old = free.pop()
            self.wait(old, index)
            cell.whole, cell.body = old.whole, old.body
        weakref.finalize(made.owner, free.append, cell).atexit = False
        return ChaosArray(made.owner, cell.body)

    def wait(self, old: Cell, index: int) -> None:
        """Let the work on a block be done before it is given out."""
        due = [job for job in (old.writer, *old.readers) if job and not job.done]
        device = self.device(index)
        with device.lock:
            device.finish([job for job in due if self.waits_for(job, index)])

    def waits_for(self, job: Any, index: int) -> bool:
        return True


class OwnStreamAlone(Pooled):
    """Work on another stream than the one that asks is not waited for."""

    def waits_for(self, job: Any, index: int) -> bool:
        return job.stream is self.stream(index)


def _let_go(subject: Subject) -> Any:
    """What one stream makes of a block that another gets meanwhile."""
    device = subject.device
    x, e = (subject.tensor(np.full((8, 8), n, np.float32)) for n in (1, 0.125))
    dt.synchronize(device)
    found = []
    for _ in range(20):
        first, second = dt.Stream(device), dt.Stream(device)
        with first:
            block = x + 0
            for _ in range(6):
                block = block @ e
            y = block @ e
            del block
        with second:
            others = [dt.full((8, 8), 7.0, device=device) for _ in range(3)]
        with first:
            found.append(subject.values(y))
        with second, suppress(RuntimeError):
            found += [subject.values(z) for z in others]
    return found


_normal = Tensor.normal_


@wraps(_normal)
def _by_address(self: Tensor, *args: Any, **kw: Any) -> Any:
    """Numbers go into memory as it lies."""
    strides, _ = self._kind.backend.geometry(self._a, self._a)
    if self.ndim == 2 and tuple(strides) == (1, self.shape[0]):
        _normal(self.t(), *args, **kw)
        return self
    return _normal(self, *args, **kw)


@wraps(_normal)
def _beside(self: Tensor, *args: Any, **kw: Any) -> Any:
    """Every second draw of a strided tensor is thrown away."""
    by = kw.get("generator")
    if by is not None and not self.is_contiguous():
        by.reserve(self.numel())
    return _normal(self, *args, **kw)


def _filled(subject: Subject) -> Any:
    g = dt.Generator(device=subject.device).manual_seed(7)
    x = dt.zeros(3, 2, device=subject.device).t()
    x.normal_(generator=g)
    return [subject.values(x), g.offset]


POOLS: Final[list[Mutant]] = [
    backend("pools/own-stream-alone", "a block goes to another stream while it is read",
            OwnStreamAlone, _let_go, laws=("dropped",)),
    core("pools/fills-by-address", "numbers go into memory as it lies", Tensor,
         "normal_", _by_address, _filled, laws=("fills",)),
    core("pools/fills-draw-twice", "a strided tensor takes twice as many numbers",
         Tensor, "normal_", _beside, _filled, laws=("fills",)),
]  # fmt: skip
