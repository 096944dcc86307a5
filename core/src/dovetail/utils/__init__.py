"""torch.utils: `data`, whose classes live in `dovetail.data`, and `checkpoint`.

`dovetail.utils.data` may be imported as well (`dovetail.engine.second_names`).
"""

import typing as _typing

from dovetail import data
from dovetail.engine.missing_names import missing_name as _missing_name
from dovetail.tensor_api.swapping import swap_tensors
from dovetail.utils import checkpoint, dlpack, hooks

__all__ = ["checkpoint", "data", "dlpack", "hooks", "swap_tensors"]

if not _typing.TYPE_CHECKING:
    __getattr__ = _missing_name(__name__)
