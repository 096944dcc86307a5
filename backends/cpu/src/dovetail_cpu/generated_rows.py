"""Generated kernels for what reduces dims: sums, softmax, norms.

They serve large row-major arrays, whichever dims are reduced; NumPy's kernels serve the
rest, and small arrays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dovetail.codegen.row_ops import NAMED, RowOp
from dovetail.device_api import Kernel
from dovetail.dtypes import HALF, DType, float32, float64, int8, int16, int32, int64
from dovetail.errors import DovetailError
from dovetail.xp.kernels import Large
from dovetail_cpu.row_forms import LANES, Form, form_of

if TYPE_CHECKING:
    from dovetail.codegen.eager_rows import Rows, Serve
    from dovetail.codegen.program import Program

Dims = tuple[int, ...]
Array = np.ndarray[Any, Any]

_ONE_PASS: Final = frozenset({
    "sum", "mean", "prod", "amax", "amin", "count_nonzero", "any", "all",
})  # fmt: skip
PASSES: Final = {op: 2 if op in _ONE_PASS else 32 for op in NAMED}
"""How many times sooner than a single step an op is worth a kernel, with its calls of
NumPy's."""
_FLOATS: Final = frozenset({float32, float64})
_NONE: Final[frozenset[DType]] = frozenset()
_INTS: Final = frozenset({int8, int16, int32, int64})
# Of integers, what NumPy does not do at the speed of memory.
_OF_INTS: Final = frozenset({"sum", "count_nonzero", "any", "all"})
_OF_SEVERAL: Final = frozenset(
    op for op, named in NAMED.items() if named != "dim" or op.endswith("backward")
)
SHORTEST: Final = 16  # lanes; of shorter rows, too much is spent beside them
# Small calls of these cost so little that a function in front of theirs would show.
_ASKING: Final = frozenset({"sum", "layer_norm"})
_SCALARS: Final = ("eps",)
_NO_SCALARS: Final[dict[str, Any]] = {}
# Sums within them may leave the format where the result does not: NumPy's kernels know
# what to do then.
_CAREFUL: Final = frozenset({"var", "std"})
_REMEMBERED: Final = 256  # shapes of operands


def dtypes_of(op: str) -> frozenset[DType]:
    """The dtypes in which an op is generated."""
    return _FLOATS | HALF | (_INTS if op in _OF_INTS else _NONE)


def bind(own: Kernel, least: int) -> Callable[..., Any]:
    """What binds a kernel that asks for the size first, in front of another one."""

    def bound(**attributes: Any) -> Any:
        cast = attributes.get("dtype") is not None
        large = Generated(own.op, attributes, min(SHORTEST, max(least, 2)))
        if own.op in _ASKING and not cast and own.dtypes & _FLOATS:
            return own.function(**attributes, large=_asked(large, least))
        small = bound_by_attributes(own, attributes)

        def kernel(a: Any) -> Any:
            if a.size < least:
                return small(a)
            y = large((a,), _NO_SCALARS)
            return small(a) if y is None else y

        def kernel_of_several(a: Any, *others: Any, **scalars: Any) -> Any:
            if a.size < least:
                return small(a, *others, **scalars)
            y = large((a, *others), scalars)
            return small(a, *others, **scalars) if y is None else y

        return kernel_of_several if own.op in _OF_SEVERAL else kernel

    return bound


def bound_by_attributes(own: Kernel, attributes: dict[str, Any]) -> Any:
    """What a kernel is for attributes: a function of arrays and scalars."""
    if own.binds:
        return own.function(**attributes)
    return partial(own.function, **attributes) if attributes else own.function


def _asked(large: Generated, least: int) -> Large:
    """For kernels that ask by themselves, arguments in their order."""

    def serve(a: Any, *others: Any) -> Any:
        if a.size < least:
            return None
        arrays = len(others) - len(_SCALARS) if others else 0
        scalars = dict(zip(_SCALARS, others[arrays:], strict=False))
        return large((a, *others[:arrays]), scalars)

    return Large(least, serve)


