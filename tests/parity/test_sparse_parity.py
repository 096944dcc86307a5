"""Sparse tensors beside torch's: values, coordinates, refusals, gradients, text."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import dovetail

Library = Any

# T is the library, s a matrix that is not coalesced, c the same coalesced, c2 another
# one, h hybrid, r by rows, e empty, d dense; b of bools, z complex, x16 of half size.
# Lines whose results are compared with all that they are made of.
LINES = """
c.indices() | c.values() | s._indices() | s._values() | s._nnz() | s.is_coalesced()
c.is_coalesced() | s.sparse_dim() | s.dense_dim() | h.dense_dim() | h.to_dense()
h.coalesce() | r.crow_indices() | r.col_indices() | r.values() | r.to_dense()
r.to_sparse() | s.to_sparse_csr() | s*2 | 2*s | s/2 | s//2 | s**2 | s.sin() | s.sum()
s.sum(0) | s.t() | s.transpose(0,1) | s.permute(1,0) | s.float() | s.double()
s.to(T.float64) | s.clone() | s.detach() | s.numel() | s.size() | s.dim() | s.abs()
s.neg() | -s | s.sqrt() | s.relu() | T.relu(s) | s+s | s-s | d+s | d-s | s*d | d*s
s@d.t() | d.t()@s | s@s.t() | s@d[0] | d[:,0]@s | T.sparse.sum(s) | T.sparse.sum(s,0)
T.sparse.sum(h,0) | T.sparse.sum(h,2) | T.sparse.sum(h,(0,1)) | T.sparse.sum(h,(1,2))
T.sparse.sum(s,1) | T.sparse.softmax(s,1) | T.sparse.log_softmax(s,0)
T.sparse.softmax(h,1) | T.sparse.softmax(h,2) | s.unsqueeze(0) | s.unsqueeze(2)
h.unsqueeze(3) | T.cat([s,s]) | T.cat([s,s],1) | T.stack([s,s]) | T.stack([s,s],1)
s.index_select(0,T.tensor([1])) | s.index_select(1,T.tensor([2,0,2])) | s.select(0,1)
s[0] | s[0,2] | h[1] | h[1,0] | h.select(2,1) | s.isnan() | s.bool() | s.norm()
T.zeros_like(s) | T.empty_like(s) | s.sign() | s.floor() | s.tanh() | s.pow(2)
s.log1p() | s.element_size() | s.nelement() | d.sparse_mask(c) | s.sparse_mask(c)
c.sparse_mask(c) | s.any() | s.unbind() | len(s) | list(s) | s.is_contiguous()
s.mv(d[0]) | T.addmm(T.ones(2,2),s,d.t())
T.sparse.addmm(T.ones(2,2),s,d.t(),beta=2,alpha=3) | T.sparse.mm(s,d.t())
T.sparse.mm(s,c.t()) | T.spmm(s,d.t()) | T.add(d,s,alpha=2) | T.add(s,s,alpha=3)
T.add(c,c2) | c*c2 | T.sub(c,c2,alpha=2) | s.trunc() | s.nan_to_num() | s.half()
s.int() | s.cpu() | T.mul(s,T.tensor(2.)) | s*T.ones(3) | s.type(T.float64) | s.T
s.mT | s.conj() | s.is_same_size(s) | T.nn.functional.linear(s,d) | d.to_sparse()
d.to_sparse(1) | T.ones(2,3,4).to_sparse(2) | T.zeros(2,2).to_sparse()
d.to_sparse_csr() | r@d.t() | r+r | r*2 | -r | r.abs() | r.to(T.float64) | r.clone()
T.sparse.mm(r,d.t()) | T.sparse.addmm(T.ones(2,2),r,d.t()) | r.requires_grad
s.requires_grad | s.is_sparse | r.is_sparse | r.is_sparse_csr | d.is_sparse | s.type()
T.is_tensor(s) | s.is_floating_point() | s.ndim | s.shape | e.to_dense() | e._nnz()
e.coalesce() | T.sparse_coo_tensor(T.tensor([[0,2]]),T.tensor([1.,2.]))
T.sparse_coo_tensor(T.tensor([[0,2]]),T.tensor([1.,2.]),(3,),dtype=T.float64)
T.sparse_coo_tensor((2,3)) | T.sparse_coo_tensor([[0,1]],[1,2])
T.sparse_coo_tensor(size=(2,3)) | T.sparse_coo_tensor(size=(0,2),dtype=T.float64)
T.sparse_csr_tensor([0,1,2],[0,1],[1.,2.],(2,5))
T.sparse.spdiags(T.arange(1.,10).reshape(3,3),T.tensor([0,-1,2]),(4,4))
T.sparse.sampled_addmm(r,d,d.t()[:,:].contiguous()@d) | d.to_dense() is d
d.sparse_dim() | d.dense_dim() | s.copy_(c) | s.zero_() | s.mul_(2) | s.add_(s)
s.div_(2) | c.abs_() | c.neg_() | s.t_() | d.add_(s) | d.sub_(s,alpha=2)
x16.to_dense() | b.coalesce() | b.to_dense() | z.coalesce() | z.to_dense()
z.conj().to_dense() | z.real | z.abs() | s.sparse_resize_((4,4),2,0)
s.sparse_resize_and_clear_((4,4,2),2,1) | T.empty(0).to_sparse().resize_as_sparse_(s)
T.tensor(3.).to_sparse() | T.tensor(0.).to_sparse() | s.requires_grad_().is_leaf
s.data | T.crow_indices_copy(r) | s.isinf() | s.square() | s.t().coalesce()
d.to_sparse(layout=T.sparse_csr) | s.grad
T.sparse.mm(d.t(),s) | s.sgn()
""".replace("\n", " | ").strip(" |").split(" | ")  # fmt: skip

# Lines of which torch leaves open how they are put together.
SUMS = """
s*s | s+c2 | s*c2 | s.add_(c) | s.sub_(c) | T.smm(s,d.t()) | T.hspmm(s,d.t())
T.sspaddmm(T.zeros(2,2).to_sparse(),s,d.t()) | c.mul_(c2) | s+e | c+e | e*s
""".replace("\n", " | ").strip(" |").split(" | ")  # fmt: skip

# What both refuse.
REFUSED = """
s.indices() | s.values() | s+1 | s.exp() | s.mean() | s.item() | s==s | s/s | s/d
d.coalesce() | d.values() | d.indices() | d.crow_indices() | s.crow_indices()
r.indices() | s.ccol_indices() | s.addmm(s,s) | s.resize_(2,3) | s.view(6) | s.numpy()
s.tolist() | bool(s) | float(s) | s.storage() | s.data_ptr() | s.cumsum(0) | s<1
T.where(s,d,d) | s.mean(0) | s.argmax() | s**0 | 1-s | 1/s | s%2 | s.clamp(0,1)
T.sparse.softmax(s,5) | T.sparse.sum(s,7) | s@T.ones(4) | s+T.ones(3)
s.index_select(0,T.tensor([3])) | s[5] | d.is_coalesced()
T.sparse_coo_tensor() | T.sparse_coo_tensor(values=[1.],size=(2,))
""".replace("\n", " | ").strip(" |").split(" | ")  # fmt: skip


def operands(library: Library) -> dict[str, Any]:
    """The tensors that the lines name, in one of the libraries."""
    T = library
    at, size = T.tensor([[0, 1, 1, 0], [2, 0, 0, 2]]), (2, 3)
    s = T.sparse_coo_tensor(at, T.tensor([3.0, 4, 5, 1]), size)
    other = T.sparse_coo_tensor(T.tensor([[0, 0], [0, 2]]), T.tensor([5.0, 7]), size)
    rows = T.arange(1.0, 7).reshape(3, 2)
    return {
        "T": T, "s": s, "c": s.coalesce(), "r": s.to_sparse_csr(),
        "c2": other.coalesce(), "d": T.arange(1.0, 7).reshape(2, 3), "x16": s.half(),
        "h": T.sparse_coo_tensor(T.tensor([[0, 1, 1], [2, 0, 0]]), rows, (2, 3, 2)),
        "e": T.sparse_coo_tensor(T.zeros(2, 0, dtype=T.int64), T.zeros(0), size),
        "b": T.sparse_coo_tensor(at, T.tensor([True, False, True, True]), size),
        "z": T.sparse_coo_tensor(at, T.tensor([1 + 2j, 2, 3, 4j]), size),
    }  # fmt: skip


def taken_apart(x: Any) -> Any:
    """All that a result is, as plain values."""
    if isinstance(x, tuple | list):
        return [taken_apart(y) for y in x]
    if not hasattr(x, "layout"):
        return x
    layout, shape = repr(x.layout).rpartition(".")[2], tuple(x.shape)
    if layout == "sparse_coo":
        parts = [x.is_coalesced(), x._indices(), x._values()]
    elif layout == "sparse_csr":
        parts = [x.crow_indices(), x.col_indices(), x.values()]
    else:
        values = np.array(x.detach().tolist()) * 1.0
        return layout, shape, repr(x.dtype).rpartition(".")[2], values.round(4).tolist()
    return layout, shape, [taken_apart(part) for part in parts]


def run(library: Library, line: str) -> Any:
    """What a line gives."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eval(line, operands(library))


