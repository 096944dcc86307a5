"""`import dovetail` is quick and brings little along."""

import math
import os
import subprocess
import sys

import pytest

# `benchmarks imports` holds the bar in milliseconds: 60 more than NumPy. A test has to
# hold on slow machines too, so it counts in NumPy's own import: 86 ms where one varied
# from 65 to 105.
BAR = 60 / 86
ROUNDS = 40

HEAVY = (
    "click",
    "cupy",
    "dpnp",
    "hypothesis",
    "jax",
    "llvmlite",
    "matplotlib",
    "mpmath",
    "pandas",
    "pluggy",
    "pytest",
    "rich",
    "safetensors",
    "scipy",
    "torch",
)

TIMED = """
from time import process_time
start = process_time()
import {module}
print((process_time() - start) * 1e3)
"""

LOADED = """
import sys
import dovetail
print(*sorted({name.partition(".")[0] for name in sys.modules}))
"""


def fresh_python(code: str) -> str:
    """What a new interpreter prints."""
    caching = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    caching["OPENBLAS_NUM_THREADS"] = "1"  # others would spin, and be counted
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=caching)
    return done.stdout.decode()


def milliseconds(module: str) -> float:
    """The processor's time for one import in a new interpreter.

    On an idle machine that is the wall time; on a busy one it is still the import's.
    """
    return float(fresh_python(TIMED.format(module=module)))


@pytest.fixture(scope="module")
def loaded() -> set[str]:
    """Top-level packages in memory after `import dovetail`."""
    return set(fresh_python(LOADED).split())


def test_import_costs_little_more_than_numpy() -> None:
    """`import dovetail` adds at most 0.7 of what `import numpy` takes.

    Other work on the machine can only slow an import down, so each counts by its
    fastest run; as many are tried as it takes for that to show, `ROUNDS` at most.
    """
    milliseconds("dovetail")  # the first one writes the caches of bytecode
    ours = numpys = math.inf
    for _ in range(ROUNDS):
        ours = min(ours, milliseconds("dovetail"))
        numpys = min(numpys, milliseconds("numpy"))
        if ours <= (1 + BAR) * numpys:
            return
    added = ours / numpys - 1
    pytest.fail(f"dovetail {ours:.0f} ms, numpy {numpys:.0f} ms: {added:.2f} more")


@pytest.mark.parametrize("package", HEAVY)
def test_import_leaves_heavy_packages_alone(package: str, loaded: set[str]) -> None:
    """What is large or needed rarely is imported where it is used."""
    assert package not in loaded


def test_import_loads_no_backend(loaded: set[str]) -> None:
    """Backends are listed by their metadata and loaded on first use."""
    assert not {name for name in loaded if name.startswith("dovetail_")}
