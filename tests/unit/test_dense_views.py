"""Views and writes through views on arrays without strides: as on the CPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from tests.support import dense
from tests.support.dense import VARIANTS, grid

import dovetail as dt


@pytest.fixture(scope="module", autouse=True)
def _devices() -> Iterator[None]:
    with dense.registered(*(variant() for variant in VARIANTS)):
        yield


@pytest.fixture(params=[v.type for v in VARIANTS])
def device(request: pytest.FixtureRequest) -> str:
    """A device whose reshapes share memory, one whose copy, one that never writes."""
    found: str = request.param
    return found


def _transposes(device: str) -> Any:
    x = grid(device, 2, 3, 4)
    return x.permute(2, 0, 1) @ x.transpose(0, 1)[:, :, 0], x.mT.reshape(-1), x.T


def _steps(device: str) -> Any:
    x = grid(device, 5, 6)
    return x[1::2, ::3] * 2, x[:, 4], x[2], x[3:3].sum(), x[..., 5:1:1].clone()


def _expanded(device: str) -> Any:
    x = grid(device, 3, 1)
    return x.expand(3, 4).sum(0), x.expand(2, 3, 4).contiguous(), x[0].expand(5) + 1


def _strided(device: str) -> Any:
    x = grid(device, 12)
    return x.as_strided((3, 4), (2, 1)), x.unfold(0, 4, 3), x.view(3, 4).diagonal()


def _written(device: str) -> Any:
    x = grid(device, 4, 5)
    x[1:3, ::2] = 7
    x[0] += x[3]
    x.t()[2].mul_(-1)
    x[:, 1].zero_()
    x.view(-1)[3:7] = x[2, :4]
    return x, x.t()[3:]


def _views_of_views(device: str) -> Any:
    x = grid(device, 3, 4, 5)
    y = x.permute(2, 1, 0)[1:4]
    z = y[::2, 1:]
    z.add_(100)
    y[0, 0, 0] = -1
    z.select(1, 1).copy_(dt.ones(3, device=device).expand(2, 3))
    return x, y, z, x.diagonal(0, 1, 2)


def _overlapping(device: str) -> Any:
    x, y, z = grid(device, 10), grid(device, 4, 4), grid(device, 3, 3)
    x[1:].copy_(x[:-1])
    y.copy_(y.t())
    z.t().copy_(z)
    return x, y, z


def _filled(device: str) -> Any:
    x = grid(device, 2, 3)
    x[:, 1:2].fill_(9)
    view = x.view(3, 2)
    x.fill_(4)
    return x, view, dt.zeros(0, 3, device=device), x[:0].fill_(1)


def _scalars(device: str) -> Any:
    x = dt.tensor(3.0, device=device)
    y = x.view(1, 1).expand(2, 2)
    x.add_(1)
    return x, y, y[0, 1], grid(device, 4)[2] + x


def _scattered(device: str) -> Any:
    x, index = grid(device, 4, 3), dt.tensor([[0, 2], [2, 2]], device=device)
    x.t().scatter_add_(0, index, dt.ones(2, 2, device=device))
    x[1:, 1:].index_fill_(0, index[0], -5.0)
    x.t()[:, 0].masked_fill_(x[0] > 1, 50.0)
    x[:, 2].index_put_((index[0],), x[:2, 0])
    return x


def _joined(device: str) -> Any:
    x = grid(device, 3, 4)
    parts = x.split(2, dim=1)
    return dt.cat([parts[1], parts[0], x.t()[:3, :2]], 1), dt.stack(list(x.unbind(1)))


def _gradients(device: str) -> Any:
    x = (grid(device, 3, 4) / 7).requires_grad_()
    y = x * 2
    y.t()[1:3] *= x[0:1, 1:3].t()
    (y[::2, 1:] * y[:2, :3].exp()).sum().backward()
    return x.grad, y.detach()


PROGRAMS = (
    _transposes, _steps, _expanded, _strided, _written, _views_of_views, _overlapping,
    _filled, _scalars, _scattered, _joined, _gradients,
)  # fmt: skip


def _results(found: Any) -> tuple[Any, ...]:
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__[1:])
def test_views_as_on_cpu(program: Callable[[str], Any], device: str) -> None:
    """Views, and writes through them, give what they give on the CPU."""
    here, there = program(device), program("cpu")
    for a, b in zip(_results(here), _results(there), strict=True):
        assert a.shape == b.shape
        assert a.stride() == b.stride() or not a.numel()
        np.testing.assert_allclose(a.cpu().numpy(), b.numpy(), rtol=1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_random_views_and_writes(seed: int, device: str) -> None:
    """Memory after random chains of views, each written, is what it is on the CPU."""
    rng = np.random.default_rng(seed)
    x, y = grid(device, 3, 4, 5), grid("cpu", 3, 4, 5)
    for value in range(6):
        chain = [_random_view(rng) for _ in range(rng.integers(1, 4))]
        a, b = x, y
        for take in chain:
            if b.ndim == 3:
                a, b = take(a), take(b)
        source = rng.integers(3)
        if source == 0:
            a.fill_(value), b.fill_(value)
        elif source == 1:
            a.mul_(2).add_(value), b.mul_(2).add_(value)
        elif a.shape == b.transpose(0, -1).shape:
            a.copy_(a.transpose(0, -1)), b.copy_(b.transpose(0, -1))
    np.testing.assert_array_equal(x.cpu().numpy(), y.numpy())


def _random_view(rng: np.random.Generator) -> Callable[[Any], Any]:
    kind, dim = rng.integers(5), int(rng.integers(3))
    start, step = int(rng.integers(2)), int(rng.integers(1, 3))
    order = tuple(int(d) for d in rng.permutation(3))
    return (
        lambda t: t.permute(order),
        lambda t: t[start::step],
        lambda t: t.narrow(dim, 0, max(1, t.shape[dim] - 1)),
        lambda t: t.transpose(0, dim)[..., start::step],
        lambda t: t.select(dim, 0),
    )[kind]
