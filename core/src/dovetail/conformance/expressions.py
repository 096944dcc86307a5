"""Python expressions that give values back, for scripts that show a failure.

Arrays are written so that they come back bit for bit: as numbers where these say it
all, else as their bytes. The names that expressions use are those of `rerun`.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from dovetail.dtypes import Array, DType, from_numpy
from dovetail.engine.kinds import Kind

_LITERAL: Final = 64  # elements that a person may still want to read
_NAMES: Final = {"nan": np.nan, "inf": np.inf}


class Unwritable(Exception):
    """A value that no Python expression gives."""


def _named(value: DType | Kind) -> str:
    if isinstance(value, Kind):
        return f"kind(DEVICE, {value.dtype.name!r})"
    return f"dtype({value.name!r})"


def written(value: Any, named: Callable[[DType | Kind], str] = _named) -> str:
    """A Python expression for an argument.

    Args:
        value: an array, a number, an index, or a container of these.
        named: the expression for a dtype or a kind.

    Raises:
        Unwritable: there is none.
    """
    if isinstance(value, np.ndarray):
        return _array(value)
    if isinstance(value, np.generic):
        return f"{_array(np.asarray(value))}[()]"
    if isinstance(value, DType | Kind):
        return named(value)
    if isinstance(value, list):
        return f"[{', '.join(written(v, named) for v in value)}]"
    if isinstance(value, tuple):
        return f"({''.join(f'{written(v, named)}, ' for v in value).rstrip()})"
    if isinstance(value, dict):
        pairs = (f"{k!r}: {written(v, named)}" for k, v in value.items())
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, slice):
        parts = value.start, value.stop, value.step
        return f"slice({', '.join(map(written, parts))})"
    return "..." if value is Ellipsis else _plain(value)


def _plain(value: Any) -> str:
    if isinstance(value, float):
        text = repr(float(value))
        return text if text.lstrip("-")[0].isdigit() else f'float("{text}")'
    if isinstance(value, complex):
        return f"complex({_plain(value.real)}, {_plain(value.imag)})"
    if value is None or isinstance(value, bool | int | str | bytes):
        return repr(value)
    raise Unwritable(type(value).__name__)


def _array(a: Array) -> str:
    """An expression for an array: numbers, else bytes in hex, else packed."""
    dtype = from_numpy(a.dtype).name
    shape = tuple(int(n) for n in a.shape)
    if a.size <= _LITERAL:
        plain = _literal(a, dtype)
        if plain:
            return plain
        seen = " ".join(map(str, a.reshape(-1)[:8]))
        return f"bits({dtype!r}, {shape}, {a.tobytes().hex()!r}, {seen!r})"
    packed = base64.b64encode(zlib.compress(a.tobytes(), 9)).decode()
    return f"packed({dtype!r}, {shape}, {packed!r})"


def _literal(a: Array, dtype: str) -> str:
    """The numbers, if they say all of it: not of a NaN's payload, nor if empty."""
    if not a.size and a.shape != (0,):
        return ""
    if a.dtype.kind == "c" and not np.all(np.isfinite(a)):
        return ""  # nanj and infj are no names
    narrow = dtype == "bfloat16" or dtype.startswith("float8")
    values = a.astype(np.float64) if narrow else a
    text = repr(values.tolist())
    with np.errstate(all="ignore"):
        again = np.asarray(eval(text, dict(_NAMES)), a.dtype)  # our own text
    same = again.shape == a.shape and again.tobytes() == a.tobytes()
    return f"array({text}, {dtype!r})" if same else ""
