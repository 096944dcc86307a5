"""One call of an op: arrays in NumPy, and how they lie on the device."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dovetail.dtypes import Array
from dovetail.engine.cases import Case

PLAIN = "contiguous"


@dataclass(slots=True)
class Example:
    """A call under test.

    Attributes:
        case: arguments, NumPy arrays where tensors go; None for laws without a call.
        layout: name of the layout of every tensor; see `layouts`.
        values: class of the values: `ordinary`, `special` …
        size: class of the sizes: `own`, `drawn`, `empty`, a number of elements.
        options: `declared` by the op's own cases, or `crossed`.
        known: what judges remember of the call, such as the oracle's answer.
        shrunk_from: what call it was made smaller from, in words.
    """

    case: Case | None = None
    layout: str = PLAIN
    values: str = "ordinary"
    size: str = "own"
    options: str = "declared"
    known: dict[str, Any] = field(default_factory=dict)
    shrunk_from: str = ""

    @property
    def label(self) -> str:
        """The call in words; of one that was shrunk, what it is and what it was."""
        if self.case is None:
            return self.classes
        own = self.classes
        if self.shrunk_from:
            own = f"{self.layout}, shrunk from {self.shrunk_from}"
        kwargs = [f"{k}={shown(v)}" for k, v in self.case.kwargs.items()]
        return f"({', '.join([*map(shown, self.case.args), *kwargs])}) {own}"

    @property
    def classes(self) -> str:
        """The classes that the call was drawn from."""
        return f"{self.values} values, {self.size} sizes, {self.layout}"

    def arrays(self) -> list[Array]:
        """Every array of the call."""
        if self.case is None:
            return []
        found: list[Array] = []
        for value in (*self.case.args, *self.case.kwargs.values()):
            many = value if isinstance(value, list) else [value]
            found += [v for v in many if isinstance(v, np.ndarray)]
        return found

    def with_case(self, case: Case, layout: str | None = None) -> Example:
        """The same kind of example with another call."""
        return Example(
            case, layout or self.layout, self.values, self.size, self.options
        )


def shown(value: Any) -> str:
    """An argument in a few words."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype.name}{list(value.shape)}"
    if isinstance(value, list):
        return f"[{', '.join(map(shown, value))}]"
    return repr(value)
