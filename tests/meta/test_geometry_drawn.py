"""How generated calls lie in memory, how large they are, what options they take."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided
from tests.meta import planted
from tests.meta.mutants.mutant import Run, installed, with_faults

import dovetail as dt
from dovetail.conformance.argument_sampler import Varied
from dovetail.conformance.budget import BUDGETS
from dovetail.conformance.example import PLAIN, Example
from dovetail.conformance.examples import examples
from dovetail.conformance.judge import judge
from dovetail.conformance.layouts import (
    LAYOUTS,
    REORDERED,
    holds,
    layout_for,
    projected,
)
from dovetail.conformance.options import CROSSED, DECLARED
from dovetail.conformance.sizes import (
    AS_NAMED,
    FOUR_DIMS,
    SMALL_TILE,
    TILE,
    has_size,
    tiles,
)
from dovetail.conformance.subject import Subject
from dovetail.conformance.verdicts import Check
from dovetail.dtypes import by_name
from dovetail.engine.op import Op, vocabulary

Array = np.ndarray[Any, Any]
STANDARD = BUDGETS["standard"]
SHAPE = (2, 3, 4, 5)


def drawn(op: Op, dtype: dt.dtype = dt.float32) -> list[Example]:
    """The calls of an op at `standard`."""
    return list(examples(Subject("cpu"), op, dtype, STANDARD))


def failing(fault: Any, op: str, dtype: str = "float32") -> list[Example]:
    """The calls that fail with the kernel of an op that goes through a fault."""
    with planted.device(planted.with_kernel(op, fault)) as name:
        return failing_on(name, op, dtype)


def failing_on(device: str, op: str, dtype: str) -> list[Example]:
    """The calls of an op that fail on a device."""
    verdict = judge(Subject(device), Check(op, dtype, "forward"), STANDARD)
    given = examples(Subject(device), vocabulary[op], by_name(dtype), STANDARD)
    return [e for at, e in enumerate(given) if at in verdict.failing]


# ---- layouts


@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name != PLAIN])
def test_a_layout_lies_otherwise_than_contiguous(layout: str) -> None:
    """Native arrays have the values and the strides that their layout says."""
    subject = Subject("cpu")
    values = projected(np.arange(120, dtype=np.float32).reshape(SHAPE), layout)
    native = subject.native(values, layout)
    place = LAYOUTS[layout].place(SHAPE)
    assert place is not None
    assert np.array_equal(native, values)
    assert tuple(s // 4 for s in native.strides) == place.strides
    assert holds(SHAPE, layout)


ORDERS = {
    "transposed": (3, 2, 1, 0), "channels last": (0, 2, 3, 1), "heads": (0, 2, 1, 3),
    "outer": (1, 0, 2, 3),
}  # fmt: skip


@pytest.mark.parametrize("layout", REORDERED)
def test_four_dims_lie_in_another_order(layout: str) -> None:
    """Reversed, or as images, heads of attention and steps of sequences may lie."""
    shape = (2, 3, 4, 5)
    span = LAYOUTS[layout].place(shape)
    assert span is not None
    order = np.argsort(span.strides)[::-1]
    assert tuple(order.tolist()) == ORDERS[layout]
    steps = [span.strides[d] * shape[d] for d in order]
    assert [*steps, 1] == [span.size, *(span.strides[d] for d in order)]


@pytest.mark.parametrize("layout", ["offset", "padded"])
def test_strides_of_single_dims_mean_nothing(layout: str) -> None:
    """Dims of one element have strides that no packed array has."""
    span = LAYOUTS[layout].place((1, 6, 1, 7))
    packed = LAYOUTS[PLAIN].place((1, 6, 1, 7))
    assert span is not None
    assert packed is not None
    assert all(span.strides[d] != packed.strides[d] for d in (0, 2))


@pytest.mark.parametrize("name", ["sum", "amax", "cumsum", "softmax"])
def test_options_meet_arrays_that_lie_in_another_order(name: str) -> None:
    """Some calls with other options have four dims, in each order of them."""
    found = {
        e.layout for e in drawn(vocabulary[name])
        if e.options == CROSSED and has_size(FOUR_DIMS, [a.shape for a in e.arrays()])
    }  # fmt: skip
    assert found >= set(REORDERED)


def test_an_operand_is_repeated_along_any_dims_of_four() -> None:
    """Of two operands, one is of size 1 in each set of dims, but none and all."""
    found = set()
    for e in drawn(vocabulary["add"]):
        a, b = e.case.args if e.case is not None else (None, None)
        if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
            shapes = zip(a.shape, b.shape, strict=False)
            if a.ndim == b.ndim == 4 and e.size == FOUR_DIMS:
                found.add(frozenset(i for i, (m, n) in enumerate(shapes) if m != n))
    sets = {frozenset(s) for k in (1, 2, 3) for s in combinations(range(4), k)}
    assert found >= sets


@pytest.mark.parametrize("name", ["exp", "add", "where", "bitwise_xor"])
def test_lines_have_gaps_and_go_past_a_boundary(name: str) -> None:
    """Of each elementwise op one is strided, and one half as long again."""
    calls = drawn(vocabulary[name], dt.int16 if name == "bitwise_xor" else dt.float32)
    lines = [e for e in calls if all(a.ndim == 1 for a in e.arrays())]
    assert any(e.layout == "strided" and e.arrays()[0].size > 1 for e in lines)
    most = STANDARD.largest * 3 // 2
    assert any(min(a.size for a in e.arrays()) >= most for e in lines)


@pytest.mark.parametrize("name", ["addcmul", "normalise", "layer_norm", "mixture"])
@pytest.mark.parametrize("values", ["masked", "few"])
def test_each_of_many_operands_is_special_alone(name: str, values: str) -> None:
    """In a call of its own, with nothing else that is not finite."""
    op = vocabulary[name]
    alone = set()
    for e in drawn(op):
        given = dict(zip(op.names, e.case.args, strict=False)) if e.case else {}
        floats = {
            k: v for k, v in given.items()
            if isinstance(v, np.ndarray) and v.dtype == np.float32
        }  # fmt: skip
        special = [k for k, v in floats.items() if not np.all(np.isfinite(v))]
        if e.values == values and len(special) == 1:
            alone.add(special[0])
    assert alone >= {p.name for p in op.tensors}


@pytest.mark.parametrize(
    ("name", "may"),
    [("gather", True), ("index_add", True), ("scatter", False), ("index_put_", False)],
)
def test_indices_are_repeated_where_that_means_something(name: str, may: bool) -> None:
    """An index lies with a stride of 0 unless what is written twice is left open."""
    op = vocabulary[name]
    (index, *_) = op.indices
    assert (layout_for(op, index, "broadcast") == "broadcast") is may


@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name != PLAIN])
def test_one_element_lies_in_no_layout(layout: str) -> None:
    """Arrays of one element, or none, lie as contiguous ones do."""
    assert not any(holds(shape, layout) for shape in [(), (1,), (1, 1, 1), (0, 3)])


def test_no_layout_runs_backwards() -> None:
    """No stride is negative, as none of a tensor is."""
    for layout in LAYOUTS.values():
        for shape in [(), (3,), (2, 3), (2, 3, 4), (0, 2)]:
            place = layout.place(shape)
            assert place is None or min(place.strides, default=0) >= 0


@pytest.mark.parametrize("name", ["add", "exp", "where", "lt"])
def test_calls_of_elementwise_ops_lie_as_they_say(name: str) -> None:
    """Of several elements, one operand at least lies in the layout of its row."""
    op = vocabulary[name]
    for example in drawn(op):
        if example.size[:5] in ("empty", "tall ", "wide ") or example.layout == PLAIN:
            continue
        lies = [
            holds(a.shape, layout_for(op, p.name, example.layout))
            for a, p in zip(example.arrays(), op.params, strict=True)
        ]
        assert any(lies), example.label


def packed(sound: Any, a: Array, *rest: Any, **attrs: Any) -> Any:
    """Rows that lie apart are read as if they did not."""
    usual = np.empty_like(a, order="C").strides
    if a.ndim > 1 and a.strides[-1] == a.itemsize and a.strides > usual:
        a = as_strided(a, a.shape, usual)
    return sound(a, *rest, **attrs)


def one_for_all(sound: Any, a: Array, *rest: Any, **attrs: Any) -> Any:
    """A stride of 0 in the last dim alone is taken for 1."""
    if a.ndim and a.shape[-1] > 1 and a.strides[-1] == 0 and any(a.strides):
        a = np.where(np.arange(a.shape[-1]) > 0, 0, a)
    return sound(a, *rest, **attrs)


@pytest.mark.parametrize(
    ("fault", "layout"), [(packed, "padded"), (one_for_all, "broadcast last")]
)
def test_only_its_layout_finds_a_fault(fault: Any, layout: str) -> None:
    """A kernel that misreads one layout fails on calls that lie so and no others."""
    assert {call.layout for call in failing(fault, "exp")} == {layout}


# ---- sizes


def sizes_of(name: str, dtype: dt.dtype = dt.float32) -> dict[str, list[Example]]:
    """The calls of an op by the class of their sizes."""
    found: dict[str, list[Example]] = {}
    for example in drawn(vocabulary[name], dtype):
        found.setdefault(example.size, []).append(example)
    return found


@pytest.mark.parametrize("name", ["add", "sum", "matmul", "softmax", "flip"])
@pytest.mark.parametrize("size", ["five dims", "several", "tall 65536", "wide 1024"])
def test_every_class_of_sizes_is_reached(name: str, size: str) -> None:
    """Calls of a class of sizes are there, and in fact as large as it says."""
    calls = sizes_of(name).get(size, [])
    assert any(has_size(size, [a.shape for a in call.arrays()]) for call in calls)


def test_products_grow_in_all_their_dims() -> None:
    """Rows, columns and what is summed over reach a tile at once."""
    calls = sizes_of("matmul")["several"]
    shapes = [tuple(a.shape for a in call.arrays()) for call in calls]
    assert any(min(n for s in both for n in s) >= TILE for both in shapes), shapes


def test_tiles_are_whole_or_none_is() -> None:
    """Sizes that grow together are multiples of a tile, or none of them is."""
    for number in range(6):
        assert len({n % TILE == 0 for n in tiles(number, 3)}) == 1


@pytest.mark.parametrize("name", ["convolution", "convolution_transpose", "avg_pool"])
def test_images_grow_in_both_their_dims(name: str) -> None:
    """Rows and columns reach a small tile at once, in gradients too."""
    shapes = [a.shape for call in drawn(vocabulary[name]) for a in call.arrays()]
    assert any(len(s) > 3 and min(s[-2:]) >= SMALL_TILE for s in shapes)


def test_each_operand_is_special_beside_ordinary_rows() -> None:
    """In one call there are rows in which one operand is, and the other, and both."""
    met = []
    for seed in range(16):
        make = Varied(vocabulary["mul"], dt.float32, "special", AS_NAMED, seed)
        rows = [np.any(~np.isfinite(make(9, 16)), axis=-1) for _ in range(2)]
        met.append(set(zip(*map(np.ndarray.tolist, rows), strict=True)))
    assert {(True, False), (False, True), (True, True)} in met, met
    assert {(True, True)} in met


def test_calls_of_gradients_grow() -> None:
    """The cotangent and what it belongs to have the same sizes, up to 2^16."""
    calls = sizes_of("softmax_backward")["65536"]
    assert max(a.size for call in calls for a in call.arrays()) > 3 << 14


def beyond_a_tile(sound: Any, a: Array, b: Array, **attrs: Any) -> Any:
    """Products of more than a tile in each dim lose what is behind the last tile."""
    y = np.array(sound(a, b, **attrs))
    (rows, inner), columns = a.shape[-2:], b.shape[-1]
    if min(rows, inner, columns) > TILE and inner % TILE:
        tail = inner - inner % TILE
        y -= a[..., tail:] @ b[..., tail:, :]
    return y


def in_five_dims(sound: Any, a: Array, *rest: Any, **attrs: Any) -> Any:
    """Of more than four dims the first is forgotten."""
    y = np.array(sound(a, *rest, **attrs))
    if a.ndim > 4:
        y[1:] = y[:1]
    return y


def many_rows(sound: Any, a: Array, *rest: Any, **attrs: Any) -> Any:
    """Rows beyond 2^15 are not written."""
    y = np.array(sound(a, *rest, **attrs))
    if y.ndim > 1:
        y[1 << 15 :] = 0
    return y


@pytest.mark.parametrize(
    ("fault", "op", "size"),
    [
        (beyond_a_tile, "bmm", "several"),
        (in_five_dims, "exp", "five dims"),
        (many_rows, "exp", "tall 65536"),
    ],
)
def test_only_its_sizes_find_a_fault(fault: Any, op: str, size: str) -> None:
    """A kernel that is wrong for one class of sizes fails on it and on no other."""
    found = {call.size for call in failing(fault, op)}
    assert size in found
    assert found <= {size, "drawn"}


# ---- options


def options_of(name: str, option: str, dtype: dt.dtype = dt.float32) -> set[str]:
    """The values of an option in the calls of an op."""
    op = vocabulary[name]
    at = op.names.index(option)
    calls = [call.case for call in drawn(op, dtype) if call.case is not None]
    given = [
        c.args[at] if at < len(c.args) else c.kwargs.get(option, op.defaults[option])
        for c in calls
    ]
    return set(map(repr, given))


@pytest.mark.parametrize(
    ("name", "option", "values"),
    [
        ("sum", "keepdim", {"False", "True"}),
        ("masked_fill", "value", {"0.0", "-0.0", "inf", "-inf", "nan", "-1.0"}),
        ("full", "shape", {"()", "(7,)", "(0, 3)"}),
        ("nll_loss", "reduction", {"'none'", "'mean'", "'sum'"}),
        ("convolution", "dilation", {"(1, 2)", "(2, 1)", "(2, 2)"}),
        ("arange", "start", {"16777213", "-inf"}),
    ],
)
def test_options_vary(name: str, option: str, values: set[str]) -> None:
    """An option takes what its type allows, beyond what the op's own cases give."""
    assert values <= options_of(name, option)


