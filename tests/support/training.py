"""Small training steps that two runs can be compared on, bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import dovetail as dt
import dovetail.nn.functional as F
from dovetail import nn


class Block(nn.Module):
    """A transformer of one block over a vocabulary of 11 tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(11, 16)
        self.places = nn.Parameter(dt.randn(1, 6, 16) * 0.1)
        self.before, self.after = nn.LayerNorm(16), nn.LayerNorm(16)
        self.qkv, self.out = nn.Linear(16, 48), nn.Linear(16, 16)
        self.wide, self.narrow = nn.Linear(16, 32), nn.Linear(32, 16)
        self.head = nn.Linear(16, 11)
        self.dropout = nn.Dropout(0.1)

    def forward(self, tokens: dt.Tensor) -> dt.Tensor:
        """Logits for each place."""
        x = self.dropout(self.tokens(tokens) + self.places)
        q, k, v = self.qkv(self.before(x)).chunk(3, -1)
        heads = [t.reshape(*t.shape[:2], 4, 4).transpose(1, 2) for t in (q, k, v)]
        y = F.scaled_dot_product_attention(*heads, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(*x.shape))
        x = x + self.dropout(self.narrow(F.gelu(self.wide(self.after(x)))))
        return self.head(x).reshape(-1, 11)


def perceptron() -> nn.Module:
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 4))


def convolutional() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2),
        nn.Dropout(0.2), nn.Flatten(), nn.Linear(64, 4),
    )  # fmt: skip


def rows(n: int) -> tuple[dt.Tensor, dt.Tensor]:
    return dt.randn(n, 8), dt.randint(0, 4, (n,))


def pictures(n: int) -> tuple[dt.Tensor, dt.Tensor]:
    return dt.randn(n, 1, 8, 8), dt.randint(0, 4, (n,))


def texts(n: int) -> tuple[dt.Tensor, dt.Tensor]:
    return dt.randint(0, 11, (n, 6)), dt.randint(0, 11, (n * 6,))


Batch = tuple[dt.Tensor, dt.Tensor]
WORKLOADS: dict[str, tuple[Callable[[], nn.Module], Callable[[int], Batch]]] = {
    "perceptron": (perceptron, rows),
    "convolutional": (convolutional, pictures),
    "transformer": (Block, texts),
}


@dataclass
class Training:
    """A model, its optimizer, and one step on a batch."""

    model: nn.Module
    optimizer: Any

    def step(self, x: dt.Tensor, target: dt.Tensor) -> dt.Tensor:
        """The loss of a batch, after which the parameters have moved."""
        self.optimizer.zero_grad()
        loss = F.cross_entropy(self.model(x), target)
        loss.backward()
        self.optimizer.step()
        return loss

    def everything(self) -> list[Any]:
        """Parameters, buffers, gradients, optimizer state, and the generator's."""
        found = [t.tolist() for t in self.model.state_dict().values()]
        found += [p.grad.tolist() for p in self.model.parameters()]
        for state in self.optimizer.state.values():
            found += [v.tolist() if isinstance(v, dt.Tensor) else v
                      for v in state.values()]  # fmt: skip
        return [*found, dt.get_rng_state().tolist()]


def training(name: str, optimizer: Any = None) -> Training:
    """A fresh training of a workload; the generator stands where it always does."""
    dt.manual_seed(3)
    model = WORKLOADS[name][0]()
    make = optimizer or (lambda p: dt.optim.AdamW(p, lr=1e-2))
    made = Training(model, make(model.parameters()))
    dt.manual_seed(5)
    return made


def batches(name: str, count: int, size: int = 5) -> list[Batch]:
    """Batches of a workload, the same ones each time."""
    dt.manual_seed(11)
    return [WORKLOADS[name][1](size) for _ in range(count)]
