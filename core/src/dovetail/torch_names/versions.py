"""Versions that compare as numbers do: `torch.torch_version`."""

from __future__ import annotations

from typing import Any


class TorchVersion(str):
    """A version as text, which compares as versions do, with text and with tuples.

    `"2.13.0"` is more than `"2.4"` and `(2, 4)`, as in `torch.torch_version`; what is
    no version is compared as text.
    """

    __slots__ = ()

    def _order(self, other: object) -> tuple[Any, Any]:
        """What stands for both sides of a comparison."""
        # Most programs compare nothing, and the import takes some milliseconds.
        from packaging.version import InvalidVersion, Version

        if isinstance(other, tuple | list):
            other = ".".join(str(part) for part in other)
        try:
            return Version(self), Version(str(other))
        except InvalidVersion:
            return str(self), other

    def __lt__(self, other: object) -> bool:
        own, others = self._order(other)
        return bool(own < others)

    def __le__(self, other: object) -> bool:
        own, others = self._order(other)
        return bool(own <= others)

    def __gt__(self, other: object) -> bool:
        own, others = self._order(other)
        return bool(own > others)

    def __ge__(self, other: object) -> bool:
        own, others = self._order(other)
        return bool(own >= others)

    def __eq__(self, other: object) -> bool:
        own, others = self._order(other)
        return bool(own == others)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__
