"""Tensor's place in the graph: backward, detach, hooks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dovetail.engine import autograd
from dovetail.engine.arrival import Hook
from dovetail.engine.gradient_edges import by_edges
from dovetail.engine.level_hooks import cut_below, level_of
from dovetail.engine.node_hooks import hooks_of, hooks_of_leaf, put_before_node_hooks
from dovetail.engine.open_levels import open_levels
from dovetail.engine.public import methods, public
from dovetail.engine.saved_values import SavedTensor
from dovetail.engine.scopes import anywhere, tell
from dovetail.engine.tape import Leaf, Node, Output
from dovetail.engine.tape_of_views import leaf_of
from dovetail.engine.tensor import Tensor, alias, as_class, extend
from dovetail.errors import ArgumentTypeError, AutogradError, InplaceError
from dovetail.tensor_api.hook_handle import HandleOf, RemovableHandle, add_hook


def _backward(
    self: Tensor, gradient: Tensor | None = None, retain_graph: bool | None = None,
    create_graph: bool = False, inputs: Sequence[Tensor] | None = None,
) -> None:  # fmt: skip
    """Add the gradients of this tensor to the `.grad` of its leaves.

    Args:
        gradient: of what comes after, in this tensor's shape; needed where that is not
            one number.
        retain_graph: keep what the pass needs, so that it can be done again.
        create_graph: record the pass, so that gradients have gradients.
        inputs: the leaves that are meant; all by default.

    Examples:
        >>> import dovetail as torch
        >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> (x * x).sum().backward()
        >>> x.grad
        tensor([2., 4.])
    """
    given: Sequence[Tensor | None] = (gradient,)
    if gradient is not None and not isinstance(gradient, Tensor):
        given = autograd.tensors_of("backward", "gradient", gradient)
    if inputs is not None:
        inputs = by_edges("backward", inputs)
        inputs = autograd.tensors_of("backward", "inputs", inputs)
    autograd.backward([self], given, retain_graph, create_graph, inputs)


extend(backward=_backward)


@public("detach")
def detach(input: Tensor) -> Tensor:
    """The same memory outside the graph; writes show in both.

    Returns: a leaf that requires no gradients.

    >>> torch.ones(1, requires_grad=True).detach().requires_grad
    False
    """
    made = alias(input)
    if level_of and open_levels():
        cut_below(made)
    if anywhere[0]:
        tell("alias", input, made, "detach()")
    return made


def _detach_(self: Tensor) -> Tensor:
    """Take this tensor out of the graph, making it a leaf."""
    if self._is_view():
        raise InplaceError(
            "detach_", "tensor", was="a view", needed="a tensor that is no view",
            remedy="use detach()",
        )  # fmt: skip
    if self.is_leaf:
        self.requires_grad = False
    self._node = None
    if level_of and open_levels():
        cut_below(self)
    if anywhere[0]:
        tell("detach_", self)
    return self


def _requires_grad_(self: Tensor, requires_grad: bool = True) -> Tensor:
    """Say whether gradients are wanted for this leaf; returns it.

    Raises: DTypeError for integers and bools; AutogradError for False where gradients
        go through to others.

    >>> torch.ones(2).requires_grad_()
    tensor([1., 1.], requires_grad=True)
    """
    self.requires_grad = requires_grad
    return self


def _register_hook(self: Tensor, hook: Hook) -> RemovableHandle:
    """Call `hook(grad)` when this tensor's gradient is computed; it may replace it.

    Args:
        hook: gets the gradient, and gives another one or None.

    Returns: a handle, whose `remove()` takes the hook away.

    Raises: AutogradError if no gradient is required.

    >>> x = torch.ones(1, requires_grad=True)
    >>> handle = x.register_hook(lambda gradient: gradient * 2)
    >>> (x * 3).sum().backward()
    >>> x.grad
    tensor([6.])
    """
    return HandleOf(autograd.register_hook(self, hook))


def _register_post_accumulate_grad_hook(
    self: Tensor, hook: Callable[[Tensor], None]
) -> RemovableHandle:
    """Call `hook(tensor)` after a gradient was added to this leaf's `.grad`."""
    leaf = leaf_of(self._node)
    if leaf is None and self.is_leaf and self.requires_grad:
        return HandleOf(lambda: None)  # a view of no_grad's gathers nothing
    if leaf is None:
        raise AutogradError(
            "register_post_accumulate_grad_hook", "tensor", was="not a leaf that "
            "requires gradients", needed="one",
        )  # fmt: skip
    put_before_node_hooks(leaf.after, hook)
    return HandleOf(lambda: leaf.after.remove(hook))


def _retain_grad(self: Tensor) -> None:
    """Keep the gradient of this non-leaf tensor in `.grad`."""
    autograd.retain_grad(self)


# No class is asked: it would make an instance of its own of what shall be none.
@public("Tensor.as_subclass", asks=False)
def as_subclass(self: Tensor, cls: Any) -> Tensor:
    """This tensor as an instance of a subclass of Tensor, over the same memory."""
    if not (isinstance(cls, type) and issubclass(cls, Tensor)):
        raise ArgumentTypeError(
            "as_subclass", "cls", was=repr(cls), needed="a subclass of Tensor"
        )
    view: Tensor = as_class(cls, alias(self))
    view._node = self._node
    return view


def _retains_grad(self: Tensor) -> bool:
    """Whether a tensor that is no leaf keeps its gradient."""
    return bool(self.__dict__.get("_retains"))


def _register_node_hook(self: Node | Leaf, fn: Callable[..., Any]) -> RemovableHandle:
    """Call `fn(grad_inputs, grad_outputs)` when gradients have gone through this node.

    It may return other gradients of the inputs.
    """
    return add_hook(_hooks(self).after, fn)


def _register_node_prehook(
    self: Node | Leaf, fn: Callable[..., Any]
) -> RemovableHandle:
    """Call `fn(grad_outputs)` before gradients go through this node.

    It may return other gradients of the results.
    """
    return add_hook(_hooks(self).before, fn)


def _hooks(node: Node | Leaf) -> Any:
    return hooks_of_leaf(node) if isinstance(node, Leaf) else hooks_of(node)


for _node in (Node, Leaf):
    _node.register_hook = _register_node_hook  # type: ignore[union-attr]
    _node.register_prehook = _register_node_prehook  # type: ignore[union-attr]
methods(
    detach_=_detach_, requires_grad_=_requires_grad_,
    register_hook=_register_hook, retain_grad=_retain_grad,
    register_post_accumulate_grad_hook=_register_post_accumulate_grad_hook,
)  # fmt: skip
extend(retains_grad=property(_retains_grad))
__all__ = ["Any", "Node", "Output", "RemovableHandle", "SavedTensor"]
