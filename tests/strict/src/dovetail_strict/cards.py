"""Where CuPy's answers on a card are not NumPy's: as seen on an NVIDIA H100."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

Numpy = np.ndarray[Any, Any]


def _shift(own: Callable[..., Any]) -> Callable[..., Any]:
    """The hardware takes the number of bits modulo how many there are."""

    def shift(a: Numpy, b: Numpy, *out: Any, **options: Any) -> Any:
        return own(a, b & (8 * a.dtype.itemsize - 1), *out, **options)

    return shift


def _fmod(a: Numpy, b: Numpy, *out: Any, **options: Any) -> Any:
    """Whole numbers go through float64, and lose digits."""
    if a.dtype.kind == "f":
        return np.fmod(a, b, *out, **options)
    with np.errstate(all="ignore"):
        found = np.nan_to_num(np.fmod(a.astype("f8"), b.astype("f8")))
        return np.positive(found.astype(a.dtype), *out, **options)


def _lcm(a: Numpy, b: Numpy, *out: Any, **options: Any) -> Any:
    """What overflows loses its sign."""
    return np.absolute(np.lcm(a, b), *out, **options)


OTHERWISE: Final[dict[str, Callable[..., Any]]] = {
    "left_shift": _shift(np.left_shift), "right_shift": _shift(np.right_shift),
    "fmod": _fmod, "lcm": _lcm,
}  # fmt: skip
"""Ufuncs by name."""
FILLING: Final = frozenset({"array", "asarray", "full"})
"""What fills memory with a number, and clears it for any that equals 0."""


def filled(made: Any, *given: Any) -> Any:
    """An array, with +0.0 for the -0.0 that it was to be filled with."""
    number = given[-1] if np.ndim(given[0]) and len(given) > 1 else given[0]
    alone = np.ndim(number) == 0 and np.asarray(number).dtype.kind in "fc"
    return made + made.dtype.type(0) if alone and np.all(number == 0) else made
