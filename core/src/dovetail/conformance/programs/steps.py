"""What random programs do: each step writes a line, runs it, and moves the model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from dovetail.conformance.programs.graphs import backward, double, lose, multiply
from dovetail.conformance.programs.program import Program
from dovetail.conformance.programs.tensors import (
    collect,
    create,
    drop,
    exhaust,
    rejoin,
    start,
    switch,
    transfer,
)
from dovetail.conformance.programs.writes import combine, detach, fill, scale, view

Step = Callable[[Program, np.random.Generator], None]

STEPS: Final[dict[str, Step]] = {
    step.__name__: step
    for step in (
        create, drop, collect, transfer, exhaust, switch, view, detach, scale, fill,
        combine, multiply, double, lose, backward,
    )
}  # fmt: skip

__all__ = ["STEPS", "Step", "rejoin", "start"]
