"""Random numbers, one thread an element: the law's words, wherever a draw begins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from dovetail.codegen import random_kernels
from dovetail.device_api import KernelTable
from dovetail.dtypes import DType, bool_, int32
from dovetail.xp import random_law as law
from dovetail_xpu.bodies import word
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
        self._kernels: dict[Any, tuple[Launchable, list[str]]] = {}

    def words(
        self, *, n: int, seed: int, offset: int, stream: int, dtype: DType, index: int
    ) -> XpuArray:
        """Words as the bits of int32."""
        y = self.launcher.fresh((n,), int32, index)
        self._run(("words",), [], [y], seed, offset, stream=stream)
        return y

    def uniform(
        self, *, shape: Ints, low: float, high: float, seed: int, offset: int,
        dtype: DType, index: int,
    ) -> XpuArray:  # fmt: skip
        """Floats in [low, high)."""
        y = self.launcher.fresh(tuple(shape), dtype, index)
        scaled = (low, high) != (0, 1)
        greatest = law.greatest_below(low, high, dtype) if scaled else 1.0
        numbers = (high - low, low, greatest) if scaled else ()
        self._run(("uniform", dtype.name, scaled), [], [y], seed, offset, numbers)
        return y

    def normal(
        self, *, shape: Ints, mean: float, std: float, seed: int, offset: int,
        dtype: DType, index: int,
    ) -> XpuArray:  # fmt: skip
        """Normal floats."""
        y = self.launcher.fresh(tuple(shape), dtype, index)
        scaled = (mean, std) != (0, 1)
        numbers = (std, mean) if scaled else ()
        self._run(("normal", dtype.name, scaled), [], [y], seed, offset, numbers)
        return y

    def mask(
        self, *, shape: Ints, p: float, seed: int, offset: int, index: int, **_: Any
    ) -> XpuArray:
        """True with a probability."""
        y = self.launcher.fresh(tuple(shape), bool_, index)
        self._run(("mask",), [], [y], seed, offset, (law.threshold(p),))
        return y

    def dropout(
        self, x: XpuArray, *, p: float, seed: int, offset: int
    ) -> tuple[XpuArray, XpuArray]:
        """Elements times a scale or 0, and whether they are kept."""
        x = x if x.dense else self.copy(x)
        index = x.device.index
        y = self.launcher.fresh(x.shape, x.dtype, index)
        kept = self.launcher.fresh(x.shape, bool_, index)
        numbers = law.threshold(1 - p), law.kept_scale(p)
        self._run(("dropout", x.dtype.name), [x], [y, kept], seed, offset, numbers)
        return y, kept

    def trials(self, p: XpuArray, *, seed: int, offset: int) -> XpuArray:
        """1 with the probability that each element is, else 0."""
        p = p if p.dense else self.copy(p)
        y = self.launcher.fresh(p.shape, p.dtype, p.device.index)
        self._run(("trials", p.dtype.name), [p], [y], seed, offset)
        return y

    def _run(
        self, made_for: tuple[Any, ...], sources: Sequence[XpuArray],
        results: Sequence[XpuArray], seed: int, offset: int,
        numbers: Sequence[float] = (), *, stream: int = 0,
    ) -> None:  # fmt: skip
        """Draw all results, which are of one size.

        Args:
            made_for: the kernel's name in `random_kernels`, and what it is made for.
        """
        count = results[0].size
        if not count:
            return
        found = self._kernels.get(made_for)
        if found is None:
            name, *given = made_for
            form = getattr(random_kernels, name)(*given, anywhere=True)
            dtypes = [
                d for _, d in form.parameters[len(form.parameters) - len(numbers) :]
            ]
            found = Launchable(lambda: form), dtypes
            self._kernels[made_for] = found
        kernel, dtypes = found
        words = [a.address for a in (*sources, *results)]
        words += [signed(x) for x in (offset // _BLOCK, seed, stream)]
        words.append(offset % _BLOCK)
        words += [_word(d, x) for d, x in zip(dtypes, numbers, strict=True)]
        where = self.launcher.stream(results[0].device.index)
        kernel.launch(where, [*words, 0, count], -(-count // THREADS))


def _word(dtype: str, number: float) -> int:
    return int(number) if dtype == "uint64" else word(dtype, number)
