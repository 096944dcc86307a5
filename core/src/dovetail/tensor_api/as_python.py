"""The values of a tensor as Python has them: numbers, lists, truth, iteration."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from dovetail.engine.checks import values_of
from dovetail.engine.public import public
from dovetail.engine.tensor import Parameter, Tensor, extend
from dovetail.errors import (
    ArgumentTypeError,
    NoSingleNumber,
    NumberOutOfRange,
    ShapeError,
)
from dovetail.frontend.split import rows
from dovetail.tensor_api.properties import numel


@public("Tensor.item")
def item(self: Tensor) -> Any:
    """The value of a tensor with one element, as a Python number; waits for it.

    Raises: ShapeError for more elements than one, or none.

    >>> torch.tensor(2.5).item()
    2.5
    """
    need_one(self, ShapeError)
    return values_of(self, "item").reshape(-1)[0].item()


def need_one(x: Tensor, error: type[ShapeError] = NoSingleNumber) -> None:
    """Raise unless a tensor has one element: the number that is asked for."""
    if numel(x) != 1:
        raise error(
            "item", "tensor", was=f"of shape {tuple(x.shape)}",
            needed="one element", remedy="index it, or use tolist()",
        )  # fmt: skip


@public("Tensor.tolist")
def tolist(self: Tensor) -> Any:
    """The values as nested lists of Python numbers; waits for them.

    Returns: a number for a tensor without dims.

    >>> torch.tensor([[1, 2], [3, 4]]).tolist()
    [[1, 2], [3, 4]]
    """
    return values_of(self, "tolist").tolist()


def _len(self: Tensor) -> int:
    if not self.ndim:
        raise ArgumentTypeError("len", "tensor", was="0-d", needed="at least one dim")
    return int(self._a.shape[0])


def _iter(self: Tensor) -> Iterator[Tensor]:
    if not self.ndim:
        raise ArgumentTypeError(
            "iteration", "tensor", was="0-d", needed="at least one dim"
        )
    if type(self) in _PLAIN:
        return iter(rows(self, 0))
    return iter([self[i] for i in range(self.shape[0])])


_PLAIN: Final = frozenset({Tensor, Parameter})


def _converter(number: type) -> Any:
    """`int(x)` and `float(x)` for a tensor of one element."""

    def convert(self: Tensor) -> Any:
        need_one(self)
        value = self.item()
        try:
            return number(value)
        except (TypeError, ValueError, OverflowError) as error:
            raise NumberOutOfRange(
                number.__name__, "tensor", was=value,
                needed=f"a number that {number.__name__} holds",
            ) from error  # fmt: skip

    return convert


def _index(self: Tensor) -> int:
    if self.dtype.is_inexact:
        raise ArgumentTypeError(
            "index", "tensor", was=self.dtype.name, needed="an integer or bool tensor"
        )
    if numel(self) != 1:
        raise ArgumentTypeError(
            "index", "tensor", was=f"of shape {tuple(self.shape)}",
            needed="one element", remedy="index it, or use tolist()",
        )  # fmt: skip
    return int(self.item())


def _bool(self: Tensor) -> bool:
    if numel(self) != 1:
        raise ShapeError(
            "bool", "tensor", was=f"of shape {tuple(self.shape)}: ambiguous",
            needed="one element", remedy="use any() or all()",
        )  # fmt: skip
    return bool(self.item())


extend(
    __len__=_len, __iter__=_iter, __bool__=_bool, __float__=_converter(float),
    __int__=_converter(int), __index__=_index,
)  # fmt: skip
