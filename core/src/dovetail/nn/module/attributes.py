"""What a module holds: its tables of parameters, buffers, children and hooks.

The tables are plain dicts in torch's order, for the programs that look inside.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from dovetail.engine.tensor import Parameter, Tensor
from dovetail.errors import ArgumentTypeError

from .errors import NameClash, NotInitialised

if TYPE_CHECKING:
    from .module import Module

# Holds something from the first hook on: a call of a module looks here alone while
# there is none, which saves a third of its time.
used: Final[list[bool]] = []

# Hooks that a call runs are in a HookTable; what goes with them in any ordered dict.
CALL_TABLES = frozenset(
    ["_backward_pre_hooks", "_backward_hooks", "_forward_hooks", "_forward_pre_hooks"]
)
FORWARD_TABLES = (
    "_forward_hooks",
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
)
STATE_TABLES = (
    "_state_dict_hooks",
    "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)


class HookTable(OrderedDict[int, Any]):
    """An ordered dict of hooks that notes in `used` that there is one."""

    def __setitem__(self, key: int, value: Any) -> None:
        note_use()
        super().__setitem__(key, value)


# Hooks of all modules that see what a module comes to hold, by the kind of that.
held: Final[dict[str, OrderedDict[int, Any]]] = {
    kind: OrderedDict() for kind in ("parameter", "buffer", "module")
}


def as_held(kind: str, module: Any, name: str, value: Any) -> Any:
    """What a module holds, as the hooks of all modules leave it."""
    for hook in list(held[kind].values()):
        changed = hook(module, name, value)
        value = value if changed is None else changed
    return value


def note_use() -> None:
    """From now on every call of a module looks at its own hooks."""
    if not used:
        used.append(True)


class ModuleAttributes:
    """The tables of a module, and attribute access that knows them."""

    call_super_init: bool = False

    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _non_persistent_buffers_set: set[str]
    _backward_pre_hooks: OrderedDict[int, Callable[..., Any]]
    _backward_hooks: OrderedDict[int, Callable[..., Any]]
    _is_full_backward_hook: bool | None
    _forward_hooks: OrderedDict[int, Callable[..., Any]]
    _forward_hooks_with_kwargs: OrderedDict[int, bool]
    _forward_hooks_always_called: OrderedDict[int, bool]
    _forward_pre_hooks: OrderedDict[int, Callable[..., Any]]
    _forward_pre_hooks_with_kwargs: OrderedDict[int, bool]
    _state_dict_hooks: OrderedDict[int, Callable[..., Any]]
    _state_dict_pre_hooks: OrderedDict[int, Callable[..., Any]]
    _load_state_dict_pre_hooks: OrderedDict[int, Callable[..., Any]]
    _load_state_dict_post_hooks: OrderedDict[int, Callable[..., Any]]
    _modules: dict[str, Any]  # of a Module or None, which says so itself

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if (args or kwargs) and not self.call_super_init:
            what = f"{len(args)} positional and {sorted(kwargs)} named"
            raise ArgumentTypeError(
                f"{type(self).__name__}.__init__", "the argument list",
                was=what, needed="empty",
                remedy="take the arguments in a subclass's __init__",
            )  # fmt: skip
        own = self.__dict__
        own["training"] = True
        own["_parameters"] = {}
        own["_buffers"] = {}
        own["_non_persistent_buffers_set"] = set()
        own["_backward_pre_hooks"] = HookTable()
        own["_backward_hooks"] = HookTable()
        own["_is_full_backward_hook"] = None
        for table in (*FORWARD_TABLES, *STATE_TABLES):
            own[table] = HookTable() if table in CALL_TABLES else OrderedDict()
        own["_modules"] = {}
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def __getstate__(self) -> dict[str, Any]:
        """What copies and pickles take along: all but a compiled call."""
        return {k: v for k, v in self.__dict__.items() if k != "_compiled_call"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore from a pickle; tables that an older one lacks are empty."""
        self.__dict__.update(state)
        self.__dict__.setdefault("_non_persistent_buffers_set", set())
        self.__dict__.setdefault("_is_full_backward_hook", None)
        for table in CALL_TABLES:
            self.__dict__[table] = HookTable(self.__dict__.get(table, ()))
        for table in (*FORWARD_TABLES, *STATE_TABLES):
            self.__dict__.setdefault(table, OrderedDict())

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        if "_parameters" in own and name in own["_parameters"]:
            return own["_parameters"][name]
        if "_modules" in own and name in own["_modules"]:
            return own["_modules"][name]
        if "_buffers" in own and name in own["_buffers"]:
            return own["_buffers"][name]
        hint = ""
        if "_modules" not in own:
            hint = f"; {type(self).__name__}.__init__ has not called super().__init__()"
        raise AttributeError(
            f"'{type(self).__name__}' object has no attribute '{name}'{hint}",
            name=name,
            obj=self,
        )

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        if isinstance(value, Parameter):
            self._require_tables("a parameter", name)
            self._forget(name, keep="_parameters")
            self.register_parameter(name, value)
        elif isinstance(value, ModuleAttributes):
            self._require_tables("a module", name)
            self._forget(name, keep="_modules")
            if held["module"]:
                value = as_held("module", self, name, value)
            own["_modules"][name] = value
        elif "_modules" not in own:
            object.__setattr__(self, name, value)
        elif isinstance(value, Tensor) and hasattr(value, "persistent"):
            self._forget(name, keep="_buffers")
            self.register_buffer(name, value, value.persistent)
        elif name in own["_parameters"]:
            self._require_none("parameter", name, value, "a Parameter")
            own["_parameters"][name] = None
        elif name in own["_modules"]:
            self._require_none("child module", name, value, "a Module")
            own["_modules"][name] = None
        elif name in own["_buffers"]:
            if not isinstance(value, Tensor):
                self._require_none("buffer", name, value, "a Tensor")
            own["_buffers"][name] = value
        else:
            if name in CALL_TABLES:
                note_use()
            object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        for table in ("_parameters", "_buffers", "_modules"):
            if name in self.__dict__.get(table, ()):
                del self.__dict__[table][name]
                self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        own = self.__dict__
        held = [*own["_parameters"], *own["_modules"], *own["_buffers"]]
        names = {*dir(type(self)), *own, *held}
        return sorted(name for name in names if not name[:1].isdigit())

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Hold `param` under `name`; None keeps the name free for one.

        Raises: NameClash for a name that is taken or holds a dot;
            ArgumentTypeError if `param` is no Parameter.
        """
        self._require_tables("a parameter", name)
        self._check_name("register_parameter", name, self._parameters)
        if param is not None and not isinstance(param, Parameter):
            raise ArgumentTypeError(
                f"{type(self).__name__}.register_parameter", repr(name),
                was=type(param).__name__, needed="a Parameter or None",
                remedy="wrap the tensor: nn.Parameter(tensor)",
            )  # fmt: skip
        if param is not None and not param.is_leaf:
            raise ArgumentTypeError(
                f"{type(self).__name__}.register_parameter", repr(name),
                was="the result of an operation", needed="a leaf",
                remedy="compute it in forward instead",
            )  # fmt: skip
        if held["parameter"] and param is not None:
            param = as_held("parameter", self, name, param)
        self._parameters[name] = param

    def register_buffer(
        self, name: str, tensor: Tensor | None, persistent: bool = True
    ) -> None:
        """Hold a tensor that is no parameter, such as a running mean.

        Args:
            name: the attribute it is reached by.
            tensor: the tensor, or None to keep the name free for one.
            persistent: whether it is part of the module's `state_dict`.
        """
        self._require_tables("a buffer", name)
        self._check_name("register_buffer", name, self._buffers)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise ArgumentTypeError(
                f"{type(self).__name__}.register_buffer", repr(name),
                was=type(tensor).__name__, needed="a Tensor or None",
            )  # fmt: skip
        if held["buffer"]:
            tensor = as_held("buffer", self, name, tensor)
        self._buffers[name] = tensor
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_module(self, name: str, module: Module | None) -> None:
        """The same as `add_module`."""
        self.add_module(name, module)

    def add_module(self, name: str, module: Module | None) -> None:
        """Hold a child module under `name`."""
        if module is not None and not isinstance(module, ModuleAttributes):
            raise ArgumentTypeError(
                f"{type(self).__name__}.add_module", repr(name),
                was=type(module).__name__, needed="a Module or None",
            )  # fmt: skip
        self._check_name("add_module", name, self._modules)
        if held["module"]:
            module = as_held("module", self, name, module)
        self._modules[name] = module

    def _check_name(self, op: str, name: str, table: dict[str, Any]) -> None:
        op = f"{type(self).__name__}.{op}"
        if not isinstance(name, str):
            raise ArgumentTypeError(
                op, "name", was=type(name).__name__, needed="a string"
            )
        if hasattr(self, name) and name not in table:
            raise NameClash(op, "name", was=f"{name!r}, which is an attribute already")
        if "." in name or name == "":
            raise NameClash(
                op, "name", was=repr(name), needed="a name that has no dot in it"
            )

    def _require_tables(self, what: str, name: str) -> None:
        if "_modules" not in self.__dict__:
            raise NotInitialised(
                type(self).__name__, None, was=f"{what} is assigned to {name!r} before "
                "the module has its tables", remedy="call super().__init__() first",
            )  # fmt: skip

    def _require_none(self, kind: str, name: str, value: object, wanted: str) -> None:
        if value is not None:
            raise ArgumentTypeError(
                type(self).__name__, f"{kind} '{name}'", was=type(value).__name__,
                needed=f"{wanted} or None",
                remedy=f"del module.{name} first to hold something else there",
            )  # fmt: skip

    def _forget(self, name: str, keep: str) -> None:
        """Take `name` out of every table but one, and out of the attributes."""
        own = self.__dict__
        own.pop(name, None)
        for table in ("_parameters", "_buffers", "_modules"):
            if table != keep:
                own[table].pop(name, None)
        if keep != "_buffers":
            own["_non_persistent_buffers_set"].discard(name)
