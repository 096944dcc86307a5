"""Where a command prints: a terminal as wide as it is, or a file with whole lines."""

from __future__ import annotations

import re
import sys
from io import TextIOBase
from typing import TextIO, cast

from rich.console import Console

_WHOLE = 10_000  # columns: what is told is shorter


class _Trimmed(TextIOBase):
    """A stream without the spaces that end lines of a table."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Write without them."""
        return self.stream.write(re.sub(r"[ ]+$", "", text, flags=re.MULTILINE))

    def flush(self) -> None:
        """Let what was written be seen."""
        self.stream.flush()


def console() -> Console:
    """Standard output; where it is no terminal, no line of it is cut or broken."""
    found = Console(highlight=False)
    if found.is_terminal:
        return found
    stream = cast(TextIO, _Trimmed(sys.stdout))
    return Console(highlight=False, width=_WHOLE, file=stream)


__all__ = ["console"]
