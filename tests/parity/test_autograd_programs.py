"""Random programs that differentiate, beside torch: views, writes, hooks, passes."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from tests.programs.autograd.compare import rerun, run

pytestmark = pytest.mark.parity


def test_programs_agree() -> None:
    """Some hundreds: values, gradients, refusals and hooks are torch's."""
    found = [str(d) for _, d in run(range(600), 1)]
    assert not found, found[0]


@pytest.mark.slow
def test_many_programs_agree() -> None:
    """Five thousand programs, those of `python -m tests.programs.autograd`."""
    found = [str(d) for _, d in run(range(5000), 1)]
    assert not found, found[0]


PROGRAMS = {
    "a gradient that depends on another one of the same memory": (
        "x = L.tensor([0.43], dtype=L.float64, requires_grad=True)",
        "t = x.reshape(())",
        "g, h, = L.autograd.grad(t.sin(), [x, t], create_graph=True)",
        "g.sum().backward(create_graph=True, inputs=[g, h])",
    ),
    "a write into what reshape copied": (
        "x = L.ones(1, 3, dtype=L.float64, requires_grad=True)",
        "t = x.expand(2, 3)",
        "y = t.reshape(-1)",
        "y.copy_(L.ones(6, dtype=L.float64))",
        "y.sin().sum().backward(create_graph=True, inputs=[t])",
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_agrees(name: str) -> None:
    """Values, gradients, and what requires them."""
    assert rerun(PROGRAMS[name]) is None


def test_a_difference_is_seen() -> None:
    """A statement on which the libraries differ is reported with what differs."""
    lines = ("t = L.ones(2, dtype=L.float64)", "t.add_(len(L.__name__))")
    found = rerun(lines)
    assert found is not None
    assert found.lines == lines
    assert "dovetail" in str(found)
