"""Families that load when asked for declare what was announced, and not before."""

from __future__ import annotations

import pytest
from tests.support import child

import dovetail as dt
from dovetail.engine.later import FUNCTIONS
from dovetail.engine.op import vocabulary

WHOLE = """
import dovetail as dt
from dovetail.engine.later import FUNCTIONS, LaterMethod, load
from dovetail.engine.op import vocabulary
from dovetail.engine.public import NAMESPACES

announced = dict(vocabulary.unloaded)
waiting = {n: m.module for n, m in vars(dt.Tensor).items() if type(m) is LaterMethod}
assert announced and not set().union(*announced.values()) & vocabulary.keys()
for module, ops in announced.items():
    functions, methods = set(NAMESPACES["torch"]), set(dir(dt.Tensor))
    load(module)
    assert ops <= set(vocabulary), module
    named = {n for n, m in FUNCTIONS.items() if m == module}
    assert set(NAMESPACES["torch"]) - functions == named, module
    assert set(dir(dt.Tensor)) == methods, module
    for name, of in waiting.items():
        if of == module:
            assert type(vars(dt.Tensor)[name]) is not LaterMethod, name
assert set().union(*announced.values()) == set(vocabulary) - EARLY
"""


def test_what_is_announced_is_declared() -> None:
    """Each family declares its ops, functions and methods, and no others."""
    early = "import dovetail\nfrom dovetail.engine.op import vocabulary\n"
    early += "EARLY = set(vocabulary)\n"
    child.python("-c", early + WHOLE)


def test_an_op_is_found_by_its_name() -> None:
    """Whoever looks an op up need not know that its family loads later."""
    assert vocabulary["fft_real"].name == "fft_real"
    with pytest.raises(KeyError):
        vocabulary["fft_unreal"]


def test_names_are_listed() -> None:
    """`dir` shows the functions of families that are not loaded."""
    assert set(FUNCTIONS) | {"fft"} <= set(dir(dt))


GENERATED = """
import dovetail as dt
from dovetail.engine.op import vocabulary

table = dt.ones(3)._kind.backend.table
assert "erfcx" not in vocabulary.keys()
x = dt.linspace(-3.0, 3.0, 4096)
y = dt.special.erfcx(x)
assert table.select("erfcx", dt.float32)
parts = [dt.special.erfcx(part) for part in x.split(256)]  # by the body
assert dt.allclose(y, dt.cat(parts), rtol=1e-6)
"""


def test_families_that_load_later_have_generated_kernels() -> None:
    """Ops declared after a backend made its table get what the others have."""
    pytest.importorskip("llvmlite")
    child.python("-c", GENERATED)


def test_a_name_that_was_loaded_is_found_at_once() -> None:
    """The second time, nobody looks for the module that has it."""
    first = dt.igamma
    assert vars(dt)["igamma"] is first
