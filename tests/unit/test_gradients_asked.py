"""What `backward` and `grad` are asked with: tensors, one or several, and no others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

import dovetail as dt
from dovetail import nn
from dovetail.errors import ArgumentTypeError, DTypeError

JUNK: Final = [3, "a", [3], ["a"], Ellipsis, {"a": 1}]
ASKED: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "gradient": lambda x, v: x.sum().backward(v),
    "inputs": lambda x, v: x.sum().backward(inputs=v),
    "tensors": lambda x, v: dt.autograd.backward(v),
    "grad_tensors": lambda x, v: dt.autograd.backward(x.sum(), v),
    "into": lambda x, v: dt.autograd.backward(x.sum(), inputs=v),
    "outputs": lambda x, v: dt.autograd.grad(v, x),
    "of": lambda x, v: dt.autograd.grad(x.sum(), v),
    "grad_outputs": lambda x, v: dt.autograd.grad(x.sum(), x, v),
}


@pytest.mark.parametrize("value", JUNK, ids=str)
@pytest.mark.parametrize("name", ASKED)
def test_no_tensors(name: str, value: Any) -> None:
    """Something else is refused by its place, and no gradient comes of it."""
    x = dt.ones(2, requires_grad=True)
    with pytest.raises(ArgumentTypeError, match="needed a Tensor"):
        ASKED[name](x, value)
    assert x.grad is None


UTILS: Final[dict[str, Callable[[Any], Any]]] = {
    "clip_grad_norm_": lambda v: nn.utils.clip_grad_norm_(v, 1.0),
    "clip_grad_value_": lambda v: nn.utils.clip_grad_value_(v, 1.0),
    "parameters_to_vector": nn.utils.parameters_to_vector,
    "vector_to_parameters": lambda v: nn.utils.vector_to_parameters(dt.ones(3), v),
}


@pytest.mark.parametrize("value", JUNK, ids=str)
@pytest.mark.parametrize("name", UTILS)
def test_no_parameters(name: str, value: Any) -> None:
    """What works on gradients, or on parameters, takes tensors alone, too."""
    with pytest.raises(ArgumentTypeError, match="needed a Tensor"):
        UTILS[name](value)


@pytest.mark.parametrize("limit", ["1", None, [1.0]])
def test_limits_are_numbers(limit: Any) -> None:
    """A refused limit leaves gradients as they were."""
    x = dt.ones(2, requires_grad=True)
    (x * 3).sum().backward()
    with pytest.raises(ArgumentTypeError, match="needed a number"):
        nn.utils.clip_grad_norm_(x, limit)
    with pytest.raises(ArgumentTypeError, match="needed a number"):
        nn.utils.clip_grad_value_([x], limit)
    assert x.grad.tolist() == [3.0, 3.0]


@pytest.mark.parametrize("name", ["outputs", "of", "tensors"])
def test_nothing(name: str) -> None:
    """None is no tensor, where there has to be one."""
    x = dt.ones(2, requires_grad=True)
    for value in (None, [None]):
        with pytest.raises(ArgumentTypeError, match="needed a Tensor"):
            ASKED[name](x, value)


def test_one_or_several() -> None:
    """A tensor is as good as a list of it, for each of them."""
    x = dt.ones(2, requires_grad=True)
    (x * 2).sum().backward(inputs=x)
    assert x.grad.tolist() == [2.0, 2.0]
    (x * 2).sum().backward([dt.tensor(3.0)], inputs=[x])
    assert x.grad.tolist() == [8.0, 8.0]
    assert dt.autograd.grad(x.sum(), (y for y in [x]))[0].tolist() == [1.0, 1.0]


def test_complex_gradients_are_of_complex_tensors() -> None:
    """A gradient is complex where the tensor is, and nowhere else."""
    for own, other in (("float32", "complex64"), ("complex64", "float32")):
        x = dt.ones(2, dtype=getattr(dt, own), requires_grad=True)
        with pytest.raises(DTypeError, match=f"needed {own}"):
            x.sum().backward(dt.ones((), dtype=getattr(dt, other)))
