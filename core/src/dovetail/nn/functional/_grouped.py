"""Products of groups of rows with a matrix each, as layers of experts have them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from dovetail.dtypes import DType, int32
from dovetail.engine.public import public
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, DTypeError, NotSupported, ShapeError
from dovetail.ops.shape import cat, stack

_DIMS: Final = (2, 3)


@dataclass(frozen=True, slots=True)
class Groups:
    """Which matrices two operands are multiplied as.

    Attributes:
        pairs: of each group, its parts of the two.
        dim: of the result, the dim that is cut; None where groups are stacked.
        rest: rows or columns of the result that no group has.
    """

    pairs: list[tuple[Tensor, Tensor]]
    dim: int | None
    rest: int

    def joined(self, parts: Sequence[Tensor]) -> Tensor:
        """The groups' products as one tensor, zeros where there is no group."""
        if self.dim is None:
            return stack(list(parts))
        parts = [*parts]
        if self.rest:
            shape = list(parts[0].shape)
            shape[self.dim] = self.rest
            parts.append(parts[0].new_zeros(shape))
        return cat(parts, self.dim)


def groups_of(name: str, a: Tensor, b: Tensor, offs: Tensor | None) -> Groups:
    """How two operands are cut.

    Args:
        a: [rows, k], or [groups, rows, k].
        b: [k, columns], or [groups, k, columns].
        offs: int32 [groups], where each group ends in what is cut: the rows of `a`
            where only `b` has groups, the columns of `b` where only `a` has, k where
            neither has; None where both have.

    Raises: ShapeError, DTypeError, or ArgumentError for ends that are none.
    """
    _check_dims(name, a, b)
    both = a.ndim == b.ndim == 3
    if both != (offs is None):
        raise ArgumentError(
            name, "offs", was="given" if both else "None",
            needed="None, as both operands have groups" if both
            else "the end of each group, as one operand is not cut into groups",
        )  # fmt: skip
    if offs is None:
        return Groups(list(zip(a.unbind(0), b.unbind(0), strict=True)), None, 0)
    if a.ndim == b.ndim:
        spans = _spans(name, offs, a.shape[1], None)
        return Groups([(a[:, i:j], b[i:j]) for i, j in spans], None, 0)
    if a.ndim == 3:
        spans = _spans(name, offs, b.shape[1], len(a))
        pairs = [(x, b[:, i:j]) for x, (i, j) in zip(a.unbind(0), spans, strict=True)]
        return Groups(pairs, 1, b.shape[1] - spans[-1][1])
    spans = _spans(name, offs, len(a), len(b))
    pairs = [(a[i:j], x) for x, (i, j) in zip(b.unbind(0), spans, strict=True)]
    return Groups(pairs, 0, len(a) - spans[-1][1])


def _check_dims(name: str, a: Tensor, b: Tensor) -> None:
    for argument, x in (("mat_a", a), ("mat_b", b)):
        if x.ndim not in _DIMS:
            raise ShapeError(
                name, argument, was=f"of shape {tuple(x.shape)}", needed="2 or 3 dims"
            )
    if a.shape[-1] != b.shape[-2]:
        raise ShapeError(
            name, "mat_b", was=f"of shape {tuple(b.shape)}",
            needed=f"{a.shape[-1]} in its last dim but one, as mat_a has in its last",
        )  # fmt: skip
    if a.ndim == b.ndim == 3 and len(a) != len(b):
        raise ShapeError(
            name, "mat_b", was=f"{len(b)} groups", needed=f"{len(a)}, as mat_a has"
        )


def _spans(
    name: str, offs: Tensor, whole: int, count: int | None
) -> list[tuple[int, int]]:
    """Where groups begin and end, as Python numbers: shapes follow from them.

    Args:
        whole: the size of what is cut.
        count: how many groups there are, where that is known.
    """
    if offs.dtype is not int32:
        raise DTypeError(name, "offs", was=offs.dtype.name, needed="int32")
    if offs.ndim != 1 or not offs.numel() or count not in (None, offs.numel()):
        raise ShapeError(
            name, "offs", was=f"of shape {tuple(offs.shape)}",
            needed=f"[{'groups' if count is None else count}], an end for each group",
        )  # fmt: skip
    ends: list[int] = offs.tolist()
    spans = list(zip([0, *ends[:-1]], ends, strict=True))
    if any(i > j for i, j in [*spans, (ends[-1], whole)]):
        raise ArgumentError(
            name, "offs", was=ends, needed=f"ends that do not decrease, up to {whole}"
        )
    return spans


def refuse_bias(name: str, bias: Tensor | None) -> None:
    """A bias has no shape that all ways to cut share."""
    if bias is not None:
        raise NotSupported(
            name, "bias", was="a tensor", needed="None", remedy="add it to the result"
        )


@public("F.grouped_mm")
def grouped_mm(
    mat_a: Tensor, mat_b: Tensor, *, offs: Tensor | None = None,
    bias: Tensor | None = None, out_dtype: DType | None = None,
) -> Tensor:  # fmt: skip
    """Products of groups: of rows with a matrix each, as `offs` cuts them.

    Args:
        mat_a: floats [rows, k], or [groups, rows, k].
        mat_b: of the same dtype, [k, columns] or [groups, k, columns].
        offs: int32 [groups], where each group ends in the dim that is cut: rows where
            only `mat_b` has groups, columns where only `mat_a` has, k where neither
            has. None where both have. The host waits for it.
        bias: None.
        out_dtype: that of `mat_a`, or None.

    Returns: [rows, columns], zeros beyond the last group; [groups, rows, columns] where
    both or neither have groups.

    Examples:
        >>> import dovetail
        >>> rows, experts = dovetail.ones(3, 2), dovetail.ones(2, 2, 1)
        >>> ends = dovetail.tensor([1, 3], dtype=dovetail.int32)
        >>> dovetail.nn.functional.grouped_mm(rows, experts, offs=ends)
        tensor([[2.],
                [2.],
                [2.]])
    """
    refuse_bias("grouped_mm", bias)
    if not mat_a.dtype.is_floating_point:
        raise DTypeError("grouped_mm", "mat_a", was=mat_a.dtype.name, needed="floats")
    if mat_b.dtype is not mat_a.dtype:
        raise DTypeError(
            "grouped_mm", "mat_b", was=mat_b.dtype.name,
            needed=f"{mat_a.dtype.name}, as mat_a is",
        )  # fmt: skip
    if out_dtype not in (None, mat_a.dtype):
        raise DTypeError(
            "grouped_mm", "out_dtype", was=out_dtype, needed=mat_a.dtype.name
        )
    groups = groups_of("grouped_mm", mat_a, mat_b, offs)
    if offs is None:
        return mat_a @ mat_b
    return groups.joined([a @ b for a, b in groups.pairs])
