"""Softmax and norms over the last dims on a device: one launch, a block a row."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np

from dovetail.codegen.eager_rows import Rows
from dovetail.codegen.formats import computed_in
from dovetail.codegen.pointwise import KNOWN
from dovetail.codegen.program import REDUCTIONS, Dims, Place, Program
from dovetail.codegen.row_calls import RowCalls, Serve
from dovetail.codegen.row_kernel import Halves, RowKernel
from dovetail.codegen.row_ops import RowOp
from dovetail.codegen.row_places import LANES
from dovetail.device_api import Kernel, KernelTable
from dovetail.dtypes import FLOAT, HALF, DType, float32
from dovetail.errors import DovetailError
from dovetail_cupy import norms
from dovetail_cupy.launch import Machine

ROW_OPS: Final = frozenset({
    "softmax", "log_softmax", "softmax_backward", "log_softmax_backward", "logsumexp",
    "normalise", "normalise_backward", "layer_norm",
})  # fmt: skip
DTYPES: Final[frozenset[DType]] = FLOAT


def in_front(own: Kernel, machine: Machine) -> Callable[..., Any]:
    """What binds a generated kernel, and asks another one where it does not serve."""

    def bind(**attributes: Any) -> Callable[..., Any]:
        other = own.function(**attributes) if own.binds else own.function
        if attributes and not own.binds:
            other = partial(own.function, **attributes)
        rows = DeviceRowOp(machine, own.op, attributes)

        def kernel(*arrays: Any, **scalars: Any) -> Any:
            y = rows(arrays, scalars)
            return other(*arrays, **scalars) if y is None else y

        return kernel

    return bind


def install_narrow(table: KernelTable, shared: KernelTable, machine: Machine) -> None:
    """Add kernels in 16-bit floats of ops that another table has in float32 alone."""
    for op in sorted(ROW_OPS):
        for dtype in sorted(HALF, key=str):
            if not table.select(op, dtype):
                (own, *_) = shared.select(op, float32)
                through = own._replace(
                    function=_through_float32(own, dtype), binds=True
                )
                if op in norms.OPS:
                    through = norms.behind(through, machine)
                bind = in_front(through, machine)
                table.add(op, bind, dtypes=[dtype], binds=True, checks=own.checks)


def _through_float32(own: Kernel, dtype: DType) -> Callable[..., Any]:
    """The kernel for arrays that are float32 meanwhile, of whose results one is not."""

    def bind(**attributes: Any) -> Callable[..., Any]:
        run = own.function(**attributes) if own.binds else own.function
        given = {} if own.binds else attributes

        def kernel(*arrays: Any, **scalars: Any) -> Any:
            wide = [
                a if a is None else a.astype(float32.name, copy=False) for a in arrays
            ]
            y = run(*wide, **given, **scalars)
            if type(y) is not tuple:
                return y.astype(dtype.numpy)
            return (y[0].astype(dtype.numpy), *y[1:])

        return kernel

    return bind


class DeviceRows(Rows):
    """A program on rows, with its kernel for a machine; see `Rows`."""

    def __init__(self, machine: Machine, *args: Any, **options: Any) -> None:
        self.machine = machine
        super().__init__(*args, **options)

    def calls(self, *args: Any, **options: Any) -> RowCalls:
        return DeviceRowCalls(self, *args, **options)


class DeviceRowCalls(RowCalls):
    """The kernel of a program, called on a device's arrays."""

    of: DeviceRows

    def compiled(self, form: RowKernel, made_of: tuple[Any, ...]) -> Any:
        """What launches the kernel."""
        kernel = form.kernel()
        self.types = [np.dtype(dtype) for _, dtype in kernel.parameters]
        return self.of.machine.launcher(kernel)

    def _serving(self, sizes: Dims, varying: dict[Place, int]) -> Serve:
        words, pieces, _, outs = self._work(sizes)
        launch, empty = self.kernel, self.of.machine.xp.empty
        types = self.types[len(self.types) - len(self.places) :]
        last = [
            _number(varying[p], dtype)
            for p, dtype in zip(self.places, types, strict=True)
        ]

        def serve(given: Sequence[Any], scalars: Sequence[Any]) -> list[Any]:
            made = [empty(shape, dtype) for shape, dtype in outs]
            own = [scalars[i] for i, _ in self.numbers]
            arrays = [*(given[i] for i in self.arrays), *made]
            launch(arrays, [*words, *own, *last], pieces)
            return made

        return serve


