"""The images, and which of them are kept for the test.

Source: E. Alpaydin and C. Kaynak, Optical Recognition of Handwritten Digits (1998),
doi 10.24432/C50P49; ATTRIBUTION.md has the details.
"""

from __future__ import annotations

from importlib import resources
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

CLASSES: Final = 10
_DARKEST: Final = 16


class Digits(NamedTuple):
    """Images [n, 1, 8, 8] float32, 0 paper to 1 ink, and labels [n] int64."""

    images: NDArray[np.float32]
    labels: NDArray[np.int64]

    def take(self, indices: NDArray[np.intp]) -> Digits:
        """Copies of the images and labels at `indices` [m]."""
        return Digits(self.images[indices], self.labels[indices])


def load() -> Digits:
    """All 1,797 images in the order of the source."""
    archive = resources.files(__package__).joinpath("digits.npz")
    with archive.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        images, labels = arrays["images"], arrays["labels"]
    scaled = images[:, None].astype(np.float32) / _DARKEST
    return Digits(scaled, labels.astype(np.int64))


def split(digits: Digits, *, seed: int, test: float = 0.2) -> tuple[Digits, Digits]:
    """The training and the test images, each digit in the same proportion.

    Args:
        seed: selects the images; 0 to 2**32 - 1. The same seed always selects the
            same ones: the stream of `RandomState` is frozen (NEP 19).
        test: the share of images to test on, 0 to 1.
    """
    random = np.random.RandomState(seed)
    chosen = np.zeros(len(digits.labels), dtype=bool)
    for digit in range(CLASSES):
        members = random.permutation(np.flatnonzero(digits.labels == digit))
        chosen[members[: round(test * len(members))]] = True
    return digits.take(np.flatnonzero(~chosen)), digits.take(np.flatnonzero(chosen))
