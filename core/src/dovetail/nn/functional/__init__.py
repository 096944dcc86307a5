"""The operations of networks, under torch's names and signatures.

Those that are ops or stand in the package too are named where they are declared
(`dovetail.engine.public`); the modules of this folder add what is only here.
"""

import typing as _typing

from dovetail.engine.missing_names import missing_name as _missing_name
from dovetail.engine.public import NAMESPACES as _NAMESPACES
from dovetail.frontend import arrangements as _arrangements  # noqa: F401
from dovetail.frontend import conv as _conv  # noqa: F401
from dovetail.frontend import distance as _distance  # noqa: F401
from dovetail.frontend import pool as _pool  # noqa: F401
from dovetail.nn.functional import (  # noqa: F401
    _activation,
    _attention,
    _class_loss,
    _ctc,
    _embedding,
    _embedding_bag,
    _grid,
    _grouped,
    _linear,
    _loss,
    _margin_loss,
    _multi_head,
    _norm,
    _numbered_loss,
    _resample,
    _scaled,
    _unpool,
)
from dovetail.nn.functional._scaled import ScalingType as ScalingType
from dovetail.nn.functional._scaled import SwizzleType as SwizzleType

globals().update(_NAMESPACES["F"])

if _typing.TYPE_CHECKING:
    from dovetail.signatures.nn_functional import *  # noqa: F403
else:
    __getattr__ = _missing_name(__name__)
