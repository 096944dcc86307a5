"""Files that are there whole or not at all, and JSON that every reader takes."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from dovetail.errors import FileFormatError
from dovetail.io.whole_files import replacing


def write(path: str | Path, text: str) -> Path:
    """Put a text into a file, in one step; its folder is made."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    with replacing(target, "report") as draft:
        draft.write_text(text, encoding="utf-8")
    return target


def finite(value: Any) -> Any:
    """The same with infinities and NaN as strings: JSON has no numbers for them."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {str(k): finite(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [finite(v) for v in value]
    return value


def number(value: Any) -> float | None:
    """The number that `finite` wrote, None where there is none."""
    return None if value is None else float(value)


def read(path: str | Path) -> dict[str, Any]:
    """A JSON object from a file.

    Raises:
        FileFormatError: it is absent, or holds something else.
    """
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise FileFormatError(
            "report", str(path), was=str(error), needed="a readable JSON file"
        ) from error
    if not isinstance(found, dict):
        raise FileFormatError(
            "report", str(path), was=f"a {type(found).__name__}", needed="an object"
        )
    return found
