"""What kernels can be made of, told by the floors above."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from dovetail.codegen.program import Dims, Program


WITH_LIMITS: Final = frozenset({"nan_to_num"})
"""Ops that ask for the limits of their dtype, which arithmetic may be wider than."""
IN_ROWS: Final = frozenset({"logsigmoid", "masked_fill"})
"""Elementwise, but with results in rows, as torch has them."""


class Declarations(ABC):
    """A vocabulary of ops that are computed element by element."""

    @abstractmethod
    def pointwise(self) -> Mapping[str, int]:
        """The ops of one result: how many tensors are all that varies at a call.

        0 where there is something else, or where a tensor may be left out.
        """

    @abstractmethod
    def bodies(self) -> Mapping[str, tuple[int, tuple[str, ...]]]:
        """The ops of tensors of one dtype, and of numbers: how many tensors go into
        each, and the names of the numbers.

        Of those whose body serves where no kernel does, and whose gradient no kernel
        hides.
        """

    @abstractmethod
    def takes(
        self, op: str
    ) -> tuple[tuple[bool, ...], tuple[str, ...], tuple[str, ...]]:
        """Whether an op's tensors may be absent; its attributes and numbers by name."""

    @abstractmethod
    def program(
        self, op: str, dtypes: Sequence[str | None], attributes: dict[str, Any],
        scalars: Sequence[str], known: Collection[str],
    ) -> Program:  # fmt: skip
        """What an op computes, for inputs of these dtypes.

        Args:
            dtypes: None for an input that is left out.
            attributes: what stays the same from call to call.
            scalars: what does not: inputs behind the others.
            known: ops that stay as they are, instead of being made of others.

        Raises:
            NotSupported: it is no program of steps on elements.
        """

    @abstractmethod
    def row_program(
        self, op: str, dtypes: Sequence[str | None], extents: Sequence[Dims],
        sizes: Dims, reduced: Dims, attributes: dict[str, Any],
        scalars: Sequence[str], known: Collection[str], *, wide: bool = True,
    ) -> Program:  # fmt: skip
        """What an op computes on dims of these sizes, reducing some of them.

        Args:
            extents: the dims that each input varies along.
            reduced: the dims that reductions are over, which the attributes say too.
            wide: whether inputs have the other dims, with size 1.

        Raises:
            NotSupported: it has values of other shapes, or calls what has no elements.
        """

    @abstractmethod
    def numbers(self, op: str, given: dict[str, Any]) -> dict[str, Any]:
        """What tensors meet in an op that writes in place, by name, from its numbers.

        None for what does not come into it.
        """

    @abstractmethod
    def in_place_program(
        self, op: str, dtypes: Sequence[str | None], attributes: dict[str, Any],
        numbers: Sequence[str], known: Collection[str],
    ) -> tuple[Program, tuple[int, ...]]:  # fmt: skip
        """What an op writes in place, and to which of its inputs each result goes.

        Args:
            attributes: what stays the same from call to call.
            numbers: what does not: inputs behind the others.

        Raises:
            NotSupported: it is no program of steps on elements.
        """


vocabularies: Final[list[Declarations]] = []
"""The one vocabulary, once the floor that has it is there."""

on_more: Final[list[Callable[[Collection[str]], None]]] = []
"""Called with the names of ops that are declared later, when their family loads."""
