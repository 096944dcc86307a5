"""Discrete Fourier transforms, under torch.fft's names."""

import typing as _typing

from dovetail.engine.later import load as _load
from dovetail.engine.missing_names import missing_name as _missing_name
from dovetail.engine.public import NAMESPACES as _NAMESPACES
from dovetail.engine.tensor import Tensor as _Tensor

_load("dovetail.frontend.fourier")  # offers its names
globals().update(_NAMESPACES["fft"], Tensor=_Tensor)

if _typing.TYPE_CHECKING:
    from dovetail.signatures.fft import *  # noqa: F403
else:
    __getattr__ = _missing_name(__name__)
