"""Attention on NumPy arrays, by kernels that have blocks of weights in the caches."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final

import numpy as np

from dovetail.codegen.arrays import Array, address
from dovetail.codegen.attention_kernels import HEAD, attention
from dovetail.codegen.products import AS_IT_IS, lie_of
from dovetail.codegen.row_calls import word
from dovetail.codegen.runtime.blas import blas
from dovetail.codegen.runtime.pool import default_size

_BLOCK: Final = 1 << 17  # weights, with their scores as much as a core's cache holds
_FEWEST, _MOST = 16, 64  # queries of a block
_NAMES: Final = {"f": "float32", "d": "float64"}
_REMEMBERED: Final = 256  # batches
_STRANDS: Final = 2  # for each thread of the machine


def forward(
    q: Array, k: Array, v: Array, mask: Array | None, causal: bool, scale: float
) -> Array | None:
    """What queries [..., l, e] get of the values; None where others have to serve.

    That is also where something is not finite: a hidden key counts then, too.

    Args:
        k: [..., s, e] keys.
        v: [..., s, f] values; all dims in front are alike.
        mask: what is added to scores, for all queries and keys or repeated, if any.
    """
    if not _decided(causal, q, k, v):
        return None
    y = np.empty((*q.shape[:-1], v.shape[-1]), q.dtype)
    done = _run(q, k, v, y, (), mask, causal, scale)
    return y if done and _is_finite(y) else None


def backward(
    ct: Array,
    q: Array,
    k: Array,
    v: Array,
    mask: Array | None,
    causal: bool,
    scale: float,
) -> tuple[Array, Array, Array] | None:
    """The gradients of queries, keys and values; None where others have to serve."""
    if not _decided(causal, q, k, v, ct):
        return None
    gq, gk, gv = (np.empty(x.shape, q.dtype) for x in (q, k, v))
    found = gq, gk, gv
    done = _run(q, k, v, ct, found, mask, causal, scale)
    return found if done and all(map(_is_finite, found)) else None


def _decided(causal: bool, q: Array, k: Array, *others: Array) -> bool:
    """Whether results tell if all inputs are finite.

    The last query sees all keys, unless there are more of them: what is not finite is
    in its result then.
    """
    if not causal or q.shape[-2] >= k.shape[-2]:
        return True
    return all(map(_is_finite, (q, k, *others)))


def _is_finite(a: Array) -> bool:
    return math.isfinite(a.sum())


def _run(
    q: Array, k: Array, v: Array, y: Array, gradients: tuple[Array, ...],
    mask: Array | None, causal: bool, scale: float,
) -> bool:  # fmt: skip
    """Write attention to y, or gradients, y being the cotangent; False for neither."""
    found, code = blas(), q.dtype.char
    if found is None or code not in found.gemm:
        return False
    q, k, v = map(_rows, (q, k, v))
    y = _rows(y) if gradients else y
    kernels = attention(code, found.bits, mask is not None)
    lead, heads = q.shape[:-2], math.prod(q.shape[:-2])
    rows, keys = q.shape[-2], k.shape[-2]
    hidden = None if mask is None else _repeated(mask, (*lead, rows, keys))
    most = min(_BLOCK // keys // _FEWEST * _FEWEST, _MOST)
    block = min(rows, max(most, _FEWEST))
    blocks = -(-rows // block)
    block_bytes = -(-block * keys * q.itemsize // 64) * 64
    strands = min(heads if gradients else heads * blocks, default_size() * _STRANDS)
    slot = block_bytes * (3 if gradients else 2)
    scratch = np.empty(slot * strands, np.uint8)
    sizes = (
        heads, blocks, rows, keys, q.shape[-1], v.shape[-1], block, block_bytes, slot,
        strands, causal, *[_line(x) for x in (q, k, v, y)],
        0 if hidden is None else _line(hidden),
    )  # fmt: skip
    words = (found.gemm[code], kernels.softmax.address, kernels.through.address,
             address(scratch), word(_NAMES[code], scale), *sizes)  # fmt: skip
    table = np.empty(len(words) + heads * len(HEAD), np.uint64)
    table[: len(words)] = words
    places = table[len(words) :].view(np.int64).reshape(heads, len(HEAD))
    parts = dict(zip(HEAD, (q, k, v, y, *gradients), strict=False))
    if hidden is not None:
        parts["mask"] = hidden
    for name, x in parts.items():
        place = places[:, HEAD.index(name)]
        np.add(_offsets(lead, x.strides[:-2]), address(x), place)
    run = kernels.backward if gradients else kernels.forward
    run.run(address(table), strands, 1)
    return True


def _repeated(mask: Array, shape: tuple[int, ...]) -> Array:
    """A mask for all queries and keys of a batch, those of a row side by side."""
    if mask.shape[-1] != shape[-1] or mask.strides[-1] != mask.itemsize:
        wide = np.broadcast_to(mask, (*mask.shape[:-1], shape[-1]))
        mask = np.ascontiguousarray(wide)
    return np.broadcast_to(mask, shape)


@lru_cache(_REMEMBERED)
def _offsets(lead: tuple[int, ...], steps: tuple[int, ...]) -> Array:
    """Where each matrix of a batch begins, in bytes from the first one."""
    found = np.zeros(lead, np.int64)
    for dim, step in enumerate(steps):
        found += np.arange(lead[dim]).reshape(-1, *[1] * (len(lead) - dim - 1)) * step
    return found.ravel()


def _line(x: Array) -> int:
    """How far it is from row to row, in elements; a single one may say anything."""
    rows, columns = x.shape[-2:]
    return int(x.strides[-2]) // x.itemsize if rows > 1 else columns


def _rows(x: Array) -> Array:
    """A batch of matrices as they lie, or copied where they are not row by row."""
    found = lie_of(x.shape, x.strides, x.itemsize)
    return x if found is not None and found[0] == AS_IT_IS else np.ascontiguousarray(x)
