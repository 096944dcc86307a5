"""What tensors are, for random programs: an index map into NumPy memory.

Values are small whole numbers, so that every device computes them exactly. Of what is
differentiated the model keeps the derivative of each element by each leaf's elements.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np

from dovetail.dtypes import Array

# Elements of all leaves that require gradients, one column of a derivative each.
COLUMNS: Final = 12
LARGEST: Final = 1 << 18  # beyond it sums would no longer be exact in float32


@dataclass(slots=True, eq=False)
class Counter:
    """The version that aliases share; `.data` starts one of its own."""

    version: int = 0


@dataclass(slots=True, eq=False)
class Memory:
    """Memory that tensors look into.

    Attributes:
        values: one dim.
        derivative: by element and column, None outside of every graph.
        writes: how often it was written, whoever counted it.
        needs: what its history kept for backward.
        ordered: whether the device has it in the model's order. Results of ops may lie
            otherwise, as in PyTorch, where their inputs do.
        doubtful: what was kept by history that a later write made irrelevant.
    """

    values: Array
    derivative: Array | None = None
    writes: int = 0
    ordered: bool = True
    needs: tuple[Need, ...] = ()
    doubtful: tuple[Need, ...] = ()

    @property
    def nbytes(self) -> int:
        return int(self.values.nbytes)


@dataclass(frozen=True, slots=True, eq=False)
class Need:
    """A value kept for backward: by whom it is counted, and what it was."""

    memory: Memory
    counter: Counter
    version: int
    writes: int

    @property
    def refused(self) -> bool:
        """Whether backward must notice that it was written."""
        return self.counter.version != self.version

    @property
    def changed(self) -> bool:
        """Whether it was written, noticed or not."""
        return self.memory.writes != self.writes


@dataclass(slots=True, eq=False)
class Alias:
    """A live tensor of the program.

    Attributes:
        index: for every element, its place in the memory.
        tracked: whether it requires gradients.
        leaf: whether it is one of the leaves, or a view of one.
        view: whether it was made by a view op.
    """

    name: str
    memory: Memory
    index: Array
    counter: Counter = field(default_factory=Counter)
    tracked: bool = False
    leaf: bool = False
    view: bool = False

    @property
    def values(self) -> Array:
        found: Array = self.memory.values[self.index]
        return found

    @property
    def derivative(self) -> Array:
        """By element and column; zeros where it is a constant."""
        if not self.tracked or self.memory.derivative is None:
            return np.zeros((*self.index.shape, COLUMNS))
        found: Array = self.memory.derivative[self.index]
        return found

    @property
    def contiguous(self) -> bool:
        """Whether the elements are known to lie side by side in order."""
        flat = self.index.reshape(-1)
        return self.memory.ordered and bool(
            flat.size == 0 or (np.diff(flat) == 1).all()
        )

    @property
    def repeats(self) -> bool:
        """Whether elements share memory."""
        return np.unique(self.index).size < self.index.size

    @property
    def expanded(self) -> bool:
        """Whether a dim repeats its elements, by a stride of 0."""
        index = self.index
        return index.size > 0 and any(
            index.shape[d] > 1 and (index.take(0, d) == index.take(1, d)).all()
            for d in range(index.ndim)
        )

    def needed(self, writes: int | None = None) -> Need:
        """The values as they are now, kept for backward."""
        now = self.memory.writes if writes is None else writes
        return Need(self.memory, self.counter, self.counter.version, now)

    def look(self, name: str, index: Array) -> Alias:
        """A view of these elements."""
        made = Alias(name, self.memory, index, self.counter, self.tracked, self.leaf)
        made.view = True
        return made

    def detached(self, name: str) -> Alias:
        return Alias(name, self.memory, self.index, self.counter)

    def data(self, name: str) -> Alias:
        return Alias(name, self.memory, self.index)


def fresh(name: str, values: Array, tracked: bool = False) -> Alias:
    """A tensor in memory of its own."""
    memory = Memory(np.array(values).reshape(-1))
    if tracked:
        memory.derivative = np.zeros((values.size, COLUMNS))
    index = np.arange(values.size).reshape(values.shape)
    return Alias(name, memory, index, tracked=tracked)


def derived(
    name: str, values: Array, derivative: Array, sources: list[Alias], keeps: list[Need]
) -> Alias:
    """The result of an op: tracked if a source is."""
    made = fresh(name, values, any(s.tracked for s in sources))
    made.memory.ordered = False
    if made.tracked:
        made.memory.derivative = derivative.reshape(-1, COLUMNS)
        tracked = [s.memory for s in sources if s.tracked]
        made.memory.needs = (*(n for m in tracked for n in m.needs), *keeps)
        made.memory.doubtful = tuple(n for m in tracked for n in m.doubtful)
    return made


def product(a: Alias, b: Alias) -> tuple[Array, Array]:
    """Values and derivative of `a * b`."""
    left, right = a.values, b.values
    each = a.derivative * right[..., None] + b.derivative * left[..., None]
    return left * right, each


def product_keeps(a: Alias, b: Alias) -> list[Need]:
    """What `a * b` keeps: of each the value, if the other one is differentiated."""
    return [x.needed() for x, other in ((a, b), (b, a)) if other.tracked]


def write(target: Alias, values: Array, derivative: Array | None) -> None:
    """Replace the elements of `target`; None leaves derivatives as they are."""
    memory = target.memory
    memory.values[target.index] = values
    memory.writes += 1
    target.counter.version += 1
    if derivative is not None and memory.derivative is not None:
        memory.derivative[target.index] = derivative


def small(*arrays: Array) -> bool:
    """Whether numbers are far from the edge of what float32 holds exactly."""
    return all(a.size == 0 or float(np.abs(a).max()) <= LARGEST for a in arrays)
