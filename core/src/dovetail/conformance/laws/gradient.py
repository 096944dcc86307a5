"""Gradients in double precision: what the rules say, what differences say."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Final

from dovetail.conformance.budget import Budget
from dovetail.conformance.example import Example
from dovetail.conformance.examples import examples
from dovetail.conformance.law import Trial, Wrong, law
from dovetail.conformance.laws import derivatives as dx
from dovetail.conformance.laws.agreement import judged
from dovetail.conformance.laws.sampling import own
from dovetail.conformance.layouts import LAYOUTS
from dovetail.conformance.reference import reference
from dovetail.conformance.subject import Subject
from dovetail.conformance.values import ORDINARY
from dovetail.dtypes import Array, DType, complex128, float32, float64
from dovetail.engine.modes import no_grad
from dovetail.engine.op import Op

_STEP: Final = 1e-5
_TOLERANCE: Final = 2e-5
_LARGEST: Final = 512


def _is_proven_here(subject: Subject, op: Op, dtype: DType) -> bool:
    """In double precision; once, on the reference device, where that is missing."""
    if not dx.differentiates(op):
        return False
    if subject.claims(float64):
        return dtype in (float64, complex128)
    return dtype is float32 and float64 in op.accepts


def _prover(subject: Subject) -> Subject:
    return subject if subject.claims(float64) else reference()


def _ordinary(
    subject: Subject, op: Op, dtype: DType, budget: Budget
) -> Iterator[Example]:
    """All of the op's own cases, and calls of other sizes."""
    lead = dtype if dtype is complex128 else float64
    drawn = 0
    for example in examples(_prover(subject), op, lead, budget):
        if dx.held_back(op, example):
            continue
        small = sum(a.size for a in example.arrays()) <= _LARGEST
        small = small and LAYOUTS[example.layout].writable  # the others make ties
        if own(example):
            yield example
        elif example.values == ORDINARY and small and drawn < 2 * budget.depth:
            drawn += 1
            yield example


@law("gradient", examples=_ordinary, fits=_is_proven_here, rank=30)
def gradient(trial: Trial) -> None:
    """First and second derivatives equal central differences, away from kinks."""
    judged(trial)
    line = _Line(trial)
    if not line.tape.leaves or not line.tape.results:
        return
    line.first()
    if line.second_exists():
        line.second()


class _Line:
    """A call along one line through its inputs: x + h·d for each input x."""

    def __init__(self, trial: Trial) -> None:
        self.op, dtype = judged(trial)
        self.subject = _prover(trial.subject)
        self.example = trial.example
        self.dtype = dtype if dtype is complex128 else float64
        self.tape = self._call(0.0)
        self.ct = dx.like(self.tape.results, 1)
        self.directions = dx.like(self.tape.leaves, 2)
        self.grads = dx.pulled(self.subject, self.tape, self.ct, again=True)
        self.seconds = dx.like(self.tape.leaves, 3)

    def _call(self, h: float) -> dx.Taped:
        moved = dx.widened(
            self.example, lambda i, a: a + h * self.directions[i] if h else a
        )
        return dx.taped(self.subject, self.op, moved, self.dtype)

    def first(self) -> None:
        """Σ ⟨ct, y⟩ moves as the gradients say."""
        grads = dx.filled(self.subject, self.grads, self.tape.leaves)

        def at(h: float) -> list[Array]:
            with no_grad():
                return [self.subject.values(y) for y in self._call_results(h)]

        self._agree("gradient", grads, self.ct, at)

    def _call_results(self, h: float) -> Sequence[Any]:
        moved = dx.widened(self.example, lambda i, a: a + h * self.directions[i])
        results = self.subject.run(self.op, moved, self.dtype)
        return [results[i] for i in self.tape.depends]

    def second_exists(self) -> bool:
        """Whether the gradients depend on the inputs again."""
        return any(g is not None and g.requires_grad for g in self.grads)

    def second(self) -> None:
        """Σ ⟨d, gradient⟩ moves as the second derivatives say."""
        pairs = [
            (g, d)
            for g, d in zip(self.grads, self.seconds, strict=True)
            if g is not None and g.requires_grad
        ]
        tape = dx.Taped(self.tape.leaves, [g for g, _ in pairs])
        found = dx.pulled(self.subject, tape, [d for _, d in pairs])
        grads = dx.filled(self.subject, found, self.tape.leaves)

        def at(h: float) -> list[Array]:
            tape = self._call(h)
            return dx.filled(
                self.subject, dx.pulled(self.subject, tape, self.ct), tape.leaves
            )

        self._agree("second derivative", grads, self.seconds, at)

    def _agree(
        self, what: str, grads: list[Array], ct: Sequence[Array], at: Any
    ) -> None:
        claimed = dx.inner(grads, self.directions)
        # A kink within the first step is outside the second.
        for step in (_STEP, _STEP / 100):
            ahead, behind = at(step), at(-step)
            measured = (dx.inner(ct, ahead) - dx.inner(ct, behind)) / (2 * step)
            if not math.isfinite(measured):
                return  # the mean of nothing has no gradient to compare
            scale = max(1.0, dx.terms(grads, self.directions), dx.terms(ct, ahead))
            if abs(claimed - measured) <= _TOLERANCE * scale:
                return
        raise Wrong(f"{what} {claimed:.10g}, differences say {measured:.10g}")
