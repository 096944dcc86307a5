"""Peak memory of training steps, beside torch on the CPU.

Each network is trained in a process of its own. Counted is the most memory that the
process had during the steps, less what it had before, when the library was loaded and
had trained a small network of the same kind: weights, gradients, states of the
optimizer, what is kept for backward, and what allocators keep. It needs Linux, which
says how much memory a process had at most, and lets it be counted anew.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from benchmarks.networks import transformer_block
from benchmarks.timing import Progress

BAR: Final = 1.1
STEPS: Final = 3
ROUNDS: Final = 3
LIBRARIES: Final = ("dovetail", "torch")
_MIB: Final = 1 << 20

Train = Callable[[Any, bool], None]


def memory_of(what: str) -> int:
    """Bytes of this process: `VmRSS` now, `VmHWM` at most."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    (found,) = (line for line in lines if line.startswith(f"{what}:"))
    return int(found.split()[1]) << 10


def trained(lib: Any, model: Any, x: Any, loss_of: Callable[[Any], Any]) -> None:
    """A few steps of AdamW."""
    optimizer = lib.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss_of(model(x)).backward()
        optimizer.step()


def convolutional(lib: Any, small: bool) -> None:
    """Four convolutions with batch norm, on 128 images of 32 x 32."""
    nn = lib.nn
    layers = []
    for before, after in ((3, 32), (32, 32), (32, 64), (64, 64)):
        layers += [nn.Conv2d(before, after, 3, padding=1), nn.BatchNorm2d(after)]
        layers += [nn.ReLU()] if after == 32 else [nn.ReLU(), nn.MaxPool2d(2)]
    side = 8 if small else 32
    layers += [nn.Flatten(), nn.Linear(4 * side * side, 10)]
    x = lib.randn(4 if small else 128, 3, side, side)
    trained(lib, nn.Sequential(*layers), x, lambda y: y.square().mean())


def lstm(lib: Any, small: bool) -> None:
    """Two layers of 256 units, on 64 sequences of 128."""
    width, steps, count = (16, 4, 8) if small else (256, 128, 64)
    model = lib.nn.LSTM(width, width, num_layers=2)
    x = lib.randn(steps, count, width)
    trained(lib, model, x, lambda y: y[0].square().mean())


def gpt(lib: Any, small: bool) -> None:
    """Four blocks of 256 channels and 8 heads, on 8 sequences of 256 words."""
    nn = lib.nn
    channels, heads, length, words = (16, 2, 8, 32) if small else (256, 8, 256, 4096)
    count = 1 if small else 4
    blocks = [transformer_block(lib, channels, heads) for _ in range(count)]
    model = nn.Sequential(
        nn.Embedding(words, channels), *blocks, nn.Linear(channels, words)
    )
    x = lib.arange(8 * length).reshape(8, length) % words
    trained(lib, model, x, lambda y: y.square().mean())


NETWORKS: Final[dict[str, Train]] = {
    "convolutional network": convolutional, "LSTM": lstm, "GPT": gpt,
}  # fmt: skip


def peak(library: str, network: str) -> int:
    """Bytes that training takes at most, in this process."""
    lib = __import__(library)
    lib.set_num_threads(1)
    train = NETWORKS[network]
    train(lib, True)
    before = memory_of("VmRSS")
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    train(lib, False)
    return memory_of("VmHWM") - before


def measure() -> list[dict[str, Any]]:
    """The least of several processes' peaks, for each network and library."""
    progress = Progress(len(NETWORKS) * len(LIBRARIES) * ROUNDS)
    rows = []
    for network in NETWORKS:
        found: dict[str, int] = {}
        for library in LIBRARIES * ROUNDS:
            progress.step(f"{network}, {library}")
            command = [sys.executable, "-m", "benchmarks.memory", library, network]
            bytes_ = int(subprocess.check_output(command, text=True))
            found[library] = min(found.get(library, bytes_), bytes_)
        ratio = found["dovetail"] / found["torch"]
        rows.append({"name": network, **found, "ratio": ratio, "met": ratio <= BAR})
    progress.end()
    return rows


def main(argv: list[str]) -> int:
    """Print the table, or JSON with `--json`; exit status 1 if a bar is not met."""
    if argv and argv[0] in LIBRARIES:
        print(peak(argv[0], argv[1]))
        return 0
    rows = measure()
    if "--json" in argv:
        print(json.dumps(rows, indent=1))
    else:
        print(f"{'network':30}{'ours MiB':>10}{'torch MiB':>11}{'ratio':>8}{'bar':>7}")
        for r in rows:
            print(
                f"{r['name']:30}{r['dovetail'] / _MIB:10.1f}{r['torch'] / _MIB:11.1f}"
                f"{r['ratio']:8.2f}{BAR:7.2f}{'  met' if r['met'] else '  NOT MET'}"
            )
    return 0 if all(r["met"] for r in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
