"""What the calls of an op reached of what there is to draw, as data.

A call counts for a class of values if an array of its data is of the class, for a
layout if an array of several elements lies so, for a size if it is that large. What
could not be drawn is said with the reason; nothing is ticked for having been asked for.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Coverage:
    """What the calls of an op in a dtype reached.

    Attributes:
        reached: by factor, in how many calls each level was met.
        missed: by factor, why each other level that was asked for was not.
        crossings: how many pairs of levels of two factors were met, and how many are.
        options: by argument that is no tensor, how many different ones were given,
            and some of them.
    """

    reached: dict[str, dict[str, int]] = field(default_factory=dict)
    missed: dict[str, dict[str, str]] = field(default_factory=dict)
    crossings: tuple[int, int] = (0, 0)
    options: dict[str, tuple[int, tuple[str, ...]]] = field(default_factory=dict)

    @property
    def share(self) -> float:
        """The share of all levels that was reached."""
        met = sum(map(len, self.reached.values()))
        return met / max(met + sum(map(len, self.missed.values())), 1)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Coverage:
        """The coverage of what `to_json` gave, after a way through JSON."""
        options = {k: (n, tuple(some)) for k, (n, some) in data["options"].items()}
        pairs = tuple(data["crossings"])
        return cls(data["reached"], data["missed"], (pairs[0], pairs[1]), options)
