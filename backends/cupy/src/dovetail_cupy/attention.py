"""Attention on a device: products by its library, and one launch for rows of weights.

Of bfloat16, scores and sums are float32, and weights are two numbers each: what they
are rounded to, and what that leaves. So are they multiplied as fast as bfloat16 is, and
twice. float16 has not the range for this; it is computed in float32.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dovetail.codegen import attention_rows
from dovetail.codegen.ir import Kernel
from dovetail.device_api import KernelTable
from dovetail.dtypes import DType, bfloat16, float16, float32, float64
from dovetail.xp.attention import Attention
from dovetail_cupy.launch import Forms, Machine
from dovetail_cupy.products import Products


def install(table: KernelTable, machine: Machine, xp: Any, products: Products) -> None:
    """Put it before that of a table.

    Args:
        xp: the library, as kernels that it shares see it.
    """
    made: dict[DType, Attention] = {
        dtype: DeviceAttention(machine, xp, products, dtype)
        for dtype in (float32, float64)
    }
    made[bfloat16] = NarrowAttention(machine, xp, products, bfloat16)
    for dtype, own in made.items():
        _add(table, dtype, own.forward, own.backward)
    plain = made[float32]
    _add(table, float16, *map(_through_float32, (plain.forward, plain.backward)))


def _add(
    table: KernelTable, dtype: DType, forward: Callable[..., Any],
    backward: Callable[..., Any],
) -> None:  # fmt: skip
    table.add("mixture", forward, dtypes=[dtype], rank=1)
    table.add("mixture_backward", backward, dtypes=[dtype], rank=1)


def _through_float32(run: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel of float32 for float16."""

    def call(*arrays: Any, **choices: Any) -> Any:
        wide = [a if a is None else a.astype("float32") for a in arrays]
        found = run(*wide, **choices)
        if type(found) is tuple:
            return tuple([y.astype("float16") for y in found])
        return found.astype("float16")

    return call


_WIDE: Final = float32.numpy


class DeviceAttention(Attention):
    """Attention in one dtype, with generated kernels for its rows."""

    def __init__(
        self, machine: Machine, xp: Any, products: Products, dtype: DType
    ) -> None:
        super().__init__(xp)
        self._machine = machine
        self._products = products
        self._dtype = dtype
        self._forms = Forms(machine)

    def softmax(self, p: Any, first: int | None) -> Any:
        self._run(attention_rows.weights, first, [p])
        return p

    def slopes(
        self, p: Any, through: Any, first: int | None, scale: float
    ) -> tuple[Any, Any]:
        self._run(attention_rows.slopes, first, [p, through], scale)
        return p, through

    def _run(
        self, form: Callable[[str, bool], Kernel], first: int | None,
        arrays: list[Any], *numbers: float,
    ) -> None:  # fmt: skip
        """Launch a form for all rows of scores, the first of the arrays."""
        p = arrays[0]
        queries, keys = p.shape[-2:]
        made = form, self._dtype.name, first is not None
        words = [keys, queries, first or 0, *numbers]
        self._forms.run(made, arrays, words, p.size // max(keys, 1))


class NarrowAttention(DeviceAttention):
    """Attention in bfloat16. Weights, as its methods hand them on, are pairs."""

    def _spread(self, q: Any, k: Any, v: Any, mask: Any) -> tuple[Any, ...]:
        mask = mask if mask is None else mask.astype(_WIDE)
        return super()._spread(q, k, v, mask)

    def _scores(self, part: Any, q: Any, k: Any, mask: Any, scale: float) -> Any:
        rows, at = slice(part.first, part.end), part.at
        keys = k[at][..., : part.keys, :].swapaxes(-2, -1)
        p = self._products.wide(q[at][..., rows, :], keys, factor=scale)
        if mask is not None:
            p += mask[at][..., rows, : part.keys]
        return p

    def scores(self, queries: Any, keys: Any) -> Any:
        return self._products.wide(queries, keys.swapaxes(-2, -1))

    def softmax(self, p: Any, first: int | None) -> Any:
        weights = self._pair(p)
        self._run(attention_rows.weights, first, [p, *weights])
        return weights

    def slopes(
        self, p: Any, through: Any, first: int | None, scale: float
    ) -> tuple[Any, Any]:
        weights, slopes = self._pair(p), self._pair(p)
        arrays = [p, through, *weights, *slopes]
        self._run(attention_rows.slopes, first, arrays, scale)
        return weights, slopes

    def _pair(self, like: Any) -> tuple[Any, Any]:
        empty, dtype = self._machine.empty, self._dtype.numpy
        return empty(like.shape, dtype), empty(like.shape, dtype)

    def no_sum(self, like: Any) -> Any:
        return self.xp.zeros(like.shape, _WIDE)

    def gathered(self, weights: Any, x: Any) -> Any:
        return self._by_pair([w.swapaxes(-2, -1) for w in weights], x)

    def product(self, weights: Any, x: Any, out: Any) -> None:
        out[...] = self._by_pair(weights, x)

    def _by_pair(self, weights: Any, x: Any) -> Any:
        rounded, rest = weights
        y, more = self._products.wide(rounded, x), self._products.wide(rest, x)
        # Of what is infinite, the first product says all that there is to say: 0 times
        # it is NaN, and what rounding left may be of either sign.
        return self.xp.where(self.xp.isfinite(more), y + more, y)
