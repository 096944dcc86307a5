"""torch's names for margins around a tensor."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

from dovetail.dtypes import FLOAT8, Sizes, float64, uint8
from dovetail.engine.autocast import as_one
from dovetail.engine.elements import operand, stored
from dovetail.engine.public import public
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ArgumentTypeError, ShapeError
from dovetail.ops import pad as margins
from dovetail.ops.complex import complex as complex_of
from dovetail.ops.complex import imag, real
from dovetail.ops.formats import bitcast

_REMEMBERED: Final = 256  # margins


@public("F.pad")
def pad(
    input: Tensor, pad: Sequence[int], mode: str = "constant",
    value: float | None = None,
) -> Tensor:  # fmt: skip
    """Margins before and after each dim, the last dim's first, as torch.nn.functional.

    Reads no values; negative sizes cut elements off.

    Args:
        pad: a pair of sizes for the last dim, then for the one before, and so on.
        mode: "constant", "reflect", "replicate" or "circular".
        value: what a constant margin has; 0 unless given.

    Raises: ArgumentError for sizes that are no pairs, or too many.

    >>> F.pad(torch.tensor([1, 2]), (1, 2))
    tensor([0, 1, 2, 0, 0])
    """
    pairs, whole = _sides(tuple(map(int, pad)), input.ndim)
    if mode == "constant":
        element = stored("pad", input.dtype, _margin(value))
        return margins.constant_pad(input, whole, element)
    if value is not None and value != 0:
        raise ArgumentError("pad", "value", was=value, needed=f"none in mode {mode!r}")
    if input.ndim not in (pairs + 1, pairs + 2) or pairs > 3:
        raise ShapeError(
            "pad", "input", was=f"{input.ndim}-d with {pairs} padded dims",
            needed=f"1 to 3 padded dims behind one or two others in mode {mode!r}",
        )  # fmt: skip
    if mode != "circular" and 0 in tuple(input.shape)[-pairs - 1 :]:
        raise ShapeError(
            "pad", "input", was=f"of shape {tuple(input.shape)}",
            needed=f"elements in all dims but the batch in mode {mode!r}",
        )  # fmt: skip
    if mode != "circular":
        return _mirrored(input, whole, pairs, mode)
    if input.dtype in FLOAT8 and not input.requires_grad:  # moved, not computed with
        moved = margins.margin_pad(bitcast(input, uint8), whole, mode)
        return bitcast(moved, input.dtype)
    return margins.margin_pad(input, whole, mode)


@lru_cache(_REMEMBERED)
def _sides(sizes: Sizes, dims: int) -> tuple[int, Sizes]:
    """How many dims have margins, and the sizes of all, the first dim's first."""
    if len(sizes) % 2 or len(sizes) > 2 * dims:
        raise ArgumentError(
            "pad", "pad", was=sizes, needed=f"pairs for at most {dims} dims"
        )
    pairs = [sizes[i : i + 2] for i in range(0, len(sizes), 2)][::-1]
    whole = (0,) * (2 * (dims - len(pairs))) + tuple(n for p in pairs for n in p)
    return len(pairs), whole


def _mirrored(input: Tensor, whole: Sizes, pairs: int, mode: str) -> Tensor:
    """Margins by `reflect` and `replicate`, of which some padded dim has to be left."""
    shape = tuple(input.shape)
    sides = list(zip(shape, whole[::2], whole[1::2], strict=True))[-pairs:]
    left = [n + before + after for n, before, after in sides]
    if max(left) < 1 or min(left) < 0:
        raise ShapeError(
            "pad", "pad", was=f"{whole}, for {shape}",
            needed=f"sizes that leave elements in mode {mode!r}",
        )  # fmt: skip
    return _wide_margins(input, whole, mode)


_wide_margins: Final = as_one(margins.margin_pad, "float32")


def _margin(value: Any) -> float:
    """The value of margins, which torch takes as a float."""
    if value is None:
        return 0.0
    if not isinstance(value, int | float):
        raise ArgumentTypeError(
            "pad", "value", was=f"a {type(value).__name__}", needed="a real number"
        )
    margin: float = operand("pad", float64, value, "value")
    return margin


@public("torch.constant_pad_nd")
def constant_pad_nd(input: Tensor, pad: Sequence[int], value: complex = 0) -> Tensor:
    """Margins of one value, the last dim's first."""
    margin: Any = value
    if isinstance(margin, complex) and input.dtype.is_complex:
        parts = ((real(input), margin.real), (imag(input), margin.imag))
        return complex_of(*(_constant_pad(x, pad, "constant", v) for x, v in parts))
    return _constant_pad(input, pad, "constant", margin)


_constant_pad = pad
