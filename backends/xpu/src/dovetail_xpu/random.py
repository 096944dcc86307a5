"""Random numbers, one thread an element: the law's words, wherever a draw begins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from dovetail.codegen import random_values as draw
from dovetail.codegen.formats import computed_in, in_memory, narrowed, widened
from dovetail.codegen.ir import FIRST, LAST, Buffer, Kernel, Loop, Store
from dovetail.codegen.values import (
    Term,
    apply,
    bits,
    cast,
    choose,
    compare,
    equal,
    load,
    parameter,
)
from dovetail.device_api import KernelTable
from dovetail.dtypes import DType, bool_, int32
from dovetail.xp import random_law as law
from dovetail_xpu.bodies import word
from dovetail_xpu.lanes import lane
from dovetail_xpu.launch import THREADS, Launchable, Launcher, signed
from dovetail_xpu.memory import Ints, XpuArray
from dovetail_xpu.primitives import FLOATS, copier

_BLOCK: Final = 4  # words that are drawn together


def install(table: KernelTable, launcher: Launcher, claimed: frozenset[DType]) -> None:
    """Add them to a table."""
    draws = Draws(launcher)
    floats = claimed & FLOATS
    table.add("random_words", draws.words, dtypes=claimed)
    table.add("uniform", draws.uniform, dtypes=floats)
    table.add("normal", draws.normal, dtypes=floats)
    table.add("random_mask", draws.mask, dtypes=claimed)
    table.add("random_dropout", draws.dropout, dtypes=floats)
    table.add("random_trials", draws.trials, dtypes=floats)


class Draws:
    """Kernels that draw, by what they draw and in which dtype."""

    def __init__(self, launcher: Launcher) -> None:
        self.launcher = launcher
        self.copy = copier(launcher)
        self._kernels: dict[Any, Launchable] = {}

    def words(
        self, *, n: int, seed: int, offset: int, stream: int, dtype: DType, index: int
    ) -> XpuArray:
        """Words as the bits of int32."""
        y = self.launcher.fresh((n,), int32, index)
        self._run(_words, int32, [], [y], seed, offset, (), stream=stream)
        return y

    def uniform(
        self, *, shape: Ints, low: float, high: float, seed: int, offset: int,
        dtype: DType, index: int,
    ) -> XpuArray:  # fmt: skip
        """Floats in [low, high)."""
        y = self.launcher.fresh(tuple(shape), dtype, index)
        if (low, high) == (0, 1):
            self._run(_fractions, dtype, [], [y], seed, offset, ())
        else:
            scaled = high - low, low, law.greatest_below(low, high, dtype)
            self._run(_uniform, dtype, [], [y], seed, offset, scaled)
        return y

    def normal(
        self, *, shape: Ints, mean: float, std: float, seed: int, offset: int,
        dtype: DType, index: int,
    ) -> XpuArray:  # fmt: skip
        """Normal floats."""
        y = self.launcher.fresh(tuple(shape), dtype, index)
        if (mean, std) == (0, 1):
            self._run(_normal, dtype, [], [y], seed, offset, ())
        else:
            self._run(_scaled_normal, dtype, [], [y], seed, offset, (std, mean))
        return y

    def mask(
        self, *, shape: Ints, p: float, seed: int, offset: int, index: int, **_: Any
    ) -> XpuArray:
        """True with a probability."""
        y = self.launcher.fresh(tuple(shape), bool_, index)
        limit = law.threshold(p)
        self._run(_mask, bool_, [], [y], seed, offset, (), limit=limit)
        return y

    def dropout(
        self, x: XpuArray, *, p: float, seed: int, offset: int
    ) -> tuple[XpuArray, XpuArray]:
        """Elements times a scale or 0, and whether they are kept."""
        x = x if x.dense else self.copy(x)
        index = x.device.index
        y = self.launcher.fresh(x.shape, x.dtype, index)
        kept = self.launcher.fresh(x.shape, bool_, index)
        self._run(
            _dropout, x.dtype, [x], [y, kept], seed, offset, (law.kept_scale(p),),
            limit=law.threshold(1 - p),
        )  # fmt: skip
        return y, kept

    def trials(self, p: XpuArray, *, seed: int, offset: int) -> XpuArray:
        """1 with the probability that each element is, else 0."""
        p = p if p.dense else self.copy(p)
        y = self.launcher.fresh(p.shape, p.dtype, p.device.index)
        self._run(_trials, p.dtype, [p], [y], seed, offset, ())
        return y

    def _run(
        self, make: Callable[..., Any], dtype: DType, sources: Sequence[XpuArray],
        results: Sequence[XpuArray], seed: int, offset: int, numbers: Sequence[float],
        *, stream: int = 0, limit: int = 0,
    ) -> None:  # fmt: skip
        """Draw all results, which are of one size."""
        count = results[0].size
        if not count:
            return
        found = self._kernels.get((make, dtype))
        if found is None:
            form = partial(_form, make, dtype.name, len(numbers))
            found = self._kernels[make, dtype] = Launchable(form)
        wide = computed_in(dtype.name)
        words = [a.address for a in (*sources, *results)]
        words += [signed(x) for x in (offset // _BLOCK, seed, stream)]
        words += [offset % _BLOCK, limit, *[word(wide, x) for x in numbers], 0, count]
        where = self.launcher.stream(results[0].device.index)
        found.launch(where, words, -(-count // THREADS))


def _form(make: Callable[..., Any], dtype: str, numbers: int) -> Kernel:
    """The kernel as loops; nothing is fused, as everywhere that normals are drawn."""
    at = lane()
    wide = computed_in(dtype)
    given = [parameter(f"number{i}", wide) for i in range(numbers)]
    sources, made = make(dtype, at, *given)
    outs = [Buffer(f"y{i}", y.dtype, written=True) for i, y in enumerate(made)]
    stores = [Store(out, at.value, y.value) for out, y in zip(outs, made, strict=True)]
    words = [*draw.PARAMETERS, ("skip", "int64"), ("limit", "uint64")]
    words += [(f"number{i}", wide) for i in range(numbers)]
    loop = Loop("lane", at.value, FIRST, LAST, tuple(stores))
    return Kernel("k", (*sources, *outs), tuple(words), (loop,), fused=False)


def _place(dtype: str, at: Term) -> Term:
    """The number of a lane's fraction, from the first block on."""
    skip = parameter("skip")
    return at + (skip >> 1 if dtype == "float64" else skip)


