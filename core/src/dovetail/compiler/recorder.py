"""The recorder: writes down what a function does while it runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dovetail.compiler.arguments import Arguments, generators
from dovetail.compiler.arguments import leaves as tensors_in
from dovetail.compiler.effects import Alias, Become, Made, Note, Perform, SetData
from dovetail.compiler.limits import Begin, Outside, ReadValue, limits_of
from dovetail.compiler.recording import Recording, modes_now
from dovetail.compiler.results import with_slots
from dovetail.compiler.steps import Drawn, Read, Run, Step, Stream
from dovetail.compiler.streams import (
    CloneState,
    Draw,
    GetState,
    MakeGenerator,
    Seed,
    SetState,
)
from dovetail.compiler.tape_effects import (
    KeepCopies,
    LeaveTape,
    Rebind,
    RetainGrad,
    SetGrad,
    SetRequiresGrad,
)
from dovetail.compiler.values import Values
from dovetail.engine.generator import Generator
from dovetail.engine.graph import Call, Number, Slot
from dovetail.engine.modes import grad_enabled
from dovetail.engine.naming import ByIdentity, plain_attrs, targets
from dovetail.engine.op import Op
from dovetail.engine.scopes import Recorder
from dovetail.engine.scopes import record as recorded
from dovetail.engine.tape import Leaf, next_seq
from dovetail.engine.tensor import Tensor


class ProgramRecorder(Recorder):
    """Keeps the steps of one run."""

    def __init__(
        self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self.values = Values(list(tensors_in((args, kwargs))))
        self.slot = self.values.slot
        self.made: list[Slot] = []  # what is on the tape
        self.marks: dict[int, int] = {}  # where among it what is written begins
        self.draws: list[tuple[int, int]] = []
        self.streams: ByIdentity[Stream] = ByIdentity()  # given, or made here
        self.stream_count = 0
        for generator in generators((args, kwargs)):
            self._new_stream(generator)
        self.live: dict[int, tuple[float, Callable[[], float]]] = {}
        self.graded: set[int] = set()  # tensors whose `.grad` was set or added to
        arguments = Arguments.of(args, kwargs, self.values.argument)
        self.recording = Recording(name, arguments, modes=modes_now())

    def step(self, step: Step) -> None:
        """Keep what was done."""
        self.recording.steps.append(step)

    def finish(self, result: Any) -> Recording:
        """The recording, once the function gave its result."""
        made = self.recording
        made.result = with_slots(result, self.as_given)
        made.found = list(self.values.found.values())
        return made

    def as_given(self, x: Tensor) -> Slot:
        """What a tensor is called that leaves the function: off the tape if it is."""
        slot = self.slot(x)
        if x.requires_grad or self.values.is_known(x):
            return slot
        return self._alias(x, slot, Alias.DETACHED)

    def _alias(self, made: Tensor, source: Slot, how: str) -> Slot:
        slot = self.values.another(made, source)
        self.step(Alias(source, slot, how))
        return self.slot(made)

    # ---- what happens

    def call(
        self, op: Op, inputs: tuple[Any, ...], attrs: dict[str, Any],
        outs: tuple[Tensor, ...],
    ) -> None:  # fmt: skip
        """Keep an op call."""
        given = tuple(map(self.values.named, inputs))
        flat = [v for x in inputs for v in (x if isinstance(x, list) else (x,))]
        names = [v for x in given for v in (x if type(x) is tuple else (x,))]
        own = {k: self._attribute(op, k, v) for k, v in attrs.items()}
        written = targets(op, inputs)
        self.values.count_writes(written)
        writes = tuple(map(self.slot, written))
        made = tuple(map(self.values.result, outs))
        self.made += [s for s, y in zip(made, outs, strict=True) if y.requires_grad]
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
        self.values.names.note_number(native, Number(value, dtype))

    def _grad(self, target: Tensor, grad: Tensor | None) -> None:
        slot = self.slot(target)
        self.graded.add(slot.number)
        self.step(SetGrad(slot, None if grad is None else self.as_given(grad)))

    def _accumulated(self, leaf: Leaf, gradient: Tensor) -> None:
        tensor = leaf.tensor()
        if tensor is not None and leaf.grad is not None:
            slot, grad = self.slot(tensor), self.as_given(leaf.grad)
            found = self.values.found
            before = found.get(grad.number)
            if before is not None and before.tensor is leaf.grad:
                found[grad.number] = replace(before, grad_of=tensor)
            if slot.number not in self.graded:
                had = any(f.grad_of is tensor for f in found.values())
                self.recording.had_grad.append((slot, had))
                self.graded.add(slot.number)
            self.step(SetGrad(slot, grad))

    def _requires_grad(self, x: Tensor, wanted: bool) -> None:
        source = self.values.source(x)
        if source is None:
            slot = self.values.same(x)
        else:  # another tensor over an array that is known, as of `nn.Parameter`
            slot = self._alias(x, source, Alias.DETACHED)
        self.step(SetRequiresGrad(slot, wanted))

    def _retain_grad(self, x: Tensor) -> None:
        self.step(RetainGrad(self.slot(x)))

    def _data(self, target: Tensor, value: Tensor) -> None:
        data = self.slot(value)
        self.step(SetData(self.values.takes(target, value), data))

    def _become(self, x: Tensor, view: Tensor) -> None:
        seen = self.slot(view)
        self.step(Become(self.values.takes(x, view), seen))

    def _rebound(self, x: Tensor, y: Tensor) -> None:
        self._tape(x, y, over=False)

    def _in_place(self, x: Tensor) -> None:
        self.marks[id(x)] = len(self.made)

    def _keep(self, x: Tensor) -> None:
        made = self.made[self.marks.pop(id(x)) :]
        self.step(KeepCopies(self.slot(x), tuple(made)))

    def _overwritten(self, x: Tensor, y: Tensor) -> None:
        self._tape(x, y, over=True)

    def _tape(self, x: Tensor, y: Tensor, *, over: bool) -> None:
        target, value = self.slot(x), self.values.named(y)
        on_tape = x._node is not None or y._node is not None
        if on_tape and grad_enabled() and type(value) is Slot:
            self.step(Rebind(target, value, y._node is None, over, True))

    def _alias_of(self, x: Tensor, made: Tensor, how: str) -> None:
        self._alias(made, self.slot(x), how)

    def _off_tape(self, x: Tensor) -> None:
        self.step(LeaveTape(self.slot(x)))

    def _stream(self, generator: Generator) -> Stream:
        known = self.streams.get(generator)
        return Stream(generator.device, None, generator) if known is None else known

    def _generator(self, generator: Generator) -> None:
        self.step(MakeGenerator(self._new_stream(generator)))

    def _new_stream(self, generator: Generator) -> Stream:
        stream = Stream(generator.device, self.stream_count)
        self.streams[generator] = stream
        self.stream_count += 1
        return stream

    def _draw(
        self, generator: Generator, words: int, align: int, seed: int, start: int
    ) -> None:
        self.step(Draw(len(self.draws), self._stream(generator), words, align))
        self.draws.append((seed, start))

    def _seeded(self, generator: Generator, seed: int, offset: int) -> None:
        self.step(Seed(self._stream(generator), seed, offset))

    def _state(self, generator: Generator, state: Tensor) -> None:
        self.step(GetState(self._stream(generator), self.values.new(state)))

    def _state_cloned(self, generator: Generator, clone: Generator) -> None:
        self.step(CloneState(self._stream(generator), self._stream(clone)))

    def _state_set(self, generator: Generator, state: Tensor) -> None:
        self.step(SetState(self._stream(generator), self.slot(state)))

    def _live(self, value: float, read: Callable[[], float]) -> None:
        self.live[id(value)] = (value, read)

    def _perform(self, change: Callable[[], None]) -> None:
        self.step(Perform(change))

    def _made(self, x: Tensor) -> None:
        kind = x._kind
        self.step(Made(self.values.new(x), kind, kind.backend.copy_out(x._a)))

    def _read(self, x: Tensor, how: str) -> None:
        values = x._kind.backend.copy_out(x._a).tobytes()
        self.step(ReadValue(self.slot(x), how, values))

    def _outside(self, what: str) -> None:
        self.step(Outside(what))

    def _begun(self, what: str) -> None:
        self.step(Begin(what))


_EVENTS: Any = {
    "number": ProgramRecorder._number,
    "grad": ProgramRecorder._grad,
    "accumulate": ProgramRecorder._accumulated,
    "requires_grad": ProgramRecorder._requires_grad,
    "retain_grad": ProgramRecorder._retain_grad,
    "data": ProgramRecorder._data,
    "rebind": ProgramRecorder._rebound,
    "in place": ProgramRecorder._in_place,
    "keep": ProgramRecorder._keep,
    "overwrite": ProgramRecorder._overwritten,
    "alias": ProgramRecorder._alias_of,
    "become": ProgramRecorder._become,
    "detach_": ProgramRecorder._off_tape,
    "generator": ProgramRecorder._generator,
    "state": ProgramRecorder._state,
    "set state": ProgramRecorder._state_set,
    "clone state": ProgramRecorder._state_cloned,
    "seed": ProgramRecorder._seeded,
    "draw": ProgramRecorder._draw,
    "live": ProgramRecorder._live,
    "perform": ProgramRecorder._perform,
    "begin": ProgramRecorder._begun,
    "made": ProgramRecorder._made,
    "read": ProgramRecorder._read,
    "outside": ProgramRecorder._outside,
    "backward": lambda self, run: self.step(Note("backward")),
    "backward end": lambda self, run: self.step(Note("backward ends")),
}


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
    start = next_seq()
    with recorded(recorder):
        result = function(*args, **kwargs)
    for limit in limits_of(result, start, recorder.values.was_there):
        recorder.step(limit)
    return recorder.finish(result)


__all__ = ["ProgramRecorder", "record"]
