"""Functions over spatial axes, one for each number of them, as torch has them.

    @over_axes("F.avg_pool{n}d")
    def avg_pool(input: Tensor, kernel_size: Size, padding: Size = 0) -> Tensor:
        "The mean of each window over {n} axes."

gives avg_pool1d, avg_pool2d and avg_pool3d. The function sees what is annotated `Size`
(or `SizeOrEach`) as a number for each axis, and its first argument with a batch, which
is taken off the results again where there was none.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from dovetail.engine.integers import integer
from dovetail.engine.parameters import REQUIRED, parameters_of
from dovetail.engine.public import public
from dovetail.errors import ArgumentError, ShapeError
from dovetail.ops.view import squeeze, unsqueeze

if TYPE_CHECKING:
    Size: TypeAlias = Any  # a tuple within the function, where the default is a number
    SizeOrEach: TypeAlias = Any  # the same, but a sequence has one for each axis
else:
    Size = SizeOrEach = int | Iterable[int]
Function = Callable[..., Any]
LACKING: Final = object()  # in the place of a default: torch has no such parameter
_INTS: Final = frozenset({int})


def each_axis(op: str, name: str, value: Any, n: int) -> tuple[int, ...]:
    """`value` for each of `n` axes: one number serves all of them."""
    if not isinstance(value, Sequence) or isinstance(value, str | bytes):
        return (integer(op, name, value, n),) * n
    sizes = tuple(integer(op, name, v, n) for v in value)
    if len(sizes) == 1:
        sizes *= n
    if len(sizes) != n:
        raise ArgumentError(op, name, was=sizes, needed=f"one number or {n}")
    return sizes


def over_axes(
    names: str, axes: Sequence[int] = (1, 2, 3), dims: int | None = None,
    autocast: Mapping[int, str] = MappingProxyType({}), **defaults: Any,
) -> Callable[[Function], Function]:  # fmt: skip
    """Offer the decorated function for several numbers of spatial axes.

    Args:
        names: as `public` has them, with `{n}` for the number of axes, which the
            docstring may name so too.
        axes: these numbers.
        dims: of a batched input; two more than it has axes unless given.
        autocast: by the number of axes, as of `public`.
        defaults: where torch's are others under these names than the function's.
    """

    def offer(function: Function) -> Function:
        last = names.rpartition(".")[2]
        for n in axes:
            made = _over(function, last.format(n=n), n, dims or n + 2, defaults)
            public(names.format(n=n), autocast=autocast.get(n))(made)
        return function

    return offer


class _Signed:
    """The signature of a function with other defaults."""

    def __init__(self, function: Function, defaults: dict[str, Any]) -> None:
        self.function, self.defaults = function, defaults
        self.__module__ = function.__module__

    @property
    def __signature__(self) -> inspect.Signature:
        signature, known = inspect.signature(self.function), self.defaults
        kept = [
            p.replace(default=known.get(p.name, p.default))
            for p in signature.parameters.values()
            if known.get(p.name) is not LACKING
        ]
        return signature.replace(parameters=kept)


def _over(
    function: Function, op: str, n: int, dims: int, defaults: dict[str, Any]
) -> Function:
    """The function of that name for `n` axes."""
    annotations = function.__annotations__
    sizes = [(k, v) for k, v in annotations.items() if v.startswith("Size")]
    first, *_ = annotations
    shown = _Signed(function, defaults) if defaults else function
    bound = _binder(function, shown, defaults)

    def call(*args: Any, **kwargs: Any) -> Any:
        values = bound(args, kwargs)
        for name, annotation in sizes:
            value = values[name]
            if type(value) is int:
                values[name] = (value,) * n
            elif type(value) is not tuple or not _is_plain(value, n):
                values[name] = _size(op, name, value, n, annotation)
        x = values[first]
        if x.ndim == dims:
            return function(**values)
        if x.ndim != dims - 1:
            raise ShapeError(
                op, first, was=f"{x.ndim}-dimensional, {tuple(x.shape)}",
                needed=f"{dims} dimensions (batched) or {dims - 1} (unbatched)",
            )  # fmt: skip
        values[first] = unsqueeze(x, 0)
        y = function(**values)
        if isinstance(y, tuple):
            return tuple(squeeze(part, (0,)) for part in y)
        return squeeze(y, (0,))

    call.__name__ = call.__qualname__ = op
    call.__doc__ = (function.__doc__ or "").format(n=n)
    call.__module__ = function.__module__
    call.__wrapped__ = shown  # type: ignore[attr-defined]
    return call


def _is_plain(value: tuple[Any, ...], n: int) -> bool:
    """Whether there is nothing to do for a size."""
    return len(value) == n and _INTS.issuperset(map(type, value))


def _size(op: str, name: str, value: Any, n: int, annotation: str) -> Any:
    """A number for each axis, or what else the annotation allows."""
    empty = isinstance(value, tuple | list) and not value
    if "None" in annotation and (value is None or empty):
        return None
    if "str" in annotation and isinstance(value, str):
        return value
    several = isinstance(value, Sequence)
    if annotation.startswith("SizeOrEach") and several and not 1 < len(value) == n:
        raise ArgumentError(
            op, name, was=value, needed="one number" + f" or {n}" * (n > 1)
        )
    return each_axis(op, name, value, n)


def _binder(
    function: Function, shown: Any, changed: dict[str, Any]
) -> Callable[[tuple[Any, ...], dict[str, Any]], dict[str, Any]]:
    """What gives all of a function's arguments by name."""
    own = {name: value for name, value, _ in parameters_of(function)}
    names = [name for name in own if changed.get(name) is not LACKING]
    known = {k: v for k, v in {**own, **changed}.items() if k in names}
    defaults = {k: v for k, v in known.items() if v is not REQUIRED}
    fixed = {k: own[k] for k in own if k not in names}

    def bound(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        values = defaults | dict(zip(names, args, strict=False))
        twice = kwargs and not kwargs.keys().isdisjoint(names[: len(args)])
        values.update(kwargs)
        if len(values) != len(names) or len(args) > len(names) or twice:
            inspect.signature(shown).bind(*args, **kwargs)  # says what does not fit
        return {**values, **fixed} if fixed else values

    return bound


__all__ = ["LACKING", "Size", "SizeOrEach", "each_axis", "over_axes"]
