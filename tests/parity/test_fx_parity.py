"""Graphs of steps are those that torch makes: the same code, names and refusals."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
import torch.fx

import dovetail
import dovetail.fx

Library = Any

# What either adds: the annotations of our layers, the defaults of torch's functions.
SHORTER = {
    ") -> Any:": "):", " : Any)": ")", " : Any [": " : [", ", inplace = False": "",
    "inplace: False": "",
}  # fmt: skip


def _nets(lib: Library) -> list[Any]:
    nn, F = lib.nn, lib.nn.functional

    class Residual(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.blocks = nn.ModuleList([nn.Linear(3, 3) for _ in range(2)])
            self.head = nn.Sequential(nn.LayerNorm(3), nn.Linear(3, 2))
            self.scale = nn.Parameter(lib.ones(3))
            self.register_buffer("shift", lib.ones(3))

        def forward(self, x: Any, gain: float = 2.0, *, flip: bool = False) -> Any:
            for block in self.blocks:
                x = x + lib.relu(block(x)) * self.scale
            x -= self.shift
            a, b = self.head(x).chunk(2, -1)
            return {"a": lib.cat([a, b]), "b": (a[:, 0], gain, x.shape[0])}

    class Attention(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.qkv = nn.Linear(4, 12)

        def forward(self, x: Any) -> Any:
            n, t, c = x.size()
            q, k, v = self.qkv(x).split(4, 2)
            q = q.view(n, t, 2, c // 2).transpose(1, 2)
            weights = lib.softmax(q @ q.transpose(-2, -1) / math.sqrt(c), -1)
            return F.relu(weights).mean() - k.sum() + v.max()

    return [Residual(), Attention(), nn.Sequential(nn.ReLU(), nn.Conv2d(1, 2, 3))]


def _functions(lib: Library) -> list[Any]:
    def in_place(x: Any) -> Any:
        x.add_(1)
        return x.T @ x

    def strings(x: Any, input: Any = None, **named: Any) -> Any:
        return x.real[None, ..., 1:] ** 2 % named["y"]

    def nested(x: Any) -> Any:
        (a, b), c = x
        return [a, {"b": -b}, 1 - c, ~c, abs(a), a == b]

    return [
        in_place, strings, nested, lambda x: lib.arange(x.shape[0]) + lib.pi,
        lambda *x: lib.stack([x[0], x[1]]), lambda x: x.to(lib.float16).sum(dim=(0, 1)),
        lambda a, b, out: lib.where(a > b, a, b) // out,
    ]  # fmt: skip


def _code(lib: Library, thing: Any) -> str:
    own = getattr(type(thing), "forward", thing)
    if own.__module__ == __name__:
        own.__annotations__.clear()
    traced = lib.fx.symbolic_trace(thing)
    text = traced.code + str(traced.graph) + str([n.op for n in traced.graph.nodes])
    for said, needed in SHORTER.items():
        text = text.replace(said, needed)
    return text.replace(f"{lib.__name__}.", "torch.")


@pytest.mark.parametrize("number", range(3))
def test_modules(number: int) -> None:
    """Code and graph of a module are torch's."""
    ours, theirs = (_code(lib, _nets(lib)[number]) for lib in (dovetail, torch))
    assert ours == theirs


@pytest.mark.parametrize("number", range(7))
def test_functions(number: int) -> None:
    """Code and graph of a function are torch's."""
    ours, theirs = (_code(lib, _functions(lib)[number]) for lib in (dovetail, torch))
    assert ours == theirs


def _asked(lib: Library, function: Any) -> str:
    try:
        return str(lib.fx.symbolic_trace(function).code)
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:60]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x if x else 1, lambda x: len(x), lambda x: list(x),
        lambda x: int(x), lambda x: range(x), lambda x: dict(x), lambda x: 1 in x,
    ],
)  # fmt: skip
def test_refusals(function: Any) -> None:
    """What depends on values is refused where torch refuses it."""
    assert _asked(dovetail, function) == _asked(torch, function)


def test_replaced_patterns_compute_the_same() -> None:
    """As many places, and the same numbers."""
    found = []
    for lib in (dovetail, torch):
        module = lib.fx.symbolic_trace(_nested_sums(lib))
        old, new = _old_and_new(lib)
        places = lib.fx.replace_pattern(module, old, new)
        x, w = lib.tensor([0.5, -1.0]), lib.tensor([2.0, 3.0])
        found.append((len(places), module(x, w).tolist()))
    assert found[0] == (found[1][0], pytest.approx(found[1][1]))


def _nested_sums(lib: Library) -> Any:
    return lambda x, w: lib.relu(lib.relu(x + w) + x)


def _old_and_new(lib: Library) -> tuple[Any, Any]:
    return (lambda a, b: lib.relu(a + b)), (lambda a, b: lib.tanh(a) * b)