@pytest.mark.parametrize("line", LINES)
def test_results(line: str) -> None:
    """A line gives the values, coordinates, layout, shape and dtype that torch does."""
    assert taken_apart(run(dovetail, line)) == taken_apart(run(torch, line))


@pytest.mark.parametrize("line", SUMS)
def test_sums(line: str) -> None:
    """What has other coordinates than torch's, or in another order, adds up to it."""
    ours, theirs = run(dovetail, line).to_dense(), run(torch, line).to_dense()
    assert taken_apart(ours) == taken_apart(theirs)


@pytest.mark.parametrize("line", REFUSED)
def test_refusals(line: str) -> None:
    """What torch refuses is refused by an error of ours that torch's users catch."""
    with pytest.raises(dovetail.errors.DovetailError) as caught:
        run(dovetail, line)
    with pytest.raises(Exception) as theirs:  # noqa: PT011  whatever torch raises
        run(torch, line)
    known = (RuntimeError, TypeError, IndexError, ValueError)
    assert isinstance(caught.value, known)
    assert isinstance(theirs.value, known)


TEXTS = "s | c | r | h | e | z | b | c*1j | s.requires_grad_() | s.double() | r.half()"


@pytest.mark.parametrize("line", TEXTS.split(" | "))
def test_texts(line: str) -> None:
    """`repr` is torch's but for the name of the library."""
    theirs = repr(run(torch, line)).replace("torch.", "dovetail.")
    ours = repr(run(dovetail, line))
    assert ours.split() == theirs.split()


