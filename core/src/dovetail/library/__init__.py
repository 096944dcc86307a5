"""Ops of users': functions that the rest takes as a whole, by torch.library's names.

`custom_op` makes one of a function: kernels for devices, results without values for
`device="meta"`, a gradient, and what `vmap` does are registered one by one. What is
within is nobody else's business: a kernel may call NumPy, a library of C, or another
process.
"""

from __future__ import annotations

import typing as _typing

from dovetail.engine.missing_names import missing_name as _missing_name

from .custom_ops import CustomOpDef, custom_op
from .inference import infer_schema
from .libraries import Library, define, impl
from .op_checks import opcheck
from .registered import (
    register_autocast,
    register_autograd,
    register_fake,
    register_kernel,
    register_vmap,
)

__all__ = [
    "CustomOpDef", "Library", "custom_op", "define", "impl", "infer_schema", "opcheck",
    "register_autocast", "register_autograd", "register_fake", "register_kernel",
    "register_vmap",
]  # fmt: skip

if not _typing.TYPE_CHECKING:
    __getattr__ = _missing_name(__name__)
