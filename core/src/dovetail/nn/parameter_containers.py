"""Containers of parameters, by position or by name."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self

from dovetail.engine.tensor import Parameter, Tensor
from dovetail.errors import ArgumentTypeError, IndexOutOfRange

from .module import Module


def _as_parameter(value: Any) -> Any:
    """A tensor as a parameter; everything else as it is."""
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        return Parameter(value)
    return value


def _described(name: object, value: Any) -> str:
    if not isinstance(value, Tensor):
        return f"  ({name}): Object of type: {type(value).__name__}"
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    size = "x".join(map(str, value.shape))
    where = "" if value.device.type == "cpu" else f" ({value.device})"
    return f"  ({name}): {kind} containing: [{value.dtype} of size {size}{where}]"


class ParameterList(Module):
    """A list of parameters; tensors become parameters, other values are kept.

    Args:
        values: what it holds first.

    Examples:
        self.scales = nn.ParameterList([torch.ones(3) for _ in range(4)])
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def _get_abs_string_index(self, index: int) -> str:
        """The name at a position; derived classes ask for it by this name."""
        position = operator.index(index)
        if not -self._size <= position < self._size:
            raise IndexOutOfRange(
                "ParameterList", "index", was=position,
                needed=f"-{self._size} to {self._size - 1}" if self._size else "none",
            )  # fmt: skip
        return str(position % self._size)

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            chosen = range(self._size)[index]
            return type(self)(getattr(self, str(i)) for i in chosen)
        return getattr(self, self._get_abs_string_index(index))

    def __setitem__(self, index: int, value: Any) -> None:
        setattr(self, self._get_abs_string_index(index), _as_parameter(value))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return (getattr(self, str(i)) for i in range(self._size))

    def __iadd__(self, values: Iterable[Any]) -> Self:
        return self.extend(values)

    def append(self, value: Any) -> Self:
        """Add a value at the end."""
        self._size += 1
        self[-1] = value
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Add values at the end, in order."""
        if isinstance(values, Tensor) or not isinstance(values, Iterable):
            raise ArgumentTypeError(
                "ParameterList.extend", "values", was=type(values).__name__,
                needed="an iterable of parameters that is not a tensor",
            )  # fmt: skip
        for value in list(values):
            self.append(value)
        return self

    def extra_repr(self) -> str:
        return "\n".join(_described(i, value) for i, value in enumerate(self))


class ParameterDict(Module):
    """Parameters by name, in order; tensors become parameters, as in a list.

    Args:
        parameters: a mapping, or pairs of names and values.
    """

    def __init__(self, parameters: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key: str) -> Any:
        if key not in self._keys:
            raise KeyError(key)
        return getattr(self, key)

    def __setitem__(self, key: str, value: Any) -> None:
        if not isinstance(key, str):
            raise ArgumentTypeError(
                "ParameterDict", "key", was=repr(key), needed="a string"
            )
        setattr(self, key, _as_parameter(value))
        self._keys[key] = None

    def __delitem__(self, key: str) -> None:
        if key not in self._keys:
            raise KeyError(key)
        del self._keys[key]
        delattr(self, key)

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._keys)

    def __or__(self, other: Mapping[str, Any]) -> ParameterDict:
        return self.copy().__ior__(other)

    def __ior__(self, other: Mapping[str, Any]) -> ParameterDict:
        self.update(other)
        return self

    def keys(self) -> Iterable[str]:
        return self._keys.keys()

    def values(self) -> Iterable[Any]:
        return [self[key] for key in self._keys]

    def items(self) -> Iterable[tuple[str, Any]]:
        return [(key, self[key]) for key in self._keys]

    def get(self, key: str, default: Any = None) -> Any:
        """The value of that name, or `default`."""
        return self[key] if key in self._keys else default

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The value of that name, which becomes `default` if there was none."""
        if key not in self:
            self[key] = default
        return self[key]

    def pop(self, key: str) -> Any:
        """Take the value of that name out and return it."""
        found = self[key]
        del self[key]
        return found

    def popitem(self) -> tuple[str, Any]:
        """Take the last name and value out and return them."""
        key = next(reversed(self._keys))
        return key, self.pop(key)

    def clear(self) -> None:
        """Take every value out."""
        for key in list(self._keys):
            del self[key]

    def copy(self) -> ParameterDict:
        """A new dict that holds the same parameters."""
        return ParameterDict(list(self.items()))

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """A new dict with `default` under every one of `keys`."""
        return ParameterDict([(key, default) for key in keys])

    def update(self, parameters: Any) -> None:
        """Add or replace values from a mapping, or pairs of names and values."""
        if not hasattr(parameters, "__iter__"):
            raise ArgumentTypeError(
                "ParameterDict.update", "parameters",
                was=f"a {type(parameters).__name__}", needed="a mapping or pairs",
            )  # fmt: skip
        is_mapping = isinstance(parameters, Mapping | ParameterDict)
        for pair in parameters.items() if is_mapping else parameters:
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise ArgumentTypeError(
                    "ParameterDict.update", "parameters",
                    was=f"a collection with {type(pair).__name__}",
                    needed="a mapping or pairs of name and value",
                )  # fmt: skip
            self[pair[0]] = pair[1]

    def extra_repr(self) -> str:
        return "\n".join(_described(key, value) for key, value in self.items())
