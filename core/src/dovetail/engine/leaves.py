"""Whether a tensor is a leaf that gathers gradients: `requires_grad` as it is set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dovetail.dtypes import DType
from dovetail.engine.modes import inference_enabled
from dovetail.engine.scopes import anywhere, tell
from dovetail.engine.storage import inferred
from dovetail.engine.tape import Leaf, storage_of
from dovetail.engine.tape_of_views import View, leads_nowhere, leaf_of
from dovetail.errors import ArgumentTypeError, AutogradError, DTypeError

if TYPE_CHECKING:
    from dovetail.engine.tensor import Tensor


def set_requires_grad(x: Tensor, wanted: Any) -> None:
    """Make a leaf of `x` that gathers gradients, or one that does not any more.

    Raises:
        ArgumentTypeError: `wanted` is no bool.
        AutogradError: gradients go through `x` to others.
        DTypeError: its numbers are no floats.
    """
    if not isinstance(wanted, bool):
        raise ArgumentTypeError(
            "requires_grad", "value", was=repr(wanted), needed="True or False"
        )
    if wanted == x.requires_grad and not leads_nowhere(x._node):
        return
    if wanted:
        check_differentiable("requires_grad", x._kind.dtype)
        _check_no_inference_tensor(x)
        leaf = x.__dict__.pop("_leaf", None) or Leaf(x)
        leaf.kind, leaf.active = x._kind, True
        leaf.grad = x.__dict__.pop("_grad", None)
        _gather_in(x, leaf)
    elif x.is_leaf:
        _stop_gathering(x)
    else:
        raise AutogradError(
            "requires_grad", "tensor", was="the result of a recorded op",
            needed="a leaf to switch gradients off",
            remedy="use detach() for a tensor outside the graph",
        )  # fmt: skip
    if anywhere[0]:
        tell("requires_grad", x, wanted)


def _check_no_inference_tensor(x: Tensor) -> None:
    """Raise for one that was made in inference mode, outside of it."""
    if inference_enabled() or not inferred[0] or not storage_of(x).inference:
        return
    raise AutogradError(
        "requires_grad", "tensor", was="an inference tensor: setting "
        "requires_grad=True on inference tensor outside InferenceMode is not allowed",
        needed="one made outside of inference_mode", remedy="clone() it first",
    )  # fmt: skip


def check_differentiable(op: str, dtype: DType) -> None:
    """Raise for the dtype of a leaf that is to gather gradients, but cannot."""
    if not dtype.is_inexact:
        raise DTypeError(
            op, "dtype", was=dtype.name, needed="a floating point or complex dtype",
            remedy="cast with .to(dovetail.float32) first",
        )  # fmt: skip


def _stop_gathering(x: Tensor) -> None:
    """Require no gradients any more; `.grad` stays what it is.

    The leaf is kept, for graphs that lead to it and for `requires_grad_()`.
    """
    leaf = leaf_of(x._node)
    if leaf is not None:
        leaf.active = False
        x.__dict__["_leaf"], x.__dict__["_grad"] = leaf, leaf.grad
        leaf.grad = None
    _gather_in(x, None)


def _gather_in(x: Tensor, leaf: Leaf | None) -> None:
    if type(x._node) is View:
        x._node.become_leaf(leaf)
    else:
        x._node = leaf
