"""Eager calls on small tensors, and training steps, beside torch on the CPU.

The bars are ratios to torch's time, measured interleaved in one process. A second
table compares the same calls with themselves while another thread records, a third
calls under autocast with plain ones that do the same.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import torch

import dovetail as dt
from benchmarks.timing import Comparison, compare, table
from benchmarks.train import cnn_step, largest_difference, mlp_step
from dovetail.engine import scopes


def small_calls(lib: Any) -> dict[str, Callable[[], object]]:
    """The calls on 32 floats, in one library."""
    functional = lib.nn.functional
    values = np.linspace(-1, 1, 32, dtype=np.float32)
    a, b = lib.tensor(values), lib.tensor(values + 1)
    c = lib.tensor(values > 0)
    x = lib.tensor(values, requires_grad=True)
    rows, weight, bias = a.reshape(4, 8), lib.ones(8), lib.zeros(8)
    indices, labels = lib.tensor([3, 0, 2, 1]), lib.tensor([3, 0, 7, 1])
    written = lib.tensor(values)

    class Same(lib.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            return x

    module = Same()

    def chain() -> None:
        ((x * 2 + 1).relu() * x).sum().backward()
        x.grad = None

    return {
        "a + b": lambda: a + b,
        "a * 2.0": lambda: a * 2.0,
        "a[3:9]": lambda: a[3:9],
        "a.sum(0)": lambda: a.sum(0),
        "torch.where(c, a, b)": lambda: lib.where(c, a, b),
        "torch.cat((a, b))": lambda: lib.cat((a, b)),
        "a.reshape(4, 8).t()": lambda: a.reshape(4, 8).t(),
        "F.embedding(i, w)": lambda: functional.embedding(indices, rows),
        "F.layer_norm(x, (8,), w, b)": lambda: functional.layer_norm(
            rows, (8,), weight, bias
        ),
        "F.cross_entropy(x, y)": lambda: functional.cross_entropy(rows, labels),
        "x.add_(y)": lambda: written.add_(b),
        "module(x), without hooks": lambda: module(a),
        "((x * 2 + 1).relu() * x).sum().backward()": chain,
    }


BARS = {
    "a + b": 0.65, "a * 2.0": 0.4, "a[3:9]": 0.5, "a.sum(0)": 0.9,
    "torch.where(c, a, b)": 1.0, "torch.cat((a, b))": 1.0,
    "a.reshape(4, 8).t()": 1.0, "F.embedding(i, w)": 1.0,
    "F.layer_norm(x, (8,), w, b)": 1.0, "F.cross_entropy(x, y)": 1.0,
    "x.add_(y)": 1.0, "module(x), without hooks": 1.0,
    "((x * 2 + 1).relu() * x).sum().backward()": 0.55,
}  # fmt: skip
WHILE_OTHERS_RECORD = 1.1


STEPS: dict[str, tuple[Callable[[Any], Callable[[], Any]], float]] = {
    "MLP 784-256-128-10, batch 64, AdamW step": (mlp_step, 0.8),
    "small convolutional network, AdamW step": (cnn_step, 1.0),
}


@contextmanager
def another_thread_records() -> Iterator[None]:
    """A thread that has a recorder open all the while, and waits."""
    opened, close = threading.Event(), threading.Event()

    def record() -> None:
        with scopes.record(scopes.Recorder()):
            opened.set()
            close.wait()

    thread = threading.Thread(target=record)
    thread.start()
    opened.wait()
    try:
        yield
    finally:
        close.set()
        thread.join()


def measure() -> tuple[list[Comparison], float]:
    """All comparisons with torch, and how far the training losses are apart."""
    mine, theirs = small_calls(dt), small_calls(torch)
    rows = [compare(name, mine[name], theirs[name], BARS[name]) for name in BARS]
    apart = 0.0
    for name, (step_of, bar) in STEPS.items():
        step, torch_step = step_of(dt), step_of(torch)
        apart = max(apart, largest_difference(step, torch_step))
        rows.append(compare(name, step, torch_step, bar, rounds=15, seconds=0.2))
    return rows, apart


def autocast_calls() -> dict[str, tuple[Callable[[], object], Callable[[], object]]]:
    """Calls under autocast, and the same written out with casts where it makes some."""
    functional, low = dt.nn.functional, dt.bfloat16
    x = dt.tensor(np.linspace(-1, 1, 32, dtype=np.float32)).reshape(4, 8)
    y, labels = x * 2, dt.tensor([3, 0, 7, 1])
    w = dt.nn.Parameter(dt.ones(8, 8))
    xl, wl = x.to(low), w.to(low)
    return {
        "x + y": (lambda: x + y, lambda: x + y),
        "x @ w, cast": (lambda: x @ w, lambda: x.to(low) @ wl),
        "F.linear(x, w), cast": (
            lambda: functional.linear(x, w), lambda: functional.linear(x.to(low), wl)
        ),
        "F.linear of bfloat16": (
            lambda: functional.linear(xl, wl), lambda: functional.linear(xl, wl)
        ),
        "F.cross_entropy": (
            lambda: functional.cross_entropy(x, labels),
            lambda: functional.cross_entropy(x, labels),
        ),
    }  # fmt: skip


AUTOCAST = 1.5


def measure_autocast() -> list[Comparison]:
    """Calls under autocast beside plain ones that do the same."""
    scope = partial(dt.autocast, "cpu")
    return [
        compare(name, under, plain, AUTOCAST, within=scope)
        for name, (under, plain) in autocast_calls().items()
    ]


def measure_beside_a_recorder() -> list[Comparison]:
    """The same calls while another thread records, beside themselves without it."""
    mine = small_calls(dt)
    return [
        compare(
            name, mine[name], mine[name], WHILE_OTHERS_RECORD,
            within=another_thread_records,
        )
        for name in BARS
    ]  # fmt: skip


def main(argv: list[str]) -> int:
    """Print the tables, or JSON with `--json`; exit status 1 if a bar is not met."""
    rows, apart = measure()
    beside, autocast = measure_beside_a_recorder(), measure_autocast()
    if "--json" in argv:
        found = {
            "rows": [r.as_dict() for r in rows], "loss_difference": apart,
            "while_another_thread_records": [r.as_dict() for r in beside],
            "autocast": [r.as_dict() for r in autocast],
        }  # fmt: skip
        print(json.dumps(found))
    else:
        print(table(rows))
        print(f"training losses differ by at most {apart:.1e} over 20 steps")
        print("\nwhile another thread records, beside the same without it")
        print(table(beside, theirs="without"))
        print("\nunder autocast, beside plain calls that do the same")
        print(table(autocast, theirs="plain"))
        print(
            f"\ntorch {torch.__version__}, {torch.get_num_threads()} threads; "
            f"NumPy {np.__version__}"
        )
    return 0 if all(r.met for r in rows + beside + autocast) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
