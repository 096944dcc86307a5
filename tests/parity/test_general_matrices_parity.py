"""Eigenvalues of general matrices, LDL factors, few singular values, beside torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import dovetail

Library = Any


def pair(*shape: int, dtype: str = "float64", seed: int = 0) -> tuple[Any, Any]:
    """The same random matrices in both libraries."""
    draw = np.random.default_rng(seed)
    values = draw.normal(size=shape)
    if dtype.startswith("complex"):
        values = values + 1j * draw.normal(size=shape)
    values = values.astype(dtype)
    return dovetail.from_numpy(values), torch.from_numpy(values.copy())


def _spread(library: Library, w: Any, v: Any) -> Any:
    """A number that depends on values and vectors, but on neither order nor phase."""
    sizes = library.abs(v) ** 2
    rows = library.arange(v.shape[-2], dtype=library.float64).unsqueeze(-1)
    return (sizes * rows * library.abs(w).unsqueeze(-2) ** 2).sum() + w.real.sum() ** 2


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 4), (1, 1), (0, 0)])
def test_eigenvalues(dtype: str, shape: tuple[int, ...]) -> None:
    """Values are torch's, vectors belong to them and have length 1."""
    ours, theirs = pair(*shape, dtype=dtype)
    w, v = dovetail.linalg.eig(ours)
    expected = torch.linalg.eigvals(theirs)
    sort = [np.sort_complex(x.numpy()) for x in (w, dovetail.linalg.eigvals(ours))]
    for found in sort:
        np.testing.assert_allclose(found, np.sort_complex(expected.numpy()), atol=1e-12)
    whole = ours.to(dovetail.complex128)
    np.testing.assert_allclose((whole @ v).numpy(), (v * w.unsqueeze(-2)).numpy(),
                               atol=1e-12)  # fmt: skip
    np.testing.assert_allclose(v.abs().square().sum(-2).numpy(), 1)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_gradients_of_eigenvalues(dtype: str) -> None:
    """First and second derivatives of what depends on no phase are torch's."""
    found = []
    leaves = [x.requires_grad_() for x in pair(2, 4, 4, dtype=dtype)]
    for library, x in zip((dovetail, torch), leaves, strict=True):
        loss = _spread(library, *library.linalg.eig(x))
        (first,) = library.autograd.grad(loss, x, create_graph=True)
        (second,) = library.autograd.grad((first * first.conj()).real.sum(), x)
        found.append((first.detach().numpy(), second.numpy()))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-6, atol=1e-6)


def test_what_eig_refuses() -> None:
    """Numbers that are not finite, and what is not square, are refused by name."""
    with pytest.raises(dovetail.linalg.LinAlgError, match=r"linalg\.eig"):
        dovetail.linalg.eig(dovetail.full((2, 2), float("nan")))
    with pytest.raises(RuntimeError, match="square"):
        dovetail.linalg.eigvals(dovetail.ones(2, 3))


