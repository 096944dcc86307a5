"""Numbers beside tensors: refused wherever torch refuses them, whatever came before."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable
from typing import Any, Final

import pytest

import dovetail as dt
from dovetail.errors import DovetailError

torch = pytest.importorskip("torch")

DTYPES: Final = (
    "float32", "float16", "bfloat16", "float64", "int64", "int8", "uint8", "bool",
    "complex64",
)  # fmt: skip
NUMBERS: Final = (
    1, 0.5, True, -129, 300, 1e5, 1 << 31, 1 << 63, 1 << 70, -(1 << 70), 1e300, -1e300,
    math.inf, math.nan, 1.0, 1j, 2 + 0j,
)  # fmt: skip


def square(x: Any) -> Any:
    return x.reshape(2, 2)


# By what they are called, functions of (library, four elements, a number).
CALLS: Final[dict[str, Callable[[Any, Any, Any], Any]]] = {
    "addcmul": lambda t, x, v: t.addcmul(x, x, x, value=v),
    "addcdiv": lambda t, x, v: t.addcdiv(x, x, x, value=v),
    "add alpha": lambda t, x, v: t.add(x, x, alpha=v),
    "add a number, alpha": lambda t, x, v: t.add(x, 1, alpha=v),
    "sub alpha": lambda t, x, v: t.sub(x, x, alpha=v),
    "rsub alpha": lambda t, x, v: t.rsub(x, x, alpha=v),
    "sub": lambda t, x, v: x - v,
    "sub_": lambda t, x, v: x.sub_(v),
    "minus": lambda t, x, v: v - x,
    "mul_": lambda t, x, v: x.mul_(v),
    "pow": lambda t, x, v: x**v,
    "pow of a number": lambda t, x, v: v**x,
    "pow_": lambda t, x, v: x.pow_(v),
    "clamp min": lambda t, x, v: x.clamp(min=v),
    "clamp max": lambda t, x, v: x.clamp(max=v),
    "clamp both": lambda t, x, v: x.clamp(v, v),
    "clamp_min": lambda t, x, v: x.clamp_min(v),
    "clamp_max_": lambda t, x, v: x.clamp_max_(v),
    "clamp beside a tensor": lambda t, x, v: x.clamp(x, v),
    "lerp": lambda t, x, v: t.lerp(x, x, v),
    "elu": lambda t, x, v: t.nn.functional.elu(x, v),
    "celu": lambda t, x, v: t.nn.functional.celu(x, v),
    "hardshrink": lambda t, x, v: t.nn.functional.hardshrink(x, v),
    "softshrink": lambda t, x, v: t.nn.functional.softshrink(x, v),
    "hardtanh": lambda t, x, v: t.nn.functional.hardtanh(x, v, 100),
    "leaky_relu": lambda t, x, v: t.nn.functional.leaky_relu(x, v),
    "logit": lambda t, x, v: t.logit(x, v),
    "softplus beta": lambda t, x, v: t.nn.functional.softplus(x, v),
    "softplus threshold": lambda t, x, v: t.nn.functional.softplus(x, 1, v),
    "threshold": lambda t, x, v: t.nn.functional.threshold(x, v, 1),
    "threshold value": lambda t, x, v: t.nn.functional.threshold(x, 1, v),
    "nan_to_num": lambda t, x, v: x.nan_to_num(v),
    "histc": lambda t, x, v: t.histc(x, 4, min=-5, max=v),
    "addmm alpha": lambda t, x, v: t.addmm(square(x), square(x), square(x), alpha=v),
    "addmm beta": lambda t, x, v: t.addmm(square(x), square(x), square(x), beta=v),
    "addmv": lambda t, x, v: t.addmv(x[:2], square(x), x[:2], alpha=v),
    "addr": lambda t, x, v: t.addr(square(x), x[:2], x[:2], alpha=v),
    "index_add": lambda t, x, v: x.index_add(0, t.tensor([0]), x[:1], alpha=v),
    "fmod": lambda t, x, v: t.fmod(x, v),
    "remainder": lambda t, x, v: x % v,
    "floor_divide": lambda t, x, v: x // v,
    "float_power": lambda t, x, v: t.float_power(x, v),
    "norm": lambda t, x, v: t.norm(x, v),
    "dist": lambda t, x, v: t.dist(x, x, v),
    "isclose": lambda t, x, v: t.isclose(x, x, rtol=v),
    "hinge": lambda t, x, v: t.nn.functional.hinge_embedding_loss(x, x, margin=v),
}

# A dtype for which torch's CPU has no kernel, or does not promote, says nothing.
UNSERVED: Final = re.compile("not implemented for|not supported for|Promotion for")


def error_of(lib: Any, name: str, dtype: str, number: Any) -> Exception | None:
    x = lib.tensor([1, 0, 1, 1]).to(getattr(lib, dtype))
    try:
        CALLS[name](lib, x, number)
    except Exception as error:
        return error
    return None


@pytest.mark.parametrize("name", CALLS)
def test_numbers_are_refused_as_in_torch(name: str) -> None:
    """What torch refuses is refused in our words, also after good calls."""
    passed, foreign, refused = [], [], 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for dtype in DTYPES:
            for number in NUMBERS:
                ours = error_of(dt, name, dtype, number)
                if ours is not None and not isinstance(ours, DovetailError):
                    foreign.append((dtype, number, ours))
                theirs = error_of(torch, name, dtype, number)
                if theirs is None or UNSERVED.search(str(theirs)):
                    continue
                refused += 1
                if ours is None:
                    passed.append((dtype, number, str(theirs)[:80]))
    assert passed == []
    assert foreign == []
    assert refused > 0


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64"])
def test_negative_factors_of_unsigned_products_wrap(dtype: str) -> None:
    """A negative `value` counts modulo the range, which torch does in uint8 alone."""
    x = dt.tensor([200, 3]).to(getattr(dt, dtype))
    modulus = 1 << (8 * x.element_size())
    want = [(n - 2 * n * n) % modulus for n in (200, 3)]
    assert dt.addcmul(x, x, x, value=-2).tolist() == want
    if dtype == "uint8":
        theirs = torch.tensor([200, 3], dtype=torch.uint8)
        assert torch.addcmul(theirs, theirs, theirs, value=-2).tolist() == want
