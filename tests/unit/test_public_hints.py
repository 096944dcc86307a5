"""Annotations of public classes have a meaning; calls are handed on as written."""

from __future__ import annotations

import inspect
from typing import Any, get_type_hints

import pytest

import dovetail as dt

ROOMS = ("nn", "optim", "data", "distributions", "autograd", "func", "amp", "io")
NAMED = [getattr(getattr(dt, r), n) for r in ROOMS for n in getattr(dt, r).__all__]
CLASSES = [x for x in NAMED if inspect.isclass(x) and x.__module__.startswith("dove")]


@pytest.mark.parametrize("cls", [dt.Tensor, *CLASSES])
def test_hints_of_public_classes(cls: type) -> None:
    """Libraries ask for the hints of classes that derive from them."""
    get_type_hints(cls)


class Seen(dt.Tensor):
    """A tensor that tells how calls are handed on."""

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        return len(args), kwargs or {}


CALLS = [
    (lambda x: x.transpose(0, 1), 3, {}), (lambda x: dt.unsqueeze(x, -1), 2, {}),
    (lambda x: x.logsumexp(dim=1), 2, {}), (lambda x: x.sum(1), 1, {"dim": 1}),
    (lambda x: dt.diagonal(x, 0, -2, -1), 1, {"dim1": -2, "dim2": -1}),
    (lambda x: dt.add(x, x, alpha=2), 2, {"alpha": 2}),
]  # fmt: skip


@pytest.mark.parametrize(("call", "count", "named"), CALLS)
def test_what_has_to_be_given_is_handed_on_by_place(
    call: Any, count: int, named: dict[str, Any]
) -> None:
    """A handler may call a parameter as it likes, unless it may be left out."""
    assert call(dt.ones(2, 3).as_subclass(Seen)) == (count, named)