def gradients(T: Library) -> list[Any]:
    """Gradients through what sparse tensors compute, in one of the libraries."""
    at, found = T.tensor([[0, 1, 1], [2, 0, 1]]), []
    v = T.tensor([3.0, 4, 5], requires_grad=True)
    d = T.arange(6.0).reshape(2, 3).requires_grad_()
    mask = T.sparse_coo_tensor(at, T.ones(3), (2, 3)).coalesce()

    def through(compute: Callable[[Any], Any]) -> None:
        v.grad = d.grad = None
        y = compute(T.sparse_coo_tensor(at, v, (2, 3)))
        y = y.to_dense() if y.layout is not T.strided else y
        (y * y * y).sum().backward()
        found.extend([v.grad, d.grad])

    for compute in (
        lambda x: x, lambda x: x.coalesce().values(), lambda x: T.sparse.sum(x, 0),
        lambda x: T.sparse.softmax(x, 1), lambda x: T.sparse.log_softmax(x, 1),
        lambda x: T.sparse.mm(x, d.t()), lambda x: T.sparse.mm(x, x.t()),
        lambda x: d + x, lambda x: x * 2, lambda x: x + x * 3, lambda x: x.t(),
        lambda x: d.sparse_mask(mask), lambda x: T.sparse.addmm(d[:, :2], x, d.t()),
        lambda x: -x,
        lambda x: d.to_sparse(),
    ):  # fmt: skip
        through(compute)
    leaf = T.sparse_coo_tensor(at, T.tensor([3.0, 4, 5]), (2, 3)).coalesce()
    leaf.requires_grad_()
    (T.sparse.mm(leaf, d.t()) ** 2).sum().backward()
    found.append(leaf.grad.coalesce())
    (slope,) = T.autograd.grad((T.sparse.mm(leaf, d.t()) ** 3).sum(), leaf)
    return [*found, slope.coalesce(), leaf.is_leaf, leaf.requires_grad]


