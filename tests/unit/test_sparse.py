"""Sparse tensors: laws that tie them to dense ones, on every device, and refusals."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dovetail as dt
from dovetail import optim
from dovetail.engine.tensor import Tensor
from dovetail.errors import DovetailError, InplaceError, NotSupported
from dovetail.nn import functional as F
from dovetail.sparse import SparseTensor


@st.composite
def sparse_tensors(draw: st.DrawFn, dims: int | None = None) -> SparseTensor:
    """A tensor of small whole numbers, of which places may have several, or none."""
    count = draw(st.integers(1, 3)) if dims is None else dims
    dense = draw(st.lists(st.integers(1, 3), max_size=1)) if dims is None else []
    sizes = draw(st.lists(st.integers(1, 4), min_size=count, max_size=count))
    number = draw(st.integers(0, 6))
    seed = np.random.default_rng(draw(st.integers(0, 1 << 16)))
    at = np.stack([seed.integers(0, n, number) for n in sizes])
    values = seed.integers(-3, 4, (number, *dense)).astype(np.float32)
    made: Any = dt.sparse_coo_tensor(
        dt.from_numpy(at), dt.from_numpy(values), (*sizes, *dense)
    )
    return made  # type: ignore[no-any-return]


def dense_of(x: Any) -> np.ndarray[Any, Any]:
    """All elements, added up by NumPy from the parts of a sparse tensor."""
    if not isinstance(x, SparseTensor):
        found: np.ndarray[Any, Any] = x.detach().numpy()
        return found
    x = x.to_sparse_coo()
    total = np.zeros(tuple(x.shape), x._values().numpy().dtype)
    np.add.at(total, tuple(x._indices().numpy()), x._values().numpy())
    return total


def equal(x: Any, wanted: Any) -> None:
    """The two have the same shape and elements."""
    wanted = dense_of(wanted)
    assert tuple(x.shape) == wanted.shape
    np.testing.assert_array_equal(dense_of(x), wanted)


@given(x=sparse_tensors())
def test_coalesced(x: Any) -> None:
    """Coalescing puts places in order, none twice, and changes no element."""
    y = x.coalesce()
    at = list(zip(*y.indices().tolist(), strict=True))
    assert at == sorted(set(at))
    assert y.is_coalesced()
    equal(y, x)
    equal(x.to_dense(), x)
    assert y.coalesce() is y


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "twice": lambda x: x * 2, "neg": lambda x: -x, "half": lambda x: x / 2,
    "abs": abs, "square": lambda x: x**2, "relu": F.relu, "sin": dt.sin,
    "unsqueeze": lambda x: x.unsqueeze(0), "first": lambda x: x.select(0, 0),
    "last": lambda x: x[-1], "double": lambda x: x.double(), "clone": dt.clone,
    "twice each": lambda x: x.index_select(0, dt.tensor([0, 0])),
    "cat": lambda x: dt.cat([x, x]), "stack": lambda x: dt.stack([x, x], 1),
    "sum": lambda x: x.sum(), "row": lambda x: x.sum(0),
    "kept": lambda x: x.sum(0, True),
    "zeros": dt.zeros_like, "norm": lambda x: x.norm(),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
@settings(max_examples=20)
@given(data=st.data())
def test_functions(name: str, data: st.DataObject) -> None:
    """A function of a sparse tensor is that of the dense one."""
    x = data.draw(sparse_tensors())
    wanted = FUNCTIONS[name](dt.from_numpy(dense_of(x)))
    np.testing.assert_allclose(dense_of(FUNCTIONS[name](x)), wanted.numpy(), rtol=1e-6)


@settings(max_examples=30)
@given(x=sparse_tensors(2), data=st.data())
def test_matrices(x: Any, data: st.DataObject) -> None:
    """Products, sums and transposes of matrices are those of dense ones."""
    y = data.draw(sparse_tensors(2))
    a, b = dense_of(x), dense_of(y)
    wide = np.arange(a.shape[1] * 3, dtype=np.float32).reshape(a.shape[1], 3)
    for each in (x, x.to_sparse_csr()):
        equal(each, dt.from_numpy(a))
        equal(each.t(), dt.from_numpy(a.T.copy()))
        equal(each @ dt.from_numpy(wide), dt.from_numpy(a @ wide))
        equal(dt.from_numpy(wide.T.copy()) @ each.t(), dt.from_numpy(wide.T @ a.T))
        equal(each @ dt.from_numpy(wide[:, 0].copy()), dt.from_numpy(a @ wide[:, 0]))
    square = y.t() if a.shape[1] != b.shape[0] else y
    if a.shape[1] == square.shape[0]:
        equal(x @ square, dt.from_numpy(a @ dense_of(square)))
    if a.shape == b.shape:
        equal(x + y, dt.from_numpy(a + b))
        equal(x - y * 3, dt.from_numpy(a - 3 * b))
        equal(x * y, dt.from_numpy(a * b))
        equal(dt.from_numpy(a) + y, dt.from_numpy(a + b))
        equal(x * dt.from_numpy(b), dt.from_numpy(a * b))
        equal(dt.from_numpy(a).sparse_mask(y).to_dense(), dt.from_numpy(a * _at(y)))
        equal(
            x.sparse_mask(y.coalesce()).to_dense(), dt.from_numpy(a * _at(y.coalesce()))
        )


def _at(x: Any) -> Any:
    """How often each place comes."""
    ones = dt.sparse_coo_tensor(x._indices(), dt.ones(x._nnz()), x.shape)
    return dense_of(ones)


@given(x=sparse_tensors())
def test_back(x: Any) -> None:
    """What is made sparse of a dense tensor has its elements, and no zeros."""
    dense = x.to_dense()
    for count in range(1, dense.ndim + 1):
        y = dense.to_sparse(count)
        equal(y, dense)
        assert y.is_coalesced()
        assert (y.values().flatten(1) != 0).any(1).all() if y.dense_dim() else True


@settings(max_examples=20)
@given(x=sparse_tensors(2))
def test_softmax(x: Any) -> None:
    """Softmax is that among the elements that are there."""
    y = x.coalesce()
    there = _at(y) > 0
    hidden = dt.from_numpy(np.where(there, dense_of(y), -np.inf).astype(np.float32))
    for dim in (0, 1):
        wanted = np.where(there, F.softmax(hidden, dim).numpy(), 0)
        np.testing.assert_allclose(
            dense_of(dt.sparse.softmax(x, dim)), wanted, rtol=1e-6
        )


def test_softmax_of_great_numbers() -> None:
    """Softmax takes numbers whose exponentials overflow."""
    x: Any = dt.sparse_coo_tensor([[0, 0], [0, 2]], [1e4, 1e4], (1, 3))
    assert dt.sparse.softmax(x, 1).values().tolist() == [0.5, 0.5]
    assert dt.sparse.softmax(x, 0).values().tolist() == [1.0, 1.0]


# ---- nothing is computed of what stands for the memory


PLACES = frozenset(
    [
        "sparse_dim",
        "dense_dim",
        "is_contiguous",
        "layout",
        "is_sparse",
        "is_sparse_csr",
        "type",
        "_repr_html_",
        "to_sparse",
        "to_sparse_coo",
        "to_sparse_csr",
        "values",
        "indices",
        "crow_indices",
        "col_indices",
        "coalesce",
        "is_coalesced",
        "empty_like",
    ]
)


def _same(ours: Any, wanted: Any) -> bool:
    if isinstance(wanted, tuple | list):
        return len(ours) == len(wanted) and all(map(_same, ours, wanted))
    if isinstance(wanted, Tensor):
        return np.array_equal(dense_of(ours), dense_of(wanted), equal_nan=True)
    return bool(ours == wanted) or ours != ours  # noqa: PLR0124  NaN


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr"])
def test_each_method(layout: str) -> None:
    """A method without arguments gives what it does of the dense tensor, or refuses."""
    for name in sorted(set(dir(Tensor)) - PLACES):
        if name.startswith("_"):
            continue
        x: Any = dt.sparse_coo_tensor([[0, 1, 1], [2, 0, 0]], [3.0, 4.0, 5.0], (2, 3))
        x = x.to_sparse(layout=getattr(dt, layout))
        dense = x.to_dense().clone()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found = getattr(x, name)
                found = found() if callable(found) else found
            except (DovetailError, TypeError):
                continue
            try:
                wanted = getattr(dense, name)
                wanted = wanted() if callable(wanted) else wanted
            except (DovetailError, TypeError):  # torch's own exchange their dims
                assert name in ("transpose_", "swapaxes_", "swapdims_"), name
                continue
        assert _same(found, wanted), name


REFUSED: dict[str, Callable[[Any], Any]] = {
    "exp": lambda x: x.exp(), "plus": lambda x: x + 1, "view": lambda x: x.view(6),
    "equal": lambda x: dt.eq(x, x), "numpy": lambda x: x.numpy(), "bool": bool,
    "mean": lambda x: x.mean(), "part": lambda x: x[:, 1], "array": np.asarray,
    "dlpack": lambda x: np.from_dlpack(x), "set": lambda x: x.__setitem__(0, 1.0),
    "backward": lambda x: x.backward(), "inverse": lambda x: dt.linalg.inv(x),
    "norm": lambda x: dt.linalg.norm(x), "parameter": lambda x: dt.nn.Parameter(x),
    "into": lambda x: dt.zeros(2, 3).copy_(x), "where": lambda x: dt.where(x, x, x),
    "out": lambda x: dt.add(dt.ones(2, 3), dt.ones(2, 3), out=x),
    "complex": lambda x: x.add_(x.to(dt.complex64)),
    "cat": lambda x: dt.cat([x, dt.ones(2, 3)]),
    "data": lambda x: setattr(x, "data", x), "apply": lambda x: x.apply_(abs),
    "layout": lambda x: dt.zeros(2, layout=dt.sparse_coo),
    "columns": lambda x: x.to_sparse(layout=dt.sparse_csc),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name: str) -> None:
    """What sparse tensors do not have is refused, and changes nothing."""
    x: Any = dt.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3))
    before = dense_of(x)
    with pytest.raises(DovetailError):
        REFUSED[name](x)
    np.testing.assert_array_equal(dense_of(x), before)


WRONG: dict[str, Callable[[], Any]] = {
    "outside": lambda: dt.sparse_coo_tensor([[0, 5]], [1.0, 2.0], (3,)),
    "negative": lambda: dt.sparse_coo_tensor([[0, -1]], [1.0, 2.0], (3,)),
    "count": lambda: dt.sparse_coo_tensor([[0, 1]], [1.0], (3,)),
    "dims": lambda: dt.sparse_coo_tensor([[0, 1]], [1.0, 2.0], (3, 3)),
    "floats": lambda: dt.sparse_coo_tensor(dt.tensor([[0.5]]), [1.0]),
    "first row": lambda: dt.sparse_csr_tensor([1, 2], [0, 1], [1.0, 2.0]),
    "last row": lambda: dt.sparse_csr_tensor([0, 1], [0, 1], [1.0, 2.0]),
    "rows fall": lambda: dt.sparse_csr_tensor([0, 2, 1, 2], [0, 1], [1.0, 2.0]),
    "column": lambda: dt.sparse_csr_tensor([0, 2], [0, 3], [1.0, 2.0], (1, 3)),
    "order": lambda: dt.sparse_csr_tensor([0, 2], [1, 0], [1.0, 2.0], (1, 3)),
    "twice": lambda: dt.sparse_csr_tensor([0, 2], [1, 1], [1.0, 2.0], (1, 3)),
    "batch": lambda: dt.sparse_csr_tensor([[0, 1]], [[0]], [[1.0]]),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_parts(name: str) -> None:
    """Coordinates and rows that do not fit are refused."""
    with pytest.raises(DovetailError):
        WRONG[name]()


# ---- in place, and on the tape


def test_written_in_place() -> None:
    """What writes values in place shows in the tensors that share them."""
    x: Any = dt.sparse_coo_tensor([[0, 2]], [3.0, 4.0], (3,)).coalesce()
    alias = x.detach()
    x.mul_(2).div_(4).neg_()
    assert alias.values().tolist() == [-1.5, -2.0]
    x.add_(dt.sparse_coo_tensor([[1]], [1.0], (3,)))
    assert x.to_dense().tolist() == [-1.5, 1.0, -2.0]
    dense = dt.ones(3)
    dense.add_(x, alpha=2)
    assert dense.tolist() == [-2.0, 3.0, -3.0]


@pytest.mark.parametrize("coalesced", [False, True])
def test_added_to_a_dense_tensor(coalesced: bool) -> None:
    """What is added in place adds up, counts as a write, and is on the tape."""
    more: Any = dt.sparse_coo_tensor([[0, 2, 2]], [3.0, 4.0, 5.0], (3,))
    more = more.coalesce() if coalesced else more
    x = dt.ones(2, 3, requires_grad=True)
    y = x * 2
    version = y._version
    y[1].add_(more, alpha=2)
    assert y.tolist() == [[2.0, 2.0, 2.0], [8.0, 2.0, 20.0]]
    assert y._version > version
    (y * y).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == (4 * y).tolist()
    with pytest.raises(InplaceError):
        x[0].add_(more)
    plain = dt.ones(3).add_(more)
    assert plain.tolist() == [4.0, 1.0, 10.0]
    with dt.no_grad():
        x[:, :2].add_(dt.ones(2, 2).to_sparse())
    assert x.tolist() == [[2.0, 2.0, 1.0]] * 2


def test_leaf_in_place() -> None:
    """A leaf that requires gradients is not written in place."""
    x: Any = dt.sparse_coo_tensor([[0, 2]], [3.0, 4.0], (3,), requires_grad=True)
    with pytest.raises(InplaceError):
        x.mul_(2)
    with pytest.raises(NotSupported, match="leaf"):
        x.add_(dt.sparse_coo_tensor([[1]], [1.0], (3,)))
    assert x._values().tolist() == [3.0, 4.0]


def test_gradients_of_gradients() -> None:
    """Second derivatives go through sparse products."""
    v = dt.tensor([3.0, 4.0], requires_grad=True)

    def cube(v: Any) -> Any:
        x: Any = dt.sparse_coo_tensor(dt.tensor([[0, 1], [1, 0]]), v, (2, 2))
        return dt.sparse.mm(x, x.to_dense()).sum()

    (slope,) = dt.autograd.grad(cube(v), v, create_graph=True)
    (curve,) = dt.autograd.grad(slope.sum(), v)
    assert slope.tolist() == [8.0, 6.0]
    assert curve.tolist() == [2.0, 2.0]


def test_gradient_is_its_own() -> None:
    """A sparse gradient has memory of its own: to write it changes no cotangent."""
    table = dt.nn.Embedding(4, 2, sparse=True)
    ct = dt.ones(3, 2)
    table(dt.tensor([0, 2, 2])).backward(ct)
    grad: Any = table.weight.grad
    grad.mul_(5)
    assert ct.tolist() == [[1.0, 1.0]] * 3
    with pytest.raises(DovetailError):
        table.weight.grad = dt.sparse_coo_tensor([[0]], [[1.0]], (4, 1))


def test_index_written_before_backward() -> None:
    """Numbers that were overwritten since are noticed."""
    table, index = dt.nn.Embedding(4, 2, sparse=True), dt.tensor([0, 2])
    y = table(index)
    index.add_(1)
    with pytest.raises(DovetailError, match="version"):
        y.sum().backward()


def test_steps_leave_other_rows() -> None:
    """A step of SparseAdam changes neither rows nor means without a gradient."""
    table = dt.nn.Embedding(5, 2, sparse=True)
    before = table.weight.detach().clone()
    optimizer = optim.SparseAdam(table.parameters(), lr=0.5)
    table(dt.tensor([1, 3, 3])).sum().backward()
    optimizer.step()
    same = (table.weight == before).all(1).tolist()
    assert same == [True, False, True, False, True]
    means = optimizer.state[table.weight]["exp_avg"]
    assert (means != 0).any(1).tolist() == [not s for s in same]


@pytest.mark.parametrize("change", [{"lr": 0}, {"eps": 0}, {"betas": (1.0, 0.9)}])
def test_sparse_adam_options(change: dict[str, Any]) -> None:
    """SparseAdam refuses options outside their ranges."""
    with pytest.raises(ValueError, match="SparseAdam"):
        optim.SparseAdam([dt.ones(2, requires_grad=True)], **change)


def test_dense_gradients() -> None:
    """SparseAdam refuses a dense gradient, SGD a decay of weights with a sparse one."""
    dense = dt.nn.Embedding(3, 2)
    dense(dt.tensor([1])).sum().backward()
    with pytest.raises(RuntimeError, match="does not support dense gradients"):
        optim.SparseAdam(dense.parameters()).step()
    table = dt.nn.Embedding(3, 2, sparse=True)
    table(dt.tensor([1])).sum().backward()
    for of in (optim.SGD, optim.Adagrad):
        with pytest.raises(RuntimeError, match="weight_decay"):
            of(table.parameters(), weight_decay=0.1).step()


# ---- other devices


def test_another_device() -> None:
    """A sparse tensor computes on the device of its parts, and goes to another one."""
    x: Any = dt.sparse_coo_tensor([[0, 1, 1], [2, 0, 0]], [3.0, 4.0, 5.0], (2, 3))
    there = x.to("fake")
    assert there.device.type == there.coalesce().values().device.type == "fake"
    assert "device='fake" in repr(there)
    product = there @ dt.ones(3, 2, device="fake")
    assert product.cpu().tolist() == (x @ dt.ones(3, 2)).tolist()
    equal(there.cpu(), x)
    with pytest.raises(DovetailError):
        there @ dt.ones(3, 2)
    table = dt.nn.Embedding(4, 2, sparse=True, device="fake")
    optimizer = optim.SparseAdam(table.parameters())
    table(dt.tensor([1, 1], device="fake")).sum().backward()
    optimizer.step()
    assert table.weight.grad.device.type == "fake"


def test_meta() -> None:
    """On meta shapes are computed, and what depends on values is refused."""
    table = dt.nn.Embedding(4, 2, sparse=True, device="meta")
    table(dt.zeros(3, dtype=dt.int64, device="meta")).sum().backward()
    grad: Any = table.weight.grad
    assert (grad.is_meta, grad._nnz(), tuple(grad.shape)) == (True, 3, (4, 2))
    assert tuple((dt.ones(4, 2, device="meta") + grad).shape) == (4, 2)
    with pytest.raises(NotSupported, match="meta"):
        grad.coalesce()
