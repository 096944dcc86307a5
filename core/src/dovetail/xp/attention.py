"""Attention without its weights: a block of queries after the other, in the caches.

What is in memory at once beside inputs and results is a block of weights, so that it
grows with the length of sequences, not with its square. Backward makes them anew.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Any, Final, NamedTuple

from dovetail.device_api.kernels import KernelTable
from dovetail.dtypes import FLOAT, HALF
from dovetail.xp.kernels import on_device

BLOCK: Final = 1 << 16
"""Weights of a block: 512 KiB of float32."""
_FEWEST: Final = 16  # queries of a block


def become_weights(xp: Any, p: Any) -> None:
    """Write the softmax of scores to where they are, 0 where every key is hidden."""
    top = p.max(axis=-1, keepdims=True)
    xp.maximum(top, xp.finfo(p.dtype).min, out=top)
    p -= top
    xp.exp(p, out=p)
    total = p.sum(axis=-1, keepdims=True)
    xp.copyto(total, total.dtype.type(1), where=total == 0)
    p /= total


def install(table: KernelTable, xp: Any) -> None:
    """Add attention and its gradient to a table."""
    made = _Attention(xp)
    table.add("mixture", made.forward, dtypes=FLOAT - HALF)
    table.add("mixture_backward", made.backward, dtypes=FLOAT - HALF)


class _Part(NamedTuple):
    """A block: which sequences, which queries, and how many keys these see."""

    at: Any
    first: int
    end: int
    keys: int


class _Attention:
    """The kernels of a library."""

    def __init__(self, xp: Any) -> None:
        self.xp = xp

    def forward(
        self, q: Any, k: Any, v: Any, mask: Any, causal: bool, scale: float
    ) -> Any:
        """What queries get of the values."""
        xp, short = self.xp, causal and _are_plain(self.xp, None, v)
        q, k, v, mask = self._spread(q, k, v, mask)
        y = xp.empty((*q.shape[:-1], v.shape[-1]), q.dtype)
        for part in _parts(q, k, short):
            weights = self._weights(part, q, k, mask, causal, scale)
            values = v[part.at][..., : part.keys, :]
            xp.matmul(weights, values, y[part.at][..., part.first : part.end, :])
        return y

    def backward(
        self, ct: Any, q: Any, k: Any, v: Any, mask: Any, causal: bool, scale: float
    ) -> Any:
        """The gradients of queries, keys and values."""
        xp, shapes = self.xp, (q.shape, k.shape, v.shape)
        short = causal and _are_plain(xp, mask, ct, q, k, v)
        q, k, v, mask = self._spread(q, k, v, mask)
        gq = xp.empty(q.shape, q.dtype)
        gk, gv = xp.zeros(k.shape, k.dtype), xp.zeros(v.shape, v.dtype)
        factor = q.dtype.type(scale)
        for part in _parts(q, k, short):
            at, rows, keys = part.at, slice(part.first, part.end), part.keys
            weights = self._weights(part, q, k, mask, causal, scale)
            ct_part = ct[at][..., rows, :]
            through = xp.matmul(ct_part, v[at][..., :keys, :].swapaxes(-2, -1))
            gv[at][..., :keys, :] += xp.matmul(weights.swapaxes(-2, -1), ct_part)
            through -= (through * weights).sum(axis=-1, keepdims=True)
            through *= weights
            through *= factor
            gq[at][..., rows, :] = xp.matmul(through, k[at][..., :keys, :])
            q_part = q[at][..., rows, :]
            gk[at][..., :keys, :] += xp.matmul(through.swapaxes(-2, -1), q_part)
        return tuple(
            self._summed(g, shape)
            for g, shape in zip((gq, gk, gv), shapes, strict=True)
        )

    def _spread(self, q: Any, k: Any, v: Any, mask: Any) -> tuple[Any, ...]:
        """All of them for all sequences."""
        xp = self.xp
        if q.shape[-1] != k.shape[-1] or k.shape[-2] != v.shape[-2]:
            raise ValueError("widths or lengths that do not meet")
        scores = (q.shape[-2], k.shape[-2])
        leads = [x.shape[:-2] for x in (q, k, v)]
        if mask is not None:
            whole = xp.broadcast_shapes(mask.shape, scores)
            if whole[-2:] != scores:
                raise ValueError("a mask that does not fit")
            leads.append(whole[:-2])
        lead = xp.broadcast_shapes(*leads)
        spread = [
            x if x.shape[:-2] == lead else xp.broadcast_to(x, lead + x.shape[-2:])
            for x in (q, k, v)
        ]
        if mask is not None:
            mask = xp.broadcast_to(mask, lead + scores)
        return (*spread, mask)

    def _weights(
        self, part: _Part, q: Any, k: Any, mask: Any, causal: bool, scale: float
    ) -> Any:
        """softmax of the scores of a block, with zeros where every key is hidden."""
        xp = self.xp
        rows = slice(part.first, part.end)
        queries = q[part.at][..., rows, :] * q.dtype.type(scale)
        p = xp.matmul(queries, k[part.at][..., : part.keys, :].swapaxes(-2, -1))
        if mask is not None:
            p += mask[part.at][..., rows, : part.keys]
        if causal and part.keys > part.first:
            own = p[..., part.first :]
            hidden = p.dtype.type(-xp.inf)
            xp.copyto(own, hidden, where=_later(xp, *own.shape[-2:]))
        if p.size:
            become_weights(xp, p)
        return p

    def _summed(self, g: Any, shape: tuple[int, ...]) -> Any:
        """A gradient of what was spread, in the shape that it had."""
        extra = g.ndim - len(shape)
        g = g.sum(axis=tuple(range(extra))) if extra else g
        wide = [d for d, n in enumerate(shape) if n == 1 and g.shape[d] != 1]
        return g.sum(axis=tuple(wide), keepdims=True) if wide else g


@cache
def _later(xp: Any, rows: int, columns: int) -> Any:
    """True where a key comes after the query."""
    return ~xp.tri(rows, columns, dtype=bool)


def _are_plain(xp: Any, mask: Any, *arrays: Any) -> bool:
    """Whether weights of hidden keys are 0, and 0 times any element is 0.

    It is not looked for where the host would have to wait for the sums.
    """
    if on_device(xp):
        return False
    seen = mask is None or mask.sum() < math.inf
    return seen and all(math.isfinite(x.sum()) for x in arrays)


def _parts(q: Any, k: Any, short: bool) -> Iterator[_Part]:
    """All at once where it is little, else each sequence by itself, in blocks.

    `short` leaves out the keys that come after all queries of a block.
    """
    (*lead, length, _), keys = q.shape, k.shape[-2]
    if not math.prod(lead) or not length:
        return
    if math.prod(lead) * length * keys <= BLOCK:
        yield _Part((), 0, length, keys)
        return
    rows = max(BLOCK // max(keys, 1), _FEWEST)
    for at in product(*map(range, lead)):
        for first in range(0, length, rows):
            end = min(first + rows, length)
            yield _Part(at, first, end, min(keys, end) if short else keys)
