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
from dovetail.dtypes import (
    INEXACT,
    Array,
    DType,
    complex64,
    complex128,
    float32,
    float64,
)
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
    return dx.differentiates(op) and dtype in INEXACT


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
    _compared("gradient", found, truth, tape.leaves)
    if not twice:
        return
    seconds = dx.like(tape.leaves, trial.seed + 1)
    again = _pulled_again(trial.subject, tape, grads, seconds)
    if again is not None:
        _compared("second derivative", again, truth, tape.leaves, seconds)


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
    what: str, found: Sequence[Array], truth: _Truth, leaves: Sequence[Any],
    seconds: Sequence[Array] | None = None,
) -> None:  # fmt: skip
    true = truth.true(seconds)
    if all(truth.is_near(g, w) for g, w in zip(found, true, strict=True)):
        return
    bounds = truth.bounds(true, seconds)
    for at, (got, want, allowed, leaf) in enumerate(
        zip(found, true, bounds, leaves, strict=True)
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
        self.seed = trial.seed

    def true(self, seconds: Sequence[Array] | None) -> list[Array]:
        """The gradients in double precision, or those of ⟨seconds, gradients⟩."""
        ct, wide = self._widened(seconds)
        return self._on_reference(dx.widened(self.example), ct, wide, self.wide)

    def bounds(
        self, true: Sequence[Array], seconds: Sequence[Array] | None
    ) -> list[Array]:
        """How far each may be off, which takes several looks at the reference."""
        random = np.random.default_rng(self.seed + (seconds is not None))
        off = self._off(true, seconds)
        ct, wide = self._widened(seconds)
        moved = [self._moved(random, ct, wide) for _ in range(_PROBES)]
        return [
            self._allowed(t, o, m)
            for t, o, m in zip(true, off, zip(*moved, strict=True), strict=True)
        ]

    def is_near(self, got: Array, want: Array) -> bool:
        """Whether a gradient is within what is allowed however inputs move it."""
        if got.shape != want.shape:
            return False
        with np.errstate(all="ignore"):
            allowed = self._least(np.abs(want))
            near = np.abs(dx.wide(got) - want) <= allowed
        return bool(np.all(near | ~np.isfinite(want)))

    def _widened(self, seconds: Any) -> tuple[list[Array], Any]:
        wide = None if seconds is None else [dx.wide(d) for d in seconds]
        return [dx.wide(c) for c in self.ct], wide

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

    def _moved(
        self, random: np.random.Generator, ct: Sequence[Array], seconds: Any
    ) -> list[Array]:
        """The gradients where inputs are a little off, each up or down.

        So are results, which rules may read: where tanh is 1, they have no digit of
        its slope.
        """
        nudged = dx.widened(self.example, lambda _, a: _nudged(random, a))
        ct = [_nudged(random, c) for c in ct]
        return self._on_reference(nudged, ct, seconds, self.wide, random)

    def _case(self) -> Any:
        assert self.example.case is not None
        return self.example.case

    def _on_reference(
        self, example: Example, ct: Sequence[Array], seconds: Any, dtype: DType,
        random: np.random.Generator | None = None,
    ) -> list[Array]:  # fmt: skip
        device = reference()
        tape = dx.taped(device, self.op, example, dtype)
        if random is not None and not self.op.view:
            for y in tape.results:  # whose memory is what rules find
                y._a[...] = _nudged(random, y._a)
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
        base = _BESIDE * np.max(off, initial=0.0)
        base += _ULP * inner * (_largest(size) + _largest(sensitive))
        return np.asarray(_ULP * out * (size + sensitive) + base + _tiny(self.dtype))

    def _least(self, size: Array) -> Array:
        """What is allowed where neither formulas nor inputs were off."""
        out, inner = roundoff(self.dtype), roundoff(accumulates_in(self.dtype))
        base = _ULP * inner * _largest(size)
        return np.asarray(_ULP * out * size + base + _tiny(self.dtype))


def _largest(a: Array) -> float:
    return float(np.max(np.where(np.isfinite(a), a, 0), initial=0.0))


def _nudged(random: np.random.Generator, a: Array) -> Array:
    sign = random.choice([-1.0, 1.0], a.shape)
    return np.asarray(a * (1 + _PROBE * sign))


def _narrow(a: Array) -> Array:
    """In single precision; what is complex stays so, whatever the op's other side."""
    single = complex64 if np.iscomplexobj(a) else float32
    return a.astype(single.numpy)


def _apart(found: Sequence[Array], true: Sequence[Array]) -> list[Array]:
    """How far results are from the truth."""
    with np.errstate(all="ignore"):
        return [np.abs(dx.wide(a) - b) for a, b in zip(found, true, strict=True)]
