"""How calls depart from the cases they are drawn from, where an op takes that.

A case names sizes, and sizes grow; what it gives as a number stays, an index covers as
much of the input as the case has it, and operands have the dims that they are drawn in.
Kernels that count in blocks, that take one operand's rows for another's, or that know
the step of rows but not of single lines, are right as long as none of it changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from dovetail.dtypes import Array
from dovetail.engine.cases import Case
from dovetail.engine.op import Op

_SHARE: Final = 0.75  # of the calls that can depart
_WITHOUT: Final = 0.5  # of these, where an operand may be left out
_LINES: Final = 0.5  # of these, where operands are of one shape
_FEW: Final = 16  # elements that kernels keep in registers; counts are to pass it
_LONGER: Final = 0.6  # of these, where tensors are in lists
# Members: launches take 8, 16, 32 or more, and one is left.
_LISTS: Final = (9, 17, 33, 67, 131)
_MEMBERS: Final = 1 << 14  # elements of the longer lists
_MOST: Final = 100  # elements that an option counts
_ELEMENTS: Final = 1 << 20  # of a result, if each of the input is there as often


def departures(op: Op, call: Case, number: int) -> Iterator[Case]:
    """The call with a larger count, a narrower index, one dim, or an operand less.

    Lists are longer than what a launch may take at once.
    """
    random = np.random.default_rng(number)
    if op.layout_matters or op.unspecified or random.random() >= _SHARE:
        return
    found: dict[str, Any] = _counted_further(op, call, random)
    found |= _narrowed(op, call, random) | _as_lines(op, call, random)
    found |= _left_out(op, call, random) | _lengthened(op, call, random)
    if found:
        names = op.names
        args = (found.pop(n, v) for n, v in zip(names, call.args, strict=False))
        yield Case(tuple(args), call.kwargs | found)


def _counted_further(op: Op, call: Case, random: np.random.Generator) -> dict[str, int]:
    """Options that count something, as far as the first input has grown."""
    given = _by_name(op, call)
    first = next((v for v in given.values() if isinstance(v, np.ndarray)), None)
    if first is None or not first.size or "ct" in op.names:  # made for its options
        return {}
    dim = _dim(op, given)
    lengths = first.shape if dim is None else first.shape[dim:][:1]
    most = min(max(lengths, default=0), _MOST, _ELEMENTS // first.size)
    counts = [
        p.name for p in op.rest
        if p.annotation.removesuffix(" | None") == "int"
        and _counts(given.get(p.name, p.default))
    ]  # fmt: skip
    if most <= _FEW:
        return {}
    return {name: int(random.integers(_FEW + 1, most + 1)) for name in counts}


def _counts(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _narrowed(op: Op, call: Case, random: np.random.Generator) -> dict[str, Array]:
    """Indices along one dim that cover less of the input in some of the others."""
    given = _by_name(op, call)
    dim = _dim(op, given)
    if dim is None:
        return {}
    found = {}
    for name in sorted(op.indices):
        index = given.get(name)
        if isinstance(index, np.ndarray) and index.ndim > 1 and index.size:
            others = [d for d in range(index.ndim) if d != dim % index.ndim]
            found[name] = _cut(index, others, random)
    return {n: i for n, i in found.items() if i.shape != given[n].shape}


def _as_lines(op: Op, call: Case, random: np.random.Generator) -> dict[str, Array]:
    """Elementwise operands of one shape as single lines."""
    given = {n: v for n, v in _by_name(op, call).items() if isinstance(v, np.ndarray)}
    shapes = {a.shape for a in given.values()}
    if not op.is_elementwise or len(shapes) != 1 or random.random() >= _LINES:
        return {}
    return {n: a.reshape(-1) for n, a in given.items()} if len(shapes.pop()) > 1 else {}


def _left_out(op: Op, call: Case, random: np.random.Generator) -> dict[str, None]:
    """One of several operands that a call gives and need not.

    The last of them may be what there has to be.
    """
    given = _by_name(op, call)
    spare = [
        p.name for p in op.tensors
        if p.optional and isinstance(given.get(p.name), np.ndarray)
    ]  # fmt: skip
    if len(spare) < 2 or random.random() >= _WITHOUT:
        return {}
    return {str(random.choice(spare)): None}


def _lengthened(
    op: Op, call: Case, random: np.random.Generator
) -> dict[str, list[Array]]:
    """Lists of tensors with more members, all lists of the call equally many."""
    given = _by_name(op, call)
    lists = {
        p.name: given[p.name] for p in op.tensors
        if p.role == "list" and p.name not in op.indices and given.get(p.name)
    }  # fmt: skip
    if not lists or random.random() >= _LONGER:
        return {}
    most = max(a.size for many in lists.values() for a in many)
    fits = [n for n in _LISTS if most * n <= _MEMBERS]
    if not fits:
        return {}
    # The longest as often as all others: few tensors are so small.
    count = fits[-1] if random.random() < 0.5 else int(random.choice(fits))
    return {
        name: [_turned(many[at % len(many)], at) for at in range(count)]
        for name, many in lists.items()
    }


def _turned(a: Array, places: int) -> Array:
    """The same elements in other places, so that no member is another's twin."""
    return np.roll(a.reshape(-1), places).reshape(a.shape)


def _cut(index: Array, dims: list[int], random: np.random.Generator) -> Array:
    """Less of an array in one of the dims at least, if that has any to leave out."""
    shape = list(index.shape)
    some = [d for d in dims if shape[d] > 1]
    sure = int(random.choice(some)) if some else None
    for d in some:
        if d == sure or random.random() < 0.5:
            shape[d] = int(random.integers(max(1, shape[d] // 2), shape[d]))
    return np.ascontiguousarray(index[tuple(map(slice, shape))])


def _dim(op: Op, given: dict[str, Any]) -> int | None:
    """The dim along which a call works; None unless it names one."""
    dims = [given.get(p.name, p.default) for p in op.rest if p.annotation == "Axis"]
    return dims[0] if len(dims) == 1 and isinstance(dims[0], int) else None


def _by_name(op: Op, call: Case) -> dict[str, Any]:
    return dict(zip(op.names, call.args, strict=False)) | call.kwargs
