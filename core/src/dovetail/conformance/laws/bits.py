"""Bit patterns that a device has to carry, and whether two arrays hold the same."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from dovetail.conformance.budget import Budget
from dovetail.conformance.law import Trial, Wrong
from dovetail.dtypes import BOOL_CATEGORY, Array, DType

Ints = tuple[int, ...]
# Where kernels change their ways: a warp, a block, a grid, an index format.
_POWERS: Final = (5, 8, 10, 16)


def sizes(subject: Any, budget: Budget) -> list[int]:
    """Counts of elements around every boundary that the budget reaches."""
    around = {0, 1, 2, 3, 7}
    edges = [1 << p for p in _POWERS] + list(subject.backend.launch_boundaries)
    for edge in edges:
        if edge <= budget.largest:
            around |= {edge - 1, edge, edge + 1}
    return sorted(around)


def patterns(dtype: DType, shape: Ints, random: np.random.Generator) -> Array:
    """Random bits, and the patterns that arithmetic would change, of a dtype.

    Signalling and quiet NaNs with payloads, -0, subnormals and infinities are among
    them wherever there is room.
    """
    count = math.prod(shape)
    if dtype.category == BOOL_CATEGORY:
        return random.integers(0, 2, shape).astype(bool)
    raw = random.integers(0, 256, (count, dtype.itemsize)).astype(np.uint8)
    made = raw.reshape(-1).view(dtype.numpy)
    if dtype.is_inexact and count:
        odd = _odd_floats(dtype.real)
        each = made.view(odd.dtype)
        chosen = random.random(each.size) < 0.5
        each[chosen] = random.choice(odd, int(chosen.sum()))
    return np.asarray(made.reshape(shape))


def _odd_floats(real: DType) -> Array:
    """The bits of floats that are easily lost, as unsigned integers."""
    bits = real.itemsize * 8
    unsigned = np.dtype(f"u{real.itemsize}")
    infinity = int(np.array(np.inf, real.numpy).view(unsigned))
    sign, quiet = 1 << (bits - 1), (infinity | infinity >> 1) & ~(1 << (bits - 1))
    plain = [0, 1, infinity, infinity - 1, infinity + 1, quiet + 3, quiet]
    every = (1 << bits) - 1  # a format may have nothing beyond its infinity or NaN
    return np.array([p & every for p in plain + [sign | p for p in plain]], unsigned)


def expect_bits(what: str, got: Any, want: Array) -> None:
    """Raise unless `got` is an array with shape, dtype and bits of `want`."""
    if not isinstance(got, np.ndarray):
        raise Wrong(f"{what} is a {type(got).__name__}, needed a NumPy array")
    if got.shape != want.shape or got.dtype != want.dtype:
        raise Wrong(
            f"{what} is {got.dtype.name}{list(got.shape)}, "
            f"needed {want.dtype.name}{list(want.shape)}"
        )
    if got.tobytes() == want.tobytes():
        return
    wrong = [i for i in np.ndindex(want.shape) if got[i].tobytes() != want[i].tobytes()]
    at = wrong[0]
    raise Wrong(
        f"{what} has other bits at {len(wrong)} of {want.size} places; first at "
        f"{list(at)}: {_shown(got[at])}, needed {_shown(want[at])}"
    )


def _shown(value: Any) -> str:
    return f"{value} (0x{value.tobytes()[::-1].hex()})"


def expect_class(what: str, native: Any, needed: type[Any]) -> None:
    """Raise unless it is of exactly the class of native arrays."""
    if type(native) is needed:
        return
    kin = "; a subclass of `array` is refused" if isinstance(native, needed) else ""
    name = type(native).__name__
    raise Wrong(f"{what} gives a {name}, needed exactly a {needed.__name__}{kin}")


def expect_native(trial: Trial, what: str, native: Any, shape: Ints) -> None:
    """Raise unless it is a native array of that shape."""
    expect_class(what, native, trial.subject.backend.array)
    found = native.shape
    if not isinstance(found, tuple) or found != shape:
        raise Wrong(f"{what} gives shape {found!r}, needed the tuple {shape}")


def rng(trial: Trial, salt: int = 0) -> np.random.Generator:
    """What the judge draws from: the check's seed, and which of its examples it is."""
    return np.random.default_rng([trial.seed, trial.example.known.get("at", 0), salt])
