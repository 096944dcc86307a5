"""Airy's function by torch's name."""

from __future__ import annotations

from dovetail.engine.public import public
from dovetail.engine.tensor import Tensor
from dovetail.errors import AutogradError, DTypeError
from dovetail.ops.airy import airy_function


@public("special.airy_ai", out=True)
def airy_ai(input: Tensor) -> Tensor:
    """Airy's function Ai; NaN where `input` is infinite, as torch has it.

    Raises: AutogradError for a tensor that requires grad, for torch has no gradient.
    """
    if input.dtype.is_complex:
        raise DTypeError(
            "airy_ai", "input", was=input.dtype.name, needed="real numbers"
        )
    if input.requires_grad:
        raise AutogradError(
            "airy_ai", "input", was="one that requires grad",
            needed="a tensor outside the graph: its derivative is not implemented",
            remedy="use detach()",
        )  # fmt: skip
    return airy_function(input)
