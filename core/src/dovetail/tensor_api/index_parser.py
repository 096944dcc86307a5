"""Reading an index as NumPy and torch do: cuts, new dims, tensors of indices, masks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from dovetail.dtypes import bool_, int32, int64, uint8
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ArgumentTypeError, IndexOutOfRange
from dovetail.frontend.create import _moved, tensor
from dovetail.ops.masked import mask_indices
from dovetail.ops.primitive import cast

_MASKS: Final = (bool_, uint8)
_PLACES: Final = (int64, int32, *_MASKS)


class Parsed(NamedTuple):
    """What an index means: cuts, then new dims, then tensors of indices.

    Attributes:
        cuts: an int or slice for each dim of the tensor, from the first.
        fresh: where dims of size 1 are inserted after that, ascending.
        advanced: then a tensor of indices or None for each dim; None if none has one.
        mask: the index where it is one mask of the tensor's shape, and all else empty.
    """

    cuts: tuple[Any, ...]
    fresh: tuple[int, ...]
    advanced: list[Tensor | None] | None
    mask: Tensor | None = None


WHOLE: Final = slice(None)


_LONGEST: Final = 31  # list that may be meant as a tuple, as in NumPy once


def _counts_dims(index: Any) -> bool:
    """Whether an index has an entry a dim: a tuple, or a list that torch takes as one.

    That is a short one in which there is anything but numbers.
    """
    if isinstance(index, tuple):
        return True
    if isinstance(index, Tensor | np.ndarray | str) or not isinstance(index, Sequence):
        return False
    return len(index) <= _LONGEST and any(
        e is None or e is Ellipsis
        or isinstance(e, slice | Tensor | np.ndarray | Sequence)
        for e in index
    )  # fmt: skip


def parse(x: Tensor, index: Any) -> Parsed:
    """Read an index as NumPy and torch do.

    Raises:
        IndexOutOfRange: more indices than dims, or a mask of another shape.
    """
    given = tuple(index) if _counts_dims(index) else (index,)
    entries = _without_ellipsis([_entry(e, x) for e in given], x.ndim)
    if len(entries) == 1 and _is_mask(entries[0]) and entries[0].ndim == x.ndim > 0:
        _check_mask(entries[0], x, 0)
        return Parsed((), (), None, _as_bool(entries[0]))
    cuts: list[Any] = []
    fresh: list[int] = []
    tensors: list[Tensor | None] = []
    for entry in entries:
        if entry is None:
            fresh.append(len(tensors))
            tensors.append(None)
        elif isinstance(entry, slice):
            cuts.append(entry)
            tensors.append(None)
        elif isinstance(entry, int):
            cuts.append(entry)
        elif _is_mask(entry) and not entry.ndim:
            fresh.append(len(tensors))
            tensors.append(tensor([0] * bool(entry), dtype=int64, device=x.device))
        elif _is_mask(entry):
            _check_mask(entry, x, len(cuts))
            cuts += [WHOLE] * entry.ndim
            tensors += mask_indices(_as_bool(entry))
        else:
            cuts.append(WHOLE)
            tensors.append(entry)
    if len(cuts) > x.ndim:
        raise IndexOutOfRange(
            "indexing", "number of indices", was=len(cuts),
            needed=f"at most {x.ndim}, the dims of {tuple(x.shape)}",
        )  # fmt: skip
    advanced = None if all(t is None for t in tensors) else tensors
    return Parsed(tuple(cuts), tuple(fresh), advanced)


def _is_mask(entry: Any) -> bool:
    return isinstance(entry, Tensor) and entry.dtype in _MASKS


def _as_bool(mask: Tensor) -> Tensor:
    return mask if mask.dtype is bool_ else cast(mask, bool_)


def _check_mask(mask: Tensor, x: Tensor, dim: int) -> None:
    have, want = tuple(mask._a.shape), tuple(x._a.shape[dim : dim + mask.ndim])
    if have != want:
        raise IndexOutOfRange(
            "indexing", "mask", was=f"of shape {have} at dim {dim}",
            needed=f"{want}, the sizes of the dims that it indexes",
        )  # fmt: skip


def _entry(entry: Any, x: Tensor) -> Any:
    """One index: None, Ellipsis, int, slice or tensor."""
    if entry is None or entry is Ellipsis:
        return entry
    if isinstance(entry, slice):
        return _slice(entry)
    if isinstance(entry, bool | np.bool_):
        return tensor(bool(entry), device=x.device)
    if isinstance(entry, int | np.integer):
        return int(entry)
    if isinstance(entry, list | tuple | range | np.ndarray):
        found = tensor(
            entry if isinstance(entry, np.ndarray) else list(entry), device=x.device
        )
        return found if found.numel() else cast(found, int64)
    if isinstance(entry, Tensor):
        return _tensor_entry(entry, x)
    if hasattr(entry, "__index__") and not isinstance(entry, type):
        return entry.__index__()
    raise ArgumentTypeError(
        "indexing", "index", was=repr(entry),
        needed="ints, slices, None, ..., tensors or lists of ints or bools",
    )  # fmt: skip


def _tensor_entry(entry: Tensor, x: Tensor) -> Any:
    if entry.dtype.is_inexact:
        raise IndexOutOfRange(
            "indexing", "index",
            was=f"a {entry.dtype.name} tensor: tensors used as indices "
            "must be integer or bool", needed="an integer or bool tensor",
            remedy="cast it with .long()",
        )  # fmt: skip
    if entry.dtype not in _PLACES:
        raise IndexOutOfRange(
            "indexing", "index",
            was=f"a {entry.dtype.name} tensor", needed="one of int64, int32, uint8 or "
            "bool: tensors used as indices must be long, int, byte or bool tensors",
            remedy="cast it with .long()",
        )  # fmt: skip
    several = entry._kind.backend.stands_for is not None
    if not entry.ndim and entry.dtype not in _MASKS and not several:
        return int(entry.item())
    if entry._kind.backend is not x._kind.backend and entry._kind.backend.type == "cpu":
        return _moved(entry, x._kind.with_dtype(entry.dtype))
    return entry


def _slice(entry: slice) -> slice:
    parts = [
        int(p.item()) if isinstance(p, Tensor) else p
        for p in (entry.start, entry.stop, entry.step)
    ]
    if parts[2] is not None and parts[2] <= 0:
        raise ArgumentError(
            "indexing", "slice step", was=parts[2],
            needed="1 or more: step must be positive",
            remedy="use flip() to reverse",
        )  # fmt: skip
    return slice(*parts)


def _without_ellipsis(entries: list[Any], ndim: int) -> list[Any]:
    """The dims that the first `...` stands for, whole; further ones add none."""
    at = next((i for i, e in enumerate(entries) if e is Ellipsis), None)
    if at is None:
        return entries
    left = ndim - sum(map(_dims_of, entries))
    after = entries[at + 1 :]
    second = next((i for i, e in enumerate(after) if e is Ellipsis), len(after))
    beyond = after[second:]
    if left > 0 and any(e is not Ellipsis for e in beyond):
        raise IndexOutOfRange(
            "indexing", "...", was="given twice before an index",
            needed="one, since the first takes all dims that are left",
        )  # fmt: skip
    return [*entries[:at], *[WHOLE] * left, *(e for e in after if e is not Ellipsis)]


def _dims_of(entry: Any) -> int:
    """How many dims an index takes."""
    if entry is None or entry is Ellipsis:
        return 0
    return int(entry.ndim) if _is_mask(entry) else 1