def test_gradients() -> None:
    """Gradients are torch's: of values, of sparse leaves, of dense operands."""
    for ours, theirs in zip(gradients(dovetail), gradients(torch), strict=True):
        assert taken_apart(ours) == taken_apart(theirs)


@pytest.mark.filterwarnings("ignore:.*Sparse CSR")
@pytest.mark.parametrize("reduce", ["sum", "mean", "amax", "amin", "max", "min"])
def test_reduced_products(reduce: str) -> None:
    """Values and gradients, where rows are empty, products equal, or some NaN."""
    draw = np.random.default_rng(7)
    for _ in range(30):
        n, k, m = draw.integers(0, 6, 3)
        left = draw.integers(-2, 3, (n, k)).astype("float32")
        right = draw.integers(-2, 3, (k, m)).astype("float32")
        right[draw.random((k, m)) < 0.1] = np.nan
        found = []
        for T in (dovetail, torch):
            x = T.from_numpy(left).to_sparse_csr().requires_grad_()
            y = T.from_numpy(right).clone().requires_grad_()
            made = T.sparse.mm(x, y, reduce)
            (made * T.arange(1.0, 1 + n * m).reshape(n, m)).sum().backward()
            of_x = None if x.grad is None else x.grad.values().numpy()
            found.append([made.detach().numpy(), of_x, y.grad.numpy()])
        for ours, theirs in zip(*found, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-6)


REDUCED = {
    "an unknown word": lambda T, s, d: T.sparse.mm(s, d, "prod"),
    "a dense matrix": lambda T, s, d: T.sparse.mm(d, s, "amax"),
    "two sparse ones": lambda T, s, d: T.sparse.mm(s, s, "mean"),
    "another dtype": lambda T, s, d: T.sparse.mm(s, d.double(), "amax"),
    "integers": lambda T, s, d: T.sparse.mm(s.to(T.int64), d.to(T.int64), "amin"),
    "another shape": lambda T, s, d: T.sparse.mm(s, T.ones(3, 2), "amax"),
}


@pytest.mark.filterwarnings("ignore:.*Sparse CSR")
@pytest.mark.parametrize("case", REDUCED)
def test_refused_reduced_products(case: str) -> None:
    """What torch refuses is refused."""
    for T in (dovetail, torch):
        with pytest.raises((RuntimeError, ValueError, NotImplementedError)):
            REDUCED[case](T, T.eye(2).to_sparse_csr(), T.ones(2, 2))


def table_gradients(T: Library) -> list[Any]:
    """Gradients of embeddings, alone and added up with others."""
    weight, found = T.arange(12.0).reshape(6, 2) / 7, []
    m = T.nn.Embedding(6, 2, sparse=True, padding_idx=1)
    m.weight.data.copy_(weight)

    def keep(*losses: Any) -> None:
        for loss in losses:
            loss.backward()
        grad = m.weight.grad
        found.append(grad.coalesce() if grad.is_sparse else grad)
        m.weight.grad = None

    keep((m(T.tensor([[0, 3, 1], [3, 5, 0]])) ** 2).sum())
    keep((m(T.tensor([2, 3])) ** 3).sum(), m(T.tensor([3])).sum())
    keep((m.weight * 2).sum(), m(T.tensor([2, 3])).sum())
    keep(m(T.tensor([2, 3])).sum(), (m.weight * 2).sum())
    keep((m.weight * 2).sum() + m(T.tensor([2, 3])).sum())
    keep(m(T.tensor([2, 3])).sum() + m(T.tensor([2, 4])).sum())
    keep((T.nn.functional.embedding(T.tensor([4]), m.weight * 3, sparse=True)).sum())
    for mode in ("sum", "mean"):
        m = T.nn.EmbeddingBag(6, 2, mode=mode, sparse=True)
        m.weight.data.copy_(weight)
        keep((m(T.tensor([0, 3, 3, 5]), T.tensor([0, 2])) ** 2).sum())
    return found


