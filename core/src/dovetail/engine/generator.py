"""Generators: a seed, and how much of its stream of random words has been used.

A generator holds no random numbers. It hands out places in the stream that
`dovetail.ops.random` defines; ops compute the numbers from seed and place.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

import numpy as np

from dovetail.device import device, named
from dovetail.device_api import registry
from dovetail.device_api.contract import Backend
from dovetail.device_api.graphs import recording
from dovetail.dtypes import uint8
from dovetail.engine.kinds import Kind, kind_of
from dovetail.engine.placement import place
from dovetail.engine.scopes import anywhere, outside, tell, unseen
from dovetail.engine.tensor import Tensor, wrap
from dovetail.errors import (
    ArgumentError,
    ArgumentTypeError,
    CaptureError,
    DeviceError,
    DTypeError,
)

T = TypeVar("T")

_MASK: Final = (1 << 64) - 1
# Whose generator is meant where none is named, and where states are kept.
HOST: Final = "cpu,auto"
_FIRST_SEED: Final = 67280421310721  # torch's, c10/core/GeneratorImpl.h
_STATE_BYTES: Final = 16  # seed and offset, little-endian


class Generator:
    """A stream of random words on one device, and the place reached in it.

    Args:
        device: where the numbers are made; `"cpu"` if not given.

    Every new generator has the same seed, torch's, until it is given another.
    """

    __slots__ = ("__weakref__", "_backend", "_index", "_lock", "_offset", "_seed")

    def __init__(self, device: str | device = "cpu") -> None:
        backend, self._index = registry.resolve(device)
        self._backend = backend
        self._lock = threading.Lock()
        self._seed = _FIRST_SEED
        self._offset = 0
        if anywhere[0]:
            tell("generator", self)

    @property
    def device(self) -> device:
        """Where the numbers are made."""
        return named(self._backend.type, self._index)

    @property
    def offset(self) -> int:
        """How many words have been used."""
        return self._offset

    def manual_seed(self, seed: int) -> Generator:
        """Start the stream of `seed`; returns the generator.

        A negative seed counts from 2^64 downwards.
        """
        self._set(checked_seed(seed), 0)
        return self

    def seed(self) -> int:
        """Start the stream of a seed from the operating system; returns that seed."""
        fresh = _fresh_seed()
        outside("a seed of the operating system")
        self._set(fresh, 0)
        return fresh

    def initial_seed(self) -> int:
        """The seed of the stream."""
        return self._seed

    def reserve(self, words: int, align: int = 1) -> tuple[int, int]:
        """Take the next `words` words for oneself: seed, and the first one's place.

        The place is a multiple of `align`, the number of words an element takes, so
        that no element lies in two blocks. Safe between threads.
        """
        return self.spend(words, align, lambda seed, place: (seed, place))

    def spend(self, words: int, align: int, make: Callable[[int, int], T]) -> T:
        """What `make` gives of a place as `reserve` has it.

        If it raises, the words are given back, unless others were taken meanwhile.

        Raises:
            CaptureError: a graph is being recorded, which would repeat the numbers.
        """
        self._refuse_if_recorded("draw")
        with self._lock:
            seed, before = self._seed, self._offset
            start = -(-before // align) * align
            after = self._offset = (start + words) & _MASK
        if anywhere[0]:
            tell("draw", self, words, align, seed, start)
        try:
            return make(seed, start)
        except BaseException:
            with self._lock:
                if (self._seed, self._offset) == (seed, after):
                    self._offset = before
            raise

    def _refuse_if_recorded(self, what: str) -> None:
        """Raise while a graph is recorded, whose draws take no place in the stream."""
        graph = recording.get()
        if graph is not None and graph.backend is self._backend:
            raise CaptureError(
                "Generator", what, was="asked for while a graph is recorded, which "
                "draws at each replay", needed="a known place in the stream",
                remedy="ask before the graph or after it",
            )  # fmt: skip

    def get_state(self) -> Tensor:
        """Seed and offset as 16 bytes: a uint8 tensor on the CPU, if there is one."""
        self._refuse_if_recorded("get_state")
        with self._lock:
            state = self._seed.to_bytes(8, "little") + self._offset.to_bytes(
                8, "little"
            )
        kind = kind_of(HOST, uint8)
        made = wrap(kind.backend.copy_in(np.frombuffer(state, np.uint8), 0), kind)
        if anywhere[0]:
            tell("state", self, made)
        return made

    def set_state(self, new_state: Tensor) -> Generator:
        """Go to the place that `get_state` gave; returns the generator."""
        self._refuse_if_recorded("set_state")
        state = _state_bytes(new_state)
        with self._lock:
            self._seed, self._offset = (
                int.from_bytes(state[i : i + 8], "little") for i in (0, 8)
            )
        if anywhere[0]:
            tell("set state", self, new_state)
        return self

    def clone_state(self) -> Generator:
        """Another generator at the same place of the same stream."""
        self._refuse_if_recorded("clone_state")
        clone = Generator(self.device)
        with self._lock:
            clone._seed, clone._offset = self._seed, self._offset
        if anywhere[0]:
            tell("clone state", self, clone)
        return clone

    def _set(self, seed: int, offset: int) -> None:
        self._refuse_if_recorded("seed")
        with self._lock:
            self._seed, self._offset = seed, offset
        if anywhere[0]:
            tell("seed", self, seed, offset)

    def __repr__(self) -> str:
        return f"<Generator on {self.device}, seed {self._seed}, offset {self._offset}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (str(self.device), self._seed, self._offset)


def _rebuilt(where: str, seed: int, offset: int) -> Generator:
    backend, index = place(where, None)
    made = Generator(device(backend.type, index))
    made._set(seed, offset)
    return made


def _state_bytes(state: Any) -> bytes:
    """The 16 bytes of a state; raises for what is none."""
    if not isinstance(state, Tensor):
        raise ArgumentTypeError(
            "set_state", "new_state", was=f"a {type(state).__name__}",
            needed="the uint8 tensor that get_state() gave",
        )  # fmt: skip
    if state.dtype is not uint8:
        raise DTypeError(
            "set_state", "dtype of new_state", was=state.dtype.name, needed="uint8"
        )
    if tuple(state._a.shape) != (_STATE_BYTES,):
        raise ArgumentError(
            "set_state", "new_state", was=f"of shape {tuple(state._a.shape)}",
            needed=f"({_STATE_BYTES},), as get_state() gives",
        )  # fmt: skip
    return state._kind.backend.copy_out(state._a).tobytes()


def _fresh_seed() -> int:
    """A seed of 53 bits, which a float holds exactly, as torch has it."""
    return int.from_bytes(os.urandom(8), "little") >> 11


def checked_seed(seed: Any) -> int:
    """A seed as 64 bits without a sign."""
    try:
        number = int(seed)
    except (TypeError, ValueError) as error:
        raise ArgumentTypeError(
            "manual_seed", "seed", was=repr(seed), needed="an integer"
        ) from error
    if not -(1 << 63) <= number <= _MASK:
        raise ArgumentError(
            "manual_seed", "seed", was=number, needed="between -2^63 and 2^64 - 1"
        )
    return number & _MASK


# ---- the default generators, one a device

_defaults: dict[tuple[str, int], Generator] = {}
_chosen: list[int | None] = [None]
_lock: Final = threading.Lock()


def default_generator(backend: Backend, index: int) -> Generator:
    """The generator of a device for draws that name none; made on first use."""
    key = (backend.type, index)
    found = _defaults.get(key)
    if found is None or found._backend is not backend:
        with _lock:
            found = _defaults.get(key)
            if found is None or found._backend is not backend:
                with unseen():  # it stays
                    found = Generator(device(backend.type, index))
                seed = _chosen[0]
                found._seed = _fresh_seed() if seed is None else seed
                _defaults[key] = found
    return found


def generator_of(where: str | device) -> Generator:
    """The default generator of a device."""
    return default_generator(*registry.resolve(where))


def existing_generators() -> Sequence[Generator]:
    """The default generators that have been used."""
    with _lock:
        return tuple(_defaults.values())


def seed_all(seed: int) -> None:
    """Start the stream of `seed` on every device, present and to come."""
    number = checked_seed(seed)
    with _lock:
        _chosen[0] = number
        for generator in _defaults.values():
            generator._set(number, 0)


def draw(
    op: str, kind: Kind, generator: Any, words: int, align: int,
    make: Callable[[int, int], T],
) -> T:  # fmt: skip
    """What `make` gives of seed and place of the next words, for a result of `kind`.

    A draw that fails takes none.

    Raises:
        ArgumentTypeError: `generator` is none.
        DeviceError: it belongs to another device.
    """
    owner = owner_of(op, kind, generator)
    return make(0, 0) if owner is None else owner.spend(words, align, make)


def owner_of(op: str, kind: Kind, generator: Any) -> Generator | None:
    """Whose words are drawn for a result of `kind`; nobody's where there are no values.

    Raises:
        ArgumentTypeError: `generator` is none.
        DeviceError: it belongs to another device.
    """
    backend = kind.backend.stands_for or kind.backend
    if generator is None:
        return None if backend.rules_only else default_generator(backend, kind.index)
    if not isinstance(generator, Generator):
        raise ArgumentTypeError(
            op, "generator", was=f"a {type(generator).__name__}",
            needed="a dovetail.Generator or None",
        )  # fmt: skip
    if generator._backend is not backend or generator._index != kind.index:
        raise DeviceError(
            op, "generator", was=f"on {generator.device}",
            needed=f"{kind.device}, where the numbers are made",
            remedy=f'use dovetail.Generator(device="{kind.device}")',
        )  # fmt: skip
    return generator
