"""torch's private functions of lists of tensors, which programs run as torch find."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pytest

import dovetail as dt
from dovetail.torch_names.lists import of_lists

torch = pytest.importorskip("torch")

# What stands behind the list: numbers, "one" (a list of tensors), "each" (of numbers).
CALLS: Final[dict[str, list[tuple[Any, ...]]]] = {
    "add": [(2.0,), ("one",), ("each",)], "sub": [(2.0,), ("one",)],
    "mul": [(2.0,), ("one",), ("each",)], "div": [(2.0,), ("one",)],
    "pow": [(2.0,), ("one",)], "maximum": [(0.5,), ("one",)], "minimum": [(0.5,)],
    "clamp_min": [(0.5,)], "clamp_max": [("one",)], "lerp": [("one", 0.25)],
    "addcmul": [("one", "one", 0.5), ("one", "one"), ("one", "one", "each")],
    "addcdiv": [("one", "one", 0.5), ("one", "one", "each")], "copy_": [("one",)],
    "norm": [(), (1,)], "clone": [()],
    **{n: [()] for n in ("abs", "neg", "exp", "sqrt", "sign", "zero_", "reciprocal")},
}  # fmt: skip


def _found(lib: Any, function: Any, given: tuple[Any, ...]) -> Any:
    xs = [lib.tensor([0.5, 2.0]), lib.tensor([[1.5, -0.25, 3.0]])]
    known = {"one": [x.abs() + 1 for x in xs], "each": [2.0, 3.0]}
    result = function(xs, *[known.get(a, a) for a in given])
    assert type(result) is tuple or all(map(lambda a, b: a is b, result, xs))
    return [x.numpy() for x in (*xs, *result)]


@pytest.mark.parametrize("name", CALLS)
def test_lists(name: str) -> None:
    """Results, in place or not, are torch's."""
    compared = 0
    for method in sorted({name, f"{name.removesuffix('_')}_"}):
        theirs = getattr(torch, f"_foreach_{method}", None)
        if theirs is None:
            continue  # there is none in place
        for given in CALLS[name]:
            want = _found(torch, theirs, given)
            found = _found(dt, of_lists(f"_foreach_{method}"), given)
            assert len(found) == len(want)
            for ours, other in zip(found, want, strict=True):
                np.testing.assert_allclose(ours, other, rtol=1e-6)
            compared += 1
    assert compared


def test_orders_of_norms_by_name() -> None:
    xs = [[3.0, -4.0], [1.0]]
    ours = of_lists("_foreach_norm")([dt.tensor(x) for x in xs], ord=1)
    theirs = torch._foreach_norm([torch.tensor(x) for x in xs], ord=1)
    assert [y.item() for y in ours] == [y.item() for y in theirs] == [7, 1]


def test_bad_lists() -> None:
    """Lists of other lengths are refused, and nothing has changed by then."""
    xs = [dt.ones(1), dt.ones(1)]
    multiply = of_lists("_foreach_mul_")
    assert multiply is not None
    with pytest.raises(RuntimeError, match="a list of 1, needed one entry for each of"):
        multiply(xs, [2.0])
    assert [x.item() for x in xs] == [1.0, 1.0]
    assert of_lists("_foreach_nothing") is None
