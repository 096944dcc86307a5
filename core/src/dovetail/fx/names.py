"""Names of nodes, each of which is there once in a graph."""

from __future__ import annotations

import builtins
import keyword
import re
from typing import Any, Final

_BAD: Final = re.compile(r"[^0-9a-zA-Z_]+")
_NUMBERED: Final = re.compile(r"(.*)_(\d+)$")
# What the code of a graph may call by these names.
TAKEN: Final = frozenset({"inf", "nan", "NoneType", "torch", "dovetail", "device"})


class Namespace:
    """Names that are taken, by what."""

    def __init__(self) -> None:
        self._of: dict[Any, str] = {}
        self._used: set[str] = set()
        self._last: dict[str, int] = {}

    def create_name(self, candidate: str, obj: Any) -> str:
        """A name like the candidate, which nothing else has."""
        if obj is not None and obj in self._of:
            return self._of[obj]
        name = _BAD.sub("_", candidate) or "_unnamed"
        if name[0].isdigit():
            name = f"_{name}"
        numbered = _NUMBERED.match(name)
        base, number = (name, 0)
        if numbered:
            base, number = numbered.group(1), int(numbered.group(2))
            if name not in self._used and not _reserved(name, obj):
                return self._keep(name, base, number, obj)
        number = max(number, self._last.get(base, 0))
        while name in self._used or _reserved(name, obj):
            number += 1
            name = f"{base}_{number}"
        return self._keep(name, base, number, obj)

    def _keep(self, name: str, base: str, number: int, obj: Any) -> str:
        self._used.add(name)
        self._last[base] = max(number, self._last.get(base, 0))
        if obj is not None:
            self._of[obj] = name
        return name

    def associate_name_with_obj(self, name: str, obj: Any) -> None:
        """Say what a name is that is in use already."""
        self._used.add(name)
        self._of[obj] = name

    def rename(self, obj: Any, name: str) -> str:
        """Another name for what has one."""
        old = self._of.pop(obj, None)
        self._used.discard(old or "")
        return self.create_name(name, obj)


def _reserved(name: str, obj: Any) -> bool:
    """Whether code could not say it, or would mean something else by it."""
    if keyword.iskeyword(name) or name in TAKEN:
        return True
    return hasattr(builtins, name) and getattr(builtins, name) is not obj
