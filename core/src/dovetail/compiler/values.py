"""What tensors are called while a program is recorded.

A tensor is known by itself, and all others over its native array by the array: those
that the engine makes of what nodes kept, above all. Leaves are known by their place on
the tape, whichever tensor backward meets it through.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from dovetail.compiler.arguments import root_of
from dovetail.compiler.recording import Found
from dovetail.engine.graph import Slot
from dovetail.engine.naming import ByIdentity, Names, spec_of
from dovetail.engine.tape import Leaf
from dovetail.engine.tape_of_views import leaf_of
from dovetail.engine.tensor import Tensor


class Values:
    """The slots of a program's tensors.

    Attributes:
        names: slots of native arrays.
        found: tensors that were there before, by slot.
    """

    def __init__(self, given: list[Tensor]) -> None:
        self.names = Names()
        self.found: dict[int, Found] = {}
        self._given = [root_of(x) for x in given]
        self._arguments: set[int] = set()
        # With the array that a tensor had: another one makes it another value.
        self._tensors: ByIdentity[tuple[Slot, Any]] = ByIdentity()
        self._leaves: dict[int, tuple[Leaf, Slot]] = {}
        self._writes: ByIdentity[int] = ByIdentity()  # to each memory, by its root

    # ---- new names

    def argument(self, x: Tensor) -> Slot:
        """The slot of an argument, which may come twice."""
        known = self._known(x)
        slot = self.new(x) if known is None else known
        self._arguments.add(slot.number)
        return slot

    def new(self, x: Tensor) -> Slot:
        """The next slot, for a tensor; for its array, too, if that has none."""
        known = x in self.names
        slot = self.names.fresh(spec_of(x)) if known else self.names.new(x)
        return self._note(x, slot)

    def result(self, x: Tensor) -> Slot:
        """The next slot, for the result of an op and its array."""
        return self._note(x, self.names.new(x))

    def another(self, x: Tensor, source: Slot) -> Slot:
        """The next slot, for another tensor over the array of `source`."""
        return self._note(x, self.names.fresh(source.spec))

    def takes(self, x: Tensor, source: Tensor) -> Slot:
        """The slot of a tensor that is about to take the array of another."""
        slot = self._slot(x)
        after = self._note(x, replace(slot, spec=spec_of(source)))
        self._tensors[x] = (after, source._a)
        return slot

    def same(self, x: Tensor) -> Slot:
        """The slot that a tensor has, also as the leaf that it now is."""
        known = self._known(x)
        return self._note(x, self._slot(x) if known is None else known)

    def _note(self, x: Tensor, slot: Slot) -> Slot:
        self._tensors[x] = (slot, x._a)
        leaf = leaf_of(x._node)
        if leaf is not None:
            self._leaves[id(leaf)] = (leaf, slot)
        return slot

    # ---- names that are there

    def slot(self, x: Tensor) -> Slot:
        """What a tensor is called; one that nobody made was there before."""
        slot = self._slot(x)
        version = self._writes.get(root_of(x))
        return replace(slot, version=version) if version else slot

    def _slot(self, x: Tensor) -> Slot:
        leaf = leaf_of(x._node)
        if leaf is not None and id(leaf) in self._leaves:
            return self._leaves[id(leaf)][1]
        known = self._known(x)
        if known is not None:
            return known
        if x in self.names:
            slot = self.names[x]
            if leaf is None:
                return slot
            if slot.number not in self._arguments and slot.number not in self.found:
                return self._note(x, slot)  # the array was made here, so was the leaf
        slot = self.new(x)
        beside = any(root_of(x) is root for root in self._given)
        self.found[slot.number] = Found(slot, x, self._owner_of(x), beside)
        return slot

    def _known(self, x: Tensor) -> Slot | None:
        entry = self._tensors.get(x)
        return entry[0] if entry is not None and entry[1] is x._a else None

    def is_known(self, x: Tensor) -> bool:
        """Whether the slot of a tensor is its own."""
        known = self._known(x)
        return known is not None and known.number == self._slot(x).number

    def source(self, x: Tensor) -> Slot | None:
        """The slot of a tensor's array, None where it has its own or there is none."""
        if self._known(x) is not None or x not in self.names:
            return None
        return self.names[x]

    def named(self, x: Any) -> Any:
        """What stands for an input of a call: a slot, a number, None, or a tuple."""
        if x is None:
            return None
        if isinstance(x, list | tuple):
            return tuple(map(self.named, x))
        if x not in self.names and leaf_of(x._node) is None:
            number = self.names.number(x)
            if number is not None:
                return number
        return self.slot(x)

    def _owner_of(self, grad: Tensor) -> Tensor | None:
        """The tensor whose gradient this is."""
        for leaf, _ in self._leaves.values():
            held = leaf.grad
            if held is not None and held._a is grad._a:
                return leaf.tensor()
        return None

    def was_there(self, leaf: Leaf) -> bool:
        """Whether a leaf was there before, or is that of an argument."""
        if id(leaf) not in self._leaves:
            return True
        number = self._leaves[id(leaf)][1].number
        return number in self.found or number in self._arguments

    def count_writes(self, written: Iterable[Tensor]) -> None:
        """Count one write to each memory that these tensors look into."""
        for root in {id(r): r for r in map(root_of, written)}.values():
            self._writes[root] = (self._writes.get(root) or 0) + 1


__all__ = ["Values"]
