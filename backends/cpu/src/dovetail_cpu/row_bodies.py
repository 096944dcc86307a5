"""Generated reductions where there is no other kernel: bodies serve small calls."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from dovetail.codegen.declarations import vocabularies
from dovetail.codegen.row_ops import NAMED
from dovetail.device_api import Facts, KernelTable
from dovetail.dtypes import HALF, DType, float32, float64
from dovetail.errors import NotSupported
from dovetail_cpu.generated_rows import SHORTEST, Generated, dtypes_of

_FLOATS: Final = HALF | {float32, float64}


def add_bodies(table: KernelTable, least_of: Callable[[str], int]) -> None:
    """Kernels of large calls where there is none: bodies serve the small.

    Args:
        least_of: from how many elements on an op is served.
    """
    for op in NAMED if vocabularies else ():
        optional, names, scalars = vocabularies[0].takes(op)
        for dtype in sorted(dtypes_of(op) & _FLOATS, key=str):
            if not table.select(op, dtype):
                table.add(
                    op, _alone(op), dtypes=[dtype], binds=True, broadcasts=True,
                    when=_if_large(op, dtype, least_of(op), optional, names, scalars),
                    reads=("shape", "contiguous", *names),
                )  # fmt: skip


def _alone(op: str) -> Callable[..., Any]:
    """What binds a kernel that no other one stands behind."""

    def bound(**attributes: Any) -> Any:
        large = Generated(op, attributes, SHORTEST, careful=False)

        def kernel(*arrays: Any, **scalars: Any) -> Any:
            y = large(arrays, scalars)
            if y is None:
                raise NotSupported(f"kernel of {op}", was="asked for", needed="a body")
            return y

        return kernel

    return bound


def _if_large(
    op: str, dtype: DType, least: int, optional: Sequence[bool],
    names: tuple[str, ...], scalars: tuple[str, ...],
) -> Callable[[Facts], bool]:  # fmt: skip
    """Whether a call is large enough, and one that a kernel can be made of."""

    def large(facts: Facts) -> bool:
        if all(math.prod(shape) < least for shape in facts.shape):
            return False
        found = Generated(op, {n: getattr(facts, n) for n in names}, SHORTEST)
        there = _present(optional, len(facts.shape))
        shapes = iter(facts.shape)
        form = found.form([next(shapes) if here else () for here in there])
        some = np.empty(0, dtype.numpy)
        arrays = [some if here else None for here in there]
        return (
            form is not None and all(facts.contiguous)
            and found.rows_for(form, arrays, scalars) is not None
        )  # fmt: skip

    return large


def _present(optional: Sequence[bool], count: int) -> list[bool]:
    """Which of an op's tensors there are: of those that may be absent, the first."""
    spare = count - sum(not o for o in optional)
    found = []
    for may_be_absent in optional:
        found.append(not may_be_absent or spare > 0)
        spare -= may_be_absent
    return found
