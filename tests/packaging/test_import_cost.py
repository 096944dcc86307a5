"""`import dovetail` is quick and brings little along."""

import os
import subprocess
import sys

import pytest

BAR_MS = 60
ROUNDS = 9

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
    "pytest",
    "rich",
    "safetensors",
    "scipy",
    "torch",
)

TIMED = """
from time import perf_counter
start = perf_counter()
import {module}
print((perf_counter() - start) * 1e3)
"""

LOADED = """
import sys
import dovetail
print(*sorted({name.partition(".")[0] for name in sys.modules}))
"""


def fresh_python(code: str) -> str:
    """What a new interpreter prints."""
    caching = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=caching)
    return done.stdout.decode()


def milliseconds(module: str) -> float:
    """The wall time of one import in a new interpreter."""
    return float(fresh_python(TIMED.format(module=module)))


@pytest.fixture(scope="module")
def loaded() -> set[str]:
    """Top-level packages in memory after `import dovetail`."""
    return set(fresh_python(LOADED).split())


def test_import_costs_little_more_than_numpy() -> None:
    """`import dovetail` takes at most 60 ms more than `import numpy`."""
    milliseconds("dovetail")  # the first one writes the caches of bytecode
    pairs = [(milliseconds("dovetail"), milliseconds("numpy")) for _ in range(ROUNDS)]
    ours, numpys = (min(times) for times in zip(*pairs, strict=True))
    assert ours - numpys <= BAR_MS, f"dovetail {ours:.0f} ms, numpy {numpys:.0f} ms"


@pytest.mark.parametrize("package", HEAVY)
def test_import_leaves_heavy_packages_alone(package: str, loaded: set[str]) -> None:
    """What is large or needed rarely is imported where it is used."""
    assert package not in loaded


def test_import_loads_no_backend(loaded: set[str]) -> None:
    """Backends are listed by their metadata and loaded on first use."""
    assert not {name for name in loaded if name.startswith("dovetail_")}
