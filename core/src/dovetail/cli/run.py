"""`dovetail run`: a script, with `torch` meaning dovetail if that is asked for."""

from __future__ import annotations

import os
import sys
import traceback
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Final

import click

from dovetail.cli import torch_alias

# Where processes that are spawned find the script's path.
SCRIPT: Final = "DOVETAIL_RUN_SCRIPT"


@click.command(context_settings={"ignore_unknown_options": True})
@click.option("--as-torch", is_flag=True, help="Let `import torch` mean dovetail.")
@click.argument("script", type=click.Path(exists=True, dir_okay=False))
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def run(as_torch: bool, script: str, args: tuple[str, ...]) -> None:
    """Run a Python script, as `python SCRIPT ARGS` does.

    With --as-torch, `import torch`, `torch.nn`, `torch.utils.data` and so on mean
    dovetail in this process, and in those that multiprocessing starts for it.

    \b
    Examples:
      dovetail run --as-torch train.py --epochs 3
    """
    if as_torch:
        torch_alias.install()
    sys.argv = [script, *args]
    sys.path[0] = str(Path(script).resolve().parent)
    main = ModuleType("__main__")
    if as_torch:  # what processes that are spawned run instead
        main.__spec__ = find_spec("dovetail.cli.run_spawned")
        os.environ[SCRIPT] = str(Path(script).resolve())
    sys.modules["__main__"] = main
    try:
        execute(script, main)
    except Exception as error:
        _show(error, script)
        raise click.exceptions.Exit(1) from None


def execute(script: str, module: ModuleType) -> None:
    """Run a script's code as that of a module."""
    module.__file__ = script
    code = compile(Path(script).read_bytes(), script, "exec", dont_inherit=True)
    exec(code, vars(module))


def _show(error: Exception, script: str) -> None:
    """Print a traceback that begins in the script."""
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename != script:
        frames = frames.tb_next
    traceback.print_exception(type(error), error, frames)
