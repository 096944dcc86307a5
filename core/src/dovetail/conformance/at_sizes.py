"""Calls whose options are as large as what they are about.

A margin as wide as all that it mirrors, a window over the whole of a dim, the last
diagonal, as many of the greatest as there are: where an option meets a size, loops end
and the special cases of kernels begin. Options by their types alone are a few small
numbers, whatever the operands are.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import Any, Final

from dovetail.conformance.argument_sampler import Varied
from dovetail.conformance.crossings import chosen_case
from dovetail.conformance.example import PLAIN, Example
from dovetail.conformance.meaning import means_something
from dovetail.conformance.options import CROSSED, Crossing, Options, crossed_op
from dovetail.conformance.sizes import AS_NAMED, OWN
from dovetail.conformance.values import ORDINARY
from dovetail.dtypes import ALL, DType
from dovetail.engine.cases import Case, Sampler, calls_of
from dovetail.engine.op import Op
from dovetail.engine.parameters import Param

Ints = tuple[int, ...]
_COUNTS: Final = frozenset({"Ints", "int"})
_CASES: Final = 6
_MOST: Final = 2  # calls in a dtype, of which each begins with other ones
_APART: Final = 5  # where the next dtype begins
_TRIES: Final = 9  # of which ops refuse many


def at_sizes(op: Op, dtype: DType, seed: int) -> Iterator[Example]:
    """One option after the other a size, or one less, of the first operand."""
    if op.cases is None or not op.tensors or op.layout_matters or op.unspecified:
        return
    source, _ = crossed_op(op, dtype)
    params = [p for p in source.rest if _counts(source, p)]
    if not params:
        return
    crossing = Crossing(op, dtype, seed)
    calls = list(calls_of(source, Sampler(source, dtype)))[:_CASES]
    each = [list(_of_call(source, call, params)) for call in calls]
    count, first = max(map(len, each), default=0), _APART * ALL.index(dtype)
    found = 0
    for at in range(first, first + min(count, _TRIES)):
        case = at % len(each)
        if not each[case] or found == _MOST:
            continue
        name, value = each[case][at % len(each[case])]
        # Beside the case's own options in turn, for others may hide what it does.
        turned = crossing.levels and at % 2
        others = crossing.turned(at, case).values if turned else {}
        example = _drawn(op, dtype, source, case, {name: value}, others, seed + at)
        if example is not None:
            found += 1
            yield example


def _drawn(
    op: Op, dtype: DType, source: Op, case: int, reaching: dict[str, Any],
    others: dict[str, Any], number: int,
) -> Example | None:  # fmt: skip
    """The call beside other options, or the case's own; None if it is none."""
    for options in (others | reaching, reaching):
        make = Varied(op, dtype, ORDINARY, AS_NAMED, number)
        make.options = Options(source, case, options)
        call = chosen_case(op, make, case)
        example = Example(call, PLAIN, ORDINARY, OWN, CROSSED)
        if call is not None and means_something(op, example, dtype):
            return example
    return None


def _counts(op: Op, param: Param) -> bool:
    """Whether an option counts elements, and its declaration leaves open how many."""
    return param.annotation.removesuffix(" | None") in _COUNTS and (
        param.name not in op.levels
    )


def _of_call(op: Op, call: Case, params: list[Param]) -> Iterator[tuple[str, Any]]:
    """Options by name, each with a value that reaches a size."""
    given = dict(zip(op.names, call.args, strict=False)) | call.kwargs
    arrays = Example(call).arrays()
    shape = arrays[0].shape if arrays else ()
    each = [_reaching(given.get(p.name, p.default), shape) for p in params]
    for values in zip_longest(*each):
        for param, value in zip(params, values, strict=True):
            if value is not None:
                yield param.name, value


def _reaching(value: Any, shape: Ints) -> Iterator[Any]:
    """What is in the place of a number, or of a tuple that has one for each dim."""
    if isinstance(value, int) and not isinstance(value, bool):
        for n in shape[-2:][::-1]:
            yield from (n, n - 1, 1 - n)
    if not isinstance(value, tuple) or not value or not shape:
        return
    dims = _dims(len(value), len(shape))
    if dims is None:
        return
    sizes = [shape[d] for d in dims]
    yield tuple(sizes)
    for at in reversed(range(len(value))):
        for n in (sizes[at] - 1, sizes[at]):
            yield (*value[:at], n, *value[at + 1 :])


def _dims(count: int, ndim: int) -> list[int] | None:
    """The dims that so many numbers are for: the last ones, or two for each of all."""
    if count <= ndim:
        return list(range(ndim - count, ndim))
    return [at // 2 for at in range(count)] if count == 2 * ndim else None


__all__ = ["at_sizes"]
