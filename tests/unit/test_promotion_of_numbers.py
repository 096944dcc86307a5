"""Functions of two numbers, of which torch makes tensors."""

from typing import Any

import pytest

import dovetail as dt

NUMBERS = (3, 2.5, True, 2j)
FUNCTIONS: dict[str, Any] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b, "floor_divide": lambda a, b: a // b,
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("a", NUMBERS)
@pytest.mark.parametrize("b", NUMBERS)
def test_two_numbers_are_a_tensor(name: str, a: Any, b: Any) -> None:
    """Of the dtype that tensors of them would have, by Python's arithmetic."""
    if name == "floor_divide" and (isinstance(a + b, complex) or a is b is True):
        return
    if name == "sub" and (a is True or b is True):
        with pytest.raises(TypeError):
            dt.sub(a, b)
        return
    got = getattr(dt, name)(a, b)
    both_bools = a is b is True and name in ("add", "mul")
    want = True if both_bools else FUNCTIONS[name](a, b)
    assert got.shape == ()
    assert got.item() == pytest.approx(want)
    assert got.dtype == getattr(dt, name)(dt.tensor(a), dt.tensor(b)).dtype


def test_options_and_what_has_none() -> None:
    """`alpha` and rounding are of it; other functions take a tensor at least."""
    assert dt.add(1, 2, alpha=3).item() == 7
    assert dt.div(12, 5, rounding_mode="trunc").item() == 2
    assert dt.div(-12, 5, rounding_mode="floor").item() == -3
    for name in ("pow", "eq", "fmod", "remainder", "maximum", "atan2", "bitwise_and"):
        with pytest.raises(TypeError):
            getattr(dt, name)(1, 2)
