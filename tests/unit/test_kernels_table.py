"""Which kernel runs: dtypes, ranks, conditions, and plug-ins that come and go."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dovetail as dt
from dovetail.conformance import reference
from dovetail.conformance.law import Wrong
from dovetail.conformance.laws.bits import expect_class
from dovetail.device_api import Backend, KernelTable, hookimpl, registry
from dovetail.errors import ArgumentError, KernelError
from dovetail.ops.sums import sum, sum_to
from dovetail.xp.kernels import Kernels

FLOATS = (dt.float32, dt.float64)


@pytest.fixture
def table() -> Iterator[KernelTable]:
    """The table of a fresh `reference` backend."""
    reference.install()
    yield registry.load("reference").table
    registry.unregister("reference")


def constant(value: float) -> Any:
    """A kernel whose result tells that it ran."""
    return lambda a, *rest, **attrs: np.full(a.shape, value, a.dtype)


def on_reference(*size: int) -> dt.Tensor:
    return dt.ones(*size, device="reference")


def value(x: dt.Tensor) -> float:
    """The value that all elements share."""
    (found,) = set(x.cpu().numpy().reshape(-1).tolist())
    return float(found)


def test_a_higher_rank_goes_first(table: KernelTable) -> None:
    """Rank decides, whatever the order of registration."""
    for rank in (2, 1, 3):
        table.add("exp", constant(rank), dtypes=FLOATS, rank=rank)
    assert value(dt.exp(on_reference(2))) == 3


def test_a_negative_rank_goes_last(table: KernelTable) -> None:
    """A rank below 0 serves only where the backend has nothing."""
    table.add("exp", constant(-1), dtypes=FLOATS, rank=-1)
    table.add("sinh", constant(-1), dtypes=FLOATS, rank=-1)
    assert value(dt.exp(on_reference(2))) == pytest.approx(np.e)
    assert value(dt.sinh(on_reference(2))) == -1


def test_a_tie_is_refused(table: KernelTable) -> None:
    """Two kernels of one rank for one dtype: who they are and for which dtypes."""
    with pytest.raises(KernelError) as caught, table.adding("acme:fast"):
        table.add("exp", constant(1), dtypes=[dt.float32, dt.int32])
    assert str(caught.value) == (
        "kernel exp: rank is 0 in both reference and acme:fast for float32, needed "
        "different ranks where conditions may overlap; declare another rank or "
        "disjoint dtypes"
    )


def test_a_tie_of_conditions_is_refused(table: KernelTable) -> None:
    """Conditions of one rank may overlap, and nobody can tell."""
    options = {"dtypes": FLOATS, "when": lambda f: True, "reads": ("ndim",), "rank": 1}
    table.add("exp", constant(1), **options)
    with pytest.raises(KernelError, match="needed different ranks"):
        table.add("exp", constant(2), **options)


def test_no_tie_of_disjoint_dtypes(table: KernelTable) -> None:
    """Each dtype has a kernel of its own."""
    table.add("exp", constant(1), dtypes=[dt.float32], rank=1)
    table.add("exp", constant(2), dtypes=[dt.float64], rank=1)
    assert value(dt.exp(on_reference(2))) == 1
    assert value(dt.exp(on_reference(2).double())) == 2


def test_a_condition_goes_before_none(table: KernelTable) -> None:
    """Of one rank, the conditional kernel is asked before the other."""
    table.add(
        "exp",
        constant(1),
        dtypes=FLOATS,
        when=lambda f: f.ndim[0] == 2,
        reads=("ndim",),
    )
    assert value(dt.exp(on_reference(2, 2))) == 1
    assert value(dt.exp(on_reference(2))) == pytest.approx(np.e)
    assert value(dt.exp(on_reference(2, 2))) == 1


def test_conditions_on_shapes(table: KernelTable) -> None:
    """`shape` has the shape of each input."""
    seen = []

    def when(facts: Any) -> bool:
        seen.append(facts.shape)
        return True

    table.add("add", constant(5), dtypes=FLOATS, rank=1, when=when, reads=("shape",))
    for _ in range(2):  # asked once, then remembered
        assert value(on_reference(2, 3) + on_reference(2, 3)) == 5
    assert seen == [((2, 3), (2, 3))]


def test_conditions_on_layout(table: KernelTable) -> None:
    """`contiguous` says of each input whether it lies in row-major order."""
    table.add(
        "add", constant(5), dtypes=FLOATS, rank=1,
        when=lambda f: f.contiguous == (True, False), reads=("contiguous",),
    )  # fmt: skip
    x = on_reference(2, 3)
    assert value(x + x) == 2
    assert value(x + on_reference(3, 2).transpose(0, 1)) == 5
    assert value(on_reference(3, 2).transpose(0, 1) + x) == 2
    assert (
        value(x[:, :1] + on_reference(1, 2).transpose(0, 1)) == 2
    )  # both have gaps or not
    assert value(x + x) == 2


def test_conditions_on_attributes(table: KernelTable) -> None:
    """An attribute is read by its name."""
    table.add(
        "sum", constant(7), dtypes=FLOATS, rank=1,
        when=lambda f: f.dim == (0,), reads=("dim",),
    )  # fmt: skip
    assert value(sum(on_reference(2, 2), (0,))) == 7
    assert value(sum(on_reference(2, 2), (1,))) == 2


def test_a_condition_reads_what_it_declares(table: KernelTable) -> None:
    """Looking at anything else raises, since the choice would be remembered wrongly."""
    table.add(
        "exp", constant(1), dtypes=FLOATS, when=lambda f: f.shape, reads=("ndim",)
    )
    with pytest.raises(KernelError) as caught:
        dt.exp(on_reference(2))
    assert str(caught.value) == (
        "when: shape is not declared, needed one of ['ndim']; add 'shape' to reads"
    )


def test_a_condition_without_reads(table: KernelTable) -> None:
    """A condition that reads nothing is a mistake."""
    with pytest.raises(ArgumentError, match="kernel exp: reads is empty"):
        table.add("exp", constant(1), dtypes=FLOATS, when=lambda f: True)


def test_an_unknown_fact(table: KernelTable) -> None:
    """A fact that does not exist is named with those that do."""
    with table.adding("acme"):
        table.add(
            "exp", constant(1), dtypes=FLOATS, when=lambda f: True, reads=("colour",)
        )
    with pytest.raises(KernelError) as caught:
        dt.exp(on_reference(2))
    assert str(caught.value) == (
        "kernel exp: reads is 'colour' in a kernel of acme, needed one of shape, ndim, "
        "contiguous"
    )


def test_kernels_come_and_go(table: KernelTable) -> None:
    """What was remembered is forgotten when a kernel comes or goes."""
    x = on_reference(3)
    for _ in range(3):
        assert value(dt.exp(x)) == pytest.approx(np.e)
    with table.adding("acme"):
        table.add(
            "exp", constant(1), dtypes=FLOATS, rank=1, broadcasts=True, checks=True
        )
    for _ in range(3):
        assert value(dt.exp(x)) == 1
    table.remove("acme")
    assert value(dt.exp(x)) == pytest.approx(np.e)


def test_all_or_none(table: KernelTable) -> None:
    """A plug-in that fails halfway leaves none of its kernels."""

    def fail() -> None:
        with table.adding("acme"):
            table.add("exp", constant(1), dtypes=FLOATS, rank=1)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert value(dt.exp(on_reference(2))) == pytest.approx(np.e)
    assert table.owner == "reference"


def test_a_kernel_in_place_of_a_body(table: KernelTable) -> None:
    """A native kernel goes before the composition, in the dtypes that it has."""
    assert value(dt.tanh(on_reference(2))) == pytest.approx(np.tanh(1), rel=1e-6)
    table.add("tanh", constant(4), dtypes=[dt.float32])
    assert value(dt.tanh(on_reference(2))) == 4
    assert value(dt.tanh(on_reference(2).double())) == pytest.approx(np.tanh(1))


def plugin(result: float, rank: int = 1, calls: list[str] | None = None) -> Any:
    """A plug-in with a kernel for `exp` on every backend."""

    def dovetail_kernels(table: KernelTable, backend: str) -> None:
        if calls is not None:
            calls.append(backend)
        table.add("exp", constant(result), dtypes=FLOATS, rank=rank)

    return type(
        "Plugin", (), {"dovetail_kernels": staticmethod(hookimpl(dovetail_kernels))}
    )


def test_a_plugin_serves_each_table_once(table: KernelTable) -> None:
    """Tables in use are served at once, others when their backend is loaded."""
    calls: list[str] = []
    registry.unregister("reference")
    cpu = dt.ones(2)
    registry.register_plugin(plugin(8, calls=calls), "acme:fast")
    try:
        assert calls.count("cpu") == 1
        assert "reference" not in calls
        assert value(dt.exp(cpu)) == 8
        reference.install()
        registry.register_plugin(plugin(9, rank=2), "acme:faster")
        assert calls.count("reference") == 1
        assert calls.count("cpu") == 1
        assert value(dt.exp(on_reference(2))) == 9
        registry.unregister_plugin("acme:faster")
        assert value(dt.exp(on_reference(2))) == 8
    finally:
        registry.unregister_plugin("acme:faster")
        registry.unregister_plugin("acme:fast")
    assert value(dt.exp(cpu)) == pytest.approx(np.e)


def test_a_plugin_that_ties(table: KernelTable) -> None:
    """Registering a plug-in that ties with another's kernels raises, and undoes it."""
    with pytest.raises(KernelError, match="and acme:fast for float32"):
        registry.register_plugin(plugin(8, rank=0), "acme:fast")
    assert value(dt.exp(on_reference(2))) == pytest.approx(np.e)
    assert value(dt.exp(dt.ones(2))) == pytest.approx(np.e)


