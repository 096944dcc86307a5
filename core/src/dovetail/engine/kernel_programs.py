"""The bodies of pointwise ops, as those who generate kernels take them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from dovetail.codegen.declarations import Declarations, vocabularies
from dovetail.dtypes import float32, float64
from dovetail.engine.op import Op, vocabulary
from dovetail.engine.parameters import REQUIRED, parameters_of

if TYPE_CHECKING:
    from dovetail.codegen.program import Dims, Program


class Bodies(Declarations):
    """The vocabulary's bodies, lowered to level 0 on the meta device."""

    def pointwise(self) -> Mapping[str, int]:
        """Ops on elements that have one result."""
        found = {n: op for n, op in vocabulary.items() if _is_pointwise(op)}
        return {n: _tensors_alone(op) for n, op in found.items()}

    def bodies(self) -> Mapping[str, tuple[int, tuple[str, ...]]]:
        """Ops of tensors of one dtype with a body, and a gradient of their own."""
        return {
            n: (len(op.tensors), tuple(op.scalars)) for n, op in vocabulary.items()
            if _is_pointwise(op) and _is_plain(op) and not op.by_body
        }  # fmt: skip

    def takes(
        self, op: str
    ) -> tuple[tuple[bool, ...], tuple[str, ...], tuple[str, ...]]:
        """An op's parameters."""
        found = vocabulary[op]
        names = tuple(p.name for p in found.statics)
        return tuple(p.optional for p in found.tensors), names, tuple(found.scalars)

    def program(
        self, op: str, dtypes: Sequence[str | None], attributes: dict[str, Any],
        scalars: Sequence[str], known: Collection[str],
    ) -> Program:  # fmt: skip
        """The graph of an op's body, its slots numbered in order."""
        # With graphs and LLVM: few programs get this far.
        from dovetail.engine.numbered_steps import program_of

        given = attributes | dict.fromkeys(scalars, 1)
        return program_of(vocabulary[op], dtypes, given, known, scalars)

    def row_program(
        self, op: str, dtypes: Sequence[str | None], extents: Sequence[Dims],
        sizes: Dims, reduced: Dims, attributes: dict[str, Any],
        scalars: Sequence[str], known: Collection[str], *, wide: bool = True,
    ) -> Program:  # fmt: skip
        """The graph of a body on dims of these sizes."""
        from dovetail.engine.numbered_steps import row_program_of

        given = attributes | dict.fromkeys(scalars, 1)
        found = vocabulary[op]
        return row_program_of(
            found, dtypes, extents, sizes, reduced, given, known, scalars, wide=wide
        )

    def numbers(self, op: str, given: dict[str, Any]) -> dict[str, Any]:
        """What the op's formula makes of the numbers that it names."""
        formula = vocabulary[op].formula
        assert formula is not None
        names = _names_of(formula.numbers)
        return formula.numbers(**{name: given[name] for name in names})

    def in_place_program(
        self, op: str, dtypes: Sequence[str | None], attributes: dict[str, Any],
        numbers: Sequence[str], known: Collection[str],
    ) -> tuple[Program, tuple[int, ...]]:  # fmt: skip
        """The graph of an op's formula, its slots numbered in order."""
        # With graphs and LLVM: few programs get this far.
        from dovetail.engine.numbered_steps import formula_program_of

        found = vocabulary[op]
        written = tuple(
            i for i, p in enumerate(found.tensors)
            if p.name in found.mutates and dtypes[i] is not None
        )  # fmt: skip
        program = formula_program_of(found, dtypes, attributes, known, numbers)
        return program, written


@cache
def _names_of(function: Callable[..., Any]) -> list[str]:
    return [name for name, _, _ in parameters_of(function)]


def _is_pointwise(op: Op) -> bool:
    moves = op.view or op.memory or op.mutates or op.draws or op.unspecified
    return (
        op.is_elementwise and len(op.outputs) == 1 and not moves
        and op.check is None and not op.has_list and "kind" not in op.names
    )  # fmt: skip


def _tensors_alone(op: Op) -> int:
    """How many tensors a call always has, if it has nothing else that varies."""
    optional = any(p.default is not REQUIRED for p in op.tensors)
    return 0 if optional or op.scalars else len(op.tensors)


def _is_plain(op: Op) -> bool:
    """Whether an op takes tensors of one dtype."""
    alike = op.promote in ("same", "float") and not op.masks and not op.indices
    floats = frozenset({float32, float64})
    alike = alike and floats <= op.accepts and not floats & op.primitive
    return alike and all(p.role == "tensor" for p in op.tensors)


vocabularies.append(Bodies())
