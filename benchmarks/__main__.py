"""`python -m benchmarks eager`: runs a benchmark in a clean environment."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

BENCHMARKS: Final = (
    "eager", "functions", "gpu", "imports", "lines", "memory", "ops", "scaling",
    "train", "transforms",
)  # fmt: skip
# Set in some environments, these keep OpenBLAS from choosing its own kernels.
UNSET: Final = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")


def help_of(name: str) -> str:
    """How a benchmark is called, and what it measures, without importing it."""
    text = Path(__file__).with_name(f"{name}.py").read_text(encoding="utf-8")
    said = ast.get_docstring(ast.parse(text))
    return f"usage: python -m benchmarks {name} [options]\n\n{said}"


def main(argv: list[str]) -> int:
    """Start the named benchmark without the variables that slow NumPy."""
    if not argv or argv[0] not in BENCHMARKS:
        print(f"usage: python -m benchmarks {{{','.join(BENCHMARKS)}}} [--json]")
        return 2
    if {"-h", "--help"} & {*argv}:
        print(help_of(argv[0]))
        return 0
    env = {k: v for k, v in os.environ.items() if k not in UNSET}
    command = [sys.executable, "-m", f"benchmarks.{argv[0]}", *argv[1:]]
    return subprocess.call(command, env=env)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
