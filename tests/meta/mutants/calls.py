"""Calls to look for a difference with, drawn without the kit's own choice of examples.

They share the op's cases, for these say what a call is, and the names of layouts; the
sizes, values and which arguments are one tensor come from another source.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from dovetail.conformance.argument_sampler import Varied
from dovetail.conformance.example import Example
from dovetail.conformance.layouts import LAYOUTS, laid
from dovetail.conformance.sizes import AS_NAMED, Sizing
from dovetail.conformance.subject import Subject
from dovetail.conformance.values import classes_for, undefined
from dovetail.dtypes import ALL, DType
from dovetail.engine.cases import Case, calls_of, cases_of
from dovetail.engine.op import Op
from dovetail.engine.tensor import Tensor

_LARGEST: Final = 17.0  # as a power of two, in elements


@dataclass(frozen=True)
class Call:
    """A call of an op; `twins` makes equal neighbours one and the same tensor."""

    op: Op
    dtype: DType
    example: Example
    twins: bool = False

    def arguments(self, subject: Subject) -> tuple[list[Any], dict[str, Any]]:
        """What it is called with on a device."""
        args, kwargs = subject.arguments(self.op, self.example, self.dtype)
        if self.twins:
            first = args[0]
            args = [first if _alike(first, a) else a for a in args]
        return args, kwargs

    def __str__(self) -> str:
        twins = ", one tensor in several places" if self.twins else ""
        return f"{self.op.name} {self.dtype.name} {self.example.label}{twins}"


def _alike(a: Any, b: Any) -> bool:
    tensors = isinstance(a, Tensor) and isinstance(b, Tensor)
    return tensors and a._kind is b._kind and a._a.shape == b._a.shape


def drawn(op: Op, subject: Subject, seed: int, count: int) -> Iterator[Call]:
    """Calls of an op in the dtypes that a device claims."""
    dtypes = [d for d in ALL if d in op.accepts and subject.claims(d)]
    random = np.random.default_rng(seed)
    for _ in range(count):
        dtype = dtypes[int(random.integers(len(dtypes)))]
        found = None
        with suppress(Exception):  # sizes and arguments that do not go together
            found = _one(op, dtype, random)
        if found is not None:
            yield found


def _one(op: Op, dtype: DType, random: np.random.Generator) -> Call | None:
    usual = [v for v in classes_for(dtype) if not undefined(v, op.undefined_on)]
    values = str(random.choice(usual if random.random() < 0.6 else usual[:1]))
    case = _case(op, dtype, values, random)
    if case is None:
        return None
    layout, twins = str(random.choice(list(LAYOUTS))), bool(random.random() < 0.15)
    if op.layout_matters or not op.tensors or random.random() < 0.4:
        layout = "contiguous"
    if twins:
        case = _twinned(case)
    example = Example(laid(op, case, layout), layout, values, "witness")
    return Call(op, dtype, example, twins)


def _twinned(case: Case) -> Case:
    """Arguments like the first become it."""
    first = case.args[0] if case.args else None
    if not isinstance(first, np.ndarray):
        return case
    same = [
        first
        if isinstance(a, np.ndarray)
        and (a.shape, a.dtype) == (first.shape, first.dtype)
        else a
        for a in case.args
    ]
    return Case(tuple(same), case.kwargs)


def _case(
    op: Op, dtype: DType, values: str, random: np.random.Generator
) -> Case | None:
    """One of the op's cases with other values, and often of other sizes."""
    resize = _resizing(random)
    if op.cases is None:
        return _elementwise(op, dtype, values, random)
    make = _Wild(op, dtype, values, Sizing(resize), int(random.integers(1 << 31)))
    count = sum(1 for _ in cases_of(op, dtype))
    chosen = int(random.integers(count))
    for at, case in enumerate(calls_of(op, make)):
        if at == chosen:
            return case
    return None


class _Wild(Varied):
    """Also where a case asks for different numbers, some may be no numbers."""

    def distinct(self, *shape: int) -> np.ndarray[Any, Any]:
        made = super().distinct(*shape)
        if self.dtype.is_floating_point and made.size > 3 and self.values != "ordinary":
            places = self.random.choice(made.size, 3, replace=False)
            for at, odd in zip(places, (np.nan, np.inf, -np.inf), strict=True):
                if self.random.random() < 0.5:
                    made.flat[at] = odd
        return made


def _resizing(random: np.random.Generator) -> Any:
    """How sizes change: not, a little each, or the larger ones by a lot."""
    kind = random.random()
    if kind < 0.4:
        return lambda n: n
    if kind < 0.75:
        by = np.sort(random.integers(0, 14, 64))
        return lambda n: int(by[n]) if n < len(by) else n
    factor = 2 ** random.uniform(1, 7)
    least = int(random.integers(2, 7))
    return lambda n: n if n < least else max(int(n * factor), 1)


def _elementwise(
    op: Op, dtype: DType, values: str, random: np.random.Generator
) -> Case:
    """Operands of one shape, or such as broadcast, up to many elements."""
    make = Varied(op, dtype, values, AS_NAMED, int(random.integers(1 << 31)))
    shape = _shape(random)
    shapes = [_operand(shape, random) for _ in op.tensors]
    args = tuple(
        make.bools(*s) if p.name in op.masks else make(*s)
        for p, s in zip(op.tensors, shapes, strict=True)
    )
    return Case(args, {})


def _shape(random: np.random.Generator) -> tuple[int, ...]:
    if random.random() < 0.35:
        return (int(2 ** random.uniform(0, _LARGEST)),)
    return tuple(int(n) for n in random.integers(0, 8, int(random.integers(0, 4))))


def _operand(shape: tuple[int, ...], random: np.random.Generator) -> tuple[int, ...]:
    if random.random() < 0.6:
        return shape
    first = int(random.integers(len(shape) + 1))
    return tuple(1 if n and random.random() < 0.3 else n for n in shape[first:])
