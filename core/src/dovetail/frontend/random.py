"""Random floats: torch's signatures over `ops/random.py`."""

# Ops are known by their declarations; what they return is typed where it matters.

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from dovetail.engine.attributes import NORMALISERS
from dovetail.engine.generator import Generator, draw
from dovetail.engine.kinds import Kind
from dovetail.engine.scopes import unseen
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ArgumentTypeError, DTypeError
from dovetail.frontend.creation import Place, creates, sizes
from dovetail.ops import random as ops
from dovetail.ops.extremes import amax
from dovetail.ops.primitive import cast
from dovetail.xp import random_law as law

Sizes = tuple[int, ...]
Draw = Callable[[int, int], Tensor]


def floats(name: str, kind: Kind) -> Kind:
    """`kind` if it holds floats."""
    if not kind.dtype.is_inexact:
        raise DTypeError(
            name, "dtype", was=kind.dtype.name, needed="a floating point dtype",
            remedy="make floats and cast them, or use randint",
        )  # fmt: skip
    return kind


def drawn(name: str, kind: Kind, shape: Sizes, generator: Any, make: Draw) -> Tensor:
    """What `make` gives of seed and place of the words for floats of a shape.

    Complex numbers are made of two such draws, for one part after the other.
    """
    each, parts, of = law.words_each(kind.dtype.real), math.prod(shape), make
    if kind.dtype.is_complex:
        words = parts * each
        parts *= 2

        def of(seed: int, place: int) -> Tensor:
            re, im = make(seed, place), make(seed, place + words)
            return cast(re, kind.dtype) + cast(im, kind.dtype) * 1j

    return draw(name, kind, generator, parts * each, each, of)


def uniform_of(
    name: str, shape: Sizes, kind: Kind, generator: Any, low: Any = 0, high: Any = 1
) -> Tensor:
    """Uniform floats; of complex numbers, both parts."""
    part = kind.with_dtype(kind.dtype.real) if kind.dtype.is_complex else kind

    def make(seed: int, place: int) -> Tensor:
        return ops.uniform(shape, low, high, seed, place, part)

    return drawn(name, kind, shape, generator, make)


def normal_of(
    name: str, shape: Sizes, kind: Kind, generator: Any, mean: Any = 0, std: Any = 1
) -> Tensor:
    """Normal floats; complex numbers have `mean` and half of std^2 in both parts."""
    part = kind
    if kind.dtype.is_complex:
        part, std = kind.with_dtype(kind.dtype.real), std * math.sqrt(0.5)

    def make(seed: int, place: int) -> Tensor:
        return ops.normal(shape, mean, std, seed, place, part)

    return drawn(name, kind, shape, generator, make)


@creates("rand", like=True)
def rand(
    place: Place, *size: int | Sequence[int], generator: Generator | None = None
) -> Tensor:
    """Floats uniform in [0, 1).

    Args:
        size: the shape, as numbers or one sequence of them.
        generator: whose stream is drawn from; the device's own unless given.

    Examples:
        >>> import dovetail
        >>> seeded = dovetail.Generator().manual_seed(7)
        >>> dovetail.rand(2, 3, generator=seeded).shape
        dovetail.Size([2, 3])
    """
    kind = floats("rand", place.kind())
    return uniform_of("rand", sizes(size), kind, generator)


@creates("randn", like=True)
def randn(
    place: Place, *size: int | Sequence[int], generator: Generator | None = None
) -> Tensor:
    """Normal floats of mean 0 and variance 1."""
    kind = floats("randn", place.kind())
    return normal_of("randn", sizes(size), kind, generator)


def deviation(name: str, std: Any) -> float:
    """`std` if it is a number of 0 or more."""
    return float(NORMALISERS["NonNegative"](name, "std", std, 0))


@creates("normal")
def normal(
    place: Place, mean: Any, std: Any = 1.0, size: Any = None, *,
    generator: Generator | None = None,
) -> Tensor:  # fmt: skip
    """Normal floats: of numbers and a size, or with a mean and deviation an element."""
    if size is not None:
        kind, std = floats("normal", place.kind()), deviation("normal", std)
        return normal_of("normal", sizes((size,)), kind, generator, mean, std)
    lead = mean if isinstance(mean, Tensor) else std
    if not isinstance(lead, Tensor):
        raise ArgumentTypeError(
            "normal", "size", was="missing",
            needed="one, for a mean and std that are numbers",
        )  # fmt: skip
    if isinstance(std, Tensor):
        _check_deviations(std)
    else:
        deviation("normal", std)
    total = mean + std  # of the shape, dtype and device of the result
    kind = floats("normal", total._kind)
    found: Tensor = (
        normal_of("normal", tuple(total.shape), kind, generator) * std + mean
    )
    return found


def _check_deviations(std: Tensor) -> None:
    if std._kind.backend.rules_only or not math.prod(std._a.shape):
        return
    with unseen():
        least = -float(amax(std.detach() * -1, None).item())
    if least < 0:
        raise ArgumentError(
            "normal", "std", was=f"as low as {least}", needed="0 or more"
        )