class Generated:
    """An op with its attributes, made into kernels when first called.

    Args:
        shortest: elements of the last dim that it takes at least.
        careful: whether another kernel may serve where sums leave the format.
    """

    def __init__(
        self, op: str, attributes: dict[str, Any], shortest: int, *,
        careful: bool = True,
    ) -> None:  # fmt: skip
        self.op = RowOp(op, attributes)
        self.careful = careful and op in _CAREFUL
        self.shortest = shortest
        self.plans: dict[Any, tuple[Form, Serve] | None] = {}
        self.made: dict[Any, Rows | None] = {}

    def __call__(self, arrays: tuple[Any, ...], scalars: dict[str, Any]) -> Any:
        """The results, or None where the other kernel has to serve."""
        if len(arrays) == 1:
            a = arrays[0]
            key: Any = a.shape, a.dtype
            if not a.flags.c_contiguous:
                return None
        else:
            key = tuple([None if a is None else (a.shape, a.dtype) for a in arrays])
            for a in arrays:
                if a is not None and not a.flags.c_contiguous:
                    return None
        try:
            plan = self.plans[key]
        except KeyError:
            if len(self.plans) >= _REMEMBERED:
                self.plans.clear()
            plan = self.plans[key] = self._plan(arrays, tuple(scalars))
        if plan is None:
            return None
        form, serve = plan
        given = form.turned(arrays) if form.turns else arrays
        outs = serve(given, list(scalars.values()))
        if self.careful and not np.isfinite(outs[0]).all():
            return None
        if len(outs) == 1:
            y = outs[0]
            return y if y.shape == form.left and not form.turns else form.shaped(y)
        return tuple([form.shaped(y) for y in outs])

    def _plan(
        self, arrays: Sequence[Any], scalars: tuple[str, ...]
    ) -> tuple[Form, Serve] | None:
        """The form of calls with such arrays, and what serves it."""
        form = self.form([() if a is None else a.shape for a in arrays])
        if form is None:
            return None
        rows = self.rows_for(form, arrays, scalars)
        serve = None if rows is None else rows.serving(form.sizes)
        return None if serve is None else (form, serve)

    def form(self, shapes: Sequence[Dims]) -> Form | None:
        """The form of a call; None where the other kernel serves better."""
        shape = np.broadcast_shapes(*shapes)
        reduced = self.op.reduced(shape)
        if not reduced or not math.prod(shape):
            return None
        left = self.op.left(shape, reduced)
        return form_of(shapes, shape, reduced, left, self.shortest)

    def rows_for(
        self, form: Form, arrays: Sequence[Any], scalars: tuple[str, ...]
    ) -> Rows | None:
        """What serves calls of a form; None where there can be no kernel.

        Args:
            scalars: the names of the numbers of a call.
        """
        short = form.sizes[-1] < LANES
        kinds = [None if a is None else a.dtype.char for a in arrays]
        key = form.pattern, form.extents, short, *kinds
        if key not in self.made:
            self.made[key] = self._make(form, arrays, list(scalars), short)
        return self.made[key]

    def _make(
        self, form: Form, arrays: Sequence[Any], scalars: list[str], short: bool
    ) -> Rows | None:
        # With LLVM's text and mathematics: nothing that a small program needs.
        from dovetail.codegen.eager_rows import Rows
        from dovetail.codegen.formats import computed_in
        from dovetail.codegen.pointwise import KNOWN
        from dovetail.codegen.program import REDUCTIONS
        from dovetail.codegen.row_kernel import Halves

        stored = [None if a is None else a.dtype.name for a in arrays]
        dtypes = [None if d is None else computed_in(d) for d in stored]
        reduced = tuple(d for d, k in enumerate(form.pattern) if k != "k")

        def program(sizes: Dims, inputs: Sequence[str | None] = dtypes) -> Program:
            return self.op.program(
                inputs, form.extents, sizes, reduced, scalars, KNOWN | REDUCTIONS
            )

        try:
            results = []
            if stored != dtypes:
                results = [d for _, d in program(form.sizes, stored).results]
            halves = Halves.of(stored, results)
            return Rows(self.op.op, form.pattern, program, len(scalars), short, halves)
        except DovetailError:
            return None
