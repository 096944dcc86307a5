"""What is allowed beside the truth is what rounding needs, and follows from it."""

from __future__ import annotations

import contextlib
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.meta.mutants.benign.arithmetic import ARITHMETIC
from tests.meta.mutants.benign.variant import Benign
from tests.meta.mutants.faults_of_width import narrow_subnormals_are_zero
from tests.meta.mutants.mutant import installed, with_faults

from dovetail import dtypes
from dovetail.conformance import laws  # noqa: F401
from dovetail.conformance.budget import BUDGETS
from dovetail.conformance.compare import against_oracle, within
from dovetail.conformance.example import Example
from dovetail.conformance.judge import judge
from dovetail.conformance.law import LAWS, Trial, Wrong
from dovetail.conformance.left_open import left_open
from dovetail.conformance.options import CROSSED, DECLARED
from dovetail.conformance.oracle import truth
from dovetail.conformance.repeats import concentration
from dovetail.conformance.rounding import of_terms
from dovetail.conformance.subject import Subject
from dovetail.conformance.tolerance import Bound, bound
from dovetail.conformance.verdicts import Check, Outcome
from dovetail.engine.cases import Case
from dovetail.engine.op import vocabulary

F32 = np.float32
LONG = 4096


def error_of(op: str, x: np.ndarray, y: np.ndarray) -> float:
    """How much of what is allowed a result of float32 uses up."""
    example = Example(Case((x,), {}))
    allowed = bound(vocabulary[op], example, dtypes.float32, 0, dtypes.float32).error
    truth = vocabulary[op].oracle(x.astype(np.float64))
    return float(np.max(np.abs(y - truth) / allowed))


def one_by_one(x: np.ndarray) -> np.ndarray:
    """The sum in float32, one term after the other."""
    return np.add.accumulate(x)[-1]


@given(st.lists(st.integers(0, 3), min_size=1, max_size=30))
def test_concentration_is_the_chance_of_equal_places(values: list[int]) -> None:
    """Over all pairs of places of the only row."""
    a = np.array(values, float)
    equal = np.mean(a[:, None] == a[None, :])
    assert concentration(a, 1, 0.0, False) == pytest.approx(equal)


def test_the_row_with_the_most_repeats_counts() -> None:
    """Whichever dims it lies along."""
    a = np.arange(60.0).reshape(3, 4, 5)
    a[:, 2] = 7
    for dims in itertools.permutations(range(3)):
        assert concentration(a.transpose(dims), 15, 0.0, False) == 1.0


def test_short_rows_of_one_number_make_no_long_sum_of_it() -> None:
    """A sum along a long dim is held to what repeats there, whatever lies beside."""
    x = np.random.default_rng(3).uniform(0.5, 1.5, (1, LONG, 1)).astype(F32)
    assert concentration(x, LONG, 0.0, False) < 1.1 / LONG
    pairs = np.repeat(x, 2, 2)
    assert concentration(pairs, LONG, 0.0, False) < 2.1 / LONG
    assert concentration(pairs, 2, 0.0, False) == 1.0


def test_one_number_may_go_to_a_place_many_times() -> None:
    """All its roundings go one way, though it is given once or twice."""
    x, values = np.zeros(2, F32), np.array([2.3, 2.9], F32)
    places = [np.arange(2)[None, :] * np.ones((LONG, 1), np.int64)]
    op, dtype = vocabulary["index_put"], dtypes.float32
    example = Example(Case((x, values, places, True), {}))
    allowed = bound(op, example, dtype, 0, dtype).error
    for value, bound_of_it in zip(values, allowed, strict=True):
        terms = np.full(LONG, value)
        off = abs(one_by_one(terms) - LONG * float(value))
        assert off <= bound_of_it


