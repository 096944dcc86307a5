"""The generated kernels of the vocabulary, as loops: none of them is compiled."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from dovetail.codegen import pointwise
from dovetail.codegen.declarations import vocabularies
from dovetail.codegen.ir import FIRST, LAST, Buffer, Kernel, Loop, Store
from dovetail.codegen.pointwise import KNOWN
from dovetail.codegen.program import Program
from dovetail.codegen.row_kernel import RowKernel
from dovetail.codegen.values import index, load, parameter
from dovetail.errors import DovetailError, NotSupported
from tests.support import child

CASES = 12  # of an op, in which its kernels are looked for


def every_form(folder: Path) -> list[Kernel]:
    """Each kernel that some sample call of some op on the CPU asks for."""
    found = folder / "forms"
    root = Path(__file__).parents[2]
    child.python("-m", __name__, found, path=[root], cwd=root, DOVETAIL_KERNELS="1")
    forms: list[Kernel] = pickle.loads(found.read_bytes())
    return forms


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


def main() -> None:
    """Write the forms to the file that is named."""
    from dovetail.codegen import eager, eager_rows

    forms: dict[str, Kernel] = {}

    def render(form: Kernel, *_: Any) -> str:
        forms.setdefault(str(form), form)
        raise NotSupported("kernel", was="looked at", needed="nothing else")

    eager.render = eager_rows.render = render  # type: ignore[assignment]
    for call in _calls():
        try:
            call()
        except DovetailError:  # ops that refuse a call need no kernel for it
            continue
    Path(sys.argv[1]).write_bytes(pickle.dumps(list(forms.values())))


def _calls() -> Iterator[Any]:
    """Sample calls of all ops in both formats."""
    import dovetail as dt
    from dovetail.conformance.subject import Subject, needs_kind
    from dovetail.engine.cases import cases_of
    from dovetail.engine.op import declared

    subject = Subject("cpu")
    for op in declared():
        if op.cases is None and not op.is_elementwise:
            continue  # it makes tensors, and has no sample calls
        for dtype in {dt.float32, dt.float64} & op.accepts:
            for case in islice(cases_of(op, dtype), CASES):
                if not needs_kind(op, case):
                    args = [subject.argument(x, "contiguous") for x in case.args]
                    kwargs = {
                        name: subject.argument(x, "contiguous")
                        for name, x in case.kwargs.items()
                    }
                    yield lambda op=op, a=args, k=kwargs: subject.call(op, a, k)


if __name__ == "__main__":
    main()
