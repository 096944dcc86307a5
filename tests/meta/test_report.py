"""What a run means: levels, matrix, ledger, and the files that say so."""

import json
import xml.etree.ElementTree as ET
from dataclasses import replace
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path

import jsonschema
import pytest
from rich.console import Console
from tests.meta.report_data import changed, full, verdict, without

from dovetail.conformance.report import Report, build
from dovetail.conformance.report.compare import compare
from dovetail.conformance.report.html import page
from dovetail.conformance.report.matrix import STATES
from dovetail.conformance.report.schema import schema
from dovetail.conformance.report.summary import failure
from dovetail.conformance.run import RunRecord
from dovetail.conformance.runner.supervisor import untried
from dovetail.conformance.verdicts import Check, How, Outcome
from dovetail.conformance.workloads import hot
from dovetail.engine.op import vocabulary
from dovetail.errors import FileFormatError

SCRIPT = "raise SystemExit(1)\n"


@pytest.fixture(scope="module")
def whole() -> RunRecord:
    """Every op native."""
    return full()


@pytest.fixture(scope="module")
def composed() -> RunRecord:
    """The primitives native, the others by their bodies."""
    return full(native=False)


def failing(run: RunRecord) -> RunRecord:
    """The run with a failure whose text is hard to write down."""
    return changed(
        run,
        verdict(
            "exp/float32/forward", Outcome.WRONG, failing=(3,), script=SCRIPT,
            example='("<&>\x00\u2028")', ulp=float("inf"), beyond=float("inf"),
            layouts={"contiguous": Outcome.PASSED, "transposed": Outcome.WRONG},
        ),
    )  # fmt: skip


# ---- levels


def test_level_2_is_the_highest_that_can_be_reached(whole: RunRecord) -> None:
    """A device that has everything is at level 2, and is told why not at 3."""
    report = build(whole)
    assert report.level == 2
    assert report.passed
    assert [b.level for b in report.blockers] == [3]


def test_composed_ops_suffice_for_level_1(composed: RunRecord) -> None:
    """What runs by its body passes; level 2 names the hot ops without a kernel."""
    report = build(composed)
    assert report.level == 1
    named = {f.partition("/")[0] for f in report.blockers[0].found}
    assert named == {
        op for op in hot() if not vocabulary[op].primitive and proven_in_float32(op)
    }


def proven_in_float32(op: str) -> bool:
    """Whether an op accepts float32."""
    return any(d.name == "float32" for d in vocabulary[op].accepts)


@pytest.mark.parametrize(
    ("outcome", "how"),
    [
        (Outcome.WRONG, How.NATIVE), (Outcome.REFUSED, How.NATIVE),
        (Outcome.CRASHED, How.NATIVE), (Outcome.HUNG, How.NATIVE),
        (Outcome.TODO, How.NATIVE), (Outcome.HOST, How.HOST),
        (Outcome.UNTESTED, How.NATIVE), (Outcome.UNCLAIMED, How.NATIVE),
        (Outcome.OUT_OF_MEMORY, How.NATIVE),
    ],
)  # fmt: skip
@pytest.mark.parametrize("op", ["exp", "softmax"])
def test_whatever_is_no_pass_blocks(
    whole: RunRecord, outcome: Outcome, how: How, op: str
) -> None:
    """A primitive that did not pass blocks level 0, another op level 1."""
    checks = [
        verdict(f"{op}/float32/{law}", outcome, how) for law in ("forward", "body")
    ]
    report = build(changed(whole, *checks))
    assert report.level == (None if op == "exp" else 0)
    assert any(f"{op}/float32" in f for b in report.blockers for f in b.found)


def test_nothing_passes_that_was_not_executed(whole: RunRecord) -> None:
    """A pass without an example is untested, blocks, and fails the run."""
    empty = [
        verdict(f"softmax/float32/{law}", examples=0) for law in ("forward", "body")
    ]
    report = build(changed(whole, *empty))
    assert report.matrix["softmax", "float32"].state == "untested"
    assert report.level == 0
    assert not report.passed


def claiming(run: RunRecord, budget: str, *names: str) -> RunRecord:
    """The run in a budget, on a device that claims more."""
    about = replace(run.about, dtypes=(*run.about.dtypes, *names))
    return replace(run, about=about, budget=budget)