def test_zeros_may_be_spared_and_tiny_numbers_be_zeros() -> None:
    """What is added without rounding repeats nothing."""
    assert concentration(np.zeros(8), 8, 0.0, True) == pytest.approx(1 / 8)
    assert concentration(np.array([1e-30, -1e-40, 0.0, 0.0]), 4, 1e-8, False) == 1.0


@given(st.integers(1, 10**6), st.floats(0, 1))
def test_repeats_never_allow_more_than_the_worst_order(n: int, share: float) -> None:
    """n roundoffs, and never less than a random walk of different terms."""
    assert of_terms(n) <= of_terms(n, share) <= max(of_terms(n), 8 + n)


@pytest.mark.parametrize("number", [0.1, 1.7, 3.3, 1e-3])
def test_equal_terms_may_be_added_one_by_one(number: float) -> None:
    """Their roundings go the same way, so that no random walk bounds them."""
    x = np.full(LONG, number, F32)
    assert error_of("sum", x, one_by_one(x)) < 1


def test_different_terms_are_held_to_a_random_walk() -> None:
    """What equal ones may come to is too much for them."""
    x = np.random.default_rng(3).uniform(0.5, 1.5, LONG).astype(F32)
    assert error_of("sum", x, one_by_one(x)) < 1
    drifted = F32(x.astype(np.float64).sum() * (1 + LONG / 8 * 2.0**-24))
    assert error_of("sum", x, drifted) > 1


def test_a_variance_of_equal_numbers_may_see_the_rounded_mean() -> None:
    """Its slope there is 0: the square of the mean's error is left."""
    x = np.full(6, 4.4, F32)
    missed = F32(4.4) * F32(2.0**-23)
    assert error_of("var", x, missed**2) < 1
    assert error_of("var", x, F32(1e-9)) > 1


def test_elementwise_ops_have_one_term_whatever_the_size() -> None:
    """Many elements allow no more than one does."""
    x = np.random.default_rng(3).uniform(0.5, 1.5, LONG).astype(F32)
    op, dtype = vocabulary["exp"], dtypes.float32
    whole = bound(op, Example(Case((x,), {})), dtype, 0, dtype).error
    single = bound(op, Example(Case((x[:1],), {})), dtype, 0, dtype).error
    assert whole[0] < 3 * single[0]


def _exponential(flushing: Benign) -> None:
    x = np.full((), -92.0, F32)
    op, dtype = vocabulary["exp"], dtypes.float32
    with installed(flushing.cls, "flushing") as name:
        subject, example = Subject(name), Example(Case((x,), {}))
        trial = Trial(subject, op, dtype, example, 0)
        against_oracle(trial, subject.run(op, example, dtype))


def test_declared_flushing_reaches_ordinary_results() -> None:
    """An exponential below the normal numbers may be 0 where that is declared."""
    declared = next(b for b in ARITHMETIC if b.name == "flush-to-zero")
    _exponential(declared)

    class Undeclared(declared.cls):  # type: ignore[misc, name-defined]
        flushes_subnormals = frozenset[dtypes.DType]()

    with pytest.raises(Wrong, match="off by"):
        _exponential(Benign("undeclared", "", Undeclared, ""))


def _loose(run: object, natives: list[np.ndarray], attrs: dict) -> object:
    """A sum whose last bit is up to chance."""
    y = np.asarray(run(*natives, **attrs))  # type: ignore[operator]
    if y.dtype != F32:
        return y
    up = (_chance.random(y.shape) < 0.5) & (y != 0)
    return np.where(up, np.nextafter(y, F32(np.inf)), y)


_chance = np.random.default_rng(11)


@pytest.mark.parametrize("law", ["doubling", "adjoint"])
@pytest.mark.parametrize("promises", [False, True])
def test_exact_laws_ask_what_kernels_promise(law: str, promises: bool) -> None:
    """Two sums of a kernel that is declared loose differ; of another they must not."""
    cls = with_faults({"sum": _loose}, deterministic=promises)
    check = Check("sum" if law == "doubling" else "expand", "float32", law)
    with installed(cls, "loose") as name:
        outcome = judge(Subject(name), check, BUDGETS["standard"]).outcome
    assert outcome is (Outcome.WRONG if promises else Outcome.PASSED)


