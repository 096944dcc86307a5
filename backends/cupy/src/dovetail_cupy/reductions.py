"""Sums and extremes of 16-bit floats, and sums of what elements make on the way.

One launch, or two where there are few results. 16-bit floats are added in float32, and
rounded once; those of other dtypes, and rows of many results, CuPy reduces in one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, NamedTuple

from dovetail.codegen import reduction_form
from dovetail.codegen.accumulation import Combine
from dovetail.codegen.formats import computed_in, narrowed
from dovetail.codegen.ir import Kernel
from dovetail.codegen.reduction_form import Shape, Split, Stored, Work
from dovetail.codegen.values import Term, apply, cast, parameter
from dovetail.device_api import KernelTable
from dovetail.device_api.meta import contiguous_strides
from dovetail.dtypes import FLOAT, HALF, DType, by_name, float64
from dovetail_cupy.launch import Launch, Machine, steps

Dims = tuple[int, ...]
Element = Callable[..., Term]
_REMEMBERED: Final = 512  # ways in which operands lie
_SPLIT: Final = Split(lanes=1 << 17, whole=256)
_TOO_LONG: Final = 1 << 31
_SIDE_BY_SIDE: Final = 32  # columns that a warp reads at once
_FEW: Final = 256  # results, each of which has a warp or more


def install(table: KernelTable, machine: Machine) -> None:
    """Put them before those of a table."""
    reduce = Reductions(machine)
    own: dict[str, Any] = {"dtypes": HALF, "rank": 1}
    table.add(
        "sum", partial(_sum, reduce), **own, when=_sums_to_floats,
        reads=("shape", "dim", "dtype"),
    )  # fmt: skip
    for op, combine in (("amax", "maximum"), ("amin", "minimum")):
        kernel = partial(_extreme, reduce, combine)
        table.add(op, kernel, **own, when=_pays, reads=("shape", "dim"))
    table.add(
        "normalise_weight_backward", partial(_of_scales, reduce), dtypes=FLOAT, rank=1,
        when=lambda facts: _are_some(facts.shape[0]), reads=("shape",),
    )  # fmt: skip


def _are_some(shape: Dims) -> bool:
    """Whether there are elements, and no more than 32 bits count."""
    return 0 < math.prod(shape) < _TOO_LONG


def _pays(facts: Any) -> bool:
    """Whether neighbouring threads read what lies side by side."""
    (shape, *_), dims = facts.shape, _dims(facts.dim, len(facts.shape[0]))
    kept = [n for d, n in enumerate(shape) if d not in dims]
    by_columns = (
        bool(shape) and len(shape) - 1 not in dims and shape[-1] >= _SIDE_BY_SIDE
    )
    few = math.prod(kept) <= _FEW
    return _are_some(shape) and (by_columns or few)


def _sums_to_floats(facts: Any) -> bool:
    return facts.dtype in (None, *FLOAT) and _pays(facts)


def _sum(
    reduce: Reductions, a: Any, dim: Any, keepdim: bool, dtype: DType | None
) -> Any:
    result = a.dtype if dtype is None else dtype.numpy
    return reduce("add", [a], a.shape, _dims(dim, a.ndim), keepdim, result)


def _extreme(
    reduce: Reductions, combine: Combine, a: Any, dim: Any, keepdim: bool
) -> Any:
    return reduce(combine, [a], a.shape, _dims(dim, a.ndim), keepdim, a.dtype)


def _of_scales(
    reduce: Reductions, ct: Any, x: Any, mean: Any, rstd: Any, weight_shape: Dims
) -> Any:
    """The gradient of the weight of `normalise`, made of its operands on the way."""
    wide = (1,) * (x.ndim - len(weight_shape)) + tuple(weight_shape)
    dims = tuple([d for d, n in enumerate(wide) if n == 1])
    spread = [reduce.xp.broadcast_to(a, x.shape) for a in (ct, x, mean, rstd)]
    y = reduce("add", spread, x.shape, dims, True, ct.dtype, _scaled)
    return y.reshape(weight_shape)


def _scaled(ct: Term, x: Term, mean: Term, rstd: Term) -> Term:
    return ct * ((x - mean) * rstd)


def _itself(x: Term) -> Term:
    return x


def _dims(dim: Any, ndim: int) -> Dims:
    """The dims that are reduced: all where none is named."""
    if isinstance(dim, int):
        dim = (dim,)
    if not dim or not ndim:
        return tuple(range(ndim))
    return tuple(sorted({d % ndim for d in dim}))


class Reductions:
    """Gathers elements that are made of those of arrays, which lie in any way.

    Attributes:
        xp: the library.
    """

    def __init__(self, machine: Machine) -> None:
        self.xp = machine.xp
        self._machine = machine
        self._ways: dict[Any, list[_Stage]] = {}
        self._launches: dict[Any, Launch] = {}

    def __call__(
        self, combine: Combine, arrays: Sequence[Any], shape: Dims, dims: Dims,
        keepdim: bool, result: Any, element: Element = _itself, share: int = 0,
    ) -> Any:  # fmt: skip
        """The elements over some dims as one.

        Args:
            arrays: all of one shape, none of which is empty.
            result: the dtype, of NumPy.
            element: what is gathered of one number of each array.
            share: what a result is divided by, but 0.
        """
        key = (
            combine, shape, dims, result, element, bool(share),
            *[(a.dtype, a.strides) for a in arrays],
        )  # fmt: skip
        stages = self._ways.get(key)
        if stages is None:
            if len(self._ways) >= _REMEMBERED:
                self._ways.clear()
            stages = self._stages(combine, arrays, shape, dims, result, element, share)
            self._ways[key] = stages
        for work, dtype, launch in stages:
            made = self._machine.empty(work.made, dtype)
            last = work is stages[-1].work
            numbers = [*work.numbers, share] if share and last else work.numbers
            launch([*arrays, made], numbers, work.lanes)
            arrays = [made]
        if not keepdim:
            return made
        return made.reshape(tuple([1 if d in dims else n for d, n in enumerate(shape)]))

    def _stages(
        self, combine: Combine, arrays: Sequence[Any], shape: Dims, dims: Dims,
        result: Any, element: Element, share: int,
    ) -> list[_Stage]:  # fmt: skip
        names = [a.dtype.name for a in arrays]
        wide = _wide([*names, result.name])
        strides = [steps(a) for a in arrays]
        found: list[_Stage] = []
        while True:
            work = reduction_form.work(
                combine, names, wide, result.name, shape, strides, dims, _SPLIT
            )
            ends = work.parts == 1
            launch = self._launch(work.shape, wide, element, ends and bool(share))
            dtype = result if ends else by_name(wide).numpy
            found.append(_Stage(work, dtype, launch))
            if ends:
                return found
            shape, dims, element = work.made, (work.left,), _itself
            names, strides = [wide], [contiguous_strides(shape)]

    def _launch(
        self, shape: Shape, wide: str, element: Element, shares: bool
    ) -> Launch:
        key = shape, wide, element, shares
        found = self._launches.get(key)
        if found is None:
            kernel = _kernel(shape, wide, element, shares)
            found = self._launches[key] = self._machine.launcher(kernel)
        return found


class _Stage(NamedTuple):
    """A launch, and the dtype of what it makes."""

    work: Work
    dtype: Any
    launch: Launch


def _wide(names: Sequence[str]) -> str:
    """What numbers of these dtypes are gathered in."""
    return float64.name if float64.name in names else computed_in(names[0])


def _kernel(shape: Shape, wide: str, element: Element, shares: bool) -> Kernel:
    def gathered(*read: Term) -> Term:
        return element(*[cast(x, wide) for x in read])

    def stored(y: Term) -> Term:
        y = apply("div", y, cast(parameter("share"), wide)) if shares else y
        return narrowed(cast(y, computed_in(shape.result)), shape.result)

    numbers = (("share", "int64"),) if shares else ()
    form = reduction_form.form(shape, wide, gathered, Stored(stored, numbers))
    return replace(form, name=f"{shape.combine}_over_dims_{shape.sources[0]}")
