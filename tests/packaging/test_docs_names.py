"""What the pages name is there: files, modules, attributes and words of the code.

Names are what stands between backticks, outside of blocks of code.
"""

from __future__ import annotations

import importlib
import re
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "core" / "src" / "dovetail"
PAGES = [
    ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "core" / "README.md",
    ROOT / "backends" / "cpu" / "README.md", ROOT / "tests" / "fake" / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
]  # fmt: skip
_FENCED = re.compile(r"^```.*?^```", re.M | re.S)
_PATH = re.compile(r"(?<![\w/.:])(?:[\w.*-]+/)+[\w.*-]*|(?<![\w/.])[\w-]+\.(?:py|md)\b")
_DOTTED = re.compile(r"(?<![\w.])[a-z]\w*(?:\.[A-Za-z_]\w*)+")
_WORD = re.compile(r"[A-Za-z_]\w+")
_MODULE = re.compile(r"`([\w/]+\.py)`")

# Of packages that authors write, of other programs' files, and of what is written.
ELSEWHERE: Final = re.compile(
    r"src/dovetail_acme/|\.github/|waivers\.toml|repros/|https?:|download\.pytorch\.org"
)
# The op that a page declares as it goes, and an address.
INVENTED: Final = re.compile(r"softshift|PIP_EXTRA_INDEX_URL|\.github|https?:")
# An attribute that instances alone have.
FIELD: Final = object()
# Groups of entry points.
GROUPS: Final = ("dovetail.backends.v1", "dovetail.kernels.v1")
# What pages call one of these, where a module has the same name.
VARIABLES: Final = {
    "op": "engine.op.Op", "graph": "engine.graph.Graph",
    "report": "testing.comparison.report.Lockstep",
}  # fmt: skip


def names_of(page: Path) -> list[str]:
    """What stands between backticks."""
    text = _FENCED.sub("", page.read_text(encoding="utf-8"))
    return re.findall(r"`([^`]+)`", text)


@cache
def words() -> set[str]:
    """Every word in a file of code, and the names of the files and folders."""
    found: set[str] = set()
    for folder in ("core", "backends", "tests", "benchmarks", "examples"):
        for path in (ROOT / folder).rglob("*"):
            found |= set(_WORD.findall(path.name))
            if path.suffix in (".py", ".toml", ".j2", ".pyi") and path.is_file():
                found |= set(_WORD.findall(path.read_text(encoding="utf-8")))
    return found


@cache
def modules() -> dict[str, list[str]]:
    """The modules and packages of core, by the last part of their names."""
    found: dict[str, list[str]] = {"dovetail": ["dovetail"]}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        if parts[-1].startswith("__"):
            parts = parts[:-1]
        found.setdefault(parts[-1], []).append(".".join(parts))
    return found


def member(found: Any, name: str) -> Any:
    """A module's or a class's attribute; what a field holds may be anything."""
    if found is FIELD or name in getattr(found, "__annotations__", {}):
        return FIELD
    if hasattr(found, name):
        return getattr(found, name)
    if isinstance(found, type):
        assert name in found.__init__.__code__.co_names, f"{found} has no {name}"
        return FIELD
    return importlib.import_module(f"{found.__name__}.{name}")


def resolves(start: str, rest: list[str]) -> bool:
    """Whether a dotted name leads somewhere from a module."""
    found: Any = importlib.import_module(start)
    try:
        for name in rest:
            found = member(found, name)
    except (AssertionError, AttributeError, ImportError):
        return False
    return True


def is_there(dotted: str) -> bool:
    """Whether a dotted name leads somewhere, if a module has its first part."""
    head, *rest = dotted.split(".")
    if head in VARIABLES:
        return resolves("dovetail", [*VARIABLES[head].split("."), *rest])
    return head not in modules() or any(resolves(m, rest) for m in modules()[head])


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_files_are_there(page: Path) -> None:
    """Every path is one from the root, from a package or from one of its rooms."""
    missing = []
    for name in names_of(page):
        for path in _PATH.findall(name) if not ELSEWHERE.search(name) else ():
            places = [ROOT.glob(path), PACKAGE.parent.glob(path), PACKAGE.rglob(path),
                      (ROOT / "backends").rglob(path)]  # fmt: skip
            if not any(next(iter(found), None) for found in places):
                missing.append(path)
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_words_are_those_of_the_code(page: Path) -> None:
    """Every word of a name is one of the code's."""
    named = [n for n in names_of(page) if not INVENTED.search(n)]
    assert not {w for name in named for w in _WORD.findall(name)} - words()


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_dotted_names_lead_somewhere(page: Path) -> None:
    """A name such as `scopes.record` leads from a module to what it has."""
    dotted = {
        found
        for name in names_of(page)
        if "/" not in name and not re.search(r"\.(py|md|toml|json|png|npz)\b", name)
        for found in _DOTTED.findall(name)
        if found not in GROUPS
    }
    assert not [name for name in sorted(dotted) if not is_there(name)]


def rooms() -> dict[str, tuple[set[str], set[str]]]:
    """Rooms whose rows name their modules: those named, and those there."""
    text = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    named: dict[str, set[str]] = {}
    for first, second in re.findall(r"^\| (.*?) \| (.*?) \|$", text, re.M):
        for room in re.findall(r"^`([\w/]+)/`", first):
            named.setdefault(room, set()).update(_MODULE.findall(second))
    return {
        room: (names, {p.name for p in (PACKAGE / room).glob("*.py")} - {"__init__.py"})
        for room, names in named.items()
        if len(names) > 3
    }


@pytest.mark.parametrize("room", rooms())
def test_the_floors_name_all_modules(room: str) -> None:
    """Rows that say what a room's modules are for leave none out, nor add one."""
    named, there = rooms()[room]
    assert named == there
