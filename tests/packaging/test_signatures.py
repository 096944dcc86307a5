"""Type checkers and editors know the public names, and no others."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from tests.support import child

import dovetail
from dovetail.engine.omissions import OMISSIONS
from dovetail.engine.public import NAMESPACES
from dovetail.engine.tensor import Tensor
from dovetail.signatures.annotations import source_of
from dovetail.signatures.compatibility import PAGE, page
from dovetail.signatures.overloads import Form, forms_of
from dovetail.signatures.stubs import FOLDER, stubs


def overloaded() -> dict[str, tuple[Callable[..., Any], list[Form]]]:
    """Functions and methods that have several forms, by name."""
    spaces = {
        "torch": NAMESPACES["torch"],
        "F": NAMESPACES["F"],
        "Tensor": vars(Tensor),
    }
    found = {}
    for space, names in spaces.items():
        for name, value in names.items():
            if inspect.isfunction(value):
                source, method = source_of(value), space == "Tensor"
                forms = forms_of(name, value, source, method=method)
                if len(forms) > 1:
                    found[f"{space}.{name}"] = value, forms
    return found


OVERLOADED = overloaded()
ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "tests" / "typing"


def test_the_stubs_are_those_of_the_declarations() -> None:
    """`python -m dovetail.signatures` would write what is there."""
    stale = [n for n, text in stubs().items() if (FOLDER / n).read_text() != text]
    assert not stale, f"{stale}: run python -m dovetail.signatures"


def test_the_page_of_omissions_is_that_of_the_code() -> None:
    """`python -m dovetail.signatures` would write what is there."""
    assert PAGE.read_text() == page(), "run python -m dovetail.signatures"


def test_what_is_left_out_is_not_there_and_says_why() -> None:
    """No name is both there and left out; the error for one has its reason."""
    rooms: dict[str, Any] = {"torch": dovetail, "Tensor": dovetail.Tensor}
    for omission in OMISSIONS:
        for room, names in omission.names.items():
            if room not in rooms:
                rooms[room] = import_module(f"dovetail.{room}")
            assert not [n for n in names.split() if hasattr(rooms[room], n)]
    with pytest.raises(AttributeError, match="TorchScript"):
        dovetail.ScriptModule  # noqa: B018
    with pytest.raises(AttributeError, match="prototype"):
        dovetail.masked.masked_tensor  # noqa: B018


@pytest.fixture(scope="module")
def complaints() -> dict[str, list[int]]:
    """The lines of each program in which mypy, as users run it, finds a mistake."""
    done = child.python(
        "-m", "mypy", "--strict", "--config-file=", "--no-incremental",
        "--no-color-output", "--explicit-package-bases", "--follow-imports=silent",
        "right.py", "wrong.py",
        cwd=PROGRAMS, status=None, MYPYPATH=str(ROOT / "core" / "src"), limit=600,
    )  # fmt: skip
    found: dict[str, list[int]] = {"right.py": [], "wrong.py": []}
    for line in done.stdout.splitlines():
        name, _, rest = line.partition(":")
        if ": error: " in rest and name in found:
            found[name].append(int(rest.partition(":")[0]))
    assert any(found.values()), done.stdout + done.stderr
    return found


def test_a_right_program_has_no_mistakes(complaints: dict[str, list[int]]) -> None:
    """Functions, methods, layers and optimizers have the types they return."""
    assert complaints["right.py"] == []


def test_every_mistake_is_found(complaints: dict[str, list[int]]) -> None:
    """Wrong names, arguments and types are errors, each in its line."""
    lines = (PROGRAMS / "wrong.py").read_text().splitlines()
    marked = [n for n, line in enumerate(lines, 1) if line.endswith("# wrong")]
    assert sorted(set(complaints["wrong.py"])) == marked


@pytest.mark.parametrize("name", sorted(OVERLOADED))
def test_overloads_take_what_is_taken(name: str) -> None:
    """The parameters of each form are the function's, with its defaults."""
    function, forms = OVERLOADED[name]
    whole = inspect.signature(function).parameters
    for form in forms:
        for parameter in form.parameters[1:]:
            known = whole.get(parameter.name)
            assert known is not None or has_star(whole), parameter
            if known is not None and parameter.default is not parameter.empty:
                assert parameter.default == known.default, parameter


def has_star(parameters: Mapping[str, inspect.Parameter]) -> bool:
    """Whether any number of arguments is taken."""
    return any(p.kind is p.VAR_POSITIONAL for p in parameters.values())
