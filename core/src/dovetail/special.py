"""Special functions, under torch.special's names."""

import typing as _typing

from dovetail.engine.later import load as _load
from dovetail.engine.missing_names import missing_name as _missing_name
from dovetail.engine.public import NAMESPACES as _NAMESPACES
from dovetail.frontend import airy as _airy  # noqa: F401 (as the next)
from dovetail.frontend import incomplete_gamma as _gamma  # noqa: F401 (as the next)
from dovetail.frontend import polynomials as _polynomials  # noqa: F401 (as the next)

_load("dovetail.frontend.special")  # offers its names
globals().update(_NAMESPACES["special"])

if _typing.TYPE_CHECKING:
    from dovetail.signatures.special import *  # noqa: F403
else:
    __getattr__ = _missing_name(__name__)
