"""Hooks of nodes: before their rules, and after them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from dovetail.engine.tape import Node
from dovetail.engine.wrapped_ops import WrappedOp

Hook = Callable[..., Any]


class HookedOp(WrappedOp):
    """An op with hooks around its rules.

    Attributes:
        before: called with the gradients of the results, which they may replace.
        after: called with those of the inputs, which they may replace, and of the
            results.
    """

    def __init__(self, op: Any) -> None:
        super().__init__(op)
        self.before: OrderedDict[int, Hook] = OrderedDict()
        self.after: OrderedDict[int, Hook] = OrderedDict()

    def gradients(self, node: Node, ct: Any, create: bool) -> Sequence[Any]:
        several = isinstance(ct, tuple)
        given: tuple[Any, ...] = ct if several else (ct,)
        for hook in list(self.before.values()):
            given = _replaced(given, hook(given))
        found = tuple(super().gradients(node, given if several else given[0], create))
        for hook in list(self.after.values()):
            found = _replaced(found, hook(found, given))
        return found


def _replaced(before: tuple[Any, ...], changed: Any) -> tuple[Any, ...]:
    if changed is None:
        return before
    return tuple(changed) if isinstance(changed, tuple | list) else (changed,)


def hooks_of(node: Node) -> HookedOp:
    """The hooks of a node, made when first asked for."""
    op: Any = node.op
    hooked: HookedOp = op if isinstance(op, HookedOp) else HookedOp(op)
    node.op = hooked  # type: ignore[assignment]
    return hooked
