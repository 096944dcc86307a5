"""Random floats: torch's signatures over `ops/random.py`."""

# Ops are known by their declarations; what they return is typed where it matters.

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

from dovetail.dtypes import Sizes, check_computing
from dovetail.engine.attributes import NORMALISERS
from dovetail.engine.declare import Declared
from dovetail.engine.generator import Generator, draw, owner_of
from dovetail.engine.kinds import Kind, kind_of
from dovetail.engine.level_hooks import drawing, of_all_rows
from dovetail.engine.recorded_draws import before_launches, recorder
from dovetail.engine.scopes import unseen
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ArgumentTypeError, DTypeError
from dovetail.frontend.creation import Place, creates, sizes
from dovetail.ops import random as ops
from dovetail.ops.extremes import amax
from dovetail.ops.primitive import cast


def floats(name: str, kind: Kind) -> Kind:
    """`kind` if it holds floats that are computed with."""
    check_computing(name, kind.dtype)
    if not kind.dtype.is_inexact:
        raise DTypeError(
            name, "dtype", was=kind.dtype.name, needed="a floating point dtype",
            remedy="make floats and cast them, or use randint",
        )  # fmt: skip
    return kind


def drawn(
    name: str, op: Declared[Any], kind: Kind, generator: Any, lead: Any, *law: Any
) -> Tensor:
    """What a random op gives of the next words of a stream.

    Complex numbers are made of two draws of floats, for one part after the other.

    Args:
        name: of the function, for errors.
        kind: device and dtype of the result.
        lead, law: the arguments before the seed; the first one is the shape of the
            result, its size, or a tensor of that shape.
    """
    graph = recorder(kind)
    if graph is not None and not isinstance(lead, Tensor):
        owner_of(name, kind, generator)  # which may raise
        like = drawn(name, op, kind_of("meta", kind.dtype), None, lead, *law)
        again = partial(drawn, name, op, kind, generator, lead, *law)
        return before_launches(graph, like, again, kind)
    kind, lead, times = drawing(name, kind, lead)
    whole = kind
    if kind.dtype.is_complex and kind.dtype not in op.op.accepts:
        kind = kind.with_dtype(kind.dtype.real)
    tail = (kind,) if op.op.names[-1] == "kind" else ()
    draws = op.op.draws
    each = draws if isinstance(draws, int) else draws(kind.dtype, *law)
    align = each * op.op.together
    words = -(-count_of(lead) * each * times // align) * align

    def make(seed: int, place: int) -> Tensor:
        y: Tensor = op(lead, *law, seed, place, *tail)
        return y

    def of_parts(seed: int, place: int) -> Tensor:
        re, im = make(seed, place), make(seed, place + words)
        return cast(re, whole.dtype) + cast(im, whole.dtype) * 1j

    if whole is kind:
        return draw(name, kind, generator, words, align, make)
    return draw(name, kind, generator, words * 2, align, of_parts)


def count_of(lead: Any) -> int:
    """How many elements a shape, a size or a tensor stands for."""
    if isinstance(lead, int):
        return lead
    return math.prod(lead if isinstance(lead, tuple) else lead._a.shape)


def uniform_of(
    name: str, shape: Sizes, kind: Kind, generator: Any, low: Any = 0, high: Any = 1
) -> Tensor:
    """Uniform floats; of complex numbers, both parts."""
    return drawn(name, ops.uniform, kind, generator, shape, low, high)


def normal_of(
    name: str, shape: Sizes, kind: Kind, generator: Any, mean: Any = 0, std: Any = 1
) -> Tensor:
    """Normal floats; complex numbers have `mean` and half of std^2 in both parts."""
    part = std * math.sqrt(0.5) if kind.dtype.is_complex else std
    return drawn(name, ops.normal, kind, generator, shape, mean, part)


def number(what: str, name: str, argument: str, value: Any) -> float:
    """`value` if it is such a number: `"Positive"`, `"Probability"` …"""
    return float(NORMALISERS[what](name, argument, value, 0))


@creates("rand", like=True, drawn=True)
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


@creates("randn", like=True, drawn=True)
def randn(
    place: Place, *size: int | Sequence[int], generator: Generator | None = None
) -> Tensor:
    """Normal floats of mean 0 and variance 1.

    Args:
        size: the shape, as numbers or one sequence of them.
        generator: whose stream is drawn from; the device's own unless given.

    Raises: DTypeError for a dtype of integers or bools.

    >>> torch.randn(2, 3, generator=torch.Generator().manual_seed(1)).shape
    dovetail.Size([2, 3])
    """
    kind = floats("randn", place.kind())
    return normal_of("randn", sizes(size), kind, generator)


@creates("normal")
def normal(
    place: Place, mean: Any, std: Any = 1.0, size: Any = None, *,
    generator: Generator | None = None,
) -> Tensor:  # fmt: skip
    """Normal floats: of numbers and a size, or with a mean and deviation an element."""
    if size is not None:
        kind = floats("normal", place.kind())
        std = number("NonNegative", "normal", "std", std)
        return normal_of("normal", sizes((size,)), kind, generator, mean, std)
    lead = mean if isinstance(mean, Tensor) else std
    if not isinstance(lead, Tensor):
        raise ArgumentTypeError(
            "normal", "size", was="missing",
            needed="one, for a mean and std that are numbers",
        )  # fmt: skip
    if place.described:
        raise ArgumentTypeError(
            "normal", "dtype, device or another keyword of the result",
            was="given beside a tensor", needed="none: the tensor says it",
        )  # fmt: skip
    if isinstance(std, Tensor):
        _check_deviations(std)
    else:
        number("NonNegative", "normal", "std", std)
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
        least = -float(amax(of_all_rows(std.detach()) * -1, None).item())
    if least < 0:
        raise ArgumentError(
            "normal", "std", was=f"as low as {least}", needed="0 or more"
        )
