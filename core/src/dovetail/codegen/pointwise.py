"""Programs of elementary steps as values of a kernel."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

from dovetail.codegen.formats import FORMATS
from dovetail.codegen.ir import FLOATS, SIZES
from dovetail.codegen.mathematics import FUNCTIONS, Function, absolute, copysign
from dovetail.codegen.program import Number, Program, Step
from dovetail.codegen.values import (
    Term,
    apply,
    bits,
    cast,
    choose,
    compare,
    constant,
    unary,
)
from dovetail.errors import NotSupported

Make = Callable[..., Term]


def _floats_only(name: str, make: Make) -> Make:
    """An operation that is only asked for where integers have another meaning."""

    def made(*given: Term) -> Term:
        if given[0].dtype not in FORMATS:
            raise _unknown(f"{name} of {given[0].dtype}")
        return make(*given)

    return made


def _where_declared(name: str, found: Function) -> Make:
    """A function in the formats that it is declared for."""

    def made(*given: Term) -> Term:
        if given[0].dtype not in found.ulp:
            raise _unknown(f"{name} of {given[0].dtype}")
        return found.make(*given)

    return made


def _whole_only(name: str, make: Make) -> Make:
    def made(*given: Term) -> Term:
        if given[0].dtype in FLOATS:
            raise _unknown(f"{name} of {given[0].dtype}")
        return make(*given)

    return made


def _arithmetic(op: str) -> Make:
    return lambda a, b: apply(op, a, b)


def _comparison(op: str) -> Make:
    return lambda a, b: compare(op, a, b)


def _keep(x: Term) -> Term:
    return x


def _maximum(a: Term, b: Term) -> Term:
    """The larger one; beside a number it is one comparison."""
    for x, limit in ((a, b), (b, a)):
        if _is_number(limit):
            number = limit.value.detail
            return choose(x <= limit if number == 0 else x < limit, limit, x)
    return apply("maximum", a, b)


def _minimum(a: Term, b: Term) -> Term:
    for x, limit in ((a, b), (b, a)):
        if _is_number(limit) and limit.value.detail != 0:
            return choose(x > limit, limit, x)
    return apply("minimum", a, b)


def _is_number(x: Term) -> bool:
    """Whether a float is known, and is neither NaN nor -0."""
    if x.value.op != "constant" or x.dtype not in FLOATS:
        return False
    number = float(x.value.detail)
    is_minus_zero = number == 0 and math.copysign(1.0, number) < 0
    return not math.isnan(number) and not is_minus_zero


# What has to be computed in this way, as level 0 says it.
_PRIMITIVE: Final[dict[str, Make]] = {
    **{op: _arithmetic(op) for op in ("add", "sub", "mul")},
    **{op: _comparison(op) for op in ("lt", "eq")},
    "div": _floats_only("div", _arithmetic("div")),
    "float_fmod": _floats_only("float_fmod", _arithmetic("remainder")),
    "maximum": _maximum,
    "bitwise_and": _whole_only("bitwise_and", _arithmetic("and")),
    "bitwise_xor": _whole_only("bitwise_xor", _arithmetic("xor")),
    "sqrt": _floats_only("sqrt", lambda x: unary("sqrt", x)),
    "floor": _floats_only("floor", lambda x: unary("floor", x)),
    "where": choose, "clone": _keep, "conj": _keep,
}  # fmt: skip
# What bodies make of others, and kernels know a shorter way to.
_SHORTER: Final[dict[str, Make]] = {
    **{op: _comparison(op) for op in ("le", "gt", "ge", "ne")},
    "minimum": _minimum, "abs": absolute,
    "neg": lambda x: -x, "square": lambda x: x * x,
    "reciprocal": _floats_only("reciprocal", lambda x: 1.0 / x),
    "copysign": _floats_only("copysign", copysign),
    "isnan": _floats_only("isnan", lambda x: compare("ne", x, x)),
}  # fmt: skip
_FUNCTIONS: Final[dict[str, Make]] = {
    name: _where_declared(name, found) for name, found in FUNCTIONS.items()
}
_ALL: Final = _PRIMITIVE | _SHORTER | _FUNCTIONS

KNOWN: Final = frozenset(_SHORTER) | frozenset(_FUNCTIONS)
"""Ops beside level 0 that stand in programs as they are."""


def results(program: Program, inputs: Sequence[Term | None]) -> tuple[Term, ...]:
    """The results of a program for inputs of the dtypes that it has.

    Raises:
        NotSupported: there is a step, or a dtype, that kernels do not know.
    """
    values: list[Term | None] = list(inputs)
    for step in program.steps:
        values.append(done(step, [_operand(x, values) for x in step.operands]))
    found = [_operand(x, values) for x, _ in program.results]
    return tuple(y for y in found if y is not None)


def _operand(x: Any, values: list[Term | None]) -> Term | None:
    if isinstance(x, Number):
        if x.dtype not in SIZES:
            raise _unknown(x.dtype)
        return constant(x.value, x.dtype)
    return None if x is None else values[x]


def done(step: Step, given: list[Any]) -> Term:
    """The value of one step."""
    if step.dtype not in SIZES:
        raise _unknown(step.dtype)
    if step.op == "cast":
        return _converted(given[0], step.dtype)
    if step.op == "bitcast":
        return bits(given[0], step.dtype)
    make = _ALL.get(step.op)
    if make is None or None in given:
        raise _unknown(step.op)
    return make(*given)


def _converted(x: Term, dtype: str) -> Term:
    if x.dtype in FLOATS and dtype not in FLOATS and dtype != "bool":
        raise _unknown(f"a cast from {x.dtype} to {dtype}")
    return cast(x, dtype)


def _unknown(what: str) -> NotSupported:
    return NotSupported("kernel", was=f"asked for {what}", needed="what kernels know")
