"""Convolutions of CuPy devices, by a cuDNN on the host: and what it is told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.accelerators.host_blas import AddressedNumpy
from tests.accelerators.host_dnn import HostDnn

import dovetail as dt
from dovetail.device_api import Kernel
from dovetail.dtypes import float32
from dovetail_cupy.convolutions import Convolutions

Call = tuple[Any, Any, Any, dict[str, Any]]


@st.composite
def calls(draw: Any) -> Call:
    """Images, weights and a bias of small whole numbers, and how they meet."""
    space = draw(st.integers(1, 3))
    each = st.tuples(*[st.integers(1, 3)] * space)
    groups, batch = draw(st.integers(1, 2)), draw(st.integers(1, 2))
    inside, out = groups * draw(st.integers(1, 2)), groups * draw(st.integers(1, 2))
    kernel, stride, dilation = draw(each), draw(each), draw(each)
    padding = tuple(draw(st.integers(0, 2)) for _ in kernel)
    sizes = [
        d * (k - 1) + 1 + draw(st.integers(0, 3))
        for k, d in zip(kernel, dilation, strict=True)
    ]
    random = np.random.default_rng(draw(st.integers(0, 99)))
    x, w, b = (
        random.integers(-3, 4, shape).astype("f4")
        for shape in ((batch, inside, *sizes), (out, inside // groups, *kernel), (out,))
    )
    how = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    return x, w, b if draw(st.booleans()) else None, how


def kernels(dnn: HostDnn) -> Convolutions:
    """The kernels; where the library has no way, the call is refused here."""

    def other(*_: Any, **__: Any) -> Any:
        raise NotImplementedError

    others = [Kernel("convolution", other, frozenset({float32}))]
    return Convolutions(AddressedNumpy(), dnn, others)


@settings(deadline=None)
@given(calls())
def test_convolutions_and_their_gradients(call: Call) -> None:
    """They are the CPU's, of whole numbers to the last bit."""
    x, w, b, how = call
    image, weight = dt.tensor(x, requires_grad=True), dt.tensor(w, requires_grad=True)
    function = getattr(dt.nn.functional, f"conv{x.ndim - 2}d")
    y = function(image, weight, None if b is None else dt.tensor(b), **how)
    dy = np.random.default_rng(1).integers(-2, 3, y.shape).astype("f4")
    y.backward(dt.tensor(dy))
    ours = kernels(HostDnn())
    steps = how["stride"], how["padding"], how["dilation"], how["groups"]
    assert np.array_equal(ours.convolution(x, w, b, *steps), y.detach().numpy())
    dx = ours.convolution_transpose(dy, w, x.shape[2:], *steps)
    assert np.array_equal(dx, image.grad.numpy())
    dw = ours.convolution_weight(x, dy, w.shape[2:], *steps)
    assert np.array_equal(dw, weight.grad.numpy())


def test_lines_are_images_of_one_row() -> None:
    """The library knows two dims of space and three."""
    dnn, one = HostDnn(), np.ones((1, 1, 5), "f4")
    kernels(dnn).convolution(one, one[..., :2], None, (1,), (0,), (1,), 1)
    (shape,) = dnn.shapes
    assert (shape.x, shape.w, shape.y) == ((1, 1, 1, 5), (1, 1, 1, 2), (1, 1, 1, 4))
    assert (shape.stride, shape.padding, shape.dilation) == ((1, 1), (0, 0), (1, 1))


@pytest.mark.parametrize("shape", [(0, 1, 4, 4), (1, 1, 4, 4)])
def test_what_the_library_has_no_way_for(shape: tuple[int, ...]) -> None:
    """Nothing, or what it refuses, is left to the other kernels."""
    x, w = np.ones(shape, "f4"), np.ones((1, 1, 2, 2), "f4")
    with pytest.raises(NotImplementedError):
        kernels(HostDnn(known=())).convolution(x, w, None, (1, 1), (0, 0), (1, 1), 1)
