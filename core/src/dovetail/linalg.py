"""Linear algebra, under torch.linalg's names."""

import typing as _typing

from dovetail.engine.later import load as _load
from dovetail.engine.missing_names import missing_name as _missing_name
from dovetail.engine.public import NAMESPACES as _NAMESPACES

_load("dovetail.frontend.linalg")  # offers its names
globals().update(_NAMESPACES["linalg"])

if _typing.TYPE_CHECKING:
    from dovetail.signatures.linalg import *  # noqa: F403
else:
    __getattr__ = _missing_name(__name__)
