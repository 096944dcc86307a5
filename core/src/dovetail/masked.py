"""Reductions of what masks keep, under torch.masked's names; it has no MaskedTensor."""

import typing as _typing

from dovetail.engine.missing_names import missing_name as _missing_name
from dovetail.engine.public import NAMESPACES as _NAMESPACES
from dovetail.frontend import masked as _masked  # noqa: F401 (offers its names)

globals().update(_NAMESPACES["masked"])

__path__: list[str] = []  # torch has modules below
if _typing.TYPE_CHECKING:
    from dovetail.signatures.masked import *  # noqa: F403
else:
    __getattr__ = _missing_name(__name__)
