"""What a compiled function did so far: a tree of steps, each branch a recording.

Python runs at every call, so a program means what it meant before; each step is
compared with the steps known at this place. A call that follows a branch to its end is
a replay of it; one that leaves the tree grows a branch. Numbers among operands and
scalars may vary without a new branch: they are inputs.
"""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from dovetail.compiler.arguments import leaves as tensors_in
from dovetail.compiler.arguments import looks, sharing
from dovetail.compiler.limits import Outside, ReadValue
from dovetail.compiler.recorder import ProgramRecorder
from dovetail.compiler.results import replace_slots
from dovetail.compiler.stances import EAGER_ON_RECOMPILE, FAIL_ON_RECOMPILE, stance
from dovetail.compiler.steps import Run, Step
from dovetail.engine.graph import Slot
from dovetail.engine.modes import is_grad_enabled
from dovetail.engine.results import DATA
from dovetail.errors import CaptureError


@dataclass(slots=True)
class Place:
    """A step of a program, and what may come after it.

    Attributes:
        likeness: what a call must do here to follow this branch.
        numbers: the numbers of the first call; None once another call had others.
        ends: how many calls ended here.
    """

    likeness: Any
    text: str
    numbers: Any = ()
    after: list[Place] = field(default_factory=list)
    ends: int = 0

    def next(self, likeness: Any) -> Place | None:
        """The branch that goes on with such a step."""
        return next((p for p in self.after if p.likeness == likeness), None)


@dataclass(frozen=True, slots=True)
class Report:
    """What a compiled function did, and why.

    Attributes:
        calls: how often it was called.
        recordings: how many branches were recorded.
        replays: how many calls followed a recorded branch to its end.
        errors: how many calls raised.
        varying: how many numbers differ from call to call and are inputs.
        breaks: where Python read values, or shapes depended on them, and how often.
        fallbacks: why calls ran without being followed, and how often.
        listings: the recorded branches, as text.
    """

    name: str
    calls: int
    recordings: int
    replays: int
    errors: int
    varying: int
    breaks: dict[str, int]
    fallbacks: dict[str, int]
    listings: tuple[str, ...]

    def __str__(self) -> str:
        lines = [
            f"{self.name}: {self.calls} calls, {self.recordings} recordings, "
            f"{self.replays} replays, {self.errors} errors, "
            f"{self.varying} varying numbers"
        ]
        lines += [f"  break: {why} ({n} times)" for why, n in self.breaks.items()]
        lines += [f"  fallback: {why} ({n} times)" for why, n in self.fallbacks.items()]
        return "\n".join([*lines, *self.listings])


class Program:
    """The branches of one function, shared by all threads that call it."""

    def __init__(self, name: str, limit: int, fullgraph: bool) -> None:
        self.name = name
        self.limit = limit
        self.fullgraph = fullgraph
        self._lock = threading.Lock()
        self.forget()

    def forget(self) -> None:
        """Start anew, with no branches and no counts."""
        with self._lock:
            self.root = Place(None, "")
            self.calls = self.recordings = self.replays = self.errors = 0
            self.breaks: Counter[str] = Counter()
            self.fallbacks: Counter[str] = Counter()

    def fall_back(self, why: str) -> None:
        """Count a call that is not followed.

        Raises:
            CaptureError: the function was to be captured whole.
        """
        self.pass_by(why)
        if self.fullgraph:
            raise self.refusal(why)

    def pass_by(self, why: str) -> None:
        """Count a call that was to be no part of a recording."""
        with self._lock:
            self.calls += 1
            self.fallbacks[why] += 1

    def is_new(self) -> bool:
        """Whether there was no call yet."""
        return not self.calls

    def fail(self) -> None:
        """Count a call that raised."""
        with self._lock:
            self.calls += 1
            self.errors += 1

    def refusal(self, why: str) -> CaptureError:
        """The error where `fullgraph=True` does not hold."""
        return CaptureError(
            self.name, "fullgraph", was=why, needed="one graph",
            remedy="keep values in tensors, or compile with fullgraph=False",
        )  # fmt: skip

    def learn(
        self, path: list[tuple[Any, str, Any]], breaks: Counter[str], grows: bool
    ) -> None:
        """Count a call that did what `path` says: a replay, or a new branch.

        Args:
            grows: whether there may be new branches.

        Raises:
            CaptureError: it is one branch too many for a function that shall be whole.
        """
        with self._lock:
            self.breaks += breaks
            follows = self._known(path)
            if follows or (grows and self.recordings < self.limit):
                self.calls += 1
                self._graft(path)
                return
        if not grows:
            self.pass_by("the stance wants no new branch")
            return
        self.fall_back(f"there are {self.limit} branches already")

    def _known(self, path: list[tuple[Any, str, Any]]) -> bool:
        place: Place | None = self.root
        for likeness, _, _ in path:
            place = None if place is None else place.next(likeness)
        return place is not None and bool(place.ends)

    def _graft(self, path: list[tuple[Any, str, Any]]) -> None:
        place, fresh = self.root, False
        for likeness, text, numbers in path:
            known = place.next(likeness)
            if known is None:
                known, fresh = Place(likeness, text, numbers), True
                place.after.append(known)
            elif known.numbers != numbers:
                known.numbers = None
            place = known
        fresh = fresh or not place.ends
        place.ends += 1
        self.recordings += fresh
        self.replays += not fresh

    def report(self) -> Report:
        """What was done so far."""
        with self._lock:
            branches = list(_branches(self.root, []))
            places = {id(p): p for branch in branches for p in branch}
            return Report(
                self.name, self.calls, self.recordings, self.replays, self.errors,
                sum(p.numbers is None for p in places.values()), dict(self.breaks),
                dict(self.fallbacks), tuple(map(_listing, branches)),
            )  # fmt: skip