def test_float16_is_computed_in_a_wider_range() -> None:
    """Its subnormal results may not be lost, for no step has to be one of its own."""
    op = vocabulary["expm1"]
    cls = with_faults({"expm1": narrow_subnormals_are_zero(op, 0)})
    check = Check("expm1", "float16", "forward")
    with installed(cls, "narrow") as name:
        outcome = judge(Subject(name), check, BUDGETS["standard"]).outcome
    assert outcome is Outcome.WRONG


def test_a_difference_of_the_largest_numbers_moves_by_more_than_it_is() -> None:
    """Where that is beyond what float64 holds, what is allowed is still finite."""
    g, y = np.full(8, 1.7e308), 1 - np.linspace(1e-4, 1e-3, 8)
    op, dtype = vocabulary["tanh_backward"], dtypes.float64
    example = Example(Case((g, y), {}))
    allowed = bound(op, example, dtype, 0, dtype).error
    lost = np.spacing(y * y) * g
    assert np.all(np.isfinite(allowed))
    assert np.all(allowed >= lost)
    assert np.all(allowed < 1e3 * lost)


@pytest.mark.parametrize(
    ("factors", "got", "is_open"),
    [
        ([1e30, 1e30, 1e-30, 1e-30], np.inf, True),
        ([1e30, 1e30, 1e-30, 1e-30], 0.0, True),
        ([1e30, 1e30, 1e-30, 1e-30], 3.0, False),
        ([1e30, 1e30, 0.0], np.nan, True), ([1e30, 1e8, 0.0], 1.0, False),
        ([1e30, 1e7, 0.5], np.inf, False), ([3.0, 4.0], np.inf, False),
        ([1e-30, 1e7, 0.5], 0.0, False), ([3.0, 0.0], np.nan, False),
    ],
)  # fmt: skip
def test_products_may_leave_the_format_where_some_of_their_factors_do(
    factors: list[float], got: float, is_open: bool
) -> None:
    """Upwards, or downwards by no more than all of it; and nowhere else."""
    x, places = np.array(factors, F32), np.zeros(len(factors), np.int64)
    calls = {
        "prod": Case((x,), {}),
        "scatter_reduce": Case((np.ones(1, F32), 0, places, x, "prod"), {}),
    }
    for name, call in calls.items():
        op, dtype = vocabulary[name], dtypes.float32
        trial = Trial(Subject("cpu"), op, dtype, Example(call), 0)
        shape = () if name == "prod" else (1,)
        assert left_open(trial, 0, np.full(shape, got, F32), dtype) == is_open


@given(st.floats(1.0, 1e6), st.floats(690.0, 709.0))
def test_what_is_allowed_grows_with_results_to_the_ends_of_float64(
    turns: float, power: float
) -> None:
    """A power moves by as many times itself as its logarithm, however large it is."""
    op, dtype = vocabulary["float_pow"], dtypes.complex128
    base, exponent = np.full(1, np.e + 0j), np.full(1, complex(power, turns))
    example = Example(Case((base, exponent), {}))
    allowed = bound(op, example, dtype, 0, dtype).error
    most = turns + abs(power)
    assert np.all(allowed >= most * 2.0**-53 * np.exp(power))


def test_a_sum_of_tensors_without_dims_is_held_to_its_terms() -> None:
    """As one of rows is: what cancels has no digits of its own."""
    x, a, b = (np.array(v, F32) for v in (-0.36782941, 0.16442798, 2.2511859))
    op, dtype = vocabulary["addcmul"], dtypes.float32
    alone = bound(op, Example(Case((x, a, b), {})), dtype, 0, dtype).error
    row = Example(Case((x[None], a[None], b[None]), {}))
    assert alone == bound(op, row, dtype, 0, dtype).error[0]


