"""What calls the gradient rules of ops, and says whose while somebody watches."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any, Final

from dovetail.engine.pullback import pullback
from dovetail.engine.scopes import watched
from dovetail.engine.tape import Node

differentiated: Final[ContextVar[Node | None]] = ContextVar(
    "differentiated", default=None
)


def rules_for(create: bool) -> Any:
    """What calls the rules of ops as they are; None where kernels alone will do."""
    return call_announced if watched() else call_rule if create else None


def call_rule(node: Node, ct: Any, create: bool) -> Any:
    """The cotangents of a node's inputs, by rules made of ops."""
    return (node.op.pull or pullback(node.op))(node, ct, create)


def call_announced(node: Node, ct: Any, create: bool) -> Any:
    """The cotangents of a node's inputs; meanwhile `differentiated` tells whose."""
    pull = node.op.pull or pullback(node.op)
    if not watched():
        return pull(node, ct, create)
    token = differentiated.set(node)
    try:
        return pull(node, ct, create)
    finally:
        differentiated.reset(token)
