"""torch's names for selection, and for comparison of whole tensors."""

from __future__ import annotations

import warnings
from typing import Any

from dovetail.dtypes import DType, bool_, dtype_of_scalar, get_default_dtype, uint8
from dovetail.engine.attributes import Operand
from dovetail.engine.elements import scalar
from dovetail.engine.promotion import result_type as promoted
from dovetail.engine.public import NAMESPACES, public
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, DTypeError
from dovetail.ops import compare as c
from dovetail.ops import reduce
from dovetail.ops.arithmetic import eq
from dovetail.ops.complex import imag
from dovetail.ops.elementwise import abs
from dovetail.ops.formats import cast
from dovetail.ops.formats import where as select


@public("torch.where", out="same", plain=select)
def where(
    condition: Tensor, input: Operand | None = None, other: Operand | None = None
) -> Any:
    """`input` where the condition holds, else `other`; alone, where it is not zero.

    Args:
        condition: bools; all three broadcast, and the dtypes of the others promote.
            uint8 is taken for bools, as masks of older programs are, with a warning.

    Raises: ShapeError for shapes that do not broadcast.

    >>> import dovetail as dt
    >>> dt.where(dt.tensor([True, False]), dt.tensor([1.0, 2.0]), 0.0)
    tensor([1., 0.])
    """
    if input is None and other is None:
        return NAMESPACES["torch"]["nonzero"](condition, as_tuple=True)
    _check_fits("other", other, input)
    _check_fits("input", input, other)
    return select(_as_mask(condition), input, other)


def _as_mask(condition: Any) -> Any:
    """A condition, bool also where it is a mask of uint8."""
    if not isinstance(condition, Tensor) or condition.dtype is not uint8:
        return condition
    warnings.warn(
        "where: condition is uint8; torch will refuse it: compare, e.g. mask != 0",
        stacklevel=3,
    )
    return cast(condition, bool_)


def _check_fits(name: str, number: Any, beside: Any) -> None:
    """A number takes the dtype of the tensor beside it, unless of a higher category."""
    if type(number) is float and number == 0 and type(beside) is Tensor:
        return  # the most frequent one
    if isinstance(beside, Tensor) and isinstance(number, int | float | complex):
        own, dtype = dtype_of_scalar(number), beside.dtype
        scalar("where", max(dtype, own, key=lambda d: d.category), number, name)


@public("Tensor.where")
def _where(input: Tensor, condition: Tensor, other: Operand) -> Tensor:
    """This tensor where the condition holds, else `other`."""
    _check_fits("other", other, input)
    return select(_as_mask(condition), input, other)


@public("isclose")
def isclose(
    input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8,
    equal_nan: bool = False,
) -> Tensor:  # fmt: skip
    """Whether |input - other| <= atol + rtol |other|, or both are equal."""
    if not (rtol >= 0 and atol >= 0):
        raise ArgumentError(
            "isclose", "rtol and atol", was=(rtol, atol), needed="no negative one"
        )
    if input.dtype is not other.dtype:
        raise DTypeError(
            "isclose", "other", was=other.dtype.name,
            needed=f"{input.dtype.name}, as input has", remedy="cast one of them",
        )  # fmt: skip
    same = eq(input, other)
    if equal_nan:
        same = same | (c.isnan(input) & c.isnan(other))
    input, other = _as_floats(input), _as_floats(other)
    near = c.le(abs(input - other), atol + rtol * abs(other))
    return same | (near & c.isfinite(input) & c.isfinite(other))


def _as_floats(x: Tensor) -> Tensor:
    """Differences of integers would wrap."""
    return x if x.dtype.is_inexact else cast(x, get_default_dtype())


def holds(condition: Tensor) -> bool:
    """Whether a condition holds everywhere; waits for it."""
    return bool(reduce.all(condition).item())


@public("allclose")
def allclose(
    input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8,
    equal_nan: bool = False,
) -> bool:  # fmt: skip
    """Whether all elements are close; see `isclose`.

    Returns: a bool; waits for the values.

    Raises: DTypeError for different dtypes.

    >>> torch.allclose(torch.tensor([1.0]), torch.tensor([1.0 + 1e-7]))
    True
    """
    return holds(isclose(input, other, rtol, atol, equal_nan))


@public("equal")
def equal(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have one shape and equal elements."""
    if tuple(input._a.shape) != tuple(other._a.shape):
        return False
    return holds(eq(input, other))


@public("isreal")
def isreal(input: Tensor) -> Tensor:
    """Whether the imaginary part is 0."""
    if input.dtype.is_complex:
        return eq(imag(input), 0)
    return c.constant(input, True)


@public("is_nonzero")
def is_nonzero(input: Tensor) -> bool:
    """Whether the one element is not zero; waits for it."""
    return bool(input)


@public("torch.result_type")
def result_type(tensor: Operand, other: Operand) -> DType:
    """The dtype that an operation of both would have.

    >>> torch.result_type(torch.tensor([1, 2]), 1.0)
    dovetail.float32
    """
    return promoted((tensor, other))
