"""The scripts that show a failure: the same call bit for bit, the same verdict."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tests.support import child

import dovetail as dt
from dovetail import dtypes
from dovetail.conformance import rerun
from dovetail.conformance.budget import budget
from dovetail.conformance.example import Example
from dovetail.conformance.examples import examples
from dovetail.conformance.expressions import written
from dovetail.conformance.judge import judge
from dovetail.conformance.layouts import LAYOUTS
from dovetail.conformance.options import DECLARED
from dovetail.conformance.reference import reference
from dovetail.conformance.reproduce import file_name, script
from dovetail.conformance.shrink import shrunk
from dovetail.conformance.verdicts import Check, Outcome
from dovetail.dtypes import DType
from dovetail.engine.cases import Case, case
from dovetail.engine.kinds import kind_of
from dovetail.engine.op import vocabulary

NAMES = {name: getattr(rerun, name) for name in rerun.__all__} | {"DEVICE": "cpu"}
CHECK = Check("where", "float32", "forward")
QUICK, DEEP = budget("quick"), budget("deep", 3)


def again(value: Any) -> Any:
    """The value that the expression for another gives."""
    return eval(written(value), dict(NAMES))


def arrays(dtype: DType) -> st.SearchStrategy[np.ndarray[Any, Any]]:
    """Arrays of any bits in any small shape."""
    shapes = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=6)
    raw = np.dtype(f"u{dtype.itemsize}") if dtype.itemsize < 16 else np.dtype("u8")
    if dtype.name == "bool":
        return hnp.arrays(np.bool_, shapes)
    if dtype.itemsize == 16:
        parts = hnp.arrays(raw, shapes.map(lambda s: (*s, 2)))
        return parts.map(lambda a: a.view(np.complex128)[..., 0])
    return hnp.arrays(raw, shapes).map(lambda a: a.view(dtype.numpy))


@given(st.data())
@settings(max_examples=150, deadline=None, derandomize=True, database=None)
def test_arrays_come_back_bit_for_bit(data: st.DataObject) -> None:
    """Any bits in any dtype: NaN payloads, -0.0, subnormal numbers, empty shapes."""
    dtype = data.draw(st.sampled_from(dtypes.ALL))
    a = data.draw(arrays(dtype))
    made = again(a)
    assert (made.dtype, made.shape) == (a.dtype, a.shape)
    assert made.tobytes() == a.tobytes()
    assert made.flags.writeable


@pytest.mark.parametrize(
    "a",
    [
        np.arange(5000, dtype=np.float32).reshape(50, 100),
        np.full(70, np.nan, ml_dtypes.bfloat16),
        np.array([[1.5, -0.0], [np.inf, 2.0]], np.float32).T,
        np.zeros((0, 3), np.int64),
    ],
)
def test_large_and_strided_arrays_come_back(a: np.ndarray[Any, Any]) -> None:
    """What is packed is unpacked; memory order means nothing."""
    made = again(a)
    assert (made.dtype, made.shape) == (a.dtype, a.shape)
    assert made.tobytes() == a.tobytes()


def test_numbers_are_written_as_numbers() -> None:
    """A person can read and change the values."""
    assert (
        written(np.array([1.5, np.nan], np.float32)) == "array([1.5, nan], 'float32')"
    )


@pytest.mark.parametrize(
    "value",
    [
        3, -2.5, float("inf"), float("-inf"), True, None, "sum", 1 + 2j, (), (1,),
        (1, (2, 3)), [1, None], slice(None, 5, 2), (Ellipsis, slice(None), 0),
        dt.float32, {"a": (1, 2)}, complex("inf"), -0.0,
    ],
)  # fmt: skip
def test_attributes_come_back(value: Any) -> None:
    """Everything else that a case may hold."""
    made = again(value)
    assert made == value
    assert repr(made) == repr(value)


def test_nan_and_kinds_come_back() -> None:
    """NaN equals nothing; a kind is that of the device the script runs on."""
    assert np.isnan(again(float("nan")))
    assert again(kind_of("cpu", dt.int32)) is kind_of("cpu", dt.int32)


def run_in_process(text: str, tmp_path: Path, **env: str) -> tuple[int, str]:
    """The exit status and output of a script, in a folder of its own."""
    path = tmp_path / "script.py"
    path.write_text(text, encoding="utf-8")
    done = child.python("-W", "error", path.name, cwd=tmp_path, status=None, **env)
    return done.returncode, done.stdout + done.stderr


def given_to_rerun(text: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What a script would run."""
    seen: dict[str, Any] = {}

    def keep(check: str, device: str, args: Any, kwargs: Any, **rest: Any) -> int:
        seen.update(check=check, device=device, args=args, kwargs=kwargs, **rest)
        return 0

    monkeypatch.setattr(rerun, "example", keep)
    monkeypatch.setattr(sys, "argv", ["script"])
    with pytest.raises(SystemExit):
        exec(compile(text, "script", "exec"), {})
    return seen


def flat(value: Any) -> list[Any]:
    """Arrays as dtype, shape and bytes, in lists; the rest as text."""
    if isinstance(value, np.ndarray):
        return [value.dtype.name, value.shape, value.tobytes()]
    if isinstance(value, list | tuple):
        return [flat(v) for v in value]
    return [repr(value)]


