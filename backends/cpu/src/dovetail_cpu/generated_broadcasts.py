"""Large calls of what one thread of NumPy's computes as fast as it can move memory.

Of operands of one shape all threads do it from `MUCH` elements on. Of those that are
broadcast, a matrix and a row, or a row and a column, NumPy takes two to four times as
long, for it begins anew at each row: they are large from fewer on. Generated kernels
serve these once the process has any kernel: a builtin in front of NumPy's function
asks, which costs small calls nothing that shows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from dovetail.codegen.runtime import machine
from dovetail.device_api import KernelTable
from dovetail_cpu.generated_pointwise import (
    MUCH,
    Generated,
    by_threads,
    large_or_wished,
)

# IEEE 754 says what these give, to the last bit, whoever computes them.
BROADCAST_OPS: Final = ("add", "sub", "mul", "div", "lt", "le", "gt", "ge", "eq", "ne")
MOVED_OPS: Final = ("abs", "ceil", "floor", "neg", "square", "trunc")
"""The same is true of these, of one operand."""
EXTREME_OPS: Final = ("maximum", "minimum")
"""These too; of zeros of two signs +0 is the larger, which NumPy leaves to chance."""
QUICKER_OPS: Final = ("reciprocal", "sqrt")
"""These take one thread half of NumPy's time."""
_CODES: Final = ("f", "d")  # of float32 and float64
_NO_SCALARS: Final[dict[str, Any]] = {}


def install(table: KernelTable, least: int) -> None:
    """Put builtins in front of NumPy's functions as soon as there is a kernel."""
    machine.waiting.append(lambda: _exchange(table, least))


def _exchange(table: KernelTable, least: int) -> None:
    from dovetail.codegen.runtime.gates import gate

    found, much = {}, large_or_wished(MUCH)
    for op in (*BROADCAST_OPS, *EXTREME_OPS, *MOVED_OPS, *QUICKER_OPS):
        for own in table.rivals(op):
            if isinstance(own.function, np.ufunc):
                large = _large(op, own.function)
                asks = gate(
                    own.function, large, least, least if op in QUICKER_OPS else much
                )
                if asks is not None:
                    found[op] = (own.function, asks)
                break
    table.exchange(found)


def _large(op: str, own: Callable[..., Any]) -> Callable[..., Any]:
    """What serves large calls; NumPy's function where there is no kernel."""
    generated, always = Generated(op, {}), op in QUICKER_OPS

    def kernel(*given: Any) -> Any:
        dtype, y = given[0].dtype, None
        known = dtype.char in _CODES and given[-1].dtype is dtype
        if known and (always or _repeats(*given) or by_threads(_most(given))):
            y = generated(given, _NO_SCALARS)
        return own(*given) if y is None else y

    return kernel


def _repeats(a: Any, b: Any = None) -> bool:
    """Whether operands with dims are broadcast by each other."""
    return b is not None and a.ndim > 0 and b.ndim > 0 and a.shape != b.shape


def _most(given: tuple[Any, ...]) -> int:
    return max(a.size for a in given)
