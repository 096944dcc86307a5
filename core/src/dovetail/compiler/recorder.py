"""The recorder: writes down what a function does while it runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dovetail.compiler.arguments import Arguments
from dovetail.compiler.effects import (
    Draw,
    Made,
    Note,
    Outside,
    Perform,
    ReadValue,
    Rebind,
    Seed,
    SetData,
    SetGrad,
    SetRequiresGrad,
)
from dovetail.compiler.recording import Found, Recording
from dovetail.compiler.steps import Drawn, Read, Run, Step
from dovetail.engine.generator import Generator
from dovetail.engine.graph import Call, Number, Slot
from dovetail.engine.modes import grad_enabled, is_grad_enabled
from dovetail.engine.naming import ByIdentity, Names, plain_attrs, targets
from dovetail.engine.op import Op
from dovetail.engine.scopes import Recorder
from dovetail.engine.scopes import record as recorded
from dovetail.engine.tape import Leaf
from dovetail.engine.tape_of_views import leaf_of
from dovetail.engine.tensor import Tensor


class ProgramRecorder(Recorder):
    """Keeps the steps of one run."""

    def __init__(
        self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self.names = Names()
        self.leaves: dict[int, tuple[Leaf, Slot]] = {}
        self.found: dict[int, Found] = {}
        self.draws: list[tuple[int, int]] = []
        self.writes: ByIdentity[int] = ByIdentity()  # to each memory, by its root
        self.live: dict[int, tuple[float, Callable[[], float]]] = {}
        self.graded: set[int] = set()  # tensors whose `.grad` was set or added to
        self.recording = Recording(
            name, Arguments.of(args, kwargs, self._argument), grad=is_grad_enabled()
        )

    def step(self, step: Step) -> None:
        """Keep what was done."""
        self.recording.steps.append(step)

    def finish(self, result: Any) -> Recording:
        """The recording, once the function gave its result."""
        made = self.recording
        made.result = _with_slots(result, self.slot)
        made.found = list(self.found.values())
        return made

    # ---- names

    def _argument(self, x: Tensor) -> Slot:
        known = x in self.names
        slot = self.names[x] if known else self.names.new(x)
        self._note_leaf(x, slot)
        return slot

    def _note_leaf(self, x: Tensor, slot: Slot) -> None:
        leaf = leaf_of(x._node)
        if leaf is not None:
            self.leaves[id(leaf)] = (leaf, slot)

    def slot(self, x: Tensor) -> Slot:
        """What a tensor is called; one that nobody made was there before."""
        slot = self._slot(x)
        version = self.writes.get(_root(x))
        return replace(slot, version=version) if version else slot

    def _slot(self, x: Tensor) -> Slot:
        leaf = leaf_of(x._node)
        if leaf is not None and id(leaf) in self.leaves:
            return self.leaves[id(leaf)][1]
        if x in self.names:
            slot = self.names[x]
            if leaf is not None:
                self.leaves[id(leaf)] = (leaf, slot)
            return slot
        slot = self.names.new(x)
        self._note_leaf(x, slot)
        owner = self._owner_of(x)
        self.found[slot.number] = Found(slot, x, owner)
        return slot

    def _owner_of(self, grad: Tensor) -> Tensor | None:
        """The tensor whose gradient this is."""
        for leaf, _ in self.leaves.values():
            held = leaf.grad
            if held is not None and held._a is grad._a:
                return leaf.tensor()
        return None

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

    # ---- what happens

    def call(
        self, op: Op, inputs: tuple[Any, ...], attrs: dict[str, Any],
        outs: tuple[Tensor, ...],
    ) -> None:  # fmt: skip
        """Keep an op call."""
        given = tuple(map(self.named, inputs))
        flat = [v for x in inputs for v in (x if isinstance(x, list) else (x,))]
        names = [v for x in given for v in (x if _is_list(x) else (x,))]
        own = {k: self._attribute(op, k, v) for k, v in attrs.items()}
        written = targets(op, inputs)
        for root in {id(r): r for r in map(_root, written)}.values():
            self.writes[root] = (self.writes.get(root) or 0) + 1
        writes = tuple(map(self.slot, written))
        made = tuple(self.names.new(y) for y in outs)
        shown = plain_attrs(own)
        self.step(
            Run(
                Call(op.name, given, shown, made, writes, grad_enabled()), op, own,
                tuple(x._kind for x, n in zip(flat, names, strict=True)
                      if type(n) is Number),
                frozenset(i for i, x in enumerate(flat)
                          if x is not None and x._node is None),
            )
        )  # fmt: skip

    def _attribute(self, op: Op, name: str, value: Any) -> Any:
        if type(value) is float and id(value) in self.live:
            return Read(self.live[id(value)][1], value)
        if op.draws is not None and name in ("seed", "offset"):
            which = 0 if name == "seed" else 1
            for at in range(len(self.draws) - 1, -1, -1):
                if self.draws[at][which] == value:
                    return Drawn(at, which)
        return value

    def event(self, name: str, *details: Any) -> None:
        """Keep what happened beside ops."""
        keep: Callable[..., None] | None = _EVENTS.get(name)
        if keep is not None:
            keep(self, *details)

    def _number(self, native: Any, value: Any, dtype: Any) -> None:
        self.names.note_number(native, Number(value, dtype))

    def _grad(self, target: Tensor, grad: Tensor | None) -> None:
        slot = self.slot(target)
        self.graded.add(slot.number)
        self.step(SetGrad(slot, None if grad is None else self.slot(grad)))

    def _accumulated(self, leaf: Leaf, gradient: Tensor) -> None:
        tensor = leaf.tensor()
        if tensor is not None and leaf.grad is not None:
            slot, grad = self.slot(tensor), self.slot(leaf.grad)
            before = self.found.get(grad.number)
            if before is not None and before.tensor is leaf.grad:
                self.found[grad.number] = Found(grad, leaf.grad, tensor)
            if slot.number not in self.graded:
                had = any(f.grad_of is tensor for f in self.found.values())
                self.recording.had_grad.append((slot, had))
                self.graded.add(slot.number)
            self.step(SetGrad(slot, grad))

    def _requires_grad(self, x: Tensor, wanted: bool) -> None:
        leaf = leaf_of(x._node)
        if leaf is None or id(leaf) in self.leaves or x not in self.names:
            slot = self.slot(x)
            self.step(SetRequiresGrad(slot, slot, wanted))
            return
        source = self.names[x]
        made = self.names.fresh(source.spec)
        self.leaves[id(leaf)] = (leaf, made)
        self.step(SetRequiresGrad(source, made, wanted))

    def _data(self, target: Tensor, value: Tensor) -> None:
        self.step(SetData(self.slot(target), self.slot(value)))

    def _rebound(self, x: Tensor, y: Tensor) -> None:
        self._tape(x, y, over=False)

    def _overwritten(self, x: Tensor, y: Tensor) -> None:
        self._tape(x, y, over=True)

    def _tape(self, x: Tensor, y: Tensor, *, over: bool) -> None:
        target, value = self.slot(x), self.named(y)
        on_tape = x._node is not None or y._node is not None
        if on_tape and grad_enabled() and type(value) is Slot:
            self.step(Rebind(target, value, y._node is None, over, True))

    def _draw(
        self, generator: Generator, words: int, align: int, seed: int, start: int
    ) -> None:
        self.step(Draw(len(self.draws), generator, words, align))
        self.draws.append((seed, start))

    def _seeded(self, generator: Generator, seed: int, offset: int) -> None:
        self.step(Seed(generator, seed, offset))

    def _live(self, value: float, read: Callable[[], float]) -> None:
        self.live[id(value)] = (value, read)

    def _perform(self, change: Callable[[], None]) -> None:
        self.step(Perform(change))

    def _made(self, x: Tensor) -> None:
        kind = x._kind
        self.step(Made(self.names.new(x), kind, kind.backend.copy_out(x._a)))

    def _read(self, x: Tensor, how: str) -> None:
        kind = x._kind
        values = kind.backend.copy_out(x._a).tobytes()
        self.step(ReadValue(self.slot(x), how, kind, values))

    def _outside(self, what: str) -> None:
        self.step(Outside(what))

    def _backward(self, run: Any) -> None:
        self.step(Note("backward"))

    def _backward_end(self, run: Any) -> None:
        self.step(Note("backward ends"))


_EVENTS: Any = {
    "number": ProgramRecorder._number, "grad": ProgramRecorder._grad,
    "accumulate": ProgramRecorder._accumulated,
    "requires_grad": ProgramRecorder._requires_grad, "data": ProgramRecorder._data,
    "rebind": ProgramRecorder._rebound, "overwrite": ProgramRecorder._overwritten,
    "seed": ProgramRecorder._seeded, "live": ProgramRecorder._live,
    "draw": ProgramRecorder._draw,
    "perform": ProgramRecorder._perform,
    "made": ProgramRecorder._made, "read": ProgramRecorder._read,
    "backward": ProgramRecorder._backward, "outside": ProgramRecorder._outside,
    "backward end": ProgramRecorder._backward_end,
}  # fmt: skip


def _root(x: Tensor) -> Any:
    """The memory that a tensor looks into."""
    return x._a if x._storage is None else x._storage.root


def _is_list(x: Any) -> bool:
    return type(x) is tuple


def _with_slots(value: Any, slot: Callable[[Tensor], Slot]) -> Any:
    if isinstance(value, Tensor):
        return slot(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_with_slots(v, slot) for v in value))
    if isinstance(value, list | tuple):
        return type(value)(_with_slots(v, slot) for v in value)
    if isinstance(value, dict):
        return {k: _with_slots(v, slot) for k, v in value.items()}
    return value


def record(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Recording:
    """Run `function` once and keep what it does.

    Ops are kept below promotion, so casts, writes in place, the accumulation of
    gradients, optimizer steps and what backward reads are all there. What Python
    decides is not: a replay does what was done, with other values. Run a training step
    once before it is recorded, so that its optimizer's state is there.

    Raises:
        CaptureError: never while recording; see `Recording.__call__`.
    """
    name = getattr(function, "__name__", type(function).__name__)
    recorder = ProgramRecorder(name, args, kwargs)
    with recorded(recorder):
        result = function(*args, **kwargs)
    return recorder.finish(result)


__all__ = ["ProgramRecorder", "record"]
