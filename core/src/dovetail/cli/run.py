"""`dovetail run`: a script, with `torch` meaning dovetail if that is asked for."""

from __future__ import annotations

import os
import sys
import traceback
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Final, NamedTuple

import click

from dovetail.cli import torch_alias

# Where processes that are spawned find the script's path, and the package it is of.
SCRIPT: Final = "DOVETAIL_RUN_SCRIPT"
PACKAGE: Final = "DOVETAIL_RUN_PACKAGE"


class Script(NamedTuple):
    """What is run: a file, and the package whose module it is, if it is one's."""

    path: str
    package: str | None = None

    def run(self, module: ModuleType) -> None:
        """Run the code as that of a module."""
        module.__file__, module.__package__ = self
        text = Path(self.path).read_bytes()
        code = compile(text, self.path, "exec", dont_inherit=True)
        exec(code, vars(module))


# What follows the script is the script's, as it is with Python.
@click.command(
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False}
)
@click.option("--as-torch", is_flag=True, help="Let `import torch` mean dovetail.")
@click.option("-m", "is_module", is_flag=True, help="SCRIPT is the name of a module.")
@click.argument("script")
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def run(as_torch: bool, is_module: bool, script: str, args: tuple[str, ...]) -> None:
    """Run a Python script or module, as `python SCRIPT ARGS` does.

    With --as-torch, `import torch`, `torch.nn`, `torch.utils.data` and so on mean
    dovetail in this process, and in those that multiprocessing starts for it.

    \b
    Examples:
      dovetail run --as-torch train.py --epochs 3
      dovetail run --as-torch -m pytest tests
    """
    if as_torch:
        torch_alias.install()
    found = _module(script) if is_module else _file(script)
    sys.argv = [found.path, *args]
    main = ModuleType("__main__")
    if as_torch:  # what processes that are spawned run instead
        main.__spec__ = find_spec("dovetail.cli.run_spawned")
        os.environ[SCRIPT] = str(Path(found.path).resolve())
        os.environ[PACKAGE] = found.package or ""
    sys.modules["__main__"] = main
    try:
        found.run(main)
    except Exception as error:
        _show(error, found.path)
        raise click.exceptions.Exit(1) from None


def _file(path: str) -> Script:
    if not Path(path).is_file():
        raise click.UsageError(f"There is no file {path!r}; -m takes a module's name.")
    sys.path[0] = str(Path(path).resolve().parent)
    return Script(path)


def _module(name: str) -> Script:
    sys.path[0] = os.getcwd()
    try:
        spec = find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            spec = find_spec(f"{name}.__main__")
    except ModuleNotFoundError:
        spec = None
    if spec is None or spec.origin is None:
        raise click.UsageError(f"There is no module {name!r} that can be run.")
    return Script(spec.origin, spec.parent)


def _show(error: Exception, script: str) -> None:
    """Print a traceback that begins in the script."""
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename != script:
        frames = frames.tb_next
    traceback.print_exception(type(error), error, frames)
