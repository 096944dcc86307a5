"""Sums, products and comparisons of a matrix and a row, or a row and a column.

NumPy's own functions are as fast as memory for operands of one shape. Of large ones
that are broadcast they take two to four times as long, for they begin anew at each row.
Generated kernels serve these once the process has any kernel: a builtin in front of
NumPy's function asks, which costs small calls nothing that shows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from dovetail.codegen.runtime import machine
from dovetail.device_api import KernelTable
from dovetail_cpu.generated_pointwise import Generated

# IEEE 754 says what these give, to the last bit, whoever computes them.
BROADCAST_OPS: Final = ("add", "sub", "mul", "div", "lt", "le", "gt", "ge", "eq", "ne")
_CODES: Final = ("f", "d")  # of float32 and float64
_NO_SCALARS: Final[dict[str, Any]] = {}


def install(table: KernelTable, least: int) -> None:
    """Put builtins in front of NumPy's functions as soon as there is a kernel."""
    machine.waiting.append(lambda: _exchange(table, least))


def _exchange(table: KernelTable, least: int) -> None:
    from dovetail.codegen.runtime.gates import gate

    found = {}
    for op in BROADCAST_OPS:
        for own in table.rivals(op):
            if isinstance(own.function, np.ufunc):
                asks = gate(own.function, _large(op, own.function), least)
                if asks is not None:
                    found[op] = (own.function, asks)
                break
    table.exchange(found)


def _large(op: str, own: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    """What serves large calls; NumPy's function where there is no kernel."""
    generated = Generated(op, {})

    def kernel(a: Any, b: Any) -> Any:
        if a.dtype.char not in _CODES or a.dtype is not b.dtype:
            return own(a, b)
        y = generated((a, b), _NO_SCALARS)
        return own(a, b) if y is None else y

    return kernel
