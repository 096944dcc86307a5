"""The pages in docs/ are true: their code runs, in order, in one namespace.

That what they name is there is the claim of `tests/packaging/test_docs_names.py`.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.support import child

ROOT = Path(__file__).resolve().parents[2]
PAGES = (
    "adding-an-op.md", "writing-a-backend.md", "tour.md", "lockstep.md",
    "testing-with-chaos.md", "capture.md",
)  # fmt: skip
_BLOCK = re.compile(r"^```python\n(.*?)^```", re.M | re.S)


def program(page: str) -> str:
    """The Python blocks of a page, with lines where they stand in the page."""
    text = (ROOT / "docs" / page).read_text()
    lines = [""] * (text.count("\n") + 1)
    for block in _BLOCK.finditer(text):
        start = text[: block.start(1)].count("\n")
        for i, line in enumerate(block[1].splitlines()):
            lines[start + i] = line
    return "\n".join(lines)


@pytest.mark.parametrize("page", PAGES)
def test_page_runs(page: str, tmp_path: Path) -> None:
    """A page's code runs in a process of its own, warnings being errors."""
    script = tmp_path / f"{page}.py"
    source = program(page)
    assert "import" in source, "the page has no code"
    script.write_text(source)
    child.python("-W", "error", script, cwd=tmp_path, path=[ROOT])
