"""The arguments of layers that say where, and of what, their parameters are made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from dovetail.errors import ArgumentTypeError

_NAMES: Final = ("device", "dtype", "memory_format")


def factory_kwargs(kwargs: Mapping[str, Any] | None) -> dict[str, Any]:
    """The arguments that a layer hands on to functions such as `empty`.

    Args:
        kwargs: `device`, `dtype` and `memory_format`, each by itself or in a dict under
            the name `factory_kwargs`.

    Raises: ArgumentTypeError for any other name, and for one that is given twice.

    Examples:
        >>> torch.nn.factory_kwargs({"factory_kwargs": {"device": "cpu"}})
        {'device': 'cpu'}
    """
    given = {} if kwargs is None else dict(kwargs)
    found = dict(given.pop("factory_kwargs", {}))
    for name, value in given.items():
        if name not in _NAMES or name in found:
            raise ArgumentTypeError(
                "factory_kwargs", name, was="given twice" if name in found else
                "unexpected", needed=f"{', '.join(_NAMES)}, each once",
            )  # fmt: skip
        found[name] = value
    return found
