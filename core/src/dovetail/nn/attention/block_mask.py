"""Masks by blocks: which keys a query sees, as a function of the user's says."""

# ruff: noqa: N803  torch's names

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dovetail import dtypes
from dovetail import frontend as ft
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError
from dovetail.func.mapping import vmap
from dovetail.nn import functional

# Of a batch, a head, a query and a key: whether the key is seen.
MaskMod = Callable[[Any, Any, Any, Any], Any]
_DEFAULT_SPARSE_BLOCK_SIZE: Final = 128  # torch's name: programs import it
_Sides = int | tuple[int, int]


def by_places(function: Callable[..., Any], dims: int) -> Callable[..., Any]:
    """A function of one place, of all: batches, heads, queries and keys.

    Args:
        function: of `dims` tensors, then of the indices of batch, head, query and key.
        dims: how many of its arguments are [batch, head, query, key].
    """
    for axis in (3, 2, 1, 0):
        indices: list[int | None] = [None] * 4
        indices[axis] = 0
        function = vmap(function, in_dims=(*([0] * dims), *indices))
    return function


def places(shape: tuple[int, ...], device: Any) -> list[Tensor]:
    """The indices of each of four dims."""
    return [ft.arange(n, device=device) for n in shape]


def noop_mask(batch: Any, head: Any, token_q: Any, token_kv: Any) -> Any:
    """A mask by which every key is seen."""
    return ft.ones_like(token_q, dtype=dtypes.bool_)


def and_masks(*mask_mods: MaskMod) -> MaskMod:
    """A mask by which a key is seen that all of several masks let be seen."""
    _check_all("and_masks", mask_mods)

    def both(b: Any, h: Any, q: Any, kv: Any) -> Any:
        seen = noop_mask(b, h, q, kv)
        for mask in mask_mods:
            seen = seen & mask(b, h, q, kv)
        return seen

    return both


def or_masks(*mask_mods: MaskMod) -> MaskMod:
    """A mask by which a key is seen that one of several masks lets be seen."""
    _check_all("or_masks", mask_mods)

    def either(b: Any, h: Any, q: Any, kv: Any) -> Any:
        seen = ~noop_mask(b, h, q, kv)
        for mask in mask_mods:
            seen = seen | mask(b, h, q, kv)
        return seen

    return either


def _check_all(name: str, functions: tuple[Any, ...]) -> None:
    for i, function in enumerate(functions):
        if not callable(function):
            raise ArgumentError(
                name, f"mask_mods[{i}]", was=repr(function), needed="a function"
            )


def create_mask(
    mod_fn: Callable[..., Any], B: int | None, H: int | None, Q_LEN: int, KV_LEN: int,
    device: Any = None,
) -> Tensor:  # fmt: skip
    """What a function of places says of each: [B, H, Q_LEN, KV_LEN].

    Args:
        mod_fn: a mask, or what changes scores, which is given scores of 0.
        B, H: how many batches and heads; None for one.
    """
    shape = (B or 1, H or 1, Q_LEN, KV_LEN)
    indices = places(shape, device)
    if _takes_scores(mod_fn):
        zeros = ft.zeros(shape, device=device)
        scores: Tensor = by_places(mod_fn, 1)(zeros, *indices)
        return scores.isinf().logical_not()
    seen: Tensor = by_places(mod_fn, 0)(*indices)
    return seen


def _takes_scores(function: Any) -> bool:
    from inspect import Parameter, signature

    kinds = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    taken = [
        p for p in signature(function).parameters.values()
        if p.kind in kinds and p.default is Parameter.empty
    ]  # fmt: skip
    return len(taken) == 5


