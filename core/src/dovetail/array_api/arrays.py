"""What the standard's functions take and give: `Array`, and tensors.

The standard promotes by dtypes alone; torch also asks which operand has dims. So what
this namespace makes is of a class of its own, a Tensor whose operators are the
standard's. Functions take tensors of either class, and their results are plain tensors
where one of the operands is.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, TypeVar

import numpy as np

from dovetail import frontend
from dovetail.array_api.slices import backwards, selects_nothing
from dovetail.dtypes import (
    COMPLEX_CATEGORY,
    INT_CATEGORY,
    DType,
    get_default_dtype,
    int8,
    int16,
    int32,
    int64,
    promote_types,
)
from dovetail.engine.tensor import Parameter, Tensor, as_class, without_overrides
from dovetail.errors import ArgumentTypeError
from dovetail.ops.primitive import cast

F = TypeVar("F", bound=Callable[..., Any])
Number = bool | int | float | complex

# The operators of two operands, by the names of torch's functions.
_OPERATORS: Final = frozenset(
    "add sub mul div floor_divide remainder pow matmul bitwise_and bitwise_or "  # noqa: SIM905
    "bitwise_xor bitwise_left_shift bitwise_right_shift eq ne lt le gt ge".split()
)


class Size(int):
    """The number of elements, which the standard reads and torch calls."""

    shape: tuple[int, ...]

    def __call__(self, dim: int | None = None) -> Any:
        """The sizes of all dims, or of one."""
        return self.shape if dim is None else self.shape[dim]


class Array(Tensor):
    """A tensor whose operators promote, and whose slices step, as the standard says.

    >>> import dovetail as dt
    >>> xp = dt.array_api
    >>> (xp.ones(2, dtype=xp.float32) + xp.asarray(1.0, dtype=xp.float64)).dtype
    dovetail.float64
    """

    __slots__ = ()

    @property
    def size(self) -> Any:
        """The number of elements."""
        made = Size(math.prod(self.shape))
        made.shape = self.shape
        return made

    def __getitem__(self, index: Any) -> Any:
        if selects_nothing(index, self.shape):
            return self[:0].reshape(0, *self.shape[index.ndim :])
        index, turned = backwards(index, self.shape)
        found = super().__getitem__(index)
        return found.flip(turned) if turned else found

    def __setitem__(self, index: Any, value: Any) -> None:
        index, turned = backwards(index, self.shape)
        if turned and isinstance(value, Tensor) and value.ndim:
            shape = super().__getitem__(index).shape
            value = value.broadcast_to(shape).flip(turned)
        super().__setitem__(index, value)

    @classmethod
    def __torch_function__(
        cls,
        function: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Promotes the operands of operators; see the module for results."""
        kwargs = kwargs or {}
        given = list(_tensors((*args, *kwargs.values())))
        if function.__name__ in _OPERATORS and len(args) == 2:
            args = promoted(*args)
        if function.__name__ == "floor_divide":
            function = floor_quotient
        return _like(given, without_overrides(function, args, kwargs))


def _tensors(values: Iterable[Any]) -> Iterator[Tensor]:
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif type(value) in (list, tuple):
            yield from _tensors(value)


def _like(given: list[Tensor], result: Any) -> Any:
    """A result as an Array, or as what the operands that are none make of it."""
    if any(type(x) in (Tensor, Parameter) for x in given):
        return result
    return _arrays(result)


def _arrays(result: Any) -> Any:
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        return type(result)(*map(_arrays, result))
    return as_class(Array, result)


def conforming(function: F) -> F:
    """Offer a function of plain tensors as one of the standard."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        given = list(_tensors((*args, *kwargs.values())))
        return _like(given, without_overrides(function, args, kwargs))

    made: Any = call
    return made  # type: ignore[no-any-return]


# ---- promotion


def promoted(*operands: Any) -> tuple[Any, ...]:
    """Tensors of one dtype, made of tensors and numbers.

    Raises: ArgumentTypeError for something that is neither, or numbers alone.
    """
    operands = tuple(map(_python, operands))
    dtype = common_dtype(*operands)
    at = next(x for x in operands if isinstance(x, Tensor))
    return tuple(
        _as(x, dtype) if isinstance(x, Tensor)
        else frontend.full((), x, dtype=dtype, device=at.device)
        for x in operands
    )  # fmt: skip


def _python(operand: Any) -> Any:
    """What is a number of NumPy's as Python's, which has no dtype of its own."""
    return operand.item() if isinstance(operand, np.generic) else operand


def _as(x: Tensor, dtype: DType) -> Tensor:
    return x if x.dtype is dtype else cast(x, dtype)


def promote(first: DType, second: DType) -> DType:
    """What two dtypes promote to: as torch has it, and integers of any size.

    Raises: DTypeError where nothing holds both.
    """
    narrow, wide = sorted((first, second), key=lambda d: (d.itemsize, not d.is_signed))
    integers = narrow.category == wide.category == INT_CATEGORY
    if not integers:
        return promote_types(first, second)
    if narrow.is_signed and not wide.is_signed:
        return _SIGNED.get(wide.itemsize * 2) or promote_types(first, second)
    return wide


# Signed integers by their size in bytes.
_SIGNED: Final = {1: int8, 2: int16, 4: int32, 8: int64}


def common_dtype(*operands: Any) -> DType:
    """What tensors, dtypes and numbers promote to: dims play no part in it.

    Raises: ArgumentTypeError for something else, or numbers alone.
    """
    found: DType | None = None
    operands = tuple(map(_python, operands))
    for operand in operands:
        dtype = operand.dtype if isinstance(operand, Tensor) else operand
        if isinstance(dtype, DType):
            found = dtype if found is None else promote(found, dtype)
        elif not isinstance(operand, Number):
            raise ArgumentTypeError(
                "array_api", "operand", was=f"a {type(operand).__name__}",
                needed="an array or a number",
            )  # fmt: skip
    if found is None:
        raise ArgumentTypeError(
            "array_api", "operands", was="numbers only", needed="an array among them"
        )
    for operand in operands:
        if isinstance(operand, Number):
            found = _beside(found, operand)
    return found


def _beside(dtype: DType, number: Number) -> DType:
    """The dtype of an array with a number: the array's, where the number fits it."""
    category = _category(number)
    if category <= dtype.category:
        return dtype
    real = dtype if dtype.is_inexact else get_default_dtype()
    if category == COMPLEX_CATEGORY:
        return real.complex
    return real if category > 1 else int64


def _category(number: Number) -> int:
    kinds = (bool, int, float, complex)
    return next(i for i, kind in enumerate(kinds) if isinstance(number, kind))


# ---- quotients


def floor_quotient(x1: Tensor, x2: Tensor) -> Any:
    """Quotients rounded down; as those of real numbers where one is infinite."""
    found: Any = frontend.floor_divide(x1, x2)
    if not found.dtype.is_floating_point:
        return found
    infinite = frontend.isinf(x1) | frontend.isinf(x2)
    return frontend.where(infinite, frontend.floor(x1 / x2), found)
