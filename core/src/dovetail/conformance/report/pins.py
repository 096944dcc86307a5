"""What a verdict depends on: the code of the kit and of the plug-ins, by its bytes."""

from __future__ import annotations

import hashlib
from importlib.metadata import EntryPoint
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from dovetail.device_api.discovery import GROUP, KERNEL_GROUP, entries


def plugins(device_type: str) -> list[dict[str, Any]]:
    """The plug-in of a device type, then those that add kernels, each with its hash."""
    inner = device_type.removeprefix("chaos:")
    own = [e for e in entries(GROUP) if e.name == inner]
    others = sorted(entries(KERNEL_GROUP), key=lambda e: e.name)
    return [_plugin(entry) for entry in (*own, *others)]


def _plugin(entry: EntryPoint) -> dict[str, Any]:
    return {
        "name": entry.name,
        "distribution": entry.dist.name if entry.dist else "",
        "version": entry.dist.version if entry.dist else "",
        "files": package_hash(entry.module.partition(".")[0]),
    }


def package_hash(package: str) -> str:
    """A hash over the names and bytes of a package's files; empty if it has none.

    Bytecode is left out: it differs where the code does not.
    """
    spec = find_spec(package)
    if spec is None:
        return ""
    roots = [Path(p) for p in spec.submodule_search_locations or ()]
    files = [(p.relative_to(r).as_posix(), p) for r in roots for p in r.rglob("*")]
    if not roots and spec.origin:
        files = [(Path(spec.origin).name, Path(spec.origin))]
    digest = hashlib.sha256()
    for name, path in sorted(files):
        if path.is_file() and "__pycache__" not in path.parts:
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            digest.update(f"{name}\0{content}\n".encode())
    return f"sha256:{digest.hexdigest()}" if files else ""
