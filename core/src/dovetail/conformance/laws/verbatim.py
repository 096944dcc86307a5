"""Ops that move or choose numbers: they give these very numbers, not near ones."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dovetail.conformance.budget import Budget
from dovetail.conformance.compare import exactly
from dovetail.conformance.example import PLAIN, Example
from dovetail.conformance.examples import asks_for_claimed, drawn
from dovetail.conformance.law import Trial, Wrong, law
from dovetail.conformance.laws.agreement import arrays, judged, named
from dovetail.conformance.laws.sampling import some
from dovetail.conformance.left_open import flushed_truth
from dovetail.conformance.oracle import truth
from dovetail.conformance.rounding import rounded_to
from dovetail.conformance.subject import Subject
from dovetail.dtypes import DType, from_numpy
from dovetail.engine.op import Op


def _moves(subject: Subject, op: Op, dtype: DType) -> bool:
    """Ops that declare it; what they write, and what they draw, has other laws."""
    given = bool(op.tensors) and not op.mutates and not op.draws
    given = given and op.oracle is not None
    return op.unrounded and given and dtype.is_inexact


def _zeros_among_them(
    subject: Subject, op: Op, dtype: DType, budget: Budget
) -> Iterator[Example]:
    """Calls as usual, and one with zeros of both signs, whichever rows are drawn."""
    yield from some(2, 3)(subject, op, dtype, budget)
    row = {"values": "zeros", "layout": PLAIN, "size": "own"}
    made = None if "zeros" in op.undefined_on else drawn(op, dtype, row, 1)
    if made is not None and asks_for_claimed(subject, made):
        yield made


@law("carried", examples=_zeros_among_them, fits=_moves, rank=30)
def carried(trial: Trial) -> None:
    """What is moved or chosen keeps every bit, and what is cast is rounded once.

    Signs of zeros too, where elements only change their places.
    """
    op, dtype = judged(trial)
    wanted = truth(op, trial.example, dtype)
    results = trial.subject.run(op, trial.example, dtype)
    for at, (got, want) in enumerate(zip(arrays(trial, results), wanted, strict=True)):
        out = from_numpy(got.dtype)
        if not out.is_inexact or got.shape != want.shape:
            continue  # other laws look at those
        right = rounded_to(want, out)
        flat = None if _only_moves(op) else flushed_truth(trial, at)
        # What compares or converts sees other numbers on a device that flushes.
        seen = right if flat is None else np.where(got == flat, got, right)
        exactly(named(op, at), got, seen)
        if _only_moves(op) and not out.is_complex:
            zero = want == 0
            if np.any(np.signbit(got)[zero] != np.signbit(right)[zero]):
                raise Wrong(f"{named(op, at)} has zeros of another sign than its input")


def _only_moves(op: Op) -> bool:
    """Whether the gradient puts elements back where they were, whatever they are."""
    keeps = set(op.vjp_needs) <= op.indices | op.masks
    places = bool(op.masks) or not op.is_elementwise
    return keeps and places and op.vjp is not None and len(op.outputs) == 1