def _words(dtype: str, at: Term) -> Any:
    return [], [bits(draw.word(_place(dtype, at)), "int32")]


def _fractions(dtype: str, at: Term) -> Any:
    return [], [narrowed(draw.fraction(_place(dtype, at), dtype), dtype)]


def _uniform(dtype: str, at: Term, span: Term, low: Term, greatest: Term) -> Any:
    y = draw.fraction(_place(dtype, at), dtype) * span + low
    return [], [narrowed(apply("minimum", y, greatest), dtype)]


def _drawn_normal(dtype: str, at: Term) -> Term:
    """One of the two that a pair of fractions gives."""
    place = _place(dtype, at)
    polar = draw.polar_double if dtype == "float64" else draw.polar_single
    radius, cosine, sine = polar(place >> 1)
    return radius * choose(equal(place & 1, 1), sine, cosine)


def _normal(dtype: str, at: Term) -> Any:
    return [], [narrowed(_drawn_normal(dtype, at), dtype)]


def _scaled_normal(dtype: str, at: Term, std: Term, mean: Term) -> Any:
    return [], [narrowed(_drawn_normal(dtype, at) * std + mean, dtype)]


def _kept(at: Term) -> Term:
    drawn = cast(draw.word(at + parameter("skip")), "uint64")
    return compare("lt", drawn, parameter("limit", "uint64"))


def _mask(dtype: str, at: Term) -> Any:
    return [], [_kept(at)]


def _dropout(dtype: str, at: Term, scale: Term) -> Any:
    x, kept = Buffer("x", in_memory(dtype)), _kept(at)
    y = widened(load(x, at), dtype) * choose(kept, scale, 0.0)
    return [x], [narrowed(y, dtype), kept]


def _trials(dtype: str, at: Term) -> Any:
    p, wide = Buffer("x", in_memory(dtype)), computed_in(dtype)
    drawn = draw.fraction(_place(dtype, at), wide)
    below = compare("lt", drawn, widened(load(p, at), dtype))
    return [p], [narrowed(cast(below, wide), dtype)]
