"""What other libraries ask of an array: its namespace, its device, how it is shown."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from dovetail.engine.tensor import Tensor, extend
from dovetail.errors import ArgumentError, ArgumentTypeError
from dovetail.frontend.creation import DeviceLike

# The module of each version of the Python array API standard.
_VERSIONS: Final = {
    "2025.12": "dovetail.array_api",
    "2024.12": "dovetail.array_api.v2024_12",
}


def _array_namespace(self: Tensor, *, api_version: str | None = None) -> Any:
    """The functions of the Python array API standard: `dovetail.array_api`.

    Raises: ArgumentError for a version that is not there.
    """
    if api_version is not None and api_version not in _VERSIONS:
        raise ArgumentError(
            "__array_namespace__", "api_version", was=repr(api_version),
            needed=f"one of {', '.join(_VERSIONS)}",
        )  # fmt: skip
    return import_module(_VERSIONS[api_version or "2025.12"])


def _to_device(self: Tensor, device: DeviceLike, /, *, stream: Any = None) -> Tensor:
    """This tensor on another device, by the standard's name for `to`."""
    if stream is not None:
        raise ArgumentError(
            "to_device", "stream", was=repr(stream), needed="None",
            remedy="make the stream current and use to()",
        )  # fmt: skip
    moved: Tensor = self.to(device)
    return moved


def _repr_html(self: Tensor) -> str:
    """For notebooks: the values, then shape, dtype and device."""
    from html import escape  # 1 ms, which programs without notebooks need not spend

    facts = " × ".join(map(str, self.shape)) or "0-d"
    return (
        f"<pre>{escape(repr(self))}</pre>"
        f"<small>{facts} · {self.dtype.name} · {self.device}</small>"
    )


def _buffer(self: Tensor, flags: int, /) -> memoryview:
    """The memory of a tensor on the host, for `memoryview` (Python 3.12, PEP 688)."""
    values: Any = self.numpy()
    return memoryview(values)


def _array_function(
    self: Tensor, function: Any, types: Any, args: tuple[Any, ...], kwargs: Any
) -> Any:
    """NumPy's functions: through tensors' methods where those take what NumPy gives
    them, else on the values, as arrays.

    Raises: AutogradError where a gradient would be lost.
    """
    try:
        return function._implementation(*args, **kwargs)
    except ArgumentTypeError:
        return function(
            *map(_values, args), **{k: _values(v) for k, v in kwargs.items()}
        )


def _values(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.numpy()
    if type(value) in (list, tuple):
        return type(value)(map(_values, value))
    return value


extend(_repr_html_=_repr_html, __array_function__=_array_function, __buffer__=_buffer)
extend(__array_namespace__=_array_namespace, to_device=_to_device)
