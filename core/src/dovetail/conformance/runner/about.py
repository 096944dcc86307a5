"""What a worker can tell of the device it owns, asking no kernel."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Final

import numpy as np

from dovetail import dtypes
from dovetail.conformance.formats import limits
from dovetail.conformance.run import About
from dovetail.conformance.subject import Subject
from dovetail.device_api import capabilities, graphs, host_copies
from dovetail.device_api.contract import Backend
from dovetail.device_api.discovery import entry_of
from dovetail.device_api.unwritten import methods, unwritten
from dovetail.dtypes import DType
from dovetail.engine.op import vocabulary
from dovetail.errors import BackendError

_CAPABILITIES: Final = (
    capabilities.DLPack,
    graphs.Graphs,
    capabilities.HostMemory,
    host_copies.PeerCopies,
    host_copies.PinnedMemory,
    capabilities.Pool,
    capabilities.Streams,
    capabilities.ViewCopies,
)
# What the oracles and the draws depend on beside dovetail.
_PINNED: Final = ("dovetail", "numpy", "ml_dtypes", "mpmath", "hypothesis")


def about(subject: Subject) -> About:
    """The device and everything that its verdicts depend on."""
    backend = subject.backend
    info = next(d for d in backend.devices() if d.index == subject.index)
    distribution, of = _package(backend)
    missing = set(unwritten(backend.table))
    return About(
        device=subject.device,
        name=info.name,
        type=backend.type,
        memory_bytes=info.memory_bytes,
        distribution=distribution,
        version=of,
        driver=info.driver,
        dtypes=tuple(d.name for d in dtypes.ALL if d in backend.dtypes),
        capabilities=tuple(c.__name__ for c in _CAPABILITIES if backend.capability(c)),
        kernels=tuple(sorted(set(backend.table.names()) - missing)),
        unwritten=tuple(sorted(missing)),
        methods=methods(backend),
        flushes=tuple(sorted(d.name for d in backend.flushes_subnormals)),
        versions=_versions(),
        platform=platform.platform(),
    )


def _package(backend: Backend) -> tuple[str, str]:
    """Distribution and version of a backend, empty for one that none announces."""
    try:
        entry = entry_of(backend.type.partition(":")[0])
    except BackendError:  # claimed twice, and registered by hand
        return "", ""
    if entry is None or entry.dist is None:
        return "", ""
    return entry.dist.metadata["Name"], entry.dist.version


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in _PINNED:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def subnormals(subject: Subject) -> dict[str, str]:
    """By float dtype, what half of the smallest normal number comes to."""
    claimed = [d for d in dtypes.ALL if d.is_floating_point and subject.claims(d)]
    return {d.name: _subnormal(subject, d) for d in claimed}


def _subnormal(subject: Subject, dtype: DType) -> str:
    try:
        smallest = np.asarray([limits(dtype).smallest_normal], dtype.numpy)
        half = np.asarray([0.5], dtype.numpy)
        product = vocabulary["mul"].function(
            subject.tensor(smallest), subject.tensor(half)
        )
        return "kept" if subject.values(product)[0] != 0 else "flushed"
    except Exception as error:  # a kernel may fail in any way
        return f"not seen: {type(error).__name__}: {error}"
