"""Signals, under torch.signal's names."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from dovetail.engine.missing_names import missing_name as _missing_name
from dovetail.signal import windows as windows

__all__ = ["windows"]

if not _TYPE_CHECKING:
    __getattr__ = _missing_name(__name__)
