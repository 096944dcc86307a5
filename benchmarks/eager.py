"""Eager calls on small tensors, and a training step, beside torch on the CPU.

The bars are ratios to torch's time, measured interleaved in one process.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import dovetail as dt
from benchmarks.timing import Comparison, compare, table


def small_calls(lib: Any) -> dict[str, Callable[[], object]]:
    """The calls on 32 floats, in one library."""
    values = np.linspace(-1, 1, 32, dtype=np.float32)
    a, b = lib.tensor(values), lib.tensor(values + 1)
    x = lib.tensor(values, requires_grad=True)

    def chain() -> None:
        ((x * 2 + 1).relu() * x).sum().backward()
        x.grad = None

    return {
        "a + b": lambda: a + b,
        "a * 2.0": lambda: a * 2.0,
        "a[3:9]": lambda: a[3:9],
        "a.sum(0)": lambda: a.sum(0),
        "((x * 2 + 1).relu() * x).sum().backward()": chain,
    }


BARS = {
    "a + b": 0.7, "a * 2.0": 0.5, "a[3:9]": 0.5, "a.sum(0)": 1.1,
    "((x * 2 + 1).relu() * x).sum().backward()": 0.65,
}  # fmt: skip


def mlp_step(lib: Any) -> Callable[[], float]:
    """A training step of the MLP 784-256-128-10 at batch 64 with AdamW."""
    rng = np.random.default_rng(0)
    nn = lib.nn
    model = nn.Sequential(
        nn.Linear(784, 256),
        nn.ReLU(),
        nn.Linear(256, 128),
        nn.ReLU(),
        nn.Linear(128, 10),
    )
    with lib.no_grad():
        for p in model.parameters():
            bound = 1 / np.sqrt(p.shape[-1])
            p.copy_(lib.tensor(rng.uniform(-bound, bound, tuple(p.shape)).astype("f4")))
    x = lib.tensor(rng.normal(size=(64, 784)).astype("f4"))
    y = lib.tensor(rng.integers(0, 10, 64))
    optimizer = lib.optim.AdamW(model.parameters(), lr=1e-3)
    loss_of = nn.CrossEntropyLoss()

    def step() -> float:
        optimizer.zero_grad()
        loss = loss_of(model(x), y)
        loss.backward()
        optimizer.step()
        return loss  # type: ignore[no-any-return]

    return step


def check_same(ours: Callable[[], Any], theirs: Callable[[], Any]) -> float:
    """Largest difference between the losses of 20 steps."""
    return max(abs(ours().item() - theirs().item()) for _ in range(20))


def measure() -> tuple[list[Comparison], float]:
    """All comparisons, and how far the training losses are apart."""
    mine, theirs = small_calls(dt), small_calls(torch)
    rows = [compare(name, mine[name], theirs[name], BARS[name]) for name in BARS]
    step, torch_step = mlp_step(dt), mlp_step(torch)
    apart = check_same(step, torch_step)
    name = "MLP 784-256-128-10, batch 64, AdamW step"
    rows.append(compare(name, step, torch_step, 1.0, rounds=15, seconds=0.2))
    return rows, apart


def main(argv: list[str]) -> int:
    """Print the table, or JSON with `--json`; exit status 1 if a bar is not met."""
    rows, apart = measure()
    if "--json" in argv:
        print(
            json.dumps({"rows": [r.as_dict() for r in rows], "loss_difference": apart})
        )
    else:
        print(table(rows))
        print(f"training losses differ by at most {apart:.1e} over 20 steps")
        print(
            f"torch {torch.__version__}, {torch.get_num_threads()} threads; "
            f"NumPy {np.__version__}"
        )
    return 0 if all(r.met for r in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
