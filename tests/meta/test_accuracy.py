"""How exact the ops are: errors in ulp, arguments of sweeps, truths, and the pages."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from tests.meta.mutants.mutant import with_faults

from dovetail import dtypes
from dovetail.cli import main
from dovetail.conformance.accuracy.errors import ulps
from dovetail.conformance.accuracy.report import number
from dovetail.conformance.accuracy.survey import DTYPES, measured, planned, rounds
from dovetail.conformance.accuracy.sweep import sweep
from dovetail.conformance.accuracy.truth import NoTruth, Rounded, precise
from dovetail.conformance.formats import limits
from dovetail.conformance.subject import Subject
from dovetail.device_api import registry
from dovetail.dtypes import DType, from_numpy
from dovetail.engine.cases import case
from dovetail.engine.op import declared, vocabulary

PAGE = Path(__file__).resolve().parents[2] / "docs" / "accuracy.md"
REAL = [d for d in DTYPES if not d.is_complex]
NAMES = [d.name for d in REAL]


def truth_of(*values: Any) -> Rounded:
    """mpmath's numbers as a truth."""
    return Rounded(np.array([mpmath.mpf(v) for v in values], object), False)


# ---- errors


@pytest.mark.parametrize("dtype", REAL, ids=NAMES)
@given(bits=st.integers(1, 0x7BFF))
def test_neighbours_are_one_ulp_apart(dtype: DType, bits: int) -> None:
    """Of normal and of subnormal numbers."""
    x = np.array([bits], np.uint16).view(np.float16).astype(np.float64)
    scale = float(limits(dtype).smallest_normal) * 2.0**14
    a = (x * (scale if bits < 0x400 else 1.0)).astype(dtype.numpy)
    width = f"u{dtype.itemsize}"
    above = (a.view(width) + np.array(1, width)).view(dtype.numpy)
    error = ulps(above, truth_of(float(a[0])), dtype)
    assert error == pytest.approx(1)


@pytest.mark.parametrize("dtype", REAL, ids=NAMES)
@given(value=st.floats(1e-3, 1e3))
def test_what_is_rounded_correctly_is_half_an_ulp_off(
    dtype: DType, value: float
) -> None:
    """A third of a number, which no format has, rounded to each."""
    third = mpmath.mpf(value) / 3
    with mpmath.workprec(200):
        third = mpmath.mpf(value) / 3
        got = np.array([float(third)]).astype(dtype.numpy)
        assert ulps(got, Rounded(np.array([third], object), False), dtype) <= 0.5 + 1e-9


def test_a_nan_for_a_number_is_infinitely_wrong() -> None:
    """And nothing is said where the truth is none."""
    got = np.array([math.nan, math.nan], np.float32)
    want = Rounded(np.array([mpmath.mpf(1), np.float64(math.nan)], object), False)
    error = ulps(got, want, dtypes.float32)
    assert error[0] == math.inf
    assert math.isnan(error[1])


def test_an_infinity_counts_as_the_number_after_the_largest() -> None:
    """Right where the truth overflows, an ulp off where the largest number is true."""
    top = float(np.finfo(np.float32).max)
    got = np.array([math.inf, math.inf], np.float32)
    error = ulps(got, truth_of("1e60", top), dtypes.float32)
    assert error.tolist() == [0.0, 1.0]


def test_the_unit_of_terms_may_be_larger_than_the_results() -> None:
    """What cancels is measured by what it was made of."""
    got = np.array([1.5 * 2.0**-20], np.float32)
    error = ulps(got, truth_of(2.0**-20), dtypes.float32, np.array([1.0]))
    assert error[0] == pytest.approx(0.5 * 2.0**-20 / 2.0**-23)


@pytest.mark.parametrize(
    ("ulp", "text"),
    [(1e-9, "0"), (0.5, "0.5"), (11.6, "12"), (1234.0, "1,234"), (3e7, "3.0e+07")],
)
def test_errors_have_the_digits_that_one_looks_at(ulp: float, text: str) -> None:
    """Few, and none of them lost."""
    assert number(ulp) == text
    assert number(math.inf) == "∞"


# ---- truths


