"""Generated kernels for optimizer steps: one for all parameters of a call.

They serve lists that have many elements together, of row-major arrays that do not
overlap; NumPy's kernels serve what is left.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dovetail.codegen.declarations import vocabularies
from dovetail.device_api import Kernel
from dovetail.errors import DovetailError

if TYPE_CHECKING:
    from dovetail.codegen.in_place import InPlace

STEPS: Final = {
    "sgd_step_": "sgd_step_", "sgd_steps_": "sgd_step_",
    "adam_step_": "adam_step_", "adam_steps_": "adam_step_",
}  # fmt: skip
"""The op for one parameter, by the ops that step one or many."""
_CODES: Final = frozenset("fd")

Array = np.ndarray[Any, Any]


def bind(own: Kernel, least: int) -> Callable[..., Any]:
    """What binds a kernel that asks for the size first, in front of another one."""
    single = own.op in STEPS.values()

    def bound(**attributes: Any) -> Any:
        small = own.function(**attributes)
        large = _Steps(STEPS[own.op], attributes)

        def of_one(*arrays: Any, **numbers: float) -> None:
            if arrays[0].size >= least:
                lists = [[] if a is None else [a] for a in arrays]
                if large(lists, numbers):
                    return
            small(*arrays, **numbers)

        def of_many(*lists: Any, **numbers: float) -> None:
            if sum([a.size for a in lists[0]]) < least or not large(lists, numbers):
                small(*lists, **numbers)

        return of_one if single else of_many

    return bound


class _Steps:
    """A step with its choices, made into kernels when first called."""

    def __init__(self, op: str, attributes: dict[str, Any]) -> None:
        self.op = op
        self.attributes = attributes
        self.made: dict[Any, InPlace | None] = {}

    def __call__(
        self, lists: Sequence[Sequence[Array]], numbers: dict[str, float]
    ) -> bool:
        """Whether it was done: not of other dtypes, or of arrays that have gaps.

        Args:
            lists: arrays for each input, none where it is left out.
        """
        first = lists[0][0].dtype
        if first.char not in _CODES:
            return False
        for arrays in lists:
            for a in arrays:
                same = a.dtype is first or a.dtype == first
                if not (same and a.flags.c_contiguous):
                    return False
        found = vocabularies[0].numbers(self.op, self.attributes | numbers)
        there = {name: x for name, x in found.items() if x is not None}
        key = first.char, *map(bool, lists), *there
        try:
            run = self.made[key]
        except KeyError:
            run = self.made[key] = self._make(first.name, lists, found, there)
        if run is None:
            return False
        return run([arrays for arrays in lists if arrays], [*there.values()])

    def _make(
        self, dtype: str, lists: Sequence[Sequence[Array]],
        numbers: dict[str, Any], there: Collection[str],
    ) -> InPlace | None:  # fmt: skip
        # With LLVM's text and mathematics: nothing that a small program needs.
        from dovetail.codegen.in_place import InPlace
        from dovetail.codegen.pointwise import KNOWN

        dtypes = [dtype if arrays else None for arrays in lists]
        absent = {name: None for name, x in numbers.items() if x is None}
        try:
            program, written = vocabularies[0].in_place_program(
                self.op, dtypes, self.attributes | absent, [*there], KNOWN
            )
            return InPlace(self.op, program, written, len(there))
        except DovetailError:
            return None