class BlockMask:
    """Which blocks of keys each block of queries sees, and the mask within them.

    Attributes:
        kv_num_blocks: [B, H, blocks of queries], how many blocks of keys each sees.
        kv_indices: [B, H, blocks of queries, blocks of keys], which: those first.
        BLOCK_SIZE: how many queries and keys are in a block.
        mask_mod: which keys are seen within the blocks.
        seq_lengths: how many queries and keys there are.
    """

    def __init__(
        self, kv_num_blocks: Tensor, kv_indices: Tensor,
        BLOCK_SIZE: int | tuple[int, int], mask_mod: MaskMod | None,
        seq_lengths: tuple[int, int] | None,
    ) -> None:  # fmt: skip
        size = BLOCK_SIZE
        self.BLOCK_SIZE = (size, size) if isinstance(size, int) else size
        self.kv_num_blocks, self.kv_indices = kv_num_blocks, kv_indices
        self.mask_mod = noop_mask if mask_mod is None else mask_mod
        blocks = kv_num_blocks.shape[-1], kv_indices.shape[-1]
        whole = (blocks[0] * self.BLOCK_SIZE[0], blocks[1] * self.BLOCK_SIZE[1])
        self.seq_lengths = whole if seq_lengths is None else seq_lengths

    @classmethod
    def from_kv_blocks(
        cls, kv_num_blocks: Tensor, kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None = None, full_kv_indices: Tensor | None = None,
        BLOCK_SIZE: _Sides = _DEFAULT_SPARSE_BLOCK_SIZE,
        mask_mod: MaskMod | None = None,
        seq_lengths: tuple[int, int] | None = None, compute_q_blocks: bool = True,
    ) -> BlockMask:  # fmt: skip
        """A mask by its blocks; those that are full are seen without `mask_mod` too."""
        if full_kv_num_blocks is not None and full_kv_indices is not None:
            seen = _dense(kv_num_blocks, kv_indices)
            seen = seen | _dense(full_kv_num_blocks, full_kv_indices)
            kv_num_blocks, kv_indices = _sparse(seen)
        return cls(kv_num_blocks, kv_indices, BLOCK_SIZE, mask_mod, seq_lengths)

    @property
    def shape(self) -> tuple[int, ...]:
        """[B, H, queries, keys]."""
        return (*self.kv_num_blocks.shape[:-1], *self.seq_lengths)

    def numel(self) -> int:
        """How many pairs of a query and a key there are."""
        total = 1
        for n in self.shape:
            total *= n
        return total

    def to_dense(self) -> Tensor:
        """Which blocks are seen: [B, H, blocks of queries, blocks of keys]."""
        return _dense(self.kv_num_blocks, self.kv_indices)

    def sparsity(self) -> float:
        """How many blocks in a hundred are not seen."""
        return 100.0 * (1.0 - float(self.to_dense().double().mean().item()))

    def as_tuple(self, flatten: bool = True) -> tuple[Any, ...]:
        """All that it is made of."""
        sizes = (*self.seq_lengths, *self.BLOCK_SIZE) if flatten else (
            self.seq_lengths, self.BLOCK_SIZE
        )  # fmt: skip
        return (self.kv_num_blocks, self.kv_indices, *sizes, self.mask_mod)

    def to(self, device: Any) -> BlockMask:
        """The same mask on a device."""
        return BlockMask(
            self.kv_num_blocks.to(device), self.kv_indices.to(device), self.BLOCK_SIZE,
            self.mask_mod, self.seq_lengths,
        )  # fmt: skip

    def seen(self, shape: tuple[int, ...]) -> Tensor:
        """Which keys each query of [batch, head, query, key] sees."""
        if shape[-2:] != self.seq_lengths:
            raise ArgumentError(
                "flex_attention", "block_mask", was=f"for lengths {self.seq_lengths}",
                needed=f"one for {shape[-2:]}", remedy="create_block_mask anew",
            )  # fmt: skip
        blocks = self.to_dense()
        for dim, size in ((-2, self.BLOCK_SIZE[0]), (-1, self.BLOCK_SIZE[1])):
            blocks = blocks.repeat_interleave(size, dim)
        within = blocks[..., : shape[-2], : shape[-1]]
        device = self.kv_indices.device
        seen: Tensor = within & by_places(self.mask_mod, 0)(*places(shape, device))
        return seen

    def __repr__(self) -> str:
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%)"


def _dense(counts: Tensor, indices: Tensor) -> Tensor:
    """Which blocks are seen, by their numbers."""
    order = ft.arange(indices.shape[-1], device=indices.device)
    listed = (order < counts.unsqueeze(-1)).to(dtypes.int32)
    seen: Tensor = ft.zeros_like(listed).scatter_add(-1, indices.long(), listed) > 0
    return seen


def _sparse(seen: Tensor) -> tuple[Tensor, Tensor]:
    """How many blocks are seen, and their numbers, those first."""
    whole = seen.to(dtypes.int32)
    order = ft.argsort(whole, dim=-1, descending=True, stable=True)
    return whole.sum(-1).to(dtypes.int32), order.to(dtypes.int32)


def create_block_mask(
    mask_mod: MaskMod, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int,
    device: Any = None, BLOCK_SIZE: _Sides = _DEFAULT_SPARSE_BLOCK_SIZE,
    _compile: bool = False,
) -> BlockMask:  # fmt: skip
    """The blocks in which a mask lets a query see a key.

    Args:
        mask_mod: of the indices of batch, head, query and key: whether it is seen.
        B, H: how many batches and heads; None where the mask is the same for all.
        BLOCK_SIZE: how many queries and keys are in a block.
    """
    size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    rows, columns = (-Q_LEN) % size[0], (-KV_LEN) % size[1]
    if rows or columns:
        mask = functional.pad(mask, (0, columns, 0, rows), value=False)
    cut = mask.unflatten(-1, (-1, size[1])).unflatten(-3, (-1, size[0]))
    counts, order = _sparse(cut.any(-1).any(-2))
    return BlockMask(counts, order, size, mask_mod, (Q_LEN, KV_LEN))


__all__ = [
    "BlockMask", "and_masks", "create_block_mask", "create_mask", "noop_mask",
    "or_masks",
]  # fmt: skip
