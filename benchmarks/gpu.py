"""A device beside torch eager, torch.compile and the array library of its platform.

    python -m benchmarks gpu --device=cuda:0 [--large] [--no-compile] [--json]

Works with any device: on "xpu" the other library is dpnp, on "cuda" and "rocm" CuPy,
else NumPy. Where torch has no such device it runs on the CPU, which the last line says.
What is timed is a run of calls and the wait behind it, the programs taking turns.
`--large` adds steps of GPT-2 small and of ResNet-50, for cards.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import Any, Final

import torch

import dovetail as dt
from benchmarks.device_programs import (
    LARGE,
    STEPS,
    Program,
    compiled,
    large_calls,
    small_calls,
)
from benchmarks.timing import option

LIBRARIES: Final = {"cuda": "cupy", "rocm": "cupy", "xpu": "dpnp"}
OURS, EAGER, COMPILED, LIBRARY = "ours", "torch", "compiled", "library"
ROUNDS: Final = 15
SECONDS: Final = 0.02  # a run of calls takes
FIRST: Final = "first step of a process, warm cache"

_ONE_STEP: Final = """
import sys
import dovetail as dt
from dovetail.demos.digits.model import DigitNet
model = DigitNet().to(sys.argv[1])
optimizer = dt.optim.AdamW(model.parameters(), lr=1e-3)
scores = model(dt.randn(64, 1, 8, 8, device=sys.argv[1]))
loss = dt.nn.functional.cross_entropy(scores, dt.arange(64, device=sys.argv[1]) % 10)
loss.backward()
optimizer.step()
print(loss.item())
"""

# What a time must not exceed: so many seconds, or so many times another one's.
Bar = tuple[str | None, float]
BARS: Final[dict[str, dict[str, Bar]]] = {
    "xpu": {
        "a + b": (None, 12e-6),
        "matmul 512": (LIBRARY, 1.2),
        "digits step": (None, 25e-3),
        FIRST: (None, 3.0),
    },
    "cuda": {
        **dict.fromkeys(("a + b", "a * 2.0", "exp", "relu", "sum"), (EAGER, 1.2)),
        "matmul 512": (EAGER, 1 / 0.85),
        "matmul 4096": (EAGER, 1 / 0.85),
        "a + b of 16 M": (EAGER, 1 / 0.8),
        "GPT-2 small, 8 x 1024, bfloat16": (COMPILED, 1.0),
        "ResNet-50, batch 128": (COMPILED, 1.0),
    },
}


@dataclass(frozen=True, slots=True)
class Row:
    """Seconds a call of a program, by who runs it, and what ours must not exceed."""

    name: str
    seconds: dict[str, float]
    most: float | None

    @property
    def met(self) -> bool:
        """Whether there is no bar, or it is kept to."""
        return self.most is None or self.seconds[OURS] <= self.most


def bar_of(kind: str, name: str, seconds: dict[str, float]) -> float | None:
    """The most seconds that a program may take on a type of devices."""
    found = BARS.get("cuda" if kind == "rocm" else kind, {}).get(name)
    if found is None:
        return None
    other, most = found
    if other is None:
        return most
    return most * seconds[other] if other in seconds else None


def measured(
    programs: dict[str, Program], waits: dict[str, Program]
) -> dict[str, float]:
    """Seconds a call: the least of some runs, in which they take turns."""
    counts = {}
    for who, program in programs.items():
        program()
        once = _run(program, waits[who], 1)
        counts[who] = max(1, min(1000, int(SECONDS / max(once, 1e-6))))
        _run(program, waits[who], counts[who])
    found: dict[str, list[float]] = {who: [] for who in programs}
    for _ in range(ROUNDS):
        for who, program in programs.items():
            found[who].append(_run(program, waits[who], counts[who]))
    return {who: min(runs) for who, runs in found.items()}


def _run(program: Program, wait: Program, calls: int) -> float:
    wait()
    start = time.perf_counter()
    for _ in range(calls):
        program()
    wait()
    return (time.perf_counter() - start) / calls


class Peers:
    """Who is measured beside a device, and where.

    Args:
        device: dovetail's name of it.
    """

    def __init__(self, device: str) -> None:
        self.ours = str(dt.zeros(1, device=device).device)
        self.kind, _, index = self.ours.partition(":")
        wanted = {"rocm": "cuda"}.get(self.kind, self.kind)
        there = getattr(torch, wanted, None)
        has = wanted in ("cuda", "xpu") and there is not None and there.is_available()
        self.torch = f"{wanted}:{index or 0}" if has else "cpu"
        self.library = _library(LIBRARIES.get(self.kind, "numpy"))
        self.waits: dict[str, Program] = {
            OURS: lambda: dt.synchronize(self.ours), EAGER: self._wait_torch,
            COMPILED: self._wait_torch, LIBRARY: self._wait_library,
        }  # fmt: skip

    def _wait_torch(self) -> None:
        if self.torch != "cpu":
            torch.accelerator.synchronize(self.torch)

    def _wait_library(self) -> None:
        name = getattr(self.library, "__name__", "")
        if name == "cupy":
            self.library.cuda.get_current_stream().synchronize()
        elif name == "dpnp":
            self.library.synchronize_array_data(self.library.empty(1))

    def told(self) -> str:
        """Their names and versions, and where torch ran."""
        found = [
            f"dovetail on {self.ours}",
            f"torch {torch.__version__} on {self.torch}",
        ]
        if self.library is not None:
            found.append(f"{self.library.__name__} {self.library.__version__}")
        return "; ".join(found)


def _library(name: str) -> Any:
    """An array library that is there and has a device, else None."""
    try:
        found = import_module(name)
        found.ones(1) + 1
    except Exception as error:  # it may fail by anything that a driver has to say
        print(f"without {name}: {error}", file=sys.stderr)
        return None
    return found


def rows(peers: Peers, large: bool, compiles: bool) -> Iterator[Row]:
    """All comparisons, one after the other."""
    for calls in (small_calls, large_calls):
        ours = calls(dt, peers.ours)
        others = calls(torch, peers.torch)
        third = {} if peers.library is None else calls(peers.library, None)
        for name, program in ours.items():
            programs = {OURS: program}
            for who, found in ((EAGER, others), (LIBRARY, third)):
                if name in found:
                    programs[who] = found[name]
            yield _row(peers, name, programs)
    for name, step_of in (STEPS | LARGE if large else STEPS).items():
        programs = {OURS: step_of(dt, peers.ours), EAGER: step_of(torch, peers.torch)}
        if compiles:
            made = compiled(step_of, peers.torch)
            if made is not None:
                programs[COMPILED] = made
        yield _row(peers, name, programs)
    yield _first_step(peers)


def _row(peers: Peers, name: str, programs: dict[str, Program]) -> Row:
    seconds = measured(programs, peers.waits)
    return Row(name, seconds, bar_of(peers.kind, name, seconds))


def _first_step(peers: Peers) -> Row:
    """From the start of a process to the end of its first step, the second time."""
    command = [sys.executable, "-c", _ONE_STEP, peers.ours]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    seconds = {OURS: time.perf_counter() - start}
    return Row(FIRST, seconds, bar_of(peers.kind, FIRST, seconds))


def line(row: Row) -> str:
    """A comparison as text, in microseconds."""
    cells = [row.seconds.get(who) for who in (OURS, EAGER, COMPILED, LIBRARY)]
    shown = "".join("-".rjust(13) if s is None else f"{s * 1e6:13.1f}" for s in cells)
    bar = "" if row.most is None else f"{row.most * 1e6:13.1f}"
    mark = "" if row.most is None else "  met" if row.met else "  NOT MET"
    return f"{row.name:36}{shown}{bar}{mark}"


def main(argv: list[str]) -> int:
    """Print the table, or JSON; exit status 1 where a bar is not met."""
    peers = Peers(option(argv, "device", "auto"))
    found = []
    heads = "".join(
        f"{name:>13}" for name in ("ours µs", "torch", "compiled", "library")
    )
    if "--json" not in argv:
        print(f"{'program':36}{heads}{'bar':>13}")
    for row in rows(peers, "--large" in argv, "--no-compile" not in argv):
        found.append(row)
        if "--json" not in argv:
            print(line(row), flush=True)
    if "--json" in argv:
        print(json.dumps([asdict(r) | {"met": r.met} for r in found]))
    else:
        print(f"\n{peers.told()}")
    return 0 if all(r.met for r in found) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
