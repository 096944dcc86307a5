"""Recurrent layers of large steps: products with weights, and generated kernels.

Bodies serve the small ones, and those whose gates have a cotangent.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from dovetail.codegen.runtime.blas import blas
from dovetail.device_api import Facts, KernelTable
from dovetail.dtypes import float32, float64
from dovetail_cpu.generated_pointwise import LEAST, least_elements

_DTYPES: Final = frozenset({float32, float64})
_FEWEST: Final = 4  # sequences that are worth lanes
_STEP: Final = 1 << 8  # elements of a step that are worth a kernel

Array = np.ndarray[Any, Any]


def add(table: KernelTable) -> None:
    """Add recurrent layers to a table."""
    if blas() is None:
        return
    kernels = {
        "lstm_sequence": (_lstm, _is_large),
        "lstm_sequence_backward": (_lstm_backward, _is_plain),
        "gru_sequence": (_gru, _is_large),
        "gru_sequence_backward": (_gru_backward, _is_plain),
    }  # fmt: skip
    for op, (function, when) in kernels.items():
        table.add(op, function, dtypes=_DTYPES, when=when, reads=("shape",))


def _is_large(facts: Facts) -> bool:
    """Whether a layer's steps are worth kernels: (x, h, ...)."""
    steps, count, _ = facts.shape[0]
    return _is_worth(steps, count, facts.shape[1][1])


def _is_plain(facts: Facts) -> bool:
    """The same backwards, where gates have no cotangent: (state, results, gates, …)."""
    steps, count, units = facts.shape[1]
    if len(facts.shape) < 5 or facts.shape[-1] != facts.shape[1]:
        return False
    return _is_worth(steps, count, units)


def _is_worth(steps: int, count: int, units: int) -> bool:
    chosen = least_elements()
    if chosen != LEAST:
        return steps * count * units >= max(chosen, 1)
    large = count >= _FEWEST and count * units >= _STEP
    return large and math.prod((steps, count, units)) >= LEAST >> 2


def _lstm(*given: Any) -> tuple[Array, ...]:
    # With LLVM: nothing that a small program needs.
    from dovetail.codegen.eager_sequences import lstm

    return lstm(*given)


def _lstm_backward(*given: Any) -> tuple[Array, ...]:
    from dovetail.codegen.eager_sequences import lstm_backward

    *arrays, _ = given
    return lstm_backward(*arrays)


def _gru(*given: Any) -> tuple[Array, ...]:
    from dovetail.codegen.eager_sequences import gru

    return gru(*given)


def _gru_backward(*given: Any) -> tuple[Array, ...]:
    from dovetail.codegen.eager_sequences import gru_backward

    *arrays, _ = given
    return gru_backward(*arrays)
