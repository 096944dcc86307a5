"""Backends by device type: loaded on first use, isolated when broken."""

from __future__ import annotations

import threading
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from dovetail.device import PREFERENCE, candidates, chooser, device, named
from dovetail.device_api.contract import Backend, DeviceInfo
from dovetail.device_api.current import choice, forget
from dovetail.device_api.discovery import (
    KERNEL_GROUP,
    KNOWN,
    RESERVED,
    WRAPPERS,
    PluginInfo,
    choices,
    entry_of,
    list_plugins,
    reserved,
    unknown,
    unreadable,
)
from dovetail.device_api.isolation import broken, foreign
from dovetail.device_api.meta import MetaBackend
from dovetail.errors import BackendError, DeviceError

if TYPE_CHECKING:
    from dovetail.device_api.plugins import PluginFailure, Plugins

_lock: Final = threading.RLock()
_loaded: Final[dict[str, Backend]] = {}
_failed: Final[dict[str, Exception]] = {}
_present: Final[dict[str, tuple[int, ...]]] = {}  # indices of a type's devices


@cache
def _plugins() -> Plugins:
    from dovetail.device_api.plugins import Plugins  # with pluggy: not at import

    return Plugins()


def check_type(name: str) -> None:
    """Raise for a device type of which no backend is installed; loads none.

    Raises: BackendError says which there are.
    """
    if name not in _loaded and ":" not in name and entry_of(name) is None:
        raise unknown(name, _loaded)


def load(name: str) -> Backend:
    """The backend of a device type, loaded on first use.

    Raises:
        BackendError: the plug-in is missing, claimed twice, or failed to load;
            `__cause__` holds the root cause.
    """
    backend = _loaded.get(name)
    if backend is not None:
        return backend
    with _lock:
        if name in _loaded:
            return _loaded[name]
        if name in _failed:
            raise broken(name, _failed[name]) from _failed[name]
        if name == "meta":
            return _install(MetaBackend())
        if ":" in name:
            return _install(_wrapped(name))
        entry = entry_of(name)
        if entry is None:
            raise unknown(name, _loaded)
        try:
            with foreign(name):
                return _load_plugin(name, entry.load())
        except Exception as error:  # a plug-in may fail in any way
            _failed[name] = error
            raise broken(name, error) from error


def _wrapped(name: str) -> Backend:
    """The backend behind a type such as `chaos:cpu`."""
    outer, _, inner = name.partition(":")
    made: Backend = import_module(WRAPPERS[outer]).wrap(load(inner))
    return made


def _load_plugin(name: str, plugin: Any) -> Backend:
    """Register a plug-in, make its backend, let plug-ins add kernels to it."""
    owner = _plugins().register(plugin, name)
    try:
        backend = _install(_made(name, _plugins().backend_class(owner)))
    except Exception:
        if owner == name:
            _plugins().unregister(name)
        raise
    if owner == name:
        _plugins().serve(name)
    return backend


def _made(name: str, cls: Any) -> Backend:
    if not (isinstance(cls, type) and issubclass(cls, Backend)):
        raise BackendError(
            f"plug-in {name}", "dovetail_backend()", was=repr(cls),
            needed="a subclass of dovetail.device_api.Backend",
        )  # fmt: skip
    backend = cls()
    if backend.type != name:
        raise BackendError(
            f"plug-in {name}", "Backend.type", was=repr(backend.type),
            needed=f"the entry point's name, {name!r}",
        )  # fmt: skip
    return backend


def _install(backend: Backend) -> Backend:
    """Take a backend into use: its devices, its kernels, then the plug-ins'."""
    name = backend.type
    present = _indices(backend)
    backend.kernels(backend.table)
    if not backend.rules_only and not is_wrapped(name):
        _plugins().discover()
        _plugins().open(backend.table)
    _present[name] = present
    _loaded[name] = backend
    forget()
    for wrapper in WRAPPERS:  # it holds the backend that was there before
        _loaded.pop(f"{wrapper}:{name}", None)
    return backend


def _indices(backend: Backend) -> tuple[int, ...]:
    """The indices of its devices, each of which is a device of its own."""
    devices = tuple(backend.devices())
    for found in devices:
        if not isinstance(found, DeviceInfo):
            raise BackendError(
                f"plug-in {backend.type}", "devices()", was=f"with {found!r}",
                needed="a dovetail.device_api.DeviceInfo for each device",
            )  # fmt: skip
    indices = tuple(info.index for info in devices)
    if len(set(indices)) != len(indices):
        raise BackendError(
            f"plug-in {backend.type}", "devices()", was=f"with the indices {indices}",
            needed="each of them once",
        )  # fmt: skip
    return indices


def is_wrapped(name: str) -> bool:
    """Whether a device type stands for another one behind a wrapper."""
    return ":" in name


