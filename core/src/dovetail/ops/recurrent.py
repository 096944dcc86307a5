"""Whole layers of recurrent networks: all steps of sequences of one length.

A step needs the one before, but most of the work does not: what inputs add to the
gates, and the gradients of weights, are products over all steps at once. So a layer is
one op, which keeps what gradients need; bodies go step by step.
"""

from __future__ import annotations

from typing import Any, Final

from dovetail.dtypes import Array, Sizes, float32
from dovetail.engine.exact import exact
from dovetail.engine.tensor import Tensor
from dovetail.errors import ShapeError
from dovetail.ops.matmul import matmul
from dovetail.ops.primitive import cast
from dovetail.ops.sums import sum
from dovetail.ops.view import basic_index, reshape, transpose

# Sums and products of weights, gates and states leave the format, or lose all digits,
# before what is made of them does.
UNDEFINED: Final = ("extreme", "pairs", "wide")
tanh_truth, _exp = exact("tanh"), exact("exp")


def check_shapes(name: str, **wanted: tuple[Any, tuple[Any, ...]]) -> None:
    """Raise for the first shape that is not as it has to be; None fits any size."""
    for what, (shape, needed) in wanted.items():
        if shape is None:
            continue
        sizes = tuple(shape)
        if len(sizes) != len(needed) or any(
            n is not None and s != n for s, n in zip(sizes, needed, strict=True)
        ):
            text = ", ".join("any" if n is None else str(n) for n in needed)
            raise ShapeError(name, what, was=f"of shape {sizes}", needed=f"[{text}]")


def layer_sizes(name: str, x: Sizes, h: Sizes) -> tuple[int, int, int, int]:
    """Steps, sequences, and the widths of inputs and of the state."""
    check_shapes(name, x=(x, (None, None, None)))
    steps, count, width = x
    check_shapes(name, h=(h, (count, None)))
    if not steps:
        raise ShapeError(name, "x", was="without a step", needed="one step or more")
    return steps, count, width, h[1]


def wide(*tensors: Any) -> list[Any]:
    """What there is of some tensors, in float32."""
    return [x if x is None else cast(x, float32) for x in tensors]


def narrow(results: Any, x: Tensor) -> Any:
    """Results in the dtype of a tensor."""
    return tuple(cast(y, x._kind.dtype) for y in results)


def parts(x: Tensor, count: int) -> list[Tensor]:
    """Equal parts along the last dim."""
    width = x._a.shape[-1] // count
    return [
        basic_index(x, (..., slice(i * width, i * width + width))) for i in range(count)
    ]


def added(x: Any, y: Any) -> Any:
    """The sum of what there is of two."""
    return y if x is None else x if y is None else x + y


def at_step(x: Any, step: int) -> Any:
    """The part of a step, where there is one."""
    return None if x is None else basic_index(x, (step,))


def from_input(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """What inputs add to the gates of all steps."""
    gates = matmul(x, transpose(weight, 0, 1))
    return gates if bias is None else gates + bias


def _rows(x: Tensor) -> Tensor:
    """[t, n, width] as [t * n, width]."""
    *_, width = x._a.shape
    return reshape(x, (x._a.shape[0] * x._a.shape[1], width))


def weight_gradient(slopes: Tensor, x: Tensor) -> Tensor:
    """That of a weight which inputs were multiplied with, by slopes of gates."""
    return matmul(transpose(_rows(slopes), 0, 1), _rows(x))


def state_weight_gradient(slopes: Tensor, h: Tensor, y: Tensor) -> Tensor:
    """That of a weight which the state before each step was multiplied with."""
    found = matmul(transpose(basic_index(slopes, (0,)), 0, 1), h)
    if y._a.shape[0] == 1:
        return found
    later = basic_index(slopes, (slice(1, None),))
    return found + weight_gradient(later, basic_index(y, (slice(-1),)))


def input_gradient(slopes: Tensor, weight: Tensor) -> Tensor:
    """That of inputs, by the weight that they were multiplied with."""
    *lead, _ = slopes._a.shape
    return reshape(matmul(_rows(slopes), weight), (*lead, weight._a.shape[1]))


def bias_gradient(slopes: Tensor) -> Tensor:
    """That of what was added to the gates of all steps."""
    return sum(_rows(slopes), 0)


def sigmoid_truth(x: Array) -> Array:
    """The sigmoid as oracles take it."""
    y: Array = 1 / (1 + _exp(-x))
    return y
