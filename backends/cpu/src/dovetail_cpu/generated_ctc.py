"""Generated kernels for losses of sequences without alignment."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

from dovetail.device_api import Kernel
from dovetail.xp.ctc import Lattice, within

Array = np.ndarray[Any, Any]

_EARLY: Final = 7  # halvings of the least size: NumPy takes a dozen calls a step


def bind(own: Kernel, least: int) -> Callable[..., Any]:
    """What binds a kernel that asks for the size first, in front of another one."""
    fewest, large = max(least >> _EARLY, 1), CTC[own.op]

    def bound(blank: int) -> Any:
        small = partial(own.function, blank=blank)

        def kernel(x: Array, *others: Any) -> Any:
            if x.size < fewest:
                return small(x, *others)
            return large(x, *others, blank)

        return kernel

    return bound


def _ways(
    x: Array, labels: Array, frames: Array, counts: Array, blank: int
) -> tuple[Any, Lattice, Array]:
    from dovetail.codegen.eager_ctc import Ways  # with LLVM's text

    lattice = Lattice.of(np, labels, counts, blank, x.shape[2])
    last = within(np, frames, len(x))
    ways = Ways(np.ascontiguousarray(x), lattice.states, last, lattice.skips)
    return ways, lattice, lattice.losses(np, ways.ends())


def _losses(x: Array, *others: Any) -> Array:
    return _ways(x, *others)[2].astype(x.dtype)


def _shares(x: Array, *others: Any) -> Array:
    ways, lattice, losses = _ways(x, *others)
    found: Array = ways.shares(losses, lattice.ends).astype(x.dtype)
    return found


CTC: Final[dict[str, Callable[..., Array]]] = {
    "ctc_losses": _losses, "ctc_shares": _shares,
}  # fmt: skip
"""What serves large arrays, by the op."""
