"""The state of every backend, each found out in a process of its own.

A plug-in may crash, hang, print or take its time: it does so where it harms nobody.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import IO, Any, Final

from dovetail.conformance.runner import child
from dovetail.device_api import registry

_LONGEST: Final = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One device, or a backend that has none to offer.

    Attributes:
        device: `"cuda:0"`, or the device type alone where nothing is ready.
        state: ready, unavailable, crashed, timed out, not chosen or not installed.
        reason: why it is not ready.
        hint: what to do about that.
        errors: what was raised, from the last to the root cause.
        description: what the backend calls the device.
        memory_bytes: the device's memory, where known.
        kernels: how many ops have kernels of the backend's own.
        unwritten: how many more have one that only says it is to be written.
        distribution: the package that the backend is from, and its `version`.
    """

    device: str
    state: str
    reason: str | None = None
    hint: str | None = None
    errors: list[str] = field(default_factory=list)
    description: str | None = None
    memory_bytes: int | None = None
    kernels: int | None = None
    unwritten: int | None = None
    distribution: str | None = None
    version: str | None = None


def survey(*, timeout: float) -> list[Found]:
    """All plug-ins, installed or known, each asked in a process of its own.

    First the backends, at the same time and without foreign kernels, then, with those
    that are ready, the plug-ins with kernels alone; both have `timeout` s.
    """
    plugins = registry.list_plugins()
    installed = {plugin.name for plugin in plugins}
    probes = {name: _Probe([name], without="*") for name in installed}
    answers = _ask_all(probes, timeout)
    rows = [row for p in plugins for row in _rows(p, answers[p.name])]
    rows += _failed_kernels(answers.values())
    ready = [name for name, answer in answers.items() if answer["state"] == "ready"]
    rows += _kernel_rows(ready, timeout)
    rows += [
        Found(device=name, state="unavailable", reason=f"its metadata: {error}",
              hint=f"pip install --force-reinstall {name}", distribution=name)
        for name, error in registry.unreadable().items()
    ]  # fmt: skip
    missing = [name for name in registry.KNOWN if name not in installed]
    return rows + [
        Found(device=name, state="not installed", hint=registry.KNOWN[name])
        for name in missing
    ]


def _package(plugin: registry.PluginInfo) -> dict[str, Any]:
    return {"distribution": plugin.distribution, "version": plugin.version}


def _rows(plugin: registry.PluginInfo, answer: dict[str, Any]) -> list[Found]:
    package = _package(plugin)
    if plugin.reserved:
        error = registry.reserved(plugin.name, [plugin.distribution])
        reason = str(error).removesuffix(f"; {error.remedy}")
        return [
            Found(
                device=plugin.name,
                state="unavailable",
                reason=reason,
                hint=error.remedy,
                **package,
            )
        ]
    chosen = registry.choices().get(plugin.name, plugin.distribution)
    if answer["state"] == "ready" and chosen != plugin.distribution:
        reason = f"DOVETAIL_BACKENDS chose {chosen}"
        return [Found(device=plugin.name, state="not chosen", reason=reason, **package)]
    if answer["state"] != "ready":
        return [Found(device=plugin.name, **answer, **package)]
    return [
        Found(
            device=f"{plugin.name}:{device['index']}",
            state="ready",
            description=device["name"],
            memory_bytes=device["memory_bytes"],
            kernels=answer["kernels"],
            unwritten=answer["unwritten"],
            **package,
        )
        for device in answer["devices"]
    ]


def _kernel_rows(ready: list[str], timeout: float) -> list[Found]:
    """A row for each plug-in with kernels alone, offered the tables of `ready`."""
    plugins = registry.list_plugins(registry.KERNEL_GROUP)
    names = [f"{p.distribution}:{p.name}" for p in plugins]
    answers = _ask_all(
        {
            name: _Probe([name, *ready], without=",".join({*names} - {name}))
            for name in names
        },
        timeout,
    )
    return [
        _kernel_row(f"kernels {p.name}", answers[name], _package(p))
        for name, p in zip(names, plugins, strict=True)
    ]


def _failed_kernels(answers: Iterable[dict[str, Any]]) -> list[Found]:
    """A row for each backend's plug-in whose kernels for a table failed."""
    failed: dict[str, dict[str, Any]] = {}
    for answer in answers:
        for failure in answer.get("plugins", ()):
            failed.setdefault(failure["name"], {**failure, "state": "unavailable"})
    return [_kernel_row(f"kernels {name}", failed[name], {}) for name in failed]


def _kernel_row(name: str, answer: dict[str, Any], package: dict[str, Any]) -> Found:
    backend = answer.get("backend")
    return Found(
        device=name if backend is None else f"{name} for {backend}",
        state=answer["state"],
        reason=answer.get("reason"),
        hint=answer.get("hint"),
        errors=answer.get("errors", []),
        **package,
    )


def _ask_all(probes: dict[str, _Probe], timeout: float) -> dict[str, dict[str, Any]]:
    with contextlib.ExitStack() as stack:
        for probe in probes.values():
            stack.enter_context(probe)
        deadline = time.monotonic() + timeout
        return {name: probe.answer(deadline) for name, probe in probes.items()}


class _Probe:
    """A process that loads one plug-in; it writes to files, since a pipe can fill.

    Args:
        arguments: of `dovetail.cli.probe`.
        without: the plug-ins with kernels that it leaves out.
    """

    def __init__(self, arguments: list[str], without: str) -> None:
        self.arguments = arguments
        self.without = without
        self.started = time.monotonic()

    def __enter__(self) -> _Probe:
        self.out: IO[bytes] = tempfile.TemporaryFile()
        self.err: IO[bytes] = tempfile.TemporaryFile()
        self.process = child.start(
            "dovetail.cli.probe", self.arguments,
            environ={"DOVETAIL_WITHOUT": self.without},
            stdin=subprocess.DEVNULL, stdout=self.out, stderr=self.err,
        )  # fmt: skip
        return self

    def __exit__(self, *exception: object) -> None:
        """End the process and all that it started."""
        child.end(self.process)
        self.out.close()
        self.err.close()

    def answer(self, deadline: float) -> dict[str, Any]:
        """What it found out until `deadline`, in seconds of `time.monotonic`."""
        try:
            self.process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            waited = time.monotonic() - self.started
            return _bad("timed out", f"it was still loading after {waited:.0f} s")
        try:
            answer = json.loads(_text(self.out))
        except ValueError:
            return _bad("crashed", self._death())
        return answer if isinstance(answer, dict) else _bad("crashed", self._death())

    def _death(self) -> str:
        how = child.death(self.process.returncode)
        last = _text(self.err).strip().splitlines()[-1:]
        return ": ".join([f"loading it ended the process with {how}", *last])[:_LONGEST]


def _bad(state: str, reason: str) -> dict[str, Any]:
    return {"state": state, "reason": reason}


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")
