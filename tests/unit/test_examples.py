"""The examples do what they say."""

from __future__ import annotations

import runpy
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def test_spiral() -> None:
    """The network tells the arms apart."""
    assert runpy.run_path(str(EXAMPLES / "spiral.py"))["main"]() > 0.95


def test_second_derivatives() -> None:
    """Newton's method finds the minimum at (1, 1)."""
    found = runpy.run_path(str(EXAMPLES / "second_derivatives.py"))["main"]()
    assert [round(v, 6) for v in found.tolist()] == [1.0, 1.0]


def test_every_example_is_run() -> None:
    """Each file in examples/ has a test here."""
    text = Path(__file__).read_text()
    assert all(p.name in text for p in EXAMPLES.glob("*.py"))
