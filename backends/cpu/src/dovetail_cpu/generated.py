"""Generated kernels in front of NumPy's, for large arrays.

An op is served by a generated kernel from `least_elements()` on, where one can be
made of its declaration; below, and where operands lie so that NumPy would choose
another layout for the result, by the kernel that served it before. Nothing is compiled,
and llvmlite is not imported, before the first such call.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dovetail.codegen.declarations import vocabularies
from dovetail.codegen.runtime.machine import SWITCH, available
from dovetail.device_api import Facts, Kernel, KernelTable
from dovetail.dtypes import HALF, REAL, DType, float32, float64
from dovetail.errors import DovetailError
from dovetail_cpu import (
    generated_class_loss,
    generated_copies,
    generated_order,
    generated_partial_copies,
    generated_places,
    generated_random,
    generated_rows,
    generated_scans,
    generated_steps,
    row_bodies,
)

if TYPE_CHECKING:
    from dovetail.codegen.eager import Pointwise
    from dovetail.codegen.program import Program

LEAST: Final = 1 << 14
"""Elements from which on a generated kernel is faster than NumPy's, its call too,
whatever it computes."""
SMALLEST: Final = 1 << 9
"""Elements below which nothing is compiled, whatever it computes."""

# NumPy's ufuncs are bound by memory, but for these.
_SLOW_UFUNCS: Final = frozenset({
    "exp", "exp2", "expm1", "hypot", "log", "log1p", "logaddexp", "logaddexp2", "tanh",
})  # fmt: skip
# What moves elements, or reads them as others.
_MOVES: Final = frozenset({"bitcast", "cast", "clone", "real"})
_SELECTS: Final = frozenset({"where"})  # the same for numbers of any kind
_DTYPES: Final = frozenset({float32, float64})
_NONE: Final[frozenset[DType]] = frozenset()
_REMEMBERED: Final = 64  # attributes of an op without a kernel
_NO_SCALARS: Final[dict[str, Any]] = {}


def least_elements() -> int:
    """`LEAST`, or the number that `DOVETAIL_KERNELS` has."""
    chosen = os.environ.get(SWITCH, "")
    return int(chosen) if chosen.isdecimal() else LEAST


def smallest_elements() -> int:
    """`SMALLEST`, or the number that `DOVETAIL_KERNELS` has."""
    chosen = os.environ.get(SWITCH, "")
    return int(chosen) if chosen.isdecimal() else SMALLEST


def install(table: KernelTable, plain: KernelTable) -> None:
    """Add the kernels of a table to another one, with generated ones in front.

    Each stays one kernel, of the rank that it had: what a plug-in adds goes before it.
    """
    worth = _worth() if available() else {}
    least = least_elements()
    for op in plain.names():
        for own in plain.rivals(op):
            bind, dtypes, writes = None, _DTYPES, own.supports_out
            if op in generated_rows.ROW_OPS and available():
                bind = generated_rows.bind(own, least)
                dtypes = generated_rows.dtypes_of(op)
            elif op in generated_order.ORDER_OPS and available():
                bind, dtypes = generated_order.bind(own, least), generated_order.DTYPES
            elif op in generated_random.DRAWS and available():
                bind, dtypes = generated_random.bind(own, least)
            elif op in generated_steps.STEPS and available():
                bind = generated_steps.bind(own, least)
            elif op in generated_places.PLACE_OPS and available():
                bind, dtypes = generated_places.bind(own, least), own.dtypes
            elif op in generated_class_loss.CLASS_OPS and available():
                bind = generated_class_loss.bind(own, least)
            elif op in generated_partial_copies.PARTIAL_COPIES and available():
                bind, dtypes = generated_partial_copies.bind(own, least), own.dtypes
            elif op in generated_scans.SCANS and available():
                bind, dtypes = generated_scans.bind(own, least), generated_scans.DTYPES
            elif op in generated_copies.COPY_OPS and available():
                bind, dtypes = generated_copies.bind(own, least), own.dtypes
            elif op in worth and _is_slow(own):
                bind, dtypes = _bind(own, worth[op]), _DTYPES | HALF
                dtypes = REAL if op in _SELECTS else dtypes
            elif op in worth and own.when is None and own.dtypes & HALF:
                bind, dtypes, writes = _bind(own, worth[op]), HALF, False
            served = _NONE if bind is None else own.dtypes & dtypes
            if served:
                wraps = {"function": bind, "dtypes": served, "binds": True}
                _add(table, own._replace(**wraps, supports_out=writes))
            if own.dtypes - served:
                _add(table, own._replace(dtypes=own.dtypes - served))
    if available():
        row_bodies.add_bodies(table, least)
        _add_bodies(table)


def _add_bodies(table: KernelTable) -> None:
    """Kernels of large calls for ops without one: their bodies serve the small."""
    for v in vocabularies:
        for op, (inputs, numbers) in v.bodies().items():
            names = v.takes(op)[1]
            for dtype in sorted(_DTYPES | HALF, key=str):
                if op not in _MOVES and not table.select(op, dtype):
                    large = _Bodies(op)
                    table.add(
                        op, large.bind, dtypes=[dtype], binds=True, broadcasts=True,
                        checks=True, reads=("shape", *names),
                        when=_if_many(large, inputs, numbers, names, dtype),
                    )  # fmt: skip


class _Bodies:
    """Kernels of an op by its attributes."""

    def __init__(self, op: str) -> None:
        self.op = op
        self.made: dict[Any, _Generated] = {}

    def of(self, attributes: dict[str, Any]) -> _Generated:
        """The kernels for attributes of these values."""
        key = repr(attributes)
        if key not in self.made:
            if len(self.made) >= _REMEMBERED:
                self.made.clear()
            self.made[key] = _Generated(self.op, attributes)
        return self.made[key]

    def bind(self, **attributes: Any) -> Callable[..., Any]:
        """What serves calls with these attributes."""
        return self.of(attributes).serve


def _if_many(
    bodies: _Bodies, inputs: int, numbers: tuple[str, ...], names: tuple[str, ...],
    dtype: DType,
) -> Any:  # fmt: skip
    """Whether an array is large enough, and the body one that kernels can be of."""
    smallest, scalars = smallest_elements(), dict.fromkeys(numbers, 1.0)

    def many(facts: Facts) -> bool:
        most = max(math.prod(shape) for shape in facts.shape)
        if most < smallest:
            return False
        large = bodies.of({name: getattr(facts, name) for name in names})
        arrays = (np.empty(0, dtype.numpy),) * inputs
        if most < (large.least or large.weighed(arrays, scalars)):
            return False
        return large.find(arrays, scalars) is not None

    return many


def _add(table: KernelTable, kernel: Kernel) -> None:
    options = kernel._asdict()
    del options["owner"]
    table.add(options.pop("op"), options.pop("function"), **options)


def _worth() -> dict[str, bool]:
    """Ops that may be generated: whether each takes one tensor and nothing else."""
    found = {op: alone for v in vocabularies for op, alone in v.pointwise().items()}
    return {op: alone for op, alone in found.items() if op not in _MOVES}


def _is_slow(own: Kernel) -> bool:
    """Whether a kernel is one that a generated one outdoes."""
    quick = isinstance(own.function, np.ufunc) and own.op not in _SLOW_UFUNCS
    return not quick and not own.supports_out and own.when is None


def _bind(own: Kernel, alone: bool) -> Callable[..., Any]:
    def bind(**attributes: Any) -> Any:
        small = generated_rows.bound_by_attributes(own, attributes)
        return _by_size(small, _Generated(own.op, attributes), alone)

    return bind


def _by_size(small: Any, large: _Generated, alone: bool) -> Any:
    """A kernel that asks for the size first: what is small has to cost no more.

    From how many elements on its body is worth a kernel is asked by the first call that
    may have so many.

    Args:
        alone: it gets one array and nothing else.
    """
    least = smallest_elements()

    def kernel(a: Any) -> Any:
        nonlocal least
        if a.size < least:
            return small(a)
        if not large.least:
            least = large.weighed((a,), _NO_SCALARS)
            return kernel(a)
        y = large((a,), _NO_SCALARS)
        return small(a) if y is None else y

    def kernel_of_several(a: Any, *others: Any, **scalars: Any) -> Any:
        nonlocal least
        if a.size < least:
            for b in others:  # any() of them takes as long as a small kernel
                if b is not None and b.size >= least:
                    break
            else:
                return small(a, *others, **scalars)
        if not large.least:
            least = large.weighed((a, *others), scalars)
            return kernel_of_several(a, *others, **scalars)
        y = large((a, *others), scalars)
        return small(a, *others, **scalars) if y is None else y

    return kernel if alone else kernel_of_several


class _Generated:
    """An op with its attributes, made into kernels when first called."""

    def __init__(self, op: str, attributes: dict[str, Any]) -> None:
        self.op = op
        self.attributes = attributes
        self.made: dict[Any, Pointwise | None] = {}
        self.least = 0  # elements that are worth a kernel, once that is known

    def __call__(self, arrays: tuple[Any, ...], scalars: dict[str, Any]) -> Any:
        """The result, or None where the other kernel has to serve."""
        found = self.find(arrays, scalars)
        if found is None:
            return None
        if not scalars:
            return found(*arrays)
        return found(*arrays, scalars=[x for x in scalars.values() if x is not None])

    def find(
        self, arrays: tuple[Any, ...], scalars: dict[str, Any]
    ) -> Pointwise | None:
        """The kernels for arrays of such dtypes, if there are any."""
        key = tuple([None if a is None else a.dtype.char for a in arrays])
        if scalars:
            key += tuple([name for name, x in scalars.items() if x is not None])
        try:
            return self.made[key]
        except KeyError:
            known = [name for name, x in scalars.items() if x is not None]
            found = self.made[key] = self._make(arrays, scalars, known)
            return found

    def serve(self, *arrays: Any, **scalars: Any) -> Any:
        """The result, in row-major order where it has no better one."""
        y = self(arrays, scalars)
        if y is not None:
            return y
        return self(tuple(map(np.ascontiguousarray, arrays)), scalars)

    def _make(
        self, arrays: tuple[Any, ...], scalars: dict[str, Any], known: list[str]
    ) -> Pointwise | None:
        # With LLVM's text and mathematics: nothing that a small program needs.
        from dovetail.codegen.eager import Pointwise
        from dovetail.codegen.formats import HALVES

        try:
            program = self._program(arrays, scalars, known)
            stored = [None if a is None else a.dtype.name for a in arrays]
            made = program.results[0][1]
            half = next((d for d in stored if d in HALVES), "")
            result = half if made == "float32" else made
            return Pointwise(self.op, program, len(known), stored, result)
        except DovetailError:
            return None

    def weighed(self, arrays: tuple[Any, ...], scalars: dict[str, Any]) -> int:
        """From how many elements on the body is worth a kernel."""
        chosen = os.environ.get(SWITCH, "")
        if chosen.isdecimal():
            self.least = max(int(chosen), 1)
            return self.least
        from dovetail.codegen.formats import HALVES
        from dovetail_cpu.thresholds import least_elements

        known = [name for name, x in scalars.items() if x is not None]
        halves = any(a is not None and a.dtype.name in HALVES for a in arrays)
        try:
            program = self._program(arrays, scalars, known)
            self.least = least_elements(program, halves)
        except DovetailError:
            self.least = LEAST
        return self.least

    def _program(
        self, arrays: tuple[Any, ...], scalars: dict[str, Any], known: list[str]
    ) -> Program:
        """The body in elementary steps, of 16-bit floats in the dtype of arithmetic."""
        from dovetail.codegen.formats import computed_in
        from dovetail.codegen.pointwise import KNOWN

        dtypes = [None if a is None else computed_in(a.dtype.name) for a in arrays]
        absent = {name: None for name, x in scalars.items() if x is None}
        attributes = self.attributes | absent
        return vocabularies[0].program(self.op, dtypes, attributes, known, KNOWN)
