"""The Python array API standard over tensors, version 2025.12.

What `Tensor.__array_namespace__()` gives: its functions take and give tensors. Arrays
that it makes are of class `Array`, a Tensor whose operators promote as the standard
says. Version 2024.12, where some results are lists, is `array_api.v2024_12`.

>>> import dovetail as dt
>>> xp = dt.tensor([3.0, 1.0]).__array_namespace__()
>>> xp.sort(dt.tensor([3.0, 1.0]))
tensor([1., 3.])
"""

import math as _math
import typing as _typing

from dovetail.array_api import creation as _creation
from dovetail.array_api import data_types as _data_types
from dovetail.array_api import elementwise as _elementwise
from dovetail.array_api import fft as fft
from dovetail.array_api import linalg as linalg
from dovetail.array_api import manipulation as _manipulation
from dovetail.array_api import selection as _selection
from dovetail.array_api import statistical as _statistical
from dovetail.array_api.arrays import Array as Array
from dovetail.array_api.info import Info as _Info
from dovetail.array_api.kinds import KINDS as _KINDS
from dovetail.array_api.linalg import matmul as matmul
from dovetail.array_api.linalg import matrix_transpose as matrix_transpose
from dovetail.array_api.linalg import tensordot as tensordot
from dovetail.array_api.linalg import vecdot as vecdot

for _module in (
    _creation, _data_types, _elementwise, _manipulation, _selection, _statistical
):  # fmt: skip
    globals().update(
        {
            name: function
            for name, function in vars(_module).items()
            if not name.startswith("_")
            and getattr(function, "__module__", None) == _module.__name__
        }
    )

globals().update({**_KINDS["bool"], **_KINDS["numeric"]})

if _typing.TYPE_CHECKING:
    from dovetail.array_api.creation import *  # noqa: F403
    from dovetail.array_api.data_types import *  # noqa: F403
    from dovetail.array_api.elementwise import *  # noqa: F403
    from dovetail.array_api.manipulation import *  # noqa: F403
    from dovetail.array_api.selection import *  # noqa: F403
    from dovetail.array_api.statistical import *  # noqa: F403

__array_api_version__ = "2025.12"

e = _math.e
inf = _math.inf
nan = _math.nan
newaxis = None
pi = _math.pi


def __array_namespace_info__() -> _Info:  # noqa: N807 (the standard's name)
    """What this namespace can do."""
    return _Info(tuple)
