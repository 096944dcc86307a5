"""Steps of optimizers on a device: one launch for each parameter."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import combinations
from typing import Any, Final

from dovetail.codegen.declarations import vocabularies
from dovetail.codegen.formats import computed_in
from dovetail.codegen.in_place_form import InPlaceForm
from dovetail.codegen.pointwise import KNOWN
from dovetail.device_api import KernelTable
from dovetail.dtypes import FLOAT
from dovetail_cupy.launch import Launch, Machine

STEPS: Final = ("sgd", "adam")


def install(table: KernelTable, machine: Machine) -> None:
    """Add the steps of one parameter, and of many."""
    for name in STEPS:
        one, many = _of_one(machine, name), _of_many(machine, name)
        table.add(f"{name}_step_", one, dtypes=FLOAT, binds=True)
        table.add(f"{name}_steps_", many, dtypes=FLOAT, binds=True)


def _of_one(machine: Machine, name: str) -> Callable[..., Any]:
    def bind(**attributes: Any) -> Callable[..., None]:
        step = _Step(machine, f"{name}_step_", attributes)

        def kernel(*arrays: Any, **numbers: float) -> None:
            step(arrays, numbers)

        return kernel

    return bind


def _of_many(machine: Machine, name: str) -> Callable[..., Any]:
    """For lists of arrays, the last of which may be empty."""

    def bind(**attributes: Any) -> Callable[..., None]:
        step = _Step(machine, f"{name}_step_", attributes)

        def kernel(*lists: Any, **numbers: float) -> None:
            *full, last = lists
            for arrays in zip(*full, last or [None] * len(full[0]), strict=True):
                step(arrays, numbers)

        return kernel

    return bind


class _Step:
    """A step with its choices, made into kernels when first called."""

    def __init__(self, machine: Machine, op: str, attributes: dict[str, Any]) -> None:
        self._machine = machine
        self._op = op
        self._attributes = attributes
        self._made: dict[Any, tuple[InPlaceForm, Launch]] = {}

    def __call__(self, arrays: Sequence[Any], numbers: dict[str, float]) -> None:
        """Write the step of one parameter into its arrays."""
        found = vocabularies[0].numbers(self._op, self._attributes | numbers)
        there = {name: x for name, x in found.items() if x is not None}
        key = tuple([None if a is None else a.dtype for a in arrays]), tuple(there)
        made = self._made.get(key)
        if made is None:
            made = self._made[key] = self._make(arrays, found, there)
        form, launch = made
        if not arrays[0].size:
            return
        worked = [None if a is None else self._machine.in_rows(a) for a in arrays]
        if self._meet(worked):
            worked = [None if a is None else a.copy() for a in arrays]
        launch([worked[i] for i in form.given], list(there.values()), arrays[0].size)
        for i in form.written:
            if worked[i] is not arrays[i]:
                arrays[i][...] = worked[i]

    def _meet(self, arrays: Sequence[Any]) -> bool:
        """Whether some memory is in two arrays."""
        there = [a for a in arrays if a is not None]
        share = self._machine.may_share
        return any(share(a, b) for a, b in combinations(there, 2))

    def _make(
        self, arrays: Sequence[Any], numbers: dict[str, Any], there: Collection[str]
    ) -> tuple[InPlaceForm, Launch]:
        stored = [None if a is None else a.dtype.name for a in arrays]
        dtypes = [None if d is None else computed_in(d) for d in stored]
        absent = {name: None for name, x in numbers.items() if x is None}
        program, written = vocabularies[0].in_place_program(
            self._op, dtypes, self._attributes | absent, [*there], KNOWN
        )
        form = InPlaceForm(self._op, program, written, len(there), stored)
        return form, self._machine.launcher(form.form)
