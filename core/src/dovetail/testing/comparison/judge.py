"""What two devices' results of one call may differ by, and whether they do."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dovetail import dtypes
from dovetail.conformance.rounding import roundoff
from dovetail.dtypes import Array
from dovetail.engine.basics import basics
from dovetail.testing.comparison.inputs import Inputs, Where
from dovetail.testing.comparison.report import Lockstep
from dovetail.testing.comparison.sensitivity import allowed_at_once, measured
from dovetail.testing.comparison.values import (
    Difference,
    coarser,
    difference,
    sizes_of,
)


@dataclass(frozen=True, slots=True)
class Asked:
    """The tolerance that a caller asks for, in place of the one by format."""

    rtol: float
    atol: float


@dataclass(slots=True)
class Judge:
    """The two devices, what is allowed, and what was found.

    Attributes:
        device, reference: the devices.
        report: what was found so far.
        asked: the caller's tolerance, None for the one by format.
        folder: where the first divergence is saved, None for nowhere.
        setup: lines that a saved script starts with.
    """

    device: Where
    reference: Where
    report: Lockstep
    asked: Asked | None = None
    folder: Path | None = None
    setup: str = ""

    def differences(
        self, inputs: Inputs, got: list[Array], want: list[Array], names: list[str]
    ) -> tuple[list[Difference], float]:
        """The results beyond tolerance, and the largest relative error of all."""
        found: list[Difference] = []
        worst = 0.0
        bases = self._bases(inputs, got, want)
        for i, name in enumerate(names):
            base = bases[i]
            if base is None:
                continue
            mine, theirs = got[i], want[i]
            if inputs.op is basics.cast.op:
                mine, theirs = _specified(inputs, mine, theirs)
            one, error = difference(
                name, mine, theirs, base,
                lambda n=i: self.limits(inputs, got, want)[n],  # type: ignore[misc]
            )  # fmt: skip
            worst = max(worst, error)
            found += [one] if one is not None else []
        return found, worst

    def limits(
        self, inputs: Inputs, got: list[Array], want: list[Array]
    ) -> list[Array]:
        """What is allowed for each element of each result, in all."""
        bases = [0.0 if b is None else b for b in self._bases(inputs, got, want)]
        if self.asked is not None or not any(np.any(b) for b in bases):
            more = [np.zeros(w.shape) for w in want]
        else:
            coarse = max(_formats(got, want), key=roundoff)
            more = measured(inputs, self.reference, coarse, want)
        return [np.asarray(b + m) for b, m in zip(bases, more, strict=True)]

    def _bases(
        self, inputs: Inputs, got: list[Array], want: list[Array]
    ) -> list[Array | float | None]:
        """What is allowed without measuring; None where nothing can be said."""
        stands_in = inputs.stands_in(self.reference)
        found: list[Array | float | None] = []
        for dtype, w in zip(_formats(got, want), want, strict=True):
            if stands_in and not dtype.is_inexact:
                found.append(None)  # comparing rounded values may fall either way
            elif self.asked is not None and dtype.is_inexact:
                found.append(self.asked.atol + self.asked.rtol * sizes_of(w))
            else:
                found.append(allowed_at_once(inputs.op, dtype, w, stands_in))
        return found

    def mismatch(self, got: list[Array], want: list[Array]) -> str:
        """What differs about the results beside their values."""
        if len(got) != len(want):
            return f"{len(got)} results, wanted {len(want)}"
        both = self.device.backend.dtypes & self.reference.backend.dtypes
        for a, b in zip(got, want, strict=True):
            if a.shape != b.shape:
                return f"a result of shape {a.shape}, wanted {b.shape}"
            names = {dtypes.from_numpy(x.dtype) for x in (a, b)}
            if len(names) > 1 and names <= both:
                return f"a result of dtype {a.dtype}, wanted {b.dtype}"
        return ""


def _formats(got: list[Array], want: list[Array]) -> list[dtypes.DType]:
    """For each result, the format of the two that rounds more."""
    return [
        coarser(dtypes.from_numpy(a.dtype), dtypes.from_numpy(b.dtype))
        for a, b in zip(got, want, strict=True)
    ]


def _specified(inputs: Inputs, got: Array, want: Array) -> tuple[Array, Array]:
    """Results of a cast, with zeros where an integer has no room for the value."""
    source = inputs.values[0].host
    if source.dtype.kind in "biu" or want.dtype.kind not in "iu":
        return got, want
    bounds = np.iinfo(want.dtype)
    real = np.real(source.astype(np.complex128))
    fits = (real > float(bounds.min) - 1) & (real < float(bounds.max))
    return np.where(fits, got, 0), np.where(fits, want, 0)
