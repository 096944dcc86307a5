"""Forms of functions whose result's type depends on what they are given.

Everything else in a stub is read off the function; these say what its one signature
cannot: which of its arguments go together, and what they give. `self` is the first
argument, by whatever name a function has it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import (
    Any,
    Final,
    Literal,
    NamedTuple,
    TypeAlias,
    get_overloads,
    overload,
)  # fmt: skip

from dovetail.dtypes import DType
from dovetail.engine.tensor import Tensor
from dovetail.engine.tensor_type import Size

Operand: TypeAlias = Tensor | complex


class Valued(NamedTuple):
    """Values, and where along a dim they were found."""

    values: Tensor
    indices: Tensor


class Extremes(NamedTuple):
    """The least and the greatest."""

    min: Tensor
    max: Tensor


# What functions give that have one form; ops say their results' names themselves.
RETURNS: Final[dict[str, Any]] = {
    "kthvalue": Valued, "mode": Valued, "aminmax": Extremes,
    "__floordiv__": Tensor, "__mod__": Tensor, "__float__": float, "__int__": int,
}  # fmt: skip
# Flags by which functions give something else, and what they give with them.
FLAGS: Final[dict[str, Any]] = {
    "as_tuple": tuple[Tensor, ...], "return_indices": tuple[Tensor, Tensor],
}  # fmt: skip


class Both:
    """Overloads that functions and methods share."""

    @overload
    def max(self, *, out: Tensor | None = None) -> Tensor: ...
    @overload
    def max(
        self, dim: int, keepdim: bool = False, *,
        out: tuple[Tensor, Tensor] | None = None,
    ) -> Valued: ...  # fmt: skip
    @overload
    def max(self, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    def max(self, *args: Any, **options: Any) -> Any: ...
    @overload
    def median(self, *, out: Tensor | None = None) -> Tensor: ...
    @overload
    def median(
        self, dim: int, keepdim: bool = False, *,
        out: tuple[Tensor, Tensor] | None = None,
    ) -> Valued: ...  # fmt: skip
    def median(self, *args: Any, **options: Any) -> Any: ...
    @overload
    def unique(
        self, sorted: bool = True, return_inverse: Literal[False] = False,
        return_counts: Literal[False] = False, dim: int | None = None,
    ) -> Tensor: ...  # fmt: skip
    @overload
    def unique(
        self, sorted: bool = True, return_inverse: bool = False,
        return_counts: bool = False, dim: int | None = None,
    ) -> Any: ...  # fmt: skip
    def unique(self, *args: Any, **options: Any) -> Any: ...
    @overload
    def unique_consecutive(
        self, return_inverse: Literal[False] = False,
        return_counts: Literal[False] = False, dim: int | None = None,
    ) -> Tensor: ...  # fmt: skip
    @overload
    def unique_consecutive(
        self, return_inverse: bool = False, return_counts: bool = False,
        dim: int | None = None,
    ) -> Any: ...  # fmt: skip
    def unique_consecutive(self, *args: Any, **options: Any) -> Any: ...

    min = max
    nanmedian = median


class Functions(Both):
    """Overloads of functions."""

    @overload
    def where(self) -> tuple[Tensor, ...]: ...
    @overload
    def where(
        self, input: Operand, other: Operand, *, out: Tensor | None = None
    ) -> Tensor: ...
    def where(self, *args: Any, **options: Any) -> Any: ...
    @overload
    def atleast_1d(self) -> Tensor: ...
    @overload
    def atleast_1d(
        self, *tensors: Tensor | Sequence[Tensor]
    ) -> Tensor | tuple[Tensor, ...]: ...
    def atleast_1d(self, *args: Any, **options: Any) -> Any: ...

    atleast_2d = atleast_3d = atleast_1d


class Methods(Both):
    """Overloads of methods."""

    @overload
    def size(self, dim: None = None) -> Size: ...
    @overload
    def size(self, dim: int) -> int: ...
    def size(self, *args: Any, **options: Any) -> Any: ...
    @overload
    def stride(self, dim: None = None) -> tuple[int, ...]: ...
    @overload
    def stride(self, dim: int) -> int: ...
    def stride(self, *args: Any, **options: Any) -> Any: ...
    @overload
    def type(self, dtype: None = None, non_blocking: bool = False) -> str: ...
    @overload
    def type(self, dtype: DType, non_blocking: bool = False) -> Tensor: ...
    def type(self, *args: Any, **options: Any) -> Any: ...


@dataclass(frozen=True, slots=True)
class Form:
    """One form of a function.

    Attributes:
        parameters: what it takes.
        returns: the annotation of what it gives.
        source: the function whose module knows the names of the annotations.
    """

    parameters: list[inspect.Parameter]
    returns: Any
    source: Callable[..., Any]


def forms_of(
    name: str, function: Callable[..., Any], source: Any, *, method: bool
) -> list[Form]:
    """What a public function takes and gives, in one form or several."""
    signature = inspect.signature(function)
    parameters = list(signature.parameters.values())
    declared = vars(Methods if method else Functions).get(name, vars(Both).get(name))
    overloads = [] if declared is None else get_overloads(declared)
    if overloads:
        return [_form(parameters[0], f, method) for f in overloads]
    returns = RETURNS.get(name, signature.return_annotation)
    outputs = _outputs(function)
    if outputs == Valued._fields:
        returns = Valued
    whole = Form(parameters, returns, source)
    return list(_by_flag(whole)) or [whole]


def _outputs(function: Any) -> tuple[str, ...]:
    """The names of an op's visible results."""
    op = getattr(function, "op", None)
    if op is None:
        return ()
    return tuple(op.outputs[: len(op.outputs) - op.residuals])


def _form(first: inspect.Parameter, function: Callable[..., Any], method: bool) -> Form:
    """An overload, its first parameter as the function has it."""
    signature = inspect.signature(function)
    _, *rest = signature.parameters.values()
    if method:  # no method takes `out`
        rest = [p for p in rest if p.name != "out"]
    if first.kind is first.VAR_POSITIONAL:
        first = first.replace(name="tensor", kind=first.POSITIONAL_ONLY)
    if first.annotation in ("Any", Any):
        first = first.replace(annotation=Tensor)
    return Form([first, *rest], signature.return_annotation, function)


def _by_flag(form: Form) -> Iterator[Form]:
    """The forms of a function with a flag: without it, with it, and with either."""
    flag = next((p for p in form.parameters if p.name in FLAGS), None)
    if flag is None or form.returns not in ("Any", Any):
        return
    with_it = FLAGS[flag.name]
    yield _flagged(form, flag, Literal[False], False, Tensor)
    yield _flagged(form, flag, Literal[True], inspect.Parameter.empty, with_it)
    yield _flagged(form, flag, bool, False, Tensor | with_it)


def _flagged(
    form: Form, flag: inspect.Parameter, taken: Any, default: Any, returns: Any
) -> Form:
    kind = flag.kind if default is False else flag.KEYWORD_ONLY
    changed = flag.replace(annotation=taken, default=default, kind=kind)
    parameters = [changed if p is flag else p for p in form.parameters]
    return Form(parameters, returns, form.source)


__all__ = ["Extremes", "Form", "Valued", "forms_of"]
