"""`Function`: ops that users write, with a backward of their own."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, ClassVar

from dovetail.autograd.function_call import applied
from dovetail.autograd.function_context import FunctionCtx
from dovetail.engine.modes import grad_enabled, no_grad
from dovetail.engine.tape import Node
from dovetail.engine.tape_entries import tape_entry
from dovetail.engine.tensor import Tensor, alias
from dovetail.errors import AutogradError, NotSupported


class Function(FunctionCtx):
    """An op with a `forward` and a `backward`, as static methods of a subclass.

    `forward(ctx, *args)` gives tensors and keeps on `ctx` what `backward(ctx, *cts)`
    needs, which returns a gradient for each argument, None for what has none. Where
    `setup_context(ctx, inputs, output)` is there, `forward` has no `ctx`.

    In forward mode the transpose of `backward` is taken, unless there is a `jvp`;
    `vmap` calls both on batches, unless there is a `vmap`.

    Examples:
        >>> import dovetail as torch
        >>> class Cube(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.save_for_backward(x)
        ...         return x**3
        ...
        ...     @staticmethod
        ...     def backward(ctx, ct):
        ...         (x,) = ctx.saved_tensors
        ...         return ct * 3 * x**2
        >>> x = torch.tensor(2.0, requires_grad=True)
        >>> Cube.apply(x).backward()
        >>> x.grad
        tensor(12.)
    """

    generate_vmap_rule: ClassVar[bool] = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        name = type(self).__name__
        warnings.warn(
            f"{name} should not be instantiated: its methods are static, and "
            f"{name}.apply(...) calls it",
            DeprecationWarning, stacklevel=2,
        )  # fmt: skip

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Refused: instances were called before `forward` was a static method."""
        raise NotSupported(
            type(self).__name__, "instance", was="called", needed="the class alone",
            remedy=f"call {type(self).__name__}.apply(...)",
        )  # fmt: skip

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """What it computes; of subclasses."""
        raise NotImplementedError("a Function has to have a static method forward")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Keep what `backward` needs, where `forward` has no `ctx`; of subclasses."""
        raise NotImplementedError("setup_context is for subclasses to write")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Gradients of the arguments; of subclasses."""
        raise NotImplementedError("a Function has to have a static method backward")

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """Tangents of the results; of subclasses."""
        raise NotImplementedError("jvp is for subclasses to write")

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        """Results for a batch, and their dims of rows; of subclasses."""
        raise NotImplementedError("vmap is for subclasses to write")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Call the function, and put it on the tape."""
        return applied(cls, Function, args, kwargs)


def _once(x: Tensor) -> Any:
    """A gradient that cannot be differentiated again."""


def _refuse_twice(ct: Tensor) -> Any:
    raise AutogradError(
        "backward", "function", was="marked with @once_differentiable, and "
        "differentiated twice", needed="a backward without that mark",
    )  # fmt: skip


_ONCE = tape_entry("once_differentiable", _once, _refuse_twice)


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a `backward` whose own ops are no part of what may be differentiated."""

    @functools.wraps(backward)
    def marked(ctx: Any, *cts: Any) -> Any:
        with no_grad():
            found = backward(ctx, *cts)
        flows = [ct for ct in cts if isinstance(ct, Tensor) and ct.requires_grad]
        if not grad_enabled() or not flows:
            return found
        several = found if isinstance(found, tuple) else (found,)
        ended = tuple([_ended(g, flows[0]) for g in several])
        return ended if isinstance(found, tuple) else ended[0]

    return marked


def _ended(gradient: Any, ct: Tensor) -> Any:
    if not isinstance(gradient, Tensor):
        return gradient
    y = alias(gradient)
    y._node = Node(_ONCE, (ct._node,), None, {})
    return y


class InplaceFunction(Function):
    """A Function, as older programs name it whose `forward` writes in place.

    Attributes:
        inplace: what it was made with, where it was.
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


_ContextMethodMixin = FunctionCtx  # its name of old
__all__ = ["Function", "FunctionCtx", "InplaceFunction", "once_differentiable"]
