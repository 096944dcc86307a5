"""Generated kernels for scans: sums, products and extremes so far along any dim.

They serve large row-major arrays; NumPy's kernels serve the rest, and small arrays.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from dovetail.device_api import Kernel
from dovetail.dtypes import (
    HALF,
    DType,
    by_name,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
)
from dovetail.errors import DovetailError
from dovetail_cpu.generated_rows import bound_by_attributes

if TYPE_CHECKING:
    from dovetail.codegen.accumulation import Combine
    from dovetail.codegen.eager_scan import Scans

SCANS: Final[dict[str, Combine]] = {
    "cumsum": "add", "cumprod": "mul", "cummax": "maximum", "cummin": "minimum",
}  # fmt: skip
DTYPES: Final[frozenset[DType]] = frozenset(
    HALF | {float32, float64, int8, int16, int32, int64}
)
_PLACED: Final = frozenset({"cummax", "cummin"})
_SHORTEST: Final = 16  # lanes; of shorter rows, too much is spent beside them
_EARLY: Final = 5  # halvings of the least size: NumPy adds one after the other
_LONGEST: Final = (1 << 31) - 1  # elements, so that places are int32


def bind(own: Kernel, least: int) -> Callable[..., Any]:
    """What binds a kernel that asks for the size first, in front of another one."""

    shortest, least = min(_SHORTEST, least), max(least >> _EARLY, 1)

    def bound(**attributes: Any) -> Any:
        small = bound_by_attributes(own, attributes)
        if attributes.get("dtype") is not None:
            return small
        large = Generated(own.op, attributes["dim"], shortest)

        def kernel(a: Any) -> Any:
            if a.size < least:
                return small(a)
            y = large(a)
            return small(a) if y is None else y

        return kernel

    return bound


class Generated:
    """A scan along a dim, made into kernels when first called.

    Args:
        shortest: elements along the lanes that it takes at least.
    """

    def __init__(self, op: str, dim: int, shortest: int = _SHORTEST) -> None:
        self.op = op
        self.dim = dim
        self.shortest = shortest
        self.made: dict[Any, Scans | None] = {}

    def __call__(self, a: Any) -> Any:
        """The results, or None where the other kernel has to serve."""
        if not a.flags.c_contiguous or not a.ndim or not a.size:
            return None
        dim = self.dim % a.ndim
        width = math.prod(a.shape[dim + 1 :])
        across = width > 1
        if (width if across else a.shape[dim]) < self.shortest or a.shape[
            dim
        ] > _LONGEST:
            return None
        key = a.dtype.char, across
        if key not in self.made:
            self.made[key] = self._make(a, across)
        found = self.made[key]
        if found is None:
            return None
        outs = found(a, dim)
        return outs if self.op in _PLACED else outs[0]

    def _make(self, a: Any, across: bool) -> Scans | None:
        # With LLVM's text: nothing that a small program needs.
        from dovetail.codegen.eager_scan import Scans
        from dovetail.codegen.scan_kernel import Scan

        dtype = a.dtype.name
        places = self.op in _PLACED
        is_float = by_name(dtype).is_floating_point
        if places and by_name(dtype) in HALF:
            return None
        within = result = dtype
        if not places:
            # Sums of many float32 lose digits; integers are summed in int64.
            within = "float64" if is_float else "int64"
            result = dtype if is_float else "int64"
        scan = Scan(SCANS[self.op], dtype, within, result, places)
        try:
            return Scans(self.op, scan, across)
        except DovetailError:
            return None
