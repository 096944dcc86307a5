"""Keys of torch's dispatcher, which packages name where they add to it."""

from __future__ import annotations

from typing import Any, Final


class _Keys:
    """All keys: each is its own name."""

    def __getattr__(self, name: str) -> str:
        if name.startswith("_"):
            raise AttributeError(name)
        return name


DispatchKey: Final = _Keys()


class DispatchKeySet:
    """A set of keys."""

    def __init__(self, keys: Any = ()) -> None:
        self.keys = frozenset([keys] if isinstance(keys, str) else keys)

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(self.keys | other.keys)

    def __and__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(self.keys & other.keys)

    def __sub__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(self.keys - other.keys)

    def has(self, key: str) -> bool:
        """Whether a key is in it."""
        return key in self.keys
