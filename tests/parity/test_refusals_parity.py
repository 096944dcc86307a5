"""What torch refuses because of values and of dtypes of `out=`, dovetail refuses."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.parity import agree

import dovetail

torch = pytest.importorskip("torch")

law = settings(deadline=None, database=None, derandomize=True, max_examples=60)

QUOTIENTS: Final[dict[str, Callable[[Any, Any, Any], Any]]] = {
    "//": lambda lib, a, b: a // b,
    "%": lambda lib, a, b: a % b,
    "fmod": lambda lib, a, b: lib.fmod(a, b),
    "floor": lambda lib, a, b: lib.div(a, b, rounding_mode="floor"),
    "trunc": lambda lib, a, b: lib.div(a, b, rounding_mode="trunc"),
    "//=": lambda lib, a, b: a.floor_divide_(b),
    "out": lambda lib, a, b: lib.remainder(a, b, out=lib.empty_like(a)),
}


@pytest.mark.parametrize("name", QUOTIENTS)
@law
@given(
    a=st.lists(st.integers(0, 9), min_size=2, max_size=2),
    b=st.one_of(
        st.integers(-2, 2), st.lists(st.integers(0, 3), min_size=2, max_size=2)
    ),
    dtype=st.sampled_from(["int64", "int8", "uint8", "float32"]),
)
def test_quotients(name: str, a: Any, b: Any, dtype: str) -> None:
    """Integers by 0 are refused, floats are not; the rest has torch's values."""

    def call(lib: Any) -> Any:
        kind = getattr(lib, dtype)
        divisor = b if isinstance(b, int) else lib.tensor(b, dtype=kind)
        return QUOTIENTS[name](lib, lib.tensor(a, dtype=kind), divisor)

    if dtype == "uint8" and isinstance(b, int) and b < 0:
        return  # an operand that wraps: another law's
    agree(call)


FRACTIONS: Final = st.floats(-0.4, 1.4) | st.sampled_from([0.0, 1.0, math.nan])


@law
@given(p=FRACTIONS, t=FRACTIONS)
def test_probabilities(p: float, t: float) -> None:
    """Inputs and targets of a cross entropy are from 0 to 1."""
    if math.isnan(t):
        return  # torch compares targets in the other direction, so that NaN passes
    agree(lambda lib: lib.nn.functional.binary_cross_entropy(
        lib.tensor([0.5, p]), lib.tensor([0.5, t])
    ))  # fmt: skip


@law
@given(q=FRACTIONS)
def test_fractions(q: float) -> None:
    """A quantile is of a fraction."""
    agree(lambda lib: lib.quantile(lib.tensor([1.0, 2.0, 5.0]), q))


@law
@given(counts=st.lists(st.integers(-1, 3), min_size=2, max_size=4))
def test_weights(counts: list[int]) -> None:
    """Weights of a covariance are as many as observations, and not negative."""
    agree(lambda lib: lib.cov(
        lib.tensor([[1.0, 2.0, 4.0]]), fweights=lib.tensor(counts)
    ))  # fmt: skip


@law
@given(
    low=st.floats(-3, 1), high=st.floats(1, 3),
    dtype=st.sampled_from(["int64", "int8", "float32"]),
)  # fmt: skip
def test_bounds_of_integers(low: float, high: float, dtype: str) -> None:
    """Activations of integers with bounds that are not give integers."""

    def call(lib: Any) -> Any:
        x = lib.tensor([-4, -1, 0, 2, 4], dtype=getattr(lib, dtype))
        return lib.nn.functional.hardtanh(x, low, high) + (
            lib.nn.functional.threshold(x, low, high)
        )

    agree(call)


@pytest.mark.parametrize(
    "x", [[0.5, 1.0, 2.0], [[0.5], [0.7]], [[0.5, 1, 2], [1, 2, 3]]]
)
def test_trapezoids(x: Any) -> None:
    """The dim is counted in the values, also where the places have another shape."""
    agree(lambda lib: lib.trapezoid(lib.tensor([1.0, 2.0, 3.0]), x=lib.tensor(x)))


