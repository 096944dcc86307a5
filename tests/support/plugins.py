"""Throw-away distributions with entry points, and programs that see them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

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
    inherited = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]
    path = os.pathsep.join([*map(str, folders), *inherited])
    clean = {k: v for k, v in os.environ.items() if not k.startswith("DOVETAIL_")}
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, check=False,
        env={**clean, "PYTHONPATH": path, **environ}, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