@pytest.mark.parametrize(
    ("op", "at", "want"),
    [
        ("sin", 1e22, lambda: mpmath.sin(mpmath.mpf(1e22))),
        ("expm1", 1e-300, lambda: mpmath.expm1(mpmath.mpf(1e-300))),
        ("erfc", 26.0, lambda: mpmath.erfc(26)),
        ("lgamma", -2.5, lambda: mpmath.log(abs(mpmath.gamma(mpmath.mpf(-2.5))))),
        ("digamma", -0.3, lambda: mpmath.psi(0, mpmath.mpf(-0.3))),
        ("sigmoid", -700.0, lambda: 1 / (1 + mpmath.exp(700))),
    ],
)
def test_truths_are_mpmaths(op: str, at: float, want: Any) -> None:
    """To far more digits than a double has."""
    with mpmath.workprec(300):
        found = precise(vocabulary[op], case(np.array([at])), dtypes.float64)[0][0]
        assert abs(found - want()) < abs(want()) * mpmath.mpf(2) ** -200


def test_sums_are_exact() -> None:
    """Where doubles lose everything."""
    x = np.array([1e300, 1.0, -1e300, 1e-30])
    wide = precise(vocabulary["sum"], case(np.array([2.0**100, 1.0, -(2.0**100)])),
                   dtypes.float64)[0]  # fmt: skip
    assert float(wide[()]) == 1.0
    assert x.sum() != 1.0


def test_a_truth_that_was_rounded_is_none() -> None:
    """An oracle that goes by way of doubles is found out."""
    with pytest.raises(NoTruth):
        Rounded(np.array([np.float64(0.1)], object), False)
    with pytest.raises(NoTruth):
        Rounded(np.array([0.1]), False)


# ---- sweeps


@pytest.mark.parametrize("dtype", REAL, ids=NAMES)
def test_a_sweep_goes_over_the_whole_range(dtype: DType) -> None:
    """Of both signs, from subnormal to the largest powers, beside pi / 2 and 1."""
    (x,) = next(sweep(vocabulary["sin"], dtype, 2000)).args
    wide, info = x.astype(np.float64), limits(dtype)
    size = np.abs(wide)
    assert np.isfinite(wide).all()
    assert np.sum(wide < 0) > 400 < np.sum(wide > 0)
    assert ((size > 0) & (size < float(info.smallest_normal))).any()
    assert size.max() > math.sqrt(float(info.max)) * 16
    for place in (1.0, math.pi / 2):
        near = np.abs(wide - place) < place * 64 * float(info.eps)
        assert near.any(), place


def test_sweeps_are_the_same_every_time() -> None:
    """What was worst can be looked at again."""
    first, again = (
        [c.args for c in sweep(vocabulary["pow"], dtypes.float32, 300)] for _ in "ab"
    )
    np.testing.assert_equal(first, again)


def test_each_option_is_swept() -> None:
    """Both ways to compute gelu."""
    found = [c.kwargs for c in sweep(vocabulary["gelu"], dtypes.float32, 300)]
    assert {} in found
    assert {"approximate": "tanh"} in found


# ---- devices


def off_by(count: int, at: float) -> Any:
    """A fault that moves results some ulp, where an argument is beyond `at`."""

    def fault(run: Any, natives: list[Any], attrs: Any) -> Any:
        y = np.array(run(*natives, **attrs))
        moved = y.copy()
        for _ in range(count):
            moved = np.nextafter(moved, np.asarray(np.inf, y.dtype))
        return np.where(natives[0] > at, moved, y).astype(y.dtype)

    return fault


