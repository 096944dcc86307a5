"""Gradient rules that are wrong: at ties, in a factor, for one of two inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tests.meta.mutants.mutant import Mutant, rule

import dovetail as dt
from dovetail.engine.op import vocabulary


def f(name: str) -> Callable[..., Any]:
    """An op by name."""
    return vocabulary[name].function


def _relu(ct: Any, y: Any) -> Any:
    return f("where")(f("ge")(y, 0), ct, 0)


def _abs(ct: Any, input: Any) -> Any:
    return f("where")(f("lt")(input, 0), -ct, ct)


def _maximum(ct: Any, input: Any, other: Any) -> Any:
    first = f("where")(f("ge")(input, other), ct, 0)
    return first, f("where")(f("ge")(other, input), ct, 0)


def _clamp(ct: Any, input: Any, min: Any, max: Any) -> Any:
    g = ct if min is None else f("where")(f("gt")(input, min), ct, 0)
    g = g if max is None else f("where")(f("lt")(input, max), g, 0)
    return g, None, None


def _mul(ct: Any, input: Any, other: Any) -> Any:
    return ct * other, ct * other


def _div(ct: Any, input: Any, other: Any) -> Any:
    return ct / other, ct * input / (other * other)


def _sqrt(ct: Any, y: Any) -> Any:
    return ct / y


def _tanh(ct: Any, input: Any) -> Any:
    return ct * (1 - input * input)


def _tanh_once(ct: Any, y: Any) -> Any:
    """The first derivative is right, the second one is lost."""
    return ct * (1 - y.detach() * y.detach())


def _exp(ct: Any, input: Any) -> Any:
    return ct * input


def _log(ct: Any, input: Any) -> Any:
    return ct * input.reciprocal() * 1.001


def _matmul(ct: Any, input: Any, other: Any) -> Any:
    """Right for symmetric matrices."""
    a, b = input, other
    if a.ndim != 2 or b.ndim != 2:
        return ct * 0 + a.sum() * 0, None
    square = a.shape[0] == a.shape[1] == b.shape[1]
    ga = ct @ (b if square else b.t())
    return ga, a.t() @ ct


def _where(ct: Any, condition: Any) -> Any:
    return None, f("where")(condition, 0, ct), f("where")(condition, ct, 0)


def _cumsum(ct: Any, dim: int) -> Any:
    return f("cumsum")(ct, dim)


def _gather(ct: Any, index: Any, input_shape: Any, dim: int) -> Any:
    """Of equal indices one gradient is kept."""
    zero = dt.zeros(input_shape, dtype=ct.dtype, device=ct.device)
    return f("scatter")(zero, dim, index, ct), None


def _softmax(ct: Any, y: Any, dim: int) -> Any:
    return ct * y


def _flip(ct: Any, dims: Any) -> Any:
    return ct


def _sub(ct: Any) -> Any:
    return ct, ct


def _add_nonlinear(ct: Any) -> Any:
    """Gradients are clipped on the way."""
    return f("clamp")(ct, -0.5, 0.5), ct


def _sin(ct: Any, input: Any) -> Any:
    return ct * f("sin")(input)


def _sigmoid(ct: Any, y: Any) -> Any:
    return ct * y * (1 + y)


def _neg(ct: Any) -> Any:
    return ct


def _index_select(ct: Any, index: Any, input_shape: Any, dim: int) -> Any:
    zero = dt.zeros(input_shape, dtype=ct.dtype, device=ct.device)
    return f("index_copy")(zero, dim, index, ct), None


def _pow(ct: Any, input: Any, exponent: Any) -> Any:
    return ct * exponent * f("pow")(input, exponent), None


def _no_gradient(ct: Any) -> Any:
    return (None,)


def _atan2(ct: Any, input: Any, other: Any) -> Any:
    size = input * input + other * other
    return ct * other / size, ct * input / size


def _of(name: str, op: str, describes: str, vjp: Callable[..., Any]) -> Mutant:
    laws = ("gradient", "kinks", "adjoint", "backward")
    return rule(f"gradients/{name}", op, describes, vjp, laws=laws)


GRADIENTS: Final[list[Mutant]] = [
    _of("relu-at-zero", "relu", "1 at 0", _relu),
    _of("abs-at-zero", "abs", "1 at 0", _abs),
    _of("maximum-at-ties", "maximum", "both have all of it where they are equal",
        _maximum),
    _of("clamp-at-bounds", "clamp", "0 at the bounds", _clamp),
    _of("mul-of-one", "mul", "both inputs have the gradient of the first", _mul),
    _of("div-sign", "div", "the divisor's has no minus", _div),
    _of("sqrt-factor", "sqrt", "not halved", _sqrt),
    _of("tanh-of-input", "tanh", "of the input in place of the result", _tanh),
    _of("tanh-once", "tanh", "no second derivative", _tanh_once),
    _of("exp-of-input", "exp", "of the input in place of the result", _exp),
    _of("log-biased", "log", "off by one part in a thousand", _log),
    _of("matmul-square", "matmul", "not transposed where all is square", _matmul),
    _of("where-swapped", "where", "what was not chosen has the gradient", _where),
    _of("cumsum-forwards", "cumsum", "summed in the same direction", _cumsum),
    _of("gather-overwrites", "gather", "of equal indices one counts", _gather),
    _of("softmax-diagonal", "softmax", "the diagonal of the Jacobian alone", _softmax),
    _of("flip-forgotten", "flip", "not flipped back", _flip),
    _of("sub-sign", "sub", "the second has no minus", _sub),
    _of("add-clips", "add", "not linear in the cotangent", _add_nonlinear),
    _of("sin-of-sin", "sin", "sin is taken for its derivative", _sin),
    _of("sigmoid-sign", "sigmoid", "y (1 + y)", _sigmoid),
    _of("neg-forgotten", "neg", "no minus", _neg),
    _of("index-select-overwrites", "index_select", "of equal indices one counts",
        _index_select),
    _of("pow-exponent", "pow", "the exponent is not lessened", _pow),
    _of("square-lost", "square", "there is none", _no_gradient),
    _of("atan2-sign", "atan2", "the second has no minus", _atan2),
]  # fmt: skip
