"""How a device computes with numbers too small to be normal."""

from __future__ import annotations

import numpy as np

from dovetail.conformance.formats import limits
from dovetail.conformance.law import Trial, Wrong, device_law
from dovetail.conformance.laws.bits import expect_bits
from dovetail.conformance.probes import flushes
from dovetail.conformance.subject import Subject
from dovetail.dtypes import ANY, DType


def _is_float(subject: Subject, dtype: DType | None) -> bool:
    return dtype in ANY and dtype.is_floating_point


@device_law("subnormals", fits=_is_float, rank=7)
def subnormals(trial: Trial) -> None:
    """Subnormal numbers become 0 in sums and products exactly where that is declared.

    What moves bits keeps them in any case.
    """
    dtype, subject = trial.dtype, trial.subject
    assert dtype is not None
    declared = dtype in subject.backend.flushes_subnormals
    found = flushes(subject, dtype)
    if found and not declared:
        raise Wrong(
            f"subnormal {dtype.name} become 0, which the backend does not declare; "
            "add the dtype to Backend.flushes_subnormals, or turn flushing off"
        )
    if declared and not found:
        raise Wrong(
            f"subnormal {dtype.name} are kept, but Backend.flushes_subnormals has "
            f"{dtype.name}; take it out"
        )
    smallest = limits(dtype).smallest_subnormal
    values = np.array([smallest, -smallest], dtype.numpy)
    x = subject.tensor(values)
    moved = {"clone": x.clone(), "slicing": x[:], "flip": x.flip(0).flip(0)}
    for name, y in moved.items():
        expect_bits(f"subnormal {dtype.name} after {name}", subject.values(y), values)
