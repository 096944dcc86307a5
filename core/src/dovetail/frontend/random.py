"""Random tensors and generators: torch's signatures over `ops/random.py`."""

# Ops are known by their declarations; what they return is typed where it matters.

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from dovetail import dtypes
from dovetail.dtypes import DType
from dovetail.engine.generator import HOST, Generator, draw, generator_of, seed_all
from dovetail.engine.kinds import Kind
from dovetail.engine.promotion import index_dtype
from dovetail.engine.public import NAMESPACES, public
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ArgumentTypeError, DTypeError
from dovetail.frontend.create import DeviceLike, _finish, _like, kind_for, sizes
from dovetail.ops import random as ops
from dovetail.ops.extremes import amax
from dovetail.ops.primitive import cast
from dovetail.xp import random_law as law

Sizes = tuple[int, ...]
NAMESPACES["torch"]["Generator"] = Generator


# ---- generators


@public("torch.manual_seed")
def manual_seed(seed: int) -> Generator:
    """Start the stream of `seed` on every device; returns the CPU's generator.

    Examples:
        >>> import dovetail as torch
        >>> _ = torch.manual_seed(0)
        >>> first = torch.rand(3)
        >>> _ = torch.manual_seed(0)
        >>> bool((torch.rand(3) == first).all())
        True
    """
    seed_all(seed)
    return generator_of(HOST)


@public("torch.seed")
def seed() -> int:
    """Start the stream of a seed from the operating system everywhere; returns it."""
    fresh = generator_of(HOST).seed()
    seed_all(fresh)
    return fresh


@public("torch.initial_seed")
def initial_seed() -> int:
    """The seed of the CPU's default generator."""
    return generator_of(HOST).initial_seed()


@public("torch.get_rng_state")
def get_rng_state(device: Any = HOST) -> Tensor:
    """The state of a device's default generator, as a uint8 tensor."""
    return generator_of(device).get_state()


@public("torch.set_rng_state")
def set_rng_state(new_state: Tensor, device: Any = HOST) -> None:
    """Set the state of a device's default generator."""
    generator_of(device).set_state(new_state)


# ---- floats


def floats(name: str, kind: Kind) -> Kind:
    """`kind` if it holds floats."""
    if not kind.dtype.is_inexact:
        raise DTypeError(
            name, "dtype", was=kind.dtype.name, needed="a floating point dtype",
            remedy="make floats and cast them, or use randint",
        )  # fmt: skip
    return kind


def drawn(
    name: str, kind: Kind, shape: Sizes, generator: Any, make: Callable[[int, int], Any]
) -> Tensor:
    """What `make` gives of seed and place of the words for floats of a shape.

    Complex numbers are made of two such draws, for one part after the other.
    """
    each, parts, of = law.words_each(kind.dtype.real), math.prod(shape), make
    if kind.dtype.is_complex:
        words = parts * each
        parts *= 2

        def of(seed: int, place: int) -> Tensor:
            re, im = make(seed, place), make(seed, place + words)
            joined: Tensor = cast(re, kind.dtype) + cast(im, kind.dtype) * 1j
            return joined

    found: Tensor = draw(name, kind, generator, parts * each, each, of)
    return found


def uniform_of(
    name: str, shape: Sizes, kind: Kind, generator: Any, low: Any = 0, high: Any = 1
) -> Tensor:
    """Uniform floats; of complex numbers, both parts."""
    part = kind.with_dtype(kind.dtype.real) if kind.dtype.is_complex else kind

    def make(seed: int, place: int) -> Tensor:
        made: Tensor = ops.uniform(shape, low, high, seed, place, part)
        return made

    return drawn(name, kind, shape, generator, make)


