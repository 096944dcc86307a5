"""Elementwise names beside torch's: values, dtypes, gradients, refusals."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch

import dovetail as dt

FLOATS = [0.0, 0.3, -0.3, 0.5, 1.0, -1.0, 1.5, -2.5, 3.2, -7.75, 20.0, 1e-6, 100.0]
EXTREMES = [float("inf"), float("-inf"), float("nan"), -0.0, 1e30, -1e30, 88.5, -104.0]
VALUES = {
    "float32": FLOATS, "float64": FLOATS + EXTREMES, "float16": FLOATS,
    "bfloat16": FLOATS, "int64": [0, 1, -1, 2, -3, 7, 100], "int8": [0, 1, -1, 5, 127],
    "uint8": [0, 1, 2, 5, 255], "bool": [True, False],
    "complex64": [0j, 1 + 2j, -0.5 + 0.25j, 3 - 1j, -1j],
}  # fmt: skip
# Of a result, relative and absolute. torch's own functions are off by a few units.
CLOSE = {
    "float32": (5e-6, 1e-6), "float64": (1e-12, 1e-14), "float16": (2e-3, 1e-4),
    "bfloat16": (1.6e-2, 1e-3), "complex64": (1e-5, 2e-6), "complex128": (1e-10, 1e-12),
}  # fmt: skip

UNARY = [
    "abs",
    "absolute",
    "acos",
    "acosh",
    "angle",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "bitwise_not",
    "ceil",
    "conj_physical",
    "cos",
    "cosh",
    "deg2rad",
    "digamma",
    "erf",
    "erfc",
    "erfinv",
    "exp",
    "exp2",
    "expm1",
    "fix",
    "floor",
    "frac",
    "isfinite",
    "isinf",
    "isnan",
    "isneginf",
    "isposinf",
    "isreal",
    "lgamma",
    "log",
    "log10",
    "log1p",
    "log2",
    "logical_not",
    "logit",
    "nan_to_num",
    "neg",
    "negative",
    "positive",
    "rad2deg",
    "reciprocal",
    "relu",
    "round",
    "rsqrt",
    "sgn",
    "sigmoid",
    "sign",
    "signbit",
    "sin",
    "sinc",
    "sinh",
    "sqrt",
    "square",
    "tan",
    "tanh",
    "trunc",
    "arccos",
    "arctanh",
    "real",
]
BINARY = [
    "add",
    "sub",
    "mul",
    "div",
    "true_divide",
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "remainder",
    "fmod",
    "floor_divide",
    "pow",
    "atan2",
    "arctan2",
    "copysign",
    "hypot",
    "logaddexp",
    "logaddexp2",
    "xlogy",
    "heaviside",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "less",
    "greater_equal",
    "logical_and",
    "logical_or",
    "logical_xor",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "bitwise_left_shift",
    "bitwise_right_shift",
    "gcd",
    "lcm",
    "nextafter",
    "rsub",
    "ldexp",
    "float_power",
    "isclose",
    "multiply",
    "not_equal",
]
OF_TWO = [
    "add", "sub", "mul", "div", "pow", "maximum", "minimum", "fmax", "fmin",
    "atan2", "hypot", "logaddexp", "xlogy", "remainder", "fmod", "copysign",
    "logaddexp2", "rsub", "float_power",
]  # fmt: skip
ACTIVATIONS: list[tuple[str, dict[str, Any]]] = [
    ("relu", {}), ("relu6", {}), ("leaky_relu", {"negative_slope": 0.2}),
    ("elu", {"alpha": 1.5}), ("selu", {}), ("celu", {"alpha": 0.7}), ("silu", {}),
    ("mish", {}), ("gelu", {}), ("gelu", {"approximate": "tanh"}), ("logsigmoid", {}),
    ("softplus", {"beta": 2.0, "threshold": 5.0}), ("softsign", {}),
    ("hardsigmoid", {}),
    ("hardtanh", {"min_val": -2.0, "max_val": 0.5}), ("hardswish", {}),
    ("threshold", {"threshold": 0.1, "value": 20.0}), ("softshrink", {"lambd": 0.4}),
    ("hardshrink", {"lambd": 0.4}),
]  # fmt: skip
# torch answers; the vocabulary refuses.
REFUSALS = (RuntimeError, TypeError, ValueError, IndexError)
REFUSED_HERE = {
    ("logaddexp", "complex64"),
}
# Infinities that torch's own formulas turn into NaN, and the other way round.
EXTREMES_DIFFER = {"digamma", "gelu", "logaddexp2"}


def both(values: Any, dtype: str) -> tuple[Any, Any]:
    """The same tensor here and there."""
    theirs = torch.tensor(values, dtype=getattr(torch, dtype))
    return dt.tensor(values, dtype=getattr(dt, dtype)), theirs


def array(x: Any) -> np.ndarray[Any, Any]:
    """Values of a tensor of either library, 16-bit floats widened."""
    x = x.detach()
    if str(x.dtype).endswith("float16"):
        x = x.float()
    return np.asarray(x.resolve_conj().clone().numpy())


def same(mine: Any, theirs: Any, note: str, rtol: float = 0.0) -> None:
    """Equal shapes, dtypes and (within the table) values."""
    if not isinstance(theirs, torch.Tensor):
        assert mine == theirs, note
        return
    name = str(theirs.dtype).removeprefix("torch.")
    assert str(mine.dtype).removeprefix("dovetail.") == name, note
    assert tuple(mine.shape) == tuple(theirs.shape), note
    least, atol = CLOSE.get(name, (0.0, 0.0))
    np.testing.assert_allclose(
        array(mine), array(theirs), rtol=max(rtol, least), atol=atol, err_msg=note
    )


def compare(mine: Any, theirs: Any, args: Any, note: str, **kwargs: Any) -> bool:
    """The same result, or a refusal by both; says whether there is a result.

    Each argument is a pair: what is given here and what there.
    """
    given, there = [a for a, _ in args], [a for _, a in args]
    try:
        want = theirs(*there, **kwargs)
    except REFUSALS:
        with pytest.raises(REFUSALS):
            mine(*given, **kwargs)
        return False
    same(mine(*given, **kwargs), want, note)
    return True


# Where torch has no kernel and an answer is plain, there is an answer.
ANSWERED_HERE = {
    "abs": "", "hypot": "int64 int8 uint8 bool", "logaddexp": "int64 int8 uint8 bool",
    "logaddexp2": "int64 int8 uint8 bool", "nextafter": "int64 int8 uint8 bool",
}  # fmt: skip


@pytest.mark.parametrize("name", UNARY)
def test_unary(name: str) -> None:
    """Functions of one tensor, in every dtype, as function and as method."""
    for dtype, values in VALUES.items():
        if (name, dtype) in REFUSED_HERE:
            with pytest.raises(TypeError):
                getattr(dt, name)(dt.tensor(values))
            continue
        ordinary = dtype == "float64" and name in EXTREMES_DIFFER
        x = both(FLOATS if ordinary else values, dtype)
        note = f"{name} {dtype}"
        works = compare(getattr(dt, name), getattr(torch, name), [x], note)
        if works and name != "real":
            same(getattr(x[0], name)(), getattr(x[1], name)(), f"{note} method")


@pytest.mark.parametrize("name", BINARY)
def test_binary(name: str) -> None:
    """Functions of two operands: each value with each, by broadcasting."""
    for dtype, given in VALUES.items():
        answered = dtype in ANSWERED_HERE.get(name, "").split()
        if answered or (name, dtype) in REFUSED_HERE:
            continue
        values = [v for v in given if v == v]  # noqa: PLR0124
        if dtype == "float64" and name in DIVIDES:
            values = FLOATS
        if name in ("pow", "float_power") and dtype == "complex64":
            values = [1 + 2j, -0.5 + 0.25j, 3 - 1j]
        by_zero = dtype.startswith("float") or name not in DIVIDES
        divisors = [v for v in values if v or by_zero]
        x, y = both([[v] for v in values], dtype), both(divisors, dtype)
        compare(getattr(dt, name), getattr(torch, name), [x, y], f"{name} {dtype}")


DIVIDES = {"remainder", "fmod", "floor_divide"}
OPERANDS = [
    ("float32", [1.5, -2.5]), ("float64", 2.5), ("int64", [3, 2]), ("int8", [4, 1]),
    ("bool", [True, False]), ("complex64", [1 + 1j, 2j]),
]  # fmt: skip
OPERATORS = [
    "+", "-", "*", "/", "//", "%", "**", "&", "|", "^", "<<", ">>", "<", "<=", ">",
    ">=", "==", "!=",
]  # fmt: skip


def differs(operator: str, left: Any, right: Any) -> bool:
    """Torch refuses to subtract bools, and integers modulo 0; here is an answer."""
    if operator == "-":
        return left in ("bool", True) or right in ("bool", True)
    return operator in ("//", "%") and right == "bool"


@pytest.mark.parametrize("operator", OPERATORS)
def test_operators(operator: str) -> None:
    """Operators with tensors of mixed dtypes and with numbers on either side."""
    function = eval(f"lambda a, b: a {operator} b")
    for (d1, a), (d2, b) in itertools.product(OPERANDS, repeat=2):
        if not differs(operator, d1, d2):
            x, y = both(a, d1), both(b, d2)
            compare(function, function, [x, y], f"{d1} {operator} {d2}")
    for (d1, a), number in itertools.product(OPERANDS, (2, 2.5, True, 3j)):
        x, n = both(a, d1), (number, number)
        if not differs(operator, d1, number):
            compare(function, function, [x, n], f"{d1} {operator} {number}")
        if not differs(operator, number, d1):
            compare(function, function, [n, x], f"{number} {operator} {d1}")


@pytest.mark.parametrize("operator", ["+=", "-=", "*=", "/=", "//=", "%=", "**="])
def test_operators_in_place(operator: str) -> None:
    """`+=` and its kin write into the tensor and refuse a lower category."""

    def written(x: Any, n: Any) -> Any:
        scope = {"x": x, "n": n}
        exec(f"x {operator} n", scope)
        assert scope["x"] is x
        return x

    for dtype, n in itertools.product(("float32", "int64"), (2, 1.5)):
        x = both([3, -5, 2], dtype)
        compare(written, written, [x, (n, n)], f"{dtype} {operator} {n}")


@pytest.mark.parametrize(("name", "kwargs"), ACTIVATIONS)
def test_activations(name: str, kwargs: dict[str, Any]) -> None:
    """Activations and their gradients."""
    function = getattr(torch.nn.functional, name)
    for dtype in ("float32", "float64", "float16", "bfloat16"):
        x, tx = both(FLOATS, dtype)
        x.requires_grad = tx.requires_grad = True
        y = getattr(dt.nn.functional, name)(x, **kwargs)
        ty = function(tx, **kwargs)
        same(y, ty, f"{name} {dtype}")
        ct = np.linspace(-1, 1, len(FLOATS)).tolist()
        y.backward(both(ct, dtype)[0])
        ty.backward(both(ct, dtype)[1])
        # torch's own constants are float32 in some of these.
        same(x.grad, tx.grad, f"gradient of {name} {dtype}", rtol=1e-6)


SMOOTH = [
    "abs",
    "acos",
    "asin",
    "asinh",
    "atan",
    "cos",
    "cosh",
    "deg2rad",
    "digamma",
    "erf",
    "erfc",
    "erfinv",
    "exp",
    "exp2",
    "expm1",
    "frac",
    "lgamma",
    "log",
    "log10",
    "log1p",
    "log2",
    "logit",
    "neg",
    "reciprocal",
    "relu",
    "rsqrt",
    "sgn",
    "sigmoid",
    "sign",
    "sin",
    "sinc",
    "sinh",
    "sqrt",
    "square",
    "tan",
    "tanh",
    "trunc",
    "round",
    "floor",
    "ceil",
    "nan_to_num",
    "angle",
]


@pytest.mark.parametrize("name", SMOOTH)
def test_gradients(name: str) -> None:
    """Gradients of functions of one tensor, and their own gradients."""
    x, tx = both([0.2, 0.45, 0.7, 0.9], "float64")
    found = []
    for library, v in ((dt, x), (torch, tx)):
        v.requires_grad = True
        y = getattr(library, name)(v)
        y.backward(y.detach() * 2 + 1)
        found.append(v.grad)
    same(*found, f"gradient of {name}", rtol=1e-9)  # torch's trigamma


@pytest.mark.parametrize("name", OF_TWO)
def test_gradients_of_two(name: str) -> None:
    """Gradients of both operands, one broadcast, ties included."""
    found = []
    for library, at in ((dt, 0), (torch, 1)):
        x = both([[0.5, 2.0, 1.0], [1.5, 0.7, 3.0]], "float64")[at]
        y = both([1.0, 2.0, 0.4], "float64")[at]
        x.requires_grad = y.requires_grad = True
        z = getattr(library, name)(x, y)
        z.backward(z.detach() + 2)
        found.append((x.grad, y.grad))
    for mine, theirs in zip(*found, strict=True):
        same(mine, theirs, name)


CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("add", ([1.0, 2.0], [3.0, 4.0]), {"alpha": 0.5}),
    ("add", ([1, 2], [3, 4]), {"alpha": 2}),
    ("add", ([1, 2], [3, 4]), {"alpha": 1.5}),
    ("sub", ([1.0, 2.0], 3), {"alpha": 2}),
    ("rsub", ([1.0, 2.0], 3), {"alpha": 2}),
    ("div", ([7, -7], [2, 2]), {"rounding_mode": "trunc"}),
    ("div", ([7, -7], [2, 2]), {"rounding_mode": "floor"}),
    ("div", ([7.5, -7.5], 2), {"rounding_mode": "trunc"}),
    ("div", ([7.5, -7.5], 2), {"rounding_mode": "floor"}),
    ("div", ([7, -7], 2), {"rounding_mode": "up"}),
    ("round", ([1.2345, -2.5],), {"decimals": 2}),
    ("round", ([123.4, 156.0],), {"decimals": -1}),
    ("round", ([123],), {"decimals": -1}),
    ("clamp", ([1.0, 5.0, -2.0], 0, 3), {}),
    ("clamp", ([1, 5, -2], 0.5), {}),
    ("clamp", ([1, 5, -2],), {"max": 3}),
    ("clamp", ([1.0, 5.0, -2.0], 3, 0), {}),
    ("clamp", ([1.0],), {}),
    ("clamp", ([1, 5], 0), {"max": 2**63}),
    ("clamp", ([1.0, 5.0],), {"max": 1e39}),
    ("clamp", ([1.0, 5.0], [2.0, 2.0], [3.0, 3.0]), {}),
    ("clip", ([1.0, 5.0],), {"min": 2.0}),
    ("clamp_min", ([1.0, 5.0], 2.0), {}),
    ("clamp_max", ([1.0, 5.0], 2.0), {}),
    ("lerp", ([1.0, 2.0], [3.0, 4.0], 0.25), {}),
    ("lerp", ([1.0, 2.0], [3.0, 4.0], [0.9, 1.0]), {}),
    ("addcmul", ([1.0, 2.0], [3.0, 4.0], [5.0, 6.0]), {"value": 0.5}),
    ("addcmul", ([1, 2], [3, 4], [5, 6]), {"value": 2}),
    ("addcdiv", ([1.0, 2.0], [3.0, 4.0], [5.0, 6.0]), {"value": 0.5}),
    ("addcdiv", ([1, 2], [3, 4], [5, 6]), {}),
    ("logit", ([0.1, 0.0, 1.0],), {"eps": 0.05}),
    ("nan_to_num", ([float("nan"), float("inf"), -1.0],), {"nan": 2.0, "posinf": 9.0}),
    ("pow", (2, [3, 4]), {}),
    ("pow", ([2, 3], -1), {}),
    ("pow", ([2.0, 3.0], 0.5), {}),
    ("pow", ([2, 3], 0.5), {}),
    ("pow", ([2, 3], 3), {}),
    ("pow", ([2, 3], 7), {}),
    ("where", ([True, False], 1.0, [2.0, 3.0]), {}),
    ("where", ([True, False], 1, 0), {}),
    ("where", ([True, False], [1, 2], [0.5, 0.5]), {}),
    ("where", ([1, 0], 1.0, 2.0), {}),
    ("allclose", ([1.0, 2.0], [1.0, 2.00001]), {}),
    ("allclose", ([1.0], [1.1]), {}),
    ("isclose", ([1.0, float("nan")], [1.0, float("nan")]), {"equal_nan": True}),
    ("equal", ([1.0, 2.0], [1.0, 2.0]), {}),
    ("equal", ([1.0, 2.0], [1.0]), {}),
    ("complex", ([1.0, 2.0], [3.0, -1.0]), {}),
    ("polar", ([1.0, 2.0], [0.5, -1.0]), {}),
    ("prelu", ([[1.0, -2.0], [-3.0, 4.0]], [0.1, 0.2]), {}),
    ("prelu", ([[1.0, -2.0]], [0.1]), {}),
    ("imag", ([1.0],), {}),
    ("view_as_real", ([1.0],), {}),
    ("view_as_real", ([1 + 2j],), {}),
    ("view_as_complex", ([[1.0, 2.0]],), {}),
    ("polygamma", (1, [0.5, 2.0]), {}),
    ("neg", ([True],), {}),
    ("sub", ([True], [True]), {}),
    ("add", ([1.0, 2.0], [1.0, 2.0, 3.0]), {}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "args", "kwargs"), CALLS)
def test_calls(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Torch's signatures: keyword arguments, numbers for tensors, and refusals."""

    pairs = [
        (dt.tensor(a), torch.tensor(a)) if isinstance(a, list) else (a, a) for a in args
    ]
    note = f"{name} {args} {kwargs}"
    compare(getattr(dt, name), getattr(torch, name), pairs, note, **kwargs)