MATRIX: Final = [[2.0, 1.0], [3.0, 4.0]]
OUT: Final[dict[str, Callable[[Any, Any, Any], Any]]] = {
    "gather": lambda lib, x, o: lib.gather(x, 0, lib.tensor([[0, 1]]), out=o(1, 2)),
    "index_select": lambda lib, x, o: lib.index_select(
        x, 0, lib.tensor([0]), out=o(1, 2)
    ),
    "topk": lambda lib, x, o: lib.topk(
        x, 1, out=(o(2, 1), lib.empty(2, 1, dtype=lib.int64))
    )[0],
    "aminmax": lambda lib, x, o: lib.aminmax(x, dim=0, out=(o(2), o(2)))[0],
    "complex": lambda lib, x, o: lib.complex(x, x, out=o(2, 2)),
    "matmul": lambda lib, x, o: lib.matmul(x, x, out=o(2, 2)),
    "amax": lambda lib, x, o: lib.amax(x, 0, out=o(2)),
    "take": lambda lib, x, o: lib.take(x, lib.tensor([0]), out=o(1)),
    "abs": lambda lib, x, o: lib.abs(x, out=o(2, 2)),
    "neg": lambda lib, x, o: lib.neg(x, out=o(2, 2)),
    "ceil": lambda lib, x, o: lib.ceil(x, out=o(2, 2)),
    "round": lambda lib, x, o: lib.round(x, out=o(2, 2)),
    "sign": lambda lib, x, o: lib.sign(x, out=o(2, 2)),
    "lerp": lambda lib, x, o: lib.lerp(x, x, x, out=o(2, 2)),
    "heaviside": lambda lib, x, o: lib.heaviside(x, x, out=o(2, 2)),
    "dot": lambda lib, x, o: lib.dot(x[0], x[1], out=o()),
    "inner": lambda lib, x, o: lib.inner(x[0], x[1], out=o()),
    "tensordot": lambda lib, x, o: lib.tensordot(x, x, out=o()),
    "norm": lambda lib, x, o: lib.norm(x, out=o()),
    "quantile": lambda lib, x, o: lib.quantile(x, 0.5, out=o()),
    "isin": lambda lib, x, o: lib.isin(x, x, out=o(2, 2)),
    "nonzero": lambda lib, x, o: lib.nonzero(x, out=o(4, 2)),
    "clamp_min": lambda lib, x, o: lib.clamp_min(x, 1.0, out=o(2, 2)),
    "median": lambda lib, x, o: lib.median(
        x, 0, out=(o(2), lib.empty(2, dtype=lib.int64))
    )[0],
    "logsumexp": lambda lib, x, o: lib.logsumexp(x, 0, out=o(2)),
    "add": lambda lib, x, o: lib.add(x, x, out=o(2, 2)),
    "exp": lambda lib, x, o: lib.exp(x, out=o(2, 2)),
    "mean": lambda lib, x, o: lib.mean(x, 0, out=o(2)),
    "cat": lambda lib, x, o: lib.cat([x, x], out=o(4, 2)),
}


@pytest.mark.parametrize("name", OUT)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "complex64"])
def test_dtypes_of_out(name: str, dtype: str) -> None:
    """`out=` of a dtype that torch does not take is refused, another is filled."""

    def call(lib: Any) -> Any:
        def out(*size: int) -> Any:
            return lib.empty(*size, dtype=getattr(lib, dtype))

        return OUT[name](lib, lib.tensor(MATRIX), out)

    agree(call)


COUNTED: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "repeat": lambda x, n: x.repeat(n, n),
    "repeat list": lambda x, n: x.repeat([n, n]),
    "expand": lambda x, n: x.expand(n, n),
    "tile": lambda x, n: x.tile((n, n)),
    "reshape": lambda x, n: x.reshape([n, n]),
    "new_zeros": lambda x, n: x.new_zeros([n, 2]),
}


@pytest.mark.parametrize("name", COUNTED)
@pytest.mark.parametrize("dtype", ["bool", "int64", "uint8", "float32"])
def test_counts_in_tensors(name: str, dtype: str) -> None:
    """A tensor of an integer counts, one of a bool or of a float does not."""
    agree(
        lambda lib: COUNTED[name](
            lib.ones(1, 1), lib.tensor(1, dtype=getattr(lib, dtype))
        )
    )


@law
@given(
    y=st.lists(st.integers(1, 4), min_size=1, max_size=3),
    count=st.integers(1, 5), dim=st.integers(-3, 2), so_far=st.booleans(),
)  # fmt: skip
def test_places_of_trapezoids(y: list[int], count: int, dim: int, so_far: bool) -> None:
    """There is one place for each sample along the dim."""
    if not -len(y) <= dim < len(y):
        return

    def call(lib: Any) -> Any:
        x = lib.arange(count, dtype=lib.float32)
        name = "cumulative_trapezoid" if so_far else "trapezoid"
        return getattr(lib, name)(lib.ones(*y), x, dim=dim)

    agree(call)


@pytest.mark.parametrize("spacing", ["sum", b"1"])
@pytest.mark.parametrize("dim", [(), (0,)])
def test_spacings_are_numbers(spacing: Any, dim: tuple[int, ...]) -> None:
    """A string is no sequence of numbers, even where none is needed."""
    agree(lambda lib: lib.gradient(lib.ones(4), spacing=spacing, dim=dim))


@law
@given(
    parts=st.integers(1, 8) | st.integers(1 << 60, (1 << 63) - 1),
    length=st.integers(0, 5),
    name=st.sampled_from(["tensor_split", "chunk", "hsplit"]),
)
def test_more_parts_than_there_is_room_for(parts: int, length: int, name: str) -> None:
    """Parts without number are refused at once, a few are torch's."""

    def lengths(lib: Any) -> Any:
        found = getattr(lib, name)(lib.ones(length), parts)
        return lib.tensor([len(part) for part in found])

    agree(lengths)


@pytest.mark.parametrize("call", [
    lambda lib, x: lib.nn.functional.grid_sample(
        x.reshape(1, 1, 2, 2), lib.zeros(1, 2, 2, 2), align_corners=False
    ),
    lambda lib, x: lib.repeat_interleave(x, x),
    lambda lib, x: x.narrow(0, lib.tensor(1.0), 2),
])  # fmt: skip
def test_dtypes_of_operands_are_errors_of_torchs_class(call: Any) -> None:
    """Those that torch tells by a RuntimeError can be caught so."""
    for lib in (torch, dovetail):
        with pytest.raises(RuntimeError):
            call(lib, lib.ones(4, dtype=lib.float64))
