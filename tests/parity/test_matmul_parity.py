"""Products beside torch's: every rank, dtypes, gradients, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from tests.support.beside import Pair, agree, both_refuse, same

import dovetail as dt

DTYPES = ("float32", "float64", "float16", "bfloat16", "int64", "int8", "complex64")
SHAPES = {
    "matmul": [
        [(3, 4), (4, 2)],
        [(4,), (4,)],
        [(4,), (4, 3)],
        [(2, 4), (4,)],
        [(2, 3, 4), (4, 2)],
        [(2, 3, 4), (4,)],
        [(4,), (2, 4, 3)],
        [(2, 1, 3, 4), (3, 4, 2)],
        [(0, 4), (4, 2)],
        [(3, 0), (0, 2)],
    ],
    "mm": [[(3, 4), (4, 2)], [(1, 1), (1, 1)]],
    "bmm": [[(2, 3, 4), (2, 4, 5)], [(0, 3, 4), (0, 4, 5)]],
    "mv": [[(3, 4), (4,)]],
    "dot": [[(4,), (4,)]],
    "vdot": [[(4,), (4,)]],
    "inner": [[(4,), (4,)], [(2, 4), (3, 4)], [(), (2, 3)]],
    "outer": [[(3,), (4,)]],
    "ger": [[(3,), (4,)]],
    "kron": [[(2, 3), (3, 2)], [(2,), (3, 2)], [(), (2,)]],
    "cross": [[(2, 3), (2, 3)], [(3, 2), (3, 2)], [(3,), (3,)]],
    "chain_matmul": [[(2, 3)], [(2, 5), (5, 3), (3, 4), (4, 2)]],
    "addmm": [[(2, 3), (2, 4), (4, 3)], [(3,), (2, 4), (4, 3)], [(), (2, 4), (4, 3)]],
    "addmv": [[(2,), (2, 3), (3,)]],
    "addr": [[(2, 3), (2,), (3,)]],
    "addbmm": [[(2, 3), (5, 2, 4), (5, 4, 3)]],
    "baddbmm": [[(5, 2, 3), (5, 2, 4), (5, 4, 3)], [(3,), (5, 2, 4), (5, 4, 3)]],
}
CALLS = [(name, shapes) for name, many in SHAPES.items() for shapes in many]


def leaf(shape: tuple[int, ...], dtype: str = "float32", seed: int = 0) -> Pair:
    rng = np.random.default_rng(seed + len(shape))
    values = rng.uniform(-2, 2, shape)
    if dtype.startswith("int"):
        values = np.round(values)
    if dtype.startswith("complex"):
        values = values + 1j * rng.uniform(-2, 2, shape)
    return Pair(torch, values, dtype, grad=True)


@pytest.mark.parametrize(("name", "shapes"), CALLS, ids=str)
def test_products(name: str, shapes: Any) -> None:
    """Values, dtypes and gradients of every product."""
    for dtype in DTYPES:
        args = [leaf(s, dtype, i) for i, s in enumerate(shapes)]
        agree(
            torch, getattr(dt, name), getattr(torch, name), args, {}, f"{name} {dtype}"
        )


@pytest.mark.parametrize("name", ["addmm", "addmv", "addr", "addbmm", "baddbmm"])
def test_scaled_sums(name: str) -> None:
    """`beta` and `alpha` scale; a beta of 0 hides what is not a number."""
    for scale in ({"beta": 2, "alpha": 3}, {"beta": 0.5}, {"beta": 0}):
        args = [leaf(s, seed=i) for i, s in enumerate(SHAPES[name][0])]
        agree(torch, getattr(dt, name), getattr(torch, name), args, scale, name)
    first, *rest = SHAPES[name][0]
    hidden = Pair(torch, np.full(first, np.nan), "float32", grad=False)
    args = [hidden, *(leaf(s) for s in rest)]
    agree(torch, getattr(dt, name), getattr(torch, name), args, {"beta": 0}, name)


def test_methods_and_operators() -> None:
    """Methods, in-place forms, `@` and `out=` are the functions."""
    a, b, c = (leaf(s) for s in ((3, 4), (4, 2), (3, 2)))
    same(a.ours @ b.ours, a.theirs @ b.theirs, "@")
    same(a.ours.mm(b.ours), a.theirs.mm(b.theirs), "mm")
    ours, theirs = c.ours.detach().clone(), c.theirs.detach().clone()
    same(
        ours.addmm_(a.ours.detach(), b.ours.detach(), alpha=2),
        theirs.addmm_(a.theirs.detach(), b.theirs.detach(), alpha=2),
        "addmm_",
    )
    out = dt.empty(3, 2)
    with dt.no_grad():
        dt.matmul(a.ours, b.ours, out=out)
    same(out, (a.theirs @ b.theirs).detach(), "out")


EINSUMS: list[tuple[str, list[tuple[int, ...]]]] = [
    ("ij,jk->ik", [(2, 3), (3, 4)]),
    ("ij,jk", [(2, 3), (3, 4)]),
    ("ba", [(2, 3)]),
    ("ij->", [(2, 3)]),
    ("ii", [(3, 3)]),
    ("ii->i", [(3, 3)]),
    ("iij->ji", [(3, 3, 2)]),
    ("i,j->ij", [(2,), (3,)]),
    ("i,i->", [(3,), (3,)]),
    ("...ij->...ji", [(2, 3, 4)]),
    ("...ij,...jk->...ik", [(5, 2, 3), (3, 4)]),
    ("bn,anm,bm->ba", [(2, 3), (5, 3, 4), (2, 4)]),
    ("a...,...b->...ab", [(2, 3), (3, 4)]),
    ("ij,j", [(2, 3), (1,)]),
    ("ij,ij->i", [(2, 1), (2, 3)]),
    ("i...->...", [(2, 3)]),
    ("Ab,bA->A", [(2, 3), (3, 2)]),
    (" i j , j k -> i k ", [(2, 3), (3, 4)]),
    ("ijkl,jm,ln->imkn", [(2, 3, 2, 3), (3, 2), (3, 2)]),
    ("i,ij,j->", [(2,), (2, 3), (3,)]),
    ("...,...->...", [(2, 3), (3,)]),
    (",ij->ij", [(), (2, 3)]),
]


@pytest.mark.parametrize(("equation", "shapes"), EINSUMS)
def test_einsum(equation: str, shapes: Any) -> None:
    """Each feature of an equation, with gradients."""
    for dtype in ("float32", "float64", "int64", "complex64"):
        args = [leaf(s, dtype, i) for i, s in enumerate(shapes)]
        agree(torch, dt.einsum, torch.einsum, [equation, *args], {}, equation)


def test_einsum_by_numbers() -> None:
    """Lists of numbers instead of letters, with and without the output's."""
    a, b = leaf((2, 3, 4)), leaf((3, 5))
    agree(torch, dt.einsum, torch.einsum, [a, [0, 1, 2], b, [1, 3], [3, 0, 2]], {}, "")
    agree(torch, dt.einsum, torch.einsum, [a, [..., 1, 2], b, [1, 0]], {}, "implicit")


