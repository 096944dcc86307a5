"""Results with fields, such as the values and indices of a sort."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any, Final

# By name of the function, each made when it is first needed.
RETURN_TYPES: Final[dict[str, Any]] = {}
# What texts begin with.
shown: Final = ["dovetail"]


def fields(name: str, names: tuple[str, ...]) -> Callable[[Any], Any]:
    """What makes a tuple with these fields of the results of a function."""
    if name not in RETURN_TYPES:
        RETURN_TYPES[name] = _made(name, names)
    make: Callable[[Any], Any] = RETURN_TYPES[name]._make
    return make


def _made(name: str, names: tuple[str, ...]) -> Any:
    made_by: Any = namedtuple  # a checker asks for a name that is written out
    made = made_by(name, names, module="dovetail.return_types")
    made.__repr__ = _text
    # As Python's own tuples with fields have it, which torch's are.
    made.n_fields = made.n_sequence_fields = len(names)
    made.n_unnamed_fields = 0
    made.__reduce__ = lambda self: (_again, (name, names, tuple(self)))
    return made


def _again(name: str, names: tuple[str, ...], values: tuple[Any, ...]) -> Any:
    """What was pickled, in a process whose class is made for it, if need be."""
    return fields(name, names)(values)


def _text(self: Any) -> str:
    """A line for each field, as torch has it: tensors take several."""
    parts = [f"{n}={x!r}" for n, x in zip(self._fields, self, strict=True)]
    start = f"{shown[0]}.return_types.{type(self).__name__}("
    return "\n".join([start, ",\n".join(parts)]) + ")"