def test_what_the_budget_leaves_out_is_told(whole: RunRecord, tmp_path: Path) -> None:
    """Claiming more than a budget tries lowers no level; all that is seen says so."""
    report = build(claiming(whole, "quick", "uint8", "float16"))
    assert report.level == build(replace(whole, budget="quick")).level == 2
    assert list(report.standing.untried) == report.to_json()["untried"]
    assert report.standing.untried == ("uint8", "float16")
    assert "in what quick tries, which is no uint8, no float16" in terminal(report)
    assert "The budget does not try uint8, float16." in page(report)
    badge = report.write_badge(tmp_path / "badge.svg").read_text(encoding="utf-8")
    assert "level 2 (quick)" in badge


def test_what_the_budget_tries_has_to_pass(whole: RunRecord) -> None:
    """A claimed dtype that the budget tries is untested where nothing was made."""
    report = build(claiming(whole, "standard", "uint8"))
    assert report.level == 0
    assert report.standing.untried == ()
    assert any("add/uint8 untested" in f for b in report.blockers for f in b.found)


def test_hot_ops_are_all_named(composed: RunRecord) -> None:
    """The list of kernels that level 2 misses is not cut."""
    (blocker, *_) = build(composed).blockers
    assert len(blocker.found) > 6
    assert all(name in str(blocker) for name in blocker.found)


@pytest.mark.parametrize(
    ("change", "missing"),
    [
        ({"dtypes": ("bool", "float32")}, "int32"),
        ({"capabilities": ()}, "not offered"),
    ],
)
def test_what_the_device_lacks_is_named(
    whole: RunRecord, change: dict[str, tuple[str, ...]], missing: str
) -> None:
    """A required dtype and the pool are conditions of levels 0 and 2."""
    report = build(replace(whole, about=replace(whole.about, **change)))
    assert report.level == (None if "dtypes" in change else 1)
    assert any(missing in b.found for b in report.blockers)


def test_laws_on_the_device_block_level_0(whole: RunRecord) -> None:
    """A failed law on the device leaves no level, and so does a run without one."""
    broken = changed(whole, verdict("device/int32/copy_out", Outcome.WRONG))
    assert build(broken).level is None
    bare = replace(
        whole, verdicts=tuple(v for v in whole.verdicts if v.check.op != "device")
    )
    assert build(bare).level is None


@pytest.mark.parametrize(
    "change", [{"ops": "soft*"}, {"laws": "forward"}, {"interrupted": True}]
)
def test_a_part_of_a_run_has_no_level(
    whole: RunRecord, change: dict[str, object]
) -> None:
    """A run that was limited or interrupted says so in place of a level."""
    report = build(replace(whole, **change))  # type: ignore[arg-type]
    assert report.level is None
    assert report.standing.partial


def test_a_run_that_stopped_fails(whole: RunRecord) -> None:
    """What stopped a run fails it, and so does a run without checks."""
    assert not build(replace(whole, stopped="copy_out is wrong")).passed
    assert not build(replace(whole, verdicts=())).passed


# ---- matrix and ledger


def test_a_cell_shows_the_worst_of_its_laws(whole: RunRecord) -> None:
    """One law that fails decides the cell; layouts are told apart."""
    cell = build(failing(whole)).matrix["exp", "float32"]
    assert cell.state == "wrong"
    assert cell.laws == {"forward": "wrong", "body": "passed"}
    assert cell.layouts == {"contiguous": "native", "transposed": "wrong"}


def test_the_matrix_has_every_op_in_every_dtype(whole: RunRecord) -> None:
    """What was not tried is there too: untested where claimed, else unclaimed."""
    cells = build(without(without(whole, "exp/float32/body"), "exp/float32/forward"))
    assert cells.matrix["exp", "float32"].state == "untested"
    assert cells.matrix["exp", "float64"].state == "unclaimed"
    assert {(op.name, d.name) for op in vocabulary.values() for d in op.accepts} == set(
        cells.matrix
    )
    assert {c.state for c in cells.matrix.values()} <= set(STATES)