@pytest.mark.parametrize("hermitian", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("n", [1, 2, 5, 12])
def test_factors_of_symmetric_matrices(n: int, dtype: str, hermitian: bool) -> None:
    """Factors and pivots are LAPACK's, with blocks of one row and of two."""
    for seed in range(4):
        ours, theirs = pair(2, n, n, dtype=dtype, seed=seed)
        ours, theirs = (x + (x.mH if hermitian else x.mT) for x in (ours, theirs))
        for x in (ours, theirs):
            x.diagonal(dim1=-2, dim2=-1)[..., ::2].mul_(0.01)  # so that some are two
        made = dovetail.linalg.ldl_factor(ours, hermitian=hermitian)
        expected = torch.linalg.ldl_factor(theirs, hermitian=hermitian)
        assert made.pivots.tolist() == expected.pivots.tolist()
        np.testing.assert_allclose(made.LD.numpy(), expected.LD.numpy(), atol=1e-9)
        right, _ = pair(2, n, 3, dtype=dtype, seed=seed + 9)
        x = dovetail.linalg.ldl_solve(*made, right, hermitian=hermitian)
        np.testing.assert_allclose((ours @ x).numpy(), right.numpy(), atol=1e-7)


def test_singular_blocks() -> None:
    """`info` says where D is singular; the plain form names the batch element."""
    zeros = dovetail.zeros(3, 3)
    assert dovetail.linalg.ldl_factor_ex(zeros).info.item() == 1
    batch = dovetail.stack([dovetail.eye(3), zeros])
    with pytest.raises(dovetail.linalg.LinAlgError, match="Batch element 1"):
        dovetail.linalg.ldl_factor(batch)
    with pytest.raises(RuntimeError, match="gradient"):
        dovetail.linalg.ldl_factor(dovetail.eye(2, requires_grad=True))


@pytest.mark.parametrize("shape", [(20, 6), (2, 6, 20)])
def test_few_singular_values(shape: tuple[int, ...]) -> None:
    """All of a small matrix's are found; of centred rows, the principal ones."""
    x, _ = pair(*shape)
    for made in (dovetail.svd_lowrank(x, 6), dovetail.pca_lowrank(x, 6, center=False)):
        u, s, v = made
        np.testing.assert_allclose(s.numpy(), dovetail.linalg.svdvals(x).numpy())
        whole = (u * s.unsqueeze(-2)) @ v.mH
        np.testing.assert_allclose(whole.numpy(), x.numpy(), atol=1e-12)
    centred = x - x.mean(-2, True)
    u, s, v = dovetail.pca_lowrank(x, 3, niter=40)
    expected = dovetail.linalg.svdvals(centred)[..., :3]
    np.testing.assert_allclose(s.numpy(), expected.numpy(), rtol=1e-3)
    less = dovetail.svd_lowrank(x, 3, niter=40, M=x.mean(-2, True))[1]
    np.testing.assert_allclose(less.numpy(), expected.numpy(), rtol=1e-3)
    with pytest.raises(ValueError, match="q"):
        dovetail.pca_lowrank(x, 7)


@pytest.mark.parametrize("largest", [True, False])
def test_outermost_eigenvalues(largest: bool) -> None:
    """`lobpcg` finds what all eigenvalues of the problem begin or end with."""
    a, _ = pair(2, 15, 15)
    a = a @ a.mT + dovetail.eye(15)
    b = dovetail.eye(15, dtype=a.dtype) * 2 + 0.1
    w, v = dovetail.lobpcg(a, 2, B=b.expand(2, 15, 15), largest=largest, tol=1e-9)
    np.testing.assert_allclose(
        (a @ v).numpy(), (b @ v * w.unsqueeze(-2)).numpy(), atol=1e-5
    )
    every = (
        torch.linalg.eigvals(
            torch.linalg.solve(torch.from_numpy(b.numpy()), torch.from_numpy(a.numpy()))
        )
        .real.sort()
        .values
    )
    wanted = every[..., -2:].flip(-1) if largest else every[..., :2]
    np.testing.assert_allclose(w.numpy(), wanted.numpy(), rtol=1e-6)
    with pytest.raises(ValueError, match="3 x"):
        dovetail.lobpcg(a[0, :4, :4], 2)


# Lines with x, six points in a plane, and i, small whole numbers.
LINES = """
T.histogramdd(x, bins=[2, 3])
T.histogramdd(x, bins=3, range=[-1.0, 1.0, -2.0, 2.0], density=True)
T.histogramdd(x, bins=[T.arange(-3, 4, 3).to(x.dtype), T.arange(2).to(x.dtype)])
T.histogramdd(x.reshape(2, 3, 2), bins=2, weight=x.abs()[:, 0].reshape(2, 3))
T.pdist(x)
T.pdist(x, 1.0)
T.nn.functional.pdist(x[:1])
T.pdist(x, float("inf"))
T.range(1, 4)
T.range(0, 1, 0.25)
T.range(3, -3, -2, dtype=T.int64)
T.hash_tensor(i).to(T.int64)
T.hash_tensor(i, 1).to(T.int64)
T.hash_tensor(x.float(), (0, 1), keepdim=True).view(T.int64)
T.hash_tensor(i > 2, 0, keepdim=True).to(T.int64)
T.native_layer_norm(x, (2,), None, None, 1e-5)
T.native_layer_norm(x.reshape(2, 3, 2), (3, 2), x[:3], x[3:], 1e-5)
T.native_group_norm(x.reshape(1, 6, 2), None, None, 1, 6, 2, 3, 1e-5)
T.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-5)
T.native_batch_norm(x, x[0], x[1], x[2], x[3].abs(), False, 0.1, 1e-5)
T.bilinear(x, x, x.reshape(3, 2, 2), x.reshape(-1)[:3])
""".strip().splitlines()


@pytest.mark.filterwarnings("ignore:.*range.* is deprecated")
@pytest.mark.parametrize("line", LINES)
def test_counts_distances_and_statistics(line: str) -> None:
    """A line means the same as in torch."""
    points = np.random.default_rng(3).normal(size=(6, 2))
    whole = np.arange(12).reshape(3, 4) * 7
    found = []
    for library in (dovetail, torch):
        names = {
            "T": library, "x": library.from_numpy(points.copy()),
            "i": library.from_numpy(whole),
        }  # fmt: skip
        made = eval(line, names)
        parts = made if isinstance(made, tuple) else (made,)
        found.append([v for part in parts for v in
                      (part if isinstance(part, tuple) else (part,))])  # fmt: skip
    for mine, theirs in zip(*found, strict=True):
        assert (
            str(mine.dtype).rpartition(".")[2] == str(theirs.dtype).rpartition(".")[2]
        )
        assert tuple(mine.shape) == tuple(theirs.shape)
        np.testing.assert_allclose(mine.numpy(), theirs.numpy(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("driver", [None, "gels", "gelsy", "gelsd", "gelss"])
@pytest.mark.parametrize("shape", [(4, 3), (2, 4, 3), (3, 4)])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_what_least_squares_return(
    driver: str | None, shape: tuple[int, ...], dtype: str
) -> None:
    """Which results a driver gives, their shapes and dtypes, are torch's."""
    (a, ta), (b, tb) = pair(*shape), pair(*shape[:-1], 2, seed=1)
    if dtype == "complex128":
        (a, ta), (b, tb) = ((x + x.flip(0) * 1j for x in y) for y in ((a, ta), (b, tb)))
    ours = dovetail.linalg.lstsq(a, b, driver=driver)
    theirs = torch.linalg.lstsq(ta, tb, driver=driver)
    for mine, wanted in zip(ours, theirs, strict=True):
        assert tuple(mine.shape) == tuple(wanted.shape)
        assert str(mine.dtype).partition(".")[2] == str(wanted.dtype).partition(".")[2]
        np.testing.assert_allclose(mine.numpy(), wanted.numpy(), atol=1e-12)


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (2, 0, 3)])
@pytest.mark.parametrize("ord", [1, float("inf")])
def test_norms_of_nothing(ord: float, shape: tuple[int, ...]) -> None:
    """The greatest of no sums is 0, in torch's shape."""
    for keepdim in (False, True):
        ours, theirs = (
            library.linalg.matrix_norm(library.ones(*shape), ord, keepdim=keepdim)
            for library in (dovetail, torch)
        )
        assert ours.tolist() == theirs.tolist()


def test_margins_of_complex_numbers() -> None:
    """The value of margins may be complex where the elements are."""
    line = [
        library.constant_pad_nd(library.tensor([1j]), (1, 2), 2 - 3j).tolist()
        for library in (dovetail, torch)
    ]
    assert line[0] == line[1]


@pytest.mark.parametrize("name", ["__radd__", "__rmul__", "__rand__", "__ror__"])
def test_operators_want_a_tensor_first(name: str) -> None:
    """Called as a method of no tensor, an operator says so."""
    x = dovetail.tensor([1, 2])
    with pytest.raises(TypeError, match="self is 2"):
        getattr(dovetail.Tensor, name)(2, x)
    assert (2 + x).tolist() == [3, 4]
    assert (3 & x).tolist() == [1, 2]