@pytest.mark.parametrize(("allowed", "passes"), [(9e38, True), (5e38, False)])
def test_a_truth_beyond_the_format_allows_what_others_do(
    allowed: float, passes: bool
) -> None:
    """A number as near to it as any has to be is right, and an infinity is too."""
    truth, unit = np.array([-6e38]), np.array([1e31])
    limits = Bound(np.array([allowed]), unit)
    within("y", np.array([-np.inf], F32), truth, limits, dtypes.float32)
    found = contextlib.nullcontext() if passes else pytest.raises(Wrong)
    with found:
        within("y", np.array([2e38], F32), truth, limits, dtypes.float32)


@pytest.mark.parametrize("got", [np.inf, np.nan])
def test_steps_towards_a_number_may_leave_its_format(got: float) -> None:
    """A deviation whose squares do is infinite or none."""
    x = np.array([3e38, 1e38, -1e38], F32)
    op, dtype = vocabulary["std"], dtypes.float32
    example = Example(Case((x, (0,), 1, False), {}), values="extreme")
    trial = Trial(Subject("cpu"), op, dtype, example, 0)
    assert left_open(trial, 0, np.full((), got, F32), dtype)
    assert not left_open(trial, 0, np.full((), 1.0, F32), dtype)


def test_components_of_a_call_cannot_hide_each_other() -> None:
    """The moves by both inputs are added, whatever their signs."""
    x = np.linspace(1, 2, 64, dtype=F32)
    op, dtype = vocabulary["hypot"], dtypes.float32
    example = Example(Case((x, x), {}))
    allowed = bound(op, example, dtype, 0, dtype).error
    assert np.all(allowed >= 10 * 2.0**-24 * np.hypot(x, x))


def test_sums_inside_an_op_are_held_to_their_terms() -> None:
    """Scores of numbers with one sign, added one by one, move the weights of attention.

    Ten times that is too much.
    """
    random = np.random.default_rng(5)
    q, k, v = (random.normal(3, 0.1, (32, 127)).astype(F32) for _ in range(3))
    scores = np.add.accumulate(q[:, None] * k, axis=-1)[..., -1]
    exact = q.astype(np.float64) @ k.astype(np.float64).T
    op, dtype = vocabulary["attention"], dtypes.float32
    example = Example(Case((q, k, v, None, False, 1.0), {}))
    allowed = bound(op, example, dtype, 1, dtype).error
    off = np.abs(softmax(scores) - softmax(exact))
    assert np.all(off <= allowed)
    assert np.any(10 * off > allowed)


def softmax(scores: np.ndarray) -> np.ndarray:
    """Of rows, in double precision."""
    e = np.exp(scores - scores.max(-1, keepdims=True).astype(np.float64))
    return np.asarray(e / e.sum(-1, keepdims=True))


def test_sums_of_equal_terms_inside_an_op_are_allowed_what_the_sum_is() -> None:
    """The scores of attention, whose roundings all go one way, move the weights."""
    q = np.full((1, 64), 2.3, F32)
    k = np.repeat(np.linspace(3, 3.001, 16, dtype=F32)[:, None], 64, 1)
    args = (q, k, np.ones((16, 1), F32), None, False, 1.0)
    dtype = dtypes.float32
    weights = Example(Case(args, {}))
    moved = bound(vocabulary["attention"], weights, dtype, 1, dtype).error
    scores = Example(Case((q, k.T), {}))
    allowed = bound(vocabulary["matmul"], scores, dtype, 0, dtype).error
    # Of sixteen equal weights each moves by a sixteenth of what its score does.
    assert np.max(moved) > np.max(allowed) / 16 / 2


