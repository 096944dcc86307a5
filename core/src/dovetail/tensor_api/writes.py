"""Writing all of a tensor: `copy_`, `fill_` and `zero_`."""

from __future__ import annotations

from typing import Any

from dovetail.device_api import HostMemory
from dovetail.engine.inplace import fill, inplace, overwrite
from dovetail.engine.public import public
from dovetail.engine.tensor import Tensor
from dovetail.errors import ShapeError
from dovetail.frontend.create import _moved
from dovetail.ops.primitive import clone as clone_of
from dovetail.tensor_api.index_writes import copied


@public("Tensor.copy_")
def copy_(self: Tensor, other: Tensor | complex, non_blocking: bool = False) -> Tensor:
    """Write the values of `other`, broadcast, cast and moved as needed.

    Args:
        non_blocking: as `to` has it, onto a device; onto the CPU this waits.

    Returns: this tensor.

    Raises: ShapeError if `other` does not broadcast; InplaceError where the write would
        make gradients wrong.

    >>> torch.zeros(2).copy_(torch.tensor([1.0, 2.0]))
    tensor([1., 2.])
    """
    if not isinstance(other, Tensor):
        return fill(self, other, "copy_", overlap=False)
    mine, theirs = self._kind, other._kind
    if theirs.backend is not mine.backend or theirs.index != mine.index:
        # On the host, what arrives is read at once.
        wait = not non_blocking or mine.backend.capability(HostMemory) is not None
        other = _moved(other, mine.with_dtype(theirs.dtype), wait)
    return overwrite("copy_", self, copied(self, other))


@public("torch.fill", out=True)
def filled(input: Tensor, value: Any) -> Tensor:
    """A copy with every element `value`, a number or a 0-d tensor."""
    if not isinstance(value, Tensor):
        return fill(clone_of(input), value)
    if value.ndim:
        raise ShapeError("fill", "value", was=f"{value.ndim}-d", needed="0-d")
    return fill(clone_of(input), value.item())


@public("Tensor.fill_")
def fill_(self: Tensor, value: Any) -> Tensor:
    """Set every element to a number or a 0-d tensor."""
    if not isinstance(value, Tensor):
        return fill(self, value)
    if value.ndim:
        raise ShapeError("fill_", "value", was=f"{value.ndim}-d", needed="0-d")
    return inplace("fill_", copied, self, _on_device_of(self, value))


def _on_device_of(x: Tensor, other: Tensor) -> Tensor:
    return _moved(other, x._kind.with_dtype(other.dtype))


@public("Tensor.zero_")
def zero_(self: Tensor) -> Tensor:
    """Set every element to zero."""
    return fill(self, 0)
