"""How many lines an op takes: what says anything of ops, over the declared ones.

Lines are counted as they stand, blank ones and comments too: the formatter decides
how code is broken, so that only what need not be said makes the figure smaller.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Final

import dovetail
from dovetail.engine.op import declared

PACKAGE: Final = Path(dovetail.__file__).parent
# Folder of the package: what it says of an op.
PARTS: Final = {
    "ops": "declarations, bodies, gradients, oracles",
    "frontend": "torch's signatures that no declaration gives",
    "nn/functional": "the same for nn.functional",
    "xp": "kernels for NumPy-like libraries",
}
# About; where the two disagree, readable wins.
BAR: Final = 60.0


def lines_of(path: Path) -> int:
    """Lines of one file."""
    return len(path.read_text(encoding="utf-8").splitlines())


def measure() -> dict[str, int]:
    """Lines of each part."""
    return {part: sum(map(lines_of, (PACKAGE / part).rglob("*.py"))) for part in PARTS}


def longest(part: str, count: int = 3) -> list[tuple[str, int]]:
    """The modules of a part that have most lines."""
    files = Counter({p.name: lines_of(p) for p in (PACKAGE / part).rglob("*.py")})
    return files.most_common(count)


def main(argv: list[str]) -> int:
    """Print lines by part and an op; exit status 1 if the bar is not met."""
    found, ops = measure(), len(declared())
    each = sum(found.values()) / ops
    if "--json" in argv:
        print(json.dumps({"lines": found, "ops": ops, "an_op": each, "bar": BAR}))
        return 0 if each <= BAR else 1
    for part, lines in found.items():
        most = ", ".join(f"{name} {n}" for name, n in longest(part))
        print(f"{part:14}{lines:8,}  {lines / ops:5.1f} an op  {PARTS[part]}; {most}")
    print(f"{'':14}{sum(found.values()):8,}  {each:5.1f} an op over {ops} declared ops")
    print(f"bar: about {BAR:.0f} lines an op")
    return 0 if each <= BAR else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
