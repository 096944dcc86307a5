"""Recording: every op that a function calls, in order, with what flows between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from dovetail.engine import scopes
from dovetail.engine.op import Op
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError


@dataclass(frozen=True, slots=True)
class Slot:
    """A value of the program by its number."""

    number: int

    def __repr__(self) -> str:
        return f"%{self.number}"


@dataclass(frozen=True, slots=True)
class Call:
    """One op call: inputs are slots, numbers, None, or lists of these."""

    op: Op
    inputs: tuple[Any, ...]
    attrs: dict[str, Any]
    outputs: tuple[Slot, ...]

    def __str__(self) -> str:
        shown = [*map(str, self.inputs), *(f"{k}={v}" for k, v in self.attrs.items())]
        left = ", ".join(map(str, self.outputs))
        return f"{left + ' = ' if left else ''}{self.op.name}({', '.join(shown)})"


@dataclass(slots=True)
class Recording:
    """What a function did: its calls, and where its inputs and results are.

    Attributes:
        inputs: slots of the tensors that the function was given.
        constants: tensors that it found elsewhere, by slot.
        calls: the ops in order.
        result: the function's result, tensors replaced by slots.
    """

    inputs: tuple[Slot, ...] = ()
    constants: dict[Slot, Tensor] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    result: Any = None

    def __call__(self, *inputs: Tensor) -> Any:
        """Run the recorded calls on other inputs.

        Raises:
            ArgumentError: the number of inputs differs.
        """
        if len(inputs) != len(self.inputs):
            raise ArgumentError(
                "Recording", "inputs", was=len(inputs), needed=len(self.inputs)
            )
        values: dict[Any, Any] = dict(zip(self.inputs, inputs, strict=True))
        values.update(self.constants)
        for call in self.calls:
            arguments = [_substitute(x, values) for x in call.inputs]
            made = call.op.function(*arguments, **call.attrs)
            results = made if isinstance(made, tuple | list) else (made,)
            values.update(zip(call.outputs, results, strict=False))
        return _substitute(self.result, values)

    def __str__(self) -> str:
        lines = [f"inputs {', '.join(map(str, self.inputs))}"]
        lines += [
            f"const {s}: {t.dtype.name}{list(t.shape)}"
            for s, t in self.constants.items()
        ]
        return "\n".join([*lines, *map(str, self.calls), f"return {self.result}"])


def record(function: Callable[..., Any], *inputs: Tensor) -> Recording:
    """Run `function(*inputs)` and keep every op that it calls.

    Backward passes and in-place writes are recorded like the rest. Values that leave
    the tensors (`.item()`) and Python's own decisions are not.
    """
    made = _Recorder(inputs)
    with scopes.interpose(made):
        result = function(*inputs)
    made.recording.result = made.named(result)
    return made.recording


class _Recorder:
    """The interposer that writes a recording."""

    def __init__(self, inputs: Sequence[Tensor]) -> None:
        self.slots: dict[int, Slot] = {}
        self.alive: list[Tensor] = []  # keeps identities unique while recording
        self.recording = Recording(tuple(self._new(x) for x in inputs))

    def _new(self, x: Tensor) -> Slot:
        slot = self.slots[id(x)] = Slot(len(self.alive))
        self.alive.append(x)
        return slot

    def named(self, value: Any) -> Any:
        """`value` with its tensors replaced by slots."""
        if isinstance(value, Tensor):
            slot = self.slots.get(id(value))
            if slot is None:
                slot = self._new(value)
                self.recording.constants[slot] = value
            return slot
        if isinstance(value, list | tuple):
            return type(value)(self.named(v) for v in value)
        return value

    def __call__(
        self, op: Op, inputs: tuple[Any, ...], attrs: dict[str, Any],
        proceed: Callable[..., Any],
    ) -> Any:  # fmt: skip
        names = tuple(self.named(x) for x in inputs)
        made = proceed(inputs, attrs)
        results = made if isinstance(made, tuple | list) else (made,)
        outputs = tuple(self._new(y) for y in results if isinstance(y, Tensor))
        self.recording.calls.append(Call(op, names, dict(attrs), outputs))
        return made


def _substitute(value: Any, values: dict[Any, Any]) -> Any:
    if isinstance(value, Slot):
        return values[value]
    if isinstance(value, list | tuple):
        return type(value)(_substitute(v, values) for v in value)
    return value