@pytest.mark.parametrize("count", [3, 40])
def test_a_kernel_that_is_off_is_found(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By how many ulp, and with an argument that shows it."""
    backend = with_faults({"sqrt": off_by(count, 1e30)})()
    backend.kernels(backend.table)
    subject = Subject("cpu")
    monkeypatch.setattr(subject, "run", _run_on(backend))
    row = measured(subject, vocabulary["sqrt"], dtypes.float32, 2000, None)
    assert row.ours is not None
    assert count - 1 < row.ours.worst < count + 1
    assert float(row.ours.at) > 1e30
    assert row.ours.median <= 0.5


def _run_on(backend: Any) -> Any:
    """Calls of one kernel of a backend, in its context, as a subject makes them."""
    kernel = backend.table.select("sqrt", dtypes.float32)[0]

    def run(op: Any, example: Any, dtype: DType) -> Any:
        made = backend.runner(0)(kernel.function, *example.case.args)
        return [_Result(made)]

    return run


class _Result:
    """An array where a tensor is looked for."""

    def __init__(self, a: Any) -> None:
        cpu = registry.load("cpu")
        self._a = a
        self._kind = type("K", (), {"backend": cpu, "dtype": from_numpy(a.dtype)})()


def test_the_plan_has_every_op_that_rounds() -> None:
    """In every format that it takes, and no predicate or move."""
    plan = planned(Subject("cpu"))
    names = {op.name for op, _ in plan}
    assert {"exp", "matmul", "softmax", "layer_norm", "convolution"} <= names
    assert not {"isnan", "transpose", "cat", "argmax", "uniform"} & names
    assert all(dtype in op.accepts for op, dtype in plan)


# ---- the command, and the page


def test_the_command_writes_what_is_asked_for(tmp_path: Path) -> None:
    """A table, and the same as JSON, HTML and Markdown."""
    files = {kind: tmp_path / f"found.{kind}" for kind in ("json", "html", "markdown")}
    given = [word for kind, path in files.items() for word in (f"--{kind}", str(path))]
    found = CliRunner().invoke(
        main, ["accuracy", "--ops", "exp,sum", "--dtypes", "float32", "--points", "64",
               *given],
    )  # fmt: skip
    assert found.exit_code == 0, found.output
    rows = json.loads(files["json"].read_text())["rows"]
    assert [(r["op"], r["dtype"]) for r in rows] == [
        ("exp", "float32"), ("sum", "float32"),
    ]  # fmt: skip
    assert 0 < rows[0]["ours"]["worst"] < 4
    assert "<td>exp</td>" in files["html"].read_text()
    assert "| exp |" in files["markdown"].read_text()


@pytest.mark.parametrize(
    "given", [("--dtypes", "int32"), ("--ops", "nothing"), ("--points", "1")]
)
def test_a_wrong_call_is_refused(given: tuple[str, str]) -> None:
    """With status 2, and what would be right."""
    assert CliRunner().invoke(main, ["accuracy", *given]).exit_code == 2


def _tables() -> dict[str, list[list[str]]]:
    """The cells of the page's tables, by dtype."""
    found: dict[str, list[list[str]]] = {}
    at = ""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            at = line[3:]
        elif line.startswith("| ") and not line.startswith("| op "):
            found.setdefault(at, []).append([c.strip() for c in line[1:].split(" | ")])
    return found


def test_the_page_lists_every_op_in_every_dtype() -> None:
    """One row each, as the declarations say; `dovetail accuracy` writes it anew."""
    plan = planned(Subject("cpu"))
    tables = _tables()
    for dtype in DTYPES:
        listed = [row[0].removesuffix(" Σ") for row in tables[dtype.name]]
        assert listed == [op.name for op, d in plan if d is dtype], dtype


def test_the_page_lists_the_ops_that_round_nothing() -> None:
    """All others of the vocabulary."""
    *_, exact = PAGE.read_text(encoding="utf-8").strip().split("\n\n")
    assert re.findall(r"`(\w+)`", exact) == [
        op.name for op in declared() if not rounds(op)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["float32", "bfloat16"])
def test_the_pages_figures_are_those_of_today(name: str) -> None:
    """Medians of single results, which other machines round alike, within noise."""
    subject, told = Subject("cpu"), {r[0]: r for r in _tables()[name]}
    dtype = next(d for d in DTYPES if d.name == name)
    for op in ("exp", "sqrt", "tanh", "erfc", "lgamma", "div"):
        row = measured(subject, vocabulary[op], dtype, 4000, None)
        assert row.ours is not None
        assert row.ours.worst <= 2 * float(told[op][3].replace(",", "")) + 0.5, op
        assert row.ours.median <= 2 * float(told[op][4].replace(",", "")) + 0.1, op
