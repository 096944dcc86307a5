"""Calls as published programs spell them, beside torch."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import dovetail as dt
from dovetail import errors

FRAMES = (torch, dt)
SIZES = (
    "zeros(size=(2, 3))", "ones(size=[2, 3])", "ones(size=())", "rand(size=(2,))",
    "randn(size=(2, 3), dtype=L.float64)", "empty(size=L.Size([4]))",
    "empty(size=(2,), memory_format=L.contiguous_format)",
    "zeros(size=(2,), requires_grad=True)", "ones(1).new_zeros(size=(2, 3))",
    "ones(1).new_ones(size=[2])", "ones(1).new_empty(size=(0, 2))",

)  # fmt: skip
REFUSED = (
    "zeros(size=3)", "zeros(size=None)", "zeros(2, size=(3,))", "zeros()",
    "ones(2).new_zeros(size=3)", "zeros_like(L.ones(2), size=3)",
)  # fmt: skip
VARIABLES = (
    "V(z)", "V(z, requires_grad=False)", "V(z, requires_grad=True)", "V(x)", "V(y)",
    "V(y, True)", "V(data=y, requires_grad=True)", "V(y, volatile=True)", "V(y, 0)",
    "V(L.nn.Parameter(y))", "V()", "V(n)", "V(n, requires_grad=False)",
)  # fmt: skip
NO_VARIABLES = (
    "V(3)",
    "V([1, 2])",
    "V(2, 3)",
    "V(y, None)",
    "V(n, requires_grad=True)",
)


def said(lib: Any, call: str) -> Any:
    """What a library makes of a call."""
    return eval(f"L.{call}", {"L": lib})


@pytest.mark.parametrize("call", SIZES)
def test_sizes_may_be_given_by_name(call: str) -> None:
    theirs, ours = [said(lib, call) for lib in FRAMES]
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert str(ours.dtype).split(".")[1] == str(theirs.dtype).split(".")[1]
    assert ours.requires_grad == theirs.requires_grad


@pytest.mark.parametrize("call", REFUSED)
def test_what_is_no_size_is_refused(call: str) -> None:
    for lib in FRAMES:
        with pytest.raises(TypeError):
            said(lib, call)


def variable(lib: Any, call: str) -> Any:
    x = lib.ones(2, requires_grad=True)
    values = {
        "L": lib, "V": lib.autograd.Variable, "x": x, "z": x * 2, "y": lib.zeros(2),
        "n": lib.arange(3),
    }  # fmt: skip
    return eval(call, values)


@pytest.mark.filterwarnings("ignore:volatile:UserWarning")
@pytest.mark.parametrize("call", VARIABLES)
def test_variables_are_leaves_of_their_own(call: str) -> None:
    def facts(v: Any) -> list[Any]:
        named = v.requires_grad, v.is_leaf, v.grad_fn is None, type(v).__name__
        return [*named, v.tolist()]

    assert facts(variable(dt, call)) == facts(variable(torch, call))


@pytest.mark.parametrize("call", NO_VARIABLES)
def test_what_makes_no_variable_is_refused(call: str) -> None:
    for lib in FRAMES:
        with pytest.raises((TypeError, RuntimeError)):
            variable(lib, call)
    with pytest.raises(errors.DovetailError):
        variable(dt, call)


def test_variables_share_memory_and_versions() -> None:
    for lib in FRAMES:
        y = lib.zeros(2)
        v = lib.autograd.Variable(y)
        v.add_(1)
        assert y.tolist() == [1, 1]
        assert y._version == v._version == 1
        assert isinstance(y, lib.autograd.Variable)
        assert not isinstance(3, lib.autograd.Variable)
        assert lib.autograd.Variable is not lib.Tensor
