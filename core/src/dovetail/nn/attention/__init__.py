"""Which way attention is computed, and attention by functions of the user's."""

import typing as _typing

from dovetail.engine.missing_names import missing_name as _missing_name
from dovetail.nn.functional._attention_choice import SDPBackend, sdpa_kernel

from .multi_head import MultiheadAttention, NonDynamicallyQuantizableLinear

__all__ = [
    "MultiheadAttention", "NonDynamicallyQuantizableLinear", "SDPBackend",
    "sdpa_kernel",
]  # fmt: skip

if not _typing.TYPE_CHECKING:
    __getattr__ = _missing_name(__name__)