def test_rules_may_meet_subnormal_numbers_on_their_way() -> None:
    """A weight of e^-88.5 has less than 24 bits, and its key makes it normal again."""
    random = np.random.default_rng(3)
    q, v = random.uniform(0.99, 1.01, (9, 1)), random.uniform(1, 2, (2, 1))
    args = (q.astype(F32), np.asarray([[0], [-88.5]], F32), v.astype(F32))
    example = Example(Case((*args, None, False, 1.0), {}))
    op, dtype = vocabulary["attention"], dtypes.float32
    for seed in range(4):
        LAWS["adjoint"].judge(Trial(Subject("cpu"), op, dtype, example, seed))


def test_what_moves_bits_is_not_probed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its results are numbers that it was given: the truth is asked for once."""
    op, dtype, asked = vocabulary["sort"], dtypes.float32, []
    oracle = op.oracle

    def counting(*args: object, **attrs: object) -> object:
        asked.append(args)
        return oracle(*args, **attrs)

    monkeypatch.setattr(op, "oracle", counting)
    x = np.asarray([3.0, 1.0, 2.0], F32)
    bound(op, Example(Case((x,), {})), dtype, 0, dtype)
    assert len(asked) == 1


def test_sums_into_places_are_held_to_their_terms() -> None:
    """What moves bits and adds them up is allowed what its terms may lose."""
    target, source = np.zeros(4, F32), np.asarray([1e6, -1e6, 3.0], F32)
    case = Case((target, source, [np.zeros(3, np.int64)], True), {})
    op = vocabulary["index_put_"]
    allowed = bound(op, Example(case), dtypes.float32, 0, dtypes.float32)
    assert allowed.error[0] > 2.0**-24 * 2e6


@pytest.mark.parametrize(
    ("op", "args", "value"),
    [
        ("mul", ([np.inf], [2.0]), -np.inf), ("mul", ([-np.inf], [2.0]), np.nan),
        ("exp", ([1000.0],), np.nan), ("sub", ([np.inf], [np.inf]), np.inf),
    ],
)  # fmt: skip
def test_infinities_have_their_sign_and_nan_is_none(
    op: str, args: tuple[list[float], ...], value: float
) -> None:
    """Beyond the format, too, a result is that of the definition or of the truth."""
    broken = with_faults(
        {op: lambda run, natives, attrs: np.full_like(run(*natives), value)}
    )
    case = Case(tuple(np.asarray(a, F32) for a in args), {})
    example = Example(case, values="special")
    with installed(broken, "signs") as device:
        trial = Trial(Subject(device), vocabulary[op], dtypes.float32, example, 0)
        results = trial.subject.run(vocabulary[op], example, dtypes.float32)
        with pytest.raises(Wrong):
            against_oracle(trial, results)


def attended(mask: np.ndarray) -> Example:
    """Attention of close scores, to each of which a mask is added."""
    random = np.random.default_rng(0)
    q, k, v = (random.uniform(-1, 1, (1, n, 4)).astype(F32) for n in (3, 5, 5))
    return Example(Case((q, k, v * F32(2.0**40), mask.astype(F32), False, 1.0), {}))


def test_a_number_that_is_added_to_all_of_a_row_rounds_each_of_it() -> None:
    """What a result allows does not depend on whether an operand broadcasts."""
    column = np.full((3, 1), 2.0**24)
    lacking, whole = attended(column), attended(np.repeat(column, 5, 1))
    op = vocabulary["attention"]
    allowed = [
        bound(op, call, dtypes.float32, 0, dtypes.float32).error
        for call in (lacking, whole)
    ]
    assert np.min(allowed[0]) > 0.1 * np.min(allowed[1]) > 2.0**36


def test_results_without_digits_are_left_open() -> None:
    """The angle of a power of 2 to a large imaginary number is any."""
    x = 1j * 2.0 ** np.linspace(100, 900, 2000)
    op, example = vocabulary["exp2"], Example(Case((x,), {}))
    allowed = bound(op, example, dtypes.complex128, 0, dtypes.complex128).error
    assert np.all(allowed > 2)
    near = Example(Case((np.array([0.25j]),), {}))
    allowed = bound(op, near, dtypes.complex128, 0, dtypes.complex128).error
    assert np.all(allowed < 1e-12)


def test_steps_that_round_all_away_may_do_so_as_the_body_does() -> None:
    """At the edges of formats, a result is right that an op's definition gives."""
    q, k = np.ones((1, 1, 2), F32), np.array([[[1, 1], [3, 3]]], F32)
    v = np.array([[[1.0], [2.0]]], F32)
    args = (q, k, v, np.full((1, 1, 2), 2.0**63, F32), False, 1.0)
    example = Example(Case(args, {}), values="borders")
    subject = Subject("cpu")
    trial = Trial(subject, vocabulary["attention"], dtypes.float32, example, 0)
    open_ = [
        bool(left_open(trial, 0, np.full((1, 1, 1), y, F32), dtypes.float32).all())
        for y in (1.5, 1.9820138, 1.25)
    ]
    assert open_ == [True, False, False]


