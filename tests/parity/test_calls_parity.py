"""Calls whose meaning lies in how they are written: both libraries agree on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.parity import answers

import dovetail as dt
from dovetail.errors import DovetailError

torch = pytest.importorskip("torch")

law = settings(deadline=None, database=None, derandomize=True, max_examples=50)


def agree(call: Callable[[Any], Any]) -> None:
    """Both refuse, or both answer with the same shape, dtype and values."""
    found = answers(call)
    if found is None:
        return
    ours, theirs = found
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert str(ours.dtype).split(".")[-1] == str(theirs.dtype).split(".")[-1]
    assert ours.tolist() == theirs.tolist()


MADE: Final[dict[str, Callable[[Any], Any]]] = {
    "nothing": lambda lib: lib.Tensor(),
    "a list": lambda lib: lib.Tensor([1, 2]),
    "nested": lambda lib: lib.Tensor([[1.5, 2], [3, 4]]),
    "a tuple": lambda lib: lib.Tensor((2, 3)),
    "an empty tuple": lambda lib: lib.Tensor(()),
    "bools": lambda lib: lib.Tensor([True]),
    "an array": lambda lib: lib.Tensor(np.asarray([1, 2])),
    "a range": lambda lib: lib.Tensor(range(3)),
    "a tensor": lambda lib: lib.Tensor(lib.tensor([1, 2])),
    "a number in a tensor": lambda lib: lib.Tensor(lib.tensor(3)),
    "no size": lambda lib: lib.Tensor(0),
    "sizes": lambda lib: lib.Tensor(2, 0, 3),
    "a Size": lambda lib: lib.Tensor(lib.Size([0, 2])),
    "a size of NumPy's": lambda lib: lib.Tensor(np.int64(0)),
    "a float": lambda lib: lib.Tensor(1.5),
    "a bool": lambda lib: lib.Tensor(True),
    "text": lambda lib: lib.Tensor("a"),
    "None": lambda lib: lib.Tensor(None),
    "a negative size": lambda lib: lib.Tensor(-1),
    "a list and a size": lambda lib: lib.Tensor([1], 2),
    "complex numbers": lambda lib: lib.Tensor([1j]),
    "ragged": lambda lib: lib.Tensor([[1], [2, 3]]),
    "a dtype": lambda lib: lib.Tensor(2, dtype=lib.float64),
    "another device": lambda lib: lib.Tensor(2, device="meta"),
}  # fmt: skip


@pytest.mark.parametrize("name", MADE)
def test_tensor_called(name: str) -> None:
    """`Tensor(…)` takes sizes, sequences and tensors, and nothing else."""
    agree(MADE[name])


def test_tensor_called_shares_a_tensor() -> None:
    """Of a tensor it is a view, on the tape; a subclass makes its own."""
    x = dt.zeros(2, requires_grad=True)
    made = dt.Tensor(x)
    made.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]

    class Own(dt.Tensor):
        """A user's class."""

    assert type(Own([1.0])) is Own


ENTRIES: Final = st.sampled_from(
    [..., 0, 1, -1, None, slice(1, None), slice(None), "places", "mask"]
)


@law
@given(st.lists(ENTRIES, max_size=5))
def test_several_ellipses(entries: list[Any]) -> None:
    """The first `...` takes the dims that are left, wherever others stand."""

    def call(lib: Any) -> Any:
        x = lib.arange(24).reshape(2, 3, 4)
        special = {"places": lib.tensor([1, 0]), "mask": lib.tensor([True, False])}
        index = [special.get(e, e) if isinstance(e, str) else e for e in entries]
        return x[tuple(index)]

    agree(call)


@law
@given(st.lists(st.integers(-3, 4), min_size=1, max_size=3))
@pytest.mark.parametrize("name", ["reshape", "view", "expand", "broadcast_to"])
@pytest.mark.parametrize("shape", [(), (4,), (1, 4), (2, 0)])
def test_negative_sizes(name: str, shape: Any, sizes: list[int]) -> None:
    """-1 stands for a size that follows; every other negative one is refused."""
    if name in ("expand", "broadcast_to") and 0 in sizes and min(sizes) < 0:
        return  # torch lets sizes below -1 pass beside a 0
    agree(lambda lib: getattr(lib.ones(shape), name)(sizes))
    agree(lambda lib: getattr(lib.ones(shape), name)(*sizes))


