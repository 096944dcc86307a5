"""What a step returns on two devices, and how far apart rounding may bring it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import numpy as np

from dovetail import dtypes
from dovetail.conformance.rounding import roundoff
from dovetail.dtypes import Array
from dovetail.engine.tensor import Tensor
from dovetail.nn.module.attributes import ModuleAttributes
from dovetail.optim.optimizer import Optimizer
from dovetail.testing.comparison.inputs import host_of
from dovetail.testing.comparison.values import (
    Difference,
    coarser,
    difference,
    errors,
    sizes_of,
)

Leaves = dict[str, Array]

_FREE: Final = 64.0  # roundoffs of the largest value that drift may always have
_MARGIN: Final = 16.0  # how much more than one sample of rounding it may be


def leaves(value: Any, path: str = "result") -> Leaves:
    """The numbers in what a step returned, by where they are."""
    return dict(_leaves(value, path))


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Array]]:
    if isinstance(value, Tensor):
        yield path, host_of(value)
    elif isinstance(value, bool | int | float | complex | np.generic | np.ndarray):
        yield path, _as_computed(np.asarray(value))
    elif isinstance(value, ModuleAttributes | Optimizer):
        yield from _leaves(value.state_dict(), path)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _leaves(item, f"{path}[{key!r}]")
    elif isinstance(value, list | tuple):
        for i, item in enumerate(value):
            yield from _leaves(item, f"{path}[{i}]")


def _as_computed(value: Array) -> Array:
    """A Python float was computed on the device, in the default format at best."""
    if value.dtype == np.float64:
        return value.astype(dtypes.get_default_dtype().numpy)
    return value


def drift(got: Leaves, want: Leaves) -> float:
    """The largest error of any value over the largest value beside it."""
    worst = 0.0
    for path in got.keys() & want.keys():
        a, b = got[path], want[path]
        if a.shape == b.shape and a.size:
            scale = float(sizes_of(b).max()) or 1.0
            worst = max(worst, float(errors(a, b).max()) / scale)
    return worst


def parting(
    got: Leaves, want: Leaves, noisy: Callable[[], Leaves]
) -> tuple[str, str, Difference | None] | None:
    """Where two outcomes part beyond what rounding explains: path, message, values.

    Args:
        got, want: what the step returned.
        noisy: runs it again with every result moved by little.
    """
    if got.keys() != want.keys():
        odd = sorted(got.keys() ^ want.keys())[0]
        return odd, "only one device returned it", None
    again: list[Leaves] = []
    for path, want_here in want.items():
        got_here = got[path]
        if got_here.shape != want_here.shape:
            message = f"of shape {got_here.shape}, wanted {want_here.shape}"
            return path, message, None

        def allowed(path: str = path, want_here: Array = want_here) -> Array:
            again.append(again[0] if again else noisy())
            return _sampled(again[0], path, want_here)

        found, _ = difference(
            path, got_here, want_here, _free(got_here, want_here), allowed
        )
        if found is not None:
            return path, "no op is at fault, yet what the step returns differs", found
    return None


def _free(got: Array, want: Array) -> float:
    dtype = coarser(dtypes.from_numpy(got.dtype), dtypes.from_numpy(want.dtype))
    largest = float(sizes_of(want).max(initial=0.0))
    return _FREE * roundoff(dtype) * largest


def _sampled(noisy: Leaves, path: str, want: Array) -> Array:
    """What the sample of rounding allows; anything where it changed the very shape."""
    other = noisy.get(path)
    if other is None or other.shape != want.shape:
        return np.full(want.shape, np.inf)
    moved = errors(other, want)
    return np.full(want.shape, _MARGIN * float(moved.max(initial=0.0)))
