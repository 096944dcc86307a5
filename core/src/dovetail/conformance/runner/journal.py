"""What a worker is about to do, in a file that outlives it."""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Final

SIZE: Final = 4096
_HEAD: Final = struct.Struct("<QqHH")
_ROOM: Final = SIZE - _HEAD.size
NO_EXAMPLE: Final = -1


@dataclass(frozen=True, slots=True)
class Entry:
    """The last thing that a worker noted.

    Attributes:
        moves: how many notes it made; a worker whose count stands still hangs.
        check: the id of the check, or the stage where it is none.
        number: of the example, `NO_EXAMPLE` before the first.
        label: the example in words.
    """

    moves: int = 0
    check: str = ""
    number: int = NO_EXAMPLE
    label: str = ""


class Journal:
    """One entry in shared memory, written by a worker and read by its supervisor.

    The count of moves is written last: an entry that is half written is still the
    one before to a reader who compares counts.
    """

    def __init__(self, path: Path) -> None:
        if not path.exists() or path.stat().st_size < SIZE:
            path.write_bytes(bytes(SIZE))
        self._file = path.open("r+b")
        self._map = mmap.mmap(self._file.fileno(), SIZE)
        self._moves: int = _HEAD.unpack_from(self._map)[0]

    def note(self, check: str, number: int = NO_EXAMPLE, label: str = "") -> None:
        """What comes next."""
        name = check.encode()[:_ROOM]
        words = label.encode()[: _ROOM - len(name)]
        at = _HEAD.size
        self._map[at : at + len(name) + len(words)] = name + words
        self._moves += 1
        _HEAD.pack_into(self._map, 0, self._moves, number, len(name), len(words))

    def read(self) -> Entry:
        """The last note."""
        moves, number, n, w = _HEAD.unpack_from(self._map)
        at = _HEAD.size
        name, words = self._map[at : at + n], self._map[at + n : at + n + w]
        return Entry(
            moves, name.decode(errors="replace"), number, words.decode(errors="replace")
        )

    def moves(self) -> int:
        """How many notes there were."""
        found: int = _HEAD.unpack_from(self._map)[0]
        return found

    def close(self) -> None:
        """Let go of the file."""
        self._map.close()
        self._file.close()
