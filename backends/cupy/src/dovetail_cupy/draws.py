"""Random arrays of a device, each by one launch of a generated kernel.

They follow the law in `dovetail.ops.philox`, bit for bit. Kernels draw from a block on
of words; what begins in the midst of one is drawn with the whole block.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final

from dovetail.codegen import random_kernels
from dovetail.dtypes import ANY, FLOAT, DType, bfloat16, int32, int64
from dovetail.xp import random_law as law
from dovetail_cupy.launch import Launch, Machine

Shape = tuple[int, ...]
Kernel = Callable[..., Any]
_WORDS: Final = 4  # of a block
_ALL: Final = 1 << 32


class Draws:
    """The kernels that draw, by the names of their ops."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._xp = machine.xp
        self._launcher = cache(self._compiled)

    def _compiled(self, name: str, *given: Any) -> Launch:
        return self._machine.launcher(getattr(random_kernels, name)(*given))

    def _drawn(
        self, form: tuple[Any, ...], shape: Shape, dtypes: Sequence[Any], seed: int,
        offset: int, numbers: Sequence[Any] = (), *, each: int = 1, lane: int = 1,
        stream: int = 0, source: Any = None,
    ) -> list[Any]:  # fmt: skip
        """Arrays that a kernel writes, drawn from a place of a stream on.

        Args:
            form: the kernel's name in `random_kernels`, and what it is made for.
            each: how many words an element takes.
            lane: how many elements a lane has.
            source: an array of the shape, which the kernel reads.
        """
        xp, size = self._xp, math.prod(shape)
        block, words = divmod(offset, _WORDS)
        skip = words // each
        lanes = -(-(skip + size) // lane)
        whole = skip == 0 and lanes * lane == size
        drawn = [xp.empty(shape if whole else lanes * lane, d) for d in dtypes]
        read = []
        if source is not None and whole:
            read = [xp.ascontiguousarray(source)]
        elif source is not None:
            read = [xp.zeros(lanes * lane, source.dtype)]
            read[0][skip : skip + size] = source.reshape(-1)
        if size:
            place = [block % 2**64, seed % 2**64, stream]
            self._launcher(*form)([*read, *drawn], [*place, *numbers], lanes)
        if whole:
            return drawn
        return [a[skip : skip + size].copy().reshape(shape) for a in drawn]

    def random_words(self, own: Kernel) -> Kernel:
        """Words, as int32."""

        def kernel(
            *, n: int, dtype: DType, index: int, seed: int, offset: int, stream: int
        ) -> Any:
            (words,) = self._drawn(
                ("words",), (n,), ["int32"], seed, offset, stream=stream
            )
            return words

        return kernel

    def uniform(self, own: Kernel) -> Kernel:
        """Fractions of a span."""

        def kernel(
            *, shape: Shape, dtype: DType, index: int, low: float, high: float,
            seed: int, offset: int,
        ) -> Any:  # fmt: skip
            scaled = (low, high) != (0, 1)
            greatest = law.greatest_below(low, high, dtype) if scaled else 1.0
            numbers = (high - low, low, greatest) if scaled else ()
            form = "uniform", dtype.name, scaled
            each = law.words_each(dtype)
            return self._drawn(
                form, shape, [dtype.numpy], seed, offset, numbers, each=each
            )[0]

        return kernel

    def normal(self, own: Kernel) -> Kernel:
        """Normal numbers: pairs of them, but for float64."""

        def kernel(
            *, shape: Shape, dtype: DType, index: int, mean: float, std: float,
            seed: int, offset: int,
        ) -> Any:  # fmt: skip
            scaled = (mean, std) != (0, 1)
            form = "normal", dtype.name, scaled
            each = law.words_each(dtype)
            return self._drawn(
                form, shape, [dtype.numpy], seed, offset,
                (std, mean) if scaled else (), each=each, lane=3 - each,
            )[0]  # fmt: skip

        return kernel

    def random_mask(self, own: Kernel) -> Kernel:
        """Whether words are below a limit."""

        def kernel(*, shape: Shape, p: float, seed: int, offset: int, **at: Any) -> Any:
            limit = law.threshold(p)
            if limit in (0, _ALL):
                return own(shape=shape, p=p, seed=seed, offset=offset, **at)
            return self._drawn(("mask",), shape, ["bool"], seed, offset, (limit,))[0]

        return kernel

    def random_dropout(self, own: Kernel) -> Kernel:
        """Elements times a number or 0, and the mask."""

        def kernel(x: Any, *, p: float, seed: int, offset: int) -> Any:
            limit = law.threshold(1 - p)
            if limit in (0, _ALL):
                return own(x, p=p, seed=seed, offset=offset)
            made = self._drawn(
                ("dropout", x.dtype.name), x.shape, [x.dtype, "bool"], seed, offset,
                (limit, law.kept_scale(p)), source=x,
            )  # fmt: skip
            return tuple(made)

        return kernel

    def random_trials(self, own: Kernel) -> Kernel:
        """1 with a probability that each element has, else 0."""

        def kernel(p: Any, *, seed: int, offset: int) -> Any:
            name = p.dtype.name
            each = 2 if name == "float64" else 1
            return self._drawn(
                ("trials", name), p.shape, [p.dtype], seed, offset, each=each, source=p
            )[0]

        return kernel

    def random_permutation(self, own: Kernel) -> Kernel:
        """The order of as many keys of 64 bits."""

        def kernel(*, n: int, dtype: DType, index: int, seed: int, offset: int) -> Any:
            (words,) = self._drawn(("words",), (2 * n,), ["int32"], seed, offset)
            if not n:
                return self._xp.zeros(0, dtype.numpy)
            order = self._xp.argsort(words.view("uint64"), kind="stable")
            return order.astype(dtype.numpy)

        return kernel


_FLOATS: Final = FLOAT - {bfloat16}
DTYPES: Final[dict[str, frozenset[DType]]] = {
    "random_words": ANY, "uniform": _FLOATS, "normal": _FLOATS, "random_mask": ANY,
    "random_dropout": _FLOATS, "random_trials": _FLOATS,
    "random_permutation": frozenset({int32, int64}),
}  # fmt: skip
"""The ops that draw by one launch, and the dtypes in which they do."""
