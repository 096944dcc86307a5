"""Generated kernels in front of NumPy's, for large arrays.

An op is served by a generated kernel from `least_elements()` on, where one can be
made of its declaration; below, and where operands lie so that NumPy would choose
another layout for the result, by the kernel that served it before. Nothing is compiled,
and llvmlite is not imported, before the first such call.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from typing import Any, Final

import numpy as np

from dovetail.codegen.declarations import IN_ROWS, WITH_LIMITS, on_more, vocabularies
from dovetail.codegen.row_ops import NAMED
from dovetail.codegen.runtime.machine import available
from dovetail.device_api import Facts, Kernel, KernelTable
from dovetail.dtypes import HALF, ORDERED, DType, float32, float64
from dovetail.xp.orders import binding_rows
from dovetail_cpu import (
    generated_attention,
    generated_broadcasts,
    generated_class_loss,
    generated_copies,
    generated_ctc,
    generated_order,
    generated_partial_copies,
    generated_places,
    generated_pointwise,
    generated_random,
    generated_recurrences,
    generated_rows,
    generated_scans,
    generated_sequences,
    generated_steps,
    generated_taps,
    row_bodies,
)
from dovetail_cpu.generated_pointwise import (
    LEAST,
    SMALLEST,
    Generated,
    least_elements,
    smallest_elements,
)

# NumPy's ufuncs are bound by memory, but for these.
_SLOW_UFUNCS: Final = frozenset({
    "cos", "exp", "exp2", "expm1", "float_pow", "hypot", "log", "log1p", "logaddexp",
    "logaddexp2", "pow", "sin", "tanh",
})  # fmt: skip
# These too, which could write over an operand: that is not worth five times the time.
_REMAINDERS: Final = frozenset({"float_fmod", "floor_divide", "fmod", "remainder"})
# What moves elements, or reads them as others.
_MOVES: Final = frozenset({"bitcast", "cast", "clone", "real"})
_SELECTS: Final = frozenset({"where"})  # the same for numbers of any kind
# What serves large arrays of any dtype that the kernel behind has.
_IN_FRONT: Final[dict[str, Callable[..., Any]]] = {
    **dict.fromkeys(generated_places.PLACE_OPS, generated_places.bind),
    **dict.fromkeys(
        generated_partial_copies.PARTIAL_COPIES, generated_partial_copies.bind
    ),
    **dict.fromkeys(generated_copies.COPY_OPS, generated_copies.bind),
}
# The same of floats that arithmetic knows.
_OF_FLOATS: Final[dict[str, Callable[..., Any]]] = {
    **dict.fromkeys(generated_taps.TAP_OPS, generated_taps.bind),
    **dict.fromkeys(generated_ctc.CTC, generated_ctc.bind),
    **dict.fromkeys(generated_recurrences.RECURRENCES, generated_recurrences.bind),
}
_DTYPES: Final = frozenset({float32, float64})
_NONE: Final[frozenset[DType]] = frozenset()
_REMEMBERED: Final = 64  # attributes of an op without a kernel


def install(table: KernelTable, plain: KernelTable) -> None:
    """Add the kernels of a table to another one, with generated ones in front.

    Each stays one kernel, of the rank that it had: what a plug-in adds goes before it.
    """
    worth = _worth() if available() else {}
    least = least_elements()
    for op in plain.names():
        for own in plain.rivals(op):
            bind, dtypes, writes = None, _DTYPES, own.supports_out
            if op in NAMED and available():
                bind = generated_rows.bind(own, _least_of_rows(op))
                dtypes = generated_rows.dtypes_of(op)
            elif op in generated_order.ORDER_OPS and available():
                bind, dtypes = generated_order.bind(own, least), generated_order.DTYPES
            elif op in generated_random.DRAWS and available():
                bind, dtypes = generated_random.bind(own, least)
            elif op in generated_steps.STEPS and available():
                bind = generated_steps.bind(own, least)
            elif op in generated_class_loss.CLASS_OPS and available():
                bind = generated_class_loss.bind(own, least)
            elif op in generated_attention.ATTENTION and available():
                bind = generated_attention.bind(own, _least_of_attention())
            elif op in generated_scans.SCANS and available():
                bind, dtypes = generated_scans.bind(own, least), generated_scans.DTYPES
            elif op in _IN_FRONT and available():
                bind, dtypes = _IN_FRONT[op](own, least), own.dtypes
            elif op in _OF_FLOATS and available():
                bind = _OF_FLOATS[op](own, least)
            elif op in worth and _is_slow(own):
                bind, dtypes = generated_pointwise.bind(own, worth[op]), _DTYPES | HALF
                dtypes = ORDERED if op in _SELECTS else dtypes
                writes = False
            elif op in worth and own.when is None and own.dtypes & HALF:
                bind, dtypes = generated_pointwise.bind(own, worth[op]), HALF
                writes = False
            served = _NONE if bind is None else own.dtypes & dtypes
            if served:
                wraps = {
                    "function": _ordered(op, bind),
                    "dtypes": served,
                    "binds": True,
                }
                _add(table, own._replace(**wraps, supports_out=writes))
            if own.dtypes - served:
                _add(table, own._replace(dtypes=own.dtypes - served))
    if available():
        _add_others(table)


def _ordered(op: str, bind: Any) -> Any:
    return binding_rows(bind) if op in IN_ROWS else bind


def _add_others(table: KernelTable) -> None:
    """What no kernel of NumPy's stands behind, now or when its family loads."""
    row_bodies.add_bodies(table, _least_of_rows)
    generated_sequences.add(table)
    _add_bodies(table)
    generated_broadcasts.install(table, least_elements())
    on_more.append(lambda ops: _add_bodies(table, ops))


