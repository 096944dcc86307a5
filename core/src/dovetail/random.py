"""Seeds and states of the default generators: `torch.random`.

Every device has a default generator; the law of its numbers is in
`dovetail.ops.philox`. Functions that name no device speak of the CPU's generator,
except `manual_seed` and `seed`, which set them all.
"""

from __future__ import annotations

import typing as _typing
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from dovetail.device import device
from dovetail.engine.generator import HOST, Generator, existing_generators, generator_of
from dovetail.engine.missing_names import missing_name as _missing_name
from dovetail.frontend.generators import (
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)  # fmt: skip
from dovetail.frontend.settings import thread_safe_generator


@contextmanager
def fork_rng(
    devices: Iterable[Any] | None = None,
    enabled: bool = True,
    device_type: str = "cuda",
) -> Iterator[None]:
    """Put the default generators back at the end to where they were.

    Args:
        devices: those whose generators are kept, beside the CPU's: devices, device
            strings, or indices of `device_type`. None for all that have been used.
        enabled: False does nothing.
    """
    if not enabled:
        yield
        return
    kept = {generator_of(HOST): None}
    if devices is None:
        kept |= dict.fromkeys(existing_generators())
    else:
        kept |= {generator_of(_named(d, device_type)): None for d in devices}
    states = [(g, g.get_state()) for g in kept]
    try:
        yield
    finally:
        for generator, state in states:
            generator.set_state(state)


def _named(where: Any, device_type: str) -> Any:
    return device(device_type, where) if isinstance(where, int) else where


def _default_generator(name: str) -> Any:
    """The CPU's default generator, by its name, once a backend is needed for it."""
    return generator_of(HOST) if name == "default_generator" else _missing(name)


__all__ = [
    "Generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed",
    "set_rng_state", "thread_safe_generator",
]  # fmt: skip

_missing = _missing_name(__name__)
if _typing.TYPE_CHECKING:
    default_generator: Generator
else:
    __getattr__ = _default_generator
