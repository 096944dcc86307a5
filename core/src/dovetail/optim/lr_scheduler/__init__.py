"""Schedules of learning rates, stepped once an epoch or once a batch."""

from ._base import LRScheduler
from ._by_function import LambdaLR, MultiplicativeLR
from ._composed import SequentialLR
from ._one_cycle import OneCycleLR
from ._plateau import ReduceLROnPlateau
from ._simple import (
    ConstantLR,
    CosineAnnealingLR,
    ExponentialLR,
    LinearLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)

__all__ = [
    "ConstantLR",
    "CosineAnnealingLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]
