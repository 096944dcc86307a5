"""Parts of complex numbers, and pairs as complex numbers, are views of one memory."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

import dovetail as dt
from dovetail.engine.scopes import Recorder, record
from dovetail.errors import InplaceError, ShapeError

PARTS: Final[dict[str, tuple[Any, Any]]] = {
    "real": (dt.real, lambda a: a.real),
    "imag": (dt.imag, lambda a: a.imag),
    "view_as_real": (dt.view_as_real, lambda a: np.stack((a.real, a.imag), -1)),
}
LAYOUTS: Final[list[Callable[[Any], Any]]] = [
    lambda x: x, lambda x: x.T, lambda x: x[1:, ::2], lambda x: x[0:1, 1],
    lambda x: x[:, :0], lambda x: x[:, None, 2],
]  # fmt: skip


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_views_have_the_parts_in_any_layout(
    name: str, layout: Callable[[Any], Any]
) -> None:
    """Values are NumPy's, and a write goes to that part of those elements alone."""
    a = np.random.default_rng(3).normal(size=(3, 4, 2)).view(np.complex128)[..., 0]
    x = dt.tensor(a)
    part = PARTS[name][0](layout(x))
    np.testing.assert_array_equal(part.numpy(), PARTS[name][1](layout(a)))
    part.mul_(-2)
    for which in ("real", "imag"):
        if name in (which, "view_as_real"):
            looked = layout(getattr(a, which))
            looked *= -2
    np.testing.assert_array_equal(x.numpy(), a)


def test_pairs_as_complex_numbers() -> None:
    """They share memory both ways, and go back to what they were."""
    pairs = dt.arange(12.0).view(2, 3, 2)
    z = dt.view_as_complex(pairs)
    z[1] = 1j
    assert pairs[1].tolist() == [[0.0, 1.0]] * 3
    pairs[0, 0, 1] = 9.0
    assert z[0, 0].item() == 9j
    assert dt.view_as_real(z).data_ptr() == pairs.data_ptr()


@pytest.mark.parametrize(
    "pairs", [lambda x: x.T, lambda x: x[:, 1:3], lambda x: x.view(-1)[:9].view(3, 3)]
)
def test_numbers_that_lie_elsewhere_are_no_pairs(pairs: Callable[[Any], Any]) -> None:
    """A last dim of other strides, an odd place or another size is refused."""
    x = pairs(dt.arange(12.0).view(2, 6))
    x = x if x.shape[-1] == 2 else x[:, :2]
    with pytest.raises(ShapeError, match=r"view_as_complex.*contiguous"):
        dt.view_as_complex(x)


def test_parts_are_set_by_name() -> None:
    """A part takes a tensor or a number, in place."""
    z = dt.tensor([1 + 2j, 3 - 1j])
    z.real = dt.tensor([5.0, 6.0])
    z.imag = 0.5
    assert z.tolist() == [5 + 0.5j, 6 + 0.5j]


