"""Throw-away distributions with entry points, and programs that see them."""

from __future__ import annotations

import os
from pathlib import Path

from tests.support import child

ACME = '''
from dovetail.device_api import DeviceInfo, hookimpl
from dovetail.device_api.meta import MetaBackend

class Acme(MetaBackend):
    """A backend without arithmetic."""
    type = "acme"
    rules_only = False
    def devices(self):
        return [DeviceInfo(0, "Acme")]

@hookimpl
def dovetail_backend():
    return Acme
'''


def write(
    folder: Path, name: str, code: str, *, distribution: str | None = None,
    group: str = "dovetail.backends.v1",
) -> None:  # fmt: skip
    """Install a plug-in in `folder` as pip would: a module, and its metadata."""
    distribution = distribution or f"dovetail-{name}"
    module = "plugin_" + "".join(c if c.isalnum() else "_" for c in distribution)
    (folder / f"{module}.py").write_text(code, encoding="utf-8")
    info = folder / f"{distribution.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    metadata = f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n"
    (info / "METADATA").write_text(metadata, encoding="utf-8")
    entry = f"[{group}]\n{name} = {module}\n"
    (info / "entry_points.txt").write_text(entry, encoding="utf-8")


def output(code: str, *folders: Path, **environ: str) -> str:
    """What a Python program prints that sees the distributions in `folders`."""
    ours = {name: "" for name in os.environ if name.startswith("DOVETAIL_")}
    done = child.python("-P", "-c", code, path=folders, **{**ours, **environ})
    return done.stdout.strip()
