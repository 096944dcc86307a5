"""The network: three convolutions, one linear layer, about 26,000 parameters."""

from __future__ import annotations

import dovetail as dt
from dovetail import nn
from dovetail.demos.digits.data import CLASSES


class DigitNet(nn.Module):
    """A small convolutional network for images of 8×8 pixels.

    Shape: [n, 1, 8, 8] float32 -> [n, 10], the logits of the ten digits.
    """

    def __init__(self, *, dropout: float = 0.4) -> None:
        super().__init__()
        self.features = nn.Sequential(
            *_convolution(1, 16),
            *_convolution(16, 32),
            nn.MaxPool2d(2),
            *_convolution(32, 64),
            nn.MaxPool2d(2),
        )
        self.classifier = nn.Sequential(
            nn.Dropout(dropout), nn.Linear(64 * 2 * 2, CLASSES)
        )

    def forward(self, images: dt.Tensor) -> dt.Tensor:
        """Logits [n, 10] of images [n, 1, 8, 8]."""
        features: dt.Tensor = self.features(images)
        logits: dt.Tensor = self.classifier(features.flatten(1))
        return logits


def _convolution(inputs: int, outputs: int) -> tuple[nn.Module, ...]:
    """3×3, same size, normalised, rectified; the norm makes a bias pointless."""
    return (
        nn.Conv2d(inputs, outputs, 3, padding=1, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU(),
    )
