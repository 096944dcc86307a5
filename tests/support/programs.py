"""Random straight-line programs: views, writes, casts, draws, and backward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

import dovetail as dt

T = dt.Tensor


def _halve(t: T) -> T:
    with dt.no_grad():
        return t.mul_(0.5) if t.grad_fn is not None or not t.requires_grad else t


# What a line may do with two tensors of 3 by 3; the result joins the others.
LINES: dict[str, Callable[[T, T], T]] = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "product": lambda a, b: a @ b,
    "tanh": lambda a, b: (a - b).tanh(),
    "number": lambda a, b: a * 1.5 - 2,
    "turned": lambda a, b: a.t(),
    "rows": lambda a, b: a.flip(0) + b[1],
    "expanded": lambda a, b: a[:, :1].expand(3, 3) * b,
    "reshaped": lambda a, b: a.t().reshape(9).view(3, 3),
    "sorted": lambda a, b: a.sort(1)[0],
    "softmax": lambda a, b: (a + b).softmax(0),
    "normal": lambda a, b: dt.nn.functional.layer_norm(a, (3,)),
    "chosen": lambda a, b: dt.where(a > b, a, b * 2),
    "joined": lambda a, b: dt.cat([a[:1], b[1:]]),
    "looked up": lambda a, b: a[dt.tensor([2, 0, 0])],
    "cloned": lambda a, b: a.clone(),
    "detached": lambda a, b: a.detach(),
    "a new leaf": lambda a, b: a.detach().clone().requires_grad_(),
    "double": lambda a, b: (a.double() * 3).float(),
    "noise": lambda a, b: a + dt.rand(3, 3),
    "dropped": lambda a, b: dt.nn.functional.dropout(a, 0.4),
    "add_": lambda a, b: a.add_(b),
    "mul_": lambda a, b: a.mul_(1.25),
    "copy_": lambda a, b: a.copy_(b),
    "row_": lambda a, b: a[1].mul_(b[0]),
    "column": lambda a, b: a.__setitem__((slice(None), 0), b[0]) or a,
    "diagonal": lambda a, b: a.diagonal().add_(2),
    "turned_": lambda a, b: a.t().sub_(b),
    "halved": lambda a, b: _halve(a),
    "zeros": lambda a, b: dt.zeros(3, 3).add_(a),
    "from the host": lambda a, b: dt.tensor([[1.0] * 3] * 3).add_(a),
}  # fmt: skip
NAMES = sorted(LINES)
Line = tuple[str, int, int]


def run(lines: list[Line], ends: int, x: T, w: T) -> list[Any]:
    """Do the lines, differentiate one result, do an optimizer's work, and show all."""
    values = [x, w, w * x]
    for name, i, j in lines:
        a, b = values[i % len(values)], values[j % len(values)]
        y = LINES[name](a, b)
        values.append(y if y.shape == (3, 3) else a)
    loss = (values[ends % len(values)] * values[-1] + values[2]).sum()
    w.grad = None
    loss.backward()
    with dt.no_grad():
        w.sub_(0.1 * w.grad.clamp(-1, 1))
    return [v.detach() for v in values] + [loss.detach(), w.grad]


def bits(values: Any) -> list[bytes]:
    return [v.detach().numpy().tobytes() for v in values]


def start(seed: int) -> tuple[T, T]:
    rng = np.random.default_rng(seed)
    x, w = (rng.standard_normal((3, 3)).astype(np.float32) for _ in range(2))
    return dt.tensor(x), dt.tensor(w, requires_grad=True)


line = st.tuples(st.sampled_from(NAMES), st.integers(0, 30), st.integers(0, 30))
programs = st.tuples(st.lists(line, min_size=1, max_size=12), st.integers(0, 30))
