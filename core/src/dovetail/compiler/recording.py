"""Recordings: what a function did, as data, and its replay without the function.

A recording is a list of steps: op calls, and what a program does beside them, such as
setting `.grad` or drawing places in a stream of random words. Values are slots; a
replay keeps a tensor for each while it is needed. What was there before the function
ran (parameters, buffers, state) is found again where it was, not copied.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dovetail.compiler.arguments import Arguments, generators, root_of
from dovetail.compiler.limits import Limit
from dovetail.compiler.results import replace_slots
from dovetail.compiler.steps import Replay, Run, Step
from dovetail.device_api.current import choice
from dovetail.dtypes import get_default_dtype
from dovetail.engine import scopes
from dovetail.engine.autocast import casting
from dovetail.engine.graph import Slot
from dovetail.engine.modes import default_device, is_grad_enabled
from dovetail.engine.naming import spec_of
from dovetail.engine.tensor import Tensor
from dovetail.errors import CaptureError


@dataclass(frozen=True, slots=True)
class Found:
    """A tensor that was there before: itself, or the gradient of one that was.

    Attributes:
        grad_of: it is looked up as the `.grad` of this tensor.
        beside: whether it has the memory of an argument.
    """

    slot: Slot
    tensor: Tensor
    grad_of: Tensor | None = None
    beside: bool = False

    def now(self) -> Tensor:
        """The tensor of today, if it still looks as it did.

        Raises:
            CaptureError: it does not.
        """
        tensor = self.tensor if self.grad_of is None else self.grad_of.grad
        if tensor is None:
            raise _changed(self.slot, "having a gradient or none")
        if spec_of(tensor) != self.slot.spec:
            raise _changed(self.slot, "shape, dtype or layout")
        return tensor

    def __str__(self) -> str:
        what = "grad of a tensor found" if self.grad_of is not None else "found"
        return f"{self.slot.describe()} ({what})"


def _changed(slot: Slot, what: str) -> CaptureError:
    return CaptureError(
        "Recording", f"tensor {slot}", was=f"changed in {what} since it was recorded",
        needed="one like the recorded one", remedy="record the function again",
    )  # fmt: skip


def modes_now() -> dict[str, Any]:
    """What holds in this context and decides what ops a function calls, by name."""
    scope = scopes.current()
    return {
        "grad mode": is_grad_enabled(),
        "autocast": {
            kind: str(c.dtype) for kind, c in (casting() or {}).items() if c.is_open
        },
        "interposers": 0 if scope is None else len(scope.interposers),
        "default dtype": get_default_dtype(),
        "default device": str(default_device()),
        "current devices": choice.get().indices,
    }


@dataclass(slots=True)
class Recording:
    """What a function did with its arguments.

    Attributes:
        arguments: their structure, with what a call must share with the recorded one.
        found: tensors that were there before and are no arguments.
        had_grad: whether tensors to which gradients were added had one before.
        steps: what was done, in order.
        result: the function's result, tensors replaced by slots.
        modes: what held when it was recorded, by name.
    """

    name: str
    arguments: Arguments
    found: list[Found] = field(default_factory=list)
    had_grad: list[tuple[Slot, bool]] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    result: Any = None
    modes: dict[str, Any] = field(default_factory=dict)

    @property
    def calls(self) -> list[Run]:
        """The op calls among the steps."""
        return [s for s in self.steps if isinstance(s, Run)]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Do the recorded steps with other arguments; the function is not called.

        Numbers that live in Python's state (rates and step counts of optimizers) are
        read and counted again; all else that Python decided stays as recorded.

        Raises:
            CaptureError: the arguments, or what was found beside them, differ from
                the recorded ones in more than values; or a value that Python read
                has changed. What was done before that stays done.
        """
        for mode, now in modes_now().items():
            if now != self.modes[mode]:
                raise CaptureError(
                    self.name, mode, was=now, needed=f"{self.modes[mode]}, as recorded"
                )
        replay = Replay(self.name, self.arguments.bind(self.name, args, kwargs))
        replay.streams |= enumerate(generators((args, kwargs)))
        for step in self.steps:
            if isinstance(step, Limit):
                step.do(replay)
        self._find(replay.values)
        with scopes.without_interposers():
            for step, dead in zip(self.steps, self._deaths(), strict=True):
                step.do(replay)
                for number in dead:
                    del replay.values[number]
        return replace_slots(self.result, lambda slot: replay.values[slot.number])

    def _find(self, values: dict[int, Tensor]) -> None:
        """Add what is found beside the arguments, as it is now.

        Raises:
            CaptureError: it is other than it was.
        """
        given = {id(root_of(x)) for x in values.values()}
        for entry in self.found:
            tensor = values[entry.slot.number] = entry.now()
            if (id(root_of(tensor)) in given) != entry.beside:
                raise CaptureError(
                    self.name, f"tensor {entry.slot}, found beside the arguments",
                    was="sharing memory with them, or not, as it was recorded not to",
                    needed="arguments of other memory, or of the same, as recorded",
                    remedy="record the function for these arguments",
                )  # fmt: skip
        for slot, had in self.had_grad:
            known = values.get(slot.number)  # else it is made by a step
            if known is not None and (known.grad is not None) != had:
                raise _changed(slot, "having a gradient or none")

    def _deaths(self) -> list[list[int]]:
        """After each step, the slots that nothing needs any more."""
        seen: set[int] = set()
        replace_slots(self.result, lambda slot: seen.add(slot.number))
        given = {e.slot.number for e in self.found} | self.arguments.numbers()
        found = []
        for step in reversed(self.steps):
            used = {s.number for s in step.slots()}
            found.append([n for n in used - seen if n not in given])
            seen |= used
        return found[::-1]

    def __str__(self) -> str:
        lines = [f"{self.name}({self.arguments}):"]
        lines += [f"  {entry}" for entry in self.found]
        lines += [f"  {step}" for step in self.steps]
        return "\n".join([*lines, f"  return {self.result!r}"])


__all__ = ["Found", "Recording", "modes_now"]
