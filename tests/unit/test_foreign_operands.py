"""Operators with operands of other classes, which may have operators of their own."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

import dovetail as dt
from dovetail.errors import DovetailError

NAMES: Final = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or",
    "xor", "lshift", "rshift",
)  # fmt: skip
ORDERS: Final = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
ARITHMETIC: Final = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv,
    operator.mod, operator.pow, operator.matmul,
]  # fmt: skip


def _answering(name: str) -> Any:
    """An operand that answers one operator with its own name and what it met."""
    method = f"__r{name}__" if name in NAMES else f"__{ORDERS[name]}__"
    return type("Foreign", (), {method: lambda self, other: (name, other)})()


@pytest.mark.parametrize("name", [*NAMES, *ORDERS])
def test_an_operand_answers_by_its_reflected_operator(name: str) -> None:
    """As Python lets it where the tensor cannot; the tensor is what it is given."""
    x = dt.tensor([1, 2])
    function = getattr(operator, {"and": "and_", "or": "or_"}.get(name, name))
    said, met = function(x, _answering(name))
    assert said == name
    assert met is x


@pytest.mark.parametrize("name", [n for n in NAMES if n != "matmul"])
def test_in_place_operators_leave_it_to_the_operand(name: str) -> None:
    """`x += other` is then `x = x + other`, and the tensor is as it was."""
    x = dt.tensor([1, 2])
    function = getattr(operator, f"i{name}")
    said, met = function(x, _answering(name))
    assert (said, met.tolist()) == (name, [1, 2])


@pytest.mark.parametrize("function", ARITHMETIC)
def test_arrays_of_numpy(function: Callable[..., Any]) -> None:
    """A tensor and an array give a tensor, in the dtype that NumPy gives."""
    x, a = dt.arange(1, 4, dtype=dt.float32), np.arange(2.0, 5.0)
    y = function(x, a)
    assert type(y) is dt.Tensor
    want = function(x.numpy(), a)
    assert y.dtype is dt.float64
    np.testing.assert_array_equal(y.numpy(), want)


@pytest.mark.parametrize(
    "function", [*ARITHMETIC, operator.lt, operator.iadd, operator.or_]
)
@pytest.mark.parametrize(
    "other",
    [None, "a", [1.0, 2.0], {1}, object(), list, np.array(["a"]), np.arange(5.0)],
    ids=lambda v: type(v).__name__,
)  # fmt: skip
def test_operands_that_know_no_answer_are_refused(
    function: Callable[..., Any], other: Any
) -> None:
    """In our words, and the tensor is as it was."""
    x = dt.ones(2)
    with pytest.raises(DovetailError) as caught:
        function(x, other)
    assert isinstance(caught.value, TypeError)
    assert x.tolist() == [1.0, 1.0]


def test_arrays_and_gradients() -> None:
    """NumPy has no gradients: a tensor that requires them is refused."""
    with pytest.raises(RuntimeError, match="requires grad"):
        dt.ones(2, requires_grad=True) + np.ones(2)


def test_parameters_are_arrays_where_no_gradients_are_recorded() -> None:
    """Also as arguments of NumPy's functions; the memory is theirs."""
    x = dt.ones(2, requires_grad=True)
    with dt.no_grad():
        values = x.view(-1).numpy()
        assert np.asarray(x).tolist() == [1.0, 1.0]
    values[0] = 5.0
    assert x.tolist() == [5.0, 1.0]
    with pytest.raises(RuntimeError, match="requires grad"):
        x.numpy()


def test_tensors_as_integers_and_as_bytes() -> None:
    """One element is an integer; several are bytes one by one."""
    assert [10, 11, 12][dt.tensor([1])] == 11
    assert bytes(dt.tensor([1, 2], dtype=dt.uint8)) == b"\x01\x02"
    with pytest.raises(TypeError, match="one element"):
        operator.index(dt.tensor([1, 2]))


def test_the_buffer_of_a_tensor() -> None:
    """It is the tensor's memory, of its shape and format."""
    x = dt.arange(6.0).view(2, 3)
    view = memoryview(x) if sys.version_info >= (3, 12) else x.__buffer__(0)
    assert (view.format, view.shape) == ("f", (2, 3))
    view[1, 2] = 9.0
    assert x[1, 2].item() == 9.0
