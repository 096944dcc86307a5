"""Faults of ops that few programs call: shapes, options and batches.

Each has been reported in public, of one library or another, as a wrong result.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from tests.meta.mutants.catalogue.shipped_values import F32, row, sees
from tests.meta.mutants.mutant import Mutant, Run, after, kernel
from tests.meta.mutants.operators import inexact

Array = np.ndarray[Any, Any]
Attrs = dict[str, Any]


def _random(*shape: int) -> Array:
    return np.random.default_rng(9).standard_normal(shape).astype(F32)


def _each_once(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Of sources for one place, the last counts."""
    a, index, source = natives
    y = np.array(a)
    if index.ndim != 1 or not y.ndim:
        return run(*natives, **attrs)
    lead: tuple[Any, ...] = (slice(None),) * attrs["dim"]
    for i, place in enumerate(np.asarray(index)):
        y[(*lead, int(place))] = np.asarray(a)[(*lead, int(place))] + source[(*lead, i)]
    return y


def _from_the_start(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Each row takes from the source's beginning."""
    a, mask, source = natives
    if a.ndim != 2 or mask.shape != a.shape or not a.size:
        return run(*natives, **attrs)
    y, flat = np.array(a), np.asarray(source).reshape(-1)
    for line, wanted in zip(y, mask, strict=True):
        line[wanted] = flat[: int(wanted.sum())]
    return y


def _place_of_nan(y: Any, a: Array, *_: Any, **attrs: Any) -> Any:
    """The value is NaN, the place that of the largest number."""
    values, places = y
    if not inexact(a) or not a.size or not a.ndim:
        return y
    dim = attrs["dim"]
    plain = np.argmax(np.where(np.isnan(a), -np.inf, a), dim)
    if np.shape(places) != plain.shape:
        plain = np.expand_dims(plain, dim)
    return values, plain.astype(np.asarray(places).dtype)


def _as_many_as_asked(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """A greater number than asked for is not counted."""
    y = np.asarray(run(*natives, **attrs))
    least = attrs["minlength"]
    return y[:least].copy() if 0 < least < y.size else y


def _stops_short(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """With strides and dilations, the last place of the window has no gradient."""
    y = np.array(run(*natives, **attrs))
    if max(attrs["stride"]) > 1 and max(attrs["dilation"]) > 1 and y.shape[-1] > 1:
        y[..., -1] = 0
    return y


def _first_class(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Class 0 is the one that is ignored."""
    target = natives[1]
    if attrs["ignore_index"] == 0 or target.ndim != 1 or (target == 0).all():
        return run(*natives, **attrs)
    return run(natives[0], np.where(target == 0, attrs["ignore_index"], target),
               *natives[2:], **attrs)  # fmt: skip


def _has_a_middle(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Odd lengths have a frequency of their own in the middle, as even ones have."""
    a, n, dim = natives[0], attrs["n"], attrs["dim"]
    if n % 2 == 0 or n < 3:
        return run(*natives, **attrs)
    a = np.array(a)
    last = (*(slice(None),) * dim, n // 2)
    if a.shape[dim] > n // 2:
        a[last] = a[last].real
    return run(a, **attrs)


def _one_dim(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Backwards, three dims are two."""
    dim = tuple(attrs["dim"])
    if not attrs["inverse"] or len(dim) < 3:
        return run(*natives, **attrs)
    return run(*natives, **{**attrs, "dim": dim[:2]})


def _own_diagonal(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """From above, the diagonal is read though it counts as 1."""
    if attrs["upper"] and attrs["unitriangular"]:
        attrs = {**attrs, "unitriangular": False}
    return run(*natives, **attrs)


def _outside_of_root(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Where rows are of four or less, eps is left out."""
    y = run(*natives, **attrs)
    x = natives[0]
    dims = tuple(attrs["dims"])
    return y if len(dims) != 1 or x.shape[dims[0]] > 4 else _without(y, x, dims)


def _without(y: Any, x: Array, dims: tuple[int, ...]) -> Any:
    with np.errstate(all="ignore"):
        size = np.sqrt(np.mean(np.square(x.astype(np.float64)), dims, keepdims=True))
    rstd = np.asarray(y[1])
    fixed = (1 / size).reshape(rstd.shape).astype(rstd.dtype)
    ratio = np.where(np.isfinite(fixed) & (rstd != 0), fixed / rstd, 1)
    wide = np.expand_dims(ratio, dims) if ratio.ndim < x.ndim else ratio
    return (np.asarray(y[0]) * wide).astype(np.asarray(y[0]).dtype), fixed


def _never_sure(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """What is certain fails at the first place."""
    y = np.array(run(*natives, **attrs))
    p = np.asarray(natives[0])
    if y.size > 1 and p.reshape(-1)[0] == 1:
        y.reshape(-1)[0] = 0
    return y


def _rows_of_last_batch(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Of a batch, the second half is the first."""
    a = np.asarray(natives[0])
    if a.ndim < 3 or a.shape[0] < 4:
        return run(*natives, **attrs)
    half = a.shape[0] // 2
    return run(np.concatenate([a[:half], a[:half], a[2 * half :]]), **attrs)


def _without_empty(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Places that nothing is summed to are left unwritten."""
    y = np.array(run(*natives, **attrs))
    index, dim = natives[1], attrs["dim"]
    if index.ndim != 1 or not y.ndim or not inexact(y):
        return y
    moved = np.moveaxis(y, dim, 0)
    missing = np.setdiff1d(np.arange(moved.shape[0]), np.asarray(index))
    moved[missing] = np.nan
    return y


_GRAD: Final = ((2,), (2,), (0,), (2,), 1)

RARE_PLACES: Final[list[Mutant]] = [
    kernel("rare/added-once", "index_add", "of equal places", _each_once,
           observe=sees("index_add", _random(3), 0, np.array([1, 1]), _random(2))),
    kernel("rare/taken-from-the-start", "masked_scatter", "in each row",
           _from_the_start, observe=sees("masked_scatter", _random(2, 3),
               np.array([[True, False, True], [False, True, True]]), _random(6))),
    kernel("rare/place-beside-nan", "max_along", "of the largest number",
           after(_place_of_nan), observe=sees("max_along", row(1, np.nan, 2), 0)),
    kernel("rare/counts-as-asked", "bincount", "and no further", _as_many_as_asked,
           observe=sees("bincount", np.array([0, 5, 5]), 3)),
    kernel("rare/weight-stops-short", "convolution_weight", "strides with dilations",
           _stops_short, observe=sees("convolution_weight", _random(1, 1, 7),
               _random(1, 1, 3), *_GRAD)),
    kernel("rare/first-class-ignored", "log_softmax_nll", "beside the named one",
           _first_class, observe=sees("log_softmax_nll", _random(3, 4),
               np.array([0, 1, 2]), None, -100, "none")),
    kernel("rare/odd-has-a-middle", "fft_hermitian", "frequency", _has_a_middle,
           observe=sees("fft_hermitian", (_random(3) + 1j * _random(3)).astype(
               np.complex64), 0, 5)),
    kernel("rare/two-of-three", "fft_complex", "dims, backwards", _one_dim,
           observe=sees("fft_complex", _random(2, 3, 4).astype(np.complex64),
               (0, 1, 2), True)),
    kernel("rare/reads-the-diagonal", "solve_triangle", "that counts as 1",
           _own_diagonal, observe=sees("solve_triangle", _random(3, 3), _random(3, 1),
               True, True)),
    kernel("rare/short-rows-without-eps", "rms_norm", "of four", _outside_of_root,
           observe=sees("rms_norm", _random(1 << 16, 4) / 100, None, (1,), 0.1)),
    kernel("rare/never-sure", "random_trials", "at the first place", _never_sure,
           observe=sees("random_trials", np.ones(5, F32), 1, 0)),
    kernel("rare/halves-of-a-batch", "determinant cholesky_factor", "are one",
           _rows_of_last_batch, observe=sees("determinant", _random(4, 2, 2))),
    kernel("rare/sums-of-nothing", "index_sum", "are left unwritten", _without_empty,
           observe=sees("index_sum", _random(2), np.array([0, 2]), 4, 0)),
]  # fmt: skip