def test_scores_beyond_the_format_are_what_some_order_makes_of_them() -> None:
    """One that is added up in turn, fused, stays at -inf and hides; no number does."""
    q = np.array([[-3.0e38, 3.0e38]], F32)
    k, v = np.array([[2.0, 3.0e38]], F32), np.array([[3.0]], F32)
    case = Case((q, k, v, None, False, 1.0), {})
    op, dtype = vocabulary["attention"], dtypes.float32
    trial = Trial(Subject("cpu"), op, dtype, Example(case, values="borders"), 0)
    allowed = {
        got: bool(left_open(trial, 0, np.full((1, 1), got, F32), dtype).all())
        for got in (0.0, np.nan, 1.0, -3.0)
    }
    assert allowed == {0.0: True, np.nan: True, 1.0: False, -3.0: False}


def test_a_mean_may_leave_the_format_that_its_variance_leaves() -> None:
    """Where the truth is beyond, and sums of inputs may be, NaN is as good as ∞."""
    for number, is_open in ((3e38, True), (1e30, False)):
        x = np.array([number, number, number, -number], F32)
        example = Example(Case((x, (0,)), {}), values="borders")
        trial = Trial(Subject("cpu"), vocabulary["var"], dtypes.float32, example, 0)
        found = left_open(trial, 0, np.array(np.nan, F32), dtypes.float32)
        assert bool(found) is is_open


@pytest.mark.parametrize(
    ("options", "got", "is_open"),
    [(CROSSED, np.nan, [1, 0]), (DECLARED, np.nan, [0, 0]), (CROSSED, 1.0, [0, 0])],
)
def test_options_may_lead_ordinary_numbers_out_of_a_format(
    options: str, got: float, is_open: list[int]
) -> None:
    """A factor 0 of an exponential that overflows is 0 or NaN, as in torch."""
    call = Case((np.array([-5000.0, -5.0]), 1.5, 0.0, -1.0), {})
    example, dtype = Example(call, options=options), dtypes.float64
    trial = Trial(Subject("cpu"), vocabulary["scaled_elu"], dtype, example, 0)
    found = left_open(trial, 0, np.full(2, got), dtype)
    assert found.tolist() == list(map(bool, is_open))


def test_sums_over_several_dims_have_all_their_terms() -> None:
    """A gradient of weights adds up all places of all images, most of them alike."""
    images, channels, dtype = 8, 16, dtypes.float32
    x = np.full((images, channels, 1, LONG // 4), 1 + 0.49 / 2048, F32)
    call = Case((x, np.ones_like(x), (1, 1), (1, 1), (0, 0), (1, 1), 1), {})
    op, example = vocabulary["convolution_weight"], Example(call)
    allowed = bound(op, example, dtype, 0, dtype).error
    off = np.abs(one_by_one(x[:, 0].reshape(-1)) - truth(op, example, dtype)[0])
    assert np.all(off <= allowed)
    assert np.all(off > allowed / 8)
