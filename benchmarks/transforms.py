"""What an op costs within `vmap`, beside torch: small arrays, so that calls count.

Of a chain of ops, less what entering and leaving `vmap` costs: the time of eleven of
them less that of one, over ten.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import torch

import dovetail as dt
from benchmarks.timing import Comparison, per_call, table

BAR: Final = 2.0
ROUNDS: Final = 15
CALLS: Final = 60
MORE: Final = 10

CHAINS: Final[dict[str, Callable[[Any], Any]]] = {
    "x + x": lambda x: x + x,
    "x * 2.0": lambda x: x * 2.0,
    "x.sin()": lambda x: x.sin(),
    "x.relu()": lambda x: x.relu(),
    "x.sum()": lambda x: x.sum(),
    "x[2]": lambda x: x[2],
    "x.reshape(2, 5)": lambda x: x.reshape(2, 5),
    "x.softmax(0)": lambda x: x.softmax(0),
    "x @ x": lambda x: x @ x,
}


def mapped(lib: Any, op: Callable[[Any], Any], times: int) -> Callable[[], Any]:
    """A vmapped function that computes an op so many times of each row."""

    def repeated(x: Any) -> Any:
        for _ in range(times):
            y = op(x)
        return y

    x = lib.tensor(np.random.default_rng(0).normal(size=(8, 10)).astype("f4"))
    call = lib.func.vmap(repeated)
    return lambda: call(x)


def measure() -> list[Comparison]:
    """Seconds an op, the least of several rounds in turn."""
    torch.set_num_threads(1)
    rows = []
    for name, op in CHAINS.items():
        programs = [mapped(lib, op, n) for lib in (dt, torch) for n in (1, 1 + MORE)]
        found = [
            [per_call(p, CALLS, time.thread_time) for p in programs]
            for _ in range(ROUNDS)
        ]
        one, many, their_one, their_many = (min(f) for f in zip(*found, strict=True))
        ours, theirs = (many - one) / MORE, (their_many - their_one) / MORE
        rows.append(Comparison(name, ours, theirs, ours / theirs, BAR))
    return rows


def main(argv: list[str]) -> int:
    """Print the table, or JSON with `--json`; exit status 1 if a bar is not met."""
    rows = measure()
    print(json.dumps([r.as_dict() for r in rows]) if "--json" in argv else table(rows))
    return 0 if all(r.met for r in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
