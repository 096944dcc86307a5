"""The law on errors that are told late: who keeps it passes, each fault is caught."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from tests.meta.planted import device, verdict

import dovetail as dt
from dovetail.conformance.budget import BUDGETS
from dovetail.conformance.judge import judge
from dovetail.conformance.subject import Subject
from dovetail.conformance.verdicts import Check, Outcome
from dovetail.device_api import KernelTable, LateErrors
from dovetail_fake import kernels
from dovetail_fake.backend import FakeBackend
from dovetail_fake.memory import FakeArray

Array = np.ndarray[Any, Any]


def within(function: Callable[..., Any]) -> Callable[..., Any]:
    """A gather or scatter that stays within memory, whatever it is asked for."""

    def call(a: Array, index: Array, *more: Any, dim: int) -> Any:
        return function(a, np.clip(index, 0, a.shape[dim] - 1), *more, dim=dim)

    return call


class Late(LateErrors, FakeBackend):
    """Waits tell what calls did not."""

    def copy_out(self, a: FakeArray) -> Array:
        out = super().copy_out(a)
        self.tell(a.block.device.index)
        return out

    def synchronize(self, index: int) -> None:
        self.tell(index)

    def kernels(self, table: KernelTable) -> None:
        super().kernels(table)
        gather = partial(kernels._on_device, within(kernels.take_along))
        table.add("take_along", gather, dtypes=kernels.ALL, rank=1)
        for op, (function, dtypes) in kernels.SCATTERS.items():
            scatter = partial(kernels._in_place, within(function))
            table.add(op, scatter, dtypes=dtypes, rank=1)


class SilentReads(Late):
    """Only `synchronize` tells."""

    def copy_out(self, a: FakeArray) -> Array:
        return FakeBackend.copy_out(self, a)


class SilentWaits(Late):
    """Only `copy_out` tells."""

    def synchronize(self, index: int) -> None:
        pass


class Hasty(Late):
    """Each call waits for its flag."""

    def note(self, index: int, flag: Any, error: Callable[[], Exception]) -> None:
        super().note(index, flag, error)
        self.tell(index)


class Insistent(Late):
    """What was told is told again."""

    def tell(self, index: int) -> None:
        kept = list(self._noted.get(index, ()))
        try:
            super().tell(index)
        except (IndexError, ZeroDivisionError):
            self._noted[index] = kept
            raise


class Trusting(Late):
    """A kernel takes it that indices are in range."""

    def kernels(self, table: KernelTable) -> None:
        FakeBackend.kernels(self, table)


class OfIndicesAlone(Late):
    """Quotients by 0 are passed over."""

    def note(self, index: int, flag: Any, error: Callable[[], Exception]) -> None:
        if not isinstance(error(), ZeroDivisionError):
            super().note(index, flag, error)


class DivisionsAtOnce(Late):
    """Integers are divided only after a look at the divisors."""

    def note(self, index: int, flag: Any, error: Callable[[], Exception]) -> None:
        super().note(index, flag, error)
        if isinstance(error(), ZeroDivisionError):
            self.tell(index)


def test_who_tells_at_the_next_wait_passes() -> None:
    """Calls do not wait, and nothing else is harmed."""
    assert verdict(Late, "late_errors", "-").outcome is Outcome.PASSED


@pytest.mark.parametrize(
    "fault",
    [
        SilentReads,
        SilentWaits,
        Hasty,
        Insistent,
        Trusting,
        OfIndicesAlone,
        DivisionsAtOnce,
    ],
)
def test_faults_are_caught(fault: type[Any]) -> None:
    """The law calls each of them wrong."""
    assert verdict(fault, "late_errors", "-").outcome is not Outcome.PASSED


def test_devices_without_the_capability_are_not_judged() -> None:
    """Their calls look at once."""
    assert verdict(FakeBackend, "late_errors", "-").outcome is Outcome.UNCLAIMED


def test_of_many_calls_the_first_is_told() -> None:
    """Later ones may have got what it gave; the error says what is not valid."""
    with device(Late) as name:
        x = dt.arange(4, device=name)
        y = x[dt.tensor([1, 9], device=name)]
        z = dt.gather(x, 0, dt.tensor([-7], device=name))
        with pytest.raises(IndexError, match="index is 9, out of bounds") as error:
            dt.synchronize(name)
        assert "not valid" in error.value.__notes__[0]
        dt.synchronize(name)
        assert (len(y.tolist()), len(z.tolist())) == (2, 1)


def test_after_many_calls_the_host_waits() -> None:
    """What is kept for the next wait has an end."""
    with device(Late) as name:
        x, far = (dt.tensor(v, device=name) for v in ([1, 2], [5]))
        with pytest.raises(IndexError, match="index is 5"):
            [dt.gather(x, 0, far) for _ in range(1000)]


def test_indices_that_were_written_since_are_told_in_other_words() -> None:
    """The flag is from before, when they were out of range."""
    with device(Late) as name:
        index = dt.tensor([5], device=name)
        dt.gather(dt.tensor([1, 2], device=name), 0, index)
        index.data._kind.backend.fill(index._a, 0)
        with pytest.raises(IndexError, match=r"gather: .*written since"):
            dt.synchronize(name)


def test_divisors_of_no_integers_are_not_looked_at() -> None:
    """Floats are divided by 0, and of integers the error names the op."""
    with device(Late) as name:
        x = dt.tensor([1, 2], device=name)
        zeros = dt.zeros(2, dtype=dt.int32, device=name)
        assert (x / zeros).tolist() == [float("inf")] * 2
        assert (x.float() // zeros).tolist() == [float("inf")] * 2
        y = x % zeros
        with pytest.raises(ZeroDivisionError, match="remainder: other is a tensor"):
            y.tolist()
        with pytest.raises(RuntimeError, match="fractions"):
            dt.quantile(x.float(), dt.tensor([0.5, 1.5], device=name)).tolist()


@pytest.mark.parametrize("law", ["inplace", "out"])
def test_laws_that_divide_wait_for_what_is_told(law: str) -> None:
    """Calls by 0 are none of theirs, however late a device refuses them."""
    with device(Late) as name:
        check = Check("floor_divide", "int32", law)
        found = judge(Subject(name), check, BUDGETS["standard"])
        assert found.outcome is Outcome.PASSED
