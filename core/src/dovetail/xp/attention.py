"""Attention without its weights: a block of queries after the other, in the caches.

What is in memory at once beside inputs and results is a block of weights, so that it
grows with the length of sequences, not with its square. Backward makes them anew.
Devices take many sequences at once: each call is a launch.
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
DEVICE_BLOCK: Final = 1 << 26
"""The same where each call is a launch: 256 MiB."""
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
    made = Attention(xp)
    table.add("mixture", made.forward, dtypes=FLOAT - HALF)
    table.add("mixture_backward", made.backward, dtypes=FLOAT - HALF)


class _Part(NamedTuple):
    """A block: which sequences, which queries, and how many keys these see."""

    at: Any
    first: int
    end: int
    keys: int


class Attention:
    """The kernels of a library; a device may have its own for rows of weights.

    Attributes:
        xp: the library.
    """

    def __init__(self, xp: Any) -> None:
        self.xp = xp

    def forward(
        self, q: Any, k: Any, v: Any, mask: Any, causal: bool, scale: float
    ) -> Any:
        """What queries get of the values."""
        xp, short = self.xp, causal and _are_plain(self.xp, None, v)
        q, k, v, mask = self._spread(q, k, v, mask)
        y = xp.empty((*q.shape[:-1], v.shape[-1]), q.dtype)
        for part in self._parts(short, q, k):
            p = self._scores(part, q, k, mask, scale)
            weights = self.softmax(p, part.first if causal else None)
            values = v[part.at][..., : part.keys, :]
            self.product(weights, values, y[part.at][..., part.first : part.end, :])
        return y

    def backward(
        self, ct: Any, q: Any, k: Any, v: Any, mask: Any, causal: bool, scale: float
    ) -> Any:
        """The gradients of queries, keys and values."""
        xp, shapes = self.xp, (q.shape, k.shape, v.shape)
        short = causal and _are_plain(xp, mask, ct, q, k, v)
        q, k, v, mask = self._spread(q, k, v, mask)
        gq = xp.empty(q.shape, q.dtype)
        sums: list[Any] = []
        for part in self._parts(short, q, k):
            at, rows, keys = part.at, slice(part.first, part.end), part.keys
            p = self._scores(part, q, k, mask, scale)
            ct_part = ct[at][..., rows, :]
            through = self.scores(ct_part, v[at][..., :keys, :])
            first = part.first if causal else None
            weights, slopes = self.slopes(p, through, first, scale)
            self.product(slopes, k[at][..., :keys, :], gq[at][..., rows, :])
            found = [
                self.gathered(slopes, q[at][..., rows, :]),
                self.gathered(weights, ct_part),
            ]
            if part == _Part((), 0, q.shape[-2], k.shape[-2]):  # the only one
                sums = found
                break
            sums = sums or [self.no_sum(k), self.no_sum(v)]
            for total, more in zip(sums, found, strict=True):
                total[at][..., :keys, :] += more
        gk, gv = sums or [self.no_sum(k), self.no_sum(v)]
        return tuple(
            self._summed(g, shape).astype(gq.dtype, copy=False)
            for g, shape in zip((gq, gk, gv), shapes, strict=True)
        )

    def no_sum(self, like: Any) -> Any:
        """Zeros of a shape, to which a block after the other adds what is gathered."""
        return self.xp.zeros(like.shape, like.dtype)

    def gathered(self, weights: Any, x: Any) -> Any:
        """What keys gather of the rows of queries, by weights as `softmax` has them."""
        return self.xp.matmul(weights.swapaxes(-2, -1), x)

    def product(self, weights: Any, x: Any, out: Any) -> None:
        """Write what queries get of the rows of keys."""
        self.xp.matmul(weights, x, out)

    def scaled(self, queries: Any, scale: float) -> Any:
        """Queries times the scale."""
        return queries * queries.dtype.type(scale)

    def scores(self, queries: Any, keys: Any) -> Any:
        """The products of all queries and keys."""
        return self.xp.matmul(queries, keys.swapaxes(-2, -1))

    def slopes(
        self, p: Any, through: Any, first: int | None, scale: float
    ) -> tuple[Any, Any]:
        """The weights of scores, and what scores are sent, times the scale.

        Args:
            through: what weights are sent; lost, as the scores are.
            first: see `softmax`.
        """
        weights = self.softmax(p, first)
        through -= (through * weights).sum(axis=-1, keepdims=True)
        through *= weights
        through *= through.dtype.type(scale)
        return weights, through

    def softmax(self, p: Any, first: int | None) -> Any:
        """The weights of scores, which are lost; zeros where every key is hidden.

        Args:
            first: the place of the first query, from which later keys are hidden; None
                where none are.
        """
        xp = self.xp
        if first is not None and p.shape[-1] > first:
            own = p[..., first:]
            hidden = p.dtype.type(-xp.inf)
            xp.copyto(own, hidden, where=_later(xp, *own.shape[-2:]))
        if p.size:
            become_weights(xp, p)
        return p

    def _parts(self, short: bool, q: Any, k: Any) -> Iterator[_Part]:
        """All at once where it is little, else blocks.

        `short` leaves out the keys that come after all queries of one.
        """
        (*lead, length, _), keys = q.shape, k.shape[-2]
        waits = on_device(self.xp)
        most = DEVICE_BLOCK if waits else BLOCK
        if not math.prod(lead) or not length:
            return
        if math.prod(lead) * length * keys <= most:
            yield _Part((), 0, length, keys)
            return
        each = max(1, most // (length * keys)) if waits else 1
        rows = min(length, max(most // max(keys, 1), _FEWEST))
        for at in _together(lead, each):
            for first in range(0, length, rows):
                end = min(first + rows, length)
                yield _Part(at, first, end, min(keys, end) if short else keys)

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

    def _scores(self, part: _Part, q: Any, k: Any, mask: Any, scale: float) -> Any:
        """The scores of a block."""
        rows = slice(part.first, part.end)
        queries = self.scaled(q[part.at][..., rows, :], scale)
        p = self.scores(queries, k[part.at][..., : part.keys, :])
        if mask is not None:
            p += mask[part.at][..., rows, : part.keys]
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


def _together(lead: list[int], each: int) -> Iterator[tuple[Any, ...]]:
    """Places of so many sequences at a time, within dims that stay as they are."""
    if each == 1:
        yield from product(*map(range, lead))
        return
    cut, inner = len(lead), 1
    while cut and inner * lead[cut - 1] <= each:
        cut -= 1
        inner *= lead[cut]
    if not cut:
        yield ()
        return
    step, size = each // inner, lead[cut - 1]
    for at in product(*map(range, lead[: cut - 1])):
        for first in range(0, size, step):
            yield (*at, slice(first, min(first + step, size)))
