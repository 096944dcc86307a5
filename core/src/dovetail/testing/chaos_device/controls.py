"""The user's hand on the chaos device: `with chaos(seed=7, out_of_memory=0.01)`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from dovetail.device_api import registry
from dovetail.errors import DovetailError
from dovetail.testing.chaos_device.backend import ChaosBackend
from dovetail.testing.chaos_device.settings import (
    Behaviour,
    Settings,
    enter,
    leave,
    points,
)


@contextmanager
def chaos(
    seed: int = 0,
    *,
    poison: bool = True,
    guard: bool = True,
    reorder: bool = True,
    out_of_memory: float | Sequence[int] = 0.0,
    device_loss: float | Sequence[int] = 0.0,
) -> Iterator[Behaviour]:
    """Say what every `chaos:` device does wrong; its end waits for their work.

    Args:
        seed: of the order of work, and of faults that come by chance.
        poison: fresh memory holds NaN, large odd numbers, alternating bools.
        guard: memory lies between guards that nobody may write.
        reorder: work is put off, and done in another order that is within its rights.
        out_of_memory: chance that an allocation fails (a float), or which ones do
            (an int or several, counted from 1).
        device_loss: the same for the launch of a kernel that loses the device.

    Returns:
        Counts so far of `allocations` and `kernels`, for choosing where to fail.

    Raises:
        DovetailError: at the end, what went wrong in work that nobody waited for.
    """
    plan = Behaviour(
        Settings(
            seed, poison, guard, reorder, points("out_of_memory", out_of_memory),
            points("device_loss", device_loss),
        )
    )  # fmt: skip
    _settle()
    enter(plan)
    try:
        yield plan
    except BaseException:
        _settle(quiet=True)
        raise
    else:
        _settle()
    finally:
        leave(plan)
        for backend in _devices():
            backend.replace_lost()


def _devices() -> list[ChaosBackend]:
    return [b for b in registry.loaded() if isinstance(b, ChaosBackend)]


def _settle(quiet: bool = False) -> None:
    """Wait for all work of every chaos device that still answers."""
    for backend in _devices():
        for device in backend.all():
            if device.lost is not None:
                continue
            try:
                backend.synchronize(device.index)
            except DovetailError:
                if not quiet:
                    raise
