"""`Module`: the base of everything that holds parameters and computes with them."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from types import FunctionType
from typing import Any, Final, ParamSpec, Protocol, TypeVar

from dovetail.engine.public import constructor, is_public
from dovetail.engine.scopes import anywhere, here, watched
from dovetail.errors import ArgumentTypeError, DovetailError, NotSupported
from dovetail.tensor_api.hook_handle import RemovableHandle, add_hook

from . import global_hooks
from .attributes import used
from .backward_hooks import BackwardHooks, watch_last_op
from .errors import name_path
from .global_hooks import TABLES, ever
from .state import ModuleState

# The modules that are being called, from the outermost in, while calls are watched.
running: Final[ContextVar[tuple[Any, ...]]] = ContextVar("running", default=())

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)


class _Callable(Protocol[P, R_co]):
    """What `__call__` needs of a module: so calls have the types of `forward`."""

    def forward(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...

    def _has_hooks(self) -> bool: ...

    def _call_with_hooks(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any: ...


class Module(ModuleState):
    """Base class of all neural network modules.

    A subclass calls `super().__init__()`, assigns parameters, buffers and child
    modules as attributes, and defines `forward`. The module is then called.

    Attributes:
        training: whether the module is in training mode.

    Examples:
        >>> import dovetail as torch
        >>> class Net(torch.nn.Module):
        ...     def __init__(self) -> None:
        ...         super().__init__()
        ...         self.hidden = torch.nn.Linear(64, 32)
        ...         self.output = torch.nn.Linear(32, 10)
        ...     def forward(self, x: torch.Tensor) -> torch.Tensor:
        ...         return self.output(torch.relu(self.hidden(x)))
        >>> net = Net()
        >>> net(torch.randn(5, 64)).shape
        dovetail.Size([5, 10])
        >>> sorted(net.state_dict())
        ['hidden.bias', 'hidden.weight', 'output.bias', 'output.weight']
    """

    dump_patches: bool = False
    _modules: dict[str, Module | None]
    forward: Callable[..., Any]
    compile: Callable[..., None]  # see `compilation.py`

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.__module__.startswith("dovetail."):
            if "__init__" in cls.__dict__:
                made = constructor(cls.__dict__["__init__"], cls.__name__)
                setattr(cls, "__init__", made)  # noqa: B010  # mypy knows it as a method
            return
        # Functions of torch's are builtins, which a class may hold and an instance
        # does not bind: `conv = torch.conv2d`.
        for name, value in tuple(vars(cls).items()):
            if isinstance(value, FunctionType) and is_public(value):
                setattr(cls, name, staticmethod(value))

    def __call__(self: _Callable[P, R_co], *args: P.args, **kwargs: P.kwargs) -> R_co:
        try:
            if anywhere[0] and here() is not None and watched():
                seen: R_co = _call_watched(self, args, kwargs)
                return seen
            if used and self._has_hooks():
                output: R_co = self._call_with_hooks(args, kwargs)
                return output
            return self.forward(*args, **kwargs)
        except DovetailError as error:
            name_path(error, self)
            raise

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
        if self._is_full_backward_hook is False:
            raise global_hooks.mixed("on a single Module")
        self._is_full_backward_hook = True
        return add_hook(self._backward_hooks, hook, prepend=prepend)

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """The older form: called with the gradients of the module's last op alone.

        Programs are better off with `register_full_backward_hook`.

        Raises: CallOrderError where there is a full backward hook.
        """
        if self._is_full_backward_hook is True:
            raise global_hooks.mixed("on a single Module")
        self._is_full_backward_hook = False
        return add_hook(self._backward_hooks, hook)

    def _has_hooks(self) -> bool:
        """Whether a call has anything to do besides `forward`."""
        return bool(
            "_compiled_call" in self.__dict__
            or self._forward_hooks
            or self._forward_pre_hooks
            or self._backward_hooks
            or self._backward_pre_hooks
            or (ever and any(TABLES))
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
        args, kwargs = self._call_pre_hooks(args, kwargs)
        whole = self._is_full_backward_hook is not False
        own = list(self._backward_hooks.values())
        full = global_hooks.backward_hooks(True) + (own if whole else [])
        older = global_hooks.backward_hooks(False) + ([] if whole else own)
        first = [
            *global_hooks.backward_before.values(),
            *self._backward_pre_hooks.values(),
        ]
        backward = BackwardHooks(self, first, full) if full or first else None
        if backward is not None:
            args = backward.watch_inputs(args)
        output = self._after_forward(
            self.forward(*args, **kwargs), args, kwargs, called
        )
        if backward is not None:
            output = backward.watch_outputs(output)
        if older:
            watch_last_op(self, older, args, output)
        return output

    def _after_forward(
        self, output: Any, args: tuple[Any, ...], kwargs: dict[str, Any],
        called: set[int],
    ) -> Any:  # fmt: skip
        """The output as the hooks after a call leave it."""
        hooks = [*global_hooks.after.items(), *self._forward_hooks.items()]
        for key, hook in hooks:
            called.add(key)
            if self._takes_kwargs(key):
                changed = hook(self, args, kwargs, output)
            else:
                changed = hook(self, args, output)
            if changed is not None:
                output = changed
        return output

    def _takes_kwargs(self, key: int) -> bool:
        """Whether a hook after a call is given the arguments by name."""
        own = key in self._forward_hooks_with_kwargs
        return own or key in global_hooks.after_with_kwargs

    def _call_pre_hooks(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        before = [*global_hooks.before.items(), *self._forward_pre_hooks.items()]
        for key, hook in before:
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
        always = {*self._forward_hooks_always_called, *global_hooks.after_always}
        hooks = [*global_hooks.after.items(), *self._forward_hooks.items()]
        for key, hook in hooks:
            if key in always and key not in called:
                named = self._takes_kwargs(key)
                hook(self, args, kwargs, None) if named else hook(self, args, None)

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """What `repr` shows of this module besides its children."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        extra_lines = extra.split("\n") if extra else []
        children = [
            f"({name}): {indented(repr(module))}"
            for name, module in self._modules.items()
        ]
        return bracketed(self._get_name(), extra_lines, children)


def _call_watched(module: Any, args: Any, kwargs: Any) -> Any:
    """A call that `running` tells those of who watch the calls of ops."""
    token = running.set((*running.get(), module))
    try:
        if used and module._has_hooks():
            return module._call_with_hooks(args, kwargs)
        return module.forward(*args, **kwargs)
    finally:
        running.reset(token)


def _forward(self: Module, *args: Any, **kwargs: Any) -> Any:
    name = type(self).__name__
    raise NotSupported(
        name, "forward", was="not defined", needed="a method",
        remedy=f"define `forward` in {name}",
    )  # fmt: skip


Module.forward = _forward


def indented(text: str) -> str:
    """`text` with all lines but the first moved two columns to the right."""
    first, *rest = text.split("\n")
    return "\n".join([first, *(f"  {line}" if line else "" for line in rest)])


def bracketed(name: str, extra: list[str], children: list[str]) -> str:
    """`Name(extra)` on one line where nothing needs more, else a line a part."""
    if not children and len(extra) <= 1:
        return f"{name}({''.join(extra)})"
    return "\n  ".join([f"{name}(", *extra, *children]) + "\n)"
