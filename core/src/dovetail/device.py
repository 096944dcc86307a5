"""Device strings: a value type that names hardware and loads nothing."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from dovetail.errors import ArgumentTypeError, DeviceError

# `chaos:` in front of a type is part of it: what wraps a device is a type of its own.
_PATTERN: Final = re.compile(r"((?:chaos:)?[a-z][a-z0-9_]*)(?::(0|[1-9][0-9]*))?")
# A typical priority for "auto"; third parties' devices come right before the CPU.
PREFERENCE: Final = ("cuda", "rocm", "xpu")
# Finds the device for "auto" and priority lists; the registry, above, enters it here.
chooser: Final[list[Callable[[str], tuple[str, int | None]]]] = []


class device:
    """A device type with an optional index: `device("cuda:1")`, `device("cpu")`.

    `device("cuda")` means the current device of that type and differs from
    `device("cuda:0")`; which one it is, is resolved when a tensor is made. `"auto"` and
    priority lists such as `"cuda,xpu,cpu"` are resolved at once. `"chaos:acme:1"` has
    the type `"chaos:acme"` and the index 1.

    Examples:
        >>> import dovetail as torch
        >>> torch.device("cuda:1").index
        1
        >>> torch.zeros(2, device=torch.device("cpu")).device
        device(type='cpu')
    """

    __slots__ = ("index", "type")
    type: str
    index: int | None

    def __init__(self, type: str | device, index: int | None = None) -> None:
        if isinstance(type, device):
            name, number = type.type, type.index if index is None else index
        elif isinstance(type, str):
            name, number = _parse(type, index)
        else:
            raise ArgumentTypeError(
                "device", "type", was=repr(type), needed='a string such as "cuda:0"'
            )
        object.__setattr__(self, "type", name)
        object.__setattr__(self, "index", number)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"device: {name} cannot be changed; make a new device")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, device):
            return NotImplemented
        return self.type == other.type and self.index == other.index

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        index = "" if self.index is None else f", index={self.index}"
        return f"device(type={self.type!r}{index})"

    def __reduce__(self) -> tuple[Any, ...]:
        return device, (str(self),)


def _parse(text: str, index: int | None) -> tuple[str, int | None]:
    if index is not None and type(index) is not int:
        raise ArgumentTypeError(
            "device", "index", was=repr(index), needed="an integer, or none"
        )
    if index is None and (text == "auto" or "," in text):
        return chooser[0](text)
    match = _PATTERN.fullmatch(text)
    if match is None:
        raise DeviceError(
            "device", "type", was=repr(text), needed='"type" or "type:index"',
            remedy='for example "cpu", "cuda:0", "auto" or "cuda,xpu,cpu"',
        )  # fmt: skip
    if match[2] is not None:
        if index is not None:
            raise DeviceError(
                "device", "index", was=f"given twice, in {text!r} and as {index}",
                needed="one index",
            )  # fmt: skip
        index = int(match[2])
    if index is not None and index < 0:
        raise DeviceError("device", "index", was=index, needed="0 or more")
    return match[1], index


def named(type: str, index: int) -> device:
    """A device as tensors name theirs, and torch: there is one CPU, and one meta."""
    return device(type, None if type in ("cpu", "meta") else index)


def candidates(text: str) -> list[str]:
    """The device strings of a priority list such as `"cuda,xpu,cpu"`."""
    return [part.strip() for part in text.split(",")]
