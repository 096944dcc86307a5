"""Random integers and permutations: torch's signatures over `ops/random.py`."""

# Ops are known by their declarations; what they return is typed where it matters.

from __future__ import annotations

from typing import Any

from dovetail import dtypes
from dovetail.dtypes import DType, Sizes, check_computing
from dovetail.engine.casts import back
from dovetail.engine.generator import Generator
from dovetail.engine.kinds import Kind
from dovetail.engine.promotion import index_dtype
from dovetail.engine.tensor import Tensor
from dovetail.engine.views import unshared
from dovetail.errors import ArgumentError, ArgumentTypeError
from dovetail.frontend.creation import Place, creates, sizes
from dovetail.frontend.memory_order import MemoryFormat, order_for
from dovetail.frontend.random import drawn
from dovetail.limits import iinfo
from dovetail.ops import random as ops
from dovetail.ops import view as v
from dovetail.ops.primitive import cast, clone
from dovetail.xp import random_law as law


def integers_of(
    name: str, shape: Sizes, kind: Kind, generator: Any, low: int, high: int
) -> Tensor:
    """Integers in [low, high), in an integer or float dtype."""
    whole = kind
    if kind.dtype not in dtypes.INTEGRAL:
        narrow = -(2**31) <= low < high <= 2**31
        whole = kind.with_dtype(dtypes.int32 if narrow else index_dtype(kind))

    y = drawn(name, ops.random_integers, whole, generator, shape, low, high)
    return y if whole is kind else cast(y, kind.dtype)


def limits(dtype: DType) -> tuple[int, int]:
    """The least integer of a dtype and the one after the greatest.

    Of a float dtype, the integers that it holds exactly.
    """
    if dtype.is_floating_point:
        digits = law.UNIT_BITS[dtype]
        return -(2**digits), 2**digits + 1
    if dtype is dtypes.bool_:
        return 0, 2
    info = iinfo(dtype)
    return info.min, info.max + 1


def random_range(name: str, low: Any, high: Any, dtype: DType) -> tuple[int, int]:
    """A range of integers that `dtype` holds and that is not empty."""
    for argument, value in (("low", low), ("high", high)):
        no_number = isinstance(value, type) or not hasattr(value, "__index__")
        if no_number and not isinstance(value, int):
            raise ArgumentTypeError(
                name, argument, was=repr(value), needed="an integer"
            )
    check_computing(name, dtype)
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


@creates("randint")
def randint(
    place: Place, low: Any = 0, high: Any = None, size: Any = None, *,
    generator: Generator | None = None,
) -> Tensor:  # fmt: skip
    """Integers in [low, high), or [0, low) with a size in second place.

    Each is as likely as the others (Lemire 2019, arXiv:1805.10941).

    Returns: the shape given, int64 unless another dtype is named.

    Raises: ArgumentError if there is no integer from `low` to `high` - 1, or not all of
        them fit the dtype.

    >>> x = torch.randint(0, 10, (1000,))
    >>> x.min().item() >= 0, x.max().item() < 10
    (True, True)
    """
    if size is None:
        low, high, size = 0, low, high
    elif high is None:
        low, high = 0, low
    kind = _index_kind(place)
    low, high = random_range("randint", low, high, kind.dtype)
    return integers_of("randint", sizes((size,)), kind, generator, low, high)


def _index_kind(place: Place) -> Kind:
    """The kind of integers made on a device: int64 where it has it."""
    kind = place.kind(dtypes.int32)
    return kind if place.dtype else kind.with_dtype(index_dtype(kind))


@creates("randint_like", out=False)
def randint_like(
    place: Place, input: Tensor, low: Any = None, high: Any = None, *,
    generator: Generator | None = None, memory_format: MemoryFormat | None = None,
) -> Tensor:  # fmt: skip
    """`randint` in the shape, dtype, device and order of dims of `input`.

    Raises: as `randint` does.
    """
    if high is None:
        if low is None:
            raise ArgumentTypeError(
                "randint_like", "high", was="missing", needed="an integer"
            )
        low, high = 0, low
    elif low is None:
        low = 0
    order = order_for("randint_like", input, memory_format)
    kind = place.like(input).kind()
    low, high = random_range("randint_like", low, high, kind.dtype)
    made = integers_of("randint_like", tuple(input.shape), kind, generator, low, high)
    if order == tuple(range(len(order))):
        return made
    return unshared(v.permute(clone(v.permute(made, order)), back(order)))


@creates("randperm")
def randperm(place: Place, n: Any, *, generator: Generator | None = None) -> Tensor:
    """0 … n-1 in random order.

    Returns: [n] int64 unless another dtype is named.

    Raises: ArgumentError for a negative `n`, or one that the dtype does not hold.

    >>> torch.randperm(5).sort().values
    tensor([0, 1, 2, 3, 4])
    """
    if isinstance(n, bool) or not isinstance(n, int) or n < 0:
        raise ArgumentError(
            "randperm", "n", was=repr(n), needed="an integer, 0 or more"
        )
    kind = _index_kind(place)
    check_computing("randperm", kind.dtype)
    if n > limits(kind.dtype)[1]:
        raise ArgumentError(
            "randperm", "n", was=n, needed=f"at most {limits(kind.dtype)[1]}, as "
            f"{kind.dtype.name} holds", remedy="choose a wider dtype",
        )  # fmt: skip
    whole = kind if kind.dtype in dtypes.INTEGRAL else kind.with_dtype(dtypes.int32)

    y = drawn("randperm", ops.random_permutation, whole, generator, n)
    return y if whole is kind else cast(y, kind.dtype)
