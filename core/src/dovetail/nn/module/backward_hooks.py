"""Full backward hooks of a module: two places on the tape, around what it recorded.

The inputs pass one node and the outputs another. Going backwards, the outputs' node
has all gradients of the outputs, and the inputs' node all gradients of the inputs,
which tensors' own hooks, one tensor each, could not see together.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from dovetail.engine.modes import is_grad_enabled
from dovetail.engine.tape import Node, Output
from dovetail.engine.tape_of_views import edge_of
from dovetail.engine.tensor import Tensor, alias
from dovetail.errors import ArgumentError

if TYPE_CHECKING:
    from .module import Module

Gradients = tuple[Any, ...]
Hook = Callable[..., Any]


class BackwardHooks:
    """The backward hooks of one call of a module.

    Args:
        module: what the hooks are called with.
        before: called with `(module, grad_output)`.
        after: called with `(module, grad_input, grad_output)`.
    """

    def __init__(
        self, module: Module, before: Iterable[Hook], after: Iterable[Hook]
    ) -> None:
        self.module = module
        self.before = list(before)
        self.after = list(after)
        self.inputs = 0
        self.watched = False
        self.grad_output: Gradients | None = None

    def watch_inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The positional arguments, those that need gradients past a node."""
        self.inputs = len(args)
        passed, self.watched = _past_node(args, self._at_inputs)
        return passed

    def watch_outputs(self, output: Any) -> Any:
        """The result, or the tensors of a tuple of results, past a node."""
        if isinstance(output, tuple):
            passed, _ = _past_node(output, self._at_outputs)
            is_named = hasattr(output, "_fields")
            return type(output)(*passed) if is_named else passed
        return _past_node((output,), self._at_outputs)[0][0]

    def _at_outputs(self, gradients: Gradients) -> Gradients:
        for hook in self.before:
            gradients = _changed(self._name(), hook(self.module, gradients), gradients)
        self.grad_output = gradients
        if not self.watched:
            self._run_after((None,) * self.inputs)
        return gradients

    def _at_inputs(self, gradients: Gradients) -> Gradients:
        if self.grad_output is None:  # the outputs were not part of this backward
            return gradients
        return self._run_after(gradients)

    def _run_after(self, gradients: Gradients) -> Gradients:
        for hook in self.after:
            result = hook(self.module, gradients, self.grad_output)
            if not self.watched and result is not None and _any_given(result):
                raise ArgumentError(
                    self._name(), "a backward hook's result", was="a gradient",
                    needed="None", remedy="no input of this module has a gradient",
                )  # fmt: skip
            gradients = _changed(self._name(), result, gradients)
        self.grad_output = None
        return gradients

    def _name(self) -> str:
        return f"backward of {type(self.module).__name__}"


def watch_last_op(
    module: Module, hooks: Iterable[Hook], args: tuple[Any, ...], output: Any
) -> None:
    """Let hooks of the older form see the gradients of the op that made the output.

    Warns: FutureWarning where these are not the module's.
    """
    first = output
    while not isinstance(first, Tensor):
        values = first.values() if isinstance(first, dict) else first
        first = next(v for v in values if isinstance(v, Tensor) or len(v))
    node = first.grad_fn
    if node is None:
        return
    for hook in hooks:
        node.register_hook(partial(hook, module))
    why = _what_is_missed(args, output, node)
    if why is not None:
        warnings.warn(
            f"Using non-full backward hooks on a Module that {why} is deprecated: the "
            "hook will miss some of the gradients. Please use "
            "register_full_backward_hook to get the documented behavior.",
            FutureWarning, stacklevel=4,
        )  # fmt: skip


def _what_is_missed(args: tuple[Any, ...], output: Any, node: Any) -> str | None:
    """Why the gradients of one op are not those of a module; None if they are."""
    outs = output if isinstance(output, tuple) else (output,)
    if not all(isinstance(x, Tensor) for x in outs):
        return "does not return a single Tensor or a tuple of Tensors"
    if not all(isinstance(x, Tensor) for x in args):
        return "does not take as input a single Tensor or a tuple of Tensors"
    if {x.grad_fn for x in outs if x.grad_fn is not None} != {node}:
        return "has outputs of different autograd Nodes"
    given = {x.grad_fn for x in args if x.grad_fn is not None}
    if given != {below for below, _ in node.next_functions}:
        return "contains multiple autograd Nodes"
    return None


class _Crossing:
    """What the engine needs of an op, for a node whose gradients pass a function."""

    name = "module_hooks"
    residuals = 0

    def __init__(
        self, places: list[int], count: int, at: Callable[[Gradients], Gradients]
    ) -> None:
        self.places = places
        self.count = count
        self.at = at

    def pull(self, node: Node, ct: Any, create: bool) -> Gradients:
        """Put the gradients at the places of their tensors, and back."""
        given = (ct,) if len(self.places) == 1 else ct
        gradients: list[Any] = [None] * self.count
        for place, gradient in zip(self.places, given, strict=True):
            gradients[place] = gradient
        passed = self.at(tuple(gradients))
        return tuple(passed[place] for place in self.places)


def _past_node(
    values: tuple[Any, ...], at: Callable[[Gradients], Gradients]
) -> tuple[tuple[Any, ...], bool]:
    """`values`, whose tensors' gradients all pass `at`; whether there are any."""
    if not is_grad_enabled():
        return values, False
    places = [
        i for i, v in enumerate(values) if isinstance(v, Tensor) and v.requires_grad
    ]
    if not places:
        return values, False
    tensors = [values[i] for i in places]
    node = _node(tensors, _Crossing(places, len(values), at))
    passed = list(values)
    for index, (place, tensor) in enumerate(zip(places, tensors, strict=True)):
        passed[place] = made = alias(tensor)
        made._node = node if len(places) == 1 else Output(node, index)
    return tuple(passed), True


def _node(tensors: list[Tensor], crossing: Any) -> Node:
    node = Node(crossing, tuple(edge_of(t._node) for t in tensors), None, {})
    extra = node.more()  # it is no op's, so that its own `pull` is called
    if len(tensors) > 1:
        extra.outputs = tuple((t._a.shape, t._kind) for t in tensors)
    return node


def _changed(name: str, result: Any, gradients: Gradients) -> Gradients:
    """What a hook made of the gradients."""
    if result is None:
        return gradients
    new = result if isinstance(result, tuple) else (result,)
    if len(new) != len(gradients):
        raise ArgumentError(
            name, "a backward hook's result", was=f"{len(new)} gradients",
            needed=f"{len(gradients)}, or None",
        )  # fmt: skip
    return new


def _any_given(result: Any) -> bool:
    given = result if isinstance(result, tuple) else (result,)
    return any(gradient is not None for gradient in given)
