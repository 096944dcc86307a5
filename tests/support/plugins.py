"""Throw-away distributions with entry points, and programs that see them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

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
    done = child.python(
        "-P", "-c", code, path=folders, **{**_without_ours(), **environ}
    )
    return done.stdout.strip()


def _without_ours() -> dict[str, str]:
    """Our variables, emptied."""
    return {name: "" for name in os.environ if name.startswith("DOVETAIL_")}


# Asked for a program in a line, it answers with the status in which that ended.
_IMPORTED = """
import dovetail, json, os, sys

for line in sys.stdin:
    code, folders, environ, printed = json.loads(line)
    began = os.fork()
    if not began:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for descriptor in 1, 2:
            os.dup2(os.open(printed[descriptor - 1], os.O_WRONLY), descriptor)
        sys.path[:0] = folders
        os.environ.update(environ)
        exec(code, {"__name__": "__main__"})
        sys.exit()
    print(os.waitstatus_to_exitcode(os.waitpid(began, 0)[1]), flush=True)
"""


class Imported(AbstractContextManager["Imported"]):
    """A process that has imported dovetail, with no plug-in; programs begin there.

    Each has a process forked from it. What `import dovetail` itself does is not seen
    by them: ask `output` of that.
    """

    def __init__(self, folder: Path) -> None:
        self._printed = folder / "printed", folder / "warned"
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _IMPORTED], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True, env={**os.environ, **_without_ours()},
        )  # fmt: skip

    def output(self, code: str, *folders: Path, **environ: str) -> str:
        """What a program prints that sees the distributions in `folders`."""
        given, answers = self._process.stdin, self._process.stdout
        assert given is not None
        assert answers is not None
        for path in self._printed:
            path.write_text("")
        asked = code, [*map(str, folders)], environ, [*map(str, self._printed)]
        print(json.dumps(asked), file=given, flush=True)
        status = answers.readline().strip()
        printed, warned = (path.read_text() for path in self._printed)
        assert status == "0", f"{status}\n{printed}\n{warned}"
        return printed.strip()

    def __exit__(self, *error: Any) -> None:
        with self._process:
            self._process.communicate()
