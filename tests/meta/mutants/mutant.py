"""A mutant: a device with one fault, how it is planted, and what is known of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from inspect import isabstract
from typing import Any, Final
from unittest import mock

import numpy as np

from dovetail.conformance.subject import Subject
from dovetail.device_api import KernelTable, registry
from dovetail.device_api.contract import Backend
from dovetail.engine.op import Op, vocabulary
from dovetail_cpu.backend import CpuBackend

Array = np.ndarray[Any, Any]
# Runs the sound kernel on natives and attributes.
Run = Callable[..., Any]
# What stands in its place: `fault(run, natives, attrs)` gives the kernel's result.
Fault = Callable[[Run, list[Any], dict[str, Any]], Any]
Patch = Callable[[], AbstractContextManager[Any]]
# Tells a sound device and a broken one apart: what is seen on each.
Observe = Callable[[Subject], Any]

MUTANT: Final = "mutant"
SOUND: Final = "sound"


@dataclass(frozen=True)
class Mutant:
    """One deliberate fault.

    Attributes:
        name: `family/what-it-does`.
        describes: the fault, in words.
        touches: the ops whose results it changes; empty for the device as a whole.
        backend: makes the class of the broken backend.
        patch: a fault outside the backend, in the core; None for most.
        observe: what differs, seen on the sound device and on this one; None where a
            call is searched for.
        dtypes: names of the dtypes it is judged in first; all come in turn.
        laws: names of the laws that are asked first; all come in turn.
    """

    name: str
    describes: str
    touches: tuple[str, ...] = ()
    backend: Callable[[], type[Backend]] = lambda: CpuBackend
    patch: Patch | None = None
    observe: Observe | None = None
    dtypes: tuple[str, ...] = ()
    laws: tuple[str, ...] = ()
    sound: Callable[[], type[Backend]] = lambda: CpuBackend

    @property
    def family(self) -> str:
        return self.name.split("/")[0]

    @property
    def ops(self) -> list[Op]:
        return [vocabulary[name] for name in self.touches]

    @contextmanager
    def planted(self) -> Iterator[str]:
        """The broken device, in use while the block runs."""
        with ExitStack() as stack:
            if self.patch is not None:
                stack.enter_context(self.patch())
            yield stack.enter_context(installed(self.backend(), MUTANT))

    def sane(self) -> AbstractContextManager[str]:
        """The same device without the fault."""
        return installed(self.sound(), SOUND)


@contextmanager
def installed(cls: type[Backend], name: str) -> Iterator[str]:
    """A backend of that class under that type, while the block runs."""
    bases: tuple[type, ...] = (cls,)
    if isabstract(cls):  # a fault alone, or what it is a fault of
        bases = (CpuBackend,) if issubclass(CpuBackend, cls) else (cls, CpuBackend)
    own = {"type": name, "automatic": False}
    registry.register(type(cls.__name__, bases, own)())
    try:
        yield name
    finally:
        registry.unregister(name)


def with_faults(
    faults: Mapping[str, Fault], base: type[Any] = CpuBackend, **options: Any
) -> type[Any]:
    """A backend whose kernels of these ops go through a fault.

    Args:
        options: changes to the kernels' declarations.
    """

    class Faulty(base):  # type: ignore[misc]
        def kernels(self, table: KernelTable) -> None:
            super().kernels(table)
            for name, fault in faults.items():
                table._kernels[name] = [
                    kernel._replace(
                        function=through(fault, kernel.function, kernel.binds),
                        supports_out=False, **options,
                    )
                    for kernel in table._kernels[name]
                ]  # fmt: skip
            table.changed()

    return Faulty


def through(fault: Fault, sound: Callable[..., Any], binds: bool) -> Any:
    """The kernel with the fault around it, called as the sound one is."""
    if not binds:
        return lambda *natives, **attrs: fault(sound, list(natives), attrs)

    def factory(**static: Any) -> Callable[..., Any]:
        def run(*natives: Any, **attrs: Any) -> Any:
            given = {name: attrs.pop(name) for name in static}
            return sound(**given)(*natives, **attrs)

        return lambda *natives, **now: fault(run, list(natives), {**static, **now})

    return factory


def kernel(name: str, ops: str, describes: str, fault: Fault, **options: Any) -> Mutant:
    """A mutant with one fault in the kernels of some ops, separated by spaces."""
    touches = tuple(ops.split())
    return Mutant(
        name, describes, touches,
        lambda: with_faults(dict.fromkeys(touches, fault)), **options,
    )  # fmt: skip


def instead(function: Callable[..., Any]) -> Fault:
    """A fault that is another kernel altogether."""
    return lambda run, natives, attrs: function(*natives, **attrs)


def after(change: Callable[..., Any]) -> Fault:
    """A fault that changes the sound result: `change(y, *natives, **attrs)`."""

    def fault(run: Run, natives: list[Any], attrs: dict[str, Any]) -> Any:
        y = run(*natives, **attrs)
        return change(np.asarray(y) if np.isscalar(y) else y, *natives, **attrs)

    return fault


def backend(
    name: str, describes: str, cls: type[Any], observe: Observe, **options: Any
) -> Mutant:
    """A mutant whose memory functions or claims are broken."""
    options.setdefault("sound", _unchanged(cls))
    return Mutant(name, describes, (), lambda: cls, observe=observe, **options)


def _unchanged(cls: type[Any]) -> Callable[[], type[Any]]:
    """What the broken class was made of."""
    base: type[Any] = cls.__mro__[1]
    return lambda: base


def rule(
    name: str, op: str, describes: str, vjp: Callable[..., Any], **options: Any
) -> Mutant:
    """A mutant with another gradient rule; its parameters say what is kept for it."""

    @contextmanager
    def patch() -> Iterator[None]:
        target = vocabulary[op]
        before = dict(vars(target))
        target.set_vjp(vjp)
        target.forget()
        try:
            yield
        finally:
            vars(target).update(before)
            target.on_change()
            target.forget()

    return Mutant(name, describes, (op,), patch=patch, **options)


def core(
    name: str, describes: str, owner: Any, attribute: str, broken: Any,
    observe: Observe, **options: Any,
) -> Mutant:  # fmt: skip
    """A mutant with one function of the core replaced."""

    def patch() -> AbstractContextManager[Any]:
        return mock.patch.object(owner, attribute, broken)

    return Mutant(name, describes, patch=patch, observe=observe, **options)


def pause() -> None:
    """Let other threads run in between."""
    time.sleep(5e-3)
