"""Random programs that differentiate, beside torch: views, writes, hooks, passes."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from tests.programs.autograd.compare import rerun, run

pytestmark = pytest.mark.parity


def test_programs_agree() -> None:
    """A hundred programs: values, gradients, refusals and hooks are torch's."""
    found = [str(d) for _, d in run(range(100), 1)]
    assert not found, found[0]


@pytest.mark.slow
def test_many_programs_agree() -> None:
    """Five thousand programs, those of `python -m tests.programs.autograd`."""
    found = [str(d) for _, d in run(range(5000), 1)]
    assert not found, found[0]


def test_a_difference_is_seen() -> None:
    """A statement on which the libraries differ is reported with what differs."""
    lines = ("t = L.ones(2, dtype=L.float64)", "t.add_(len(L.__name__))")
    found = rerun(lines)
    assert found is not None
    assert found.lines == lines
    assert "dovetail" in str(found)
