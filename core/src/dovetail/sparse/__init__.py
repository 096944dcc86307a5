"""Sparse tensors, and what torch.sparse computes of them.

A sparse tensor is made of dense ones, on any device; see `dovetail.sparse.tensor`.
"""

import typing as _typing

from dovetail.engine.missing_names import missing_name as _missing_name
from dovetail.engine.public import NAMESPACES as _NAMESPACES
from dovetail.sparse import conversion as _conversion  # noqa: F401 (as below)
from dovetail.sparse import creation as _creation  # noqa: F401 (as below)
from dovetail.sparse import dims as _dims  # noqa: F401 (as below)
from dovetail.sparse import dispatch as _dispatch  # noqa: F401 (as below)
from dovetail.sparse import elementwise as _elementwise  # noqa: F401 (as below)
from dovetail.sparse import facts as _facts  # noqa: F401 (as below)
from dovetail.sparse import products as _products  # noqa: F401 (as below)
from dovetail.sparse import reductions as _reductions  # noqa: F401 (offers its names)
from dovetail.sparse import text as _text  # noqa: F401 (as above)
from dovetail.sparse.older_names import CLASSES as _CLASSES
from dovetail.sparse.tensor import SparseTensor

globals().update(_NAMESPACES["sparse"])
globals().update(_CLASSES)

if _typing.TYPE_CHECKING:
    from dovetail.signatures.sparse import *  # noqa: F403
else:
    __getattr__ = _missing_name(__name__)

__all__ = ["SparseTensor"]
