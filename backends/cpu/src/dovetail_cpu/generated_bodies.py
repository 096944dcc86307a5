"""Generated kernels of ops that have no other: their bodies serve small calls.

A body takes several microseconds for each op that it calls. Where all of its steps are
rounded by themselves, a kernel gives the same bits, and serves calls of any size once
there have been enough small ones. Where not, the size alone decides.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dovetail.device_api.kernels import UNSERVED
from dovetail_cpu.generated_pointwise import Generated, smallest_elements
from dovetail_cpu.patience import CALLS, Patience

RANK: Final = -1
"""Behind all that plug-ins add."""

_REMEMBERED: Final = 64  # attributes of an op


class Bodies:
    """Kernels of an op by its attributes."""

    def __init__(self, op: str) -> None:
        self.op = op
        self.made: dict[Any, Generated] = {}

    def of(self, attributes: dict[str, Any]) -> Generated:
        """The kernels for attributes of these values."""
        key = repr(attributes)
        if key not in self.made:
            if len(self.made) >= _REMEMBERED:
                self.made.clear()
            self.made[key] = Generated(self.op, attributes, composed=True)
        return self.made[key]

    def bind(self, **attributes: Any) -> Callable[..., Any]:
        """What serves calls with these attributes, or leaves them to the body."""
        return _by_size(self.of(attributes))


def _by_size(large: Generated) -> Callable[..., Any]:
    least = smallest_elements()
    patience = Patience(2 * CALLS)  # core asks twice before it runs a body

    def kernel(*arrays: Any, **scalars: Any) -> Any:
        nonlocal least
        for a in arrays:  # max() of them takes twice as long
            if a is not None and a.size >= least:
                break
        else:
            if patience.ends() and large.is_exact(arrays, scalars):
                least = large.least = 1
            return UNSERVED
        if not large.least:
            least = large.weighed(arrays, scalars)
            return kernel(*arrays, **scalars)
        if large.find(arrays, scalars) is None:
            return UNSERVED
        return large.serve(*arrays, **scalars)

    return kernel


__all__ = ["RANK", "Bodies"]
