"""Signals, under torch.signal's names."""

import typing as _typing

from dovetail.engine.missing_names import missing_name as _missing_name
from dovetail.signal import windows as windows

__all__ = ["windows"]

if not _typing.TYPE_CHECKING:
    __getattr__ = _missing_name(__name__)
