"""Random numbers of the devices of one type."""

from __future__ import annotations

from collections.abc import Iterable

from dovetail.device_modules.places import DeviceLike, Places
from dovetail.engine.generator import Generator, checked_seed, generator_of
from dovetail.engine.tensor import Tensor


class Seeds(Places):
    """Seeds and states of the devices' generators."""

    def _generators(self) -> list[Generator]:
        return [generator_of(self._named(info.index)) for info in self._infos()]

    def manual_seed(self, seed: int) -> None:
        """Start the stream of `seed` on the current device."""
        number = checked_seed(seed)
        if self.is_available():
            generator_of(self._named()).manual_seed(number)

    def manual_seed_all(self, seed: int) -> None:
        """Start the stream of `seed` on every device of the type."""
        number = checked_seed(seed)
        for generator in self._generators():
            generator.manual_seed(number)

    def seed(self) -> None:
        """Start the stream of a new seed on the current device."""
        if self.is_available():
            generator_of(self._named()).seed()

    def seed_all(self) -> None:
        """Start the streams of one new seed on every device of the type."""
        for generator in self._generators()[:1]:
            self.manual_seed_all(generator.seed())

    def initial_seed(self) -> int:
        """The seed of the current device's generator."""
        return generator_of(self._named()).initial_seed()

    def get_rng_state(self, device: DeviceLike = None) -> Tensor:
        """The state of a device's generator."""
        return generator_of(self._named(device)).get_state()

    def get_rng_state_all(self) -> list[Tensor]:
        """The states of all devices' generators."""
        return [generator.get_state() for generator in self._generators()]

    def set_rng_state(self, new_state: Tensor, device: DeviceLike = None) -> None:
        """Set the state of a device's generator."""
        generator_of(self._named(device)).set_state(new_state)

    def set_rng_state_all(self, new_states: Iterable[Tensor]) -> None:
        """Set the states of all devices' generators."""
        for index, state in enumerate(new_states):
            self.set_rng_state(state, index)
