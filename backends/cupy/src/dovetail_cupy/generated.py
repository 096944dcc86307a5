"""Generated kernels of a device: for what CuPy takes several launches for, or lacks."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

from dovetail.codegen.declarations import IN_ROWS, WITH_LIMITS, vocabularies
from dovetail.codegen.formats import HALVES, computed_in
from dovetail.codegen.pointwise import KNOWN
from dovetail.codegen.runtime.machine import SWITCH
from dovetail.device_api import Facts, Kernel, KernelTable
from dovetail.dtypes import FLOAT, HALF, DType
from dovetail.errors import DovetailError
from dovetail_cupy import (
    class_loss,
    draws,
    norms,
    pooling,
    ranges,
    reductions,
    rows,
    steps,
)
from dovetail_cupy.draws import Draws
from dovetail_cupy.launch import Machine
from dovetail_cupy.pointwise import DevicePointwise
from dovetail_cupy.shared_kernels import add_again

DTYPES: Final[frozenset[DType]] = FLOAT
"""What generated kernels compute with here."""
_MOVES: Final = frozenset({"bitcast", "cast", "clone", "real"})
_REMEMBERED: Final = 64  # attributes of an op


def are_wanted() -> bool:
    """Whether the environment leaves generated kernels on."""
    return os.environ.get(SWITCH, "").lower() not in {"0", "off", "no", "false"}


def install(table: KernelTable, shared: KernelTable, machine: Machine) -> None:
    """Add the kernels of a table to another one, with generated ones in front."""
    pointwise = {op for v in vocabularies for op in v.pointwise()} - _MOVES
    drawing = Draws(machine)
    for op in shared.names():
        for own in shared.rivals(op):
            made, served = own, frozenset[DType]()
            if op in draws.DTYPES:
                served = own.dtypes & draws.DTYPES[op]
                made = own._replace(function=getattr(drawing, op)(own.function))
            elif op in rows.ROW_OPS and own.when is None:
                served = own.dtypes & rows.DTYPES
                behind = norms.behind(own, machine) if op in norms.OPS else own
                made = own._replace(function=rows.in_front(behind, machine), binds=True)
            elif op in pointwise and own.when is None:
                served = own.dtypes & DTYPES
                made = own._replace(function=_in_front(own, machine), binds=True)
            add_again(table, made._replace(dtypes=served))
            add_again(table, own._replace(dtypes=own.dtypes - served))
    steps.install(table, machine)
    class_loss.install(table, machine)
    pooling.install(table, machine)
    ranges.install(table, machine)
    reductions.install(table, machine)
    rows.install_narrow(table, shared, machine)
    _add_bodies(table, machine)


def _in_front(own: Kernel, machine: Machine) -> Callable[..., Any]:
    """What binds a generated kernel, and asks another one where there can be none."""

    def bind(**attributes: Any) -> Callable[..., Any]:
        made = Generated(machine, own.op, attributes)
        other = own.function(**attributes) if own.binds else own.function
        if attributes and not own.binds:
            other = partial(own.function, **attributes)

        plain = made.plain  # asked first: most calls have no numbers, and rows alone

        def kernel(*arrays: Any, **scalars: Any) -> Any:
            if not scalars and (y := plain(arrays)) is not None:
                return y
            found = made.find(arrays, scalars)
            if found is None:
                return other(*arrays, **scalars)
            return (
                found(*arrays, scalars=_known(scalars)) if scalars else found(*arrays)
            )

        def writing(*arrays: Any, out: Any = None, **scalars: Any) -> Any:
            if out is None and not scalars and (y := plain(arrays)) is not None:
                return y
            found = made.find(arrays, scalars)
            if found is None or (out is not None and not found.takes(out, arrays)):
                return other(*arrays, out=out, **scalars)
            return found(*arrays, scalars=_known(scalars), out=out)

        return writing if own.supports_out else kernel

    return bind


def _known(scalars: dict[str, Any]) -> list[Any]:
    return [x for x in scalars.values() if x is not None]


_UNTRIED: Final = object()


class Generated:
    """An op with its attributes, made into kernels when first called."""

    def __init__(self, machine: Machine, op: str, attributes: dict[str, Any]) -> None:
        self._machine = machine
        self.op = op
        self.attributes = attributes
        self._made: dict[Any, Any] = {}
        self._last: DevicePointwise | None = None  # of the dtypes that came last

    def __call__(self, *arrays: Any, **scalars: Any) -> Any:
        """The result of a call that can be served."""
        found = self.find(arrays, scalars)
        assert found is not None
        return found(*arrays, scalars=_known(scalars))

    def plain(self, arrays: tuple[Any, ...]) -> Any:
        """The result for arrays of one shape in rows, of the dtypes that came last.

        None for others, which `find` is for.
        """
        last = self._last
        return None if last is None else last.of_rows(arrays)

    def find(
        self, arrays: tuple[Any, ...], scalars: dict[str, Any]
    ) -> DevicePointwise | None:
        """The kernels for arrays of such dtypes, None where there are none."""
        key: Any = tuple([None if a is None else a.dtype for a in arrays])
        if scalars:
            key = key, tuple([name for name, x in scalars.items() if x is not None])
        found = self._made.get(key, _UNTRIED)
        if found is _UNTRIED:
            dtypes = tuple([None if a is None else a.dtype.name for a in arrays])
            absent = {name: None for name, x in scalars.items() if x is None}
            known = tuple([name for name, x in scalars.items() if x is not None])
            found = self._made[key] = self._make(
                dtypes, self.attributes | absent, known
            )
        if not scalars and all(a is not None for a in arrays):
            self._last = found
        return found

    def _make(
        self, dtypes: tuple[str | None, ...], attributes: dict[str, Any],
        known: tuple[str, ...],
    ) -> DevicePointwise | None:  # fmt: skip
        wide = [None if d is None else computed_in(d) for d in dtypes]
        try:
            program = vocabularies[0].program(self.op, wide, attributes, known, KNOWN)
            made = program.results[0][1]
            half = next((d for d in dtypes if d in HALVES), None)
            result = half if half and made == "float32" else made
            return DevicePointwise(
                self._machine, self.op, program, len(known), dtypes, result,
                in_rows=self.op in IN_ROWS,
            )  # fmt: skip
        except DovetailError:
            return None


def _add_bodies(table: KernelTable, machine: Machine) -> None:
    """Kernels for ops that have none: one launch instead of one a step."""
    for v in vocabularies:
        for op, (inputs, numbers) in v.bodies().items():
            names = v.takes(op)[1]
            dtypes = DTYPES - HALF if op in WITH_LIMITS else DTYPES
            for dtype in sorted(dtypes, key=str):
                if op not in _MOVES and not table.select(op, dtype):
                    bodies = _Bodies(machine, op)
                    table.add(
                        op, bodies.of, dtypes=[dtype], binds=True, broadcasts=True,
                        checks=True, reads=("shape", *names),
                        when=_if_known(bodies, inputs, numbers, names, dtype),
                    )  # fmt: skip


class _Bodies:
    """Kernels of an op by its attributes."""

    def __init__(self, machine: Machine, op: str) -> None:
        self._machine = machine
        self._op = op
        self._made: dict[str, Generated] = {}

    def of(self, **attributes: Any) -> Generated:
        """The kernels for attributes of these values."""
        key = repr(attributes)
        if key not in self._made:
            if len(self._made) >= _REMEMBERED:
                self._made.clear()
            self._made[key] = Generated(self._machine, self._op, attributes)
        return self._made[key]


def _if_known(
    bodies: _Bodies, inputs: int, numbers: tuple[str, ...], names: tuple[str, ...],
    dtype: DType,
) -> Callable[[Facts], bool]:  # fmt: skip
    """Whether the body is one that kernels can be made of."""
    arrays, scalars = (np.empty(0, dtype.numpy),) * inputs, dict.fromkeys(numbers, 1.0)

    def known(facts: Facts) -> bool:
        made = bodies.of(**{name: getattr(facts, name) for name in names})
        return made.find(arrays, scalars) is not None

    return known
