"""Two tensors exchanged in place: torch.utils.swap_tensors."""

from __future__ import annotations

import gc
import weakref
from typing import Any

from dovetail.engine.tape import Leaf
from dovetail.engine.tape_of_views import View, leaf_of
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentTypeError, AutogradError


def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Let each of two tensors be what the other was, wherever they are referred to.

    Values, dtype, class, gradient and what users have set on them change places; views
    of one, and graphs, follow what they were taken of.

    Raises:
        ArgumentTypeError: one is no tensor.
        AutogradError: something refers to one weakly, and would not know.
    """
    for name, x in (("t1", t1), ("t2", t2)):
        if not isinstance(x, Tensor):
            raise ArgumentTypeError(
                "swap_tensors", name, was=f"a {type(x).__name__}", needed="a Tensor"
            )
        if weakref.getweakrefcount(x) > _own_weak(x):
            raise AutogradError(
                "swap_tensors", name, was="a tensor that has weakref associated with "
                "it", needed="one that nothing refers to weakly",
            )  # fmt: skip
    if t1 is t2:
        return
    of_first, of_second = _views_of(t1), _views_of(t2)
    t1.__class__, t2.__class__ = t2.__class__, t1.__class__
    one, other = dict(t1.__dict__), dict(t2.__dict__)
    for x, attributes in ((t1, other), (t2, one)):
        x.__dict__.clear()
        x.__dict__.update(attributes)
    for slot in ("_a", "_kind", "_node", "_storage"):
        mine, others = getattr(t1, slot), getattr(t2, slot)
        setattr(t1, slot, others)
        setattr(t2, slot, mine)
    for x, views in ((t2, of_first), (t1, of_second)):
        for view in views:
            view.base = x
        for leaf in _leaves(x):
            leaf.tensor = weakref.ref(x)


def _leaves(x: Tensor) -> list[Leaf]:
    """The places that gather a tensor's gradient, also one that does not any more."""
    found = (leaf_of(x._node), x.__dict__.get("_leaf"))
    return [leaf for leaf in found if leaf is not None]


def _own_weak(x: Tensor) -> int:
    """How many weak references are the tape's: one object, as long as one lives."""
    return int(any(leaf.tensor() is x for leaf in _leaves(x)))


def _views_of(x: Tensor) -> list[Any]:
    if x._storage is None:
        return []
    return [v for v in gc.get_referrers(x) if type(v) is View and v.base is x]


__all__ = ["swap_tensors"]
