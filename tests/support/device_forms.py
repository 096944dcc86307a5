"""The kernels that devices share, in each of their forms."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from dovetail.codegen import (
    attention_rows,
    class_loss_rows,
    pool_forms,
    range_forms,
    reduction_form,
    window_forms,
)
from dovetail.codegen.formats import computed_in, narrowed
from dovetail.codegen.ir import Kernel
from dovetail.codegen.reduction_form import Split, Stored

DTYPES = ("float32", "float64", "float16", "bfloat16")


def device_forms() -> Iterator[Kernel]:
    """All of them, one of a kind where sizes make many."""
    for dtype, choice in product(DTYPES, (False, True)):
        yield attention_rows.weights(dtype, choice)
        yield attention_rows.slopes(dtype, choice)
        yield class_loss_rows.added(dtype, choice)
        yield class_loss_rows.whole_weight(dtype, "int64", choice)
        yield class_loss_rows.used_weights(dtype, "int32", choice)
        yield class_loss_rows.losses(
            dtype, "int64", (True, True, choice, True, choice, not choice)
        )
        yield class_loss_rows.slopes(
            dtype, "int64", (True, True, True, choice, choice, True), choice
        )
        yield pool_forms.greatest(dtype, (2, 3), choice)
    for dtype, dims in product(DTYPES, (1, 2, 3)):
        yield pool_forms.send_back(dtype, dims)
        yield window_forms.lay_out(dims, dtype)
        yield window_forms.add_up(dims, computed_in(dtype), dtype)
    for dtype, spared in product(("int32", "int64"), (0, 1)):
        yield range_forms.any_outside(dtype, spared)
    yield from _reductions()


def _reductions() -> Iterator[Kernel]:
    calls = (((300, 5), (0,)), ((5, 300), (1,)), ((2, 3, 4), (0, 2)), ((7,), (0,)))
    for dtype, (sizes, dims), lanes in product(DTYPES, calls, (1, 1 << 14)):
        steps = tuple([_step(sizes, d) for d in range(len(sizes))])
        wide = computed_in(dtype)
        work = reduction_form.work(
            "add", [dtype], wide, dtype, sizes, [steps], dims, Split(lanes, 64)
        )
        stored = Stored(lambda y, work=work: narrowed(y, work.shape.result))
        yield reduction_form.form(work.shape, wide, lambda x: x, stored)


def _step(sizes: tuple[int, ...], dim: int) -> int:
    step = 1
    for n in sizes[dim + 1 :]:
        step *= n
    return step
