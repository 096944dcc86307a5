"""Functions of functions: torch.func's transforms, which may be nested at will.

`vmap` and forward mode open a level (`dovetail.engine.levels`), whose tensors stand for
a batch, or for a value and its tangent; `grad` and its kin use the tape.
"""

from __future__ import annotations

import typing as _typing

from dovetail.engine.missing_names import missing_name as _missing_name
from dovetail.func import function_levels as _function_levels  # noqa: F401
from dovetail.func.forward import hessian, jacfwd, jvp, linearize
from dovetail.func.function_levels import debug_unwrap
from dovetail.func.functionalized import functionalize
from dovetail.func.mapping import vmap
from dovetail.func.rearranged import rearrange
from dovetail.func.reverse import grad, grad_and_value, jacrev, vjp
from dovetail.func.stateless import functional_call, stack_module_state

__all__ = [
    "debug_unwrap", "functional_call", "functionalize", "grad", "grad_and_value",
    "hessian", "jacfwd", "jacrev", "jvp", "linearize", "rearrange",
    "stack_module_state", "vjp", "vmap",
]  # fmt: skip

if not _typing.TYPE_CHECKING:
    __getattr__ = _missing_name(__name__)
