"""Waivers excuse what they pin, for a while, and nothing else."""

import datetime
from pathlib import Path

import pytest
from tests.meta.report_data import changed, full, verdict

from dovetail.conformance import laws  # noqa: F401
from dovetail.conformance.report import build
from dovetail.conformance.run import RunRecord
from dovetail.conformance.verdicts import Outcome
from dovetail.conformance.waivers import Waiver, applied, load, packaged
from dovetail.errors import ArgumentError

TODAY = datetime.date(2031, 1, 2)
CHECK = "exp/float32/forward"
EXAMPLE = "(float32[2])"
TEXT = """
[[waiver]]
op = "exp"
dtype = "float32"
law = "forward"
example = "(float32[2])"
reason = "exp is good to 20 ulp near 88"
issue = "https://example.com/issues/17"
expires = 2031-01-31
expected = "failure"
"""


@pytest.fixture(scope="module")
def whole() -> RunRecord:
    """Every op passes."""
    return full()


def waivers(tmp_path: Path, text: str = TEXT) -> tuple[list[Waiver], list[str]]:
    """The waivers of a file with that text."""
    path = tmp_path / "waivers.toml"
    path.write_text(text, encoding="utf-8")
    return load(path)


def one(tmp_path: Path, *changes: tuple[str, str]) -> Waiver:
    """The waiver of the text with changes."""
    text = TEXT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    found, problems = waivers(tmp_path, text)
    assert problems == []
    return found[0]


def test_a_pinned_failure_is_excused(whole: RunRecord, tmp_path: Path) -> None:
    """The verdict is waived with its reason, the run passes, the level stands."""
    run = changed(whole, verdict(CHECK, Outcome.WRONG, failing=(3,)))
    report = build(run, [one(tmp_path)], today=TODAY)
    assert report.passed
    assert report.level == 2
    assert report.matrix["exp", "float32"].waived
    assert report.matrix["exp", "float32"].layouts == {"contiguous": "native"}
    ((_, ids),) = report.waived.applied
    assert ids == (CHECK,)


@pytest.mark.parametrize("pin", ["3", '["(float32[2])"]', "[3]"])
def test_an_example_is_pinned_by_number_or_words(
    whole: RunRecord, tmp_path: Path, pin: str
) -> None:
    """Both ways, and lists of them, name the same failure."""
    run = changed(whole, verdict(CHECK, Outcome.WRONG, failing=(3,)))
    waiver = one(tmp_path, ('"(float32[2])"', pin))
    assert build(run, [waiver], today=TODAY).passed


@pytest.mark.parametrize(
    "failure",
    [
        verdict(CHECK, Outcome.WRONG, failing=(3,), example="(float32[7])"),
        verdict(CHECK, Outcome.CRASHED, failing=()),
    ],
)
def test_another_failure_of_the_op_is_not_hidden(
    whole: RunRecord, tmp_path: Path, failure: object
) -> None:
    """A failure of another example fails the run, and the waiver is told of."""
    report = build(changed(whole, failure), [one(tmp_path)], today=TODAY)  # type: ignore[arg-type]
    assert [v.check.id for v in report.failed] == [CHECK]
    assert "does not cover" in report.problems[0]


def test_a_further_failing_example_is_not_hidden(
    whole: RunRecord, tmp_path: Path
) -> None:
    """The pinned example fails, and one more: the check fails."""
    run = changed(whole, verdict(CHECK, Outcome.WRONG, failing=(3, 8)))
    waiver = one(tmp_path, ('"(float32[2])"', "3"))
    assert not build(run, [waiver], today=TODAY).passed


def test_other_checks_are_not_covered(whole: RunRecord, tmp_path: Path) -> None:
    """The same example in another dtype or law fails."""
    other = verdict("exp/float32/body", Outcome.WRONG, failing=(3,))
    run = changed(whole, verdict(CHECK, Outcome.WRONG, failing=(3,)), other)
    assert [v.check.id for v in build(run, [one(tmp_path)], today=TODAY).failed] == [
        "exp/float32/body"
    ]
    patterns = [('"exp"', '"e?p"'), ('"float32"', '"float*"'), ('"forward"', '"*"')]
    waiver = one(tmp_path, *patterns)
    assert build(run, [waiver], today=TODAY).passed


