"""Results with fields, such as the values and indices of a sort."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any, Final

# By name of the function, each made when it is first needed.
RETURN_TYPES: Final[dict[str, Any]] = {}


def fields(name: str, names: tuple[str, ...]) -> Callable[[Any], Any]:
    """What makes a tuple with these fields of the results of a function."""
    if name not in RETURN_TYPES:
        module = "dovetail.return_types"
        RETURN_TYPES[name] = namedtuple(name, names, module=module)
    make: Callable[[Any], Any] = RETURN_TYPES[name]._make
    return make
