"""The type that the class Tensor is of, and that of its shape."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Iterable
from typing import Any, ClassVar, Self

from dovetail.errors import ArgumentTypeError


def _int(at: int, size: Any) -> int:
    if isinstance(size, int):
        return int(size)
    try:
        return operator.index(size)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ArgumentTypeError(
            "Size", f"item {at}", was=f"a {type(size).__name__}: {size!r:.40}",
            needed="an int, or a tensor of one",
        ) from error  # fmt: skip


class Size(tuple[int, ...]):
    """The shape of a tensor: a tuple that counts its elements."""

    __slots__ = ()

    def __new__(cls, sizes: Iterable[Any] = ()) -> Self:
        """A shape of ints, or of tensors of one."""
        return tuple.__new__(cls, [_int(i, size) for i, size in enumerate(sizes)])

    def numel(self) -> int:
        """The number of elements."""
        count = 1
        for size in self:
            count *= size
        return count

    def __repr__(self) -> str:
        return f"dovetail.Size({list(self)})"

    def __getitem__(self, index: Any) -> Any:
        found = tuple.__getitem__(self, index)
        return size_of(found) if isinstance(index, slice) else found

    def __add__(self, other: Any) -> Size:
        # An array adds the sizes to its elements, when it is asked next.
        if not isinstance(other, tuple):
            return NotImplemented
        return Size(tuple.__add__(self, other))

    def __radd__(self, other: Any) -> Size:
        if not isinstance(other, tuple):
            return NotImplemented
        return Size(tuple.__add__(other, self))

    def __mul__(self, times: Any) -> Size:
        if not isinstance(times, int):
            return NotImplemented
        return size_of(tuple.__mul__(self, times))

    __rmul__ = __mul__


def size_of(sizes: Iterable[int]) -> Size:
    """A shape of what is known to be ints."""
    return tuple.__new__(Size, sizes)


class TensorType(type):
    """The type of Tensor, which users may call; `fresh` makes an empty one.

    With `__new__` of its own, Tensor would cost each op 25 ns.
    """

    made: ClassVar[Any]  # set by the frontend: makes what `Tensor(…)` gives

    @property
    def __signature__(cls) -> inspect.Signature:
        made = cls.__new__ is not object.__new__  # type: ignore[comparison-overlap]
        signature = inspect.signature(cls.__new__ if made else TensorType.made)
        _, *rest = signature.parameters.values()
        return signature.replace(parameters=rest)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        plain = vars(object)
        if all(getattr(cls, n) is plain[n] for n in ("__new__", "__init__")):
            return TensorType.made(cls, *args, **kwargs)
        return super().__call__(*args, **kwargs)
