"""Layers that keep the arguments of a function: what they take, show and pass on."""

from __future__ import annotations

import copy
import inspect
import pickle
from typing import Any

import pytest

import dovetail as dt
from dovetail import nn
from dovetail.errors import ArgumentTypeError
from dovetail.nn.layer import FunctionLayer

LAYERS = sorted(
    (c for c in vars(nn).values()
     if isinstance(c, type) and issubclass(c, FunctionLayer)),
    key=lambda c: c.__name__,
)  # fmt: skip
# Arguments that have to be given, and shapes of inputs that are not (1, 4).
REQUIRED: dict[str, tuple[Any, ...]] = {
    "Threshold": (0.5, 2.0), "Softmax": (0,), "Unflatten": (1, (2, 2)),
    "AdaptiveAvgPool1d": (2,), "AdaptiveAvgPool2d": (1,), "AdaptiveAvgPool3d": (1,),
    "PixelShuffle": (2,), "PixelUnshuffle": (1,), "ChannelShuffle": (2,),
    "Unfold": (1,), "Fold": ((2, 2), 1), "LPPool1d": (2, 2), "LPPool2d": (2, 1),
    "LPPool3d": (2, 1),
}  # fmt: skip
SHAPES = {
    "AdaptiveAvgPool1d": (1, 1, 4), "AdaptiveAvgPool2d": (1, 1, 2, 2),
    "AdaptiveAvgPool3d": (1, 1, 1, 2, 2), "PixelShuffle": (1, 4, 1, 1),
    "PixelUnshuffle": (1, 1, 2, 2), "ChannelShuffle": (1, 4, 1), "Unfold": (1, 1, 2, 2),
    "Fold": (1, 1, 4), "LPPool1d": (1, 1, 4), "LPPool2d": (1, 1, 2, 2),
    "LPPool3d": (1, 1, 1, 2, 2),
}  # fmt: skip
# Where torch's layer has another name or default than its function.
RENAMED = {"Flatten": ["start_dim", "end_dim"], "Unflatten": ["dim", "sizes"]}


def made(cls: type[FunctionLayer]) -> FunctionLayer:
    """A layer with the arguments that it has to be given."""
    return cls(*REQUIRED.get(cls.__name__, ()))


@pytest.mark.parametrize("cls", LAYERS, ids=lambda c: c.__name__)
def test_arguments_are_the_function_s(cls: type[FunctionLayer]) -> None:
    """A layer takes what its function takes after the input, in order, by default."""
    function = inspect.signature(cls._function).parameters
    theirs = [(n, p.default) for n, p in function.items() if n[0] != "_"][1:]
    mine = list(cls._arguments.items())
    if cls.__name__ in RENAMED:
        assert [n for n, _ in theirs] == RENAMED[cls.__name__]
        return
    assert mine == theirs[: len(mine)]
    assert {n for n, _ in theirs[len(mine) :]} <= {"dtype"}


@pytest.mark.parametrize("cls", LAYERS, ids=lambda c: c.__name__)
def test_forward_is_the_function(cls: type[FunctionLayer]) -> None:
    """Calling a layer calls its function with its attributes, copies of it too."""
    layer = made(cls)
    x = dt.tensor([-2.0, 0.25, 0.75, 3.0]).reshape(SHAPES.get(cls.__name__, (1, 4)))
    want = layer._function(x, *[getattr(layer, n) for n in layer._arguments])
    for same in (layer, copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert same(x).tolist() == want.tolist()


def test_attributes_may_change() -> None:
    """What an attribute is at the time of the call counts, and `repr` shows it."""
    layer = nn.LeakyReLU(0.5)
    layer.negative_slope = 0.25
    layer.inplace = True
    x = dt.tensor([-4.0])
    assert layer(x) is x
    assert x.tolist() == [-1.0]
    assert repr(layer) == "LeakyReLU(negative_slope=0.25, inplace=True)"


REFUSED: dict[str, tuple[Any, str]] = {
    "missing": (lambda: nn.Threshold(1.0), "Threshold: value is missing"),  # type: ignore[call-arg]
    "unknown": (lambda: nn.ReLU(slope=1), "ReLU: slope is unknown"),  # type: ignore[call-arg]
    "twice": (lambda: nn.ELU(1.0, alpha=2.0), "ELU: alpha is unknown, given twice"),  # type: ignore[misc]
    "too many": (lambda: nn.GELU("tanh", 1), "GELU: number of arguments"),  # type: ignore[call-arg]
}


@pytest.mark.parametrize("row", REFUSED)
def test_refused(row: str) -> None:
    """Arguments that do not fit are refused by their name, with the signature."""
    call, message = REFUSED[row]
    with pytest.raises(ArgumentTypeError, match=message):
        call()


KEPT = {"kernel_size": 2, "stride": 2, "padding": 0, "ceil_mode": False}


@pytest.mark.parametrize(
    ("layer", "kept"),
    [
        (nn.MaxPool2d, {**KEPT, "dilation": 1, "return_indices": False}),
        (nn.AvgPool2d, {**KEPT, "count_include_pad": True, "divisor_override": None}),
        (nn.AdaptiveAvgPool2d, {"output_size": 2}),
        (nn.LeakyReLU, {"negative_slope": 0.5, "inplace": False}),
    ],
)
def test_forward_takes_any_object_that_has_what_it_asks(layer: Any, kept: Any) -> None:
    """Programs call it with an object of their own that was made of a layer."""
    x = dt.arange(16.0).reshape(1, 1, 4, 4) - 8
    mine = type("Mine", (), kept)()
    assert dt.equal(layer.forward(mine, x), layer(next(iter(kept.values())))(x))
