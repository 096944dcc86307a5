"""Faults from bug reports of accelerators and array libraries: shapes and options.

Each has been reported in public, of one library or another, as a wrong result.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from tests.meta.mutants.catalogue.shipped_values import F32, row, sees
from tests.meta.mutants.mutant import (
    Fault,
    Mutant,
    Run,
    after,
    kernel,
    rule,
    with_faults,
)

from dovetail.conformance.subject import Subject
from dovetail.engine.op import vocabulary

Array = np.ndarray[Any, Any]
Attrs = dict[str, Any]


def _random(*shape: int) -> Array:
    return np.random.default_rng(6).standard_normal(shape).astype(F32)


def _several(y: Array, a: Array, **attrs: Any) -> Array:
    """Of several dims that are kept, one is."""
    dim = attrs["dim"]
    if not attrs["keepdim"] or not isinstance(dim, tuple) or len(dim) != a.ndim:
        return y
    return np.asarray(y).reshape(1) if len(dim) > 1 else y


def _one_row(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """What is repeated by a stride of 0 is masked as its last copy."""
    a, mask = natives[:2]
    if not isinstance(a, np.ndarray) or a.ndim < 2 or a.strides[0] or a.shape[0] < 2:
        return run(*natives, **attrs)
    mask = np.broadcast_to(mask, np.broadcast_shapes(a.shape, mask.shape))
    if mask.ndim != a.ndim:
        return run(*natives, **attrs)
    return run(a, np.array(np.broadcast_to(mask[-1:], mask.shape)), *natives[2:],
               **attrs)  # fmt: skip


def _turned_alike(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Where all matrices are transposed, the result is in the order of memory."""
    turned = all(
        a.ndim == 2 and a.flags.f_contiguous and not a.flags.c_contiguous
        for a in natives
    )
    y = run(*natives, **attrs)
    if not turned or any(a.shape != natives[0].shape for a in natives):
        return y
    return np.ascontiguousarray(y.T).reshape(y.shape)


