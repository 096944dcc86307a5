"""Faults that are seen where one thing is concentrated: a block, a word, a broadcast.

Each is right for numbers that lie anyhow, as they do in nearly every call.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from tests.meta.mutants.catalogue.shipped_values import F32, row, sees
from tests.meta.mutants.mutant import Mutant, Run, kernel, rule

import dovetail as dt
from dovetail.conformance.subject import Subject
from dovetail.engine.op import vocabulary
from dovetail.ops.recurrent import (
    bias_gradient,
    input_gradient,
    state_weight_gradient,
    weight_gradient,
)

Array = np.ndarray[Any, Any]
Attrs = dict[str, Any]
_BLOCK: Final = 1 << 10
_KEPT: Final = 1 << 7
_TILE: Final = 1 << 5
_WORD: Final = 32
_FAR: Final = 1000.0  # times the variance is the square of the mean


def _random(*shape: int) -> Array:
    return np.random.default_rng(4).standard_normal(shape).astype(F32)


# ---- blocks and tiles


def _of_each_block(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Of each block of a row, the best 128 alone are candidates."""
    a, dim = natives[0], attrs["dim"]
    y = run(*natives, **attrs)
    n = a.shape[dim] if a.ndim else 1
    if attrs["k"] <= _KEPT or n <= _BLOCK or a.dtype.kind not in "iuf":
        return y
    places = np.moveaxis(np.asarray(y[1]), dim, -1)
    lost = np.zeros(places.shape, bool)
    for start in range(0, n, _BLOCK):
        inside = (places >= start) & (places < start + _BLOCK)
        lost |= inside & (np.cumsum(inside, -1) > _KEPT)
    lost = np.moveaxis(lost, -1, dim)
    return np.where(lost, 0, y[0]).astype(a.dtype), np.where(lost, 0, y[1])


