"""Nodes whose gradients are seen, or prepared, by something around their op's rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail.engine.rule_calls import call_rule
from dovetail.engine.tape import Node, target_of
from dovetail.engine.tensor import Tensor


class Always(dict[Any, Any]):
    """Finds one thing under every key: what takes gradients, whatever their kind."""

    def __init__(self, found: Any) -> None:
        super().__init__()
        self.found = found

    def get(self, key: Any, default: Any = None) -> Any:
        return self.found

    def clear(self) -> None:
        """Nothing: it does not depend on kernels."""


class WrappedOp:
    """An op as one node has it, with something around its rules.

    Attributes:
        op: the op, which answers what else is asked.
    """

    def __init__(self, op: Any) -> None:
        self.op = op
        self.pull = _pull
        self.bound = Always(_pull)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.op, name)

    def __repr__(self) -> str:
        return repr(self.op)

    def gradients(self, node: Node, ct: Any, create: bool) -> Sequence[Any]:
        """The cotangents of the node's inputs; meanwhile the node has the op itself."""
        node.op = self.op
        try:
            found: Sequence[Any] = call_rule(node, ct, create)
            return found
        finally:
            node.op = self  # type: ignore[assignment]


def _pull(node: Node, ct: Any, create: bool) -> Sequence[Any]:
    wrapped: Any = node.op
    found: Sequence[Any] = wrapped.gradients(node, ct, create)
    return found


def node_of(outs: Sequence[Tensor]) -> Node | None:
    """The node that a call made for its results, if it made one."""
    for y in outs:
        target = target_of(y._node) if y._node is not None else None
        if type(target) is Node:
            return target
    return None
