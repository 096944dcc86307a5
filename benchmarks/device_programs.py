"""What is timed on devices: calls and training steps, of any library that has them."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import torch

from benchmarks.networks import gpt2, resnet50
from benchmarks.train import adamw, drawn

Program = Callable[[], Any]
Wrap = Callable[[Any], Any]
StepOf = Callable[..., Program]  # of a library, a device, and what wraps the network
_MANY: Final = 1 << 24


def _placed(lib: Any, device: str | None) -> Callable[[Any], Any]:
    """What makes an array of NumPy's one of a library, on a device where it has any."""
    if device is None:
        return lib.asarray  # type: ignore[no-any-return]
    return lambda values: lib.tensor(values, device=device)


def small_calls(lib: Any, device: str | None) -> dict[str, Program]:
    """Calls on 32 x 32 floats, where what counts is the time of a call."""
    place = _placed(lib, device)
    values = np.linspace(-1, 1, 1024, dtype=np.float32).reshape(32, 32)
    a, b = place(values), place(values + 1)
    new = itertools.count(1)
    found: dict[str, Program] = {
        "a + b": lambda: a + b,
        "a * 2.0": lambda: a * 2.0,
        "a * a new number": lambda: a * (next(new) * 1e-7),
        "exp": lambda: lib.exp(a),
        "sum": lambda: a.sum(),
        "a[3:9]": lambda: a[3:9],
        "a @ b": lambda: a @ b,
    }
    if device is not None:
        functional = lib.nn.functional
        found |= {
            "relu": lambda: a.relu(),
            "softmax": lambda: a.softmax(1),
            "layer_norm": lambda: functional.layer_norm(a, (32,)),
            "a.sum().item()": lambda: a.sum().item(),
        }
    return found


def large_calls(lib: Any, device: str | None) -> dict[str, Program]:
    """Calls whose work counts: memory, and products."""
    place = _placed(lib, device)
    long = place(np.linspace(-1, 1, _MANY, dtype=np.float32))
    found: dict[str, Program] = {
        "a + b of 16 M": lambda: long + long,
        "sum of 16 M": lambda: long.sum(),
    }
    for width in (512, 4096) if device and device.startswith("cuda") else (512,):
        x = place(drawn(width, width))
        found[f"matmul {width}"] = lambda x=x: x @ x
    return found


def _as_is(model: Any) -> Any:
    return model


def _step(lib: Any, model: Any, inputs: Any, loss_of: Callable[[Any], Any]) -> Program:
    """A training step of AdamW on inputs that stay the same."""
    optimizer = adamw(lib, model.parameters())

    def step() -> Any:
        optimizer.zero_grad()
        loss = loss_of(model(inputs))
        loss.backward()
        optimizer.step()
        return loss

    return step


def _digits(lib: Any) -> Any:
    """The network of `dovetail demo digits`, without dropout."""
    nn = lib.nn
    parts = []
    for before, after in ((1, 16), (16, 32), (32, 64)):
        parts += [
            nn.Conv2d(before, after, 3, padding=1, bias=False), nn.BatchNorm2d(after),
            nn.ReLU(), *([] if before == 1 else [nn.MaxPool2d(2)]),
        ]  # fmt: skip
    return nn.Sequential(*parts, nn.Flatten(), nn.Linear(64 * 2 * 2, 10))


def _classified(lib: Any, device: str, rows: int, classes: int) -> Any:
    labels = np.random.default_rng(2).integers(0, classes, rows)
    there = lib.tensor(labels, device=device)
    return lambda scores: lib.nn.functional.cross_entropy(scores, there)


def digits_step(lib: Any, device: str, wrap: Wrap = _as_is) -> Program:
    """A step of the digits network, batch 64."""
    x = lib.tensor(drawn(64, 1, 8, 8), device=device)
    model = wrap(_digits(lib).to(device))
    return _step(lib, model, x, _classified(lib, device, 64, 10))


def mlp_step(lib: Any, device: str, wrap: Wrap = _as_is) -> Program:
    """A step of the MLP 784-256-128-10, batch 64."""
    nn = lib.nn
    model = nn.Sequential(
        nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(),
        nn.Linear(128, 10),
    ).to(device)  # fmt: skip
    x = lib.tensor(drawn(64, 784), device=device)
    return _step(lib, wrap(model), x, _classified(lib, device, 64, 10))


def resnet_step(lib: Any, device: str, wrap: Wrap = _as_is) -> Program:
    """A step of ResNet-50, batch 128."""
    x = lib.tensor(drawn(128, 3, 224, 224), device=device)
    return _step(
        lib, wrap(resnet50(lib).to(device)), x, _classified(lib, device, 128, 1000)
    )


def gpt_step(lib: Any, device: str, wrap: Wrap = _as_is) -> Program:
    """A step of GPT-2 small in bfloat16, 8 sequences of 1024."""
    tokens = np.random.default_rng(3).integers(0, 50257, (8, 1024))
    model = wrap(gpt2(lib).to(device).to(lib.bfloat16))
    aims = lib.tensor(tokens.reshape(-1), device=device)

    def loss_of(scores: Any) -> Any:
        flat = scores.reshape(-1, scores.shape[-1])
        return lib.nn.functional.cross_entropy(flat.float(), aims)

    return _step(lib, model, lib.tensor(tokens, device=device), loss_of)


STEPS: Final[dict[str, StepOf]] = {"digits step": digits_step, "MLP step": mlp_step}
LARGE: Final[dict[str, StepOf]] = {
    "GPT-2 small, 8 x 1024, bfloat16": gpt_step,
    "ResNet-50, batch 128": resnet_step,
}


def compiled(step_of: StepOf, device: str) -> Program | None:
    """A step of a network that torch compiles; None where it cannot."""
    try:
        step: Program = step_of(torch, device, torch.compile)
        step()
    except Exception as error:  # a compiler that is missing, or fails
        print(f"without torch.compile: {str(error)[:200]}", file=sys.stderr)
        return None
    return step
