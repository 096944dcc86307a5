"""The graph of a pointwise op as steps whose values are numbered."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final

from dovetail import dtypes
from dovetail.codegen.program import Number, Program, Step
from dovetail.engine import graph
from dovetail.engine.lower import lower
from dovetail.engine.op import Op
from dovetail.errors import NotSupported

_SHAPE: Final = (2,)  # stands for any: nothing depends on it


def program_of(
    op: Op, names: Sequence[str | None], attributes: dict[str, Any],
    leaves: Collection[str], unknown: Sequence[str],
) -> Program:  # fmt: skip
    """The steps of an op's body, down to primitives and `leaves`.

    Args:
        names: dtypes of the inputs, None for those left out.
        unknown: scalars that are inputs behind the others.

    Raises:
        NotSupported: a call writes, or has attributes or several results.
    """
    specs = [None if n is None else _spec(n) for n in names]
    found = lower(op, specs, attributes, frozenset(leaves), tuple(unknown))
    return _Numbered(found).program()


def _spec(name: str) -> graph.Spec:
    return graph.Spec(_SHAPE, dtypes.by_name(name))


class _Numbered:
    """A graph whose values are numbered: its inputs, then the results of its calls."""

    def __init__(self, found: graph.Graph) -> None:
        self.graph = found
        self.at: dict[int, int] = {}

    def program(self) -> Program:
        """The graph as steps.

        Raises:
            NotSupported: a call writes, or has attributes or several results.
        """
        given = self.graph.inputs
        for place, slot in enumerate(given):
            if slot is not None:
                self.at[slot.number] = place
        steps = []
        for place, call in enumerate(self.graph.calls, len(given)):
            steps.append(self._step(call))
            self.at[call.outputs[0].number] = place
        results = tuple((self._operand(r), _dtype(r)) for r in self.graph.results)
        inputs = tuple(None if s is None else _dtype(s) for s in given)
        return Program(inputs, tuple(steps), results)

    def _step(self, call: graph.Call) -> Step:
        attributes = call.attrs.keys() - {"dtype", "kind"}
        if call.writes or len(call.outputs) != 1 or attributes or self.graph.checks:
            raise NotSupported(
                f"kernel of {self.graph.name}", "body", was=f"one that calls {call}",
                needed="operations on elements alone",
            )  # fmt: skip
        operands = tuple(map(self._operand, call.inputs))
        return Step(call.op, operands, _dtype(call.outputs[0]))

    def _operand(self, x: Any) -> Any:
        if isinstance(x, graph.Slot):
            return self.at[x.number]
        if isinstance(x, graph.Number):
            return Number(x.value, x.dtype.name)
        return None


def _dtype(x: Any) -> str:
    found: str = (x.spec if isinstance(x, graph.Slot) else x).dtype.name
    return found
