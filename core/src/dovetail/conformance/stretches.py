"""Calls of long lines in which each line is of a kind of its own.

Scans and reductions carry what they know from block to block: that nothing finite was
met yet, where the first of several NaNs is, that two blocks have the same maximum. A
line drawn of one class has its special numbers everywhere, or one in all. Here a block
and more of a line is one number, or a number comes again where another block begins.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from dovetail.conformance.argument_sampler import Varied
from dovetail.conformance.crossings import chosen_case
from dovetail.conformance.example import PLAIN, Example
from dovetail.conformance.formats import COMPLEX, INT, limits
from dovetail.conformance.meaning import means_something
from dovetail.conformance.options import CROSSED, Options, crossed_op
from dovetail.conformance.sizes import Sizing, named_shapes
from dovetail.conformance.values import FEW, ORDINARY, ZEROS
from dovetail.dtypes import Array, DType
from dovetail.engine.cases import Case
from dovetail.engine.op import Op

_LINES: Final = 12
_LEAST: Final = 67  # past two words; what has no time for as many has none for blocks
_LONG: Final = 579  # two blocks of threads, and a rest that is no whole lane
_AXES: Final = frozenset({
    "Axis", "AxisOrAll", "AxisOrEvery", "Axes", "AxesIfAny", "AxesGiven", "AxesOrEvery",
})  # fmt: skip
Generator = np.random.Generator
Ints = tuple[int, ...]
# Changes a line, given a number for it.
Kind = Callable[[Array, Any, Generator], None]


def stretches(
    op: Op, dtype: DType, values: Sequence[str], largest: int, seed: int
) -> Iterator[Example]:
    """Along two dims of a case, of ops that name the dim they go along."""
    dims = [p for p in op.rest if p.annotation.removesuffix(" | None") in _AXES]
    if op.cases is None or op.has_list or len(dims) != 1 or not op.tensors:
        return
    if op.view or op.indices or op.layout_matters or op.mutates:
        return
    source, _ = crossed_op(op, dtype)
    most = min(largest, op.largest or largest)
    if most < _LEAST * _LINES:
        return
    for number, shapes in enumerate(named_shapes(op, dtype)):
        shape = shapes[0] if shapes else ()
        if len(shapes) == 1 and len(shape) > 1 and 0 not in shape:
            calls = _along(op, dtype, values, number, shape, most, seed)
            found = list(calls(source, dims[0].name))
            yield from found
            if found:
                return


def _along(
    op: Op, dtype: DType, values: Sequence[str], number: int, shape: Ints, most: int,
    seed: int,
) -> Callable[[Op, str], Iterator[Example]]:  # fmt: skip
    """What draws of that case a call along its first and its last dim."""

    def draw(source: Op, name: str) -> Iterator[Example]:
        for d in (0, len(shape) - 1):
            size, other = shape[d], max(shape[:d] + shape[d + 1 :])
            if size < 2 or shape.count(size) > 1:
                continue
            sizes = dict.fromkeys(shape, 1) | {other: _LINES}
            sizes[size] = min(_LONG, most // _LINES)
            make = Varied(op, dtype, ORDINARY, _of(sizes), seed + d)
            make.options = Options(source, number, {name: d})
            call = chosen_case(op, make, number)
            if call is not None:
                yield from _stretched(op, dtype, values, call, d, make)

    return draw


def _stretched(
    op: Op, dtype: DType, values: Sequence[str], call: Case, dim: int, make: Varied
) -> Iterator[Example]:
    """The call with the lines of its operand changed, where the op leaves it free."""
    kinds = [*_kinds(dtype, values)]
    label = FEW if FEW in values else ZEROS if ZEROS in values else ORDINARY

    def of(value: Any) -> Any:
        own = isinstance(value, np.ndarray) and value.dtype == dtype.numpy
        if not own or value.ndim < 2 or any(value is a for a in make.bounded):
            return value
        made = np.array(value)
        lines = np.moveaxis(made, dim, -1)
        for number, at in enumerate(np.ndindex(lines.shape[:-1])):
            kind, special = kinds[number % len(kinds)]
            kind(lines[at], special, make.random)
        return made

    first, *rest = call.args
    changed = Case((of(first), *rest), call.kwargs)
    if kinds and changed.args[0] is not first:
        size = str(math.prod(first.shape))
        example = Example(changed, PLAIN, label, size, CROSSED)
        if means_something(op, example, dtype):
            yield example


def _kinds(dtype: DType, values: Sequence[str]) -> Iterator[tuple[Kind, Any]]:
    """How lines are changed, and by which number."""
    if FEW in values:
        yield from ((_begins, -np.inf), (_scattered, np.nan), (_ends, np.nan))
        yield from ((_scattered, np.inf), (_begins, np.nan), (_scattered, -np.inf))
        yield from ((_ends, -np.inf), (_begins, np.inf))
    if ZEROS in values:
        yield from ((_begins, 0), (_scattered, 0))
    if dtype.category == INT:
        info = limits(dtype)
        yield from ((_begins, info.min), (_ends, info.max), (_scattered, info.min))
    if dtype.category != COMPLEX:
        yield from ((_again, max), (_again, min))


def _begins(line: Array, number: Any, random: Generator) -> None:
    """More than half of a line, from its first element."""
    line[: random.integers(len(line) // 2, len(line))] = number


def _ends(line: Array, number: Any, random: Generator) -> None:
    line[random.integers(1, len(line) // 2) :] = number


def _scattered(line: Array, number: Any, random: Generator) -> None:
    """A few, of which none is beside another one."""
    line[random.choice(len(line) // 2, 5, replace=False) * 2] = number


def _again(line: Array, among: Callable[[Any], Any], random: Generator) -> None:
    """The greatest or the least, in other places too."""
    _scattered(line, among(line.tolist()), random)


def _of(sizes: dict[int, int]) -> Sizing:
    return Sizing(lambda n: sizes.get(n, n))


__all__ = ["stretches"]
