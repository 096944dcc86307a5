"""The namespace of the Python array API standard."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import child

import dovetail as dt
from dovetail import array_api as xp
from dovetail.array_api.slices import backwards
from dovetail.errors import ArgumentError, DTypeError

NAMES = """
arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid ones
ones_like tril triu zeros zeros_like abs acos acosh add asin asinh atan atan2 atanh
bitwise_and bitwise_left_shift bitwise_invert bitwise_or bitwise_right_shift bitwise_xor
ceil clip conj copysign cos cosh divide equal exp expm1 floor floor_divide greater
greater_equal hypot imag isfinite isinf isnan less less_equal log log1p log2 log10
logaddexp logical_and logical_not logical_or logical_xor maximum minimum multiply
negative nextafter not_equal positive pow real reciprocal remainder round sign signbit
sin sinh square sqrt subtract tan tanh trunc matmul matrix_transpose tensordot vecdot
broadcast_arrays broadcast_shapes broadcast_to concat expand_dims flip moveaxis
permute_dims repeat reshape roll squeeze stack tile unstack astype can_cast finfo iinfo
isdtype result_type take take_along_axis argmax argmin count_nonzero nonzero
searchsorted where isin unique_all unique_counts unique_inverse unique_values argsort
sort cumulative_prod cumulative_sum max mean min prod std sum var all any diff
__array_namespace_info__ e inf nan newaxis pi bool int8 int16 int32 int64 uint8 uint16
uint32 uint64 float32 float64 complex64 complex128 fft.fft fft.ifft fft.fftn fft.ifftn
fft.rfft fft.irfft fft.rfftn fft.irfftn fft.hfft fft.ihfft fft.fftfreq fft.rfftfreq
fft.fftshift fft.ifftshift linalg.cholesky linalg.cross linalg.det linalg.diagonal
linalg.eig linalg.eigh linalg.eigvals linalg.eigvalsh linalg.inv linalg.matmul
linalg.matrix_norm linalg.matrix_power linalg.matrix_rank linalg.matrix_transpose
linalg.outer linalg.pinv linalg.qr linalg.slogdet linalg.solve linalg.svd linalg.svdvals
linalg.tensordot linalg.trace linalg.vecdot linalg.vector_norm
"""

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
INEXACT = ["float32", "float64", "complex64", "complex128"]


def _lacks(space: object, path: str) -> bool:
    for part in path.split("."):
        if not hasattr(space, part):
            return True
        space = getattr(space, part)
    return False


def test_has_the_standards_names() -> None:
    """Every name of version 2025.12 is there, and in 2024.12 too."""
    older = dt.ones(1).__array_namespace__(api_version="2024.12")
    for space in (xp, older):
        assert [name for name in NAMES.split() if _lacks(space, name)] == []


def test_tensors_have_the_namespace() -> None:
    """A tensor gives the namespace, by version; another one is refused."""
    x = dt.ones(1)
    assert x.__array_namespace__() is xp
    assert xp.__array_api_version__ == "2025.12"
    older = x.__array_namespace__(api_version="2024.12")
    assert older.__array_api_version__ == "2024.12"
    with pytest.raises(ArgumentError, match=r"2021\.12.*needed one of 2025\.12"):
        x.__array_namespace__(api_version="2021.12")


def test_is_loaded_when_asked_for() -> None:
    """`import dovetail` leaves the namespace where it is."""
    code = "import sys, dovetail; print('dovetail.array_api' in sys.modules)"
    assert child.printed(code).strip() == "False"


def test_sequences_by_version() -> None:
    """What is a list in 2024.12 is a tuple from 2025.12 on."""
    older = dt.ones(1).__array_namespace__(api_version="2024.12")
    for space, kind in ((xp, tuple), (older, list)):
        x = space.ones(2)
        assert type(space.meshgrid(x, x)) is kind
        assert type(space.broadcast_arrays(x, x)) is kind
        assert type(space.__array_namespace_info__().devices()) is kind


# ---- classes


def test_plain_tensors_stay_plain() -> None:
    """Results are Arrays where all operands are, and plain tensors elsewhere."""
    array, tensor = xp.ones(2), dt.ones(2)
    assert type(array) is xp.Array
    assert type(xp.add(array, array)) is type(array + array) is xp.Array
    assert type(xp.add(array, tensor)) is type(array + tensor) is dt.Tensor
    assert type(tensor + array) is type(xp.exp(tensor)) is dt.Tensor
    assert type(xp.linalg.svd(xp.ones((2, 2))).S) is xp.Array


def test_gradients_flow() -> None:
    """What the namespace computes of a tensor is on its tape."""
    x = dt.tensor([1.0, 2.0], requires_grad=True)
    xp.sum(xp.multiply(x, x)).backward()
    assert x.grad.tolist() == [2.0, 4.0]


def test_size_is_read_and_called() -> None:
    """The standard's property serves who calls torch's method."""
    x = xp.ones((2, 3))
    assert x.size == 6
    assert x.size(1) == 3
    assert tuple(x.size()) == (2, 3)


def test_in_place_keeps_the_array() -> None:
    """`x += y` writes into x, which keeps its dtype."""
    x = xp.ones(2, dtype=xp.float32)
    same = x
    x += xp.asarray([1, 2], dtype=xp.float32)
    x //= xp.asarray(2.0)
    assert x is same
    assert x.tolist() == [1.0, 1.0]
    assert x.dtype is xp.float32


# ---- promotion


@pytest.mark.parametrize(
    ("first", "second"),
    [
        *itertools.product(INTEGERS, INTEGERS),
        *itertools.product(INEXACT, INEXACT),
    ],
)
def test_promotes_by_dtypes_alone(first: str, second: str) -> None:
    """Arrays without dims promote as others do, to what NumPy says."""
    a = xp.ones((), dtype=getattr(xp, first))
    b = xp.ones(2, dtype=getattr(xp, second))
    if {first, second} & {"uint64"} and {first, second} & set(INTEGERS[:4]):
        with pytest.raises(DTypeError):
            xp.add(a, b)
        return
    expected = np.result_type(first, second).name
    assert xp.add(a, b).dtype.name == (a + b).dtype.name == expected
    assert xp.result_type(a, b.dtype).name == expected
    if first in INTEGERS:
        assert (
            (a << b).dtype.name == (a >> b).dtype.name == (a | b).dtype.name == expected
        )
    assert xp.can_cast(a, b.dtype) == (expected == second)


@pytest.mark.parametrize(
    ("dtype", "number", "expected"),
    [
        ("int8", 1, "int8"), ("float32", 1, "float32"), ("float64", 1.5, "float64"),
        ("float32", 1j, "complex64"), ("float64", 1j, "complex128"),
        ("complex64", 1, "complex64"), ("int16", 1.5, "float32"),
        ("bool", True, "bool"), ("bool", 1, "int64"),
    ],
)  # fmt: skip
def test_numbers_take_the_arrays_dtype(
    dtype: str, number: complex, expected: str
) -> None:
    """A number beside an array, on either side, is of its dtype where it fits."""
    x = xp.ones(2, dtype=getattr(xp, dtype))
    assert xp.result_type(x, number).name == expected
    assert xp.result_type(number, x.dtype).name == expected
    assert xp.where(x != 0, number, x).dtype.name == expected


def test_plain_tensors_promote_as_torch() -> None:
    """Operators of plain tensors are none of the standard's business."""
    assert (dt.ones(2) + dt.tensor(1.0, dtype=dt.float64)).dtype is dt.float32