def register(backend: Backend) -> None:
    """Use a backend object made in this process, e.g. in a test or a notebook."""
    with _lock:
        _failed.pop(backend.type, None)
        _install(backend)


def unregister(name: str) -> None:
    """Forget a backend; its tensors must not be used any more."""
    with _lock:
        _loaded.pop(name, None)
        _failed.pop(name, None)
        _present.pop(name, None)
        forget()
        _plugins().close(name)
        _plugins().unregister(name)
    for wrapper in () if is_wrapped(name) else WRAPPERS:
        unregister(f"{wrapper}:{name}")


def lose(name: str, error: Exception) -> None:
    """Take a backend out of use: whoever asks for it from now on is told why."""
    _failed[name] = error
    del _loaded[name]
    forget()


def register_plugin(plugin: Any, name: str) -> None:
    """Let an object with the hook `dovetail_kernels` add kernels, under that name.

    Unlike that of an installed plug-in, its failure is raised.
    """
    with _lock:
        owner = _plugins().register(plugin, name)
        _plugins().serve(owner)
        failed = [f for f in _plugins().failures() if f.name == owner]
        if failed:
            _plugins().unregister(owner)
            raise failed[0].cause


def unregister_plugin(name: str) -> None:
    """Take a plug-in's kernels out of every backend."""
    with _lock:
        _plugins().unregister(name)


def plugin_failures() -> list[PluginFailure]:
    """The plug-ins with kernels that failed in this process, and why."""
    return _plugins().failures()


def loaded() -> list[Backend]:
    """The backends in use, in the order they were loaded."""
    return list(_loaded.values())


def resolve(wanted: str | device) -> tuple[Backend, int]:
    """Backend and index of a device, a device string, a priority list or `auto`.

    Raises:
        DeviceError: none of the named devices is available.
    """
    text = str(wanted)
    resolved = choice.get().resolved
    found = resolved.get(text)
    if found is None:
        found = _resolve(text)
        if text != "auto" and "," not in text:
            resolved[text] = found
    return found


def _resolve(text: str) -> tuple[Backend, int]:
    if text.strip() == "auto":
        return _automatic()
    if "," not in text:
        return _resolve_one(device(text))
    reasons = []
    for part in candidates(text):
        try:
            return _resolve(part)
        except DeviceError as error:
            reasons.append(f"{part} ({error})")
    raise DeviceError(
        "device", "priority list", was=repr(text), needed="one available device",
        remedy="tried " + "; ".join(reasons),
    )  # fmt: skip


def _automatic() -> tuple[Backend, int]:
    """The first that works: accelerators by preference, third parties', the CPU."""
    installed = {p.name for p in list_plugins()} | set(_loaded)
    known = [name for name in PREFERENCE if name in installed]
    for name in (*known, *sorted(installed - set(PREFERENCE) - RESERVED)):
        try:
            found = _resolve_one(device(name))
        except DeviceError:
            continue  # `dovetail devices` tells why
        if found[0].automatic:
            return found
    return _resolve_one(device("cpu"))


def _resolve_one(wanted: device) -> tuple[Backend, int]:
    backend = load(wanted.type)
    present = _present[wanted.type]
    if not present:
        raise DeviceError(
            "device", "type", was=f"{wanted.type!r}, of which this machine has none",
            needed="a device that is present",
            remedy="run `dovetail devices` for the state of every backend",
        )  # fmt: skip
    index = wanted.index
    if index is None:
        index = choice.get().indices.get(wanted.type, present[0])
    if index not in present:
        names = ", ".join(f"{wanted.type}:{i}" for i in present)
        was = f"{wanted.type}:{index}"
        raise DeviceError("device", "index", was=was, needed=f"one of {names}")
    return backend, index


def available() -> list[tuple[str, int]]:
    """Type and index of every device whose backend loads, sorted by type."""
    names = {p.name for p in list_plugins()} | set(_loaded)
    found: list[tuple[str, int]] = []
    for name in sorted(names - {"meta"}):
        if is_wrapped(name):
            continue  # no device of its own
        try:
            load(name)
        except DeviceError:
            continue  # `dovetail devices` tells why
        found += [(name, index) for index in _present[name]]
    return found


def _choose(text: str) -> tuple[str, int | None]:
    """The one device that `auto` or a priority list stands for."""
    backend, index = resolve(text)
    chosen = named(backend.type, index)
    return chosen.type, chosen.index


chooser.append(_choose)

__all__ = [
    "KERNEL_GROUP", "KNOWN", "PluginFailure", "PluginInfo", "available", "choices",
    "list_plugins", "load", "loaded", "lose", "plugin_failures", "register",
    "register_plugin", "reserved", "resolve", "unreadable", "unregister",
    "unregister_plugin",
]  # fmt: skip
