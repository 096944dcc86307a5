"""How a loss of many classes is cut into chunks."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from dovetail.dtypes import DType, bfloat16, float16, float32, float64
from dovetail.engine.annotations import conforms, described, wanted
from dovetail.errors import ArgumentError, ArgumentTypeError

_POLICIES = ("accurate", "balanced", "compact", "auto")
_FLOATS = (float16, bfloat16, float32, float64)


@dataclass(frozen=True, slots=True)
class LinearCrossEntropyOptions:
    """In how many rows at once `linear_cross_entropy` makes its logits.

    That saves memory where no gradient is recorded; where one is, the logits of all
    chunks are kept for it.

    Attributes:
        batch_chunk_size: rows of a chunk.
        chunking_method: how they are chosen if not given: "auto", "aspect_ratio" or
            "aspect_ratio:k", by which a chunk of logits is k times as large as the
            input; None for one chunk.
        allow_retain_graph, acc_policy, acc_dtype: how torch keeps and adds up the
            gradients that it makes ahead; of no consequence here.
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: DType | None = None

    def __post_init__(self) -> None:
        op, size = "LinearCrossEntropyOptions", self.batch_chunk_size
        for each in fields(self):
            value = getattr(self, each.name)
            if not conforms(str(each.type), value):
                raise ArgumentTypeError(
                    op, each.name, was=described(value), needed=wanted(str(each.type))
                )
        if size is not None and size < 1:
            raise ArgumentError(op, "batch_chunk_size", was=size, needed="1 or more")
        if self.acc_policy not in _POLICIES:
            raise ArgumentError(
                op, "acc_policy", was=repr(self.acc_policy),
                needed=f"one of {_POLICIES}",
            )  # fmt: skip
        if self.acc_dtype not in (None, *_FLOATS):
            raise ArgumentError(
                op, "acc_dtype", was=self.acc_dtype,
                needed="float16, bfloat16, float32, float64 or None",
            )  # fmt: skip
        if self.chunking_method is not None:
            _ratio(self.chunking_method)

    def rows(self, count: int, width: int, classes: int) -> int:
        """How many of `count` rows of the input are one chunk."""
        if self.batch_chunk_size is not None:
            return self.batch_chunk_size
        if self.chunking_method is None or not (count and width):
            return max(count, 1)
        chunks = math.ceil(classes / (width * _ratio(self.chunking_method)))
        rows: int = 1 << (math.ceil(count / max(chunks, 1)) - 1).bit_length()
        return rows


def _ratio(method: str) -> int:
    """How much larger than the input a chunk of logits may be."""
    name, _, ratio = method.partition(":")
    if name not in ("auto", "aspect_ratio") or not (ratio or "1").isdigit():
        raise ArgumentError(
            "LinearCrossEntropyOptions", "chunking_method", was=repr(method),
            needed="'auto', 'aspect_ratio' or 'aspect_ratio:k'",
        )  # fmt: skip
    return max(int(ratio or (2 if name == "auto" else 1)), 1)
