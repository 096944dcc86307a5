"""Every op call of a step, repeated on another device with the same inputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dovetail.dtypes import Array
from dovetail.engine import modes, scopes
from dovetail.engine.basics import basics
from dovetail.engine.bodies import run_body
from dovetail.engine.kinds import Kind
from dovetail.engine.op import Op
from dovetail.engine.tensor import Tensor
from dovetail.errors import DTypeError
from dovetail.testing.comparison import reproduction
from dovetail.testing.comparison.call_sites import CallSite, CallSites
from dovetail.testing.comparison.inputs import (
    Inputs,
    Where,
    composed,
    host_of,
    results_of,
)
from dovetail.testing.comparison.judge import Judge
from dovetail.testing.comparison.report import Divergence, Lockstep
from dovetail.testing.comparison.values import Difference


@dataclass(slots=True)
class Step:
    """One op call in the order of a run."""

    op: str
    shapes: tuple[tuple[int, ...], ...]
    place: CallSite
    call: int


@dataclass(slots=True)
class Shadow:
    """The interposer that compares each op call of a device with the reference."""

    judge: Judge
    places: CallSites = field(default_factory=CallSites)
    steps: list[Step] = field(default_factory=list)
    calls: int = 0
    first: Divergence | None = None

    def __call__(
        self, op: Op, inputs: tuple[Any, ...], attrs: dict[str, Any],
        proceed: Callable[..., Any],
    ) -> Any:  # fmt: skip
        self.calls += 1
        place = self.places.here()
        if not _concerns(self.judge.device, inputs, attrs):
            made = proceed(inputs, attrs)
            self._noted(op, place, made)
            return made
        taken = Inputs(op, inputs, attrs, self.judge.device)
        try:
            made = proceed(inputs, attrs)
        except Exception as error:
            with np.errstate(all="ignore"):
                self._refused(taken, place, error)
            raise
        self._noted(op, place, made)
        if not op.unspecified:
            with np.errstate(all="ignore"):  # values may be anything
                self._compare(taken, made, place)
        return made

    def _noted(self, op: Op, place: CallSite, made: Any) -> None:
        self.places.note(op.name, place, made)
        shapes = tuple(tuple(y._a.shape) for y in results_of(made))
        self.steps.append(Step(op.name, shapes, place, self.calls))

    def _refused(self, taken: Inputs, place: CallSite, error: Exception) -> None:
        """A call that only the device refuses is a divergence."""
        try:
            taken.on(self.judge.reference).run()
        except Exception:  # refused by both: the caller's own error
            return
        self._diverge(
            "raised", taken, place,
            f"{self.judge.report.device} raised {type(error).__name__}: {error}",
        )  # fmt: skip

    def _compare(self, taken: Inputs, made: Any, place: CallSite) -> None:
        report = self.judge.report
        got = [host_of(y) for y in results_of(made)]
        got += [host_of(taken.values[n].source) for n in taken.written()]
        changed = self._changed(taken)
        if changed:
            self._diverge("input", taken, place, f"it changed its input {changed}")
        try:
            want = self._wanted(taken)
        except DTypeError as error:
            report.uncompared[taken.op.name] = str(error)
            return
        except Exception as error:
            self._diverge(
                "raised", taken, place, f"{report.reference} raised "
                f"{type(error).__name__}: {error}",
            )  # fmt: skip
            return
        self._weigh(taken, got, want, place)

    def _weigh(
        self, taken: Inputs, got: list[Array], want: list[Array], place: CallSite
    ) -> None:
        """Judge the results of both devices."""
        report = self.judge.report
        record = report.record(taken.op.name)
        record.calls += 1
        mismatch = self.judge.mismatch(got, want)
        if mismatch:
            record.beyond += 1
            self._diverge("value", taken, place, mismatch)
            return
        found, worst = self.judge.differences(taken, got, want, _names(taken, got))
        record.worst = max(record.worst, worst)
        if found:
            record.beyond += 1
            message = f"{report.device} and {report.reference} differ beyond tolerance"
            self._diverge("value", taken, place, message, found[0], (got, want))

    def _wanted(self, taken: Inputs) -> list[Array]:
        """The results of the reference; those of a move are the values moved."""
        if taken.op is basics.transfer.op:
            return [taken.values[0].host]
        call = taken.on(self.judge.reference)
        want = [host_of(y) for y in results_of(call.run())]
        return want + [host_of(call.tensors[n]) for n in taken.written()]

    def _changed(self, taken: Inputs) -> str:
        """The input that a call wrote without saying so."""
        if taken.op.mutates:
            return ""  # others may share the memory that it may write
        for number, value in enumerate(taken.values):
            if host_of(value.source).tobytes() != value.host.tobytes():
                return taken.parameter(number)
        return ""

    def _diverge(
        self, kind: str, taken: Inputs, place: CallSite, message: str,
        found: Difference | None = None,
        results: tuple[list[Array], list[Array]] | None = None,
    ) -> None:  # fmt: skip
        if self.first is not None:
            return
        judge = self.judge
        within = self._within(taken) if kind == "value" else None
        folder = None
        if judge.folder is not None:
            limits = [] if results is None else judge.limits(taken, *results)
            folder = reproduction.save(
                judge.folder / f"lockstep-{taken.op.name}-{self.calls}", taken,
                (judge.report.device, judge.report.reference), limits, judge.setup,
            )  # fmt: skip
        self.first = Divergence(
            kind, taken.op.name, self.calls, place, message,
            taken.described(), found, within, folder,
        )  # fmt: skip

    def _within(self, taken: Inputs) -> str | None:
        """The op at fault inside one that the device runs by its definition."""
        inner = Shadow(Judge(self.judge.device, self.judge.reference, _unseen()))
        try:
            with scopes.without_interposers(), modes.no_grad():
                call = composed(taken.on(self.judge.device))
                if call is not None:
                    with scopes.interpose(inner):
                        run_body(*call)
        except Exception:  # the body stumbles over what is wrong already
            pass
        if inner.first is None:
            return None
        deeper = inner.first.within
        return inner.first.op + (f", within it {deeper}" if deeper else "")


def _unseen() -> Lockstep:
    return Lockstep("the device", "the reference")


def _concerns(where: Where, inputs: Any, attrs: dict[str, Any]) -> bool:
    """Whether a call reads from a device, or makes something on it."""
    for x in inputs:
        if isinstance(x, list | tuple):
            if _concerns(where, x, {}):
                return True
        elif isinstance(x, Tensor) and where.holds(x._kind):
            return True
    return any(isinstance(v, Kind) and where.holds(v) for v in attrs.values())


def _names(taken: Inputs, got: list[Array]) -> list[str]:
    """A name for each result, and for each input written."""
    written = [f"{taken.parameter(n)} as written" for n in taken.written()]
    plain = len(got) - len(written)
    outputs = taken.op.outputs[:plain] if plain > 1 else ("result",)
    return [*outputs[:plain], *written]
