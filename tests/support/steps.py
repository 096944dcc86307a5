"""Steps that tests run on two devices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dovetail as dt
import dovetail.conformance.oracle
from dovetail import nn, optim
from dovetail.conformance.example import Example
from dovetail.conformance.subject import Subject
from dovetail.engine.cases import Case
from dovetail.engine.op import Op, declared
from dovetail.nn import functional as F
from dovetail.testing import lockstep
from dovetail.testing.comparison.report import Divergence


def perceptron(device: str) -> Any:
    """Two steps of AdamW with dropout."""
    model = nn.Sequential(
        nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 4)
    ).to(device)
    made = optim.AdamW(model.parameters())
    x = dt.randn(12, 8, device=device)
    y = dt.randint(0, 4, (12,), device=device)
    for _ in range(2):
        made.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        made.step()
    return {"model": model, "loss": loss.item(), "optimizer": made}


def convolutional(device: str) -> Any:
    """A step of SGD with momentum on convolutions, norms and pools."""
    model = nn.Sequential(
        nn.Conv2d(2, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4), nn.ReLU(),
        nn.MaxPool2d(2), nn.Conv2d(4, 6, 3, stride=2), nn.Tanh(), nn.Flatten(),
        nn.Linear(6, 3),
    ).to(device)  # fmt: skip
    made = optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-3)
    x = dt.randn(4, 2, 8, 8, device=device)
    for _ in range(2):
        made.zero_grad()
        model(x).square().mean().backward()
        made.step()
    return model


def in_place(device: str) -> Any:
    """Views written in place, data-dependent shapes, lists and reductions."""
    x = dt.randn(6, 5, device=device, requires_grad=True)
    y = x * 2
    y[:, 1] = y[:, 0] * 0.5
    y.t()[2].add_(1.0)
    kept = y[y > 0]
    where = dt.nonzero(y < 0)
    rows = dt.cat([y[:2], y[2:].flip(0)]).sort(dim=1).values
    (kept.sum() + rows.logsumexp(1).sum() + y.std()).backward()
    flat = y.detach().view(-1).cumsum(0)
    return x.grad, where, rows.argmax(1), flat, dt.stack([y, y], 1).view(6, 10)


def half(device: str) -> Any:
    """A network in 16-bit floats."""
    model = nn.Sequential(nn.Linear(8, 8), nn.GELU(), nn.LayerNorm(8)).to(device)
    model = model.to(dt.bfloat16)
    x = dt.randn(4, 8, device=device).to(dt.bfloat16)
    made = optim.Adam(model.parameters())
    model(x).float().square().sum().backward()
    made.step()
    return model


def first(step: Callable[[str], Any], device: str, **options: Any) -> Divergence:
    """The first divergence of a step on a device at fault."""
    options.setdefault("folder", None)
    report = lockstep(step, device, raise_on_divergence=False, **options)
    assert report.first is not None, report
    return report.first


def one_call(op: Op, case: Case) -> Callable[[str], Any]:
    """A step that is one call of an op."""

    def step(device: str) -> Any:
        return Subject(device).run(op, Example(case), dt.float32)

    return step


FLOAT_OPS = [op for op in declared() if dt.float32 in op.accepts]


def long_sums(device: str) -> Any:
    """A step of AdamW through products of a thousand terms."""
    model = nn.Sequential(nn.Linear(1024, 32), nn.LayerNorm(32), nn.Linear(32, 4))
    made = optim.AdamW(model.to(device).parameters())
    F.cross_entropy(
        model(dt.randn(16, 1024, device=device)),
        dt.randint(0, 4, (16,), device=device),
    ).backward()
    made.step()
    return model


def gated(device: str) -> Any:
    """A step through softmax, with an index and a NaN on the way."""
    model = nn.Sequential(nn.Linear(8, 16), nn.Softmax(-1)).to(device)
    x = dt.randn(12, 8, device=device)
    y = model(x)
    table = dt.zeros(4, 16, device=device)
    table.index_add_(0, y[:, :4].argmax(1), y.detach())
    odd = dt.tensor([1.0, -1.0], device=device).sqrt()
    y.square().sum().backward()
    return model, table, odd
