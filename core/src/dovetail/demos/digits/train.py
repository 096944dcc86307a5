"""The training loop: AdamW, cross-entropy, a rate that rises and then falls."""

from __future__ import annotations

import math
import time
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

import dovetail as dt
from dovetail import nn, optim
from dovetail.data import DataLoader, TensorDataset
from dovetail.demos.digits.data import Digits, load, split
from dovetail.demos.digits.model import DigitNet
from dovetail.demos.digits.result import Epoch, Result, Settings
from dovetail.demos.digits.stop import StopRequest
from dovetail.errors import ArgumentError

WARM_UP: Final = 0.1
"""The share of all steps in which the rate rises."""
WEIGHT_DECAY: Final = 0.05


class Watcher(Protocol):
    """Somebody who looks on while the network learns."""

    def batch(self, *, epoch: int, loss: float) -> None:
        """A batch was learned; `loss` is the epoch's mean so far."""

    def epoch(self, epoch: Epoch) -> None:
        """An epoch is over."""


class Training:
    """A network in training, and what is known about it so far."""

    def __init__(self, settings: Settings) -> None:
        dt.manual_seed(settings.seed)
        self.settings = settings
        self.device = dt.zeros(1, device=settings.device).device
        train, self.test = split(load(), seed=settings.seed)
        self.train_images = len(train.labels)
        self.loader = DataLoader(
            TensorDataset(*_tensors(train)),
            batch_size=settings.batch_size,
            shuffle=True,
        )
        self.steps = settings.epochs * len(self.loader)
        self.model = DigitNet().to(self.device)
        self.optimizer = optim.AdamW(
            self.model.parameters(), lr=settings.lr, weight_decay=WEIGHT_DECAY
        )
        self.losses: list[float] = []
        self.history: list[Epoch] = []
        self.probabilities: NDArray[np.float32] = np.empty((0, 0), np.float32)

    def step(self, images: dt.Tensor, labels: dt.Tensor) -> float:
        """Learn from one batch, [b, 1, 8, 8] and [b]; its loss, before learning."""
        progress = (len(self.losses) + 0.5) / self.steps
        for group in self.optimizer.param_groups:
            group["lr"] = self.settings.lr * rate(progress)
        self.optimizer.zero_grad()
        logits = self.model(images.to(self.device))
        loss = nn.functional.cross_entropy(logits, labels.to(self.device))
        loss.backward()
        self.optimizer.step()
        self.losses.append(self._finite(float(loss.item())))
        return self.losses[-1]

    def _finite(self, loss: float) -> float:
        if not math.isfinite(loss):
            raise ArgumentError(
                "demo digits", "lr", was=self.settings.lr,
                needed=f"a rate that keeps the loss finite (it became {loss})",
                remedy=f"the default is {Settings().lr}",
            )  # fmt: skip
        return loss

    def close_epoch(self, losses: list[float]) -> Epoch:
        """Test the network after an epoch, or part of one, with these losses."""
        self.probabilities, test_loss = read(self.model, self.test, self.device)
        hits = self.probabilities.argmax(axis=1) == self.test.labels
        epoch = Epoch(
            end=len(self.losses) / len(self.loader),
            train_loss=float(np.mean(losses)),
            test_loss=test_loss,
            test_accuracy=float(hits.mean()),
        )
        self.history.append(epoch)
        return epoch

    def result(self, *, seconds: float) -> Result:
        """What came out, after at least one batch."""
        return Result(
            settings=self.settings,
            device=str(self.device),
            parameters=sum(p.numel() for p in self.model.parameters()),
            train_images=self.train_images,
            history=tuple(self.history),
            batch_losses=tuple(self.losses),
            test=self.test,
            probabilities=self.probabilities,
            seconds=seconds,
            interrupted=len(self.losses) < self.steps,
        )


def train(training: Training, watcher: Watcher) -> Result:
    """Run all epochs; Ctrl-C ends it after the current batch.

    Raises:
        KeyboardInterrupt: on a second Ctrl-C.
        ArgumentError: if the loss is no longer finite.
    """
    start = time.perf_counter()
    with StopRequest() as stop:
        for number in range(1, training.settings.epochs + 1):
            losses: list[float] = []
            training.model.train()
            for images, labels in training.loader:
                losses.append(training.step(images, labels))
                watcher.batch(epoch=number, loss=float(np.mean(losses)))
                if stop.requested:
                    break
            watcher.epoch(training.close_epoch(losses))
            if stop.requested:
                break
    return training.result(seconds=time.perf_counter() - start)


def rate(progress: float) -> float:
    """The learning rate, relative to its peak, at `progress` 0 to 1.

    It rises linearly at first and falls along a cosine to 0 (SGDR, equation 5,
    arXiv:1608.03983).
    """
    return min(1.0, progress / WARM_UP) * 0.5 * (1 + math.cos(math.pi * progress))


def read(
    model: nn.Module, digits: Digits, device: dt.device
) -> tuple[NDArray[np.float32], float]:
    """The probabilities [n, 10] of each digit, and the mean cross-entropy."""
    images, labels = _tensors(digits)
    model.eval()
    with dt.no_grad():
        logits = model(images.to(device))
        loss = nn.functional.cross_entropy(logits, labels.to(device))
        probabilities = nn.functional.softmax(logits, dim=1)
    return np.asarray(probabilities.cpu().numpy(), np.float32), float(loss.item())


def _tensors(digits: Digits) -> tuple[dt.Tensor, dt.Tensor]:
    return dt.from_numpy(digits.images), dt.from_numpy(digits.labels)
