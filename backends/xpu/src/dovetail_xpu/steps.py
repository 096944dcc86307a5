"""Steps of optimizers: a launch a parameter, which reads and writes all its state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from dovetail.codegen import pointwise
from dovetail.codegen.declarations import vocabularies
from dovetail.codegen.ir import Buffer, Kernel, Store
from dovetail.codegen.lanes import (
    Layout,
    lane,
    lane_kernel,
    offsets,
    parameters,
    placed,
)
from dovetail.codegen.values import Term, load, parameter
from dovetail.device_api import KernelTable
from dovetail.dtypes import DType, float32, float64
from dovetail_xpu.bodies import word
from dovetail_xpu.launch import THREADS, Launchable, Launcher
from dovetail_xpu.memory import XpuArray

_STEPS: Final = {
    "sgd_step_": "sgd_step_", "sgd_steps_": "sgd_step_",
    "adam_step_": "adam_step_", "adam_steps_": "adam_step_",
}  # fmt: skip


def install(table: KernelTable, launcher: Launcher, claimed: frozenset[DType]) -> None:
    """Add them to a table."""
    for op, single in _STEPS.items():
        steps = Steps(launcher, single)
        bind = steps.bind if op == single else steps.bind_lists
        for dtype in (float32, float64):
            if dtype in claimed:
                table.add(op, bind, dtypes=[dtype], binds=True)


class Steps:
    """The kernels of a step, by its choices, and by which of its arrays there are."""

    def __init__(self, launcher: Launcher, op: str) -> None:
        self.launcher = launcher
        self.op = op
        self._programs: dict[Any, Any] = {}
        self._kernels: dict[Any, Launchable] = {}

    def bind(self, **attributes: Any) -> Callable[..., None]:
        """A step of one parameter."""

        def step(*arrays: XpuArray | None, **numbers: float) -> None:
            self._run(arrays, attributes, numbers)

        return step

    def bind_lists(self, **attributes: Any) -> Callable[..., None]:
        """A step of each parameter of a list; lists that are left out are empty."""

        def steps(*lists: Sequence[XpuArray], **numbers: float) -> None:
            for i in range(len(lists[0])):
                arrays = [some[i] if some else None for some in lists]
                self._run(arrays, attributes, numbers)

        return steps

    def _run(
        self, arrays: Sequence[XpuArray | None], attributes: dict[str, Any],
        numbers: dict[str, float],
    ) -> None:  # fmt: skip
        given = [a for a in arrays if a is not None]
        shape, count = given[0].shape, given[0].size
        if not count:
            return
        found = vocabularies[0].numbers(self.op, attributes | numbers)
        there = {name: x for name, x in found.items() if x is not None}
        dtype = given[0].dtype.name
        layout, words = placed(shape, [a.strides for a in given], count)
        which = dtype, tuple([a is not None for a in arrays]), *there
        key = which, repr(attributes), layout
        kernel = self._kernels.get(key)
        if kernel is None:
            program = self._program(which, attributes, found)
            kernel = Launchable(lambda: _form(program, layout))
            self._kernels[key] = kernel
        words = [*[a.address for a in given], *words]
        words += [word(dtype, x) for x in there.values()]
        stream = self.launcher.stream(given[0].device.index)
        kernel.launch(stream, [*words, 0, count], -(-count // THREADS))

    def _program(
        self, which: Any, attributes: dict[str, Any], found: dict[str, Any]
    ) -> Any:
        """What a step computes, and which of its arrays it writes."""
        dtype, present, *there = which
        dtypes = [dtype if here else None for here in present]
        absent = {name: None for name, x in found.items() if x is None}
        return vocabularies[0].in_place_program(
            self.op, dtypes, attributes | absent, there, pointwise.KNOWN
        )


def _form(found: Any, layout: Layout) -> Kernel:
    """The kernel as loops."""
    program, written = found
    at = lane()
    places = iter(offsets(layout, at))
    numbers = len(program.inputs) - _arrays(program, layout)
    arrays = len(program.inputs) - numbers
    given: list[Term | None] = []
    buffers: dict[int, tuple[Buffer, Term]] = {}
    for i, dtype in enumerate(program.inputs[:arrays]):
        if dtype is None:
            given.append(None)
            continue
        buffer = Buffer(f"x{i}", dtype, written=i in written)
        buffers[i] = buffer, next(places)
        given.append(load(*buffers[i]))
    named = [(f"number{i}", str(d)) for i, d in enumerate(program.inputs[arrays:])]
    given += [parameter(name, dtype) for name, dtype in named]
    made = pointwise.results(program, given)
    stores = [
        Store(buffers[i][0], buffers[i][1].value, y.value)
        for i, y in zip(written, made, strict=True)
    ]
    words = [*parameters(layout), *named]
    return lane_kernel([b for b, _ in buffers.values()], words, at, stores)


def _arrays(program: Any, layout: Layout) -> int:
    """How many inputs are arrays, present or not."""
    left = len(layout.kinds)
    for i, dtype in enumerate(program.inputs):
        if dtype is not None:
            if not left:
                return i
            left -= 1
    return len(program.inputs)
