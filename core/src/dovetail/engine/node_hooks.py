"""Hooks of nodes: before their rules, and after them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from dovetail.engine.arrival import replaced
from dovetail.engine.tape import Leaf, Node
from dovetail.engine.wrapped_ops import WrappedOp
from dovetail.errors import ArgumentTypeError, AutogradError

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
            given = _replaced(hook, given, hook(given))
        if all(g is None for g in given):
            return [None] * len(node.edges)
        found = tuple(super().gradients(node, given if several else given[0], create))
        for hook in list(self.after.values()):
            found = _replaced(hook, found, hook(found, given))
        return found


def _replaced(hook: Hook, before: tuple[Any, ...], changed: Any) -> tuple[Any, ...]:
    """What a hook returned instead of several gradients.

    Raises:
        ArgumentTypeError: it is no tuple.
        AutogradError: it is one of another length, or has a gradient where none was.
    """
    if changed is None:
        return before
    name = f"hook {getattr(hook, '__name__', type(hook).__name__)!r}"
    if not isinstance(changed, tuple):
        raise ArgumentTypeError(
            name, "result", was=f"a {type(changed).__name__}",
            needed="a tuple, or None to leave the gradients as they are",
        )  # fmt: skip
    if len(changed) != len(before):
        raise AutogradError(
            name, "result", was=f"a tuple of {len(changed)}: an incorrect number of "
            "values", needed=f"{len(before)}, as the hook was given",
        )  # fmt: skip
    return tuple([
        _one_replaced(hook, name, ct, g)
        for ct, g in zip(before, changed, strict=True)
    ])  # fmt: skip


def _one_replaced(hook: Hook, name: str, ct: Any, changed: Any) -> Any:
    if changed is None or changed is ct:
        return changed
    if ct is None:
        raise AutogradError(
            name, "result", was="a gradient where there was none: can't replace a None "
            "gradient with a non-None value", needed="None",
        )  # fmt: skip
    return replaced(hook, ct, changed)


def hooks_of(node: Node) -> HookedOp:
    """The hooks of a node, made when first asked for."""
    op: Any = node.op
    hooked: HookedOp = op if isinstance(op, HookedOp) else HookedOp(op)
    node.op = hooked  # type: ignore[assignment]
    return hooked


class LeafHooks:
    """Hooks of the node that gathers a leaf's gradient; the last of its hooks.

    Attributes:
        before, after: as those of `HookedOp`; there are no gradients of inputs.
    """

    def __init__(self) -> None:
        self.before: OrderedDict[int, Hook] = OrderedDict()
        self.after: OrderedDict[int, Hook] = OrderedDict()
        self._given: tuple[Any, ...] = ()

    def __call__(self, ct: Any) -> Any:
        """The gradient after the hooks that come before it is gathered."""
        given: tuple[Any, ...] = (ct,)
        for hook in list(self.before.values()):
            given = _replaced(hook, given, hook(given))
        self._given = given
        return given[0]


class _AfterLeaf:
    """Calls the hooks that come after a leaf's gradient was gathered."""

    def __init__(self, hooks: LeafHooks) -> None:
        self.hooks = hooks

    def __call__(self, tensor: Any) -> None:
        given, self.hooks._given = self.hooks._given, ()
        for hook in list(self.hooks.after.values()):
            hook((), given)


def hooks_of_leaf(leaf: Leaf) -> LeafHooks:
    """The hooks of a leaf's node, made when first asked for."""
    if leaf.hooks and isinstance(leaf.hooks[-1], LeafHooks):
        return leaf.hooks[-1]
    made = LeafHooks()
    leaf.hooks.append(made)
    leaf.after.append(_AfterLeaf(made))
    return made


def put_before_node_hooks(hooks: list[Any], hook: Hook) -> None:
    """Add a hook of a leaf, which comes before those of its node."""
    at = len(hooks)
    if hooks and isinstance(hooks[-1], LeafHooks | _AfterLeaf):
        at -= 1
    hooks.insert(at, hook)