WRITES: Final[dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]]] = {
    "a part": (
        lambda y: y.imag.mul_(3), lambda y: dt.complex(y.real, y.imag * 3),
    ),
    "part of a part": (
        lambda y: y.real[1].exp_(),
        lambda y: dt.complex(dt.stack((y.real[0], y.real[1].exp())), y.imag),
    ),
    "pairs": (
        lambda y: dt.view_as_real(y).square_(), lambda y: dt.complex(
            y.real.square(), y.imag.square()
        ),
    ),
    "part of pairs": (
        lambda y: dt.view_as_real(y)[1, 0].mul_(3),
        lambda y: y * dt.tensor([[1.0, 1.0], [3.0, 1.0]]),
    ),
    "one part by the other": (
        lambda y: y.real.copy_(y.imag.clone() ** 2),
        lambda y: dt.complex(y.imag**2, y.imag),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRITES)
def test_gradients_through_written_parts(name: str) -> None:
    """Of first and second order they are those of the same, not in place."""
    in_place, apart = WRITES[name]
    found = []
    for write in (in_place, apart):
        x = dt.tensor([[1 + 2j, 3 - 1j], [0.5j, 2.0]], requires_grad=True)
        y = x * (1 - 0.5j)
        if write is in_place:
            write(y)
        else:
            y = write(y)
        loss = (dt.view_as_real(y) ** 3 * dt.tensor([1.0, 2.0])).sum()
        (g,) = dt.autograd.grad(loss, x, create_graph=True)
        found += [y.detach(), g.detach(), *dt.autograd.grad((g.abs() ** 2).sum(), x)]
    for ours, theirs in zip(found[:3], found[3:], strict=True):
        dt.testing.assert_close(ours, theirs)


def test_gradients_through_written_pairs() -> None:
    """A base of real numbers gets the gradient of what was written as complex ones."""
    x = dt.arange(4.0, requires_grad=True)
    y = x * 2
    dt.view_as_complex(y.view(2, 2))[0].mul_(2j)
    (y * dt.tensor([1.0, 10.0, 100.0, 1000.0])).sum().backward()
    assert x.grad.tolist() == [40.0, -4.0, 200.0, 2000.0]


def test_a_written_part_counts_as_a_write() -> None:
    """What the tape keeps of the whole is not used after a part of it was written."""
    x = dt.tensor([1 + 2j], requires_grad=True)
    y = x * 1
    z = y * y
    y.real.zero_()
    with pytest.raises(RuntimeError, match="version 1"):
        z.real.sum().backward()


def test_copies_and_their_parts_share_memory() -> None:
    """As the tensors that they were copied from."""
    z = dt.tensor([1 + 2j, 3 - 1j])
    whole, part = copy.deepcopy((z, z.imag))
    part.zero_()
    assert whole.tolist() == [1, 3]
    assert z.tolist() == [1 + 2j, 3 - 1j]


@pytest.mark.parametrize("name", PARTS)
def test_parts_that_share_no_memory_are_not_written(name: str) -> None:
    """While calls are watched, they are copies: a write is refused, not lost."""
    z = dt.tensor([1 + 2j, 3 - 1j])
    with record(Recorder()):
        part = PARTS[name][0](z)
    before = part.tolist()
    for write in (lambda: part.mul_(2), lambda: part[0].zero_()):
        with pytest.raises(InplaceError, match=f"a copy made by {name}"):
            write()
    assert part.tolist() == before
    assert part.clone().mul_(2) is not None


def test_parts_on_meta_may_be_written() -> None:
    """There are no values that a write could miss."""
    z = dt.zeros(2, 3, dtype=dt.complex64, device="meta")
    assert z.real.mul_(2).shape == (2, 3)
    assert dt.view_as_real(z).zero_().dtype is dt.float32


@pytest.mark.parametrize(
    "seen",
    [
        lambda x: x, lambda x: x.imag, dt.view_as_real, lambda x: x[2:].real,
        lambda x: dt.view_as_complex(dt.view_as_real(x)[1:]),
        lambda x: x.imag.view(dt.int32), lambda x: dt.view_as_real(x).view(dt.float64),
    ],
)  # fmt: skip
def test_memory_is_as_large_in_every_dtype(seen: Callable[[Any], Any]) -> None:
    """A view takes elements of its own dtype to the end of memory, and no more."""
    x = dt.tensor(np.arange(12, dtype=np.float32).view(np.complex64))
    view = seen(x)
    assert view.untyped_storage().nbytes() == x.untyped_storage().nbytes() == 48
    count = 48 // view.element_size()
    whole = x.numpy().view(view.dtype.numpy)
    assert view.as_strided((count,), (1,), 0).tolist() == whole.tolist()
    assert bytes(view.untyped_storage().tolist()) == whole.tobytes()
    with pytest.raises(RuntimeError, match="within the memory"):
        view.as_strided((count + 1,), (1,), 0)
