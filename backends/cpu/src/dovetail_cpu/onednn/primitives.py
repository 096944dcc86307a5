"""Descriptions of arrays, and primitives, made once and used by many lanes."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from enum import IntEnum
from functools import cache
from typing import Any, Final

from dovetail.errors import NotSupported
from dovetail.xp.windows import Windows
from dovetail_cpu.onednn.library import library

Sizes = Sequence[int]

_DTYPES: Final = {"bfloat16": 2, "float32": 3}
_ANY: Final = 1  # a format that the primitive chooses
_MOST_DIMS: Final = 12
_USER_SCRATCHPAD: Final = 1  # with its own one, a primitive serves one thread at a time
_NAME_OF: Final = 8
_SCRATCHPAD_OF: Final = 136


class Argument(IntEnum):
    """What an array is to a primitive."""

    SOURCE = 1
    RESULT = 17
    WEIGHT = 33
    BIAS = 41
    MEAN = 49
    VARIANCE = 50
    SCALE = 51
    SHIFT = 52
    WORKSPACE = 64
    SCRATCHPAD = 80
    SOURCE_GRADIENT = 129
    RESULT_GRADIENT = 145
    WEIGHT_GRADIENT = 161
    BIAS_GRADIENT = 169
    SCALE_GRADIENT = 255
    SHIFT_GRADIENT = 256


# By which number a primitive's description gives the format of an argument.
_QUERIES: Final = {
    Argument.SOURCE: 129, Argument.SOURCE_GRADIENT: 130,
    Argument.WEIGHT: 131, Argument.WEIGHT_GRADIENT: 132,
    Argument.RESULT: 133, Argument.RESULT_GRADIENT: 134,
    Argument.WORKSPACE: 135, Argument.SCRATCHPAD: _SCRATCHPAD_OF,
}  # fmt: skip


class Handle:
    """Something of oneDNN's, given back when the last one lets go of it.

    Args:
        value: its address.
        destroy: the function that gives it back.
    """

    __slots__ = ("_destroy", "value")

    def __init__(self, value: int, destroy: str) -> None:
        self.value, self._destroy = value, destroy

    def __del__(self) -> None:
        library().get(self._destroy, self.value)


class Format:
    """How an array lies: sizes, dtype, and strides or blocks.

    Args:
        value: the address of oneDNN's description.
        owner: what keeps that.
    """

    __slots__ = ("owner", "value")

    def __init__(self, value: int, owner: object) -> None:
        self.value, self.owner = value, owner

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Format):
            return NotImplemented
        return bool(library().get("memory_desc_equal", self.value, other.value))

    __hash__ = None  # type: ignore[assignment]

    @property
    def nbytes(self) -> int:
        """How much memory such an array takes; 0 for none at all."""
        return int(library().get("memory_desc_get_size", self.value))


def numbers(values: Sizes) -> Any:
    """Sizes as oneDNN takes them."""
    return (ctypes.c_int64 * _MOST_DIMS)(*values)


def padding_behind(w: Windows, spatial: Sizes, places: Sizes) -> list[int]:
    """As much padding as windows reach, which oneDNN wants to know."""
    margins = zip(w.reach(places), spatial, w.padding, strict=True)
    return [max(0, reach - size - before) for reach, size, before in margins]


def strided(shape: Sizes, dtype: str, strides: Sizes | None = None) -> Format:
    """The format of an array with such strides, in elements; by default row-major."""
    if strides is None:
        strides = row_major(shape)
    return _format(
        "memory_desc_create_with_strides",
        len(shape), numbers(shape), _DTYPES[dtype], numbers(strides),
    )  # fmt: skip


def any_format(shape: Sizes, dtype: str) -> Format:
    """A format that is left to the primitive."""
    return _format(
        "memory_desc_create_with_tag",
        len(shape), numbers(shape), _DTYPES[dtype], _ANY,
    )  # fmt: skip


def channels_last(shape: Sizes, dtype: str) -> Format:
    """The format of images whose channels lie side by side."""
    batch, *spatial, channels = row_major((shape[0], *shape[2:], shape[1]))
    return strided(shape, dtype, (batch, channels, *spatial))


def row_major(shape: Sizes) -> tuple[int, ...]:
    """Strides of an array without gaps, in elements."""
    steps = [1]
    for size in reversed(shape[1:]):
        steps.append(steps[-1] * size)
    return tuple(reversed(steps))


def _format(create: str, *arguments: Any) -> Format:
    value = library().created(create, *arguments)
    return Format(value, Handle(value, "memory_desc_destroy"))


@cache
def _options() -> int:
    """Attributes of all primitives."""
    made = library().created("primitive_attr_create")
    library().get("primitive_attr_set_scratchpad_mode", made, _USER_SCRATCHPAD)
    return made


class Description:
    """What a primitive will do, and with arrays of which formats.

    Args:
        kind: the function that makes it, without what all names have in common.
        arguments: what that takes between engine and attributes: formats, numbers, and
            other descriptions.

    Raises:
        NotSupported: oneDNN has nothing for it, or nothing but its slow reference.
    """

    def __init__(self, kind: str, *arguments: Any) -> None:
        self._kept = [a for a in arguments if isinstance(a, Format | Description)]
        values = [
            a.value if isinstance(a, Format | Description) else a for a in arguments
        ]
        engine = library().engine
        if kind == "reorder":  # names the engine of either array
            values = [values[0], engine, values[1], engine]
        else:
            values = [engine, *values]
        create = f"{kind}_primitive_desc_create"
        self.value = library().alone(
            lambda: library().created(create, *values, _options())
        )
        self._handle = Handle(self.value, "primitive_desc_destroy")
        if self.implementation.startswith("ref"):
            raise NotSupported("oneDNN", was=f"{kind} has only {self.implementation}")

    @property
    def implementation(self) -> str:
        """oneDNN's name of the code that does it, e.g. `"brgconv:avx512_core"`."""
        name = ctypes.c_char_p()
        library().get("primitive_desc_query", self.value, _NAME_OF, 0,
                      ctypes.addressof(name))  # fmt: skip
        return (name.value or b"").decode()

    def format(self, argument: Argument) -> Format:
        """The format of an argument."""
        query = _QUERIES[argument]
        value = library().get("primitive_desc_query_md", self.value, query, 0)
        return Format(value, self)


class Primitive:
    """What a description says, as machine code; any number of threads may run it."""

    def __init__(self, description: Description) -> None:
        self.description = description
        self.value = library().alone(
            lambda: library().created("primitive_create", description.value)
        )
        self._handle = Handle(self.value, "primitive_destroy")
        self.scratchpad = description.format(Argument.SCRATCHPAD)


def reorder(source: Format, result: Format) -> Primitive:
    """A primitive that writes an array in another format."""
    return Primitive(Description("reorder", source, result))
