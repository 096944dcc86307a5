"""Windows for the analysis of signals, under torch.signal.windows' names."""

import typing as _typing

from dovetail.engine.missing_names import missing_name as _missing_name
from dovetail.engine.public import NAMESPACES as _NAMESPACES
from dovetail.frontend import tapers as _tapers  # noqa: F401 (offers its names)

globals().update(_NAMESPACES["signal.windows"])

__path__: list[str] = []  # torch has modules below
if _typing.TYPE_CHECKING:
    from dovetail.signatures.signal_windows import *  # noqa: F403
else:
    __getattr__ = _missing_name(__name__)
