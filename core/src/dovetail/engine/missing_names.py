"""What a module says of a name that it does not have."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final

from dovetail.engine.omissions import reason_for
from dovetail.engine.public import NAMESPACES
from dovetail.engine.second_names import elsewhere, place, reason_of
from dovetail.errors import MissingName

# How close two names have to be for one to be meant by the other: of difflib's ratio.
_NEAR: Final = 0.6
# How users spell the rooms of `NAMESPACES`.
_ROOMS: Final = {"F": "nn.functional"}


def missing_name(module: str) -> Callable[[str], Any]:
    """The `__getattr__` of a module that has what torch's has, as far as it goes.

    >>> import dovetail as torch
    >>> torch.sofmax
    Traceback (most recent call last):
    dovetail.errors.MissingName: module 'dovetail' has no attribute 'sofmax'; the \
nearest is 'softmax'. If torch has it, it is not there yet
    """

    def refuse(name: str) -> Any:
        reason = reason_for(module, name)
        if reason is None and not name.startswith("__"):
            found = place(f"{module}.{name}") or elsewhere(module, name)
            if found is not None:
                return found
            reason = reason_of(f"{module}.{name}")
        raise MissingName(module, name, lambda: _nearest(module, name), reason)

    return refuse


def _nearest(module: str, name: str) -> str | None:
    """What may be meant: the name in another room, or one that is spelled alike."""
    if name.startswith("__"):
        return None
    for room, names in NAMESPACES.items():
        if name in names and room != "torch":
            return f"{_ROOMS.get(room, room)}.{name}"
    from difflib import get_close_matches

    owner = sys.modules.get(module)
    if owner is None:  # a room of a device's, which is no module of its own
        return None
    # Where names are declared, `__all__` has only those that are not.
    named = (
        dir(owner) if module == "dovetail" else getattr(owner, "__all__", dir(owner))
    )
    there = [n for n in named if not n.startswith("_")]
    found = get_close_matches(name, there, 1, _NEAR)
    return found[0] if found else None
