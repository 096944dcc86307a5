"""Parameters that are computed from others, which are the ones that are trained."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any, Final

from dovetail.engine.modes import no_grad
from dovetail.engine.tensor import Parameter, Tensor
from dovetail.errors import ArgumentError, NotSupported

from ..containers import ModuleDict, ModuleList
from ..module import Module

_values: Final[ContextVar[dict[tuple[int, str], Tensor] | None]] = ContextVar(
    "parametrized", default=None
)


@contextmanager
def cached() -> Iterator[None]:
    """Compute each parametrised tensor once, as long as the context is open."""
    if _values.get() is not None:
        yield
        return
    token = _values.set({})
    try:
        yield
    finally:
        _values.reset(token)


class ParametrizationList(ModuleList):
    """The parametrisations of one tensor, and what they compute it from.

    Args:
        modules: the parametrisations, in the order in which they are applied.
        original: the tensor.
        unsafe: whether shape and dtype may change.

    Attributes:
        original: what the first one takes; original0, original1, … of several.
    """

    original: Tensor

    def __init__(
        self, modules: Sequence[Module], original: Tensor, unsafe: bool = False
    ) -> None:
        if not modules:
            raise ArgumentError(
                "ParametrizationList", "modules", was="empty", needed="one or more"
            )
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = tuple(original.shape), original.dtype
        with no_grad():
            found: Any = original
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    with suppress(NotImplementedError):  # then it begins elsewhere
                        found = module.right_inverse(found)
        self.is_tensor = isinstance(found, Tensor)
        if not self.is_tensor and not isinstance(found, Sequence):
            raise ArgumentError(
                "ParametrizationList", "right_inverse", was=type(found).__name__,
                needed="a tensor, or a sequence of them",
            )  # fmt: skip
        self.ntensors = 1 if self.is_tensor else len(found)
        if self.is_tensor:
            _check_kind(original, found)
            if found is not original:
                original.data = found.detach().clone()
            _register(self, "original", original)
        else:
            for i, part in enumerate(found):
                own = part.detach().clone()
                if isinstance(original, Parameter):
                    own = Parameter(own, original.requires_grad)
                _register(self, f"original{i}", own)
        if not unsafe:
            _check_same(self(), shape, dtype)

    def _originals(self) -> list[Tensor]:
        if self.is_tensor:
            return [self.original]
        return [getattr(self, f"original{i}") for i in range(self.ntensors)]

    def right_inverse(self, value: Tensor) -> None:
        """Have the tensor be `value`, by what the parametrisations make of it."""
        with no_grad():
            found: Any = value
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise NotSupported(
                        type(module).__name__, "right_inverse", was="not there",
                        needed="to assign to a parametrised tensor",
                    )  # fmt: skip
                found = module.right_inverse(found)
            parts = [found] if self.is_tensor else list(found)
            for own, part in zip(self._originals(), parts, strict=True):
                _check_kind(own, part)
                own.data = part.detach().clone()

    def forward(self) -> Any:
        modules = list(self)
        y = modules[0](*self._originals())
        for module in modules[1:]:
            y = module(y)
        return y


def _check_same(y: Any, shape: tuple[int, ...], dtype: Any) -> None:
    """Raise for a result that is no tensor of that shape and dtype."""
    if not isinstance(y, Tensor):
        raise ArgumentError(
            "register_parametrization", "parametrization",
            was=f"a function that returns a {type(y).__name__}", needed="a tensor",
        )  # fmt: skip
    if tuple(y.shape) != shape or y.dtype is not dtype:
        raise ArgumentError(
            "register_parametrization", "parametrization",
            was=f"giving {tuple(y.shape)} {y.dtype.name}",
            needed=f"{shape} {dtype.name}, as the tensor has",
            remedy="unsafe=True, if that is meant",
        )  # fmt: skip


def _check_kind(own: Tensor, found: Tensor) -> None:
    for name in ("dtype", "device"):
        if getattr(own, name) != getattr(found, name):
            raise ArgumentError(
                "register_parametrization", "right_inverse",
                was=f"of {name} {getattr(found, name)}",
                needed=f"{getattr(own, name)}, as the tensor has",
            )  # fmt: skip


def _register(module: Module, name: str, tensor: Tensor) -> None:
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def _own_class(module: Module) -> None:
    """Give a module a class of its own, to which properties can be added."""
    cls = type(module)

    def copied(self: Any, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            made: Any = object.__new__(type(self))
            memo[id(self)] = made
            made.__dict__ = copy.deepcopy(self.__dict__, memo)
        return memo[id(self)]

    def refuse(self: Any) -> Any:
        raise NotSupported(
            type(self).__name__, "the module", was="pickled with parametrisations",
            needed="its state_dict()",
        )  # fmt: skip

    own = {"__reduce_ex__": lambda self, _: refuse(self), "__deepcopy__": copied}
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), own)


def _add_property(module: Module, name: str) -> None:
    def get(self: Any) -> Any:
        parametrization = self.parametrizations[name]
        known = _values.get()
        if known is None:
            return parametrization()
        key = (id(self), name)
        if key not in known:
            known[key] = parametrization()
        return known[key]

    def put(self: Any, value: Tensor) -> None:
        self.parametrizations[name].right_inverse(value)

    setattr(type(module), name, property(get, put))


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Have a tensor of a module computed by a parametrisation.

    The tensor becomes `module.parametrizations[tensor_name].original`, and is computed
    of that whenever it is asked for.

    Args:
        parametrization: a module that takes and returns a tensor; `right_inverse`, if
            it has that, gives what to start from.
        unsafe: whether shape and dtype may change.

    Examples:
        >>> class Symmetric(nn.Module):
        ...     def forward(self, x):
        ...         return x.triu() + x.triu(1).mT
        >>> layer = nn.Linear(3, 3)
        >>> _ = nn.utils.parametrize.register_parametrization(
        ...     layer, "weight", Symmetric()
        ... )
        >>> torch.equal(layer.weight, layer.weight.T)
        True
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        held: Any = module.parametrizations
        added: ParametrizationList = held[tensor_name]
        if not unsafe:
            y = getattr(module, tensor_name)
            _check_same(parametrization(y), tuple(y.shape), y.dtype)
        added.append(parametrization)
        return module
    own = {**module._parameters, **module._buffers}
    if own.get(tensor_name) is None:
        raise ArgumentError(
            "register_parametrization", "tensor_name", was=repr(tensor_name),
            needed=f"a parameter or buffer of the {type(module).__name__}",
        )  # fmt: skip
    original = own[tensor_name]
    assert original is not None
    made = ParametrizationList([parametrization], original, unsafe)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        _own_class(module)
        module.parametrizations = ModuleDict()
    _add_property(module, tensor_name)
    held = module.parametrizations
    held[tensor_name] = made
    return module


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a module has parametrisations, of that tensor if one is named."""
    held = getattr(module, "parametrizations", None)
    if not isinstance(held, ModuleDict):
        return False
    return len(held) > 0 if tensor_name is None else tensor_name in held


