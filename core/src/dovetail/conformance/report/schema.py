"""The schema of the report in JSON, which comes with the kit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

PATH: Final = Path(__file__).with_name("schema.json")


def schema() -> dict[str, Any]:
    """The schema, in JSON Schema's draft of 2020-12."""
    found: dict[str, Any] = json.loads(PATH.read_text(encoding="utf-8"))
    return found
