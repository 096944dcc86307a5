"""Generated kernels for losses over many classes: log probabilities are not kept.

They give the losses of samples, and gradients; the sum of losses is NumPy's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dovetail.codegen.declarations import vocabularies
from dovetail.device_api import Kernel
from dovetail.errors import DovetailError
from dovetail.xp.class_loss import in_range, sample_weights
from dovetail_cpu.generated_rows import bound_by_attributes
from dovetail_cpu.row_forms import LANES, split_of

if TYPE_CHECKING:
    from dovetail.codegen.eager_rows import Rows
    from dovetail.codegen.program import Program

Array = np.ndarray[Any, Any]
Dims = tuple[int, ...]

_SHORTEST: Final = 16  # classes, or samples where these lie along the lanes


def bind(own: Kernel, least: int) -> Callable[..., Any]:
    """What binds a kernel that asks for the size first, in front of another one."""
    serve = CLASS_OPS[own.op]

    def bound(**attributes: Any) -> Any:
        small = bound_by_attributes(own, attributes)
        large = serve(own.op, min(_SHORTEST, least), **attributes)

        return large.beside(small, least)

    return bound


class _Losses:
    """An op on scores and classes, made into kernels when first called.

    Args:
        shortest: classes or samples along the lanes that it takes at least.
    """

    def __init__(
        self, op: str, shortest: int, ignore_index: int, reduction: str
    ) -> None:
        self.op = op
        self.shortest = shortest
        self.ignore = ignore_index
        self.reduction = reduction
        self.made: dict[Any, Rows | None] = {}

    def run(
        self, scores: Array, arrays: Sequence[Any], extents: Sequence[str],
        reduction: str,
    ) -> list[Array] | None:  # fmt: skip
        """The results; None where the other kernel has to serve.

        Args:
            extents: what there is of each operand: "all", "samples", "classes", "one".
        """
        sizes = (scores.shape[0], scores.shape[1], math.prod(scores.shape[2:]))
        there = (0, 1, 2) if scores.ndim > 2 else (0, 1)
        samples = tuple(d for d in there if d != 1)
        dims = {"all": there, "samples": samples, "classes": (1,), "one": ()}
        wanted = [math.prod(sizes[d] for d in dims[e]) for e in extents]
        for a, size in zip(arrays, wanted, strict=True):
            if a is not None and (a.size != size or not a.flags.c_contiguous):
                return None
        pattern = split_of("krk"[: len(there)], sizes[: len(there)])
        short = sizes[there[-1]] < LANES
        key = pattern, short, *[None if a is None else a.dtype.char for a in arrays]
        if key not in self.made:
            given = [dims[e] for e in extents]
            self.made[key] = self._make(pattern, short, arrays, given, reduction)
        found = self.made[key]
        return None if found is None else found(sizes[: len(there)], arrays, ())

    def serves(self, scores: Array, target: Array) -> bool:
        """Whether these are scores of samples, and the samples' classes."""
        if scores.ndim < 2 or not scores.size:
            return False
        last = scores.shape[-1] if scores.ndim == 2 else math.prod(scores.shape[2:])
        samples = (*scores.shape[:1], *scores.shape[2:])
        return last >= self.shortest and target.shape == samples

    def _make(
        self, pattern: str, short: bool, arrays: Sequence[Any], extents: list[Dims],
        reduction: str,
    ) -> Rows | None:  # fmt: skip
        # With LLVM's text and mathematics: nothing that a small program needs.
        from dovetail.codegen.eager_rows import Rows
        from dovetail.codegen.pointwise import KNOWN
        from dovetail.codegen.program import REDUCTIONS

        dtypes = [None if a is None else a.dtype.name for a in arrays]
        attributes = {"ignore_index": self.ignore, "reduction": reduction}

        def program(sizes: Dims) -> Program:
            return vocabularies[0].row_program(
                self.op, dtypes, extents, sizes, (1,), attributes, (),
                KNOWN | REDUCTIONS, wide=False,
            )  # fmt: skip

        try:
            return Rows(self.op, pattern, program, short=short)
        except DovetailError:
            return None


class _Forward(_Losses):
    """The loss, and what its op gives beside it."""

    def beside(self, small: Callable[..., Any], least: int) -> Callable[..., Any]:
        """The kernel that serves from so many scores on, and leaves the rest to it."""

        def kernel(x: Array, target: Array, weight: Array | None) -> Any:
            y = self(x, target, weight) if x.size >= least else None
            return small(x, target, weight) if y is None else y

        return kernel

    def __call__(self, x: Array, target: Array, weight: Array | None) -> Any:
        if not self.serves(x, target):
            return None
        whole = in_range(self.op, target, x.shape[1], self.ignore)
        given = ("all", "samples", "classes")
        outs = self.run(x, (x, target, weight), given, "none")
        if outs is None:
            return None
        losses = outs[0].reshape(target.shape)
        y: Any = losses
        if self.reduction != "none":
            y = losses.sum(dtype=x.dtype)
        if self.reduction == "mean":
            _, weights = sample_weights(np, target, weight, self.ignore, whole, x)
            y = y / (x.dtype.type(target.size) if weights is None else weights.sum())
        return y if len(outs) == 1 else (y, *[o.reshape(x.shape) for o in outs[1:]])


class _Backward(_Losses):
    """The gradient by the scores, of which the log probabilities are there."""

    def beside(self, small: Callable[..., Any], least: int) -> Callable[..., Any]:
        """The same, where the scores are those that logp was made of."""

        def kernel(ct: Array, target: Array, logp: Array, weight: Array | None) -> Any:
            y = self(ct, target, logp, weight) if logp.size >= least else None
            return small(ct, target, logp, weight) if y is None else y

        return kernel

    def __call__(
        self, ct: Array, target: Array, logp: Array, weight: Array | None
    ) -> Any:
        if not self.serves(logp, target):
            return None
        whole = in_range("cross_entropy", target, logp.shape[1], self.ignore)
        if self.reduction == "mean":
            _, weights = sample_weights(np, target, weight, self.ignore, whole, logp)
            total = target.size if weights is None else weights.sum() or 1
            ct = np.asarray(ct / logp.dtype.type(total))
        each = self.reduction == "none"
        given = ("samples" if each else "one", "samples", "all", "classes")
        arrays = (ct, target, logp, weight)
        outs = self.run(logp, arrays, given, "none" if each else "sum")
        return None if outs is None else outs[0].reshape(logp.shape)


CLASS_OPS: Final[dict[str, type[_Forward] | type[_Backward]]] = {
    "cross_entropy": _Forward, "log_softmax_nll": _Forward,
    "cross_entropy_backward": _Backward,
}  # fmt: skip
