"""Tensors of other libraries, by DLPack: torch.utils.dlpack."""

from __future__ import annotations

import typing as _typing
from enum import IntEnum
from typing import Any

from dovetail.engine.missing_names import missing_name as _missing_name
from dovetail.engine.tensor import Tensor
from dovetail.tensor_api.dlpack import from_dlpack

# The kinds of devices, by DLPack's numbers.
DLDeviceType = IntEnum(
    "DLDeviceType",
    {
        "kDLCPU": 1, "kDLCUDA": 2, "kDLCUDAHost": 3, "kDLOpenCL": 4, "kDLVulkan": 7,
        "kDLMetal": 8, "kDLVPI": 9, "kDLROCM": 10, "kDLROCMHost": 11, "kDLExtDev": 12,
        "kDLCUDAManaged": 13, "kDLOneAPI": 14, "kDLWebGPU": 15, "kDLHexagon": 16,
        "kDLMAIA": 17,
    },
)  # fmt: skip


def to_dlpack(tensor: Tensor) -> Any:
    """A capsule that shares a tensor's memory, which can be used once."""
    return tensor.__dlpack__()


__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]

if not _typing.TYPE_CHECKING:
    __getattr__ = _missing_name(__name__)
