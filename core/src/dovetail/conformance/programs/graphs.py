"""Steps of random programs that record, and send gradients back."""

from __future__ import annotations

import numpy as np

from dovetail.conformance.programs.model import (
    COLUMNS,
    Need,
    derived,
    product,
    product_keeps,
    small,
)
from dovetail.conformance.programs.program import Program
from dovetail.conformance.programs.tensors import is_float, pick, room
from dovetail.conformance.programs.writes import goes_into

Random = np.random.Generator


def multiply(p: Program, random: Random) -> None:
    """A product, which keeps its factors for backward."""
    room(p, random)
    x = pick(p, random, is_float, lambda a: a.tracked)
    if x is None:
        return
    y = pick(p, random, lambda b: is_float(b) and goes_into(b, x)) or x
    values, derivative = product(x, y)
    if not small(values, derivative):
        return
    name = p.fresh_name()
    p.run(f"{name} = {x.name} * {y.name}")
    keeps: list[Need] = product_keeps(x, y)
    p.live[name] = derived(name, values, derivative, [x, y], keeps)


def double(p: Program, random: Random) -> None:
    """A result that keeps nothing."""
    room(p, random)
    x = pick(p, random, lambda a: is_float(a) and a.tracked)
    if x is None or not small(x.values * 2, x.derivative * 2):
        return
    name = p.fresh_name()
    p.run(f"{name} = {x.name} + {x.name}")
    p.live[name] = derived(name, x.values * 2, x.derivative * 2, [x], [])


def lose(p: Program, random: Random) -> None:
    """A sum, from which backward goes out later."""
    x = pick(p, random, lambda a: a.tracked, lambda a: not a.leaf)
    if x is None or len(p.losses) >= 3:
        return
    name = f"l{p.fresh_name()}"
    total = x.derivative.reshape(-1, COLUMNS).sum(0)
    if small(total):
        p.run(f"{name} = {x.name}.sum()")
        p.losses[name] = (total, x.memory.needs, x.memory.doubtful)


def backward(p: Program, random: Random) -> None:
    """Gradients, or an error exactly where a kept value was written."""
    if not p.losses:
        return lose(p, random)
    names = list(p.losses)
    name = names[int(random.integers(len(names)))]
    total, needs, doubtful = p.losses[name]
    line = f"{name}.backward(retain_graph=True)"
    if any(n.refused for n in needs):
        p.refused(line, "dt.errors.AutogradError")
        _reset(p, name)
    elif any(n.refused for n in doubtful) or any(n.changed for n in needs + doubtful):
        _reset(p, name)  # written behind autograd's back: no answer is right
    elif small(p.grad + total):
        p.run(line)
        p.grad = p.grad + total
    return None


def _reset(p: Program, name: str) -> None:
    p.run(f"del {name}; A.grad = B.grad = None")
    del p.losses[name]
    p.grad = np.zeros(COLUMNS)