def test_writes() -> None:
    """`name_` writes into the tensor, `out=` into another."""
    for name in ("abs", "relu", "sigmoid", "tanh", "neg", "exp", "sqrt", "round"):
        x, tx = both([0.5, -1.5, 2.0], "float32")
        assert getattr(x, f"{name}_")() is x
        same(x, getattr(tx, f"{name}_")(), f"{name}_")
        if name == "relu":  # has no out=
            with pytest.raises(TypeError):
                dt.relu(x, out=x)
            continue
        out, tout = both([0.0, 0.0, 0.0], "float32")
        getattr(dt, name)(x, out=out)
        getattr(torch, name)(tx, out=tout)
        same(out, tout, f"{name} out=")
    x, tx = both([1.0, 2.0], "float32")
    same(
        x.add_(x, alpha=2).mul_(3).clamp_(0, 8),
        tx.add_(tx, alpha=2).mul_(3).clamp_(0, 8),
        "chain",
    )
    assert (x == "text") is False
    assert (x != None) is True  # noqa: E711


@pytest.mark.parametrize("size", [7, 40_000])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "complex64"])
def test_cubes_have_torchs_bits(dtype: str, size: int) -> None:
    """x**3 is two products in torch's order, whichever kernel serves the size."""
    x = np.random.default_rng(3).normal(0, 9, size).astype(dtype)
    ours, theirs = dt.from_numpy(x) ** 3, torch.from_numpy(x) ** 3
    assert np.array_equal(ours.numpy(), theirs.numpy())
