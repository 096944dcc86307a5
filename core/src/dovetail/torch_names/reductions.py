"""How torch's older losses say by what they put elements together."""

from __future__ import annotations

from typing import Final

_NUMBERS: Final = {"none": 0, "mean": 1, "elementwise_mean": 1, "sum": 2}


def get_enum(reduction: str) -> int:
    """The number of a reduction.

    Raises: ValueError for a name that is none.
    """
    if reduction not in _NUMBERS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return _NUMBERS[reduction]


def legacy_get_string(
    size_average: bool | None, reduce: bool | None, emit_warning: bool = True
) -> str:
    """The reduction that two switches meant, each on unless it was set."""
    if reduce is False:
        return "none"
    return "sum" if size_average is False else "mean"


def legacy_get_enum(
    size_average: bool | None, reduce: bool | None, emit_warning: bool = True
) -> int:
    """The number of the reduction that two switches meant."""
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))
