"""The kernels that draw, and what they are called with."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.codegen import random_kernels as kernels
from dovetail.codegen.ir import Kernel

Array = np.ndarray[Any, Any]
SEED = 0x9ABCDEF012345678
FIRST_BLOCK = 2**32 - 3  # numbers of blocks go past 32 bits
_NUMBERS = {
    "span": 2.5, "low": -0.5, "greatest": 1.75, "std": 3.0, "mean": -1.0,
    "limit": 1 << 30, "scale": 1.5,
}  # fmt: skip


def random_forms() -> list[Kernel]:
    """Every kernel that draws."""
    floats = ("float32", "float64", "float16", "bfloat16")
    scaled = (False, True)
    forms = [kernels.words(), kernels.mask()]
    forms += [kernels.uniform(d, s) for d in floats for s in scaled]
    forms += [kernels.normal(d, s) for d in floats for s in scaled]
    forms += [kernels.dropout(d) for d in floats]
    forms += [kernels.trials(d) for d in floats]
    return forms


def words_for(form: Kernel) -> list[int]:
    """The parameters of a kernel, as words of its table."""
    place = [FIRST_BLOCK, SEED, 5 << 32 | 7]
    return place + [_word(name, dtype) for name, dtype in form.parameters[3:]]


def _word(name: str, dtype: str) -> int:
    if "int" in dtype:
        return int(_NUMBERS[name])
    number = np.array([_NUMBERS[name]], dtype)
    return int(number.view(f"u{number.itemsize}")[0])


def sources(form: Kernel, count: int) -> list[Array]:
    """What a kernel reads: probabilities serve all of them."""
    draws = np.random.default_rng(1)
    read = [b for b in form.buffers if not b.written]
    return [_probabilities(draws.random(count), b.dtype) for b in read]


def _probabilities(p: Array, dtype: str) -> Array:
    """As a kernel reads them: floats of 16 bits by their bits."""
    return p.astype("float16").view(dtype) if dtype == "uint16" else p.astype(dtype)