def _least_of_rows(op: str) -> int:
    """From how many elements on an op on rows is generated."""
    wished = least_elements()
    return wished if wished != LEAST else LEAST // generated_rows.PASSES[op]


def _least_of_attention() -> int:
    """From how many multiplications on attention is generated."""
    wished = least_elements()
    return wished if wished != LEAST else generated_attention.LEAST


def _add_bodies(table: KernelTable, ops: Collection[str] = ()) -> None:
    """Kernels of large calls for ops without one: their bodies serve the small.

    Args:
        ops: which ones; by default all.
    """
    for v in vocabularies:
        for op, (inputs, numbers) in v.bodies().items():
            if ops and op not in ops:
                continue
            names = v.takes(op)[1]
            dtypes = _DTYPES if op in WITH_LIMITS else _DTYPES | HALF
            for dtype in sorted(dtypes, key=str):
                if op not in _MOVES and not table.select(op, dtype):
                    large = _Bodies(op)
                    table.add(
                        op, _ordered(op, large.bind), dtypes=[dtype], binds=True,
                        broadcasts=True, checks=True, reads=("shape", *names),
                        when=_if_many(large, inputs, numbers, names, dtype),
                    )  # fmt: skip


class _Bodies:
    """Kernels of an op by its attributes."""

    def __init__(self, op: str) -> None:
        self.op = op
        self.made: dict[Any, Generated] = {}

    def of(self, attributes: dict[str, Any]) -> Generated:
        """The kernels for attributes of these values."""
        key = repr(attributes)
        if key not in self.made:
            if len(self.made) >= _REMEMBERED:
                self.made.clear()
            self.made[key] = Generated(self.op, attributes, composed=True)
        return self.made[key]

    def bind(self, **attributes: Any) -> Callable[..., Any]:
        """What serves calls with these attributes."""
        return self.of(attributes).serve


def _if_many(
    bodies: _Bodies, inputs: int, numbers: tuple[str, ...], names: tuple[str, ...],
    dtype: DType,
) -> Any:  # fmt: skip
    """Whether an array is large enough, and the body one that kernels can be of."""
    smallest = smallest_elements(bodies.op)
    scalars = dict.fromkeys(numbers, 1.0)

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


def _worth() -> dict[str, int]:
    """Ops that may be generated: how many tensors are all that varies at a call."""
    found = {op: count for v in vocabularies for op, count in v.pointwise().items()}
    return {op: count for op, count in found.items() if op not in _MOVES}


def _is_slow(own: Kernel) -> bool:
    """Whether a kernel is one that a generated one outdoes."""
    if own.op in _REMAINDERS:
        return True
    quick = isinstance(own.function, np.ufunc) and own.op not in _SLOW_UFUNCS
    return not quick and not own.supports_out and own.when is None


__all__ = ["LEAST", "SMALLEST", "install"]
