"""What an op computes, as elementary steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

Dims = tuple[int, ...]

KEPT, REDUCED, SPLIT, ABSENT = "k", "r", "s", "-"
"""What becomes of a dim: it stays; it is reduced; it is reduced in parts, each to a
result of its own; it is not there."""
REDUCTIONS: Final = frozenset({"sum", "amax", "prod"})
"""Steps that make one value of many."""


class Number(NamedTuple):
    """A number of a dtype among operands."""

    value: Any
    dtype: str


class Step(NamedTuple):
    """One elementary operation, or a reduction of all dims that are reduced.

    Attributes:
        op: its name, as the vocabulary has it.
        operands: numbers of values, or `Number`s; None for what was left out.
        dtype: of the result.
        extent: the dims that the result varies along, in a program on dims.
    """

    op: str
    operands: tuple[Any, ...]
    dtype: str
    extent: Dims = ()


class Program(NamedTuple):
    """Steps in order; inputs are the first values, then each step makes one.

    Attributes:
        inputs: a dtype each, None for an input that was left out.
        results: numbers of values, or `Number`s, each with its dtype.
        extents: the dims that each input varies along, in a program on dims.
    """

    inputs: tuple[str | None, ...]
    steps: tuple[Step, ...]
    results: tuple[tuple[Any, str], ...]
    extents: tuple[Dims, ...] = ()

    def step(self, at: int) -> Step | None:
        """The step that makes a value; None for an input."""
        at -= len(self.inputs)
        return None if at < 0 else self.steps[at]

    def extent(self, x: Any) -> Dims:
        """The dims that a value varies along."""
        if isinstance(x, Number):
            return ()
        step = self.step(x)
        return self.extents[x] if step is None else step.extent

    def reductions(self) -> tuple[int, ...]:
        """The values that reductions make."""
        first = len(self.inputs)
        return tuple(i for i, s in enumerate(self.steps, first) if s.op in REDUCTIONS)

    def stages(self) -> list[list[int]]:
        """The reductions; those of a stage need none of the same or of later ones."""
        depth: dict[int, int] = {}
        found: list[list[int]] = []
        for at, step in enumerate(self.steps, len(self.inputs)):
            given = [x for x in step.operands if isinstance(x, int)]
            depth[at] = max([depth.get(x, 0) for x in given], default=0)
            if step.op in REDUCTIONS:
                depth[at] += 1
                if len(found) < depth[at]:
                    found.append([])
                found[depth[at] - 1].append(at)
        return found


Place = tuple[int, int]
"""Of a number in a program: the step, and which operand of it."""


def part_of(
    program: Program, wanted: Sequence[int], given: Sequence[int], scalars: int,
    places: Sequence[Place],
) -> tuple[Program, tuple[Place | None, ...]]:  # fmt: skip
    """What makes some values of a program, of others that are there.

    These are inputs behind the arrays, before the last `scalars` inputs. Inputs that
    nothing needs are left out.

    Args:
        places: of numbers, for which those in the part are asked; None where it has
            not got them.
    """
    first, arrays = len(program.inputs), len(program.inputs) - scalars
    needed: set[int] = set()
    open_ = [x for x in wanted if x not in given]
    while open_:
        at = open_.pop()
        if at in needed:
            continue
        needed.add(at)
        step = program.step(at)
        operands = () if step is None or at in given else step.operands
        open_ += [x for x in operands if isinstance(x, int)]
    inputs = [d if i in needed else None for i, d in enumerate(program.inputs)]
    more = [_dtype(program, x) if x in needed else None for x in given]
    number = {i: i if i < arrays else i + len(given) for i in range(first)}
    number |= {x: arrays + i for i, x in enumerate(given)}
    steps: list[Step] = []
    moved: dict[int, int] = {}
    for at, step in enumerate(program.steps, first):
        if at in needed and at not in given:
            number[at] = first + len(given) + len(steps)
            moved[at - first] = len(steps)
            operands = tuple(
                number[x] if isinstance(x, int) else x for x in step.operands
            )
            steps.append(step._replace(operands=operands))
    part = Program(
        (*inputs[:arrays], *more, *inputs[arrays:]),
        tuple(steps),
        tuple((number[x], _dtype(program, x)) for x in wanted),
        (
            *program.extents[:arrays],
            *map(program.extent, given),
            *program.extents[arrays:],
        ),
    )
    return part, tuple((moved[s], o) if s in moved else None for s, o in places)


def _dtype(program: Program, x: int) -> str:
    step = program.step(x)
    return str(program.inputs[x]) if step is None else step.dtype
