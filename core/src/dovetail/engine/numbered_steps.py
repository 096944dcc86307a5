"""The graph of a pointwise op as steps whose values are numbered."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from typing import Any, Final

from dovetail import dtypes
from dovetail.codegen.program import REDUCTIONS, Dims, Number, Program, Step
from dovetail.engine import graph
from dovetail.engine.lower import lower, lower_function
from dovetail.engine.op import Op
from dovetail.errors import NotSupported

_SHAPE: Final = (2,)  # stands for any: nothing depends on it
_SAME: Final = frozenset({"view", "expand", "squeeze", "unsqueeze"})


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


def formula_program_of(
    op: Op, names: Sequence[str | None], attributes: dict[str, Any],
    leaves: Collection[str], numbers: Sequence[str],
) -> Program:  # fmt: skip
    """The steps of what an op writes: a result for each tensor that it writes.

    Args:
        names: dtypes of the tensors, None for those left out.
        numbers: names of the formula's numbers, which are inputs behind the others.

    Raises:
        NotSupported: it is made of more than operations on elements.
    """
    assert op.formula is not None
    first = next(n for n in names if n is not None)
    specs = [None if n is None else _spec(n) for n in names]
    specs += [graph.Spec((), dtypes.by_name(first))] * len(numbers)
    values = partial(_by_name, op.formula.values, numbers, attributes)
    return _Numbered(
        lower_function(op.name, values, specs, frozenset(leaves))
    ).program()


def _by_name(
    values: Any, names: Sequence[str], attributes: dict[str, Any], *given: Any
) -> tuple[Any, ...]:
    """A formula's values, what comes behind the tensors by name."""
    tensors = given[: len(given) - len(names)]
    by_name = dict(zip(names, given[len(tensors) :], strict=True))
    written: tuple[Any, ...] = values(*tensors, **by_name, **attributes)
    return written


def row_program_of(
    op: Op, names: Sequence[str | None], extents: Sequence[Dims], sizes: Dims,
    reduced: Dims, attributes: dict[str, Any], leaves: Collection[str],
    unknown: Sequence[str], *, wide: bool,
) -> Program:  # fmt: skip
    """The steps of an op's body on dims of these sizes, some of which are reduced.

    Whether values are such as the op refuses is for the caller to see.

    Args:
        wide: whether inputs have dims of size 1 for those that they lack.

    Raises:
        NotSupported: it has values of other shapes, or calls what has no elements.
    """
    specs = [
        None if n is None else graph.Spec(_shape(sizes, e, wide), dtypes.by_name(n))
        for n, e in zip(names, extents, strict=True)
    ]
    found = lower(op, specs, attributes, frozenset(leaves), tuple(unknown))
    return _OnDims(found, sizes, reduced).program()


def _shape(sizes: Dims, extent: Dims, wide: bool) -> Dims:
    if wide:
        return tuple(n if d in extent else 1 for d, n in enumerate(sizes))
    return tuple(sizes[d] for d in extent)


class _Numbered:
    """A graph whose values are numbered: its inputs, then the results of its calls."""

    def __init__(self, found: graph.Graph) -> None:
        self.graph = found
        self.at: dict[int, Any] = {}

    def program(self) -> Program:
        """The graph as steps.

        Raises:
            NotSupported: a call writes, or has attributes or several results.
        """
        given = self.graph.inputs
        for place, slot in enumerate(given):
            if slot is not None:
                self.at[slot.number] = place
        steps: list[Step] = []
        for call in self._calls():
            same = self._renamed(call)
            if same is None:
                steps.append(self._step(call))
                same = len(given) + len(steps) - 1
            self.at[call.outputs[0].number] = same
        results = tuple((self._operand(r), _dtype(r)) for r in self.graph.results)
        inputs = tuple(None if s is None else _dtype(s) for s in given)
        extents = tuple(() if s is None else self.extent(s) for s in given)
        return Program(inputs, tuple(steps), results, extents)

    def extent(self, slot: graph.Slot) -> Dims:
        """The dims that a value varies along."""
        return ()

    def _calls(self) -> Sequence[graph.Call]:
        """The calls that make results.

        Raises:
            NotSupported: others make what the op is refused by.
        """
        if self.graph.checks:
            raise NotSupported(
                f"kernel of {self.graph.name}", "body", was="one that is checked",
                needed="operations on elements alone",
            )  # fmt: skip
        return self.graph.calls

    def _renamed(self, call: graph.Call) -> Any:
        """The value that a call gives as it is, if it does no more."""
        return None

    def _may_have(self, call: graph.Call) -> set[str]:
        """The attributes that a call may have beside its operands."""
        return {"dtype", "kind"}

    def _step(self, call: graph.Call) -> Step:
        attributes = call.attrs.keys() - self._may_have(call)
        if call.writes or len(call.outputs) != 1 or attributes:
            raise NotSupported(
                f"kernel of {self.graph.name}", "body", was=f"one that calls {call}",
                needed="operations on elements alone",
            )  # fmt: skip
        operands = tuple(map(self._operand, call.inputs))
        made = call.outputs[0]
        return Step(call.op, operands, _dtype(made), self.extent(made))

    def _operand(self, x: Any) -> Any:
        if isinstance(x, graph.Slot):
            return self.at[x.number]
        if isinstance(x, graph.Number):
            return Number(x.value, x.dtype.name)
        return None