def test_a_kernel_hides_no_gradient(table: KernelTable) -> None:
    """An op without a rule is differentiated by its body, on every call."""
    table.add("prod", constant(6), dtypes=FLOATS, checks=True, broadcasts=True)
    for device in ("cpu", "reference") * 2:
        dt.prod(dt.ones(3, device=device))  # what is remembered here serves no leaf
        x = dt.tensor([1.0, 2.0, 3.0], device=device, requires_grad=True)
        dt.prod(x).backward()
        assert x.grad.tolist() == [6.0, 3.0, 2.0]


def test_a_failing_kernel_of_a_data_dependent_op(table: KernelTable) -> None:
    """Where the shape depends on values, the kernel's own error is still told."""

    def fails(*_: Any, **__: Any) -> Any:
        raise ZeroDivisionError("no luck")

    table.add("unique", fails, dtypes=FLOATS)
    with pytest.raises(KernelError, match="no luck") as caught:
        dt.unique(on_reference(3))
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_the_result_of_a_body_owns_its_memory(table: KernelTable) -> None:
    """A body that ends in a view gives no view, unless it is one of an input."""
    x = on_reference(2, 3)
    total = sum_to(x, (1, 3))
    assert (total._base, total._storage) == (None, None)
    assert total.tolist() == [[2, 2, 2]]


