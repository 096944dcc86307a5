"""Training steps of small models: what a device is wanted for, op by op."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import dovetail as dt
from dovetail import nn
from dovetail.conformance.unlocks import uses
from dovetail.engine import scopes
from dovetail.engine.op import Op, vocabulary

Step = Callable[..., Any]
F = nn.functional
_WORDS: Final = 512
_WIDTH: Final = 64


@dataclass(frozen=True, slots=True)
class Workload:
    """A model, and what its training step is called with.

    Attributes:
        make: the model.
        inputs: the step's inputs on a device.
        loss: of the model on these.
    """

    name: str
    make: Callable[[], nn.Module]
    inputs: Callable[[str], tuple[dt.Tensor, ...]]
    loss: Callable[..., dt.Tensor]

    def step(self, device: str) -> tuple[Step, tuple[dt.Tensor, ...]]:
        """A training step on a device, and its inputs."""
        _, step, inputs = self.training(device)
        return step, inputs

    def training(self, device: str) -> tuple[nn.Module, Step, tuple[dt.Tensor, ...]]:
        """A model on a device, its training step, and inputs of that."""
        # So that no other one is needed; the frontend makes devices contexts.
        with dt.device(device):  # type: ignore[attr-defined]
            model = self.make()
        optimizer = dt.optim.AdamW(model.parameters(), lr=1e-3)

        def train(*inputs: dt.Tensor) -> dt.Tensor:
            optimizer.zero_grad()
            loss = self.loss(model, *inputs)
            loss.backward()
            optimizer.step()
            return loss

        return model, train, self.inputs(device)


class _Block(nn.Module):
    """A pre-norm transformer block (Xiong et al., 2020)."""

    def __init__(self) -> None:
        super().__init__()
        self.before, self.after = nn.LayerNorm(_WIDTH), nn.LayerNorm(_WIDTH)
        self.mixed = nn.Linear(_WIDTH, 3 * _WIDTH)
        self.out = nn.Linear(_WIDTH, _WIDTH)
        self.up, self.down = nn.Linear(_WIDTH, 128), nn.Linear(128, _WIDTH)
        self.drop = nn.Dropout(0.1)

    def forward(self, x: dt.Tensor) -> dt.Tensor:
        batch, length, _ = x.shape
        parts = self.mixed(self.before(x)).reshape(batch, length, 3, 4, -1)
        q, k, v = parts.permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.drop(self.out(y.transpose(1, 2).reshape(batch, length, -1)))
        found: dt.Tensor = x + self.down(F.gelu(self.up(self.after(x))))
        return found


def _mlp() -> nn.Module:
    return nn.Sequential(
        nn.Linear(_WIDTH, 128), nn.ReLU(), nn.Dropout(0.1), nn.Linear(128, 10)
    )


def _convolutions() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
        nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
        nn.Flatten(), nn.Linear(32 * 8 * 8, 10),
    )  # fmt: skip


def _language() -> nn.Module:
    return nn.Sequential(
        nn.Embedding(_WORDS, _WIDTH), nn.LayerNorm(_WIDTH), nn.Linear(_WIDTH, _WORDS)
    )


def _labels(count: int, classes: int, device: str) -> dt.Tensor:
    found: dt.Tensor = (dt.arange(count, device=device) * 7) % classes
    return found


def _classified(model: nn.Module, x: dt.Tensor, labels: dt.Tensor) -> dt.Tensor:
    y = model(x)
    return F.cross_entropy(y.reshape(-1, y.shape[-1]), labels)


def _squared(model: nn.Module, x: dt.Tensor) -> dt.Tensor:
    found: dt.Tensor = (model(x) ** 2).mean()
    return found


WORKLOADS: Final = (
    Workload(
        "MLP", _mlp,
        lambda d: (dt.randn(32, _WIDTH, device=d), _labels(32, 10, d)), _classified,
    ),
    Workload(
        "convolutional network", _convolutions,
        lambda d: (dt.randn(8, 3, 16, 16, device=d), _labels(8, 10, d)), _classified,
    ),
    Workload(
        "transformer block", _Block,
        lambda d: (dt.randn(4, 32, _WIDTH, device=d),), _squared,
    ),
    Workload(
        "language model", _language,
        lambda d: (_labels(256, _WORDS, d).reshape(4, 64), _labels(256, _WORDS, d)),
        _classified,
    ),
)  # fmt: skip


@dataclass(slots=True)
class Use:
    """What a training step asks of one op.

    Attributes:
        calls: how often it is called.
        elements: how many elements it reads and writes in all.
    """

    calls: int = 0
    elements: int = 0


@lru_cache(maxsize=1)
def uses_of() -> dict[str, dict[str, Use]]:
    """By model, what its training step asks of each op; found by shapes alone."""
    found = {}
    for work in WORKLOADS:
        step, inputs = work.step("meta")
        heard = _Listener()
        with scopes.interpose(heard):
            step(*inputs)
        found[work.name] = heard.uses
    return found


class _Listener:
    """Counts the ops that are called, but for views."""

    def __init__(self) -> None:
        self.uses: dict[str, Use] = {}

    def __call__(
        self, op: Op, inputs: tuple[Any, ...], attrs: dict[str, Any],
        proceed: Callable[..., Any],
    ) -> Any:  # fmt: skip
        made = proceed(inputs, attrs)
        if not op.view:
            use = self.uses.setdefault(op.name, Use())
            use.calls += 1
            use.elements += _elements(inputs) + _elements(made)
        return made


def _elements(value: Any) -> int:
    if isinstance(value, list | tuple):
        return sum(map(_elements, value))
    return value.numel() if isinstance(value, dt.Tensor) else 0


@lru_cache(maxsize=1)
def hot() -> tuple[str, ...]:
    """The ops that a model spends its step in: forward, backward, optimizer.

    They touch a hundredth of its elements or more. A kernel of its own would not help
    an op whose body is one kernel anyway, beside casts.
    """
    found = set()
    for steps in uses_of().values():
        total = sum(use.elements for use in steps.values())
        found |= {name for name, use in steps.items() if use.elements * 100 >= total}
    return tuple(
        sorted(
            op.name
            for op in map(vocabulary.__getitem__, found)
            if op.primitive or len(uses(op) - {"cast"}) > 1
        )
    )