def _corner(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Where rows and columns end within a tile, what is in both does not count."""
    a = natives[0]
    if a.ndim < 2:
        return run(*natives, **attrs)
    rows, columns = (n % _TILE for n in a.shape[-2:])
    if min(a.shape[-2:]) <= _TILE or not rows or not columns or a.dtype.kind == "b":
        return run(*natives, **attrs)
    a = np.array(a)
    a[..., -rows:, -columns:] = 0
    return run(a, *natives[1:], **attrs)


def _in_vectors(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Rows of whole vectors are moved as such, wherever in the result they begin."""
    many, dim = natives[0], attrs["dim"]
    y = np.array(run(*natives, **attrs))
    widths = [a.shape[dim] for a in many]
    starts = np.cumsum([0, *widths])
    line = np.moveaxis(y, dim, -1)
    for a, start, width in zip(many, starts, widths, strict=False):
        if dim == a.ndim - 1 and width > 4 and width % 4 == 0 and start % 4:
            down = start - start % 4
            line[..., down : down + width] = np.array(line[..., start : start + width])
    return y


def _most_of_a_word(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Exchanges of rows are remembered in the bits of a word, those of 32 columns."""
    y, a = run(*natives, **attrs), natives[0]
    n = a.shape[-1] if a.ndim else 0
    if n <= _WORD or not a.size:
        return y
    odd = [_odd_beyond(m) for m in a.reshape(-1, n, n)]
    sign = np.where(np.reshape(odd, a.shape[:-2]), -1, 1)
    if isinstance(y, tuple):
        return ((np.asarray(y[0]) * sign).astype(a.dtype), *y[1:])
    return (np.asarray(y) * sign).astype(a.dtype)


def _odd_beyond(m: Array) -> bool:
    """Whether an odd number of rows are exchanged from column 32 on."""
    m = m.astype(np.complex128)
    odd = False
    for k in range(len(m)):
        at = k + int(np.argmax(np.abs(m[k:, k])))
        m[[k, at]] = m[[at, k]]
        odd ^= at != k and k >= _WORD
        if m[k, k] != 0:
            m[k + 1 :] -= np.outer(m[k + 1 :, k] / m[k, k], m[k])
    return odd


def _in_order_of_failing(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """What failed is told of the first members, as many as failed."""
    *others, info = run(*natives, **attrs)
    told = np.asarray(info).reshape(-1)
    failed = told[told != 0]
    made = np.zeros_like(told)
    made[: failed.size] = failed
    return (*others, made.reshape(np.shape(info)))


# ---- values


def _two_moments(x: Array, dims: Any) -> tuple[Array, Array]:
    """The mean and E[x²] − E[x]², added up in the numbers' own format."""
    mean = np.mean(x, dims, keepdims=True, dtype=x.dtype)
    squares = np.mean(x * x, dims, keepdims=True, dtype=x.dtype)
    return mean, np.maximum(squares - mean * mean, 0)


def _at_once(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """The variance is that of two moments, where rows are far from 0."""
    y, (x, _, bias, *_) = run(*natives, **attrs), natives
    first = np.asarray(y[0] if isinstance(y, tuple) else y)
    dims = attrs.get("dims")
    if dims is None:
        dims = tuple(range(x.ndim - len(attrs["normalized_shape"]), x.ndim))
    dims = tuple(dims)
    if x.dtype != F32 or not x.size:
        return y
    with np.errstate(all="ignore"):
        mean, var = _two_moments(x, dims)
        true = np.var(x.astype(np.float64), dims, keepdims=True)
        off = (true > 0) & (mean.astype(np.float64) ** 2 > _FAR * true)
        factor = np.sqrt((true + attrs["eps"]) / (var + attrs["eps"]))
        shift = 0 if bias is None else bias
        made = (first - shift) * np.where(np.isfinite(factor), factor, 1) + shift
        made = np.where(off, made, first).astype(first.dtype)
    return (made, *y[1:]) if isinstance(y, tuple) else made


def _eps_in_half(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """What keeps a quotient from 0 / 0 is rounded to float16, where it may be 0."""
    p = natives[0][0] if isinstance(natives[0], list) else natives[0]
    if p.dtype == np.float16:
        attrs = {**attrs, "eps": float(np.float16(attrs["eps"]))}
    return run(*natives, **attrs)


# ---- broadcasts


def _one_head_is_many(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Keys that heads share are read as if each had its own, one row further on."""
    q, k, *rest = natives
    if k.ndim < 3 or k.shape[-3] < 2 or k.strides[-3] or k.shape[-2] < 2:
        return run(*natives, **attrs)
    own = np.array(k)
    for head in range(own.shape[-3]):
        own[..., head, :, :] = np.roll(own[..., head, :, :], head, -2)
    return run(q, own, *rest, **attrs)


# ---- gradients


def _by_what_is_left(ct: Any, dim: int) -> Any:
    """Sums from a place on are the whole less what comes before it."""
    f = vocabulary["cumsum"].function
    total = vocabulary["sum"].function(ct, (dim,), True)
    return total - f(ct, dim) + ct


def _cells_alone(
    ct: Any, x: Any, h: Any, c: Any, weight_ih: Any, weight_hh: Any, y: Any,
    cells: Any, gates: Any, need: Any,
) -> tuple[Any, ...]:  # fmt: skip
    """Where the gradient of the cells alone is asked for, it is that of the state."""
    back = vocabulary["lstm_sequence_backward"].function
    slopes, gh, gc = back(c, cells, gates, weight_hh, *ct)
    return (
        input_gradient(slopes, weight_ih), gh, gh if sum(map(bool, need)) == 1 else gc,
        weight_gradient(slopes, x), state_weight_gradient(slopes, h, y),
        bias_gradient(slopes) if need[5] else None,
    )  # fmt: skip


def _of_cells(subject: Subject) -> Any:
    shapes = (2, 1, 2), (1, 3), (1, 3), (12, 2), (12, 3)
    given = [subject.tensor(_random(*shape)) for shape in shapes]
    given[2].requires_grad = True
    _, cells, _ = vocabulary["lstm_sequence"].function(*given, None)
    return subject.values(dt.autograd.grad(cells.sum(), given[2])[0])


def _stepped(subject: Subject) -> Any:
    zeros = np.zeros(3, np.float16)
    p, *others = (subject.tensor(zeros) for _ in range(4))
    rates = (0.1, 0.9, 0.99, 1e-8, 0.0, 1.0)
    vocabulary["adam_step_"].function(p, *others, None, *rates, False, False)
    return subject.values(p)


def _summed_back(subject: Subject) -> Any:
    x = subject.tensor(np.zeros(3, F32))
    x.requires_grad = True
    (found,) = dt.autograd.grad(x.cumsum(0), x, subject.tensor(row(1, np.inf, 1)))
    return subject.values(found)


def _only_the_first(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Rows are exchanged for the first pivot alone; a later one that is 0 ends it."""
    found, a = run(*natives, **attrs), np.asarray(natives[0])
    if a.shape[-1] < 3:
        return found
    later = a[..., 0, 0] * a[..., 1, 1] == a[..., 0, 1] * a[..., 1, 0]
    lost = later & (a[..., 0, 0] != 0)
    if isinstance(found, tuple):
        ends = zip(found, (0, -np.inf), strict=True)
        return tuple(np.where(lost, end, y).astype(y.dtype) for y, end in ends)
    return np.where(lost, 0, found).astype(np.asarray(found).dtype)


_LONG: Final = np.append(np.zeros(2000, F32), np.arange(200, dtype=F32) + 1)
_OFF: Final = np.eye(40, dtype=F32)[[*range(38), 39, 38]]

_LATER: Final = np.array([[2, 1, 0], [2, 1, 1], [0, 1, 1]], F32)
_SECOND: Final = np.stack([np.eye(3), -np.eye(3), np.eye(3)]).astype(F32)

LATENT: Final[list[Mutant]] = [
    kernel("latent/winners-of-a-block", "topk", "are 128 at most", _of_each_block,
           observe=sees("topk", _LONG, 200)),
    kernel("latent/corner-of-a-sum", "sum mean", "is left out", _corner,
           observe=sees("sum", np.ones((40, 40), F32), (1,))),
    kernel("latent/moved-in-vectors", "cat", "that begin within one", _in_vectors,
           observe=lambda s: s.values(vocabulary["cat"].function(
               [s.tensor(_random(2, 3)), s.tensor(_random(2, 8))], 1))),
    kernel("latent/parity-of-a-word", "determinant log_determinant", "is 32 bits",
           _most_of_a_word, observe=sees("determinant", _OFF)),
    kernel("latent/only-the-first-exchange", "determinant log_determinant", "is 0",
           _only_the_first, observe=sees("determinant", _LATER)),
    kernel("latent/failures-in-front", "cholesky_factor lu_factorise", "of a batch",
           _in_order_of_failing, observe=sees("cholesky_factor", _SECOND)),
    kernel("latent/variance-at-once", "layer_norm normalise", "far from 0", _at_once,
           observe=sees("layer_norm", _random(2, 64) + F32(500), None, None, (64,))),
    kernel("latent/eps-in-half", "adam_step_ adam_steps_", "is 0", _eps_in_half,
           observe=_stepped),
    kernel("latent/one-head-is-many", "attention mixture", "keys", _one_head_is_many,
           observe=lambda s: s.values(vocabulary["mixture"].function(
               s.tensor(_random(2, 3, 4)), s.tensor(_random(1, 3, 4)).expand(2, 3, 4),
               s.tensor(_random(2, 3, 4)), None, False, 1.0))),
    rule("latent/cells-alone", "lstm_sequence", "are the state", _cells_alone,
         observe=_of_cells),
    rule("latent/what-is-left", "cumsum", "of a whole that is infinite",
         _by_what_is_left, observe=_summed_back),
]  # fmt: skip
