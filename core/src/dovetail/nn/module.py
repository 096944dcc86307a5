"""`Module`: the base of everything that holds parameters and computes with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, Protocol, TypeVar

from dovetail.engine.public import constructor
from dovetail.engine.scopes import anywhere, watched
from dovetail.errors import NotSupported

from .hooks import running, used
from .module_convert import ModuleConvert
from .module_hooks import ModuleHooks
from .module_state import ModuleState

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)


class _Callable(Protocol[P, R_co]):
    """What `__call__` needs of a module: so calls have the types of `forward`."""

    def forward(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...

    def _has_hooks(self) -> bool: ...

    def _call_with_hooks(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any: ...


class Module(ModuleHooks, ModuleConvert, ModuleState):
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
    forward: Callable[..., Any]
    compile: Callable[..., None]  # see `optimized.py`

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "__init__" in cls.__dict__ and cls.__module__.startswith("dovetail."):
            made = constructor(cls.__dict__["__init__"], cls.__name__)
            setattr(cls, "__init__", made)  # noqa: B010  # mypy knows it as a method

    def __call__(self: _Callable[P, R_co], *args: P.args, **kwargs: P.kwargs) -> R_co:
        if anywhere[0] and watched():
            seen: R_co = _call_watched(self, args, kwargs)
            return seen
        if used and self._has_hooks():
            output: R_co = self._call_with_hooks(args, kwargs)
            return output
        return self.forward(*args, **kwargs)

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """What `repr` shows of this module besides its children."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        extra_lines = extra.split("\n") if extra else []
        children = [
            f"({name}): {_indent(repr(module))}"
            for name, module in self._modules.items()
        ]
        return _bracketed(self._get_name(), extra_lines, children)


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


def _indent(text: str) -> str:
    """`text` with all lines but the first moved two columns to the right."""
    return text.replace("\n", "\n  ")


def _bracketed(name: str, extra: list[str], children: list[str]) -> str:
    """`Name(extra)` on one line where nothing needs more, else a line a part."""
    if not children and len(extra) <= 1:
        return f"{name}({''.join(extra)})"
    return "\n  ".join([f"{name}(", *extra, *children]) + "\n)"
