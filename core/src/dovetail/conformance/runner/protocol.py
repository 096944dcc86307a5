"""What a worker and its supervisor say to each other: one line of JSON at a time."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

# Starts each line (RFC 7464), since something may print before the worker has taken
# its descriptor out of everybody's reach.
MARK: Final = "\x1e"
OK: Final = "ok"
FAILED: Final = "failed"
TRACEBACK: Final = "traceback"

# What a worker is asked to do.
JUDGE: Final = "judge"
PLAN: Final = "plan"
SCRIPT: Final = "script"
SUBNORMALS: Final = "subnormals"
MEASURE: Final = "measure"
# What takes its time without a note in the journal.
SLOW: Final = frozenset({PLAN, MEASURE})
# What set-up modules let a worker do besides, given its device.
EXTRA: Final[dict[str, Callable[[str], Any]]] = {}

# Stages of a worker that are no checks, as its journal names them.
STARTING: Final = "starting"


def written(message: dict[str, Any]) -> str:
    """A message as a line."""
    return f"{MARK}{json.dumps(message)}\n"


def read(line: str) -> dict[str, Any] | None:
    """The message of a line; None where it is nobody's of us."""
    _, mark, text = line.rpartition(MARK)
    if not mark:
        return None
    found: dict[str, Any] = json.loads(text)
    return found
