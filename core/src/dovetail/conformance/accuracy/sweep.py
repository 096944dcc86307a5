"""Arguments over the whole range of a format, where functions are hard to compute."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, Final
from zlib import crc32

import numpy as np

from dovetail.conformance.formats import limits
from dovetail.dtypes import Array, DType
from dovetail.engine.cases import Case, cases_of
from dovetail.engine.op import Op, vocabulary

Generator = np.random.Generator

# Zeros, poles and ends of domains lie at these, at their halves, and at a few integers.
_PLACES: Final = (
    *(k / 4 for k in range(1, 17)), math.pi / 2, math.pi, 3 * math.pi / 2, 2 * math.pi,
    10 * math.pi, math.e, math.log(2), 20.0, 100.0,
)  # fmt: skip
_PARTS: Final = {"wide": 4, "domain": 5, "near": 5, "common": 5, "tiny": 1}
_FEWEST: Final = 64
_ALIKE: Final = 4  # one in so many pairs of operands is nearly equal


def sweep(op: Op, dtype: DType, points: int) -> Iterator[Case]:
    """Calls of an elementwise op, one for each set of options that it has cases of."""
    random = np.random.default_rng(crc32(f"{op.name} {dtype.name} sweep".encode()))
    found = list(_templates(op, dtype))
    for template in found:
        count = max(points // len(found), _FEWEST)
        operands = dict(_operands(op, dtype, count, random))

        def given(name: str, value: Any, operands: dict[str, Array] = operands) -> Any:
            return operands[name] if isinstance(value, np.ndarray) else value

        args = zip(op.names, template.args, strict=False)
        kwargs = {k: given(k, v) for k, v in template.kwargs.items()}
        yield Case(tuple(given(name, v) for name, v in args), kwargs)


def _templates(op: Op, dtype: DType) -> Iterator[Case]:
    """The first of the op's own cases with each set of attributes."""
    seen: list[Any] = []
    for case in cases_of(op, dtype):
        plain = (
            [None if isinstance(v, np.ndarray) else (v,) for v in case.args],
            {k: v for k, v in case.kwargs.items() if not isinstance(v, np.ndarray)},
        )
        if plain not in seen:
            seen.append(plain)
            yield case


def _operands(
    op: Op, dtype: DType, count: int, random: Generator
) -> Iterator[tuple[str, Array]]:
    first: Array | None = None
    for param in op.tensors:
        if param.name in op.masks:
            yield param.name, random.integers(0, 2, count).astype(bool)
            continue
        made = _drawn(op, dtype, count, random)
        forward = _made_by(op, param.name)
        if forward is not None:  # a rule is given what its op gave
            y = forward(made) if dtype.is_complex else forward(made.astype(np.float64))
            yield param.name, np.asarray(y).astype(dtype.numpy)
            continue
        if first is not None:
            made = _near_to(first, made, random, dtype)
        first = made if first is None else first
        yield param.name, made


def _made_by(op: Op, name: str) -> Callable[[Array], Array] | None:
    """The oracle of the op of one operand whose result this operand of a rule is."""
    forward = vocabulary.get(op.name.removesuffix("_backward"))
    if forward is None or forward is op or len(forward.tensors) != 1:
        return None
    return forward.oracle if name in forward.outputs else None


def _drawn(op: Op, dtype: DType, count: int, random: Generator) -> Array:
    if dtype.is_complex:
        return _complex(op, dtype, count, random)
    return operand(op, dtype, count, random)


def operand(op: Op, dtype: DType, count: int, random: Generator) -> Array:
    """Finite values of a real format: of all magnitudes, and near hard places."""
    info, (low, high) = limits(dtype), op.domain
    bits = -math.log2(float(info.eps))
    top, bottom = math.log2(float(info.max)), math.log2(float(info.smallest_normal))
    places = np.array([*_PLACES, low or 1.0, high])

    def signed(values: Array) -> Array:
        return np.asarray(values * random.choice([-1.0, 1.0], values.shape))

    def drawn(part: str, n: int) -> Array:
        if part == "wide":
            return signed(2.0 ** random.uniform(bottom, top, n))
        if part == "domain":
            return random.uniform(low, high, n)
        if part == "near":
            off = random.choice([-1.0, 1.0], n) * 2.0 ** -random.uniform(2, bits, n)
            off[:: len(places)] = 0
            return signed(np.resize(places, n) * (1 + off))
        if part == "common":
            return random.normal(0, 3, n)
        steps = 2.0 ** random.uniform(0, bits, n)
        return signed(np.floor(steps) * float(info.smallest_subnormal))

    total = sum(_PARTS.values())
    with np.errstate(all="ignore"):
        parts = [drawn(part, -(-count * n // total)) for part, n in _PARTS.items()]
        made = np.concatenate(parts).astype(dtype.numpy)
    made = random.permutation(made[np.isfinite(made)])
    found: Array = np.resize(made, count)
    return found


def _complex(op: Op, dtype: DType, count: int, random: Generator) -> Array:
    """Of magnitudes over many powers of two, at all angles, some on the axes."""
    size = 2.0 ** random.uniform(-10, 6, count)
    angle = random.uniform(-math.pi, math.pi, count)
    angle[::16] = np.resize(np.arange(4) * (math.pi / 2), angle[::16].shape)
    return np.asarray(size * np.exp(1j * angle)).astype(dtype.numpy)


def _near_to(a: Array, b: Array, random: Generator, dtype: DType) -> Array:
    """`b`, in places a few units in the last place beside `a`, or its negative."""
    eps = float(limits(dtype.real).eps)
    with np.errstate(all="ignore"):
        wide = a.astype(np.complex128 if dtype.is_complex else np.float64)
        beside = wide * (1 + eps * random.integers(-4, 5, a.shape))
        beside = (beside * random.choice([-1.0, 1.0], a.shape)).astype(b.dtype)
    at = (random.integers(0, _ALIKE, a.shape) == 0) & np.isfinite(beside)
    found: Array = np.where(at, beside, b)
    return found


__all__ = ["operand", "sweep"]
