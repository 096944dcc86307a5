"""What torch moves batches between devices by: `torch.nn.parallel._functions`.

All is made of ops that record themselves: gradients come back where values went.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail import Tensor
from dovetail.nn.parallel import gather
from dovetail.nn.parallel.scatter_gather import DeviceLike


class Broadcast:
    """Tensors on several devices."""

    @classmethod
    def apply(
        cls, target_gpus: Sequence[DeviceLike], *inputs: Tensor
    ) -> tuple[Tensor, ...]:
        """All tensors on the first device, then all on the next."""
        return tuple([x.to(place) for place in target_gpus for x in inputs])


class Scatter:
    """Pieces of a tensor, one a device."""

    @classmethod
    def apply(
        cls, target_gpus: Sequence[DeviceLike], chunk_sizes: Sequence[int] | None,
        dim: int, input: Tensor,
    ) -> tuple[Tensor, ...]:  # fmt: skip
        """The pieces along a dim, of those sizes or of one."""
        pieces = (
            input.chunk(len(target_gpus), dim)
            if chunk_sizes is None
            else input.split(list(chunk_sizes), dim)
        )
        places = zip(pieces, target_gpus, strict=False)
        return tuple([piece.to(place) for piece, place in places])


class Gather:
    """What several devices have, on one."""

    @classmethod
    def apply(cls, target_device: DeviceLike, dim: int, *inputs: Tensor) -> Any:
        """The pieces, put together along a dim."""
        return gather(inputs, target_device, dim)


class ReduceAddCoalesced:
    """Sums over devices."""

    @classmethod
    def apply(
        cls, destination: DeviceLike, num_inputs: int, *grads: Tensor
    ) -> tuple[Tensor, ...]:
        """Of as many tensors each device has, the sums over all of them.

        Args:
            grads: those of the first device, then those of the next.
        """
        here = [x.to(destination) for x in grads]
        sums = here[:num_inputs]
        for begin in range(num_inputs, len(here), num_inputs):
            more = here[begin : begin + num_inputs]
            sums = [a + b for a, b in zip(sums, more, strict=True)]
        return tuple(sums)
