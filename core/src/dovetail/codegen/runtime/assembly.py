"""Text becomes addresses of functions: from disk, or compiled and kept there."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from dovetail.codegen.runtime import machine
from dovetail.codegen.runtime.kernel_log import log
from dovetail.codegen.runtime.objects import objects


@dataclass(frozen=True, slots=True)
class Assembly:
    """Functions in memory.

    Args:
        addresses: where each begins.
        size: bytes of their object code.
    """

    addresses: tuple[int, ...]
    size: int


def assembled(
    names: tuple[str, ...], text: str | Callable[[], str], key: str
) -> Assembly:
    """Functions of a module of LLVM IR.

    Args:
        names: which functions.
        text: the module, or what writes it, called where nothing is kept under the key.
        key: what the text depends on.
    """
    key = f"{key}\n{machine.recipe()}"
    began = time.perf_counter()
    made, how = _loaded(names, key), "loaded"
    if made is None:
        text = text if isinstance(text, str) else text()
        made, how = _compiled(names, text, key), "compiled"
    spent = (time.perf_counter() - began) * 1e3
    log(f"{names[0]} {how} in {spent:.1f} ms, {made.size} bytes")
    return made


def _loaded(names: tuple[str, ...], key: str) -> Assembly | None:
    code = objects().get(key)
    if code is not None:
        with suppress(ValueError):  # a key that means something else by now
            return Assembly(machine.linked(code, names), len(code))
    return None


def _compiled(names: tuple[str, ...], text: str, key: str) -> Assembly:
    code = machine.compiled(text)
    made = Assembly(machine.linked(code, names), len(code))
    objects().put(key, code)
    return made
