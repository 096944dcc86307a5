"""Collectives between processes, of which there are none yet.

Programs that ask first whether there are go on with one process.
"""

from __future__ import annotations

import typing as _typing
from typing import Any

from dovetail.engine.missing_names import missing_name as _missing_name
from dovetail.errors import NotSupported


def is_available() -> bool:
    """False: there are no collectives here."""
    return False


def is_initialized() -> bool:
    """False: no group of processes was made."""
    return False


def is_torchelastic_launched() -> bool:
    """False: the process was not started by torch's launcher."""
    return False


def _refused(name: str) -> NotSupported:
    return NotSupported(
        name, "process group", was="not there", needed="collectives between processes",
        remedy="run the program with one process",
    )  # fmt: skip


def init_process_group(*_args: Any, **_options: Any) -> None:
    """Raise NotSupported: processes cannot work together yet."""
    raise _refused("init_process_group")


def destroy_process_group(group: Any = None) -> None:
    """Raise NotSupported: there is no group to end."""
    raise _refused("destroy_process_group")


__all__ = [
    "destroy_process_group", "init_process_group", "is_available", "is_initialized",
    "is_torchelastic_launched",
]  # fmt: skip

if not _typing.TYPE_CHECKING:
    __getattr__ = _missing_name(__name__)