def test_tables() -> None:
    """Gradients of embeddings are torch's, sparse until a dense one is added."""
    ours, theirs = table_gradients(dovetail), table_gradients(torch)
    for mine, other in zip(ours, theirs, strict=True):
        assert taken_apart(mine) == taken_apart(other)


STEPPED: dict[str, Callable[[Library, Any], Any]] = {
    "SGD": lambda T, p: T.optim.SGD(p, lr=0.1),
    "momentum": lambda T, p: T.optim.SGD(p, lr=0.1, momentum=0.9, dampening=0.1),
    "nesterov": lambda T, p: T.optim.SGD(
        p, lr=0.05, momentum=0.5, nesterov=True, maximize=True
    ),
    "Adagrad": lambda T, p: T.optim.Adagrad(p, lr=0.1, lr_decay=0.1),
    "SparseAdam": lambda T, p: T.optim.SparseAdam(p, lr=0.1, betas=(0.8, 0.95)),
    "ascent": lambda T, p: T.optim.SparseAdam(p, lr=0.1, maximize=True),
}


def stepped(T: Library, make: Callable[[Library, Any], Any]) -> list[Any]:
    """A table after each of four steps; the optimizer is made anew from its state."""
    m = T.nn.Embedding(6, 2, sparse=True)
    m.weight.data.copy_((T.arange(12.0) / 7 - 0.5).reshape(6, 2))
    optimizer, found = make(T, m.parameters()), []
    for k in range(4):
        optimizer.zero_grad()
        (m(T.tensor([[0, 3, k], [3, 5, 0]])) ** 3).sum().backward()
        optimizer.step()
        found.append(m.weight.detach().tolist())
        again = make(T, m.parameters())
        again.load_state_dict(optimizer.state_dict())
        optimizer = again
    return found


@pytest.mark.parametrize("name", STEPPED)
@pytest.mark.filterwarnings("ignore:Sparse invariant")
def test_steps(name: str) -> None:
    """Optimizers step by sparse gradients as torch's do, also from a state."""
    ours, theirs = stepped(dovetail, STEPPED[name]), stepped(torch, STEPPED[name])
    np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["Adam", "RMSprop", "Adamax", "Adadelta", "Rprop"])
def test_optimizers_without(name: str) -> None:
    """An optimizer without steps by sparse gradients says so, and changes nothing."""
    for T in (dovetail, torch):
        m = T.nn.Embedding(3, 2, sparse=True)
        before = m.weight.detach().tolist()
        optimizer = getattr(T.optim, name)(m.parameters())
        m(T.tensor([1])).sum().backward()
        with pytest.raises(RuntimeError, match="does not support sparse gradients"):
            optimizer.step()
        assert m.weight.detach().tolist() == before


@pytest.mark.parametrize("how", ["copy", "pickle", "save"])
@pytest.mark.parametrize("line", ["s", "c", "r", "h", "e", "z", "b", "x16"])
def test_kept(line: str, how: str, tmp_path: Path) -> None:
    """A copy, a pickle and a file give back what the tensor is."""
    x: Any = run(dovetail, line)
    if how == "copy":
        again = copy.deepcopy(x)
    elif how == "pickle":
        again = pickle.loads(pickle.dumps(x))
    else:
        dovetail.save({"a": [x]}, tmp_path / "kept")
        again = dovetail.load(tmp_path / "kept")["a"][0]
    assert taken_apart(again) == taken_apart(x)
    assert again is not x