@pytest.mark.parametrize(
    ("beyond", "covered"), [(20.0, True), (33.0, False), (float("inf"), False)]
)
def test_a_tolerance_covers_rounding_only(
    whole: RunRecord, tmp_path: Path, beyond: float, covered: bool
) -> None:
    """Errors up to it pass; larger ones and lost NaNs fail."""
    waiver = one(tmp_path, ('expected = "failure"', "tolerance = 32"))
    failed = verdict(CHECK, Outcome.WRONG, failing=(3, 4), beyond=beyond)
    assert build(changed(whole, failed), [waiver], today=TODAY).passed is covered


def test_a_waiver_that_passes_fails_the_run(whole: RunRecord, tmp_path: Path) -> None:
    """Nothing fails any more: it is time to remove it."""
    report = build(whole, [one(tmp_path)], today=TODAY)
    assert not report.passed
    assert "nothing fails any more" in report.problems[0]


def test_an_expired_waiver_fails_the_run(whole: RunRecord, tmp_path: Path) -> None:
    """It excuses nothing from the day after its last, and says since when."""
    run = changed(whole, verdict(CHECK, Outcome.WRONG, failing=(3,)))
    last, after = datetime.date(2031, 1, 31), datetime.date(2031, 2, 1)
    assert build(run, [one(tmp_path)], today=last).passed
    report = build(run, [one(tmp_path)], today=after)
    assert len(report.failed) == 1
    assert "expired on 2031-01-31" in report.problems[0]


def test_a_waiver_about_nothing_fails_a_whole_run_only(
    whole: RunRecord, tmp_path: Path
) -> None:
    """A dtype the device lacks: no check; in a part of a run that says nothing."""
    waiver = one(tmp_path, ('"float32"', '"float64"'))
    for complete in (True, False):
        found = applied(
            whole.verdicts, [waiver], TODAY, budget="standard", complete=complete
        )
        assert bool(found.problems) is complete


def test_a_budget_too_small_says_nothing(whole: RunRecord, tmp_path: Path) -> None:
    """What only `standard` can see is not judged at `quick`."""
    waiver = one(tmp_path, ("[[waiver]]", '[[waiver]]\nbudget = "standard"'))
    for budget, told in (("quick", 0), ("standard", 1), ("deep", 1)):
        found = applied(whole.verdicts, [waiver], TODAY, budget=budget, complete=True)
        assert len(found.problems) == told


@pytest.mark.parametrize(
    "field", ["op", "dtype", "law", "example", "reason", "issue", "expires"]
)
def test_every_field_is_needed(tmp_path: Path, field: str) -> None:
    """A waiver without one is none, and the field is named."""
    lines = [row for row in TEXT.splitlines() if not row.startswith(f"{field} =")]
    found, (problem,) = waivers(tmp_path, "\n".join(lines))
    assert found == []
    assert f"{field} is missing" in problem


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"exp"', '"expp"', "op 'expp'"),
        ('"float32"', '"float33"', "dtype 'float33'"),
        ('"forward"', '"backwards"', "law 'backwards'"),
        ("2031-01-31", '"soon"', "expires"),
        ('expected = "failure"', "", "needed one of"),
        ('expected = "failure"', 'expected = "failure"\ntolerance = 3', "needed one"),
        ('expected = "failure"', 'expected = "success"', "'success'"),
        ('expected = "failure"', 'tolerance = "much"', "number of ulp"),
        ('expected = "failure"', "tolerance = true", "number of ulp"),
        ("[[waiver]]", "[[waiver]]\nowner = 3", "owner is unknown"),
        ("[[waiver]]", '[[waiver]]\nbudget = "huge"', "'huge'"),
        ("[[waiver]]", "[[waive]]", "unknown key 'waive'"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, old: str, new: str, said: str) -> None:
    """A waiver that nobody can mean excuses nothing, and is told of."""
    found, problems = waivers(tmp_path, TEXT.replace(old, new))
    assert found == []
    assert any(said in problem for problem in problems), problems


def test_problems_of_the_file_fail_the_run(whole: RunRecord) -> None:
    """What is wrong with the file is wrong with the run."""
    assert not build(whole, [], ["waivers.toml, waiver 1: op is missing"]).passed


def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    """Broken TOML and absent files are refused in words."""
    with pytest.raises(ArgumentError, match=r"absent\.toml"):
        load(tmp_path / "absent.toml")
    with pytest.raises(ArgumentError, match="readable TOML"):
        waivers(tmp_path, "[[waiver")


def test_the_file_comes_with_the_backends_package() -> None:
    """The CPU backend ships one, in which nothing is waived."""
    path = packaged("cpu")
    assert path is not None
    assert path.parent.name == "dovetail_cpu"
    assert load(path) == ([], [])
    assert packaged("no_such_backend") is None
