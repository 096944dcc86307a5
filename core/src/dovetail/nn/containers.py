"""Containers: modules that hold others, or parameters, by position or by name."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any, Self, overload

from dovetail.errors import ArgumentError, ArgumentTypeError, IndexOutOfRange

from .module import Module
from .module.module import bracketed, indented

ModuleTable = dict[str, Module]


class Container(Module):
    """A module with children by names, which runs none of them; older programs' way.

    Args:
        kwargs: the children.
    """

    def __init__(self, **kwargs: Module) -> None:
        super().__init__()
        for name, child in kwargs.items():
            self.add_module(name, child)


class _Listed(Module):
    """Children under the names `"0"`, `"1"`, … and the verbs of a list."""

    _modules: ModuleTable  # type: ignore[assignment]

    def _get_abs_string_index(self, index: int) -> str:
        """The name of the child at a position that may count from the end.

        Under torch's name, by which derived classes ask for it.
        """
        position = operator.index(index)
        size = len(self._modules)
        if not -size <= position < size:
            raise IndexOutOfRange(
                type(self).__name__, "index", was=position,
                needed=f"-{size} to {size - 1}" if size else "nothing: it is empty",
            )  # fmt: skip
        return list(self._modules)[position]

    @overload
    def __getitem__(self, index: int) -> Module: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: int | slice) -> Module | Self:
        if isinstance(index, slice):
            return self._of(list(self._modules.items())[index])
        return self._modules[self._get_abs_string_index(index)]

    def _of(self, items: list[tuple[str, Module]]) -> Self:
        """A container of the same class with a part of the children."""
        raise NotImplementedError

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, self._get_abs_string_index(index), module)

    def __delitem__(self, index: int | slice) -> None:
        if isinstance(index, slice):
            doomed = set(list(self._modules)[index])
        else:
            doomed = {self._get_abs_string_index(index)}
        self._renumber(m for name, m in self._modules.items() if name not in doomed)

    def _renumber(self, modules: Iterable[Module]) -> None:
        self._modules = {str(i): module for i, module in enumerate(modules)}

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def append(self, module: Module) -> Self:
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Self:
        """Add modules at the end, in order."""
        if not isinstance(modules, Iterable):
            raise ArgumentTypeError(
                f"{type(self).__name__}.extend", "modules",
                was=type(modules).__name__, needed="an iterable of modules",
            )  # fmt: skip
        for module in list(modules):
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> Self:
        """Put a module before the one at `index`, as `list.insert` does."""
        if not isinstance(module, Module):
            raise ArgumentTypeError(
                f"{type(self).__name__}.insert", "module",
                was=type(module).__name__, needed="a Module",
            )  # fmt: skip
        modules = list(self._modules.values())
        modules.insert(index, module)
        self._renumber(modules)
        return self

    def pop(self, key: int | slice) -> Module | Self:
        """Take a module out and return it."""
        found = self[key]
        del self[key]
        return found

    def __iadd__(self, other: Iterable[Module]) -> Self:
        return self.extend(other)


class Sequential(_Listed):
    """Modules called one after another, each with the result of the one before.

    Args:
        args: the modules, or one ordered dict of names and modules.

    Examples:
        >>> import dovetail as torch
        >>> from dovetail import nn
        >>> net = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
        >>> net(torch.randn(5, 64)).shape
        dovetail.Size([5, 10])
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            for i, module in enumerate(args):
                self.add_module(str(i), module)

    def forward(self, input: Any) -> Any:
        for module in self._modules.values():
            input = module(input)
        return input

    def _of(self, items: list[tuple[str, Module]]) -> Self:
        return type(self)(OrderedDict(items))

    def insert(self, index: int, module: Module) -> Self:
        """Put a module before the one at `index`, or at the end."""
        if not -len(self) <= index <= len(self):
            raise IndexOutOfRange(
                "Sequential.insert", "index", was=index,
                needed=f"-{len(self)} to {len(self)}",
            )  # fmt: skip
        return super().insert(index, module)

    def __add__(self, other: Sequential) -> Sequential:
        if not isinstance(other, Sequential):
            raise ArgumentTypeError(
                "Sequential.__add__", "other", was=type(other).__name__,
                needed="a Sequential",
            )  # fmt: skip
        return Sequential(*self, *other)

    def __mul__(self, times: int) -> Sequential:
        if times <= 0:
            raise ArgumentError(
                "Sequential.__mul__", "times", was=repr(times), needed="a positive int"
            )
        return Sequential(*[module for _ in range(times) for module in self])

    __rmul__ = __mul__

    def __imul__(self, times: int) -> Self:
        self._renumber(self * times)
        return self


class ModuleList(_Listed):
    """A list of modules that are registered as children.

    Args:
        modules: what it holds first.

    Examples:
        >>> layers = nn.ModuleList([nn.Linear(4, 8), nn.Linear(8, 2)])
        >>> len(layers), len(list(layers.parameters()))
        (2, 4)
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def _of(self, items: list[tuple[str, Module]]) -> Self:
        return type(self)([module for _, module in items])

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList([*self, *other])

    def __repr__(self) -> str:
        """Like other modules', with equal neighbours on one line: `(0-3): 4 x …`."""
        lines = []
        first = 0
        for text, group in groupby(map(repr, self)):
            count = len(list(group))
            last = first + count - 1
            label = f"({first}): " if count == 1 else f"({first}-{last}): {count} x "
            lines.append(label + indented(text))
            first = last + 1
        return bracketed(self._get_name(), [], lines)


class ModuleDict(Module):
    """Modules by name, in order, registered as children.

    Args:
        modules: a mapping or pairs of names and modules it holds first.

    Examples:
        >>> heads = nn.ModuleDict({"a": nn.Linear(4, 2), "b": nn.Linear(4, 3)})
        >>> heads["b"](torch.ones(1, 4)).shape
        dovetail.Size([1, 3])
    """

    _modules: ModuleTable  # type: ignore[assignment]

    def __init__(self, modules: Iterable[Any] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Module:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: object) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Take every module out."""
        self._modules.clear()

    def pop(self, key: str) -> Module:
        """Take the module of that name out and return it."""
        return self._modules.pop(key)

    def keys(self) -> Iterable[str]:
        return self._modules.keys()

    def items(self) -> Iterable[tuple[str, Module]]:
        return self._modules.items()

    def values(self) -> Iterable[Module]:
        return self._modules.values()

    def update(self, modules: Any) -> None:
        """Add or replace modules from a mapping or pairs of names and modules."""
        if not hasattr(modules, "__iter__"):
            raise ArgumentTypeError(
                "ModuleDict.update", "modules", was=f"a {type(modules).__name__}",
                needed="a mapping or pairs",
            )  # fmt: skip
        named_items = isinstance(modules, Mapping | ModuleDict)
        for pair in modules.items() if named_items else modules:
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise ArgumentTypeError(
                    "ModuleDict.update", "modules", was=f"a collection with {pair!r}",
                    needed="a mapping or pairs of name and module",
                )  # fmt: skip
            self[pair[0]] = pair[1]
