"""The examples in docstrings of public names run, and print what they say."""

from __future__ import annotations

import doctest
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dovetail
from dovetail import autograd, data, io, nn, optim
from dovetail.nn import functional

SPACES = {
    "dovetail": dovetail, "Tensor": dovetail.Tensor, "nn": nn, "F": functional,
    "optim": optim, "data": data, "autograd": autograd, "io": io,
}  # fmt: skip
# What nearly every program uses; others may have examples too.
SHOWN = {
    "dovetail": (
        "tensor",
        "zeros",
        "arange",
        "from_numpy",
        "cat",
        "where",
        "matmul",
        "einsum",
        "no_grad",
        "manual_seed",
        "device",
    ),
    "Tensor": ("__getitem__", "backward", "reshape", "to", "sum", "numpy"),
    "autograd": ("grad",),
    "nn": ("Module", "Sequential", "Linear", "Parameter"),
    "F": ("cross_entropy",),
    "optim": ("SGD", "AdamW"),
    "data": ("DataLoader",),
    "io": ("save", "load"),
}


def documented() -> Iterator[tuple[str, str]]:
    """Public names, and methods of public classes, that have a docstring."""
    seen: set[int] = set()
    for space, owner in SPACES.items():
        for name in dir(owner):
            found = inspect.getattr_static(owner, name, None)
            if found is None:
                found = getattr(owner, name, None)
            if inspect.ismodule(found) or (name.startswith("_") and space != "Tensor"):
                continue
            yield from _own(f"{space}.{name}", found, seen)


def _own(name: str, found: Any, seen: set[int]) -> Iterator[tuple[str, str]]:
    if id(found) in seen:
        return
    seen.add(id(found))
    if isinstance(getattr(found, "__doc__", None), str):
        yield name, found.__doc__
    if inspect.isclass(found) and found.__module__.startswith("dovetail"):
        for method, value in vars(found).items():
            if not method.startswith("_") and not inspect.isclass(value):
                yield from _own(f"{name}.{method}", value, seen)


def example(name: str, doc: str) -> doctest.DocTest:
    """The examples of a docstring, in which the usual names are there."""
    names = {"torch": dovetail, "nn": nn, "F": functional, "optim": optim}
    return doctest.DocTestParser().get_doctest(doc, names, name, None, 0)


EXAMPLES = {
    name: test for name, doc in documented() if (test := example(name, doc)).examples
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_prints_what_it_says(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A docstring's examples run from top to bottom, with the results they show."""
    monkeypatch.chdir(tmp_path)
    report: list[str] = []
    with dovetail.random.fork_rng():
        doctest.DocTestRunner().run(EXAMPLES[name], out=report.append)
    assert not report, "".join(report)


@pytest.mark.parametrize("space", SHOWN)
def test_what_people_use_most_has_an_example(space: str) -> None:
    """The names of a first program show how they are used."""
    docs = {n: inspect.getdoc(getattr(SPACES[space], n)) or "" for n in SHOWN[space]}
    assert [name for name, doc in docs.items() if ">>>" not in doc] == []
