"""Generated kernels for what is computed row by row: sums, softmax, norms.

They serve large row-major arrays that are reduced along their last dims, and sums and
extremes of all elements; NumPy's kernels serve the rest, and small arrays.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dovetail.codegen.declarations import vocabularies
from dovetail.device_api import Kernel
from dovetail.errors import DovetailError
from dovetail.xp.kernels import Large

if TYPE_CHECKING:
    from dovetail.codegen.eager_rows import Rows
    from dovetail.codegen.program import Program

_ONE: Final = ("full",)
_TWO: Final = ("full", "full")
_NORM: Final = ("full", "shared", "shared")
# The attribute that names the dims which are reduced, or has the sizes of the last;
# and what there is of each input: one an element, one a lane (the same for all rows),
# one a row.
ROW_OPS: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    **dict.fromkeys(("sum", "mean", "amax", "amin", "var", "std"), ("dim", _ONE)),
    **dict.fromkeys(("softmax", "log_softmax", "logsumexp"), ("dim", _ONE)),
    **dict.fromkeys(("softmax_backward", "log_softmax_backward"), ("dim", _TWO)),
    "layer_norm": ("normalized_shape", _NORM),
    "normalise": ("dims", _NORM),
    "normalise_backward": ("dims", ("full", "full", "shared", "row", "row")),
}  # fmt: skip
_SHORTEST: Final = 32  # lanes; of shorter rows, too much is spent beside them
_LONGEST: Final = 1 << 16  # lanes; sums of more would lose digits
_WHOLE: Final = {"sum": np.add, "amax": np.maximum, "amin": np.minimum}
# Small calls of these cost so little that a function in front of theirs would show.
_ASKING: Final = frozenset({"sum", "layer_norm"})
_SCALARS: Final = ("eps",)
_NO_SCALARS: Final[dict[str, Any]] = {}
# Sums within them may leave the format where the result does not: NumPy's kernels know
# what to do then.
_CAREFUL: Final = frozenset({"var", "std"})
_PART: Final = 1 << 13  # elements of a part of what is reduced as a whole

Array = np.ndarray[Any, Any]


def bind(own: Kernel, least: int) -> Callable[..., Any]:
    """What binds a kernel that asks for the size first, in front of another one."""

    def bound(**attributes: Any) -> Any:
        cast = attributes.get("dtype") is not None
        large = Generated(own.op, attributes, min(_SHORTEST, max(least, 2)))
        if own.op in _ASKING and not cast:
            return own.function(**attributes, large=_asked(large, least))
        small = bound_by_attributes(own, attributes)
        if cast:
            return small

        def kernel(a: Any) -> Any:
            if a.size < least:
                return small(a)
            y = large((a,), _NO_SCALARS)
            return small(a) if y is None else y

        def kernel_of_several(a: Any, *others: Any, **scalars: Any) -> Any:
            if a.size < least:
                return small(a, *others, **scalars)
            y = large((a, *others), scalars)
            return small(a, *others, **scalars) if y is None else y

        return kernel if large.extents == _ONE else kernel_of_several

    return bound


def bound_by_attributes(own: Kernel, attributes: dict[str, Any]) -> Any:
    """What a kernel is for attributes: a function of arrays and scalars."""
    if own.binds:
        return own.function(**attributes)
    return partial(own.function, **attributes) if attributes else own.function


def _asked(large: Generated, least: int) -> Large:
    """For kernels that ask by themselves, arguments in their order."""

    def serve(a: Any, *others: Any) -> Any:
        if a.size < least:
            return None
        arrays = len(large.extents) - 1
        scalars = dict(zip(_SCALARS, others[arrays:], strict=False))
        return large((a, *others[:arrays]), scalars)

    return Large(least, serve)


class Generated:
    """An op with its attributes, made into kernels when first called."""

    def __init__(self, op: str, attributes: dict[str, Any], shortest: int) -> None:
        self.op = op
        self.attributes = attributes
        self.shortest = shortest
        self.named, self.extents = ROW_OPS[op]
        found = attributes[self.named]
        self.single = isinstance(found, int)
        self.dims = (found,) if self.single else tuple(found or ())
        if self.named == "normalized_shape":
            self.dims = tuple(range(-len(found), 0))
        self.keeps = bool(attributes.get("keepdim", True))
        self.made: dict[Any, Rows | None] = {}
        self.parts: Generated | None = None  # of what is reduced as a whole

    def __call__(self, arrays: tuple[Any, ...], scalars: dict[str, Any]) -> Any:
        """The results, or None where the other kernel has to serve."""
        a = arrays[0]
        count = len(self.dims) or a.ndim
        if not a.flags.c_contiguous or a.size == 0 or a.ndim == 0:
            return None
        if count == a.ndim:
            return self._whole(a) if self.op in _WHOLE else None
        if sorted(d % a.ndim for d in self.dims) != [*range(a.ndim - count, a.ndim)]:
            return None
        lanes = math.prod(a.shape[-count:])
        rows = a.size // lanes
        if not self.shortest <= lanes <= _LONGEST or not self._fit(arrays, rows, lanes):
            return None
        outs = self._run(arrays, rows, lanes, scalars)
        if outs is None or (self.op in _CAREFUL and not np.isfinite(outs[0]).all()):
            return None
        kept = (1,) * count if self.keeps else ()
        shaped = [
            y.reshape(a.shape if y.ndim == 2 else a.shape[:-count] + kept) for y in outs
        ]
        return shaped[0] if len(shaped) == 1 else tuple(shaped)

    def _fit(self, arrays: tuple[Any, ...], rows: int, lanes: int) -> bool:
        sizes = {"full": rows * lanes, "shared": lanes, "row": rows}
        return all(
            a is None or (
                a.dtype == arrays[0].dtype and a.size == sizes[extent]
                and a.flags.c_contiguous
            )
            for a, extent in zip(arrays, self.extents, strict=True)
        )  # fmt: skip

    def _run(
        self, arrays: tuple[Any, ...], rows: int, lanes: int, scalars: dict[str, Any]
    ) -> list[Array] | None:
        key = arrays[0].dtype.char, *[a is None for a in arrays]
        if key not in self.made:
            self.made[key] = self._make(arrays, list(scalars))
        found = self.made[key]
        if found is None:
            return None
        given = [a for a in arrays if a is not None]
        return found(rows, lanes, given, list(scalars.values()))

    def _make(self, arrays: tuple[Any, ...], scalars: list[str]) -> Rows | None:
        # With LLVM's text and mathematics: nothing that a small program needs.
        from dovetail.codegen.eager_rows import Rows
        from dovetail.codegen.pointwise import KNOWN

        dtypes = [None if a is None else a.dtype.name for a in arrays]
        attributes = self.attributes | {self.named: 1 if self.single else (1,)}
        op, count = self.op, None
        if self.op == "layer_norm":  # is the first result of one that names the dims
            op, attributes, count = "normalise", {"dims": (1,)}, 1

        def program(lanes: int) -> Program:
            found = vocabularies[0].row_program(
                op, dtypes, self.extents, lanes, attributes, scalars, KNOWN
            )
            return found._replace(results=found.results[:count])

        try:
            return Rows(self.op, program)
        except DovetailError:
            return None

    def _whole(self, a: Array) -> Any:
        """All elements as one: in parts, which are as good as rows."""
        whole = a.size // _PART
        if not whole:
            return None
        if self.parts is None:
            rest = {"dtype": None} if "dtype" in self.attributes else {}
            self.parts = Generated(self.op, {"dim": (1,), "keepdim": False, **rest}, 2)
        flat = a.reshape(-1)
        parts = self.parts._run((flat[: whole * _PART],), whole, _PART, {})
        if parts is None:
            return None
        combine = _WHOLE[self.op].reduce
        y = combine(np.concatenate([parts[0], flat[whole * _PART :]]))
        return np.full((1,) * a.ndim, y) if self.keeps else y