# ---- indices


SLICES = st.slices(6)


@given(st.tuples(SLICES, SLICES), st.booleans())
def test_slices_step_backwards(index: tuple[slice, slice], inserts: bool) -> None:
    """Slices of every step take what NumPy's take, and write there."""
    values = np.arange(36.0).reshape(6, 6)
    key = (index[0], None, index[1]) if inserts else index
    x = xp.asarray(values, copy=True)
    expected = values[key]
    assert np.array_equal(x[key].numpy(), expected)
    fresh = -np.arange(float(expected.size)).reshape(expected.shape)
    x[key] = xp.asarray(fresh)
    values[key] = fresh
    assert np.array_equal(x.numpy(), values)


def test_backwards_counts_what_the_ellipsis_takes() -> None:
    """Dims are counted across `...` and integers."""
    index, turned = backwards((0, ..., slice(None, None, -1)), (2, 3, 4))
    assert index == (0, ..., slice(0, 4, 1))
    assert turned == (1,)


def test_masks_of_no_size_select_nothing() -> None:
    """A mask of size 0 fits a dim of any size."""
    found = xp.ones((3, 2))[xp.zeros(0, dtype=xp.bool)]
    assert tuple(found.shape) == (0, 2)


# ---- values


def test_floor_quotients_at_infinity() -> None:
    """Quotients with an infinite operand are rounded as real ones, by operators too."""
    inf = float("inf")
    x1, x2 = xp.asarray([inf, -inf, 1.0, -1.0, 7.0]), xp.asarray([2.0, 2, -inf, inf, 2])
    for found in (xp.floor_divide(x1, x2), x1 // x2):
        assert found.tolist() == [inf, -inf, 0.0, 0.0, 3.0]
        assert xp.signbit(found).tolist() == [False, True, True, True, False]


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("sign", float("nan"), float("nan")),
        ("expm1", complex(float("-inf"), float("nan")), complex(-1, 0)),
        ("expm1", complex(float("inf"), 0), complex(float("inf"), 0)),
        ("log1p", complex(float("nan"), float("inf")), complex("inf+nanj")),
        ("tanh", complex(float("inf"), 2.5), complex(1, 0)),
        ("imag", 2.0, 0.0),
        ("round", 1.5 + 2.5j, 2 + 2j),
    ],
)
def test_special_values(name: str, value: complex, expected: complex) -> None:
    """Values at infinity, and of NaN, are the standard's."""
    found = getattr(xp, name)(xp.asarray([value])).numpy()[0]
    assert np.array_equal(found, np.asarray(expected, found.dtype), equal_nan=True)