def _branches(place: Place, before: list[Place]) -> Any:
    if place.ends:
        yield before
    for after in place.after:
        yield from _branches(after, [*before, after])


def _listing(branch: list[Place]) -> str:
    head, *rest = (p.text for p in branch)
    return "\n".join([head, *(f"  {text}" for text in rest)])


class Follower(ProgramRecorder):
    """Compares what one call does with what is known, step by step."""

    def __init__(
        self, program: Program, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        super().__init__(program.name, args, kwargs)
        self.program = program
        self.breaks: Counter[str] = Counter()
        tensors = list(tensors_in((args, kwargs)))
        seen = tuple(map(looks, tensors))
        likeness = (seen, sharing(tensors), is_grad_enabled())
        text = f"{program.name}({self.recording.arguments}):"
        self.path: list[tuple[Any, str, Any]] = [(likeness, text, ())]
        self.place = program.root.next(likeness)
        self.stance = stance()
        self._stay("other arguments, or modes")

    def step(self, step: Step) -> None:
        """Go on along a known branch, or off the tree.

        Raises:
            CaptureError: the program leaves the graph that was asked to be whole.
        """
        self._look_for_break(step)
        likeness = step.likeness()
        known = None if self.place is None else self.place.next(likeness)
        text = str(step) if known is None else known.text
        self.path.append((likeness, text, step.varying()))
        self.place = known
        self._stay(text)

    def _stay(self, where: str) -> None:
        """Raise off the known branches, where the stance says so."""
        if self.place is None and self.stance == FAIL_ON_RECOMPILE:
            raise CaptureError(
                self.program.name, "call",
                was=f"unlike any before: {where}",
                needed=f"a known branch, as the stance is {FAIL_ON_RECOMPILE!r}",
            )  # fmt: skip

    def _look_for_break(self, step: Step) -> None:
        why = None
        if isinstance(step, ReadValue):
            why = f"Python read {step.source!r} by {step.how}"
        elif isinstance(step, Outside):
            why = str(step)
        elif isinstance(step, Run) and step.op.shape is DATA:
            why = f"the shape of {step.op.name} depends on values"
        if why is not None:
            self.breaks[why] += 1
            if self.program.fullgraph:
                raise self.program.refusal(why)

    def end(self, result: Any) -> None:
        """Tell the program what the call did."""
        made = self.finish(result).result
        slots: list[Slot] = []
        replace_slots(made, slots.append)
        likeness, text = (tuple(slots), "end"), f"return {made!r}"
        self.path.append((likeness, text, ()))
        self.place = None if self.place is None else self.place.next(likeness)
        self._stay(text)
        self.program.learn(self.path, self.breaks, self.stance != EAGER_ON_RECOMPILE)
