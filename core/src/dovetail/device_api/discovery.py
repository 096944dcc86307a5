"""Plug-ins as their metadata tells them: found without importing any."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from dovetail.device import candidates
from dovetail.errors import BackendError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP: Final = "dovetail.backends.v1"
KERNEL_GROUP: Final = "dovetail.kernels.v1"
# What wraps another device, as `chaos` does in `"chaos:cpu"`: its module's `wrap` takes
# that device's backend. Loaded like a plug-in, by its name, when first asked for.
WRAPPERS: Final = {"chaos": "dovetail.testing.chaos_device"}
# Device types of the project's own distributions `dovetail-<type>`, and of core's.
RESERVED: Final = frozenset(
    {"cpu", "cuda", "rocm", "xpu", "meta", "chaos", "reference"}
)
# How to come by them; one that is planned has nothing to install yet.
KNOWN: Final = {
    "cpu": "pip install dovetail-cpu",
    "cuda": "pip install 'dovetail-cuda[cuda12]' (or [cuda13])",
    "rocm": "pip install 'dovetail-rocm[rocm7]'",
    "xpu": "dovetail-xpu is not released yet",
}


class PluginInfo(NamedTuple):
    """A plug-in as its metadata tells it; nothing of it has been imported.

    Attributes:
        name: of the entry point; for a backend, the device type.
        distribution: what pip installed it from, and its `version`.
        entry: the module or object that the entry point names.
        reserved: whether the name is the project's own and this is not the project's.
    """

    name: str
    distribution: str
    version: str
    entry: str
    reserved: bool = False


def list_plugins(group: str = GROUP) -> list[PluginInfo]:
    """Every installed plug-in of a group, sorted by name and distribution."""
    found = {_info(entry) for entry in entries(group)}
    return sorted(found, key=lambda p: (p.name, p.distribution))


def entries(group: str) -> list[EntryPoint]:
    """The entry points of a group; a package that cannot be read has none."""
    from importlib.metadata import entry_points  # 20 ms: not at import

    try:
        return list(entry_points(group=group))
    except Exception:  # one package's file spoils the list of all
        readable = (read for _, read in _packages() if isinstance(read, list))
        return [entry for read in readable for entry in read if entry.group == group]


def unreadable() -> dict[str, Exception]:
    """Why the entry points of a package cannot be read, by its name."""
    return {name: read for name, read in _packages() if isinstance(read, Exception)}


def _packages() -> Iterator[tuple[str, list[EntryPoint] | Exception]]:
    """Every installed package with its entry points, or what reading them raised."""
    from importlib.metadata import distributions

    seen = set()
    for package in distributions():
        name = "?"
        try:
            name = package.metadata["Name"] or name
            found: list[EntryPoint] | Exception = list(package.entry_points)
        except Exception as error:  # bytes that are no text, lines that are no entries
            found = error
        if _canonical(name) not in seen:  # the first on the path is the one in use
            seen.add(_canonical(name))
            yield name, found


def is_left_out(plugin: str) -> bool:
    """Whether `DOVETAIL_WITHOUT` names a plug-in with kernels, or all by `*`."""
    names = candidates(os.environ.get("DOVETAIL_WITHOUT", ""))
    return plugin in names or "*" in names


def _info(entry: EntryPoint) -> PluginInfo:
    dist = entry.dist
    name = dist.metadata["Name"] if dist else "?"
    version = dist.version if dist else "?"
    foreign = entry.group == GROUP and entry.name in RESERVED
    foreign = foreign and _canonical(name) != f"dovetail-{entry.name}"
    return PluginInfo(entry.name, name, version, entry.value, foreign)


def _canonical(distribution: str) -> str:
    """A distribution's name as pip compares it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", distribution).lower()


def entry_of(name: str) -> EntryPoint | None:
    """The entry point that serves a device type, None where nothing is installed.

    Raises:
        BackendError: two distributions claim the type, or one that may not.
    """
    claims = [(_info(e), e) for e in entries(GROUP) if e.name == name]
    allowed = {i.distribution: e for i, e in claims if not i.reserved}
    if not claims:
        return None
    if not allowed:
        raise reserved(name, sorted(i.distribution for i, _ in claims))
    chosen = choices().get(name)
    if chosen is None and len(allowed) == 1:
        return next(iter(allowed.values()))
    for distribution, entry in allowed.items():
        if chosen is not None and _canonical(chosen) == _canonical(distribution):
            return entry
    was = f"claimed by {' and '.join(sorted(allowed))}"
    if chosen is not None:
        was += f", and DOVETAIL_BACKENDS names {chosen}"
    raise BackendError(
        "device", f"type {name!r}", was=was, needed="one distribution",
        remedy=f"set DOVETAIL_BACKENDS={name}=<distribution>",
    )  # fmt: skip


def reserved(name: str, distributions: list[str]) -> BackendError:
    """The error for a name of the project's own that others claim."""
    names = " and ".join(distributions)
    return BackendError(
        "device", f"type {name!r}", was=f"claimed by {names}",
        needed=f"dovetail-{name}, for which the name is reserved",
        remedy=f"uninstall {names}, or ask its author for another device type",
    )  # fmt: skip


def choices() -> dict[str, str]:
    """`DOVETAIL_BACKENDS="acme=dovetail-acme,other=…"`: who serves a device type."""
    text = os.environ.get("DOVETAIL_BACKENDS", "")
    pairs = (part.partition("=") for part in candidates(text))
    return {name.strip(): dist.strip() for name, _, dist in pairs if dist}


def unknown(name: str, loaded: Iterable[str]) -> BackendError:
    """No installed plug-in provides the type `name`; beside them some are `loaded`."""
    installed = {p.name for p in list_plugins() if not p.reserved}
    hint = KNOWN.get(name, f"pip install the package that provides {name!r}")
    if name in WRAPPERS:
        hint = f'name the device behind it, as in "{name}:cpu"'
    return BackendError(
        "device", "type", was=f"{name!r}, for which no backend is installed",
        needed=f"one of {', '.join(sorted(installed | set(loaded) | {'meta'}))}",
        remedy=hint,
    )  # fmt: skip
