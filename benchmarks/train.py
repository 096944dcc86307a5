"""Training steps of whole networks in eager mode, beside torch on the CPU.

Each is a step of AdamW from weights that both libraries share; torch has its fused
optimizer. The AdamW of the MLP is timed alone as well. The losses of the first steps
are compared, so that what is timed is the same.
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
from benchmarks.networks import transformer_block
from benchmarks.timing import Comparison, Progress, compare, option, table

THREADS: Final = 2  # unless `--threads=N` says otherwise
BAR: Final = 0.85
RECURRENT_BAR: Final = 1.0
OPTIMIZER_BAR: Final = 1.0
STEPS: Final = 20  # whose losses are compared

Step = Callable[[], Any]


def shared_weights(lib: Any, model: Any) -> None:
    """Give a model the same weights in each library."""
    rng = np.random.default_rng(0)
    with lib.no_grad():
        for p in model.parameters():
            bound = 1 / np.sqrt(np.prod(p.shape[1:]) if p.ndim > 1 else p.shape[0])
            p.copy_(lib.tensor(rng.uniform(-bound, bound, tuple(p.shape)).astype("f4")))


def adamw(lib: Any, parameters: Any) -> Any:
    """The optimizer, torch's in one kernel as ours."""
    fused = {"fused": True} if lib is torch else {}
    return lib.optim.AdamW(parameters, lr=1e-3, **fused)


def step_of(lib: Any, model: Any, x: Any, loss_of: Callable[[Any], Any]) -> Step:
    """A training step on inputs that stay the same."""
    shared_weights(lib, model)
    inputs, optimizer = lib.tensor(x), adamw(lib, model.parameters())

    def step() -> Any:
        optimizer.zero_grad()
        loss = loss_of(model(inputs))
        loss.backward()
        optimizer.step()
        return loss

    return step


def classified(lib: Any, rows: int, classes: int) -> Callable[[Any], Any]:
    """Cross entropy with labels that stay the same."""
    labels = lib.tensor(np.random.default_rng(2).integers(0, classes, rows))
    entropy = lib.nn.CrossEntropyLoss()
    return lambda scores: entropy(scores, labels)


def drawn(*shape: int) -> np.ndarray[Any, Any]:
    """Normal numbers, the same in each library."""
    return np.random.default_rng(1).normal(size=shape).astype("f4")


def mlp_step(lib: Any) -> Step:
    """The MLP 784-256-128-10 at batch 64."""
    nn = lib.nn
    model = nn.Sequential(
        nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(),
        nn.Linear(128, 10),
    )  # fmt: skip
    return step_of(lib, model, drawn(64, 784), classified(lib, 64, 10))


def cnn_step(lib: Any) -> Step:
    """A small convolutional network on 32 images of 28 x 28."""
    nn = lib.nn
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(16 * 7 * 7, 10),
    )  # fmt: skip
    return step_of(lib, model, drawn(32, 1, 28, 28), classified(lib, 32, 10))


def resnet_step(lib: Any) -> Step:
    """A residual block of 64 channels on 8 images of 28 x 28, with batch norm."""
    nn = lib.nn

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Sequential(
                nn.Conv2d(64, 64, 3, padding=1, bias=False), nn.BatchNorm2d(64),
                nn.ReLU(), nn.Conv2d(64, 64, 3, padding=1, bias=False),
                nn.BatchNorm2d(64),
            )  # fmt: skip

        def forward(self, x: Any) -> Any:
            return (x + self.inner(x)).relu()

    return step_of(lib, Block(), drawn(8, 64, 28, 28), lambda y: y.square().mean())


def gpt_step(lib: Any) -> Step:
    """A transformer block: 8 sequences of 64, 128 channels, 4 heads."""
    x = drawn(8, 64, 128)
    return step_of(lib, transformer_block(lib, 128, 4), x, lambda y: y.square().mean())


def recurrent_step(kind: str) -> Callable[[Any], Step]:
    """A recurrent layer from 128 to 256 units: 32 sequences of 64."""

    def made(lib: Any) -> Step:
        class First(lib.nn.Module):  # type: ignore[misc, name-defined]
            def __init__(self) -> None:
                super().__init__()
                self.layer = getattr(lib.nn, kind)(128, 256)

            def forward(self, x: Any) -> Any:
                return self.layer(x)[0]

        return step_of(lib, First(), drawn(64, 32, 128), lambda y: y.square().mean())

    return made


def mlp_optimizer(lib: Any) -> Step:
    """AdamW alone on the parameters of the MLP."""
    params = [
        lib.tensor(drawn(*shape), requires_grad=True)
        for shape in ((256, 784), (256,), (128, 256), (128,), (10, 128), (10,))
    ]
    for p in params:
        p.grad = lib.tensor(drawn(*p.shape))
    step: Step = adamw(lib, params).step
    return step


NETWORKS: Final[dict[str, Callable[[Any], Step]]] = {
    "MLP 784-256-128-10, batch 64": mlp_step,
    "small convolutional network": cnn_step,
    "ResNet block, 64 channels": resnet_step,
    "GPT block, 128 channels": gpt_step,
}
RECURRENT: Final = {
    f"{kind} 128-256, 32 sequences of 64": recurrent_step(kind)
    for kind in ("LSTM", "GRU")
}
OPTIMIZER: Final = "AdamW of the MLP alone"


def largest_difference(ours: Step, theirs: Step) -> float:
    """Largest difference between the losses of some steps."""
    found = [abs(ours().item() - theirs().item()) for _ in range(STEPS)]
    return float(max(found))


def measure(threads: int) -> tuple[list[Comparison], dict[str, float]]:
    """The comparisons, and by how much the losses of each network differ."""
    torch.set_num_threads(threads)
    dt.set_num_threads(threads)
    clock = time.thread_time if threads == 1 else time.perf_counter
    networks = NETWORKS | RECURRENT
    progress = Progress(len(networks) + 1)
    rows, apart = [], {}
    for name, make in networks.items():
        progress.step(name)
        ours, theirs = make(dt), make(torch)
        apart[name] = largest_difference(ours, theirs)
        bar = RECURRENT_BAR if name in RECURRENT else BAR
        rows.append(
            compare(name, ours, theirs, bar, rounds=15, seconds=0.1, clock=clock)
        )
    progress.step(OPTIMIZER)
    mine, fused = mlp_optimizer(dt), mlp_optimizer(torch)
    rows.append(compare(OPTIMIZER, mine, fused, OPTIMIZER_BAR, clock=clock))
    progress.end()
    return rows, apart


def main(argv: list[str]) -> int:
    """Print the table, or JSON with `--json`; exit status 1 if a bar is not met."""
    threads = int(option(argv, "threads", str(THREADS)))
    rows, apart = measure(threads)
    if "--json" in argv:
        found = {"rows": [r.as_dict() for r in rows], "loss_differences": apart}
        print(json.dumps(found, indent=1))
    else:
        print(table(rows))
        for name, difference in apart.items():
            print(f"{name}: losses differ by {difference:.1e} in {STEPS} steps")
    return 0 if all(r.met for r in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
