"""What loads when it is first asked for: families of ops, and torch's names for them.

An import has to stay light, and most programs need no linear algebra. So a module may
be announced with the ops, functions and methods that it declares; whoever asks for one
of them has it loaded.

    later("dovetail.frontend.fourier", ops="fft_complex", methods="stft")
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from dovetail.codegen.declarations import on_more
from dovetail.device_api.kernels import KNOWN_OPS
from dovetail.engine.declare import close
from dovetail.engine.op import vocabulary
from dovetail.engine.tensor import Tensor

# The modules of what is not loaded yet, by the names of functions of the package.
FUNCTIONS: Final[dict[str, str]] = {}


def later(
    module: str, *, ops: str = "", functions: str = "", methods: str = ""
) -> None:
    """Announce a module by the names of what it declares.

    Args:
        ops: of the vocabulary, for which backends may register kernels before.
        functions: of the package, beside the rooms that import the module themselves.
        methods: of Tensor.
    """
    names = ops.split()
    KNOWN_OPS.update(names)
    vocabulary.unloaded[module] = frozenset(names)
    FUNCTIONS.update(dict.fromkeys(functions.split(), module))
    for name in methods.split():
        setattr(Tensor, name, LaterMethod(module, name))


def load(module: str) -> None:
    """Import an announced module, whose declarations are whole then."""
    import_module(module)
    declared = vocabulary.unloaded.pop(module, frozenset[str]())
    close()
    if declared:
        for listener in on_more:
            listener(declared)


class LaterMethod:
    """A method of Tensor that loads what puts the real one in its place."""

    __slots__ = ("module", "name")

    def __init__(self, module: str, name: str) -> None:
        self.module = module
        self.name = name

    def __get__(self, instance: Tensor | None, owner: type[Tensor]) -> Any:
        load(self.module)
        if vars(Tensor)[self.name] is self:
            raise AttributeError(f"{self.module} declares no Tensor.{self.name}")
        return getattr(owner if instance is None else instance, self.name)


vocabulary.load = load
