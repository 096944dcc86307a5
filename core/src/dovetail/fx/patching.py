"""What is another thing for a while: attributes of classes, entries of globals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

_GONE: Final = object()


class Patcher:
    """Puts things in, and when its `with` ends what was there before."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []
        self._seen: set[int] = set()

    def visited(self, space: dict[str, Any]) -> bool:
        """Whether a dict was asked about before."""
        known = id(space) in self._seen
        self._seen.add(id(space))
        return known

    def attribute(self, owner: Any, name: str, value: Any) -> None:
        """Give a class another attribute."""
        before = vars(owner).get(name, _GONE)

        def undo() -> None:
            if before is _GONE:
                delattr(owner, name)
            else:
                setattr(owner, name, before)

        self._undo.append(undo)
        setattr(owner, name, value)

    def entry(self, space: dict[str, Any], name: str, value: Any) -> None:
        """Give globals another entry."""
        before = space.get(name, _GONE)

        def undo() -> None:
            if before is _GONE:
                space.pop(name, None)
            else:
                space[name] = before

        self._undo.append(undo)
        space[name] = value

    def __enter__(self) -> Patcher:
        return self

    def __exit__(self, *_error: object) -> None:
        while self._undo:
            self._undo.pop()()
