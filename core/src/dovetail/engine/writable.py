"""Which tensors may be written in place, without wrong values or gradients."""

from __future__ import annotations

from dovetail.engine import modes
from dovetail.engine.tape import storage_of
from dovetail.engine.tape_of_views import View, leaf_of
from dovetail.engine.tensor import Tensor
from dovetail.errors import InplaceError


def check_writable(name: str, x: Tensor, overlap: bool = False) -> None:
    """Raise where an in-place write would make gradients or values wrong.

    `overlap` allows a tensor whose elements share memory: all are set alike.
    """
    if not isinstance(x, Tensor):
        raise InplaceError(name, "input", was=repr(x), needed="a Tensor to write to")
    node = x._node
    if node is not None and modes.grad_enabled():
        if leaf_of(node) is not None:
            raise InplaceError(
                name, "tensor", was="a leaf Variable that requires grad, used in an "
                "in-place operation", needed="a tensor that is not a leaf",
                remedy="write under dovetail.no_grad(), or on a clone()",
            )  # fmt: skip
        if type(node) is View and node.base.is_leaf and node.edge() is not None:
            raise InplaceError(
                name, "tensor",
                was="a view of a leaf Variable that requires grad, used in an "
                "in-place operation",
                needed="a view of a tensor that is no leaf",
                remedy="write under dovetail.no_grad(), or on a clone()",
            )  # fmt: skip
        if type(node) is View and node.made_by and node.edge() is not None:
            raise given_with_others(name, node)
        if type(node) is View and node.leads_nowhere:
            raise InplaceError(
                name, "tensor", was="a view taken under no_grad of a tensor that "
                "requires grad", needed="a view taken with gradients on",
                remedy="take the view outside no_grad, or write under no_grad",
            )  # fmt: skip
    if x._inference:
        storage_of(x)  # which says whether we are in inference mode
    if x._storage is not None and x._storage.to_write is not None:
        raise InplaceError(
            name, "tensor", was=x._storage.to_write,
            needed="memory that may be written",
            remedy="write to what it was taken of, or clone() it first",
        )  # fmt: skip
    if not overlap and x._storage is not None and overlaps_itself(x):
        raise InplaceError(
            name, "tensor", was="expanded: more than one element refers to a single "
            "memory location", needed="one location an element",
            remedy="clone() it before writing",
        )  # fmt: skip


def given_with_others(name: str, view: View) -> InplaceError:
    """The error for a write that is to be recorded, to a view that was not taken alone.

    Args:
        name: what was to write.
    """
    return InplaceError(
        name, "tensor", was=f"a view given by {view.made_by}, and is being modified "
        "inplace", needed="a view taken alone",
        remedy="take it by narrow() or an index, or write to a clone()",
    )  # fmt: skip


def overlaps_itself(x: Tensor) -> bool:
    """Whether elements share memory through a zero stride, as after `expand`."""
    if x._storage is not None and x._storage.root is x._a:
        return False  # memory of its own; what is taken in is looked at then
    return is_expanded(x)


def is_expanded(x: Tensor) -> bool:
    """The same, of memory that is not ours."""
    strides, _ = x._kind.backend.geometry(x._a, x._a)
    if 0 not in strides:
        return False
    shared = any(s == 0 and n > 1 for s, n in zip(strides, x._a.shape, strict=True))
    return shared and all(x._a.shape)
