"""Ops that reduce dims: which these are at a call, and what is computed on them.

What serves them sees operands whose dims, where they are alike, are one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from dovetail.codegen.declarations import vocabularies

if TYPE_CHECKING:
    from dovetail.codegen.program import Program

Dims = tuple[int, ...]

NAMED: Final[dict[str, str]] = {
    **dict.fromkeys(("sum", "mean", "prod", "amax", "amin", "var", "std"), "dim"),
    **dict.fromkeys(("vector_norm", "count_nonzero", "any", "all"), "dim"),
    **dict.fromkeys(("softmax", "log_softmax", "logsumexp"), "dim"),
    **dict.fromkeys(("softmax_backward", "log_softmax_backward"), "dim"),
    **dict.fromkeys(("normalise", "normalise_backward", "rms_norm"), "dims"),
    "normalise_weight_backward": "weight_shape",
    "layer_norm": "normalized_shape",
}
"""The attribute of an op that names the dims which are reduced; or has the sizes of the
last, or the shape that is left."""
_OF_ONE_DIM: Final = frozenset({"prod"})  # or all of them, which are one then


class RowOp:
    """An op that reduces dims, with the attributes of a call."""

    def __init__(self, op: str, attributes: Mapping[str, Any]) -> None:
        self.op = op
        self.attributes = attributes
        self.named = NAMED[op]

    def reduced(self, shape: Dims) -> set[int]:
        """The dims of a shape that are reduced; none where that is no reduction."""
        found, ndim = self.attributes[self.named], len(shape)
        if self.named == "normalized_shape":
            return set(range(ndim - len(found), ndim))
        if self.named == "weight_shape":
            wide = (1,) * (ndim - len(found)) + tuple(found)
            return {d for d, n in enumerate(shape) if wide[d] != n}
        if isinstance(found, int):
            return {found % ndim} if ndim else set()
        if found == () and self.op in ("any", "all"):
            return set()
        return {d % ndim for d in found} if found else set(range(ndim))

    def left(self, shape: Dims, reduced: Collection[int]) -> Dims:
        """The shape that is left of it."""
        if self.named == "weight_shape":
            return tuple(self.attributes["weight_shape"])
        if self.attributes.get("keepdim", self.named != "dim"):
            return tuple([1 if d in reduced else n for d, n in enumerate(shape)])
        return tuple([n for d, n in enumerate(shape) if d not in reduced])

    def program(
        self, inputs: Sequence[str | None], extents: Sequence[Dims], sizes: Dims,
        reduced: Dims, scalars: Sequence[str], known: Collection[str],
    ) -> Program:  # fmt: skip
        """What is computed where operands have these dims of these sizes.

        Args:
            known: the steps and reductions that kernels know.

        Raises:
            NotSupported: it is no program of steps and reductions.
        """
        op, count = self.op, None
        if op == "layer_norm":  # is the first result of one that names the dims
            op, count = "normalise", 1
        found = vocabularies[0].row_program(
            op,
            inputs,
            extents,
            sizes,
            reduced,
            self._given(sizes, reduced),
            scalars,
            known,
        )
        return found._replace(results=found.results[:count])

    def _given(self, sizes: Dims, reduced: Dims) -> dict[str, Any]:
        """The op's attributes, for dims of these sizes."""
        given = dict(self.attributes)
        if "keepdim" in given:
            given["keepdim"] = True
        found = given.pop(self.named)
        if self.named == "weight_shape":
            shape = [1 if d in reduced else n for d, n in enumerate(sizes)]
            return given | {"weight_shape": tuple(shape)}
        if self.named == "normalized_shape":
            return given | {"dims": reduced}
        single = isinstance(found, int) or self.op in _OF_ONE_DIM
        return given | {self.named: reduced[0] if single else reduced}


class Merged(NamedTuple):
    """Dims side by side that are alike, as one.

    Attributes:
        reduced: whether they are.
        of: for each operand, whether it has them.
    """

    size: int
    reduced: bool
    of: tuple[bool, ...]


def merged(
    shape: Dims, shapes: Sequence[Dims], reduced: Collection[int]
) -> list[Merged]:
    """The dims of operands of these shapes, which broadcast to `shape`."""
    wide = [(1,) * (len(shape) - len(s)) + s for s in shapes]
    found: list[Merged] = []
    for d, n in enumerate(shape):
        if n == 1:
            continue
        dim = Merged(n, d in reduced, tuple([s[d] != 1 for s in wide]))
        if found and found[-1][1:] == dim[1:]:
            found[-1] = found[-1]._replace(size=found[-1].size * n)
        else:
            found.append(dim)
    return found


def extents_of(dims: Sequence[Merged], operands: int) -> tuple[Dims, ...]:
    """Which of the dims each operand has."""
    return tuple([
        tuple([d for d, dim in enumerate(dims) if dim.of[i]]) for i in range(operands)
    ])  # fmt: skip
