"""`lockstep`: one training step on two devices, op by op."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final

import numpy as np

from dovetail.engine import scopes
from dovetail.engine.op import Op
from dovetail.errors import ArgumentError
from dovetail.testing.comparison.call_sites import CallSite, CallSites
from dovetail.testing.comparison.inputs import Where, results_of
from dovetail.testing.comparison.judge import Asked, Judge
from dovetail.testing.comparison.noise import Noise
from dovetail.testing.comparison.outcome import Leaves, drift, leaves, parting
from dovetail.testing.comparison.report import Divergence, Lockstep, LockstepError
from dovetail.testing.comparison.shadow import Shadow, Step
from dovetail.testing.comparison.streams import one_stream

Program = Callable[[str], Any]

# Whether they are called depends on where tensors lie and what a device holds.
_UNCOUNTED: Final = frozenset({"transfer", "cast", "clone"})


def lockstep(
    fn: Program, device: str, reference: str = "cpu", *, seed: int = 0,
    rtol: float | None = None, atol: float | None = None,
    folder: str | Path | None = ".", setup: str = "", raise_on_divergence: bool = True,
) -> Lockstep:  # fmt: skip
    """Run a step on two devices and find the first op at which they part.

    Each op that the step calls on `device` is called on `reference` too, with copies
    of the same inputs: forward, backward and optimizer. The step then runs whole on
    `reference`, so that another order of ops and a drift that no single op explains
    are found as well; where it drifts, once more, to measure what rounding does.

    Args:
        fn: the step. It is given a device string, makes its model and data there (or
            moves copies there), and returns anything: a loss, a module, a dict. It
            must do the same each time it is called.
        device: the device that is examined.
        reference: the device that is trusted.
        seed: of dovetail's, Python's and NumPy's random numbers, for every run; what
            is drawn on the CPU and on the device comes from one stream.
        rtol, atol: the tolerance of each op, |got - want| ≤ atol + rtol |want|, in
            place of the one by format, conditioning and number of terms; what the
            step returns may drift as far as such errors bring it.
        folder: where `lockstep-<op>-<call>/` with the inputs of the first divergence
            and `reproduce.py` is written; None for nowhere.
        setup: lines that `reproduce.py` starts with, e.g. the import that registers
            a device.
        raise_on_divergence: whether a divergence raises; else it is in the report.

    Returns: what was found.
    Raises:
        LockstepError: the devices part; `report` holds the same.
    """
    report = Lockstep(device, reference)
    asked = _asked(rtol, atol)
    judge = Judge(
        Where.named(device), Where.named(reference), report, asked,
        None if folder is None else Path(folder), setup,
    )  # fmt: skip
    report.first = _Comparison(fn, judge, seed).first()
    if report.first is not None and raise_on_divergence:
        raise LockstepError(report)
    return report


def _asked(rtol: float | None, atol: float | None) -> Asked | None:
    for name, value in (("rtol", rtol), ("atol", atol)):
        if value is not None and not value >= 0:
            raise ArgumentError("lockstep", name, was=value, needed="at least 0")
    if rtol is None and atol is None:
        return None
    return Asked(rtol or 0.0, atol or 0.0)


@dataclass(slots=True)
class _Ending:
    """How one run of the step ended."""

    result: Leaves = field(default_factory=dict)
    error: Exception | None = None


@dataclass(slots=True)
class _Trace:
    """The interposer that notes the order of ops."""

    places: CallSites = field(default_factory=CallSites)
    steps: list[Step] = field(default_factory=list)

    def __call__(
        self, op: Op, inputs: tuple[Any, ...], attrs: dict[str, Any],
        proceed: Callable[..., Any],
    ) -> Any:  # fmt: skip
        place = self.places.here()
        made = proceed(inputs, attrs)
        self.places.note(op.name, place, made)
        shapes = tuple(tuple(y._a.shape) for y in results_of(made))
        self.steps.append(Step(op.name, shapes, place, len(self.steps) + 1))
        return made


@dataclass(slots=True)
class _Comparison:
    """The runs of one comparison."""

    fn: Program
    judge: Judge
    seed: int

    def first(self) -> Divergence | None:
        """The first divergence, if any."""
        report = self.judge.report
        shadow, trace = Shadow(self.judge), _Trace()
        mine = self._run(report.device, shadow)
        if shadow.first is not None:
            return shadow.first
        theirs = self._run(report.reference, trace)
        if mine.error is not None and type(mine.error) is type(theirs.error):
            raise mine.error  # the step fails everywhere: no matter of devices
        if mine.error is not None or theirs.error is not None:
            return self._one_raised(mine, theirs, shadow.steps, trace.steps)
        parted = self._order(shadow.steps, trace.steps)
        if parted is not None:
            return parted
        with np.errstate(all="ignore"):  # values may be anything
            report.drift = drift(mine.result, theirs.result)
            return self._outcome(mine.result, theirs.result)

    def _run(self, device: str, watching: Any) -> _Ending:
        names = (self.judge.report.device, self.judge.report.reference)
        with one_stream(self.seed, names), scopes.interpose(watching):
            try:
                result = self.fn(device)
            except Exception as error:
                return _Ending(error=error)
        return _Ending(leaves(result))

    def _one_raised(
        self, mine: _Ending, theirs: _Ending, a: list[Step], b: list[Step]
    ) -> Divergence:
        """The step failed on one device, or differently on both, outside of any op."""
        report = self.judge.report
        parted = self._order(a, b)
        told = [
            f"{name} {_outcome_of(run.error)}"
            for name, run in ((report.device, mine), (report.reference, theirs))
        ]
        steps = a if mine.error is not None else b
        last = steps[-1] if steps else Step("the step", (), CallSite(), 0)
        message = f"after this call, {', '.join(told)}"
        if parted is not None:
            message += f"; before that, {parted.op}: {parted.message}"
        return Divergence("raised", last.op, last.call, last.place, message)

    def _order(self, a: list[Step], b: list[Step]) -> Divergence | None:
        """The first op that only one of the devices ran."""
        report = self.judge.report
        ours, theirs = _counted(a), _counted(b)
        for mine, other in zip_longest(ours, theirs):
            same = mine and other and mine.op == other.op
            if same and mine.shapes == other.shapes:
                continue
            step = mine or other
            message = (
                f"another order of ops: {report.device} {_ran(mine)}, "
                f"{report.reference} {_ran(other)}"
            )
            return Divergence("order", step.op, step.call, step.place, message)
        return None

    def _outcome(self, got: Leaves, want: Leaves) -> Divergence | None:
        reference, asked = self.judge.report.reference, self.judge.asked
        rtol, atol = (0.0, 0.0) if asked is None else (asked.rtol, asked.atol)

        def noisy() -> Leaves:
            noise = Noise(self.judge.reference, 0, rtol, atol)
            return self._run(reference, noise).result

        found = parting(got, want, noisy)
        if found is None:
            return None
        path, message, values = found
        return Divergence("result", path, 0, CallSite(), message, difference=values)


def _counted(steps: list[Step]) -> list[Step]:
    return [s for s in steps if s.op not in _UNCOUNTED]


def _ran(step: Step | None) -> str:
    if step is None:
        return "ran nothing more"
    shapes = " ".join(str(list(s)) for s in step.shapes)
    at = f" at {step.place.line}" if step.place.line else ""
    return f"ran {step.op}{' ' if shapes else ''}{shapes}{at}"


def _outcome_of(error: Exception | None) -> str:
    return "went on" if error is None else f"raised {type(error).__name__}: {error}"
