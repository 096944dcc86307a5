"""Random numbers are law: the same on every backend, bit by bit."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.plugins import output

import dovetail as dt
from dovetail.nn import functional as F

# On both sides of where 16-bit limbs and one million words carry.
SIZES = (0, 1, 5, 2**16 - 1, 2**16 + 3, 2**20 + 5)


def drawn(draw: object, device: str, seed: int = 11) -> list[np.ndarray]:
    """What a fresh generator gives twice, as NumPy arrays."""
    dt.manual_seed(seed)
    with dt.device(device):
        return [draw().cpu().numpy() for _ in range(2)]  # type: ignore[operator]


def same_bits(draw: object) -> None:
    here, there = drawn(draw, "cpu"), drawn(draw, "fake:1")
    for a, b in zip(here, there, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)
    if here[0].size > 16:
        assert not np.array_equal(here[0], here[1])


@pytest.mark.parametrize("size", SIZES)
def test_integers(size: int) -> None:
    """Integers are the same, also across a range that is no power of two."""
    same_bits(lambda: dt.randint(-7, 1000, (size,)))


@pytest.mark.parametrize("size", SIZES)
def test_uniforms(size: int) -> None:
    """Uniforms are the same to the last bit."""
    same_bits(lambda: dt.rand(size))


@pytest.mark.parametrize("size", SIZES)
def test_masks(size: int) -> None:
    """Dropout leaves out the same elements."""
    same_bits(lambda: F.dropout(dt.ones(size), 0.3) != 0)


@pytest.mark.parametrize("size", [0, 1, 5, 1000, 2**16 + 3])
def test_permutations(size: int) -> None:
    """Permutations are the same."""
    same_bits(lambda: dt.randperm(size))


@pytest.mark.parametrize("size", [1, 5, 2**16 + 3])
def test_normals(size: int) -> None:
    """Normals come from the same words, and agree within a few roundings."""
    here, there = (drawn(lambda: dt.randn(size), d) for d in ("cpu", "fake:1"))
    for a, b in zip(here, there, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-6, atol=2e-6)


def test_state_moves_between_devices() -> None:
    """A generator's state, saved on one device, goes on the same on another."""
    here = dt.Generator("cpu").manual_seed(5)
    dt.rand(7, generator=here)
    there = dt.Generator("fake")
    there.set_state(here.get_state())
    np.testing.assert_array_equal(
        dt.rand(9, generator=there, device="fake").cpu().numpy(),
        dt.rand(9, generator=here).numpy(),
    )


WITHOUT_THE_CPU = """
import sys
sys.modules["dovetail_cpu"] = None  # as if it were not installed
from dovetail_fake.backend import FakeBackend
FakeBackend.automatic = True
import dovetail as dt

generator = dt.manual_seed(3)
assert str(generator.device) == "fake:0", generator
state = dt.get_rng_state()
first = dt.rand(3, device="fake")
dt.set_rng_state(state)
assert dt.equal(dt.rand(3, device="fake"), first)
assert dt.seed() == dt.initial_seed()
with dt.random.fork_rng():
    dt.manual_seed(4)
print(dt.initial_seed() != 4)
"""


def test_seeds_without_the_cpu() -> None:
    """Where there is no CPU backend, the device `auto` stands in for it."""
    assert output(WITHOUT_THE_CPU) == "True"
