"""Devices that differ from the CPU within their rights; no law may say a word."""

from __future__ import annotations

from typing import Final

from tests.meta.mutants.benign.arithmetic import ARITHMETIC
from tests.meta.mutants.benign.devices import DEVICES
from tests.meta.mutants.benign.orders import ORDERS
from tests.meta.mutants.benign.variant import Benign, alarms

BENIGN: Final[tuple[Benign, ...]] = (*ARITHMETIC, *ORDERS, *DEVICES)


def named(name: str) -> Benign:
    """The variant of that name."""
    return next(b for b in BENIGN if b.name == name)


__all__ = ["BENIGN", "Benign", "alarms", "named"]
