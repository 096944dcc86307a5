"""einops' functions on tensors: importing this module makes einops know them.

>>> import dovetail as dt
>>> import dovetail.utils.einops
>>> from einops import rearrange
>>> rearrange(dt.ones(2, 3), "a b -> (a b)").shape
dovetail.Size([6])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from einops._backends import AbstractBackend

from dovetail import frontend as f
from dovetail.engine.tensor import Tensor


class Backend(AbstractBackend):  # type: ignore[misc]
    """What einops asks of a library."""

    framework_name = "dovetail"

    def is_appropriate_type(self, tensor: Any) -> bool:
        """Whether these functions are for an object."""
        return isinstance(tensor, Tensor)

    def from_numpy(self, x: Any) -> Any:
        """A tensor over an array's memory."""
        return f.from_numpy(x)

    def to_numpy(self, x: Any) -> Any:
        """The values on the host."""
        return x.detach().cpu().numpy()

    def arange(self, start: int, stop: int) -> Any:
        """Integers in order."""
        return f.arange(start, stop)

    def reduce(self, x: Any, operation: str, reduced_axes: Sequence[int]) -> Any:
        """A reduction over dims, by its name."""
        if operation in ("min", "max"):
            return getattr(x, f"a{operation}")(dim=tuple(reduced_axes))
        if operation == "prod":
            for dim in sorted(reduced_axes, reverse=True):
                x = x.prod(dim)
            return x
        return getattr(x, operation)(dim=tuple(reduced_axes))

    def transpose(self, x: Any, axes: Sequence[int]) -> Any:
        """Dims in another order."""
        return x.permute(tuple(axes))

    def stack_on_zeroth_dimension(self, tensors: list[Any]) -> Any:
        """Tensors along a new first dim."""
        return f.stack(tensors)

    def add_axis(self, x: Any, new_position: int) -> Any:
        """A dim of size 1."""
        return x.unsqueeze(new_position)

    def add_axes(self, x: Any, n_axes: int, pos2len: dict[int, int]) -> Any:
        """New dims along which the tensor is repeated, as a view."""
        sizes = [-1] * n_axes
        for place, size in pos2len.items():
            x = x.unsqueeze(place)
            sizes[place] = size
        return x.expand(sizes)

    def tile(self, x: Any, repeats: Sequence[int]) -> Any:
        """The tensor repeated along each dim."""
        return x.repeat(tuple(repeats))

    def concat(self, tensors: list[Any], axis: int) -> Any:
        """Tensors one after the other."""
        return f.cat(tensors, axis)

    def is_float_type(self, x: Any) -> bool:
        """Whether means can be taken."""
        return bool(x.is_floating_point())

    def einsum(self, pattern: str, *x: Any) -> Any:
        """Sums of products, by letters."""
        return f.einsum(pattern, *x)
