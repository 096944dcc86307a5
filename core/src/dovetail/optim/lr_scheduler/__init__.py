"""Schedules of learning rates, stepped once an epoch or once a batch."""

import typing as _typing

from dovetail.engine.missing_names import missing_name as _missing_name

from ._base import LRScheduler
from ._by_function import LambdaLR, MultiplicativeLR
from ._composed import ChainedScheduler, SequentialLR
from ._cyclic import CosineAnnealingWarmRestarts, CyclicLR
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

_LRScheduler = LRScheduler  # what older programs call it

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
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

if not _typing.TYPE_CHECKING:
    __getattr__ = _missing_name(__name__)
