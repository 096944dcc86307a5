"""How costs grow: with elements, with the length of sequences, with threads.

An element should cost the same in large calls as in larger ones, once they are beyond
the caches; attention's memory should grow as its inputs do. Times are beside torch's,
interleaved, and those of two threads beside one; memory is what NumPy hands out.
"""

from __future__ import annotations

import json
import sys
import tracemalloc
from functools import partial
from typing import Any, Final

import torch

import dovetail as dt
from benchmarks.op_calls import CALLS, Data
from benchmarks.timing import Comparison, Progress, compare, option, table

ELEMENTS: Final = tuple(10**k for k in range(3, 8))
VAST: Final = 10**8  # with `--vast`: 8 GiB
OPS: Final = ("add", "gelu", "softmax", "layer_norm", "sum", "cumsum", "clone")
LENGTHS: Final = (128, 256, 512, 1024, 2048, 4096)
HEADS, CHANNELS = 4, 32
BEYOND_CACHE: Final = 10**7
BAR: Final = 1.3  # largest over smallest cost of an element, or memory of a token


def by_elements(sizes: tuple[int, ...], progress: Progress) -> dict[str, list[Any]]:
    """Comparisons of each op at each size."""
    found: dict[str, list[Any]] = {name: [] for name in OPS}
    for size in sizes:
        mine, theirs = Data(dt, size), Data(torch, size)
        for name in OPS:
            progress.step(f"{name}, {size:,} elements")
            calls = CALLS[name](mine), CALLS[name](theirs)
            label = f"{name}, {size:,} elements"
            found[name].append(
                (size, compare(label, *calls, None, rounds=5, seconds=0.01))
            )
    return found


def spread(rows: list[tuple[int, Comparison]]) -> float | None:
    """Largest over smallest cost of an element, of sizes beyond the caches."""
    costs = [c.ours_s / size for size, c in rows if size >= BEYOND_CACHE]
    return max(costs) / min(costs) if len(costs) > 1 else None


def attention(lib: Any, length: int) -> Any:
    """A call of causal attention on sequences of a length."""
    made = lib.ones(1, HEADS, length, CHANNELS)
    function = lib.nn.functional.scaled_dot_product_attention
    return partial(function, made, made, made, is_causal=True)


def by_length(progress: Progress) -> list[tuple[int, Comparison, int]]:
    """Of each length: the comparison, and the most bytes in use on the way."""
    found = []
    for length in LENGTHS:
        progress.step(f"attention over {length}")
        call = attention(dt, length)
        label = f"attention over {length}"
        row = compare(
            label, call, attention(torch, length), None, rounds=5, seconds=0.01
        )
        tracemalloc.start()
        call()
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        found.append((length, row, peak))
    return found


def by_threads(progress: Progress) -> list[Comparison]:
    """Two threads beside one, both ours."""
    found = []
    mine = Data(dt, 10**7)
    for name in OPS:
        progress.step(f"{name}, threads")
        call = CALLS[name](mine)

        def with_threads(count: int, call: Any = call) -> None:
            dt.set_num_threads(count)
            call()

        two, one = partial(with_threads, 2), partial(with_threads, 1)
        found.append(compare(f"{name}, 10,000,000", two, one, None, rounds=5))
    return found


def main(argv: list[str]) -> int:
    """Print the tables, or JSON with `--json`; exit status 1 if a bar is not met."""
    sizes = ELEMENTS + ((VAST,) if "--vast" in argv else ())
    threads = int(option(argv, "threads", "2"))
    torch.set_num_threads(threads)
    dt.set_num_threads(threads)
    progress = Progress(len(OPS) * (len(sizes) + 1) + len(LENGTHS))
    elements, lengths = by_elements(sizes, progress), by_length(progress)
    shared = by_threads(progress)
    progress.end()
    spreads = {name: spread(rows) for name, rows in elements.items()}
    tokens = [peak / length for length, _, peak in lengths]
    growth = max(b / a for i, a in enumerate(tokens) for b in tokens[i:])
    missed = [f"{n}: {s:.2f}" for n, s in spreads.items() if s is not None and s > BAR]
    missed += [f"attention's memory: {growth:.2f}"] if growth > BAR else []
    missed += [
        f"{c.name}, 2 threads over 1: {c.ratio:.2f}" for c in shared if not c.met
    ]
    if "--json" in argv:
        found = {
            "elements": [c.as_dict() for rows in elements.values() for _, c in rows],
            "lengths": [c.as_dict() | {"peak_bytes": p} for _, c, p in lengths],
            "threads": [c.as_dict() for c in shared],
            "spread": spreads, "memory_growth": growth, "missed": missed,
        }  # fmt: skip
        print(json.dumps(found, indent=1))
        return 1 if missed else 0
    print(table([c for rows in elements.values() for _, c in rows]))
    for name, found_spread in spreads.items():
        if found_spread is not None:
            print(f"{name}: an element costs {found_spread:.2f} times as much at worst")
    print(table([c for _, c, _ in lengths]))
    for length, _, peak in lengths:
        print(f"attention over {length}: {peak / length:,.0f} bytes a token")
    print(table(shared, theirs="1 thread"))
    if "--vast" not in argv:
        print(f"{VAST:,} elements are left out, and with them costs; --vast adds them")
    print("\n".join(f"NOT MET: {line}" for line in missed))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