class _OnDims(_Numbered):
    """A graph of values that vary along some dims, or are reduced over others."""

    def __init__(self, found: graph.Graph, sizes: Dims, reduced: Dims) -> None:
        super().__init__(found)
        self.sizes = sizes
        self.reduced = frozenset(reduced)

    def program(self) -> Program:
        found = super().program()
        for slot, (x, _) in zip(self.graph.results, found.results, strict=True):
            if not isinstance(slot, graph.Slot) or found.extent(x) != self.extent(slot):
                raise self._no_program(f"{slot}", "results that vary along their dims")
        return found

    def extent(self, slot: graph.Slot) -> Dims:
        shape = tuple(slot.spec.shape)
        if len(shape) == len(self.sizes):
            found = [d for d, n in enumerate(shape) if n != 1]
        else:  # dims are missing: sizes tell which ones are there
            there = [n for n in shape if n != 1]
            found = [d for d, n in enumerate(self.sizes) if n in there]
            if len(found) != len(there):
                raise self._no_program(str(shape), f"dims of {self.sizes}")
        if [self.sizes[d] for d in found] != [n for n in shape if n != 1]:
            raise self._no_program(str(shape), f"dims of {self.sizes}")
        return tuple(found)

    def _no_program(self, was: str, needed: str) -> NotSupported:
        name = f"kernel of {self.graph.name}"
        return NotSupported(name, "shape", was=was, needed=needed)

    def _calls(self) -> Sequence[graph.Call]:
        needed = {r.number for r in self.graph.results if isinstance(r, graph.Slot)}
        found = []
        for call in reversed(self.graph.calls):
            if any(y.number in needed for y in call.outputs):
                found.append(call)
                needed |= {x.number for x in call.inputs if isinstance(x, graph.Slot)}
        return found[::-1]

    def _renamed(self, call: graph.Call) -> Any:
        made = call.outputs[0]
        if call.op == "full":
            return Number(call.attrs["value"], made.spec.dtype.name)
        if call.op not in _SAME:
            return None
        (x,) = call.inputs
        before, after = self.extent(x), self.extent(made)
        same = before == after or (call.op == "expand" and set(before) < set(after))
        return self.at[x.number] if same else None

    def _may_have(self, call: graph.Call) -> set[str]:
        made = self.extent(call.outputs[0])
        if call.op == "iota" and len(made) == 1:
            return {"n", "kind"}
        if call.op in REDUCTIONS:
            before = set(self.extent(call.inputs[0]))
            if self.reduced <= before and before - self.reduced == set(made):
                return {"dim", "keepdim", "dtype"}
        if call.op == "take_along":
            x, places = map(self.extent, call.inputs)
            gone = set(x) - set(made)
            if len(gone) == 1 and gone <= self.reduced and not gone & set(places):
                return {"dim"}
        return {"dtype", "kind"}


def _dtype(x: Any) -> str:
    found: str = (x.spec if isinstance(x, graph.Slot) else x).dtype.name
    return found
