"""The results of an op: their shapes, dtypes and form."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Final

from dovetail import dtypes
from dovetail.dtypes import DType, Sizes
from dovetail.engine import signature as sig
from dovetail.engine.parameters import Parameters
from dovetail.engine.return_types import fields
from dovetail.errors import DTypeError, OutOfMemory, ShapeError, StoredDTypeError

_CHECKED_LIMIT: Final = 4096
_MOST_ELEMENTS: Final = (1 << 63) - 1

# What a result's dtype may be, beside a DType and a function of (dtypes, attrs).
SAME: Final = "same"


class DataDependent:
    """Marks a shape that depends on values: refused on the meta device."""


DATA: Final = DataDependent()


class Results(Parameters):
    """What an op knows of its results.

    Attributes:
        outputs: their names.
        residuals: how many of them only backward uses.
        accepts: dtypes that the promoted inputs may have.
        result: dtype of the results: `SAME`, a DType, or a rule.
        lines: the tensor whose dims say whether the result of a line has any.
        checked: result shapes by input shapes and attributes; emptied when full.
    """

    outputs: tuple[str, ...]
    residuals: int
    accepts: frozenset[DType]
    result: Any
    lines: str
    checked: dict[Any, tuple[Sizes, ...]]

    def infer_shapes(
        self, shapes: Sequence[Any], attrs: dict[str, Any]
    ) -> tuple[Sizes, ...]:
        """Shapes of the results; raises what the op refuses."""
        if self.lines and () in shapes:
            found = self.infer_shapes([s or (1,) for s in shapes], attrs)
            return found if shapes[self.line_at] else self._without_dims(found)
        if isinstance(self.shape, sig.Signature):
            names = [p.name for p in self.tensors]
            if self.has_list:
                names = [f"{names[0]}[{i}]" for i in range(len(shapes[0]))]
                shapes = shapes[0]
            elif None in shapes:
                kept = [i for i, s in enumerate(shapes) if s is not None]
                names, shapes = [names[i] for i in kept], [shapes[i] for i in kept]
            inputs = self.shape.inputs
            shape = self.shape
            if shape.elementwise and len(inputs) != len(shapes):
                return (sig.broadcast(self.name, shapes, names),) * len(self.outputs)
            return self._countable(sig.infer(shape, self.name, shapes, names, attrs))
        found = self.shape(*shapes, **attrs)
        if len(self.outputs) == 1:
            return self._countable((tuple(found),))
        return self._countable(tuple(tuple(s) for s in found))

    def _countable(self, found: tuple[Sizes, ...]) -> tuple[Sizes, ...]:
        """Shapes whose elements 64 bits can count: kernels multiply without a look."""
        for shape in found:
            if math.prod(shape) > _MOST_ELEMENTS:
                raise OutOfMemory(
                    self.name, "memory", was=f"too little for a shape of {shape}",
                    needed="fewer than 2^63 elements",
                )  # fmt: skip
        return found

    def checked_shapes(
        self, shapes: tuple[Any, ...], attrs: dict[str, Any]
    ) -> tuple[Sizes, ...]:
        """`infer_shapes`, remembered."""
        key = (shapes, self.attr_key(attrs))
        try:
            found = self.checked.get(key)
        except TypeError:  # a slice, which Python before 3.12 cannot hash
            return self.infer_shapes(shapes, attrs)
        if found is None:
            if len(self.checked) >= _CHECKED_LIMIT:
                self.checked.clear()
            found = self.checked[key] = self.infer_shapes(shapes, attrs)
        return found

    def result_dtypes(
        self, inputs: Sequence[DType], attrs: dict[str, Any]
    ) -> tuple[DType, ...]:
        """Dtypes of the results."""
        rules = self.result if isinstance(self.result, tuple) else (self.result,)
        if len(rules) == 1:
            rules = rules * len(self.outputs)
        return tuple(_result_dtype(rule, inputs, attrs, self.lead_at) for rule in rules)

    def view_shape(self, shape: Sizes, attrs: dict[str, Any]) -> Sizes:
        """The shape of a view of a tensor with that shape."""
        return self.infer_shapes((shape,), attrs)[0]

    def _without_dims(self, found: tuple[Sizes, ...]) -> tuple[Sizes, ...]:
        """Shapes of lines of one element, as shapes without dims."""
        for shape in found:
            if shape != (1,):
                raise ShapeError(
                    self.name, self.lines, was="0-d, one element",
                    needed=f"as many as the result has, which is of shape {shape}",
                )  # fmt: skip
        return ((),) * len(found)

    @cached_property
    def line_at(self) -> int:
        """Which tensor's dims say, where lines are asked for, if the result has one."""
        return [p.name for p in self.tensors].index(self.lines)

    def visible(self, outs: tuple[Any, ...]) -> Any:
        """What a caller gets of all results."""
        count = len(outs) - self.residuals
        return outs[0] if count == 1 else self.form(outs[:count])

    @cached_property
    def form(self) -> Callable[[Any], Any]:
        """What makes several results a tuple with their names."""
        return fields(self.name, self.outputs[: len(self.outputs) - self.residuals])

    def refuse_dtype(self, dtype: DType, name: str | None = None) -> DTypeError:
        names = ", ".join(d.name for d in dtypes.ALL if d in self.accepts)
        wrong = StoredDTypeError if dtype in dtypes.FLOAT8 else DTypeError
        return wrong(
            self.name, name or f"dtype of {self.tensors[0].name}", was=dtype.name,
            needed=f"one of {names}", remedy="cast it with .to(dtype)",
        )  # fmt: skip


def _result_dtype(
    rule: Any, inputs: Sequence[DType], attrs: dict[str, Any], lead_at: int
) -> DType:
    if rule == SAME:
        return inputs[lead_at]
    if isinstance(rule, DType):
        return rule
    found: DType = rule(inputs, attrs)
    return found
