"""Names of `torch` that programs mention, and that are of its C++ or its compiler.

A size is an int: so nothing is a `SymInt`, and functions of symbols are Python's own.
"""

from __future__ import annotations

import math
from typing import Any, Final

from dovetail.cli.torch_rooms import missing
from dovetail.futures import Future
from dovetail.memory_formats import contiguous_format
from dovetail.tensor_api.storages import TypedStorage, UntypedStorage

# The reader of archives that torch has of C++; `torch.load` reads them.
PyTorchFileReader: Final = missing("torch", "PyTorchFileReader")
ScriptFunction: Final = missing("torch", "ScriptFunction")
ScriptModule: Final = missing("torch", "ScriptModule")
SymInt: Final = missing("torch", "SymInt")
SymFloat: Final = missing("torch", "SymFloat")
SymBool: Final = missing("torch", "SymBool")
legacy_contiguous_format: Final = contiguous_format
sym_float: Final = float
sym_int: Final = int
sym_max: Final = max
sym_min: Final = min
sym_sqrt: Final = math.sqrt
sym_sum: Final = sum


def sym_not(a: Any) -> bool:
    """Whether something is false."""
    return not a


def sym_ite(b: Any, t: Any, f: Any) -> Any:
    """One of two values, by a third."""
    return t if b else f


__all__ = [
    "Future", "PyTorchFileReader", "ScriptFunction", "ScriptModule",
    "SymBool", "SymFloat", "SymInt", "TypedStorage", "UntypedStorage",
    "legacy_contiguous_format", "sym_float", "sym_int", "sym_ite", "sym_max", "sym_min",
    "sym_not", "sym_sqrt", "sym_sum",
]  # fmt: skip