def test_noted_kernels_get_the_library_and_what_was_given() -> None:
    """Each row of a module is a kernel of its own, made of one function."""
    kernels, table = Kernels(), KernelTable("noted")

    @kernels("amax", FLOATS, "max")
    @kernels("amin", FLOATS, "min", rank=1)
    def extreme(xp: Any, name: str, a: Any) -> Any:
        return getattr(xp, name)(a)

    kernels.install(table, np)
    (greatest,), (least,) = table.rivals("amax"), table.rivals("amin")
    assert (greatest.function([1, 3]), least.function([1, 3])) == (3, 1)
    assert (greatest.rank, least.rank) == (0, 1)
    assert greatest.dtypes == frozenset(FLOATS)


def test_a_subclass_of_the_array_is_told_from_another_class(
    table: KernelTable,
) -> None:
    """A result of a subclass is refused as one, by the device and by the kit."""

    class Flipped(np.ndarray[Any, Any]):
        pass

    backend, flipped = registry.load("reference"), np.zeros(2).view(Flipped)
    with pytest.raises(KernelError, match="Flipped is a subclass") as error:
        Backend.lift(backend, flipped)
    assert "needed a ndarray" in str(error.value)
    with pytest.raises(KernelError, match="return a fresh native array"):
        Backend.lift(backend, [0.0])
    with pytest.raises(Wrong, match="a subclass of `array` is refused"):
        expect_class("copy_in", flipped, np.ndarray)
