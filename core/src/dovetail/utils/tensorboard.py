"""Logs of training that TensorBoard shows: torch.utils.tensorboard.

Files are written through the library `tensorboard`, which dovetail does not install:
without it, `SummaryWriter` cannot be imported, as in torch.
"""

from __future__ import annotations

import typing as _typing
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from dovetail.engine.missing_names import missing_name as _missing_name

if TYPE_CHECKING:
    from dovetail.utils.summary_writer import SummaryWriter

__all__ = ["SummaryWriter"]

if not _typing.TYPE_CHECKING:
    _missing = _missing_name(__name__)

    def __getattr__(name: str) -> Any:
        if name != "SummaryWriter":
            return _missing(name)
        if find_spec("tensorboard") is None:
            raise ModuleNotFoundError(
                "SummaryWriter needs tensorboard: pip install 'dovetail[tensorboard]'",
                name="tensorboard",
            )
        from dovetail.utils.summary_writer import SummaryWriter

        return SummaryWriter
