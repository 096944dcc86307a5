"""Operands of two dtypes: which dtype the result has, and that nothing is lost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

import dovetail as dt
from dovetail import dtypes
from dovetail.conformance.budget import Budget
from dovetail.conformance.example import Example
from dovetail.conformance.law import Trial, Wrong, device_law
from dovetail.conformance.laws.bits import expect_bits
from dovetail.conformance.subject import Subject
from dovetail.dtypes import DType
from dovetail.errors import DTypeError

# torch's lattice, written down: each dtype goes up to those behind it.
_LATTICE: Final = {
    "bool": "uint8 int8 uint16 uint32 uint64",
    "uint8": "int16", "int8": "int16", "int16": "int32", "int32": "int64",
    "uint16": "float16 bfloat16", "uint32": "float16 bfloat16",
    "uint64": "float16 bfloat16", "int64": "float16 bfloat16",
    "float16": "float32", "bfloat16": "float32",
    "float32": "float64 complex64", "float64": "complex128",
    "complex64": "complex128", "complex128": "",
}  # fmt: skip
# Those have nothing above them before the floats: torch refuses to mix them.
_ALONE: Final = frozenset({"uint16", "uint32", "uint64"})


def _pairs(subject: Subject, dtype: DType | None, budget: Budget) -> Iterator[Example]:
    yield Example(size="2", known={"at": 0})


@device_law("promotion", examples=_pairs, rank=42)
def promotion(trial: Trial) -> None:
    """A sum of two dtypes has the least that holds both, by torch's lattice.

    Whichever comes first, and its values are those of the sum in that dtype. Functions
    of whole numbers are of the default dtype.
    """
    a, subject = trial.dtype, trial.subject
    assert a is not None
    x = subject.tensor(np.array([1, 0]).astype(a.numpy))
    for b in (d for d in dtypes.ALL if subject.claims(d)):
        if {a, b} & dtypes.FLOAT8:
            _expect_refused(x, subject.tensor(np.array([1, 1]).astype(b.numpy)))
            continue
        wanted = least(a, b)
        if wanted is None or not subject.claims(wanted):
            continue
        y = subject.tensor(np.array([1, 1]).astype(b.numpy))
        for z in (x + y, y + x):
            if z.dtype is not wanted:
                raise Wrong(
                    f"{a.name} + {b.name} is {z.dtype.name}, needed {wanted.name}"
                )
            want = np.array([1, 1] if wanted is dtypes.bool_ else [2, 1])
            expect_bits(f"{a.name} + {b.name}", subject.values(z),
                        want.astype(wanted.numpy))  # fmt: skip
    if not a.is_inexact and (made := dt.exp(x)).dtype is not dt.get_default_dtype():
        raise Wrong(f"exp of {a.name} is {made.dtype.name}, needed the default dtype")


def _expect_refused(x: dt.Tensor, y: dt.Tensor) -> None:
    """Formats that are only stored are not added to anything."""
    try:
        z = x + y
    except DTypeError:
        return
    raise Wrong(f"{x.dtype.name} + {y.dtype.name} is {z.dtype.name}, needed a refusal")


def least(a: DType, b: DType) -> DType | None:
    """The least dtype above both; None where torch has none."""
    integers = a.category == b.category == 1
    if a is not b and integers and (a.name in _ALONE or b.name in _ALONE):
        return None
    both = _above(a.name) & _above(b.name)
    lowest = [n for n in both if both <= _above(n)]
    return dtypes.by_name(lowest[0]) if len(lowest) == 1 else None


def _above(name: str) -> set[str]:
    found = {name}
    for upper in _LATTICE[name].split():
        found |= _above(upper)
    return found
