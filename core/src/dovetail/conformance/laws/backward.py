"""Gradients on a device, in its own formats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from dovetail.conformance.compare import within
from dovetail.conformance.example import Example
from dovetail.conformance.formats import limits
from dovetail.conformance.law import Trial, Wrong, law
from dovetail.conformance.laws import derivatives as dx
from dovetail.conformance.laws.agreement import judged
from dovetail.conformance.laws.sampling import own, some
from dovetail.conformance.reference import reference
from dovetail.conformance.rounding import accumulates_in, roundoff
from dovetail.conformance.subject import Subject
from dovetail.conformance.tolerance import Bound
from dovetail.dtypes import Array, DType, complex64, complex128, float32, float64
from dovetail.engine.op import Op

# How much further than the same formulas on the reference device one may be off.
_BESIDE: Final = 8.0
_ULP: Final = 16.0
_PROBE: Final = 2.0**-30
_PROBES: Final = 3  # of one alone, the signs may cancel as the terms do
_VALUES: Final = ("ordinary", "ties", "zeros", "exact", "special")
_LARGEST: Final = 300


def _small(example: Example) -> bool:
    given = example.arrays()
    # Which side of a branch cut a complex zero is on depends on its sign.
    cut = example.values == "zeros" and any(a.dtype.kind == "c" for a in given)
    small = sum(a.size for a in given) <= _LARGEST
    return example.values in _VALUES and small and not cut


def _has_gradients(subject: Subject, op: Op, dtype: DType) -> bool:
    return dx.differentiates(op) and dtype.is_inexact


@law("backward", examples=some(2, 2, _small, again=2), fits=_has_gradients, rank=30)
def backward(trial: Trial) -> None:
    """Gradients are those of double precision on the reference device, rounded."""
    op, dtype = judged(trial)
    tape = dx.taped(trial.subject, op, trial.example, dtype)
    if not tape.leaves or not tape.results:
        return
    ct = dx.like(tape.results, trial.seed)
    twice = own(trial.example)
    grads = dx.pulled(trial.subject, tape, ct, again=twice)
    truth = _Truth(trial, ct)
    found = dx.filled(trial.subject, grads, tape.leaves)
    _compared("gradient", found, truth.first(), tape.leaves)
    if not twice:
        return
    seconds = dx.like(tape.leaves, trial.seed + 1)
    again = _pulled_again(trial.subject, tape, grads, seconds)
    if again is not None:
        _compared("second derivative", again, truth.second(seconds), tape.leaves)


def _pulled_again(
    subject: Subject, tape: dx.Taped, grads: Sequence[Any], seconds: Sequence[Array]
) -> list[Array] | None:
    """The gradients of ⟨seconds, gradients⟩; None where these are constants."""
    pairs = [
        (g, d)
        for g, d in zip(grads, seconds, strict=True)
        if g is not None and g.requires_grad
    ]
    if not pairs:
        return None
    again = dx.Taped(tape.leaves, [g for g, _ in pairs])
    found = dx.pulled(subject, again, [d.astype(g.dtype.numpy) for g, d in pairs])
    return dx.filled(subject, found, tape.leaves)


def _compared(
    what: str, found: Sequence[Array], truth: Sequence[tuple[Array, Array]],
    leaves: Sequence[Any],
) -> None:  # fmt: skip
    for at, (got, (want, allowed), leaf) in enumerate(
        zip(found, truth, leaves, strict=True)
    ):
        if got.shape != want.shape:
            raise Wrong(f"{what} {at} is of shape {got.shape}, needed {want.shape}")
        reaches = np.abs(want) <= float(limits(leaf.dtype.real).max)
        usable = np.isfinite(want) & np.isfinite(allowed) & reaches
        unit = 2 * roundoff(leaf.dtype) * np.maximum(np.abs(want), _tiny(leaf.dtype))
        have, need = np.where(usable, dx.wide(got), 0), np.where(usable, want, 0)
        error = np.where(usable, allowed, 0.0)
        unit = np.where(usable, unit, 1.0)
        wide = complex128 if np.iscomplexobj(want) else float64
        within(f"{what} {at}", have, need, Bound(error, unit), wide)


def _tiny(dtype: DType) -> float:
    return float(limits(dtype.real).smallest_normal)


class _Truth:
    """What gradients must be, and how far rounding may move each.

    The reference device says both: in double precision what is true, in the dtype
    under test how far the same formulas are off there. Of double precision itself that
    cannot be seen; what is seen in single precision is scaled to it.
    """

    def __init__(self, trial: Trial, ct: Sequence[Array]) -> None:
        self.op, self.dtype = judged(trial)
        self.wide = complex128 if self.dtype.is_complex else float64
        self.example = trial.example
        self.ct = ct
        self.random = np.random.default_rng(trial.seed)

    def first(self) -> list[tuple[Array, Array]]:
        return self._bounded(None)

    def second(self, seconds: Sequence[Array]) -> list[tuple[Array, Array]]:
        return self._bounded(seconds)

    def _bounded(self, seconds: Sequence[Array] | None) -> list[tuple[Array, Array]]:
        wide_ct = [dx.wide(c) for c in self.ct]
        wide = None if seconds is None else [dx.wide(d) for d in seconds]
        true = self._on_reference(dx.widened(self.example), wide_ct, wide, self.wide)
        off = self._off(true, seconds)
        moved = [self._moved(wide_ct, wide) for _ in range(_PROBES)]
        return [
            (t, self._allowed(t, o, m))
            for t, o, m in zip(true, off, zip(*moved, strict=True), strict=True)
        ]

    def _off(self, true: Sequence[Array], seconds: Any) -> list[Array]:
        """How far the formulas are off by what is rounded on their way."""
        if self.dtype is not self.wide:
            plain = self.example.with_case(self._case(), "contiguous")
            near = self._on_reference(plain, self.ct, seconds, self.dtype)
            return _apart(near, true)
        single = complex64 if self.dtype.is_complex else float32
        plain = dx.widened(self.example, lambda _, a: _narrow(a))
        ct = [_narrow(c) for c in self.ct]
        again = seconds and [_narrow(d) for d in seconds]
        near = self._on_reference(plain, ct, again, single)
        wide_again = again and [dx.wide(d) for d in again]
        there = self._on_reference(
            dx.widened(plain), [dx.wide(c) for c in ct], wide_again, self.wide
        )
        scale = roundoff(self.dtype) / roundoff(single)
        return [off * scale for off in _apart(near, there)]

    def _moved(self, ct: Sequence[Array], seconds: Any) -> list[Array]:
        """The gradients where inputs are a little off, each up or down."""
        nudged = dx.widened(self.example, lambda _, a: self._nudged(a))
        ct = [self._nudged(c) for c in ct]
        return self._on_reference(nudged, ct, seconds, self.wide)

    def _case(self) -> Any:
        assert self.example.case is not None
        return self.example.case

    def _nudged(self, a: Array) -> Array:
        sign = self.random.choice([-1.0, 1.0], a.shape)
        return np.asarray(a * (1 + _PROBE * sign))

    def _on_reference(
        self, example: Example, ct: Sequence[Array], seconds: Any, dtype: DType
    ) -> list[Array]:
        device = reference()
        tape = dx.taped(device, self.op, example, dtype)
        grads = dx.pulled(device, tape, ct, again=seconds is not None)
        if seconds is None:
            return dx.filled(device, grads, tape.leaves)
        again = _pulled_again(device, tape, grads, seconds)
        return again or [np.zeros(tuple(x.shape), self.wide.numpy) for x in tape.leaves]

    def _allowed(self, true: Array, off: Array, moved: Sequence[Array]) -> Array:
        """Rounding of the result, of its inputs, and of what comes between."""
        out, inner = roundoff(self.dtype), roundoff(accumulates_in(self.dtype))
        with np.errstate(all="ignore"):
            size = np.abs(true)
            sensitive = np.max([np.abs(m - true) for m in moved], axis=0) / _PROBE
        off = off[np.isfinite(off)]
        largest = np.max(np.where(np.isfinite(sensitive), sensitive, 0), initial=0.0)
        scale = np.max(np.where(np.isfinite(size), size, 0), initial=0.0)
        base = _BESIDE * np.max(off, initial=0.0) + _ULP * inner * (scale + largest)
        return np.asarray(_ULP * out * (size + sensitive) + base + _tiny(self.dtype))


def _narrow(a: Array) -> Array:
    """In single precision; what is complex stays so, whatever the op's other side."""
    single = complex64 if np.iscomplexobj(a) else float32
    return a.astype(single.numpy)


def _apart(found: Sequence[Array], true: Sequence[Array]) -> list[Array]:
    """How far results are from the truth."""
    with np.errstate(all="ignore"):
        return [np.abs(dx.wide(a) - b) for a, b in zip(found, true, strict=True)]
