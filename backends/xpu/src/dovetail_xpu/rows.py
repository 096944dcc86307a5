"""Softmax and norms in one launch: a block of threads for each row that is reduced.

What is computed is the body of an op on dims of some sizes, of which those that are
alike are one; `dovetail.codegen.row_kernel` makes passes over them. Where rows are few
and long, the body serves: its sums have more threads.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np

from dovetail.codegen.declarations import vocabularies
from dovetail.codegen.program import KEPT, REDUCED, REDUCTIONS, Program
from dovetail.codegen.row_ops import RowOp, extents_of, merged
from dovetail.device_api import Facts, KernelTable
from dovetail.dtypes import DType, by_name, float32, float64
from dovetail.errors import DovetailError
from dovetail_xpu.bodies import word
from dovetail_xpu.launch import Launchable, Launcher
from dovetail_xpu.memory import Ints, XpuArray
from dovetail_xpu.primitives import copier

_OPS: Final = (
    "softmax", "log_softmax", "softmax_backward", "log_softmax_backward", "normalise",
    "normalise_backward", "rms_norm", "normalise_weight_backward", "layer_norm",
)  # fmt: skip
_THREADS: Final = 64
_BLOCKS: Final = 1 << 16
_LONGEST: Final = 1 << 16  # elements of a row, where there are few
_FEW: Final = 16
_REMEMBERED: Final = 1024


class Form(NamedTuple):
    """The dims of a call, those that are alike being one.

    Attributes:
        pattern: what becomes of each, a letter a dim.
        sizes: of the dims.
        extents: the dims that each operand has.
        shape: of the whole, as the caller has it.
        left: the shape of what is left where dims are reduced.
    """

    pattern: str
    sizes: Ints
    extents: tuple[Ints, ...]
    shape: Ints
    left: Ints


class Plan(NamedTuple):
    """What serves calls of a form."""

    kernel: Launchable
    sources: list[int]
    results: list[tuple[Ints, DType]]
    words: list[int]
    numbers: list[str]
    pieces: int


def install(table: KernelTable, launcher: Launcher, claimed: frozenset[DType]) -> None:
    """Add them to a table."""
    for op in _OPS if vocabularies else ():
        for dtype in (float32, float64):
            if dtype in claimed:
                rows = Rows(launcher, op, dtype)
                table.add(
                    op, rows.bind, dtypes=[dtype], binds=True, broadcasts=True,
                    when=rows.serves, reads=("shape", *rows.names),
                )  # fmt: skip


class Rows:
    """The kernels of an op in one dtype."""

    def __init__(self, launcher: Launcher, op: str, dtype: DType) -> None:
        self.launcher = launcher
        self.op = op
        self.dtype = dtype
        self.optional, self.names, self.scalars = vocabularies[0].takes(op)
        self.copy = copier(launcher)
        self._kernels: dict[Any, tuple[Launchable, Any, Program]] = {}

    def serves(self, facts: Facts) -> bool:
        """Whether rows are many, or short, and all operands can be told apart."""
        attributes = {name: getattr(facts, name) for name in self.names}
        shapes = iter(facts.shape)
        spare = len(facts.shape) - sum(not o for o in self.optional)
        given: list[Ints | None] = []
        for may_be_absent in self.optional:
            here = not may_be_absent or spare > 0
            spare -= may_be_absent
            given.append(next(shapes) if here else None)
        return self.plan(given, attributes) is not None

    def bind(self, **attributes: Any) -> Callable[..., Any]:
        """What serves calls with these attributes."""
        plans: dict[Any, Plan | None] = {}

        def kernel(*arrays: XpuArray | None, **numbers: Any) -> Any:
            shapes = tuple([None if a is None else a.shape for a in arrays])
            if shapes not in plans:
                if len(plans) >= _REMEMBERED:
                    plans.clear()
                plans[shapes] = self.plan(shapes, attributes)
            plan = plans[shapes]
            assert plan is not None
            return self._run(plan, arrays, numbers)

        return kernel

    def _run(
        self, plan: Plan, arrays: Sequence[XpuArray | None], numbers: dict[str, Any]
    ) -> Any:
        given = []
        for i in plan.sources:
            a = arrays[i]
            assert a is not None
            given.append(a if a.dense else self.copy(a))
        index = given[0].device.index
        outs = [
            self.launcher.fresh(shape, dtype, index) for shape, dtype in plan.results
        ]
        words = [a.address for a in (*given, *outs)] + plan.words
        values = [numbers[name] for name in self.scalars]
        words += [word(d, x) for d, x in zip(plan.numbers, values, strict=True)]
        stream = self.launcher.stream(index)
        blocks = min(plan.pieces, _BLOCKS)
        plan.kernel.launch(stream, [*words, 0, plan.pieces], blocks)
        return outs[0] if len(outs) == 1 else tuple(outs)

    def plan(
        self, shapes: Sequence[Ints | None], attributes: dict[str, Any]
    ) -> Plan | None:
        """What serves operands of these shapes; None where the body does."""
        from dovetail.codegen.row_places import LANES

        form = self._form(shapes, attributes)
        if form is None:
            return None
        pieces = math.prod(_kept(form))
        words = list(form.sizes)
        if form.pattern[-1] == KEPT:
            tiles = -(-form.sizes[-1] // LANES)
            pieces = pieces // form.sizes[-1] * tiles
            words.append(tiles)
        if pieces < _FEW and math.prod(form.sizes) // pieces > _LONGEST:
            return None
        try:
            kernel, made, program = self._kernel(form, shapes, attributes)
        except DovetailError:
            return None
        results = []
        for x, dtype in program.results:
            size = math.prod([form.sizes[d] for d in program.extent(x)])
            whole = size == math.prod(form.shape)
            results.append((form.shape if whole else form.left, by_name(dtype)))
            if math.prod(results[-1][0]) != size:
                return None
        numbers = [str(d) for d in program.inputs[made.arrays :] if d is not None]
        return Plan(kernel, list(made.sources), results, words, numbers, pieces)

    def _kernel(
        self, form: Form, shapes: Sequence[Ints | None], attributes: dict[str, Any]
    ) -> tuple[Launchable, Any, Program]:
        """The kernel of a form, whose code has the sizes that are reduced.

        Raises:
            NotSupported: the body is none that kernels know.
        """
        from dovetail.codegen.row_kernel import RowKernel
        from dovetail.codegen.row_places import LANES

        short = form.pattern[-1] == REDUCED and form.sizes[-1] < LANES
        inner = tuple([
            n for n, k in zip(form.sizes, form.pattern, strict=True) if k == REDUCED
        ])  # fmt: skip
        there = tuple([s is not None for s in shapes])
        key = form.pattern, form.extents, inner, short, there
        found = self._kernels.get(key)
        if found is None:
            program = self._program(form, shapes, attributes)
            made = RowKernel("k", program, form.pattern, len(self.scalars), (), short)
            kernel = Launchable(partial(_once, made.kernel()), _THREADS)
            found = self._kernels[key] = kernel, made, program
        return found

    def _program(
        self, form: Form, shapes: Sequence[Ints | None], attributes: dict[str, Any]
    ) -> Program:
        from dovetail.codegen.pointwise import KNOWN

        reduced = tuple([d for d, k in enumerate(form.pattern) if k == REDUCED])
        dtypes = [None if s is None else self.dtype.name for s in shapes]
        return RowOp(self.op, attributes).program(
            dtypes, form.extents, form.sizes, reduced, self.scalars, KNOWN | REDUCTIONS
        )

    def _form(
        self, shapes: Sequence[Ints | None], attributes: dict[str, Any]
    ) -> Form | None:
        """The form of a call; None where nothing is reduced, or nothing is there."""
        wide = [s or () for s in shapes]
        shape = np.broadcast_shapes(*wide)
        if 0 in shape or any(0 in s for s in wide):
            return None
        op = RowOp(self.op, attributes)
        reduced = op.reduced(shape)
        dims = merged(shape, wide, reduced)
        pattern = "".join(REDUCED if dim.reduced else KEPT for dim in dims)
        if REDUCED not in pattern:
            return None
        sizes = tuple([dim.size for dim in dims])
        extents, left = extents_of(dims, len(wide)), op.left(shape, reduced)
        return Form(pattern, sizes, extents, shape, left)


def _kept(form: Form) -> list[int]:
    return [n for n, k in zip(form.sizes, form.pattern, strict=True) if k == KEPT]


def _once(kernel: Any) -> Any:
    return kernel
