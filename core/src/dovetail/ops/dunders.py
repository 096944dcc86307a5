"""Tensor's operators, for the bodies of ops and for users alike."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from dovetail.dtypes import bool_, from_numpy
from dovetail.engine.answers import answer, reflected_method, reflections
from dovetail.engine.calls import operator_of, over
from dovetail.engine.inplace import inplace
from dovetail.engine.kinds import kind_of
from dovetail.engine.tensor import Tensor, extend, wrap
from dovetail.errors import ArgumentTypeError, DTypeError
from dovetail.ops import compare, elementwise, power, rounding
from dovetail.ops import primitive as p
from dovetail.ops.matmul import matmul
from dovetail.ops.quotient import refusing
from dovetail.ops.view import contiguous

Function = Callable[..., Any]
_NUMBERS = (bool, int, float, complex, Tensor)
_REFLECTED_ORDER = {"lt": "__gt__", "le": "__ge__", "gt": "__lt__", "ge": "__le__"}


def _reflected(function: Function) -> Function:
    """The operator with its operands swapped: `2 - x`."""

    def reflected(self: Tensor, other: Any) -> Tensor:
        result: Tensor = function(other, self)
        return result

    return reflected


def _in_place(name: str, function: Function) -> Function:
    """The operator written into its first operand: `x += 2`."""

    in_place, reflected = f"__i{name}__", f"__r{name}__"

    def written(self: Tensor, other: Any) -> Any:
        if reflected_method(reflected, other) is not None:
            return NotImplemented  # Python makes it self = self + other
        return inplace(in_place, function, self, other)

    written.__wrapped__ = function  # type: ignore[attr-defined]
    op = getattr(function, "op", None)
    return written if op is None else over(op, in_place, written)


def install(
    name: str, function: Function, *, commutes: bool | None = None, writes: bool = True
) -> None:
    """Make `function` the operator `__name__`; with its reflection unless None."""
    op = getattr(function, "op", None)
    function = function if op is None else operator_of(op, first=bool(commutes))
    if op is not None:
        reflections[op.name] = _REFLECTED_ORDER.get(name, f"__r{name}__")
    setattr(Tensor, f"__{name}__", function)
    if commutes is not None:
        swapped = function if commutes else _reflected(function)
        setattr(Tensor, f"__r{name}__", swapped)
        if writes:
            setattr(Tensor, f"__i{name}__", _in_place(name, function))


_divide: Callable[..., Tensor] = _reflected(operator_of(p.div.op))
_reciprocal = operator_of(elementwise.reciprocal.op)


def _divide_number(self: Tensor, other: Any) -> Tensor:
    """`other / self`, of a number torch's way: the reciprocal times the number.

    So gradients need neither the divisor nor the quotient, and both may be overwritten.
    """
    if not isinstance(other, int | float | complex | np.ndarray):
        return _divide(self, other)
    inverse: Tensor = _reciprocal(self)
    if isinstance(other, np.ndarray):
        found: Tensor = operator.mul(inverse, other)
        return found
    is_one = inverse._node is None and other == 1 and not isinstance(other, complex)
    return inverse if is_one else inverse * other


def _compared(function: Function) -> Function:
    """`==` and `!=` with what is no number leave the answer to the other operand."""

    def compare(self: Tensor, other: Any) -> Any:
        if isinstance(other, np.ndarray) and other.dtype.kind in "biufc":
            kind = kind_of("cpu", from_numpy(other.dtype))
            other = wrap(kind.backend.copy_in(other, kind.index), kind)
        try:
            return function(self, other)
        except TypeError:
            if isinstance(other, _NUMBERS):
                raise
            return NotImplemented

    return compare


def _raised(self: Tensor, exponent: Any) -> Tensor:
    """`self ** exponent`; an exponent of another class may know what that is."""
    try:
        return power.power(self, exponent)
    except ArgumentTypeError:
        found: Tensor = answer("pow", self, exponent)
        if found is NotImplemented:
            raise
        return found


def _power_of(self: Tensor, base: Any) -> Any:
    """`base ** self`, of which torch's powers of a number lie in rows."""
    y: Any = _raised(base, self)
    return contiguous(y) if isinstance(y, Tensor) else y


def _positive(self: Tensor) -> Tensor:
    if self.dtype is bool_:
        raise DTypeError("positive", "input", was="bool", needed="numbers")
    return self


install("add", p.add, commutes=True)
install("mul", p.mul, commutes=True)
install("sub", p.sub, commutes=False)
install("truediv", p.div, commutes=False)
extend(__rtruediv__=_divide_number, __rdiv__=_divide_number)
for _name, _quotient in {
    "floordiv": rounding.floor_divide, "mod": rounding.remainder,
}.items():  # fmt: skip
    _operator = operator_of(_quotient.op)
    reflections[_quotient.op.name] = f"__r{_name}__"
    install(_name, refusing(_quotient.op.name, _operator), commutes=False)
install("pow", _raised, commutes=False)
extend(__rpow__=_power_of)
reflections["pow"] = "__rpow__"
install("matmul", matmul, commutes=False, writes=False)
install("and", p.bitwise_and, commutes=True)
install("or", compare.bitwise_or, commutes=True)
install("xor", p.bitwise_xor, commutes=True)
install("lshift", compare.bitwise_left_shift, commutes=False)
install("rshift", compare.bitwise_right_shift, commutes=False)
install("lt", p.lt)
install("le", compare.le)
install("gt", compare.gt)
install("ge", compare.ge)
install("eq", _compared(p.eq))
install("ne", _compared(compare.ne))
install("neg", elementwise.neg)
install("abs", elementwise.abs)
install("invert", compare.bitwise_not)
install("pos", _positive)
# Identity hash, for defining __eq__ takes it away.
extend(__hash__=object.__hash__)
