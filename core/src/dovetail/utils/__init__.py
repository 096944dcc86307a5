"""Where PyTorch keeps `utils.data`; the classes live in `dovetail.data`."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from dovetail import data
from dovetail.engine.missing_names import missing_name as _missing_name

__all__ = ["data"]

if not _TYPE_CHECKING:
    __getattr__ = _missing_name(__name__)