@pytest.mark.parametrize(
    ("name", "dtype"), [("random_permutation", dt.int64), ("normal", dt.float32)]
)
def test_results_without_operands_grow(name: str, dtype: dt.dtype) -> None:
    """Counts and shapes that no operand makes large pass the blocks of a launch."""
    calls = [e.case for e in drawn(vocabulary[name], dtype) if e.case is not None]
    assert max(np.prod(c.args[0], dtype=int) for c in calls) > 1 << 12


def test_options_are_crossed() -> None:
    """Strides meet dilations that they do not meet in the op's own cases."""
    calls = drawn(vocabulary["max_pool"])
    met = {o: {c.case.args[2:5:2] for c in calls if c.case and c.options == o}
           for o in (DECLARED, CROSSED)}  # fmt: skip
    assert len(met[CROSSED] - met[DECLARED]) > len(met[DECLARED])


def test_options_of_gradients_are_those_of_their_op() -> None:
    """Calls of a gradient cross what its op takes, and belong together."""
    op = vocabulary["convolution_weight"]
    at = op.names.index("dilation")
    dilations = {call.case.args[at] for call in drawn(op) if call.case}
    assert (2, 2) in dilations


def dilated_at_once(run: Run, natives: list[Any], attrs: dict[str, Any]) -> Any:
    """Wrong where dilation is more than 1 in both dims."""
    y = np.array(run(*natives, **attrs))
    if attrs["dilation"] == (2, 2):
        y[..., :1] += 1
    return y


def zero_is_default(run: Run, natives: list[Any], attrs: dict[str, Any]) -> Any:
    """A slope of 0 is taken for one that was not given."""
    slope = attrs["negative_slope"] or 0.01
    return run(*natives, **attrs | {"negative_slope": slope})


@pytest.mark.parametrize(
    ("fault", "op"),
    [(dilated_at_once, "max_pool"), (zero_is_default, "leaky_relu")],
)
def test_only_crossed_options_find_a_fault(fault: Any, op: str) -> None:
    """What goes wrong for options that no case declares, crossed ones find."""
    with installed(with_faults({op: fault}), "faulty") as name:
        found = failing_on(name, op, "float32")
    assert {call.options for call in found} == {CROSSED}
