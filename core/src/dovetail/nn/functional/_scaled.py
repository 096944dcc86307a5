"""Products of 8-bit floats that have scales."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from itertools import pairwise
from typing import Any

from dovetail.dtypes import DType, bfloat16, float32
from dovetail.engine.public import public
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, DTypeError, NotSupported, ShapeError
from dovetail.nn.functional._grouped import groups_of, refuse_bias


class ScalingType(IntEnum):
    """What shares a scale: a whole matrix, a row of it, or a block."""

    TensorWise = 0
    RowWise = 1
    BlockWise1x16 = 2
    BlockWise1x32 = 3
    BlockWise1x128 = 4
    BlockWise128x128 = 5


class SwizzleType(IntEnum):
    """How scales of blocks lie in memory."""

    NO_SWIZZLE = 0
    SWIZZLE_32_4_4 = 1


Scales = Tensor | list[Tensor]
Recipes = ScalingType | list[ScalingType]
Swizzles = SwizzleType | list[SwizzleType] | None


@public("F.scaled_mm")
def scaled_mm(
    mat_a: Tensor, mat_b: Tensor, scale_a: Scales, scale_recipe_a: Recipes,
    scale_b: Scales, scale_recipe_b: Recipes, swizzle_a: Swizzles = None,
    swizzle_b: Swizzles = None, bias: Tensor | None = None,
    output_dtype: DType | None = bfloat16, contraction_dim: Sequence[int] = (),
    use_fast_accum: bool = False,
) -> Tensor:  # fmt: skip
    """`(mat_a * scale_a) @ (mat_b * scale_b) + bias`, of 8-bit floats.

    Args:
        mat_a: 8-bit floats [rows, k]; mat_b: the same, [k, columns].
        scale_a: float32, of one element (TensorWise) or [rows, 1] (RowWise); scale_b:
            of one element or [1, columns].
        scale_recipe_a, scale_recipe_b: TensorWise or RowWise, both the same.
        swizzle_a, swizzle_b: None or NO_SWIZZLE.
        bias: [columns].
        output_dtype: of the result; that of `mat_a` if None.
        contraction_dim: nothing, or (1, 0).
        use_fast_accum: for torch's sake; sums are of float32.

    Returns: [rows, columns].
    """
    name = "scaled_mm"
    recipe = _recipe(name, scale_recipe_a, scale_recipe_b, swizzle_a, swizzle_b)
    _check_matrices(name, mat_a, mat_b, contraction_dim)
    for argument, x in (("mat_a", mat_a), ("mat_b", mat_b)):
        if x.ndim != 2:
            raise ShapeError(
                name, argument, was=f"of shape {tuple(x.shape)}", needed="2 dims"
            )
    if mat_a.shape[1] != mat_b.shape[0]:
        raise ShapeError(
            name, "mat_b", was=f"of shape {tuple(mat_b.shape)}",
            needed=f"[{mat_a.shape[1]}, columns], as mat_a has",
        )  # fmt: skip
    rows, columns = mat_a.shape[0], mat_b.shape[1]
    whole = recipe is ScalingType.TensorWise
    a = _scale(name, "scale_a", scale_a, (1, 1) if whole else (rows, 1), whole)
    b = _scale(name, "scale_b", scale_b, (1, 1) if whole else (1, columns), whole)
    result = (mat_a.to(float32) @ mat_b.to(float32)) * a * b
    if bias is not None:
        result = result + bias
    return result.to(mat_a.dtype if output_dtype is None else output_dtype)


@public("F.scaled_grouped_mm")
def scaled_grouped_mm(
    mat_a: Tensor, mat_b: Tensor, scale_a: Scales, scale_recipe_a: Recipes,
    scale_b: Scales, scale_recipe_b: Recipes, swizzle_a: Swizzles = None,
    swizzle_b: Swizzles = None, bias: Tensor | None = None, offs: Tensor | None = None,
    output_dtype: DType | None = bfloat16, contraction_dim: Sequence[int] = (),
    use_fast_accum: bool = False,
) -> Tensor:  # fmt: skip
    """`grouped_mm` of 8-bit floats whose rows and columns have scales.

    Args:
        mat_a, mat_b, offs: as of `grouped_mm`, 8-bit floats.
        scale_a: float32, one for each row of each group: [rows] where rows are cut,
            [groups, rows] where `mat_a` has groups, [groups * rows] where k is cut.
        scale_b: the same of columns.
        scale_recipe_a, scale_recipe_b: RowWise.
        bias: None.
        output_dtype: of the result; that of `mat_a` if None.

    Returns: as `grouped_mm`.
    """
    name = "scaled_grouped_mm"
    recipe = _recipe(name, scale_recipe_a, scale_recipe_b, swizzle_a, swizzle_b)
    if recipe is not ScalingType.RowWise:
        raise NotSupported(name, "scale_recipe_a", was=recipe.name, needed="RowWise")
    refuse_bias(name, bias)
    _check_matrices(name, mat_a, mat_b, contraction_dim)
    groups = groups_of(name, mat_a, mat_b, offs)
    count = len(groups.pairs)
    each = [(len(a), b.shape[1]) for a, b in groups.pairs]
    cuts_rows, cuts_columns = mat_b.ndim > mat_a.ndim, mat_a.ndim > mat_b.ndim
    left = _by_group(
        name, "scale_a", scale_a, count, mat_a.shape[-2], cuts_rows, mat_a.ndim,
        [rows for rows, _ in each],
    )  # fmt: skip
    right = _by_group(
        name, "scale_b", scale_b, count, mat_b.shape[-1], cuts_columns, mat_b.ndim,
        [columns for _, columns in each],
    )  # fmt: skip
    parts = [
        (a.to(float32) @ b.to(float32)) * x[:, None] * y
        for (a, b), x, y in zip(groups.pairs, left, right, strict=True)
    ]
    result = groups.joined(parts)
    return result.to(mat_a.dtype if output_dtype is None else output_dtype)


def _by_group(
    name: str, argument: str, scale: Scales, count: int, size: int, cut: bool,
    ndim: int, each: list[int],
) -> list[Tensor]:  # fmt: skip
    """The scales of each group's rows, or columns."""
    if cut:
        found = _scale(name, argument, scale, (size,), False)
        ends = [sum(each[:i]) for i in range(count + 1)]
        return [found[i:j] for i, j in pairwise(ends)]
    shape = (count, size) if ndim == 3 else (count * size,)
    found = _scale(name, argument, scale, shape, False)
    return list(found.reshape(count, size).unbind(0))