@pytest.mark.parametrize(
    ("shapes", "dims"),
    [
        ([(2, 3, 4), (3, 4, 5)], 2),
        ([(2, 3), (4,)], 0),
        ([(3,), (3,)], 1),
        ([(2, 3, 4), (4, 3, 5)], ([1, 2], [1, 0])),
        ([(2, 3), (3, 2)], ([-1], [0])),
    ],
)
def test_tensordot(shapes: Any, dims: Any) -> None:
    """Dims by number and by name."""
    args = [leaf(s, seed=i) for i, s in enumerate(shapes)]
    agree(torch, dt.tensordot, torch.tensordot, args, {"dims": dims}, str(dims))


@pytest.mark.parametrize(
    ("name", "shapes"),
    [
        ("matmul", [(2, 3), (4, 2)]),
        ("matmul", [(), (2,)]),
        ("matmul", [(2, 3, 4), (3, 4, 5)]),
        ("mm", [(2, 3, 4), (4, 5)]),
        ("mm", [(2, 3), (2, 3)]),
        ("bmm", [(2, 3), (3, 2)]),
        ("bmm", [(2, 3, 4), (3, 4, 5)]),
        ("mv", [(2, 3), (2,)]),
        ("dot", [(2,), (3,)]),
        ("dot", [(2, 2), (2, 2)]),
        ("outer", [(2, 2), (2,)]),
        ("inner", [(2, 3), (2, 4)]),
        ("addmm", [(3, 3), (2, 4), (4, 3)]),
        ("cross", [(2, 4), (2, 4)]),
    ],
)
def test_refusals(name: str, shapes: Any) -> None:
    """Shapes that torch refuses are refused with an error of the same class."""
    args = [leaf(s) for s in shapes]
    both_refuse(getattr(dt, name), getattr(torch, name), args, {})


def test_refused_dtypes_and_equations() -> None:
    """Mixed dtypes and malformed equations are refused, saying why."""
    a, b = leaf((2, 2)), leaf((2, 2), "float64")
    for name in ("matmul", "mm", "inner"):
        both_refuse(getattr(dt, name), getattr(torch, name), [a, b], {})
    for equation, args in (
        ("ij->ijj", [a]),
        ("ij->k", [a]),
        ("i", [a]),
        ("ij,jk", [a]),
        ("i.j->ij", [a]),
        ("ij,ij->ij", [a, leaf((2, 3))]),
    ):
        both_refuse(dt.einsum, torch.einsum, [equation, *args], {})
    with pytest.raises(
        dt.errors.ShapeError, match="axis k is 3 in input but 4 in other"
    ):
        dt.matmul(dt.zeros(2, 3), dt.zeros(4, 2))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", ["addmm", "baddbmm"])
def test_a_sum_to_a_product_is_rounded_once(name: str, dtype: str) -> None:
    """Products and sums of 16-bit floats are float32's, as torch's: no half is lost."""
    rng = np.random.default_rng(7)
    batch = () if name == "addmm" else (3,)
    given = [rng.normal(size=(*batch, *s)) for s in ((9, 11), (9, 30), (30, 11))]

    def call(lib: Any) -> Any:
        c, a, b = (lib.tensor(x).to(getattr(lib, dtype)) for x in given)
        y = getattr(lib, name)(c, a, b, beta=0.7, alpha=1.3)
        return y.dtype is getattr(lib, dtype), y.float().numpy()

    ours, theirs = call(dt), call(torch)
    assert ours[0]
    assert theirs[0]
    assert (ours[1] == theirs[1]).mean() > 0.98  # all but ties in the order of sums
