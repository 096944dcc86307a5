"""Laws: named judges, each declared once, applied to every op they fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from dovetail.conformance.budget import Budget
from dovetail.conformance.example import Example
from dovetail.conformance.subject import Subject
from dovetail.dtypes import DType
from dovetail.engine.op import Op


class Wrong(AssertionError):
    """What a judge raises: a fact that breaks the law, in words.

    Args:
        ulp: the error, where nothing but rounding is beyond what is allowed.
    """

    def __init__(self, text: str, ulp: float | None = None) -> None:
        super().__init__(text)
        self.ulp = ulp


class Unclaimed(Exception):
    """What a judge raises where the device does not offer what it would judge."""


@dataclass(slots=True)
class Trial:
    """One example under one law.

    Attributes:
        op, dtype: what is judged; None for laws on the device as a whole.
        seed: for what the judge itself draws.
        ulp: the largest error the judge measured.
    """

    subject: Subject
    op: Op | None
    dtype: DType | None
    example: Example
    seed: int
    ulp: float | None = None

    def measured(self, ulp: float) -> None:
        """Keep the largest error for the ledger."""
        if self.ulp is None or ulp > self.ulp:
            self.ulp = ulp


Judge = Callable[[Trial], None]
# Whether a law fits an op in a dtype on a device.
Fits = Callable[[Subject, Op, DType], bool]
# Whether a law on the device as a whole fits a dtype (None: it has no dtype).
DeviceFits = Callable[[Subject, DType | None], bool]
Examples = Callable[[Subject, Op, DType, Budget], Iterable[Example]]
DeviceExamples = Callable[[Subject, DType | None, Budget], Iterable[Example]]


@dataclass(frozen=True, slots=True)
class Law:
    """A judge of ops.

    Attributes:
        rank: laws of lower rank are proven first.
        describes: the claim, one sentence.
        shrinks: whether a smaller or plainer call means the same.
        covers: whether it tries every call that is drawn for an op.
        depth: of the least budget at which it is proven; it costs too much below.
    """

    name: str
    judge: Judge
    fits: Fits
    examples: Examples
    rank: int
    describes: str
    shrinks: bool = True
    covers: bool = False
    depth: int = 1


@dataclass(frozen=True, slots=True)
class DeviceLaw:
    """A judge of the device as a whole: memory, views, copies, threads.

    Attributes:
        dtypes: the dtypes it is proven in; empty where it has none.
        first: it is about memory, which all other laws use: it is proven before them,
            and what is still to be written there stops the run.
        carries: values travel by what it proves; where it fails in a dtype, nothing
            else is tried in that dtype.
    """

    name: str
    judge: Judge
    fits: DeviceFits
    examples: DeviceExamples
    rank: int
    describes: str
    per_dtype: bool = True
    first: bool = False
    carries: bool = False


LAWS: Final[dict[str, Law]] = {}
DEVICE_LAWS: Final[dict[str, DeviceLaw]] = {}


def always(subject: Subject, op: Op, dtype: DType) -> bool:
    """Fits every op."""
    return True


def law(
    name: str,
    *,
    examples: Examples,
    fits: Fits = always,
    rank: int = 50,
    shrinks: bool = True,
    covers: bool = False,
    depth: int = 1,
) -> Callable[[Judge], Judge]:
    """Register the decorated judge; its docstring is the claim."""

    def register(judge: Judge) -> Judge:
        LAWS[name] = Law(
            name, judge, fits, examples, rank, _claim(judge), shrinks, covers, depth
        )
        return judge

    return register


def _once(subject: Subject, dtype: DType | None, budget: Budget) -> Iterable[Example]:
    return [Example()]


def _anywhere(subject: Subject, dtype: DType | None) -> bool:
    return True


def device_law(
    name: str,
    *,
    examples: DeviceExamples = _once,
    fits: DeviceFits = _anywhere,
    rank: int = 50,
    per_dtype: bool = True,
    first: bool = False,
    carries: bool = False,
) -> Callable[[Judge], Judge]:
    """Register the decorated judge of a device; its docstring is the claim."""

    def register(judge: Judge) -> Judge:
        DEVICE_LAWS[name] = DeviceLaw(
            name, judge, fits, examples, rank, _claim(judge), per_dtype, first, carries
        )
        return judge

    return register


def _claim(judge: Judge) -> str:
    text = (judge.__doc__ or "").strip()
    return text.split("\n\n")[0].replace("\n", " ")


__all__ = [
    "DEVICE_LAWS", "LAWS", "DeviceLaw", "Law", "Trial", "Unclaimed", "Wrong",
    "device_law", "law",
]  # fmt: skip
