"""The page on the kit lists every law with its claim, and no other."""

from __future__ import annotations

import re
from pathlib import Path

from dovetail.conformance import laws  # noqa: F401
from dovetail.conformance.law import DEVICE_LAWS, LAWS

PAGE = Path(__file__).parents[2] / "docs" / "conformance.md"


def test_each_law_is_documented() -> None:
    """The tables of docs/conformance.md are the laws that are registered."""
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", PAGE.read_text("utf-8"), re.M)
    wanted = [(w.name, w.describes) for w in (*DEVICE_LAWS.values(), *LAWS.values())]
    assert sorted(rows) == sorted(wanted)
