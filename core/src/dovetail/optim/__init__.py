"""Optimizers, and schedules of their learning rates."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from dovetail.engine.missing_names import missing_name as _missing_name

from . import lr_scheduler
from .adam import Adam, AdamW
from .optimizer import Optimizer
from .sgd import SGD

__all__ = ["SGD", "Adam", "AdamW", "Optimizer", "lr_scheduler"]

if not _TYPE_CHECKING:
    __getattr__ = _missing_name(__name__)