def remove_parametrizations(
    module: Module, tensor_name: str, leave_parametrized: bool = True
) -> Module:
    """Have a tensor be an ordinary one again.

    Args:
        leave_parametrized: whether it keeps the value computed, not the original.
    """
    if not is_parametrized(module, tensor_name):
        raise ArgumentError(
            "remove_parametrizations", "tensor_name", was=repr(tensor_name),
            needed="a tensor with parametrisations",
        )  # fmt: skip
    table: Any = module.parametrizations
    held: ParametrizationList = table[tensor_name]
    if not leave_parametrized and not held.is_tensor:
        raise ArgumentError(
            "remove_parametrizations", "leave_parametrized", was="False, of "
            f"{held.ntensors} originals", needed="True",
        )  # fmt: skip
    if held.is_tensor:
        tensor = held.original
        if leave_parametrized:
            with no_grad():
                tensor.data = getattr(module, tensor_name).detach().clone()
    else:
        tensor = getattr(module, tensor_name).detach().clone()
        if held.original0.requires_grad:
            tensor = Parameter(tensor)
    delattr(type(module), tensor_name)
    del table[tensor_name]
    if not len(table):
        delattr(module, "parametrizations")
        module.__class__ = type(module).__bases__[0]
    _register(module, tensor_name, tensor)
    return module


def type_before_parametrizations(module: Module) -> type:
    """The class of a module as it was before it was parametrised."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Give a module copies of the parametrisations and originals of another one."""
    if not is_parametrized(from_module):
        return to_module
    table: Any = from_module.parametrizations
    for name in list(table) if tensor_name is None else [tensor_name]:
        if not hasattr(to_module, name):
            _register(to_module, name, getattr(from_module, name).detach().clone())
        for parametrization in table[name]:
            register_parametrization(
                to_module, name, copy.deepcopy(parametrization), unsafe=True
            )
        other: Any = to_module.parametrizations
        for own, given in zip(
            other[name]._originals(), table[name]._originals(), strict=True
        ):
            own.data = given.detach().clone()
    return to_module
