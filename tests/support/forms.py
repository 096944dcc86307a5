"""The generated kernels of the vocabulary, as loops."""

from __future__ import annotations

from typing import Any

from dovetail.codegen import pointwise
from dovetail.codegen.declarations import vocabularies
from dovetail.codegen.ir import FIRST, LAST, Buffer, Kernel, Loop, Store
from dovetail.codegen.pointwise import KNOWN
from dovetail.codegen.program import Program
from dovetail.codegen.row_kernel import RowKernel
from dovetail.codegen.values import index, load, parameter
from dovetail.errors import DovetailError


def pointwise_forms(dtype: str) -> list[Kernel]:
    """A kernel of each pointwise op that has one of operands of one dtype alone."""
    import dovetail  # noqa: F401  (which declares the ops)
    from dovetail.engine.op import vocabulary

    forms = []
    for name in vocabularies[0].pointwise():
        op = vocabulary[name]
        dtypes = [dtype] * len(op.tensors)
        try:
            program = vocabularies[0].program(name, dtypes, {}, op.scalars, KNOWN)
            forms.append(_flat(name, program, len(op.scalars)))
        except DovetailError:  # an op of other dtypes, or one that has no kernel yet
            continue
    return forms


def _flat(name: str, program: Program, scalars: int) -> Kernel:
    """The kernel of operands that lie in one run."""
    words = [(f"scalar{i}", str(d)) for i, d in enumerate(program.inputs[-scalars:])]
    words = words if scalars else []
    i = index("i")
    sources = [
        Buffer(f"x{k}", str(d))
        for k, d in enumerate(program.inputs[: len(program.inputs) - scalars])
    ]
    given = [load(x, i) for x in sources] + [parameter(n, d) for n, d in words]
    (y,) = pointwise.results(program, given)
    out = Buffer("y", y.dtype, written=True)
    loop = Loop("lane", i.value, FIRST, LAST, (Store(out, i.value, y.value),))
    return Kernel(f"{name}_{program.inputs[0]}", (*sources, out), tuple(words), (loop,))


def row_form(op: str, dtype: str, lanes: int, **attributes: Any) -> Kernel:
    """The kernel of an op that reduces rows of one tensor."""
    import dovetail  # noqa: F401

    program = vocabularies[0].row_program(
        op, [dtype], [(0, 1)], (1_000_003, lanes), (1,), attributes, (), KNOWN
    )
    return RowKernel(f"{op}_{dtype}", program, "kr").kernel()
