"""Products take the shapes that declarations take, by kernels that judge alone."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import dovetail as dt
from dovetail.engine.op import vocabulary
from dovetail.errors import ShapeError

SIZES = st.sampled_from([1, 2, 3])
SHAPES = st.lists(SIZES, max_size=3).map(tuple)


def _taken(name: str, *shapes: tuple[int, ...] | None) -> tuple[int, ...] | None:
    """The shape of a result, None for a refusal."""
    try:
        return tuple(vocabulary[name].infer_shapes(shapes, {})[0])
    except ShapeError:
        return None


def _made(name: str, *shapes: tuple[int, ...] | None) -> tuple[int, ...] | None:
    """What a call gives; a second one goes the way that the first has learned."""
    given = [
        None if s is None else dt.ones(*s) if s else dt.tensor(1.0) for s in shapes
    ]
    found = set()
    for _ in range(2):
        try:
            y = vocabulary[name].function(*given)
            found.add(tuple(y.shape))
            assert np.all(y.numpy() == y.numpy().flat[0])
        except ShapeError:
            found.add(None)
    assert len(found) == 1
    return found.pop()


@given(x=SHAPES, w=SHAPES, b=st.none() | SHAPES)
def test_linear(
    x: tuple[int, ...], w: tuple[int, ...], b: tuple[int, ...] | None
) -> None:
    """A bias is no larger than the product; numbers have no bias with dims."""
    # Of calls that are taken before, what these learned serves the refused ones.
    vocabulary["linear"].function(dt.ones(2, 3), dt.ones(4, 3), dt.ones(4))
    vocabulary["linear"].function(dt.ones(3), dt.ones(3), dt.tensor(1.0))
    assert _made("linear", x, w, b) == _taken("linear", x, w, b)


@given(a=SHAPES, b=SHAPES, name=st.sampled_from(["matmul", "bmm"]))
def test_products(a: tuple[int, ...], b: tuple[int, ...], name: str) -> None:
    """Inner sizes meet, and batches spread only where they may."""
    assert _made(name, a, b) == _taken(name, a, b)
