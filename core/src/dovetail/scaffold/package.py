"""A backend's package as text, and on the disk: all of it or nothing."""

from __future__ import annotations

import datetime
import json
import re
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import metadata, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dovetail.dtypes import BOOL_CATEGORY, FLOAT_CATEGORY, INT_CATEGORY
from dovetail.errors import ArgumentError, NotSupported
from dovetail.scaffold import functions, layout
from dovetail.scaffold.badge import badge
from dovetail.scaffold.names import Names

if TYPE_CHECKING:
    from jinja2 import Environment

LICENSES: Final = ("Apache-2.0", "BSD-3-Clause", "MIT")
_TEMPLATES: Final = Path(__file__).parent / "templates"
_ADDRESS: Final = r"<(?P<email>[^<>@\s]+@[^<>@\s]+)>"
_AUTHOR: Final = re.compile(rf"(?P<name>[^<>]*[^<>\s])\s*({_ADDRESS})?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Skeleton:
    """What the package is to be.

    Attributes:
        names: of the backend.
        dense: whether its arrays have no strides.
        author: `"Name"` or `"Name <address>"`, empty for the package's authors.
        license: one of `LICENSES`.
    """

    names: Names
    dense: bool = False
    author: str = ""
    license: str = LICENSES[0]


@dataclass(frozen=True, slots=True)
class Written:
    """A package on the disk.

    Attributes:
        folder: where it is.
        files: relative paths, sorted.
        methods, kernels: the functions that raise Unwritten.
    """

    folder: Path
    files: tuple[str, ...]
    methods: tuple[str, ...]
    kernels: tuple[str, ...]


def write(plan: Skeleton, directory: Path) -> Written:
    """Make the package's folder in `directory`.

    Raises:
        ArgumentError: something of that name is there, or cannot be written.
    """
    folder = directory / plan.names.distribution
    if folder.exists() or folder.is_symlink():
        raise ArgumentError(
            "new-backend", "folder", was=f"{folder}, which exists",
            needed="one that does not", remedy="give another --directory or name",
        )  # fmt: skip
    files = render(plan)
    try:
        _write_all(files, folder)
    except OSError as error:
        raise ArgumentError(
            "new-backend", "folder", was=f"{folder} ({error})",
            needed="one that can be written",
        ) from error  # fmt: skip
    methods, kernels = _to_write(plan)
    return Written(folder, tuple(sorted(files)), methods, kernels)


def _write_all(files: Mapping[str, str], folder: Path) -> None:
    """Write beside the folder's place, then move there in one step."""
    draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        draft.chmod(0o755)
        for name, text in files.items():
            path = draft / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
        draft.rename(folder)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def _to_write(plan: Skeleton) -> tuple[tuple[str, ...], tuple[str, ...]]:
    methods = tuple(f.name for f in functions.methods(dense=plan.dense))
    kernels = tuple(f.name for f in functions.kernels(dense=plan.dense))
    return tuple(m for m in methods if m not in _DONE), kernels


# Methods that the skeleton supplies, so that the device is there from the start.
_DONE: Final = ("devices", "kernels")


def render(plan: Skeleton) -> dict[str, str]:
    """The text of every file, by its path in the package's folder."""
    engine = _engine()
    known = _known(plan)
    sources = _TEMPLATES / "package"
    files = {}
    for source in sorted(sources.rglob("*.j2")):
        path = source.relative_to(sources).as_posix().removesuffix(".j2")
        text = engine.get_template(f"package/{path}.j2").render(known)
        files[path.replace("PACKAGE", plan.names.package)] = text
    license = engine.get_template(f"licenses/{plan.license}.j2").render(known)
    return {**files, "LICENSE": license}


def _engine() -> Environment:
    try:
        import jinja2
    except ImportError as error:
        raise NotSupported(
            "new-backend", "jinja2", was="not installed", needed="for the templates",
            remedy="pip install 'dovetail[conformance]'",
        ) from error  # fmt: skip
    engine = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES), undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True, trim_blocks=True, lstrip_blocks=True,
        autoescape=False,
    )  # fmt: skip
    quoted: Any = lambda text: json.dumps(text, ensure_ascii=False)  # noqa: E731
    engine.filters |= {
        "definition": layout.definition, "docstring": layout.docstring,
        "table": layout.table, "toml": quoted,
    }  # fmt: skip
    return engine


def _known(plan: Skeleton) -> dict[str, Any]:
    """What the templates may name."""
    name, email = _person(plan)
    return {
        "names": plan.names,
        "dense": plan.dense,
        "base": "DenseBackend" if plan.dense else "Backend",
        "holder": name,
        "email": email,
        "license": plan.license,
        "year": datetime.datetime.now(tz=datetime.UTC).year,
        "requires": requirement(version("dovetail")),
        "python": metadata("dovetail")["Requires-Python"],
        "done": _DONE,
        "methods": functions.methods(dense=plan.dense),
        "kernels": functions.kernels(dense=plan.dense),
        "claimed": sorted(functions.NAMES[d] for d in functions.CLAIMED),
        "sets": _sets(),
        "badge": badge("level –"),
    }


def _sets() -> list[dict[str, str]]:
    """The claimed dtypes by category, as `kernels.py` writes them."""
    names = {BOOL_CATEGORY: "BOOL", INT_CATEGORY: "INTS", FLOAT_CATEGORY: "FLOATS"}
    found = []
    for category, name in names.items():
        members = [d for d in functions.CLAIMED if d.category == category]
        found.append({"name": name, "code": functions.spelled(members)})
    return found


def _person(plan: Skeleton) -> tuple[str, str | None]:
    if not plan.author:
        return f"The authors of {plan.names.distribution}", None
    found = _AUTHOR.fullmatch(plan.author.strip())
    if found is None or not plan.author.isprintable():
        raise ArgumentError(
            "new-backend", "author", was=repr(plan.author),
            needed='a name, or "Name <address>"',
        )  # fmt: skip
    return found["name"], found["email"]


def requirement(installed: str) -> str:
    """The versions of dovetail that a backend written against this one works with."""
    major, minor = installed.split(".")[:2]
    end = f"0.{int(minor) + 1}" if major == "0" else str(int(major) + 1)
    return f"dovetail>={major}.{minor},<{end}"
