"""Complex numbers and their parts as views of one memory.

Where the host reads a device's memory, so does a view of another dtype; elsewhere, and
while calls are watched, the parts are copies, which refuse to be written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from dovetail.device_api.capabilities import HostMemory
from dovetail.dtypes import Array, Sizes
from dovetail.engine.op import Op
from dovetail.engine.scopes import anywhere, here
from dovetail.engine.tape import storage_of
from dovetail.engine.tape_entries import tape_entry
from dovetail.engine.tensor import Parameter, Tensor
from dovetail.engine.views import as_view
from dovetail.errors import NotSupported
from dovetail.ops import complex as z
from dovetail.ops.create import zeros_like


class PartView:
    """A view of the parts of complex numbers, or of pairs as complex numbers.

    Args:
        name: torch's name of it.
        copied: the op that computes the same in memory of its own.
        shared: the same of a NumPy array, sharing its memory.
        shape: the view's shape by the tensor's.
        rule: the gradient of the tensor by that of the view.
    """

    def __init__(
        self, name: str, copied: Callable[[Tensor], Tensor],
        shared: Callable[[Array], Array], shape: Callable[[Sizes], Sizes],
        rule: Callable[[Tensor], Tensor],
    ) -> None:  # fmt: skip
        self.name = name
        self.copied = copied
        self.shared = shared

        def input_rule(ct: Tensor) -> tuple[Tensor]:
            return (rule(ct),)

        self.op: Op = tape_entry(name, _viewed, input_rule)
        self.op.shape = shape
        self.op.function = self.replayed

    def of(self, x: Tensor) -> Tensor:
        """The view of `x`, or where there can be none a copy that is not written."""
        view = self.taken(x)
        return self.copy(x) if view is None else view

    def copy(self, x: Tensor) -> Tensor:
        """The same in memory of its own, which refuses to be written."""
        y = self.copied(x)
        if x._kind.backend.rules_only:
            return y  # there is nothing that a write could miss
        why = f"a copy made by {self.name}: a write would not reach its origin"
        storage_of(y).readonly = why
        return y

    def taken(self, x: Tensor) -> Tensor | None:
        """The view of `x`; None where nothing shares its memory, or a call is seen."""
        if type(x) not in (Tensor, Parameter) or (anywhere[0] and here() is not None):
            return None
        memory = x._kind.backend.capability(HostMemory)
        if memory is None:
            return None
        parts = self.shared(memory.expose(x._a))
        native = memory.adopt(parts)
        if memory.address(native) != parts.ctypes.data:
            return None
        kind = x._kind
        dtype = kind.dtype.real if kind.dtype.is_complex else kind.dtype.complex
        y = as_view(self.op, x, native, {})
        y._kind = kind.with_dtype(dtype)
        return y

    def replayed(self, x: Tensor) -> Tensor:
        """The view of a gradient of what was written through one."""
        y = self.taken(x)
        if y is None:
            raise NotSupported(
                self.name, "view", was="written in place, and its gradient taken while "
                "calls are watched or on another device", needed="neither",
                remedy="write the complex tensor itself, or use the out-of-place form",
            )  # fmt: skip
        return y


def _viewed(input: Tensor) -> Any:
    """A tensor whose memory is looked at as numbers of another dtype."""


def _pairs(a: Array) -> Array:
    """The parts along a new last dim; NumPy lets no other than a last dim grow."""
    steps = (*a.strides, a.itemsize // 2)
    return np.lib.stride_tricks.as_strided(a.real, (*a.shape, 2), steps)


def _joined(a: Array) -> Array:
    whole = a.view(np.dtype(f"c{2 * a.itemsize}"))
    return whole.reshape(whole.shape[:-1]) if whole.size else whole[..., 0]


def _no_imaginary_part(ct: Tensor) -> Tensor:
    return z.complex(ct, zeros_like(ct))


def _no_real_part(ct: Tensor) -> Tensor:
    return z.complex(zeros_like(ct), ct)


REAL: Final = PartView(
    "real", z.real, lambda a: a.real, lambda shape: shape, _no_imaginary_part
)
IMAG: Final = PartView(
    "imag", z.imag, lambda a: a.imag, lambda shape: shape, _no_real_part
)
PAIRS: Final = PartView(
    "view_as_real", z.real_pairs, _pairs, lambda shape: (*shape, 2), z.from_pairs
)
JOINED: Final = PartView(
    "view_as_complex", z.from_pairs, _joined, lambda shape: shape[:-1], z.real_pairs
)
