"""The Python array API standard, version 2024.12: some results are lists."""

from typing import Any

from dovetail import array_api as _newer
from dovetail.array_api.info import Info as _Info

globals().update(
    {name: value for name, value in vars(_newer).items() if not name.startswith("_")}
)

__array_api_version__ = "2024.12"


def __array_namespace_info__() -> _Info:  # noqa: N807 (the standard's name)
    """What this namespace can do."""
    return _Info(list)


def broadcast_arrays(*arrays: Any) -> list[Any]:
    """Arrays stretched to one shape."""
    return list(_newer.broadcast_arrays(*arrays))


def meshgrid(*arrays: Any, indexing: Any = "xy") -> list[Any]:
    """The coordinates of a grid, one array for each dim."""
    return list(_newer.meshgrid(*arrays, indexing=indexing))
