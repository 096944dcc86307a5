"""What every gradient rule is: a linear map, the transpose of the derivative."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from dovetail.conformance.example import Example
from dovetail.conformance.formats import limits
from dovetail.conformance.law import Trial, Wrong, law
from dovetail.conformance.laws import derivatives as dx
from dovetail.conformance.laws.agreement import judged
from dovetail.conformance.laws.repeatable import declares_gradients
from dovetail.conformance.laws.sampling import some
from dovetail.conformance.rounding import roundoff
from dovetail.conformance.subject import Subject
from dovetail.conformance.values import ORDINARY
from dovetail.dtypes import INEXACT, Array, DType
from dovetail.engine import autograd
from dovetail.engine.op import Op
from dovetail.engine.tensor import Tensor

_TERMS: Final = 64.0
_RARE: Final = 2.0**-12


def _has_gradients(subject: Subject, op: Op, dtype: DType) -> bool:
    return dx.differentiates(op) and dtype in INEXACT


def _of_small_numbers(example: Example) -> bool:
    """Calls that grow may have larger numbers too, which rules multiply errors with."""
    return example.values in (ORDINARY, "exact") and not example.size.isdigit()


@law(
    "adjoint",
    examples=some(2, 2, _of_small_numbers),
    fits=_has_gradients,
    rank=35,
)
def adjoint(trial: Trial) -> None:
    """The vjp is linear in the cotangent, and ⟨ct, J v⟩ = ⟨Jᵀ ct, v⟩."""
    op, dtype = judged(trial)
    subject = trial.subject
    tape = dx.taped(subject, op, trial.example, dtype)
    if not tape.leaves or not tape.results:
        return
    ct = _whole(tape.results, trial.seed)
    grads = dx.filled(subject, dx.pulled(subject, tape, ct), tape.leaves)
    if not all(np.all(np.isfinite(dx.wide(g))) for g in grads):
        return  # at the end of a domain: 0 · ∞ is no number
    room = _between(subject, tape, ct)
    if not declares_gradients(subject, op):
        room += _TERMS * roundoff(tape.leaves[0].dtype) * _largest(grads)
    _linear(subject, tape, ct, grads, room)
    _transposed(trial, op, tape, ct, grads)


def _whole(tensors: Sequence[Tensor], seed: int) -> list[Array]:
    """Small whole numbers, so that exact ops stay exact."""
    random = np.random.default_rng(seed)
    return [
        random.integers(-3, 4, tuple(y.shape)).astype(y.dtype.numpy) for y in tensors
    ]


def _linear(
    subject: Subject, tape: dx.Taped, ct: Sequence[Array], grads: Sequence[Array],
    room: float,
) -> None:  # fmt: skip
    """Twice the cotangent gives twice the gradient, exactly; none gives none.

    Args:
        room: what two calls may differ by where kernels do not promise the same bits,
            or where what comes between is too small for its bits.
    """
    for factor in (2, 0):
        scaled = [np.asarray(c * c.dtype.type(factor)) for c in ct]
        found = dx.filled(subject, dx.pulled(subject, tape, scaled), tape.leaves)
        for at, (g, f, x) in enumerate(zip(grads, found, tape.leaves, strict=True)):
            want = np.asarray(g * g.dtype.type(factor))
            error = factor * room + _flips(want, factor * room, x.dtype)
            near = np.abs(dx.wide(f) - dx.wide(want)) <= error
            if not np.all(near | rounds_otherwise(want, x.dtype)):
                raise Wrong(
                    f"gradient {at} of {factor} times the cotangent is not {factor} "
                    "times the gradient: the rule is not linear"
                )


def _between(subject: Subject, tape: dx.Taped, ct: Sequence[Array]) -> float:
    """What subnormal numbers in the midst of a rule may leave of a gradient.

    Each is off by half the smallest number, and so is what becomes of its double; it is
    multiplied by no more than the largest of the numbers given, and as many are added
    as the longest dim has elements, for each place that an element was repeated to.
    """
    given = [*(subject.values(x) for x in tape.leaves), *ct]
    smallest = max(float(limits(x.dtype.real).smallest_subnormal) for x in tape.leaves)
    longest = max((n for a in given for n in a.shape), default=1)
    sizes = [a.size for a in given if a.size]
    places = max(sizes, default=1) / min(sizes, default=1)
    return longest * places * max(1.0, _largest_finite(given)) * smallest


def _flips(want: Array, room: float, dtype: DType) -> Array:
    """The last place of what an error that small may well round the other way."""
    place = 2 * roundoff(dtype) * np.abs(dx.wide(want))
    return np.where(place * _RARE < room, place, 0.0)


def rounds_otherwise(want: Array, dtype: DType) -> Array:
    """Where doubling is not exact: below the normal numbers, and at overflow."""
    size = np.abs(dx.wide(want))
    info = limits(dtype.real)
    tiny = 2 * float(info.smallest_normal)
    return np.asarray(((size < tiny) & (size > 0)) | (size > float(info.max) / 2))


def _transposed(
    trial: Trial, op: Op, tape: dx.Taped, ct: Sequence[Array], grads: list[Array]
) -> None:
    v = _whole(tape.leaves, trial.seed + 1)
    pushed = _pushed(trial, tape, v)
    if pushed is None or not all(np.all(np.isfinite(dx.wide(p))) for p in pushed):
        return
    left, right = dx.inner(ct, pushed), dx.inner(grads, v)
    size = max(dx.terms(ct, pushed), dx.terms(grads, v), _largest(grads, pushed))
    if not (op.sums or op.unrounded):
        # The products within a rule may cancel; slopes are taken to be about 1.
        size = max(size, _largest(ct) * _largest(v) * _difference_of(op, trial))
        if op.is_elementwise:  # and of each element
            size = max(size, _met(ct, v))
    allowed = _TERMS * roundoff(tape.leaves[0].dtype) * size
    if _is_exact(op, [*grads, *pushed]):
        allowed = 0.0
    if not abs(left - right) <= allowed:
        raise Wrong(f"⟨ct, J v⟩ is {left:.9g}, but ⟨Jᵀ ct, v⟩ is {right:.9g}")


def _met(ct: Sequence[Array], v: Sequence[Array]) -> float:
    """The sum of all products of what meets, each of its absolute value."""
    pairs = ((dx.wide(c), dx.wide(x)) for c in ct for x in v)
    return sum(float(np.sum(np.abs(c * x))) for c, x in pairs)


def _difference_of(op: Op, trial: Trial) -> float:
    """How large the values may be whose difference a slope is."""
    floats = [a for a in trial.example.arrays() if a.dtype.kind not in "biu"]
    return max(1.0, _largest(floats)) if op.cancels else 1.0


def _largest(*many: Sequence[Array]) -> float:
    return max(
        (float(np.max(np.abs(dx.wide(a)), initial=0.0)) for m in many for a in m),
        default=0.0,
    )


def _largest_finite(arrays: Sequence[Array]) -> float:
    sizes = [np.abs(dx.wide(a)) for a in arrays]
    return max(float(np.max(s, where=np.isfinite(s), initial=0.0)) for s in sizes)


def _is_exact(op: Op, found: Sequence[Array]) -> bool:
    """Whether all values are small multiples of 1/64, which sums do not round."""
    if not (op.sums or op.unrounded):
        return False
    parts = [p for a in map(dx.wide, found) for p in (a.real, a.imag)]
    return all(np.all((a * 64 == np.round(a * 64)) & (abs(a) < 2)) for a in parts)


def _pushed(trial: Trial, tape: dx.Taped, v: Sequence[Array]) -> list[Array] | None:
    """J v, as the gradient of ⟨Jᵀ u, v⟩ with respect to u."""
    subject = trial.subject
    u = [subject.tensor(np.zeros(tuple(y.shape), y.dtype.numpy)) for y in tape.results]
    for t in u:
        t.requires_grad = True
    grads = autograd.grad(
        tape.results, tape.leaves, u, allow_unused=True, create_graph=True
    )
    pairs = [
        (g, subject.tensor(d))
        for g, d in zip(grads, v, strict=True)
        if g is not None and g.requires_grad
    ]
    if not pairs:
        return None
    found = autograd.grad(
        [g for g, _ in pairs], u, [d for _, d in pairs], allow_unused=True
    )
    return dx.filled(subject, found, u)
