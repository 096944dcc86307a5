"""What a training run found, in NumPy and plain Python."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dovetail.demos.digits.data import CLASSES, Digits


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What was asked for; `device` is any device string, `lr` the peak rate."""

    device: str = "auto"
    epochs: int = 15
    batch_size: int = 64
    lr: float = 0.01
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Epoch:
    """Where training stood after `end` epochs; a fraction where it was stopped.

    `train_loss` is the mean over the epoch's batches, with dropout; the test is on
    all test images, without.
    """

    end: float
    train_loss: float
    test_loss: float
    test_accuracy: float


@dataclass(frozen=True, kw_only=True)
class Result:
    """A training run: its history, and how it reads the test images.

    Attributes:
        device: the device it ran on, with its index.
        parameters: how many numbers were learned.
        train_images: how many images it learned from.
        batch_losses: [steps], the training loss of each batch.
        test: the test images and labels.
        probabilities: [n, 10], what the network says of each test image.
        seconds: from the first batch to the last test.
        interrupted: whether it was stopped before the last epoch.
    """

    settings: Settings
    device: str
    parameters: int
    train_images: int
    history: tuple[Epoch, ...]
    batch_losses: tuple[float, ...]
    test: Digits
    probabilities: NDArray[np.float32]
    seconds: float
    interrupted: bool

    @cached_property
    def predicted(self) -> NDArray[np.intp]:
        """[n], the digit that the network takes each test image for."""
        digits: NDArray[np.intp] = self.probabilities.argmax(axis=1)
        return digits

    @property
    def accuracy(self) -> float:
        """The share of test images read right, 0 to 1."""
        return float((self.predicted == self.test.labels).mean())

    @property
    def mistakes(self) -> int:
        """How many test images are read wrong."""
        return int((self.predicted != self.test.labels).sum())

    def confusion(self) -> NDArray[np.int64]:
        """[10, 10], how many images of digit (row) were read as digit (column)."""
        pairs = self.test.labels * CLASSES + self.predicted
        counts = np.bincount(pairs, minlength=CLASSES * CLASSES)
        return counts.reshape(CLASSES, CLASSES).astype(np.int64)

    def worst(self, count: int) -> NDArray[np.intp]:
        """[count], mistakes by falling loss, then right readings, least sure first."""
        labels = self.test.labels
        true = self.probabilities[np.arange(len(labels)), labels]
        return np.lexsort((true, self.predicted == labels))[:count]

    def summary(self) -> dict[str, object]:
        """Everything but the images, ready for JSON."""
        last = self.history[-1]
        return {
            "demo": "digits",
            "device": self.device,
            "seed": self.settings.seed,
            "epochs": self.settings.epochs,
            "epochs_done": last.end,
            "batch_size": self.settings.batch_size,
            "lr": self.settings.lr,
            "interrupted": self.interrupted,
            "parameters": self.parameters,
            "train_images": self.train_images,
            "test_images": len(self.test.labels),
            "test_accuracy": self.accuracy,
            "test_loss": last.test_loss,
            "mistakes": self.mistakes,
            "seconds": round(self.seconds, 3),
            "history": [_plain(epoch) for epoch in self.history],
            "confusion": self.confusion().tolist(),
        }


def _plain(epoch: Epoch) -> dict[str, float]:
    return {
        "epoch": epoch.end,
        "train_loss": epoch.train_loss,
        "test_loss": epoch.test_loss,
        "test_accuracy": epoch.test_accuracy,
    }
