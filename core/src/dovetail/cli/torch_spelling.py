"""How dtypes, shapes and classes call themselves where `torch` means dovetail.

Programs read such texts: they split `str(x.dtype)`, take `f"{x.shape}"` as a key, and
ask whether `type(x).__module__` begins with torch. What they pickle still has
dovetail's names in it, so that it can be read where torch is not dovetail.
"""

from __future__ import annotations

import copyreg
import sys
from collections.abc import Callable
from typing import Any, Final

from dovetail.device import device
from dovetail.dtypes import DType
from dovetail.engine import return_types
from dovetail.engine.tape import Node
from dovetail.engine.tensor import Parameter, Tensor
from dovetail.engine.tensor_type import Size, TensorType
from dovetail.memory_formats import layout, memory_format

# The classes that torch has elsewhere, or by another name. Layers and optimizers are
# not among them: a pickle names the classes of what is in it.
_NAMES: Final[dict[type, tuple[str, str]]] = {
    Tensor: ("torch", "Tensor"), Parameter: ("torch.nn.parameter", "Parameter"),
    Size: ("torch", "Size"), DType: ("torch", "dtype"), device: ("torch", "device"),
    layout: ("torch", "layout"), memory_format: ("torch", "memory_format"),
}  # fmt: skip
_HOMES: Final = {c: (c.__module__, c.__qualname__) for c in _NAMES}


def install() -> None:
    """From now on, texts have torch's names in this process."""
    for named in (DType, layout, memory_format):
        _show(named, lambda self: f"torch.{self.name}")
    _show(Size, lambda self: f"torch.Size({list(self)})")
    _show(Node, lambda self: f"<{self.name()} object at {id(self):#x}>")
    return_types.shown[0] = "torch"
    Tensor._make_subclass = classmethod(_of_class)  # type: ignore[attr-defined]
    copyreg.pickle(TensorType, _class)
    copyreg.pickle(Size, lambda self: (made, (*_HOMES[Size], tuple(self))))
    copyreg.pickle(device, lambda self: (made, (*_HOMES[device], str(self))))
    for cls, (module, name) in _NAMES.items():
        cls.__module__, cls.__qualname__, cls.__name__ = module, name, name


def _show(cls: Any, shown: Callable[[Any], str]) -> None:
    cls.__repr__ = shown


def _of_class(_tensor: type, cls: Any, data: Tensor, require_grad: bool = False) -> Any:
    """A tensor of a subclass over the memory of another, by torch's private name."""
    if issubclass(cls, Parameter):
        return Parameter.__new__(cls, data, require_grad)
    made = data.detach().as_subclass(cls)
    return made.requires_grad_() if require_grad else made


def _class(cls: type) -> str | tuple[Any, ...]:
    """How a class of tensors is pickled: ours by the module of ours that has it."""
    return (found, _HOMES[cls]) if cls in _HOMES else cls.__qualname__


def found(module: str, name: str) -> Any:
    """What a pickle names by a module that it has imported."""
    __import__(module)
    return getattr(sys.modules[module], name)


def made(module: str, name: str, *args: Any) -> Any:
    """What a pickled call of a class gives."""
    return found(module, name)(*args)