def _recipe(
    name: str, recipe_a: Recipes, recipe_b: Recipes, *swizzles: Swizzles
) -> ScalingType:
    """What shares a scale, in both operands."""
    a = _only(name, "scale_recipe_a", recipe_a)
    b = _only(name, "scale_recipe_b", recipe_b)
    if a != b or a not in (ScalingType.TensorWise, ScalingType.RowWise):
        raise ArgumentError(
            name, "scale_recipe_a", was=f"{a!r} beside {b!r}",
            needed="TensorWise or RowWise, for both operands",
        )  # fmt: skip
    for argument, swizzle in zip(("swizzle_a", "swizzle_b"), swizzles, strict=True):
        if swizzle not in (None, [], SwizzleType.NO_SWIZZLE, [SwizzleType.NO_SWIZZLE]):
            raise NotSupported(
                name, argument, was=repr(swizzle), needed="NO_SWIZZLE",
                remedy="scales of tensors and rows have no blocks to rearrange",
            )  # fmt: skip
    return ScalingType(a)


def _only(name: str, argument: str, given: Any) -> Any:
    """The member of a list of one, or what is no list."""
    if not isinstance(given, list | tuple):
        return given
    if len(given) != 1:
        raise ArgumentError(name, argument, was=f"{len(given)} of them", needed="one")
    return given[0]


def _check_matrices(
    name: str, a: Tensor, b: Tensor, contraction: Sequence[int]
) -> None:
    for argument, x in (("mat_a", a), ("mat_b", b)):
        if not (x.dtype.is_floating_point and x.dtype.itemsize == 1):
            raise DTypeError(name, argument, was=x.dtype.name, needed="8-bit floats")
    if tuple(contraction) not in ((), (1, 0), (-1, -2)):
        raise ArgumentError(
            name, "contraction_dim", was=tuple(contraction), needed="() or (1, 0)"
        )


def _scale(
    name: str, argument: str, given: Scales, shape: tuple[int, ...], whole: bool
) -> Tensor:
    """One scale or as many as there are rows, checked."""
    scale: Tensor = _only(name, argument, given)
    if scale.dtype is not float32:
        raise DTypeError(name, argument, was=scale.dtype.name, needed="float32")
    if (scale.numel() == 1) if whole else (tuple(scale.shape) == shape):
        return scale.reshape(shape)
    raise ShapeError(
        name, argument, was=f"of shape {tuple(scale.shape)}",
        needed="one element" if whole else f"of shape {shape}",
    )  # fmt: skip
