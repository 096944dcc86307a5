"""Which check killed each mutant the last time: it is asked first, which saves hours.

Whatever is written down here, a mutant is killed by a check of the plan at `standard`
that fails on it and passes on the sound device. One that its old check does not kill is
asked all others, the likeliest first.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final

from dovetail.io.whole_files import replacing

_FILE: Final = Path(__file__).with_name("killers.json")


@lru_cache(maxsize=1)
def killers() -> dict[str, str]:
    """The check, by the name of the mutant."""
    found: dict[str, str] = json.loads(_FILE.read_text(encoding="utf-8"))
    return found


def remember(found: Mapping[str, str]) -> None:
    """Write down what killed some mutants, beside what is known of others."""
    whole = dict(sorted((killers() | dict(found)).items()))
    with replacing(_FILE) as path:
        path.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
    killers.cache_clear()
