"""What docstrings say is raised is raised, and their sections are there."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest
from tests.unit.test_docstrings import SHOWN, SPACES

import dovetail as dt
from dovetail import errors
from dovetail.engine.guard import guarded

F = dt.nn.functional
ONES = dt.ones(2, 3)
WHOLE = dt.tensor([1, 2])
Refused = Callable[[], Any]

# By the function and the class that its docstring names.
RAISED: Final[dict[str, dict[str, Refused]]] = {
    "zeros": {"ArgumentError": lambda: dt.zeros(-1)},
    "ones": {"ArgumentError": lambda: dt.ones(2, -1)},
    "empty": {"OutOfMemory": lambda: dt.empty(1 << 55)},
    "full": {"NumberOutOfRange": lambda: dt.full((2,), 300, dtype=dt.int8)},
    "arange": {"ArgumentError": lambda: dt.arange(0, 1, -1)},
    "linspace": {
        "ArgumentError": lambda: dt.linspace(0, 1, -1),
        "NumberOutOfRange": lambda: dt.linspace(0, 300, 2, dtype=dt.uint8),
    },
    "eye": {"ArgumentError": lambda: dt.eye(-1)},
    "randn": {"DTypeError": lambda: dt.randn(2, dtype=dt.int64)},
    "randint": {"ArgumentError": lambda: dt.randint(2, 2, (1,))},
    "randperm": {"ArgumentError": lambda: dt.randperm(-1)},
    "from_numpy": {
        "ArgumentTypeError": lambda: dt.from_numpy([1]),
        "ArgumentError": lambda: dt.from_numpy(np.ones(2)[::-1]),
    },
    "cat": {
        "ShapeError": lambda: dt.cat([ONES, dt.ones(2, 4)]),
        "ArgumentError": lambda: dt.cat([]),
    },
    "stack": {"ShapeError": lambda: dt.stack([ONES, dt.ones(2)])},
    "split": {"ArgumentError": lambda: dt.split(ONES, [1, 2])},
    "chunk": {"ArgumentError": lambda: dt.chunk(ONES, 0)},
    "bmm": {
        "ShapeError": lambda: dt.bmm(dt.ones(1, 2, 3), dt.ones(1, 2, 3)),
        "DTypeError": lambda: dt.bmm(dt.ones(1, 1, 1), dt.ones(1, 1, 1).double()),
    },
    "einsum": {
        "ArgumentError": lambda: dt.einsum("ij,jk", ONES),
        "ShapeError": lambda: dt.einsum("i,i", dt.ones(2), dt.ones(3)),
    },
    "sum": {"DimError": lambda: ONES.sum(2)},
    "mean": {"DTypeError": lambda: WHOLE.mean()},
    "min": {"EmptyDimError": lambda: dt.ones(0).min()},
    "argmax": {"EmptyDimError": lambda: dt.ones(0).argmax()},
    "argmin": {"EmptyDimError": lambda: dt.ones(0).argmin(0)},
    "sort": {"DimError": lambda: ONES.sort(2)},
    "topk": {"ArgumentError": lambda: ONES.topk(4)},
    "mul": {"ShapeError": lambda: ONES * dt.ones(2)},
    "maximum": {
        "ShapeError": lambda: dt.maximum(ONES, dt.ones(2)),
        "DTypeError": lambda: dt.maximum(ONES.cfloat(), ONES.cfloat()),
    },
    "abs": {"DTypeError": lambda: dt.abs(ONES.bool())},
    "pow": {"ArgumentError": lambda: WHOLE**-1},
    "add": {
        "ShapeError": lambda: ONES + dt.ones(2),
        "ArgumentError": lambda: dt.add(WHOLE, 1, alpha=1.5),
    },
    "sub": {
        "ShapeError": lambda: ONES - dt.ones(2),
        "DTypeError": lambda: ONES.bool() - ONES.bool(),
    },
    "div": {
        "ShapeError": lambda: ONES / dt.ones(2),
        "DivisionByZero": lambda: dt.div(WHOLE, 0, rounding_mode="trunc"),
    },
    "clamp": {"ArgumentError": lambda: dt.clamp(ONES)},
    "relu": {"DTypeError": lambda: dt.relu(ONES.bool())},
    "gather": {"IndexOutOfRange": lambda: dt.gather(WHOLE, 0, dt.tensor([2]))},
    "index_select": {
        "IndexOutOfRange": lambda: dt.index_select(WHOLE, 0, dt.tensor([-1])),
    },
    "where": {"ShapeError": lambda: dt.where(ONES > 0, ONES, dt.ones(2))},
    "unique": {"DimError": lambda: dt.unique(ONES, dim=2)},
    "flatten": {"DimError": lambda: dt.flatten(ONES, 1, 0)},
    "reshape": {"ShapeError": lambda: ONES.reshape(4)},
    "squeeze": {"DimError": lambda: ONES.squeeze(2)},
    "unsqueeze": {"DimError": lambda: ONES.unsqueeze(3)},
    "transpose": {"DimError": lambda: ONES.transpose(0, 2)},
    "permute": {"DimError": lambda: ONES.permute(0, 0)},
    "cumsum": {"DimError": lambda: ONES.cumsum(2)},
    "allclose": {"DTypeError": lambda: dt.allclose(ONES, ONES.double())},
    "manual_seed": {"ArgumentTypeError": lambda: dt.manual_seed("a")},  # type: ignore[arg-type]
    "bincount": {"ArgumentError": lambda: dt.bincount(dt.tensor([-1]))},
    "Tensor.masked_fill": {
        "NumberOutOfRange": lambda: WHOLE.masked_fill(WHOLE > 0, 1e30),
    },
    "Tensor.scatter": {
        "IndexOutOfRange": lambda: WHOLE.scatter(0, dt.tensor([2]), 1),
    },
    "Tensor.size": {"DimError": lambda: ONES.size(2)},
    "Tensor.repeat": {"ArgumentError": lambda: ONES.repeat(2)},
    "Tensor.copy_": {"ShapeError": lambda: dt.ones(2).copy_(dt.ones(3))},
    "Tensor.requires_grad_": {"DTypeError": lambda: WHOLE.requires_grad_()},
    "Tensor.register_hook": {"AutogradError": lambda: ONES.register_hook(print)},
    "F.gelu": {"ArgumentError": lambda: F.gelu(ONES, approximate="erf")},  # type: ignore[arg-type]
    "F.pad": {"ArgumentError": lambda: F.pad(ONES, (1,))},
    "F.normalize": {"DTypeError": lambda: F.normalize(dt.ones(2, 2).long())},
    "Tensor.expand": {"ShapeError": lambda: ONES.expand(4, 3)},
    "Tensor.item": {"ShapeError": lambda: ONES.item()},
    "Tensor.to": {"DeviceError": lambda: ONES.to("cpu:7")},
    "Tensor.numpy": {
        "AutogradError": lambda: dt.ones(1, requires_grad=True).numpy(),
        "DTypeError": lambda: dt.ones(1, device="meta").numpy(),
    },
    "Tensor.__setitem__": {"IndexError": lambda: dt.ones(1).__setitem__(3, 0)},
}
# Whose one sentence and signature say all there is.
PLAIN: Final = frozenset({"device", "std", "var", "enable_grad", "no_grad", "softmax"})


def documented(name: str) -> str:
    space, _, own = name.rpartition(".")
    return inspect.getdoc(getattr(SPACES[space or "dovetail"], own)) or ""


@pytest.mark.parametrize("name", RAISED)
def test_what_is_said_to_be_raised_is(name: str) -> None:
    """Each class that the docstring names comes of a call, and of no other class."""
    text = documented(name)
    said = text[text.index("Raises:") :].split("Examples:")[0]
    for cls, call in RAISED[name].items():
        assert cls in said
        with pytest.raises((errors.DovetailError, IndexError)) as caught:
            call()
        assert cls in {c.__name__ for c in type(caught.value).__mro__}


@pytest.mark.parametrize("space", ["dovetail", "Tensor", "F", "optim"])
def test_what_people_use_most_has_sections(space: str) -> None:
    """Arguments, results or errors are described where people look most."""
    for name in SHOWN[space].split():
        text = inspect.getdoc(getattr(SPACES[space], name)) or ""
        if name not in PLAIN:
            assert re.search(r"^(Args|Returns|Raises|Attributes):", text, re.M), name


@pytest.mark.parametrize("said", ["", "no room for 8 bytes"])
def test_what_ran_out_of_memory_says_why(said: str) -> None:
    """The library's words are told where it had some, and no colon ends in nothing."""

    def spent(shape: int) -> None:
        raise MemoryError(said) if said else MemoryError

    with pytest.raises(errors.OutOfMemory) as found:
        guarded(spent, "spent", False)(3)
    why = f": {said}" if said else ""
    assert str(found.value) == (
        f"spent: memory is not enough{why}, needed room for the result"
    )
