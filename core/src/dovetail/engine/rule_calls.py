"""What calls the gradient rules of ops, and says whose while somebody watches."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any, Final

from dovetail.engine.kinds import Kind
from dovetail.engine.op import Op
from dovetail.engine.pullback import Pull, pullback
from dovetail.engine.scopes import watched
from dovetail.engine.tape import Node

differentiated: Final[ContextVar[Node | None]] = ContextVar(
    "differentiated", default=None
)
# A rule is worth looking through when it has been asked so often.
_OFTEN: Final = 16
# How often the rules of an op were asked in a kind.
_asked: Final[dict[tuple[Op, Kind], int]] = {}


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


def pull_of(op: Op, kind: Kind) -> Pull:
    """What takes cotangents of a kind through `op` while nothing is recorded."""
    found = op.bound.get(kind)
    if found is not None:
        made: Pull = found
        return made
    general = pullback(op)
    count = _asked[op, kind] = _asked.get((op, kind), 0) + 1
    if count > _OFTEN and kind.backend.stands_for is None:
        from dovetail.engine.bound_pull import bound  # few programs go so far

        op.bound[kind] = bound(op, kind, general)
    return general