def _number(word: int, dtype: np.dtype[Any]) -> Any:
    """The number whose bits a word has."""
    return np.frombuffer((word % 2**64).to_bytes(8, "little"), dtype)[0]


class _Form(NamedTuple):
    """A call as rows and what is in them.

    Attributes:
        sizes: how many rows, and how long they are.
        extents: which of the two dims each operand has.
        shape: of the whole, as the caller has it.
        left: the shape of what is left where rows are reduced.
    """

    sizes: Dims
    extents: tuple[Dims, ...]
    shape: Dims
    left: Dims

    def shaped(self, y: Any) -> Any:
        """A result as the caller has it."""
        return y.reshape(self.shape if y.ndim == 2 else self.left)


class DeviceRowOp:
    """An op with its attributes, made into kernels when first called."""

    def __init__(self, machine: Machine, op: str, attributes: dict[str, Any]) -> None:
        self._machine = machine
        self._op = RowOp(op, attributes)
        self._made: dict[Any, DeviceRows | None] = {}

    def __call__(self, arrays: tuple[Any, ...], scalars: dict[str, Any]) -> Any:
        """The results, None where another kernel has to serve."""
        form = self._form([None if a is None else a.shape for a in arrays])
        if form is None:
            return None
        kinds = [None if a is None else a.dtype.name for a in arrays]
        short = form.sizes[1] < LANES
        key = form.extents, short, *kinds
        if key not in self._made:
            self._made[key] = self._make(form, kinds, list(scalars), short)
        rows = self._made[key]
        try:
            serve = None if rows is None else rows.serving(form.sizes)
        except DovetailError:  # such sizes make another program of it
            return None
        if serve is None:
            return None
        given = [None if a is None else self._machine.in_rows(a) for a in arrays]
        outs = [form.shaped(y) for y in serve(given, list(scalars.values()))]
        return outs[0] if len(outs) == 1 else tuple(outs)

    def _form(self, shapes: Sequence[Dims | None]) -> _Form | None:
        """The form of a call, None where it is no rows of the last dims."""
        there = [s for s in shapes if s is not None]
        shape = np.broadcast_shapes(*there)
        count = self._reduced(shape)
        if not count or not math.prod(shape) or shape != there[0]:
            return None
        kept = len(shape) - count
        extents: list[Dims] = [(0, 1)]
        for s in shapes[1:]:
            extent = () if s is None else _extent(s, shape, kept)
            if extent is None:
                return None
            extents.append(extent)
        left = self._op.left(shape, range(kept, len(shape)))
        sizes = math.prod(shape[:kept]), math.prod(shape[kept:])
        return _Form(sizes, tuple(extents), shape, left)

    def _reduced(self, shape: Dims) -> int:
        """How many of the last dims are reduced; 0 where it is others."""
        ndim, sizes = len(shape), self._op.attributes.get("normalized_shape", ())
        if sizes and shape[ndim - len(sizes) :] != sizes:
            return 0
        dims = self._op.reduced(shape)
        return len(dims) if dims == set(range(ndim - len(dims), ndim)) else 0

    def _make(
        self, form: _Form, stored: list[str | None], scalars: list[str], short: bool
    ) -> DeviceRows | None:
        dtypes = [None if d is None else computed_in(d) for d in stored]

        def program(sizes: Dims, inputs: Sequence[str | None] = dtypes) -> Program:
            return self._op.program(
                inputs, form.extents, sizes, (1,), scalars, KNOWN | REDUCTIONS
            )

        try:
            results = []
            if stored != dtypes:
                results = [d for _, d in program(form.sizes, stored).results]
            halves, name = Halves.of(stored, results), self._op.op
            return DeviceRows(
                self._machine, name, "kr", program, len(scalars), short, halves
            )
        except DovetailError:
            return None


def _extent(shape: Dims, whole: Dims, kept: int) -> Dims | None:
    """Which of the two an operand has, rows and what is in them; None for a part."""
    wide = (1,) * (len(whole) - len(shape)) + shape
    found = []
    for d, dims in enumerate((slice(0, kept), slice(kept, len(whole)))):
        if wide[dims] == whole[dims] and math.prod(wide[dims]) != 1:
            found.append(d)
        elif math.prod(wide[dims]) != 1:
            return None
    return tuple(found)
