"""What `DOVETAIL_LOG=kernels` prints: a line when a kernel is compiled or loaded."""

from __future__ import annotations

import os
import sys
from typing import Final

VARIABLE: Final = "DOVETAIL_LOG"


def wanted() -> bool:
    """Whether somebody wants to read about kernels."""
    return "kernels" in os.environ.get(VARIABLE, "").split(",")


def log(line: str) -> None:
    """Print a line about kernels to stderr, where it is wanted."""
    if wanted():
        print(f"dovetail kernels: {line}", file=sys.stderr, flush=True)
