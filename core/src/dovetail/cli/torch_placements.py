"""`torch.distributed.tensor.placement_types`: how a tensor lies over devices.

They say so to plans that name them; there are no tensors that lie over devices here.
"""

from __future__ import annotations

from dataclasses import dataclass, field


class Placement:
    """How one dim of a mesh of devices sees a tensor."""

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether each device has a part, along a dim if one is given."""
        own = getattr(self, "dim", None)
        return own is not None and dim in (None, own)

    def is_replicate(self) -> bool:
        """Whether each device has the whole."""
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Whether each device has a term of a reduction, by a certain op if given."""
        return isinstance(self, Partial) and reduce_op in (None, self.reduce_op)


@dataclass(frozen=True)
class Replicate(Placement):
    """Each device has the whole."""

    def __str__(self) -> str:
        return "R"


@dataclass(frozen=True)
class Shard(Placement):
    """Each device has a part of a dim."""

    dim: int

    def __str__(self) -> str:
        return f"S({self.dim})"


@dataclass(frozen=True)
class _StridedShard(Shard):
    """Each device has a part of each of several parts of a dim."""

    split_factor: int = field(kw_only=True)

    def __str__(self) -> str:
        return f"_S({self.dim}, {self.split_factor})"


@dataclass(frozen=True)
class Partial(Placement):
    """Each device has a term of what is reduced to the whole."""

    reduce_op: str = "sum"

    def __str__(self) -> str:
        return f"P({self.reduce_op})"


__all__ = ["Partial", "Placement", "Replicate", "Shard", "_StridedShard"]