def test_the_ledger_is_sorted(whole: RunRecord) -> None:
    """The largest error of each op and dtype, the largest first."""
    run = changed(
        whole,
        verdict("exp/float32/forward", ulp=1.5),
        verdict("exp/float32/body", ulp=2.5),
        verdict("log/float32/forward", ulp=9.0),
    )
    first, second, *_ = build(run).ledger
    assert (first.op, first.ulp, first.law) == ("log", 9.0, "forward")
    assert (second.op, second.ulp, second.law) == ("exp", 2.5, "body")


# ---- files


def test_json_keeps_to_its_schema(whole: RunRecord, tmp_path: Path) -> None:
    """The document is valid, also with failures and infinite errors."""
    jsonschema.Draft202012Validator.check_schema(schema())
    checker = jsonschema.Draft202012Validator(schema())
    path = build(failing(whole)).write_json(tmp_path / "sub" / "report.json")

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    document = json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse)
    checker.validate(document)
    assert document["failed"] == ["exp/float32/forward"]
    assert not checker.is_valid({**document, "level": 7})
    assert not checker.is_valid({**document, "surprise": 1})


def test_files_are_written_whole(
    whole: RunRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A write that fails leaves the old file and nothing else."""
    path = build(whole).write_json(tmp_path / "report.json")
    before = path.read_bytes()

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        build(failing(whole)).write_json(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["report.json"]


def test_junit_has_a_case_for_each_check(whole: RunRecord, tmp_path: Path) -> None:
    """Counts agree, and text that XML cannot hold does no harm."""
    run = changed(failing(whole), verdict("log/float32/body", Outcome.UNCLAIMED))
    root = ET.parse(build(run).write_junit(tmp_path / "junit.xml")).getroot()
    cases = root.findall(".//testcase")
    assert len(cases) == len(run.verdicts)
    assert len(root.findall(".//failure")) == 1
    assert len(root.findall(".//skipped")) == 1
    assert "repro_acme_0_exp_float32_forward.py" in str(
        root.findall(".//failure")[0].text
    )


class Page(HTMLParser):
    """Collects what a page loads and says."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.loads += [str(v) for k, v in attrs if k == "src"]
        self.loads += [str(found.get("href"))] if tag == "link" else []
        self.links += [str(found["href"])] if tag == "a" and "href" in found else []
        self.ids |= {str(found["id"])} if "id" in found else set()

    def handle_data(self, data: str) -> None:
        self.text += data


def test_html_is_one_file_that_says_it_all(whole: RunRecord) -> None:
    """Nothing is loaded; failures, reproductions, ops and laws are there, escaped."""
    text = page(build(failing(whole)))
    seen = Page()
    seen.feed(text)
    assert seen.loads == []
    assert {link.removeprefix("#") for link in seen.links} <= seen.ids
    assert seen.links
    for said in (
        "python repros/repro_acme_0_exp_float32_forward.py",
        "Acme One",
        "softmax",
    ):
        assert said in seen.text
    assert '("<&>' in seen.text
    assert '("<&>' not in text


def test_html_of_a_run_without_verdicts(whole: RunRecord) -> None:
    """A run that stopped at once still has a page that says why."""
    text = page(build(replace(whole, verdicts=(), stopped="copy_out hangs")))
    assert "copy_out hangs" in text


def test_scripts_are_written_and_others_stay(whole: RunRecord, tmp_path: Path) -> None:
    """The line in the report names the file that is there; no other is touched."""
    (tmp_path / "repro_old.py").write_text("old")
    report = build(failing(whole))
    (script,) = report.write_reproductions(tmp_path)
    assert script.read_text() == SCRIPT
    assert (tmp_path / "repro_old.py").read_text() == "old"
    assert report.reproductions["exp/float32/forward"].endswith(script.name)
    other = replace(report.run, about=replace(report.run.about, device="acme:1"))
    (second,) = build(other).write_reproductions(tmp_path)
    assert second != script


def terminal(report: Report) -> str:
    """What the terminal shows at the end."""
    shown = StringIO()
    Console(width=2000, file=shown).print(report.summary())
    return shown.getvalue()


def test_summary_names_level_and_what_is_next(whole: RunRecord) -> None:
    """Failures were told before; the level and what it needs come last."""
    text = terminal(build(failing(whole)))
    assert "FAIL" not in text
    assert "1 wrong" in text
    assert "BELOW LEVEL 0" in text
    assert "Level 0 needs" in text


def test_a_failure_is_told_whole(whole: RunRecord) -> None:
    """What is wrong, with which call, and the line that shows it; a pass is not."""
    found = build(failing(whole)).failed[0]
    told = failure(found, "python it.py")
    assert told is not None
    for part in ("exp/float32/forward", "y is 3, needed 0", "<&>", "python it.py"):
        assert part in told.plain
    assert failure(verdict("exp/float32/forward"), "") is None
    assert failure(verdict("exp/float32/forward", Outcome.TODO), "") is None


def test_what_was_not_made_is_not_failed(whole: RunRecord, tmp_path: Path) -> None:
    """Checks that another failure prevents are counted by reason, and fail nothing."""
    unmade = [
        untried(Check("exp", "float32", law), "device/float32/view failed")
        for law in ("forward", "body")
    ]
    report = build(changed(whole, *unmade))
    assert report.failed == ()
    assert report.to_json()["unmade"] == {"device/float32/view failed": 2}
    assert not report.passed
    told = "2 checks were not made: device/float32/view failed"
    assert report.problems == (told,)
    assert told in terminal(report)
    assert report.matrix["exp", "float32"].state == "untested"
    root = ET.parse(report.write_junit(tmp_path / "junit.xml")).getroot()
    assert len(root.findall(".//skipped")) == 2


# ---- compare


def compared(old: RunRecord, new: RunRecord, folder: Path) -> dict[str, list[str]]:
    """What differs between two runs, by way of their files."""
    found = compare(
        build(old).write_json(folder / "old.json"),
        build(new).write_json(folder / "new.json"),
    )
    return {"worse": found.worse, "better": found.better, "changed": found.changed}


def test_a_run_does_not_differ_from_itself(whole: RunRecord, tmp_path: Path) -> None:
    """The same run twice: nothing is told."""
    assert not any(compared(whole, whole, tmp_path).values())


def test_new_failures_are_worse_and_fixed_ones_better(
    whole: RunRecord, tmp_path: Path
) -> None:
    """A failure is worse one way, better the other, and so is the level."""
    there = compared(whole, failing(whole), tmp_path)
    assert any("exp/float32/forward  passed → wrong" in t for t in there["worse"])
    assert any("level 2 → none" in t for t in there["worse"])
    back = compared(failing(whole), whole, tmp_path)
    assert back["worse"] == []
    assert any("exp/float32/forward  wrong → passed" in t for t in back["better"])


def test_kernels_and_errors_are_compared(
    whole: RunRecord, composed: RunRecord, tmp_path: Path
) -> None:
    """A new kernel is better, a larger error is worse; half an ulp is neither."""
    assert any(
        "softmax/float32  composed → native" in t
        for t in compared(composed, whole, tmp_path)["better"]
    )
    less = changed(whole, verdict("exp/float32/forward", ulp=4.0))
    assert compared(whole, less, tmp_path)["worse"] == ["exp/float32  0.5 → 4 ulp"]
    same = changed(whole, verdict("exp/float32/forward", ulp=0.7))
    assert not any(compared(whole, same, tmp_path).values())


def test_a_lost_check_is_worse(whole: RunRecord, tmp_path: Path) -> None:
    """What is no longer tried cannot pass."""
    lost = compared(whole, without(whole, "add/int32/body"), tmp_path)
    assert lost["worse"] == ["add/int32/body  passed → not made"]


def test_only_reports_are_compared(tmp_path: Path) -> None:
    """Another file is refused in words."""
    (tmp_path / "a.json").write_text("[1]")
    (tmp_path / "b.json").write_text('{"format": "other"}')
    for name in ("a.json", "b.json", "absent.json"):
        with pytest.raises(FileFormatError):
            compare(tmp_path / name, tmp_path / name)


def test_badge_says_the_level(tmp_path: Path) -> None:
    """The picture is well-formed and tells level, failure, or that nobody knows."""
    run = full()
    broken = changed(run, verdict("add/float32/forward", Outcome.WRONG))
    for found, words in (
        (run, f"level {build(run).level}"),
        (broken, "below level 0"),
        (replace(run, ops="add"), "level –"),
    ):
        root = ET.parse(build(found).write_badge(tmp_path / "badge.svg")).getroot()
        assert root.attrib["aria-label"] == f"dovetail: {words}"
