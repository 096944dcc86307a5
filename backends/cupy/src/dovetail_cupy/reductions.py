"""Sums and extremes of 16-bit floats, and sums of what elements make on the way.

One launch, or two where there are few results. 16-bit floats are added in float32, and
rounded once; those of other dtypes, and rows of many results, CuPy reduces in one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from dovetail.codegen import reduction_form
from dovetail.codegen.accumulation import Combine
from dovetail.codegen.formats import computed_in, narrowed
from dovetail.codegen.ir import Kernel
from dovetail.codegen.reduction_form import Shape, Work
from dovetail.codegen.values import Term, cast
from dovetail.device_api import KernelTable
from dovetail.dtypes import FLOAT, HALF, DType, by_name, float64
from dovetail_cupy.launch import Launch, Machine

Dims = tuple[int, ...]
Element = Callable[..., Term]
_REMEMBERED: Final = 512  # ways in which operands lie
_TOO_LONG: Final = 1 << 31
_SIDE_BY_SIDE: Final = 32  # columns that a warp reads at once
_FEW: Final = 256  # results, each of which has a warp or more


def install(table: KernelTable, machine: Machine) -> None:
    """Put them before those of a table."""
    reduce = Reductions(machine)
    for op, kernel in (
        ("sum", _sum), ("amax", partial(_extreme, "maximum")),
        ("amin", partial(_extreme, "minimum")),
    ):  # fmt: skip
        table.add(
            op, partial(kernel, reduce), dtypes=HALF, rank=1, when=_pays,
            reads=("shape", "dim", *(("dtype",) if op == "sum" else ())),
        )  # fmt: skip
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
    known = getattr(facts, "dtype", None) in (None, *FLOAT)
    return known and _are_some(shape) and (by_columns or few)


def _sum(
    reduce: Reductions, a: Any, dim: Any, keepdim: bool, dtype: DType | None
) -> Any:
    result = a.dtype if dtype is None else dtype.numpy
    return reduce("add", [a], a.shape, _dims(dim, a.ndim), keepdim, result)


def _extreme(
    combine: Combine, reduce: Reductions, a: Any, dim: Any, keepdim: bool
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
        self._ways: dict[Any, list[tuple[Dims, Any, Launch, Work]]] = {}
        self._launches: dict[Any, Launch] = {}

    def __call__(
        self, combine: Combine, arrays: Sequence[Any], shape: Dims, dims: Dims,
        keepdim: bool, result: Any, element: Element = _itself,
    ) -> Any:  # fmt: skip
        """The elements over some dims as one.

        Args:
            arrays: all of one shape, none of which is empty.
            result: the dtype, of NumPy.
            element: what is gathered of one number of each array.
        """
        key = (
            combine, shape, dims, result, element,
            *[(a.dtype, a.strides) for a in arrays],
        )  # fmt: skip
        way = self._ways.get(key)
        if way is None:
            if len(self._ways) >= _REMEMBERED:
                self._ways.clear()
            way = self._way(combine, arrays, shape, dims, result, element)
            self._ways[key] = way
        for size, dtype, launch, work in way:
            made = self._machine.empty(size, dtype)
            launch([*arrays, made], work.numbers, work.lanes)
            arrays = [made]
        if not keepdim:
            return arrays[0]
        return arrays[0].reshape(
            tuple([1 if d in dims else n for d, n in enumerate(shape)])
        )

    def _way(
        self, combine: Combine, arrays: Sequence[Any], shape: Dims, dims: Dims,
        result: Any, element: Element,
    ) -> list[tuple[Dims, Any, Launch, Work]]:  # fmt: skip
        """The launches, with the shape and the dtype of what each of them makes."""
        names = [a.dtype.name for a in arrays]
        wide = _wide([*names, result.name])
        strides = [tuple([s // a.itemsize for s in a.strides]) for a in arrays]
        left = tuple([n for d, n in enumerate(shape) if d not in dims])
        found = []
        while True:
            work = reduction_form.work(
                combine, names, wide, result.name, shape, strides, dims
            )
            launch = self._launch(work.shape, wide, element)
            if work.parts == 1:
                return [*found, (left, result, launch, work)]
            shape, dims = (*left, work.parts), (len(left),)
            found.append((shape, by_name(wide).numpy, launch, work))
            steps = [math.prod(shape[d + 1 :]) for d in range(len(shape))]
            names, strides, element = [wide], [tuple(steps)], _itself

    def _launch(self, shape: Shape, wide: str, element: Element) -> Launch:
        key = shape, wide, element
        found = self._launches.get(key)
        if found is None:
            kernel = _kernel(shape, wide, element)
            found = self._launches[key] = self._machine.launcher(kernel)
        return found


def _wide(names: Sequence[str]) -> str:
    """What numbers of these dtypes are gathered in."""
    return float64.name if float64.name in names else computed_in(names[0])


def _kernel(shape: Shape, wide: str, element: Element) -> Kernel:
    def gathered(*read: Term) -> Term:
        return element(*[cast(x, wide) for x in read])

    def stored(y: Term) -> Term:
        return narrowed(cast(y, computed_in(shape.result)), shape.result)

    form = reduction_form.form(shape, wide, gathered, stored)
    name = f"{shape.combine}_over_dims_{shape.sources[0]}"
    return replace(form, name=name)
