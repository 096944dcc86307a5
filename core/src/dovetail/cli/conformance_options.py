"""What `dovetail conformance` is asked for, as data."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Files:
    """Where reports go; None for those that nobody wants."""

    json: Path | None
    html: Path | None
    junit: Path | None
    certificate: Path | None
    badge: Path | None
    repros: Path

    def of(self, device: str, count: int) -> Files:
        """The files of one device, whose name they bear if it is not the only one."""
        if count == 1:
            return self
        slug = re.sub(r"\W+", "-", device)

        def named(path: Path | None) -> Path | None:
            return path and path.with_stem(f"{path.stem}-{slug}")

        return Files(
            named(self.json), named(self.html), named(self.junit),
            named(self.certificate), named(self.badge), self.repros,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The options of the command.

    Attributes:
        level: the one that the exit status judges; None for the whole run.
        seed: by which examples are drawn.
        soonest: stop at the first thing to do.
        waivers: a file of known failures; None for that of the backend's package.
        repeat: how many runs have to agree.
        replay: a certificate that a run has to agree with.
        rerun: whether failures are seen twice.
    """

    devices: tuple[str, ...]
    budget: str | None
    level: int | None
    ops: str
    laws: str
    seed: int
    soonest: bool
    advise: bool
    files: Files
    waivers: Path | None
    repeat: int
    replay: Path | None
    jobs: int
    patience: float
    rerun: bool
    setup: tuple[str, ...]
