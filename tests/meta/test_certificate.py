"""A certificate is what was proven, sealed; anybody can verify and replay it."""

import copy
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.meta.report_data import changed, full, verdict

from dovetail.conformance.report import build
from dovetail.conformance.report.certificate import (
    arguments,
    certificate,
    digest,
    replay,
    verify,
)
from dovetail.conformance.report.pins import package_hash, plugins
from dovetail.conformance.run import RunRecord
from dovetail.conformance.verdicts import Outcome
from dovetail.errors import FileFormatError


@pytest.fixture(scope="module")
def whole() -> RunRecord:
    """Every op passes, one with an infinite error."""
    return changed(full(), verdict("exp/float32/forward", ulp=float("inf")))


def leaves(tree: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every value that is no container."""
    if isinstance(tree, dict | list) and tree:
        keys = tree if isinstance(tree, dict) else range(len(tree))
        for key in keys:
            yield from leaves(tree[key], (*at, key))
    else:
        yield at


def altered(tree: Any, way: tuple[Any, ...]) -> Any:
    """A copy in which the value at the end of the way is another one."""
    made = copy.deepcopy(tree)
    inner = made
    for key in way[:-1]:
        inner = inner[key]
    old = inner[way[-1]]
    inner[way[-1]] = not old if isinstance(old, bool) else f"{old}x"
    return made


def test_a_certificate_verifies(whole: RunRecord, tmp_path: Path) -> None:
    """What was written is read; the order of keys and white space mean nothing."""
    report = build(whole)
    path = report.write_certificate(tmp_path / "certificate.json")
    found = verify(path)
    assert found["level"] == 2
    assert found["pins"]["budget"]["name"] == "standard"
    assert found["pins"]["kit"].startswith("sha256:")
    path.write_text(json.dumps(dict(sorted(found.items(), reverse=True))))
    assert verify(path) == found


def test_any_change_is_noticed(whole: RunRecord, tmp_path: Path) -> None:
    """Each value of one of each kind of row, altered, breaks the seal."""
    sealed = certificate(build(whole))
    small = {**sealed, "checks": sealed["checks"][:2], "matrix": sealed["matrix"][:2]}
    small["ledger"] = sealed["ledger"][:2]
    small["digest"] = digest(small)
    path = tmp_path / "certificate.json"
    ways = [way for way in leaves(small) if way != ("format",)]
    assert len(ways) > 100
    for way in ways:
        path.write_text(json.dumps(altered(small, way)))
        with pytest.raises(FileFormatError, match="changed since it was sealed"):
            verify(path)


def test_removals_and_additions_are_noticed(whole: RunRecord, tmp_path: Path) -> None:
    """A check less, a key more, no seal at all."""
    sealed = certificate(build(whole))
    path = tmp_path / "certificate.json"
    for wrong in (
        {**sealed, "checks": sealed["checks"][1:]},
        {**sealed, "more": 1},
        {k: v for k, v in sealed.items() if k != "digest"},
    ):
        path.write_text(json.dumps(wrong))
        with pytest.raises(FileFormatError, match="changed"):
            verify(path)
    path.write_text("{}")
    with pytest.raises(FileFormatError, match="format"):
        verify(path)


def test_a_replay_that_agrees(whole: RunRecord) -> None:
    """Another time of day and another duration are no difference."""
    again = replace(whole, started="2032-01-01T00:00:00+00:00", seconds=9.0)
    found = replay(certificate(build(whole)), build(again))
    assert found.same
    assert found.environment == []
    assert found.status == 0


def test_a_replay_that_differs(whole: RunRecord) -> None:
    """Verdicts, errors and the environment are told apart."""
    about = replace(whole.about, versions={"dovetail": "0.2.0"})
    again = changed(
        replace(whole, about=about),
        verdict("log/float32/forward", Outcome.WRONG, failing=(1,)),
        verdict("sin/float32/forward", ulp=0.75),
    )
    found = replay(certificate(build(whole)), build(again))
    assert not found.same
    assert any("log/float32/forward" in t for t in found.worse)
    assert "sin/float32  0.5 → 0.75 ulp" in found.worse
    assert found.environment == ["about.versions.dovetail  0.1.0 → 0.2.0"]
    assert found.status == 1


def test_a_replay_is_made_as_pinned(whole: RunRecord) -> None:
    """Device, budget, seed and globs are those of the first run."""
    sealed = certificate(build(replace(whole, ops="soft*", seed=3)))
    assert arguments(sealed) == {
        "device": "acme:0", "budget": "standard", "ops": "soft*", "laws": "*",
        "seed": 3,
    }  # fmt: skip


def test_a_certificate_without_a_seed_is_replayed_with_the_usual_one(
    whole: RunRecord,
) -> None:
    """Those that were sealed before there were seeds drew what seed 0 draws."""
    sealed = certificate(build(whole))
    del sealed["pins"]["budget"]["seed"]
    assert arguments(sealed)["seed"] == 0


def test_the_seeds_of_checks_are_those_of_the_run(whole: RunRecord) -> None:
    """A run of another seed seeds every check otherwise."""
    usual, other = (
        [row["seed"] for row in certificate(build(run))["checks"]]
        for run in (whole, replace(whole, seed=3))
    )
    assert not set(usual) & set(other)


def test_the_plugins_files_are_pinned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A changed, a renamed or a new file changes the hash; bytecode does not."""
    (cpu, *_) = plugins("cpu")
    assert cpu["distribution"] == "dovetail-cpu"
    assert cpu["files"] == package_hash("dovetail_cpu")
    assert plugins("chaos:cpu")[0] == cpu
    package = tmp_path / "dovetail_pinned"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "kernels.py").write_text("x = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    first = package_hash("dovetail_pinned")
    (package / "__pycache__").mkdir()
    (package / "__pycache__" / "kernels.pyc").write_text("")
    assert package_hash("dovetail_pinned") == first
    (package / "kernels.py").write_text("x = 2\n")
    second = package_hash("dovetail_pinned")
    (package / "kernels.py").rename(package / "other.py")
    assert len({first, second, package_hash("dovetail_pinned")}) == 3
    assert package_hash("dovetail_no_such_package") == ""
