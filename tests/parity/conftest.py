"""What is in this folder compares with torch."""

from __future__ import annotations

import pytest


def pytest_itemcollected(item: pytest.Item) -> None:
    """Every test here has the mark `parity`."""
    item.add_marker(pytest.mark.parity)