def _from_memory(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """16-bit integers that are strided are read as they lie in memory."""
    a = natives[0]
    if a.dtype.kind not in "iu" or a.itemsize != 2 or a.ndim != 1 or a.size < 2:
        return run(*natives, **attrs)
    if a.strides[0] <= a.itemsize:
        return run(*natives, **attrs)
    dense = np.lib.stride_tricks.as_strided(a, a.shape, (a.itemsize,))
    return run(dense, *natives[1:], **attrs)


def _of_one_row(y: Array, a: Array, **attrs: Any) -> Array:
    """A dim of one element is read as the start of the identity."""
    dim = attrs["dim"]
    dim = dim if isinstance(dim, tuple) else (dim,)
    one = a.ndim > 1 and all(isinstance(d, int) and a.shape[d] == 1 for d in dim)
    return np.zeros_like(y) if one and y.size > 1 else y


def _whole_windows(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Windows that hang over the padding are divided by their whole size."""
    if attrs["ceil_mode"] and attrs["count_include_pad"]:
        size = math.prod(attrs["kernel_size"])
        attrs = {**attrs, "divisor_override": attrs["divisor_override"] or size}
    return run(*natives, **attrs)


def _first_divisor() -> Fault:
    """The divisor is not part of what a compiled kernel is found by."""
    known: dict[Any, Any] = {}

    def fault(run: Run, natives: list[Any], attrs: Attrs) -> Any:
        a = natives[0]
        rest = {k: v for k, v in attrs.items() if k != "divisor_override"}
        key = (a.shape, a.dtype, repr(sorted(rest.items(), key=str)))
        divisor = known.setdefault(key, attrs["divisor_override"])
        return run(*natives, **{**rest, "divisor_override": divisor})

    return fault


def _channels_last(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """With channels last and padding, windows begin one later."""
    dy, y = natives[0], np.asarray(run(*natives, **attrs))
    if dy.ndim < 3 or dy.flags.c_contiguous or not any(attrs["padding"]) or not y.size:
        return y
    return np.roll(y, 1, -1)


def _added_once(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """One number is added once to a place that is named several times."""
    a, values, indices = natives
    named = [i for i in indices if i is not None]
    if not attrs.get("accumulate") or values.size != 1 or len(named) != 1:
        return run(*natives, **attrs)
    if len(indices) != 1 or named[0].dtype.kind == "b" or not named[0].size:
        return run(*natives, **attrs)
    place = np.unique(np.where(named[0] < 0, named[0] + a.shape[0], named[0]))
    return run(a, values, [place.astype(named[0].dtype)], **attrs)


def _tail_of_zeros(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """The last block of 32 is filled with zeros, whose spread counts."""
    found = run(*natives, **attrs)
    x, dims = natives[0], attrs["dims"]
    n = x.shape[-1] if x.ndim else 0
    if x.dtype != F32 or len(dims) != 1 or dims[0] % x.ndim != x.ndim - 1:
        return found
    if n <= 32 or n % 32 == 0:
        return found
    mean = np.mean(x, -1, keepdims=True)
    with np.errstate(all="ignore"):
        spread = np.var(x, -1, keepdims=True) + mean * mean * F32((-n % 32) / n)
        rstd = 1 / np.sqrt(spread + F32(attrs["eps"]))
        y = (x - mean) * rstd
    weight, bias = (*natives[1:3], None, None)[:2]
    y = y if weight is None else y * weight
    y = y if bias is None else y + bias
    return (y.astype(F32), found[1], spread.reshape(np.shape(found[2])).astype(F32),
            rstd.reshape(np.shape(found[3])).astype(F32))  # fmt: skip


def _in_fours(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Arrays are joined four at a time; the fifth is read as the first."""
    (arrays,) = natives
    again = [
        arrays[i % 4] if i >= 4 and a.shape == arrays[i % 4].shape else a
        for i, a in enumerate(arrays)
    ]
    return run(again, **attrs)


def _from_the_end(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Negative places in 32 bits are the first."""
    indices = natives[-1]
    moved = [
        np.maximum(i, 0).astype(i.dtype) if i is not None and i.dtype == np.int32 else i
        for i in indices
    ]
    return run(*natives[:-1], moved, **attrs)


def _by_remainder(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Of several kernels a channel, each is laid on the next channel."""
    x, w = natives[:2]
    groups = attrs["groups"]
    if groups < 2 or w.shape[1] != 1 or w.shape[0] <= groups or w.shape[0] % groups:
        return run(*natives, **attrs)
    times = w.shape[0] // groups
    order = [(o % groups) * times + o // groups for o in range(w.shape[0])]
    back = np.argsort(order)
    natives = [x, np.ascontiguousarray(w[back]), *natives[2:]]
    return np.ascontiguousarray(np.asarray(run(*natives, **attrs))[:, order])


def _bias_of_groups(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """The last group's bias is not added."""
    bias, groups = natives[2] if len(natives) > 2 else None, attrs["groups"]
    if bias is None or groups < 2 or bias.shape[0] % groups:
        return run(*natives, **attrs)
    cut = np.array(bias)
    cut[-(bias.shape[0] // groups) :] = 0
    return run(*natives[:2], cut, **attrs)


def _untouched(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """What is not included is lost where nothing is put, too."""
    y = np.array(run(*natives, **attrs))
    if attrs.get("include_self", True) or attrs["reduce"] != "sum":
        return y
    a, index = natives[0], natives[1]
    if not a.ndim or index.ndim != a.ndim:
        return y
    hit = np.zeros(a.shape, bool)
    np.put_along_axis(
        hit[tuple(slice(0, n) if d != attrs["dim"] % a.ndim else slice(None)
                  for d, n in enumerate(index.shape))],
        index.astype(np.int64), True, attrs["dim"])  # fmt: skip
    return np.where(hit, y, 0).astype(y.dtype)


def _strided_vector(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """The step of a vector is 1."""
    a, b = natives
    if b.ndim == 1 and b.size > 1 and b.strides[0] > b.itemsize:
        b = np.lib.stride_tricks.as_strided(b, b.shape, (b.itemsize,))
    return run(a, b, **attrs)


def _of_no_terms(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """A product of nothing is not written."""
    y = np.array(run(*natives, **attrs))
    if not natives[0].ndim or natives[0].shape[-1] or y.dtype.kind != "f":
        return y
    return np.full_like(y, np.nan)


def _within(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Shifts beyond the size do not shift."""
    a = natives[0]
    dims = attrs["dims"]
    shifts = attrs["shifts"]
    if not dims or len(dims) != len(shifts):
        return run(*natives, **attrs)
    kept = tuple(
        0 if abs(s) > a.shape[d] else s for s, d in zip(shifts, dims, strict=True)
    )
    return run(a, **{**attrs, "shifts": kept})


def _by_division(ct: Any, input: Any, y: Any, dim: Any, keepdim: Any) -> Any:
    """What is left of the product is it divided by the element."""
    if dim is not None and not keepdim and input.ndim:
        dims = dim if isinstance(dim, tuple) else (dim,)
        for d in sorted(d % input.ndim for d in dims):
            ct, y = ct.unsqueeze(d), y.unsqueeze(d)
    return ct * y / input


def _divisors(subject: Subject) -> Any:
    x = subject.tensor(np.arange(8, dtype=F32).reshape(1, 1, 8))
    pool = vocabulary["avg_pool"].function
    return [subject.values(pool(x, (2,), (2,), (0,), False, True, d))
            for d in (None, 3, 5)]  # fmt: skip


def _strided_product(subject: Subject) -> Any:
    vector = subject.tensor(_random(8))[::2]
    return subject.values(subject.tensor(_random(3, 4)) @ vector)


def _columns(subject: Subject) -> Any:
    whole = subject.tensor(np.arange(20, dtype=np.int16).reshape(10, 2))
    return subject.values(whole[:, 0] ^ 1)


def _expanded(subject: Subject) -> Any:
    x = subject.tensor(_random(1, 3)).expand(2, 3)
    mask = subject.tensor(np.array([[True, False, True], [False, True, False]]))
    return subject.values(x.masked_fill(mask, 9.0))


def _turned(subject: Subject) -> Any:
    a, b, c = (subject.tensor(np.abs(_random(2, 3)) + i).t() for i in range(3))
    return subject.values(vocabulary["addcdiv"].function(a, b, c + 1, value=1.0))


def _backward(subject: Subject, turn: bool, **options: Any) -> Any:
    x = subject.tensor(_random(1, 2, 5, 5))
    x.requires_grad = True
    given = {"ceil_mode": False, "padding": (0, 0), **options}
    y = vocabulary["avg_pool"].function(
        x, (2, 2), (2, 2), given["padding"], given["ceil_mode"], True, None
    )
    ct = subject.tensor(_random(*y.shape))
    if turn:
        shape = tuple(y.shape)
        ct = subject.tensor(_random(shape[0], *shape[2:], shape[1])).permute(0, 3, 1, 2)
    y.backward(ct)
    assert x.grad is not None
    return subject.values(x.grad)


_OPTIONS: Final = ((1,), (0,), (1,))
FIELD_PLACES: Final[list[Mutant]] = [
    kernel("field/keeps-one-dim", "sum amax amin", "of several", after(_several),
           observe=sees("sum", _random(3, 4), (0, 1), True)),
    kernel("field/mask-of-the-last-copy", "masked_fill", "of what is expanded",
           _one_row, observe=_expanded),
    kernel("field/order-of-memory", "addcdiv addcmul", "transposed operands",
           _turned_alike, observe=_turned),
    kernel("field/column-is-dense", "bitwise_xor bitwise_and", "16 bits",
           _from_memory, observe=_columns),
    kernel("field/all-of-one", "all", "along a dim of one element", after(_of_one_row),
           observe=sees("all", np.ones((1, 3), bool), (0,))),
    kernel("field/overhanging-windows", "avg_pool_backward", "in ceil mode",
           _whole_windows, observe=lambda s: _backward(s, False, ceil_mode=True)),
    Mutant("field/divisor-of-the-first-call", "found by all else", ("avg_pool",),
           lambda: with_faults({"avg_pool": _first_divisor()}), observe=_divisors),
    kernel("field/channels-last", "avg_pool_backward", "with padding", _channels_last,
           observe=lambda s: _backward(s, True, padding=(1, 1))),
    kernel("field/one-number-once", "index_put", "accumulated", _added_once,
           observe=lambda s: s.values(
               vocabulary["index_put"].function(s.tensor(np.zeros(3, F32)),
                   s.tensor(row(1)), [s.tensor(np.array([1, 1]))], True))),
    kernel("field/spread-of-a-tail", "normalise", "zeros behind the last block",
           _tail_of_zeros, observe=lambda s: s.values(
               vocabulary["normalise"].function(s.tensor(_random(2, 40) + F32(3)),
                   None, None, (1,), 1e-5)[0])),
    kernel("field/joined-in-fours", "cat", "the fifth is the first", _in_fours,
           observe=lambda s: s.values(vocabulary["cat"].function(
               [s.tensor(row(i)) for i in range(6)], 0))),
    kernel("field/narrow-place-from-the-end", "index_get", "of 32 bits", _from_the_end,
           observe=lambda s: s.values(vocabulary["index_get"].function(
               s.tensor(row(1, 2, 3)), [s.tensor(np.array([-1], np.int32))]))),
    kernel("field/kernels-of-a-channel", "convolution", "several a group",
           _by_remainder, observe=sees("convolution", _random(1, 2, 4),
               _random(4, 1, 2), None, *_OPTIONS, 2)),
    kernel("field/bias-of-groups", "convolution", "the last one's", _bias_of_groups,
           observe=sees("convolution", _random(1, 2, 4), _random(2, 1, 2), row(1, 2),
               *_OPTIONS, 2)),
    kernel("field/not-included", "scatter_reduce", "where nothing is put", _untouched,
           observe=sees("scatter_reduce", row(1, 2, 3), 0, np.array([1]), row(5),
               "sum", include_self=False)),
    kernel("field/step-of-a-vector", "matmul", "is 1", _strided_vector,
           observe=_strided_product),
    kernel("field/product-of-no-terms", "matmul", "is left unwritten", _of_no_terms,
           observe=sees("matmul", np.zeros((2, 0), F32), np.zeros((0, 3), F32))),
    kernel("field/shifts-beyond", "roll", "the size", _within,
           observe=sees("roll", row(1, 2, 3), (4,), (0,))),
    rule("field/product-by-division", "prod", "NaN at zeros", _by_division),
]  # fmt: skip
