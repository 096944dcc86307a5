"""The law on numbers as arguments: who makes no arrays passes, each fault is caught."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from tests.meta.planted import verdict

import dovetail as dt
from dovetail.conformance.verdicts import Outcome
from dovetail.device_api import KernelTable, Numbers
from dovetail.dtypes import DType
from dovetail_fake import kernels
from dovetail_fake.backend import FakeBackend
from dovetail_fake.memory import Block, Device, FakeArray

_DTYPES = ("float32", "int32", "uint8")


class Unmade:
    """A block that is made when its data is asked for."""

    def __init__(self, device: Device, value: Any) -> None:
        self.device = device
        self.value = value
        self.block: Block | None = None

    @property
    def data(self) -> bytearray:
        """The bytes of the number."""
        if self.block is None:
            self.block = Block(self.device, self.value.nbytes)
            self.block.data[:] = self.value.tobytes()
        return self.block.data


class Number(FakeArray):
    """An array whose kernels ask for its value."""

    __slots__ = ()

    def elements(self) -> Any:
        """The number."""
        return self.block.value  # type: ignore[attr-defined]


class Numbered(Numbers, FakeBackend):
    """Numbers are values; memory is made of one when something else asks."""

    def number(self, value: Any, dtype: DType, index: int) -> Any:
        with np.errstate(all="ignore"):
            held = np.array(value).astype(dtype.numpy)
        block: Any = Unmade(self._devices[index], held)
        return Number(block, dtype, (), (), 0)

    def copy_out(self, a: FakeArray) -> Any:
        return np.array(a.elements())

    def kernels(self, table: KernelTable) -> None:
        super().kernels(table)
        for op in ("add", "sub", "mul", "lt"):
            function, dtypes = kernels.KERNELS[op]
            kernel = partial(kernels._on_device, function)
            table.add(op, kernel, dtypes=dtypes, broadcasts=True, rank=1)


class MakesArrays(Numbered):
    """Memory is made of every number."""

    def number(self, value: Any, dtype: DType, index: int) -> Any:
        made = super().number(value, dtype, index)
        assert made.block.data
        return made


class Sends(Numbered):
    """Every number is sent to the device."""

    def number(self, value: Any, dtype: DType, index: int) -> Any:
        self.copy_in(np.array(value, dtype.numpy), index)
        return super().number(value, dtype, index)


class Stale(Numbered):
    """All calls get the number of the first one."""

    def __init__(self) -> None:
        super().__init__()
        self.made: dict[DType, Any] = {}

    def number(self, value: Any, dtype: DType, index: int) -> Any:
        return self.made.setdefault(dtype, super().number(value, dtype, index))


class Short(Numbered):
    """Numbers lose what float16, or seven bits, have no room for."""

    def number(self, value: Any, dtype: DType, index: int) -> Any:
        short = float(np.float16(value)) if dtype.is_inexact else value & 63
        return super().number(short, dtype, index)


class Empty(Numbered):
    """The memory of a number is not what it is."""

    def number(self, value: Any, dtype: DType, index: int) -> Any:
        made = super().number(value, dtype, index)
        made.block.block = Block(self._devices[index], dtype.itemsize)
        return made


@pytest.mark.parametrize("dtype", _DTYPES)
def test_numbers_that_are_values_pass(dtype: str) -> None:
    """Kernels ask for them, and views for memory."""
    assert verdict(Numbered, "numbers", dtype).outcome is Outcome.PASSED


@pytest.mark.parametrize("fault", [MakesArrays, Sends, Stale, Short, Empty])
def test_faults_are_caught(fault: type[Any]) -> None:
    """The law calls each of them wrong."""
    for dtype in ("float32", "int32"):
        assert verdict(fault, "numbers", dtype).outcome is Outcome.WRONG


def test_devices_without_the_capability_are_not_judged() -> None:
    """Their numbers are arrays."""
    assert verdict(FakeBackend, "numbers").outcome is Outcome.UNCLAIMED
    assert not isinstance(dt.ones(1)._kind.backend, Numbers)
