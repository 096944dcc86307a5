"""Handles that take hooks away again: of tensors, modules and optimizers."""

from __future__ import annotations

import itertools
import weakref
from collections import OrderedDict
from collections.abc import Callable, MutableMapping, Sequence
from typing import Any, Self

_next_id = itertools.count().__next__


class RemovableHandle:
    """What registering a hook returns; `remove()` takes the hook away again.

    It is a context manager too: the hook goes when the block ends. It does not
    keep the owner of the hook alive.

    Args:
        hooks: the dict the hook is in.
        extra_dict: more dicts (or one) that hold something under the same id.
    """

    def __init__(
        self, hooks: MutableMapping[int, Any], *, extra_dict: Any = None
    ) -> None:
        self.id = _next_id()
        extra = extra_dict if isinstance(extra_dict, list) else [extra_dict]
        self._dicts = [weakref.ref(d) for d in (hooks, *extra) if d is not None]

    def remove(self) -> None:
        """Take the hook away; again is no error."""
        for reference in self._dicts:
            hooks = reference()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __getstate__(self) -> dict[str, Any]:
        return {"id": self.id, "dicts": [reference() for reference in self._dicts]}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.id = state["id"]
        kept = [OrderedDict() if d is None else d for d in state["dicts"]]
        self._dicts = [weakref.ref(d) for d in kept]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


class HandleOf(RemovableHandle):
    """A handle of a hook that a function takes away, and that is in no dict.

    Args:
        remove: called once.
    """

    def __init__(self, remove: Callable[[], None]) -> None:
        super().__init__(OrderedDict())
        self._remove: Callable[[], None] | None = remove

    def remove(self) -> None:
        """Take the hook away; again is no error."""
        remove, self._remove = self._remove, None
        if remove is not None:
            remove()


def add_hook(
    hooks: MutableMapping[int, Any],
    hook: Callable[..., Any],
    *,
    flags: Sequence[MutableMapping[int, Any]] = (),
    prepend: bool = False,
) -> RemovableHandle:
    """Put `hook` into an ordered dict, and its id into the dicts of its flags."""
    handle = RemovableHandle(hooks, extra_dict=list(flags))
    hooks[handle.id] = hook
    for flag in flags:
        flag[handle.id] = True
    if prepend and isinstance(hooks, OrderedDict):
        hooks.move_to_end(handle.id, last=False)
    return handle