@pytest.mark.parametrize("dtype", ["float64", "complex128", "int8"])
def test_unique_keeps_first_places(dtype: str) -> None:
    """Values, first places, inverses and counts fit each other; each NaN is its own."""
    numbers = [3, 1, 3, 2, 1, 3]
    x = xp.asarray(numbers, dtype=getattr(xp, dtype))
    if dtype != "int8":
        x = xp.concat([x, xp.asarray([xp.nan, xp.nan], dtype=x.dtype)])
    found = xp.unique_all(x)
    assert found.counts.tolist()[:3] == [2, 1, 3]
    assert found.indices.tolist()[:3] == [1, 3, 0]
    again = found.values[found.inverse_indices]
    assert np.array_equal(again.numpy(), x.numpy(), equal_nan=dtype != "int8")
    assert len(found.values) == (3 if dtype == "int8" else 5)


def test_totals_are_of_the_widest_integers() -> None:
    """Sums of small integers are of 64 bits and keep their sign's kind."""
    assert xp.sum(xp.ones(2, dtype=xp.uint8)).dtype is xp.uint64
    assert xp.prod(xp.ones(2, dtype=xp.int8)).dtype is xp.int64
    assert xp.cumulative_sum(xp.ones(2, dtype=xp.int16)).dtype is xp.int64
    assert xp.sum(xp.ones(2, dtype=xp.float32)).dtype is xp.float32


def test_running_totals_may_start_before() -> None:
    """With the initial value there is one element more."""
    x = xp.asarray([[2.0, 3.0], [4.0, 5.0]])
    found = xp.cumulative_prod(x, axis=1, include_initial=True)
    assert found.tolist() == [[1.0, 2.0, 6.0], [1.0, 4.0, 20.0]]


def test_dot_products_need_one_size() -> None:
    """Along the dim of the product nothing is stretched; other dims are."""
    x = xp.asarray([[1 + 1j, 2], [3, 4]])
    assert xp.vecdot(x, x[0, :]).tolist() == [6 + 0j, 11 + 3j]
    with pytest.raises(RuntimeError, match="of sizes 2 and 1, needed one size"):
        xp.vecdot(x, xp.ones(1))


def test_complex_numbers_keep_infinite_parts() -> None:
    """A part that is infinite leaves the other one as it is."""
    inf, nan = float("inf"), float("nan")
    parts = dt.tensor([inf, 1.0, -inf, nan]), dt.tensor([nan, -inf, 2.0, inf])
    found = dt.complex(*parts)
    assert np.array_equal(found.numpy().real, parts[0].numpy(), equal_nan=True)
    assert np.array_equal(found.numpy().imag, parts[1].numpy(), equal_nan=True)


def test_asarray_shares_or_copies() -> None:
    """Memory is shared unless a copy is asked for; what needs one may refuse."""
    memory = np.zeros(3, dtype=np.float32)
    shared, own = xp.asarray(memory), xp.asarray(memory, copy=True)
    memory[0] = 5.0
    assert shared[0] == 5.0
    assert own[0] == 0.0
    with pytest.raises(ValueError, match="copy"):
        xp.asarray(memory, dtype=xp.float64, copy=False)
    with pytest.raises(ValueError, match="copy"):
        xp.asarray([1.0], copy=False)


def test_asarray_reads_buffers() -> None:
    """Any object with Python's buffer protocol has elements."""
    assert xp.asarray(b"ab").tolist() == [97, 98]
    assert xp.asarray(memoryview(np.eye(2))).tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_inspection_tells_what_devices_have() -> None:
    """Kinds list the standard's dtypes, of which a device may lack some."""
    info = xp.__array_namespace_info__()
    assert info.dtypes(kind=("bool", "real floating")) == {
        "bool": xp.bool, "float32": xp.float32, "float64": xp.float64,
    }  # fmt: skip
    assert info.default_dtypes()["integral"] is xp.int64
    assert info.default_device() in info.devices()
    with pytest.raises(ValueError, match="'int'"):
        info.dtypes(kind="int")


def test_casts_keep_imaginary_parts() -> None:
    """Complex numbers become no real ones."""
    with pytest.raises(DTypeError, match="needed a complex one"):
        xp.astype(xp.ones(1, dtype=xp.complex64), xp.float32)
