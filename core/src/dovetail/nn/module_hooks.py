"""Registering a module's hooks, and the call that runs them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from dovetail.errors import ArgumentTypeError

from .backward_hooks import BackwardHooks
from .hooks import RemovableHandle, add_hook
from .module_base import ModuleBase

if TYPE_CHECKING:
    from .module import Module


class ModuleHooks(ModuleBase):
    """The part of `Module` that calls what others registered around `forward`."""

    def register_forward_pre_hook(
        self,
        hook: Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
    ) -> RemovableHandle:
        """Call `hook(module, args)` before `forward`; its result replaces `args`.

        Args:
            hook: returns None, new positional arguments, or with `with_kwargs` a
                pair of new positional and named ones.
            prepend: whether it runs before the hooks registered earlier.
            with_kwargs: whether it is called as `hook(module, args, kwargs)`.
        """
        flags = [self._forward_pre_hooks_with_kwargs] if with_kwargs else []
        return add_hook(self._forward_pre_hooks, hook, flags=flags, prepend=prepend)

    def register_forward_hook(
        self,
        hook: Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Call `hook(module, args, output)` after `forward`; its result replaces it.

        Args:
            hook: returns None or a new output.
            prepend: whether it runs before the hooks registered earlier.
            with_kwargs: whether it is called as `hook(module, args, kwargs, output)`.
            always_call: whether it runs even if the call raises; `output` is None
                then.
        """
        flags: list[Any] = [self._forward_hooks_with_kwargs] if with_kwargs else []
        if always_call:
            flags.append(self._forward_hooks_always_called)
        return add_hook(self._forward_hooks, hook, flags=flags, prepend=prepend)

    def register_full_backward_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, grad_output)` before the module is differentiated.

        Args:
            hook: returns None or new gradients of the outputs.
            prepend: whether it runs before the hooks registered earlier.
        """
        return add_hook(self._backward_pre_hooks, hook, prepend=prepend)

    def register_full_backward_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` once gradients are known.

        Args:
            hook: returns None or new gradients of the positional inputs.
            prepend: whether it runs before the hooks registered earlier.
        """
        self._is_full_backward_hook = True
        return add_hook(self._backward_hooks, hook, prepend=prepend)

    def _has_hooks(self) -> bool:
        """Whether a call has anything to do besides `forward`."""
        return bool(
            "_compiled_call" in self.__dict__
            or self._forward_hooks
            or self._forward_pre_hooks
            or self._backward_hooks
            or self._backward_pre_hooks
        )

    def _call_with_hooks(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        compiled = self.__dict__.get("_compiled_call", self._call_plain)
        return compiled(*args, **kwargs)

    def _call_plain(self, *args: Any, **kwargs: Any) -> Any:
        """`forward` with every hook around it."""
        called: set[int] = set()
        try:
            return self._forward_and_hooks(args, kwargs, called)
        except Exception:
            self._call_remaining(args, kwargs, called)
            raise

    def _forward_and_hooks(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], called: set[int]
    ) -> Any:
        this = cast("Module", self)
        args, kwargs = self._call_pre_hooks(args, kwargs)
        backward = None
        if self._backward_hooks or self._backward_pre_hooks:
            backward = BackwardHooks(
                this, self._backward_pre_hooks.values(), self._backward_hooks.values()
            )
            args = backward.watch_inputs(args)
        output = this.forward(*args, **kwargs)
        for key, hook in list(self._forward_hooks.items()):
            called.add(key)
            if key in self._forward_hooks_with_kwargs:
                changed = hook(this, args, kwargs, output)
            else:
                changed = hook(this, args, output)
            if changed is not None:
                output = changed
        return output if backward is None else backward.watch_outputs(output)

    def _call_pre_hooks(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        for key, hook in list(self._forward_pre_hooks.items()):
            if key in self._forward_pre_hooks_with_kwargs:
                pair = hook(self, args, kwargs)
                if pair is None:
                    continue
                if not (isinstance(pair, tuple) and len(pair) == 2):
                    raise ArgumentTypeError(
                        f"{type(self).__name__}.__call__", "a pre-hook's result",
                        was=repr(pair), needed="None or (new_args, new_kwargs)",
                    )  # fmt: skip
                args, kwargs = pair
            else:
                result = hook(self, args)
                if result is not None:
                    args = result if isinstance(result, tuple) else (result,)
        return args, kwargs

    def _call_remaining(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], called: set[int]
    ) -> None:
        """After an error: the hooks that asked to be called always."""
        for key, hook in list(self._forward_hooks.items()):
            if key in self._forward_hooks_always_called and key not in called:
                named = key in self._forward_hooks_with_kwargs
                hook(self, args, kwargs, None) if named else hook(self, args, None)
