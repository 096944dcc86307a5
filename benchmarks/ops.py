"""Ops on 10² to 10⁷ elements, beside torch and NumPy on the CPU.

All take turns in one process, on as many threads. The bars are ratios to torch's time
at a million elements. What is compiled is compiled before the clock starts. With
`--threads=1` it is the thread's own clock, so that other processes do not count.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import torch

import dovetail as dt
from benchmarks.timing import Comparison, compare

THREADS: Final = 2  # unless `--threads=N` says otherwise
SIZES: Final = tuple(10**k for k in range(2, 8))
BAR_AT: Final = 10**6
ROUNDS: Final = 9

Call = Callable[[], object]
# Of ops that torch names alike, in the library or in its `nn.functional`.
_LIBRARY: Final = ("exp", "expm1", "log", "log1p", "tanh", "sigmoid", "erf", "erfc",
                   "relu", "rsqrt")  # fmt: skip
_FUNCTIONAL: Final = ("silu", "gelu", "softplus", "leaky_relu", "hardtanh",
                      "logsigmoid")  # fmt: skip
_BACKWARD: Final = ("silu", "gelu", "sigmoid", "tanh")
_NUMPY: Final = {
    "exp": np.exp, "expm1": np.expm1, "log": np.log, "log1p": np.log1p, "tanh": np.tanh,
    "sum": np.sum, "sum(-1)": lambda x: x.sum(-1), "var(-1)": lambda x: x.var(-1),
    "amax(-1)": lambda x: x.max(-1),
}  # fmt: skip
BARS: Final = {
    "exp": 0.9, "tanh": 0.9, "gelu": 0.9, "silu": 0.9, "softmax": 0.8,
    "layer_norm": 0.8, "var(-1)": 0.8, "sum": 0.8, "sum(-1)": 0.8,
}  # fmt: skip


def calls(lib: Any, values: np.ndarray[Any, Any]) -> dict[str, Call]:
    """The calls on these numbers in one library; rows have the square root of them."""
    functional = lib.nn.functional
    x = lib.from_numpy(values)
    lanes = 10 ** (int(math.log10(values.size)) // 2)
    rows = x.reshape(-1, lanes)
    weight = lib.ones(lanes)
    found: dict[str, Call] = {}
    for name in _LIBRARY:
        found[name] = _applied(getattr(lib, name), x)
    for name in _FUNCTIONAL:
        found[name] = _applied(getattr(functional, name), x)
    for name in _BACKWARD:
        function = getattr(functional, name, None) or getattr(lib, name)
        found[f"{name} and back"] = _and_back(lib, function, values)
    return found | {
        "softmax": lambda: functional.softmax(rows, -1),
        "log_softmax": lambda: functional.log_softmax(rows, -1),
        "layer_norm": lambda: functional.layer_norm(rows, (lanes,), weight, weight),
        "sum": lambda: x.sum(),
        "sum(-1)": lambda: rows.sum(-1),
        "mean(-1)": lambda: rows.mean(-1),
        "amax(-1)": lambda: rows.amax(-1),
        "var(-1)": lambda: rows.var(-1),
        "logsumexp": lambda: lib.logsumexp(rows, -1),
    }


def _applied(function: Any, x: Any) -> Call:
    return lambda: function(x)


def _and_back(lib: Any, function: Any, values: np.ndarray[Any, Any]) -> Call:
    """A call, and its gradient for cotangents of one."""
    x = lib.from_numpy(values).requires_grad_()
    ones = lib.ones(values.size)

    def run() -> None:
        function(x).backward(ones)
        x.grad = None

    return run


def of_numpy(values: np.ndarray[Any, Any]) -> dict[str, Call]:
    """The calls that NumPy has as one function."""
    lanes = 10 ** (int(math.log10(values.size)) // 2)
    rows = values.reshape(-1, lanes)
    return {
        name: _applied(function, rows if "-1" in name else values)
        for name, function in _NUMPY.items()
    }


def measure(sizes: tuple[int, ...], threads: int) -> list[tuple[int, str, Comparison]]:
    """(elements, whose, comparison) of every call at every size."""
    torch.set_num_threads(threads)
    dt.set_num_threads(threads)
    found = []
    for size in sizes:
        values = np.random.default_rng(0).uniform(0.1, 3, size).astype(np.float32)
        mine, theirs, numpy = calls(dt, values), calls(torch, values), of_numpy(values)
        for name, call in mine.items():
            bar = BARS.get(name) if size == BAR_AT else None
            found.append(
                (size, "torch", _compared(name, call, theirs[name], bar, threads))
            )
            if name in numpy:
                found.append(
                    (size, "numpy", _compared(name, call, numpy[name], None, threads))
                )
        print(f"{size:,} elements", file=sys.stderr, flush=True)
    return found


def _compared(
    name: str, ours: Call, theirs: Call, bar: float | None, threads: int
) -> Comparison:
    clock = time.thread_time if threads == 1 else time.perf_counter
    return compare(name, ours, theirs, bar, rounds=ROUNDS, seconds=0.01, clock=clock)


def listed(found: list[tuple[int, str, Comparison]]) -> str:
    """Ratios as a table: a row a call, a column a size; and their geometric mean."""
    sizes = list(dict.fromkeys(size for size, _, _ in found))
    lines = [f"{'':24}" + "".join(f"{size:>12,}" for size in sizes)]
    for peer in ("torch", "numpy"):
        lines.append(f"time over {peer}'s")
        names = dict.fromkeys(c.name for _, p, c in found if p == peer)
        ratios = {(c.name, size): c for size, p, c in found if p == peer}
        for name in names:
            row = [ratios[name, size] for size in sizes]
            lines.append(f"  {name:22}" + "".join(f"{c.ratio:12.2f}" for c in row))
        means = [
            statistics.geometric_mean([ratios[n, size].ratio for n in names])
            for size in sizes
        ]
        lines.append(f"  {'geometric mean':22}" + "".join(f"{m:12.2f}" for m in means))
    missed = [c for _, _, c in found if not c.met]
    lines += [f"NOT MET: {c.name}: {c.ratio:.2f}, needed {c.bar}" for c in missed]
    return "\n".join(lines)


def main(argv: list[str]) -> int:
    """Measure, print, and say by the exit status whether the bars were met.

    Arguments: numbers of elements, `--threads=N`, `--json`.
    """
    named = [int(float(a)) for a in argv if not a.startswith("-")]
    threads = [int(a.partition("=")[2]) for a in argv if a.startswith("--threads=")]
    found = measure(tuple(named) or SIZES, *threads or [THREADS])
    if "--json" in argv:
        rows = [{"elements": s, "peer": p} | c.as_dict() for s, p, c in found]
        print(json.dumps(rows, indent=1))
    else:
        print(listed(found))
    return 0 if all(c.met for _, _, c in found) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