def normal_of(
    name: str, shape: Sizes, kind: Kind, generator: Any, mean: Any = 0, std: Any = 1
) -> Tensor:
    """Normal floats; complex numbers have `mean` and half of std^2 in both parts."""
    part = kind
    if kind.dtype.is_complex:
        part, std = kind.with_dtype(kind.dtype.real), std * math.sqrt(0.5)

    def make(seed: int, place: int) -> Tensor:
        made: Tensor = ops.normal(shape, mean, std, seed, place, part)
        return made

    return drawn(name, kind, shape, generator, make)


@public("torch.rand", out=True)
def rand(
    *size: int | Sequence[int], generator: Generator | None = None,
    dtype: DType | None = None,
    layout: Any = None, device: DeviceLike = None, requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:  # fmt: skip
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
    kind = floats("rand", kind_for(device, dtype))
    return _finish(uniform_of("rand", sizes(size), kind, generator), requires_grad)


@public("torch.randn", out=True)
def randn(
    *size: int | Sequence[int], generator: Generator | None = None,
    dtype: DType | None = None,
    layout: Any = None, device: DeviceLike = None, requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Normal floats of mean 0 and variance 1."""
    kind = floats("randn", kind_for(device, dtype))
    return _finish(normal_of("randn", sizes(size), kind, generator), requires_grad)


@public("torch.rand_like")
def rand_like(
    input: Tensor, *, generator: Generator | None = None, dtype: DType | None = None,
    layout: Any = None, device: DeviceLike = None, requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """`rand` in the shape, dtype and device of `input`."""
    kind = floats("rand_like", _like(input, dtype, device))
    y = uniform_of("rand_like", tuple(input.shape), kind, generator)
    return _finish(y, requires_grad)


@public("torch.randn_like")
def randn_like(
    input: Tensor, *, generator: Generator | None = None, dtype: DType | None = None,
    layout: Any = None, device: DeviceLike = None, requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """`randn` in the shape, dtype and device of `input`."""
    kind = floats("randn_like", _like(input, dtype, device))
    y = normal_of("randn_like", tuple(input.shape), kind, generator)
    return _finish(y, requires_grad)


def deviation(name: str, std: float) -> float:
    if not std >= 0:
        raise ArgumentError(name, "std", was=std, needed="0 or more")
    return std


@public("torch.normal", out=True)
def normal(
    mean: Any, std: Any = 1.0, size: Any = None, *, generator: Generator | None = None,
    dtype: DType | None = None, layout: Any = None, device: DeviceLike = None,
    requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Normal floats: of numbers and a size, or with a mean and deviation an element."""
    if size is not None:
        kind = floats("normal", kind_for(device, dtype))
        shape = sizes((size,))
        y = normal_of("normal", shape, kind, generator, mean, deviation("normal", std))
        return _finish(y, requires_grad)
    lead = mean if isinstance(mean, Tensor) else std
    if not isinstance(lead, Tensor):
        raise ArgumentTypeError(
            "normal",
            "size",
            was="missing",
            needed="one, for a mean and std that are numbers",
        )
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
    least = -float(amax(std.detach() * -1, None).item())
    if least < 0:
        raise ArgumentError(
            "normal", "std", was=f"as low as {least}", needed="0 or more"
        )


# ---- integers


def integers_of(
    name: str, shape: Sizes, kind: Kind, generator: Any, low: int, high: int
) -> Tensor:
    """Integers in [low, high), in an integer or float dtype."""
    whole = kind
    if kind.dtype not in dtypes.INTEGRAL:
        narrow = -(2**31) <= low < high <= 2**31
        whole = kind.with_dtype(dtypes.int32 if narrow else index_dtype(kind))

    def make(seed: int, place: int) -> Tensor:
        y: Tensor = ops.random_integers(shape, low, high, seed, place, whole)
        return y if whole is kind else cast(y, kind.dtype)

    each = law.integer_words(low, high)
    made: Tensor = draw(name, kind, generator, math.prod(shape) * each, each, make)
    return made


def limits(dtype: DType) -> tuple[int, int]:
    """The least integer of a dtype and the one after the greatest.

    Of a float dtype, the integers that it holds exactly.
    """
    if dtype.is_floating_point:
        digits = law.UNIT_BITS[dtype]
        return -(2**digits), 2**digits + 1
    if dtype is dtypes.bool_:
        return 0, 2
    info = dtypes.iinfo(dtype)
    return info.min, info.max + 1


def random_range(name: str, low: Any, high: Any, dtype: DType) -> tuple[int, int]:
    """A range of integers that `dtype` holds and that is not empty."""
    for argument, value in (("low", low), ("high", high)):
        if not isinstance(value, int) and getattr(value, "__index__", None) is None:
            raise ArgumentTypeError(
                name, argument, was=repr(value), needed="an integer"
            )
    low, high = int(low), int(high)
    if low >= high:
        raise ArgumentError(name, "low", was=low, needed=f"less than high, {high}")
    least, end = limits(dtype)
    if not dtype.is_floating_point and not least <= low < high <= end:
        raise ArgumentError(
            name, "range", was=f"[{low}, {high})", needed=f"within {dtype.name}'s "
            f"[{least}, {end})", remedy="choose a wider dtype",
        )  # fmt: skip
    return low, high


@public("torch.randint", out=True)
def randint(
    low: Any = 0, high: Any = None, size: Any = None, *,
    generator: Generator | None = None, dtype: DType | None = None, layout: Any = None,
    device: DeviceLike = None, requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Integers in [low, high), or [0, low) with a size in second place.

    Each is as likely as the others (Lemire 2019, arXiv:1805.10941).
    """
    if size is None:
        low, high, size = 0, low, high
    elif high is None:
        low, high = 0, low
    kind = _index_kind(device, dtype)
    low, high = random_range("randint", low, high, kind.dtype)
    y = integers_of("randint", sizes((size,)), kind, generator, low, high)
    return _finish(y, requires_grad)


def _index_kind(device: DeviceLike, dtype: DType | None) -> Kind:
    """The kind of integers made on a device: int64 where it has it."""
    if dtype is not None:
        return kind_for(device, dtype)
    kind = kind_for(device, dtypes.int32)
    return kind.with_dtype(index_dtype(kind))


@public("torch.randint_like")
def randint_like(
    input: Tensor, low: Any, high: Any = None, *, generator: Generator | None = None,
    dtype: DType | None = None, layout: Any = None, device: DeviceLike = None,
    requires_grad: bool = False, memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """`randint` in the shape, dtype and device of `input`."""
    if high is None:
        low, high = 0, low
    kind = _like(input, dtype, device)
    low, high = random_range("randint_like", low, high, kind.dtype)
    y = integers_of("randint_like", tuple(input.shape), kind, generator, low, high)
    return _finish(y, requires_grad)


@public("torch.randperm", out=True)
def randperm(
    n: Any, *, generator: Generator | None = None, dtype: DType | None = None,
    layout: Any = None, device: DeviceLike = None, requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """0 … n-1 in random order."""
    if isinstance(n, bool) or not isinstance(n, int) or n < 0:
        raise ArgumentError(
            "randperm", "n", was=repr(n), needed="an integer, 0 or more"
        )
    kind = _index_kind(device, dtype)
    if n > limits(kind.dtype)[1]:
        raise ArgumentError(
            "randperm", "n", was=n, needed=f"at most {limits(kind.dtype)[1]}, as "
            f"{kind.dtype.name} holds", remedy="choose a wider dtype",
        )  # fmt: skip
    whole = kind if kind.dtype in dtypes.INTEGRAL else kind.with_dtype(dtypes.int32)

    def make(seed: int, place: int) -> Tensor:
        y: Tensor = ops.random_permutation(n, seed, place, whole)
        return y if whole is kind else cast(y, kind.dtype)

    return _finish(draw("randperm", kind, generator, 2 * n, 2, make), requires_grad)