@pytest.mark.parametrize("name", ["all", "any", "sum", "amax"])
@pytest.mark.parametrize("keepdim", [False, True])
@law
@given(dim=st.sampled_from([(), [], (0,), (0, 1), (1, -2), (0, 0), 0, -1, 2, None]))
def test_dims(name: str, keepdim: bool, dim: Any) -> None:
    """No dims, one, several and None mean the same, or are refused alike."""
    agree(lambda lib: getattr(lib.ones(2, 3), name)(dim, keepdim))


def test_arrays_are_compared_as_tensors() -> None:
    """`==` with an array of NumPy's, on either side, compares the elements."""
    agree(lambda lib: lib.tensor([1.0, 2.0]) == np.asarray([1.0, 3.0]))
    agree(lambda lib: np.asarray([1.0, 3.0]) == lib.tensor([1.0, 2.0]))


# What stands beside the refusals, and is served.
SERVED: Final[dict[str, Callable[[Any], Any]]] = {
    "the product of all": lambda lib: lib.ones(2, 3).mul(2).prod(),
    "squeezed of all": lambda lib: lib.arange(3).reshape(1, 3, 1).squeeze(),
    "squeezed of none": lambda lib: lib.arange(3).reshape(1, 3, 1).squeeze(()),
    "an integer sum without gradients": lambda lib: lib.ones(2).sum(dtype=lib.int64),
    "an integer quotient added": lambda lib: lib.ones(2).addcdiv(
        lib.tensor([1]), lib.tensor([2.0])
    ),
    "an integer of NumPy's written": lambda lib: written_at(lib, 0, np.int64(3)),
    "bytes as a mask of values": lambda lib: written_at(
        lib, lib.ones(2, dtype=lib.uint8), lib.tensor([1.0, 2.0])
    ),
    "to a dtype, and a copy": lambda lib: lib.ones(2).to(lib.float64, False, True),
    "a correction of no dims": lambda lib: lib.arange(3.0).var(
        correction=lib.tensor(1)
    ),
    "a norm of no lines": lambda lib: lib.ones(2, 0).norm(-1, 0),
    "classes in bytes": lambda lib: lib.nn.functional.nll_loss(
        lib.ones(2, 3), lib.tensor([0, 2], dtype=lib.uint8)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SERVED)
def test_served_by_both(name: str) -> None:
    """What torch serves beside what it refuses is served, with its values."""
    agree(SERVED[name])


def test_a_flag_by_place_asks_for_a_copy() -> None:
    """The last flag of `to` is `copy`, also by place."""
    for lib in (dt, torch):
        x = lib.ones(2)
        assert x.to(lib.float32, False, True) is not x
        assert x.to(lib.float32, False) is x


def test_the_dtype_of_a_mean_on_meta() -> None:
    """A mean without values has the dtype that was asked for."""
    assert dt.ones(2, device="meta").nanmean(dtype=dt.float64).dtype is dt.float64


def written(lib: Any, values: Any, accumulate: bool) -> Any:
    x = lib.zeros(3).expand(2, 3)
    at = (lib.tensor([0, 0]), lib.tensor([2, 1]))
    return x.index_put_(at, lib.tensor(values), accumulate)


@pytest.mark.parametrize("values", [5.0, [5.0, 6.0]])
def test_writing_to_expanded_places(values: Any) -> None:
    """`index_put_` writes where elements share memory, as torch does with a warning."""
    agree(lambda lib: written(lib, values, False))


def written_at(lib: Any, index: Any, value: Any) -> Any:
    x = lib.zeros(2)
    x[index] = value
    return x


REFUSED: Final[dict[str, Callable[[Any], Any]]] = {
    "cumsum_ in another dtype": lambda lib: lib.ones(2).cumsum_(0, dtype=lib.float64),
    "float_power_ of float32": lambda lib: lib.ones(2).float_power_(2),
    "max of None": lambda lib: lib.ones(2).max(None),
    "sections of None": lambda lib: lib.ones(2, 3, 4).dsplit(
        sections=None, indices=[1]
    ),
    "indices of None": lambda lib: lib.ones(4).tensor_split(2, indices=None),
    "min of a dim and a tensor": lambda lib: lib.ones(2).min(0, other=lib.ones(2)),
    "places of 8 bits": lambda lib: lib.ones(2)[lib.tensor([0], dtype=lib.int8)],
    "a slice for a dim": lambda lib: lib.ones(2).size(slice(None)),
    "a sign from the CPU, on meta": lambda lib: lib.ones(3, device="meta").copysign(
        lib.ones(())
    ),
    "a dividend on the CPU, of a divisor on meta": lambda lib: lib.ones(())
    // lib.ones(3, device="meta"),
    "an array beside meta": lambda lib: lib.ones(3, device="meta") == np.ones(3),
    "Python's int for a type": lambda lib: lib.ones(2).type(int),
    "a NumPy integer for a variance": lambda lib: (
        lib.nn.functional.gaussian_nll_loss(lib.ones(1), lib.ones(1), np.int64(2))
    ),
    "one size by name": lambda lib: lib.ones(2).view(size=2),
    "one dim by name": lambda lib: lib.ones(2).permute(dims=0),
    "a dtype as size": lambda lib: lib.ones(2).view(size=lib.int32),
    "a wider dtype from between its elements": lambda lib: lib.ones(5)[1:].view(
        lib.float64
    ),
    "a wider dtype of nothing, across": lambda lib: lib.ones(2, 0).view(lib.float64),
    "a narrower dtype of a column": lambda lib: lib.ones(2, 3)[:, :1].T.view(lib.int8),
    "view in a size and a dtype": lambda lib: lib.ones(2).view((2,), dtype=lib.int32),
    "negative places without a dim": lambda lib: lib.take_along_dim(
        lib.ones(3), lib.tensor([-1])
    ),
    "bytes that 64 bits do not count": lambda lib: lib.empty(1 << 62, device="meta"),
    "out of meta": lambda lib: lib.ones(2).copy_(lib.ones(2, device="meta")),
    "a result on meta": lambda lib: lib.ones(()).lt_(lib.ones((), device="meta")),
    "bools subtracted": lambda lib: lib.ones(2) - True,
    "other dtypes compared": lambda lib: lib.ones(2).isclose(lib.ones(2).double()),
    "sizes that do not expand": lambda lib: lib.ones(3, 3).sum_to_size(2),
    "fractions beyond 1": lambda lib: lib.ones(3).quantile(lib.tensor([0.5, 2.0])),
    "no counts": lambda lib: lib.tensor([1]).repeat_interleave(),
    "a pooled size of None": lambda lib: lib.nn.functional.adaptive_max_pool1d(
        lib.ones(1, 1, 4), None
    ),
    "a shape of nothing": lambda lib: lib.nn.functional.layer_norm(lib.ones(2), ()),
    "an expanded tensor copied to": lambda lib: lib.ones(1).expand(3).copy_(2),
    "the norm of integers as floats": lambda lib: lib.tensor([1]).norm(
        dtype=lib.float32
    ),
    "places of 32 bits": lambda lib: lib.ones(6).tensor_split(
        lib.tensor([1], dtype=lib.int32)
    ),
    "an array of another length": lambda lib: lib.ones(3) == np.ones(2),
    "bools for integers": lambda lib: lib.ones(4).chunk(True),
    "a zero of NumPy's": lambda lib: np.int64(2) // lib.tensor([0]),
    "the product over None": lambda lib: lib.ones(2).prod(None),
    "squeezed by None": lambda lib: lib.ones(2, 1).squeeze(dim=None),
    "squeezed in place by None": lambda lib: lib.ones(2, 1).squeeze_(None),
    "gradients of an integer sum": lambda lib: lib.ones(
        2, requires_grad=True
    ).sum(dtype=lib.int64),
    "gradients of an integer product": lambda lib: lib.ones(
        2, requires_grad=True
    ).cumprod(0, dtype=lib.int8),
    "quotients of integers added": lambda lib: lib.ones(2).addcdiv(
        lib.tensor([1]), lib.tensor([True])
    ),
    "the same in place": lambda lib: lib.ones(2).addcdiv_(
        lib.tensor([1]), lib.tensor([2])
    ),
    "a tuple written": lambda lib: written_at(lib, ..., (1.0, 2.0)),
    "an array written at places": lambda lib: written_at(
        lib, lib.tensor([0, 1]), np.ones(2)
    ),
    "more than 63 bits written": lambda lib: written_at(lib, 0, 1 << 63),
    "bytes as a mask": lambda lib: written_at(
        lib, lib.ones(2, dtype=lib.uint8), 9.0
    ),
    "pinned by new_tensor": lambda lib: lib.ones(2).new_tensor([1], pin_memory=False),
    "laid out by new_tensor": lambda lib: lib.ones(2).new_tensor([1], layout=None),
    "a dim beside another": lambda lib: lib.ones(2).max(dim=0, other=lib.ones(2)),
    "another by place and by name": lambda lib: lib.ones(2).max(
        lib.ones(2), other=lib.ones(2)
    ),
    "sparse dims beside dense ones": lambda lib: lib.ones(2).to_sparse(
        1, dense_dim=None
    ),
    "sparse dims by name beside a layout": lambda lib: lib.ones(2).to_sparse(
        sparse_dim=1, layout=lib.sparse_coo
    ),
    "sizes below zero": lambda lib: lib.broadcast_shapes(-1),
    "a size of NumPy's to unravel": lambda lib: lib.unravel_index(
        lib.arange(3), np.int64(2)
    ),
    "the truth in floats": lambda lib: lib.all(lib.ones(2), out=lib.ones(())),
    "a leaf as integers": lambda lib: lib.asarray(
        lib.ones(1, requires_grad=True), dtype=lib.uint16
    ),
    "weights of nothing": lambda lib: lib.ones(2, 0).cov(aweights=lib.ones(0)),
    "a bool tensor as dim": lambda lib: lib.ones(2, 2).argsort(lib.tensor(False)),
    "a tensor from elsewhere, new": lambda lib: lib.ones(()).new(
        lib.ones(2, 0, device="meta")
    ),
    "channels without a batch": lambda lib: lib.nn.CrossMapLRN2d(2)(lib.ones(2, 3, 4)),
    "limited rows of a number": lambda lib: lib.nn.functional.embedding(
        lib.zeros(3, dtype=lib.int64), lib.ones(()), max_norm=1.0
    ),
    "rows that are tensors": lambda lib: lib.tensor([lib.ones(2), lib.ones(2)]),
    "an empty tensor for a number": lambda lib: lib.as_tensor([lib.ones(0)]),
    "a covariance with a place": lambda lib: lib.cov(lib.ones(2), out=lib.ones(())),
    "slopes along a dim of a number": lambda lib: lib.gradient(lib.ones(()), dim=-1),
    "to two tensors": lambda lib: lib.ones(2).to(lib.ones(1), lib.ones(1)),
    "to a device and a flag": lambda lib: lib.ones(2).to("cpu", True),
    "a flag and a correction": lambda lib: lib.ones(3).var(
        unbiased=False, correction=None
    ),
    "a flag by place and a correction": lambda lib: lib.var_mean(
        lib.ones(3), False, correction=1
    ),
    "a tensor as correction": lambda lib: lib.ones(3).var(correction=lib.ones(2)),
    "a huge correction": lambda lib: lib.ones(3).var(correction=1 << 70),
    "a distance over nothing": lambda lib: lib.ones(0).dist(lib.ones(0), -1),
    "a norm over nothing, on meta": lambda lib: lib.ones(
        2, 0, device="meta"
    ).norm(-0.5, 1),
    "a huge norm": lambda lib: lib.nn.functional.normalize(lib.ones(2), 1 << 70, 0),
    "an integer mean on meta": lambda lib: lib.ones(2, device="meta").nanmean(
        dtype=lib.int32
    ),
    "a number of NumPy's for a tensor": lambda lib: lib.ones(3).lerp(np.int64(2), 0.5),
    "places of 8 bits gathered": lambda lib: lib.ones(2).gather(
        0, lib.tensor([0], dtype=lib.uint8)
    ),
    "places of 32 bits filled": lambda lib: lib.ones(2).index_fill(
        0, lib.tensor([0], dtype=lib.int32), 1
    ),
    "quantiles of 16 bits": lambda lib: lib.ones(2).half().quantile(0.5),
    "a plain dict of layers": lambda lib: lib.nn.Sequential({"a": lib.nn.ReLU()}),
    "a dim in a tensor of dims": lambda lib: lib.ones(2, 3).movedim(
        lib.tensor([0]), 1
    ),
    "complex weights of observations": lambda lib: lib.ones(3, dtype=lib.complex64).cov(
        aweights=lib.ones(3, dtype=lib.complex64)
    ),
    "labels without a dim": lambda lib: (
        lib.nn.functional.multilabel_soft_margin_loss(lib.ones(()), lib.ones(3))
    ),
    "layers of no channels": lambda lib: lib.nn.BatchNorm1d(0)(lib.ones(2, 0)),
    "an inner product with a number on another device": lambda lib: lib.ones(
        3, device="meta"
    ).inner(lib.ones(())),
    "a number on another device, broadcast": lambda lib: lib.nn.functional.l1_loss(
        lib.ones(()), lib.ones(3, device="meta")
    ),
}  # fmt: skip


BUILTIN: Final = (RuntimeError, TypeError, ValueError, IndexError, OverflowError)


@pytest.mark.filterwarnings("ignore:Using a target size")
@pytest.mark.parametrize("name", REFUSED)
def test_refused_by_both(name: str) -> None:
    """What torch refuses is refused, and again."""
    for _ in range(2):
        with pytest.raises(BUILTIN):
            REFUSED[name](torch)
        with pytest.raises(DovetailError):
            REFUSED[name](dt)
