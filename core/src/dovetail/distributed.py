"""Collectives between processes, of which there are none yet.

Programs that ask first whether there are go on with one process.
"""

from __future__ import annotations

import typing as _typing

from dovetail.engine.missing_names import missing_name as _missing_name


def is_available() -> bool:
    """False: there are no collectives here."""
    return False


def is_initialized() -> bool:
    """False: no group of processes was made."""
    return False


def is_torchelastic_launched() -> bool:
    """False: the process was not started by torch's launcher."""
    return False


__all__ = ["is_available", "is_initialized", "is_torchelastic_launched"]

if not _typing.TYPE_CHECKING:
    __getattr__ = _missing_name(__name__)
