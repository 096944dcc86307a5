"""`import dovetail` is quick and brings little along."""

import pytest
from tests.support import child

# `python -m benchmarks imports` times the import and the end of the process. What
# both cost grows with what the import makes, and that can be counted: objects which
# the garbage collector looks through, most of all when the interpreter ends. They are
# counted after a collection, which lets go of what cannot be part of a cycle.
OBJECTS_AN_OP = 82

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

COUNTED = """
import gc, numpy
gc.collect()
before = len(gc.get_objects())
import dovetail
gc.unfreeze()
gc.collect()
made = len(gc.get_objects()) - before
from dovetail.engine.op import declared
print(made / len(declared()))
"""

COLLECTED = """
import gc, numpy
looked = []
gc.callbacks.append(lambda phase, info: looked.append(phase))
import dovetail
print(*looked, gc.isenabled(), any(found is dovetail for found in gc.get_objects()))
"""

GARBAGE = """
import gc, weakref
class Ring:
    pass
ring = Ring()
ring.ring, seen = ring, weakref.ref(ring)
gc.collect()
import dovetail
del ring
gc.collect()
print(seen())
"""

FROZEN = """
import gc
frozen = []
gc.freeze()
import dovetail
print(any(found is frozen for found in gc.get_objects()))
"""

LOADED = """
import sys
import dovetail
print(*sorted({name.partition(".")[0] for name in sys.modules}))
"""


@pytest.fixture(scope="module")
def loaded() -> set[str]:
    """Top-level packages in memory after `import dovetail`."""
    return set(child.printed(LOADED).split())


def test_import_makes_few_objects() -> None:
    """What an import leaves for the collector is in proportion to the vocabulary."""
    assert float(child.printed(COUNTED)) <= OBJECTS_AN_OP


def test_import_is_not_looked_through() -> None:
    """The collector runs before an import, and never sees what that makes."""
    assert child.printed(COLLECTED).split() == ["start", "stop", "True", "False"]


def test_import_freezes_no_program_at_work() -> None:
    """What a program made long before an import is freed when it is let go of."""
    assert child.printed(GARBAGE) == "None"


def test_import_keeps_what_is_frozen() -> None:
    """Objects that the program froze before the import stay frozen."""
    assert child.printed(FROZEN) == "False"


@pytest.mark.parametrize("package", HEAVY)
def test_import_leaves_heavy_packages_alone(package: str, loaded: set[str]) -> None:
    """What is large or needed rarely is imported where it is used."""
    assert package not in loaded


def test_import_loads_no_backend(loaded: set[str]) -> None:
    """Backends are listed by their metadata and loaded on first use."""
    assert not {name for name in loaded if name.startswith("dovetail_")}
