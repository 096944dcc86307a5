"""Calls of ordinary numbers with one long size, and with two of whole tiles.

Kernels go along the first dim, a middle one and the last in different ways. What one of
them loses, or rounds on its way, shows only where there is much of it, and only if
nothing else does: each size has its turn, and so has each dim that an op may go along.
Units that multiply whole tiles serve what has two sizes, or all, of these.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from dovetail.conformance.argument_sampler import Varied
from dovetail.conformance.crossings import chosen_case
from dovetail.conformance.example import PLAIN, Example
from dovetail.conformance.masks import with_rows
from dovetail.conformance.meaning import means_something
from dovetail.conformance.options import CROSSED, DECLARED, Options, crossed_op
from dovetail.conformance.oracle import truth
from dovetail.conformance.presence import has_layout
from dovetail.conformance.sizes import (
    SEVERAL_SMALL,
    SMALL_TILE,
    Sizing,
    named_shapes,
)
from dovetail.conformance.values import BALANCED, ORDINARY
from dovetail.dtypes import DType
from dovetail.engine.cases import Case
from dovetail.engine.op import Op
from dovetail.engine.parameters import Param

Ints = tuple[int, ...]
_LONG: Final = 1027
_DIMS: Final = (2, 3)
_CASES: Final = 2
_TILED_CASES: Final = 3
_TILES: Final = 2 * SMALL_TILE
_TURNED: Final = "transposed"
_ONE: Final = frozenset({
    "Axis", "AxisOrAll", "AxisOrEvery", "Axes", "AxesIfAny", "AxesGiven", "AxesOrEvery",
})  # fmt: skip
_LISTS: Final = frozenset({"AxisList", "AxisSet"})


def one_long(
    op: Op, dtype: DType, values: Sequence[str], largest: int, seed: int
) -> Iterator[Example]:
    """Along each dim of two cases, or with each size of the two that have most.

    In formats whose sums are wider, also of numbers whose partial sums leave it.
    """
    if op.cases is None or not op.tensors or op.layout_matters:
        return
    for kind in (ORDINARY, BALANCED):
        if kind in values:
            yield from _of_values(op, dtype, kind, largest, seed)


def in_both_orders(op: Op, dtype: DType, calls: Iterable[Example]) -> Iterator[Example]:
    """Calls, and those of ordinary numbers again, matrices lying column by column.

    What reads a long or a tiled operand goes another way then, above all in products.
    """
    known = list(calls)
    yield from known
    for example in known:
        if example.values == ORDINARY and example.case is not None:
            other = example.with_case(example.case, _TURNED)
            if has_layout(op, other):
                other.known["truth"] = truth(op, example, dtype)
                yield other


def _of_values(
    op: Op, dtype: DType, values: str, largest: int, seed: int
) -> Iterator[Example]:
    source, _ = crossed_op(op, dtype)
    dims = [p for p in source.rest if _type(p) in _ONE | _LISTS]
    named = named_shapes(op, dtype)
    most = min(largest, op.largest or largest)
    if not named:
        return
    if len(dims) == 1:
        yield from _along_each(op, dtype, values, source, dims[0], named, most, seed)
    yield from _of_each(op, dtype, values, named, most, seed, bool(dims))
    if values == ORDINARY:
        yield from _of_tiles(op, dtype, named, most, seed)


def _along_each(
    op: Op, dtype: DType, values: str, source: Op, param: Param,
    named: Sequence[tuple[Ints, ...]], most: int, seed: int,
) -> Iterator[Example]:  # fmt: skip
    """Of a case with two dims and one with three, a call along each."""
    met = set[int]()
    for number, shapes in enumerate(named):
        shape = shapes[0] if shapes else ()
        if len(shape) not in _DIMS or len(shape) in met or 0 in shape:
            continue
        for d, size in enumerate(shape):
            if shape.count(size) > 1:
                continue
            dim: Any = (d,) if _type(param) in _LISTS else d
            options = Options(source, number, {param.name: dim})
            # Indices are of a length of their own.
            lengths = _sizes(shapes) - set(shape) if op.indices else set[int]()
            for long in (size, *sorted(lengths)):
                for example in _with(
                    op, dtype, values, number, shapes, long, most, seed, options
                ):
                    met.add(len(shape))
                    yield example
            if values == ORDINARY and len(shapes) == 1:
                yield from _beside(op, dtype, number, shape, size, most, seed, options)


def _beside(
    op: Op, dtype: DType, number: int, shape: Ints, size: int, most: int, seed: int,
    options: Options,
) -> Iterator[Example]:  # fmt: skip
    """Along a long dim, beside one that is a little longer than a tile.

    Where both are cut into tiles, what is left of either meets in a corner.
    """
    other = next(n for n in reversed(shape) if n != size)
    sizes = dict.fromkeys(shape, 1) | {other: _TILES + 3, size: _LONG}
    sizing = _of(sizes)
    if math.prod(map(sizing, shape)) <= most:
        make = Varied(op, dtype, ORDINARY, sizing, seed + 31 * number + size)
        make.options = options
        yield from _drawn(op, make, number, str(_LONG))


def _of_each(
    op: Op, dtype: DType, values: str, named: Sequence[tuple[Ints, ...]], most: int,
    seed: int, beside: bool,
) -> Iterator[Example]:  # fmt: skip
    """With each size of the cases that have most different ones.

    Args:
        beside: whether only those count that the first operand has not.
    """
    for number in _of_most_sizes(named)[:_CASES]:
        shapes = named[number]
        known = set(shapes[0]) if beside and shapes else set[int]()
        for size in sorted(_sizes(shapes) - known):
            yield from _with(op, dtype, values, number, shapes, size, most, seed)


def _with(
    op: Op, dtype: DType, values: str, number: int, shapes: Sequence[Ints], size: int,
    most: int, seed: int, options: Options | None = None,
) -> Iterator[Example]:  # fmt: skip
    """A case with one size long, as far as an op has time; nothing if refused.

    If it is refused alone, the sizes that are multiples of it grow along: gates of
    recurrent layers, channels of groups.
    """
    multiples = [n for n in sorted(_sizes(shapes)) if n % size == 0]
    for growing in ([size], multiples):
        length = _length(shapes, growing, most)
        if length <= size:
            return
        sizing = _of({n: n // size * length for n in growing})
        make = Varied(op, dtype, values, sizing, seed + 31 * number + size)
        make.options = options
        found = list(_drawn(op, make, number, str(length)))
        yield from found
        if found or growing == multiples:
            return


def _length(shapes: Sequence[Ints], growing: Sequence[int], most: int) -> int:
    """How long sizes, the first of them and multiples of it, may become together."""
    length = _LONG
    for shape in shapes:
        own = [n for n in shape if n in growing]
        if own:
            rest = math.prod(shape) // growing[0] ** len(own)
            length = min(length, int((most / max(rest, 1)) ** (1 / len(own))))
    return length


def _of_tiles(
    op: Op, dtype: DType, named: Sequence[tuple[Ints, ...]], most: int, seed: int
) -> Iterator[Example]:
    """With each two sizes whole tiles, of the cases that have most, and with all."""
    for number in _of_most_sizes(named)[:_TILED_CASES]:
        shapes = named[number]
        sizes = sorted(_sizes(shapes))
        every = [tuple(sizes)] if len(sizes) > 2 else []
        for turn, chosen in enumerate([*itertools.combinations(sizes, 2), *every]):
            sizing = _of({n: (1 + at % 3) * _TILES for at, n in enumerate(chosen)})
            if max(math.prod(map(sizing, shape)) for shape in shapes) <= most:
                make = Varied(op, dtype, ORDINARY, sizing, seed + 31 * number + turn)
                yield from _drawn(op, make, number, SEVERAL_SMALL)


def _of_most_sizes(named: Sequence[tuple[Ints, ...]]) -> list[int]:
    """The numbers of cases, those first that have most different sizes."""
    return sorted(range(len(named)), key=lambda at: -len(_sizes(named[at])))


def _drawn(op: Op, make: Varied, number: int, size: str) -> Iterator[Example]:
    """The op's case of that number, if that is a call."""
    call = with_rows(chosen_case(op, make, number))
    how = DECLARED if make.options is None else CROSSED
    example = Example(call, PLAIN, make.values, size, how)
    if call is not None and means_something(op, example, make.dtype):
        yield example
        yield from _in_order(op, example, make.dtype)


def _in_order(op: Op, example: Example, dtype: DType) -> Iterator[Example]:
    """The same with indices in order, of which neighbours are alike or side by side."""
    case = example.case
    if case is None or not op.indices:
        return
    given = dict(zip(op.names, case.args, strict=False)) | case.kwargs
    found = {
        name: np.sort(given[name], axis=-1) for name in sorted(op.indices)
        if isinstance(given.get(name), np.ndarray) and given[name].ndim
    }  # fmt: skip
    args = tuple(found.pop(n, v) for n, v in zip(op.names, case.args, strict=False))
    ordered = example.with_case(Case(args, case.kwargs | found), PLAIN)
    if means_something(op, ordered, dtype):
        yield ordered


def _of(sizes: dict[int, int]) -> Sizing:
    return Sizing(lambda n: sizes.get(n, n))


def _sizes(shapes: Sequence[Ints]) -> set[int]:
    return {n for shape in shapes for n in shape if n > 1}


def _type(param: Param) -> str:
    return param.annotation.removesuffix(" | None")


__all__ = ["in_both_orders", "one_long"]
