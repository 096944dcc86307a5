"""Special functions, under torch.special's names."""

import typing as _typing

from dovetail.engine.later import load as _load
from dovetail.engine.missing_names import missing_name as _missing_name
from dovetail.engine.public import NAMESPACES as _NAMESPACES

for _family in ("airy", "incomplete_gamma", "polynomials", "special"):
    _load(f"dovetail.frontend.{_family}")  # offers its names
globals().update(_NAMESPACES["special"])

if _typing.TYPE_CHECKING:
    from dovetail.signatures.special import *  # noqa: F403
else:
    __getattr__ = _missing_name(__name__)
