"""`python -m dovetail.cli.probe NAME [--kernels BACKEND …]`: load a plug-in, as JSON.

`dovetail devices` runs it in a process of its own, one for each backend, and one for
each plug-in with kernels alone, which is offered the tables of the backends named.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any

from dovetail.cli.failure import chain
from dovetail.device_api import registry
from dovetail.device_api.unwritten import unwritten
from dovetail.errors import DovetailError, words_of


def probe(name: str) -> dict[str, Any]:
    """State, devices and kernels of a device type, or why it cannot be used."""
    try:
        backend = registry.load(name)
        devices = backend.devices()
    except Exception as error:  # a plug-in may fail in any way
        return {"state": "unavailable", **_reason(error)}
    if not devices:
        return {"state": "unavailable", "reason": "no such device in this machine"}
    missing = unwritten(backend.table)
    found = [
        {"index": d.index, "name": d.name, "memory_bytes": d.memory_bytes}
        for d in devices
    ]
    return {
        "state": "ready",
        "devices": found,
        "kernels": len(backend.table.names()) - len(missing),
        "unwritten": len(missing),
        "plugins": _failures(),
    }


def probe_kernels(name: str, backends: list[str]) -> dict[str, Any]:
    """Whether a plug-in with kernels alone adds them to backends that are in order."""
    for backend in backends:
        registry.load(backend)
    own = [failure for failure in _failures() if failure["name"] == name]
    if not own:
        return {"state": "ready"}
    return {"state": "unavailable", **own[0]}


def _failures() -> list[dict[str, Any]]:
    return [
        {"name": f.name, "backend": f.backend, **_reason(f.cause)}
        for f in registry.plugin_failures()
    ]


def _reason(error: BaseException) -> dict[str, Any]:
    errors = chain(error)
    root, hint = errors[-1], None
    if isinstance(root, DovetailError):
        hint = root.remedy
        reason = str(root).removesuffix(f"; {hint}")
    else:
        reason = ", from ".join(words_of(e) for e in _telling(errors)) + _place(root)
    return {"reason": reason, "hint": hint, "errors": [words_of(e) for e in errors]}


def _telling(errors: list[BaseException]) -> list[BaseException]:
    """The errors without ours, which say nothing that those after them do not."""
    return [error for error in errors if not isinstance(error, DovetailError)]


def _place(error: BaseException) -> str:
    """Where an error was raised, as ` (folder/file.py:7)`."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith("<frozen")
    ]
    if not frames:
        return ""
    path = "/".join(Path(frames[-1].filename).parts[-2:])
    return f" ({path}:{frames[-1].lineno})"


def main() -> None:
    """Print the answer where stdout was; what the plug-in prints goes to stderr."""
    with os.fdopen(os.dup(1), "w") as answer:
        os.dup2(2, 1)
        name, *backends = sys.argv[1:]
        found = probe_kernels(name, backends[1:]) if backends else probe(name)
        json.dump(found, answer)


if __name__ == "__main__":
    main()
