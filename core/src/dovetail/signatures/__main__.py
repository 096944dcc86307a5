"""`python -m dovetail.signatures`: write the stubs, or with `--check` compare them."""

from __future__ import annotations

import sys

from dovetail.signatures.compatibility import PAGE, page
from dovetail.signatures.stubs import FOLDER, stubs


def main(argv: list[str]) -> int:
    """Write what differs and name it; exit status 1 if it was only to be compared."""
    stale = []
    for name, text in stubs().items():
        path = FOLDER / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(name)
            if "--check" not in argv:
                path.write_text(text, encoding="utf-8")
    if PAGE.parent.exists():
        text = page()
        if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
            stale.append(PAGE.name)
            if "--check" not in argv:
                PAGE.write_text(text, encoding="utf-8")
    print("\n".join(stale) or "nothing differs")
    return 1 if stale and "--check" in argv else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
