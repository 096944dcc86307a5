"""A part of what takes long: another one with each state of the kit's code."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from zlib import crc32

from dovetail import conformance

THIRDS = 3
SIXTHS = 6


def has_its_turn(name: str, parts: int = THIRDS) -> bool:
    """Whether a name is in the part that this state of the kit has, of so many."""
    return crc32(name.encode()) % parts == _state() % parts


@cache
def _state() -> int:
    folder = Path(conformance.__file__).parent
    code = (p.read_bytes() for p in sorted(folder.rglob("*.py")))
    return crc32(b"".join(code))


__all__ = ["SIXTHS", "THIRDS", "has_its_turn"]
