"""The vocabulary is there, or announced, as soon as the framework is."""

import pkgutil

from tests.support import child

import dovetail.ops

SCRIPT = """
import importlib, sys
import dovetail
from dovetail.engine.op import vocabulary
there = set(vocabulary).union(*vocabulary.unloaded.values())
for name in sys.argv[1:]:
    importlib.import_module(name)
print(*sorted(set(vocabulary) - there))
"""


def test_no_family_is_left_out() -> None:
    """Modules of `ops` add nothing to what is there or announced: kernels find it."""
    found = pkgutil.iter_modules(dovetail.ops.__path__, "dovetail.ops.")
    assert child.printed(SCRIPT, *(m.name for m in found)) == ""