@pytest.mark.parametrize(
    "name", ["where", "cat", "basic_index", "cross_entropy", "cast", "full", "clamp"]
)
def test_examples_of_the_kit_come_back(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Generated calls with lists, slices, attributes, dtypes: the script has them."""
    op = vocabulary[name]
    count = 0
    for example in examples(reference(), op, dt.float32, QUICK):
        text = script(Check(name, "float32", "rule"), "cpu", example, "message", QUICK)
        seen = given_to_rerun(text, monkeypatch)
        assert example.case is not None
        assert flat(seen["args"]) == flat(list(example.case.args))
        assert seen["kwargs"].keys() == example.case.kwargs.keys()
        for key, value in example.case.kwargs.items():
            assert flat(seen["kwargs"][key]) == flat(value)
        assert seen["layout"] == example.layout
        assert seen.get("options", DECLARED) == example.options
        count += 1
    assert count


def test_every_layout_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """The layout, and the classes on which tolerances depend, are the example's."""
    for layout in LAYOUTS:
        example = Example(case(np.zeros((2, 3), "f4")), layout, "wide", "drawn")
        text = script(Check("exp", "float32", "forward"), "cpu", example, "m", QUICK)
        seen = given_to_rerun(text, monkeypatch)
        assert (seen["layout"], seen["values"], seen["size"]) == (
            layout, "wide", "drawn",
        )  # fmt: skip


def test_a_call_that_no_text_holds_reruns_its_check() -> None:
    """Objects of other kinds, and laws without a call, rerun the check itself."""
    for example in (Example(), Example(Case((object(),), {}))):
        text = script(CHECK, "cpu", example, 'quotes """ and {braces}', DEEP)
        compile(text, "script", "exec")
        assert "rerun.check(CHECK, DEVICE, budget='deep', seed=3)" in text


@pytest.fixture
def judging() -> Iterator[None]:
    """Scripts refuse fallbacks, and this process goes on."""
    policy = dt.get_fallback_policy()
    yield
    dt.set_fallback_policy(policy)


@pytest.mark.usefixtures("judging")
def test_a_script_judges_with_the_seed_of_its_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What the judge itself draws comes back too."""
    judged = rerun.example
    text = script(CHECK, "cpu", Example(case(np.zeros(2, "f4"))), "m", DEEP)
    assert given_to_rerun(text, monkeypatch)["seed"] == 3
    seeds = []
    monkeypatch.setattr(rerun, "attempt", lambda law, trial: seeds.append(trial.seed))
    call = [np.zeros(2, "f4")]
    judged("exp/float32/forward", "cpu", call, {}, seed=3)
    judged("exp/float32/forward", "cpu", call, {})
    check = Check("exp", "float32", "forward")
    assert seeds == [check.seeded(3), check.seeded(0)]


def test_the_message_cannot_break_the_script() -> None:
    """Quotes, braces and lines of a message stay in comments."""
    example = Example(case(np.zeros(2, "f4")))
    text = script(CHECK, "cpu", example, "'''\nraise SystemExit(9)\n\"\"\" {x}", QUICK)
    assert "\n# raise SystemExit(9)\n" in text
    compile(text, "script", "exec")


def test_a_shrunk_call_says_what_it_was() -> None:
    """Its label has its own layout and sizes, and the classes that it came from."""
    big = Example(case(np.full((40, 30), np.nan, "f4")), "transposed", "nan", "drawn")
    small, _ = shrunk(big, ValueError("x"), lambda example: ValueError("x"))
    assert small.label == (
        "(float32[1, 1]) contiguous, shrunk from nan values, drawn sizes, transposed"
    )
    kept, _ = shrunk(big, ValueError("x"), lambda example: None)
    assert kept.label == "(float32[40, 30]) nan values, drawn sizes, transposed"


BROKEN = """
import os
import numpy as np
from dovetail.device_api import registry
from dovetail.conformance.reference import ReferenceBackend


class Acme(ReferenceBackend):
    type = "acme"

    def kernels(self, table):
        super().kernels(table)
        if os.environ["ACME"] == "broken":
            table.add("exp", self.wrong, dtypes=self.dtypes, rank=1, broadcasts=True)

    @staticmethod
    def wrong(a):
        return np.exp(a) + (a == a.max() if a.size else 0)


registry.register(Acme())
"""


@pytest.mark.parametrize(("state", "status"), [("broken", 1), ("fixed", 0)])
def test_a_script_fails_until_the_device_is_fixed(
    tmp_path: Path, state: str, status: int
) -> None:
    """Exit status 1 with the message while it fails, 0 when it passes."""
    (tmp_path / "acme_setup.py").write_text(BROKEN)
    example = Example(case(np.array([[0.0, 1.0]], "f4")), "transposed")
    text = script(Check("exp", "float32", "forward"), "acme:0", example, "wrong", QUICK)
    found, output = run_in_process(
        text, tmp_path, DOVETAIL_CONFORMANCE_SETUP="acme_setup", ACME=state,
        PYTHONPATH=str(tmp_path),
    )  # fmt: skip
    assert found == status, output
    assert ("FAILS" in output) is bool(status)
    assert "2.718" in output


def test_the_script_of_a_real_failure_shows_it(tmp_path: Path) -> None:
    """What the judge found, and shrank, the script finds again."""
    op = vocabulary["exp"]
    device = reference()
    table = device.backend.table
    (kernel,) = table.rivals("exp")

    def off(a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return np.asarray(np.exp(a) * np.float32(1.001), a.dtype)

    with table.adding("a test"):
        table.add("exp", off, dtypes=kernel.dtypes, rank=9)
    op.forget()
    try:
        found = judge(device, Check.parse("exp/float32/forward"), QUICK)
    finally:
        table.remove("a test")
        op.forget()
    assert found.outcome is Outcome.WRONG
    assert found.beyond is not None
    assert found.beyond > 1000
    assert len(found.failing) > 1
    text = found.failures[0].script
    assert file_name(found.check, device.device) in text
    sound = text.replace(repr(device.device), "'cpu'")
    assert sound != text
    status, output = run_in_process(sound, tmp_path)
    assert status == 0, output
