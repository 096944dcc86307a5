"""Seeds and states of the default generators."""

from __future__ import annotations

from typing import Any, TypeAlias

from dovetail.engine.generator import HOST, Generator, generator_of, seed_all
from dovetail.engine.public import NAMESPACES, public
from dovetail.engine.tensor import Tensor

NAMESPACES["torch"]["Generator"] = Generator
Seed: TypeAlias = int  # of 64 bits, signed or not


@public("torch.manual_seed")
def manual_seed(seed: Seed) -> Generator:
    """Start the stream of `seed` on every device; returns the CPU's generator.

    Args:
        seed: an integer from -2^63 to 2^64 - 1.

    Raises: ArgumentTypeError for what is no integer.

    Examples:
        >>> import dovetail as torch
        >>> _ = torch.manual_seed(0)
        >>> first = torch.rand(3)
        >>> _ = torch.manual_seed(0)
        >>> bool((torch.rand(3) == first).all())
        True
    """
    seed_all(seed)
    return generator_of(HOST)


@public("torch.seed")
def seed() -> int:
    """Start the stream of a seed from the operating system everywhere; returns it."""
    fresh = generator_of(HOST).seed()
    seed_all(fresh)
    return fresh


@public("torch.initial_seed")
def initial_seed() -> int:
    """The seed of the CPU's default generator."""
    return generator_of(HOST).initial_seed()


@public("torch.get_rng_state")
def get_rng_state(device: Any = HOST) -> Tensor:
    """The state of a device's default generator, as a uint8 tensor."""
    return generator_of(device).get_state()


@public("torch.set_rng_state")
def set_rng_state(new_state: Tensor, device: Any = HOST) -> None:
    """Set the state of a device's default generator."""
    generator_of(device).set_state(new_state)
