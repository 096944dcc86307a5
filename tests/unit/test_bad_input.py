"""Bad input: an error of our tree, its whole message, and nothing changed by it.

A row has what is called on tensors made afresh, the class of the error and its text.
Every tensor is compared with what it was: values, version, gradient, place on the tape.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Final

import numpy as np
import pytest

import dovetail as dt
from dovetail.conformance import reference
from dovetail.device_api import registry
from dovetail.engine.tensor import Tensor
from dovetail.errors import (
    ArgumentError,
    ArgumentTypeError,
    AutogradError,
    BackendError,
    DeviceError,
    DimError,
    DovetailError,
    DTypeError,
    EmptyDimError,
    IndexOutOfRange,
    InplaceError,
    LinAlgError,
    NumberOutOfRange,
    OutOfMemory,
    RepeatedDimError,
    ShapeError,
)
from dovetail.nn import functional as F

# What PyTorch's users catch, beside the class of ours.
BUILTIN: Final = {
    ShapeError: RuntimeError, DTypeError: RuntimeError, DimError: IndexError,
    EmptyDimError: IndexError,
    RepeatedDimError: IndexError, IndexOutOfRange: IndexError,
    ArgumentError: ValueError, ArgumentTypeError: TypeError,
    DeviceError: RuntimeError, BackendError: RuntimeError,
    AutogradError: RuntimeError, InplaceError: RuntimeError,
    LinAlgError: RuntimeError, OutOfMemory: RuntimeError,
    NumberOutOfRange: OverflowError,
}  # fmt: skip
SAME_DEVICE = "expected all tensors to be on the same device"


@pytest.fixture(scope="module", autouse=True)
def _reference() -> Iterator[None]:
    reference.install()
    yield
    registry.unregister("reference")


@pytest.fixture
def t() -> SimpleNamespace:
    """Fresh tensors: floats, a leaf with a gradient, results, integers, labels."""
    leaf = dt.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
    (leaf * leaf).sum().backward()
    return SimpleNamespace(
        x=dt.tensor([[1.0, -2.0, 3.0], [0.5, 0.0, 9.0]]),
        y=dt.ones(2, 4),
        square=dt.ones(4, 5),
        leaf=leaf,
        result=leaf * 2,
        ints=dt.tensor([[1, 2, 3], [4, 5, 6]]),
        labels=dt.tensor([0, 2]),
        bits=dt.tensor([True, False, True]),
        there=dt.ones(2, 3, device="reference"),
        picture=dt.ones(1, 3, 8, 8),
        weight=dt.ones(4, 2, 3, 3),
        one=dt.ones(1),
    )


@dataclass(frozen=True, slots=True)
class State:
    """What a tensor was."""

    values: Any
    version: int
    requires_grad: bool
    grad: Any
    node: Any

    @classmethod
    def of(cls, x: Tensor) -> State:
        grad = None if x.grad is None else x.grad.tolist()
        return cls(x.tolist(), x._version, x.requires_grad, grad, x.grad_fn)


def refused(
    t: SimpleNamespace, call: Callable[[SimpleNamespace], Any]
) -> DovetailError:
    """The error that a call raises, after which every tensor is as it was."""
    before = {name: State.of(x) for name, x in vars(t).items()}
    with pytest.raises(DovetailError) as caught:
        call(t)
    assert {name: State.of(x) for name, x in vars(t).items()} == before
    return caught.value


Row = tuple[Callable[[SimpleNamespace], Any], type[DovetailError], str]

DEVICES: dict[str, Row] = {
    "mixed": (
        lambda t: t.x + t.there, DeviceError,
        f"add: other is on reference:0, needed cpu, where the other tensors are: "
        f'{SAME_DEVICE}; move it with .to("cpu")',
    ),
    "mixed, in place": (
        lambda t: t.x.mul_(t.there), DeviceError,
        f"mul: other is on reference:0, needed cpu, where the other tensors are: "
        f'{SAME_DEVICE}; move it with .to("cpu")',
    ),
    "mixed, in a list": (
        lambda t: dt.cat([t.x, t.x, t.there]), DeviceError,
        f"cat: tensors[2] is on reference:0, needed cpu, where the other tensors are: "
        f"{SAME_DEVICE}"
        '; move it with .to("cpu")',
    ),
    "unknown": (
        lambda t: t.x.to("quantum"), BackendError,
        "device: type is 'quantum', for which no backend is installed, needed one of ",
    ),
    "unavailable": (
        lambda t: dt.zeros(2, device="rocm:1"), BackendError,
        "device: type is 'rocm', for which no backend is installed, needed one of ",
    ),
    "no such index": (
        lambda t: t.x.to("cpu:3"), DeviceError,
        "device: index is cpu:3, needed one of cpu:0",
    ),
    "malformed": (
        lambda t: t.x.to("cpu:x"), DeviceError,
        "device: type is 'cpu:x', needed \"type\" or \"type:index\"; for example ",
    ),
    "no string": (
        lambda t: dt.ones(2, device=3), ArgumentTypeError,
        'device: device is 3, needed a string such as "cpu" or "cuda:0"',
    ),
}  # fmt: skip

SHAPES: dict[str, Row] = {
    "add": (
        lambda t: t.x + t.y, ShapeError,
        "add: dim -1 is 3 in input but 4 in other (input: (2, 3), other: (2, 4)), "
        "needed equal sizes, or 1 to broadcast; reshape or expand one of them",
    ),
    "matmul": (
        lambda t: t.x @ t.square, ShapeError,
        "matmul: axis k is 3 in input but 4 in other (input: (2, 3), other: (4, 5)), "
        "needed equal sizes; matmul is (n,k),(k,m)->(n,m)",
    ),
    "matmul, 0-d": (
        lambda t: dt.matmul(dt.tensor(1.0), t.x), ShapeError,
        "matmul: input is 0-d: both arguments need to be at least 1D, needed at least "
        "one dim; use * for products with numbers",
    ),
    "view": (
        lambda t: t.x.view(4, 2), ShapeError,
        "view: shape is (4, 2), invalid for 6 elements of (2, 3), needed the same "
        "number of elements, with at most one -1",
    ),
    "view, of a transpose": (
        lambda t: t.x.t().view(6), ShapeError,
        "view: strides is (1, 3) for shape (3, 2), needed strides that allow (6,) "
        "without a copy; use reshape(), or contiguous() first",
    ),
    "reshape": (
        lambda t: t.x.reshape(-1, 5), ShapeError,
        "reshape: shape is (-1, 5), invalid for 6 elements of (2, 3), needed the same "
        "number of elements, with at most one -1",
    ),
    "expand": (
        lambda t: t.x.expand(4, 3), ShapeError,
        "expand: dim 0 is 2 in (2, 3), needed 1, to be expanded to 4 in (4, 3)",
    ),
    "permute": (
        lambda t: t.x.permute(0, 0), RepeatedDimError,
        "permute: dims is (0, 0), needed each dim once",
    ),
    "cat": (
        lambda t: dt.cat([t.x, t.y]), ShapeError,
        "cat: tensors[1] is of shape (2, 4), needed the sizes of tensors[0] (2, 3) "
        "in every dim but 0",
    ),
    "cat, of nothing": (
        lambda t: dt.cat([]), ArgumentError,
        "cat: tensors is empty: expected a non-empty list of Tensors, needed at least "
        "one",
    ),
    "convolution, channels": (
        lambda t: F.conv2d(t.picture, t.weight), ShapeError,
        "convolution: channels is 3 in the input (1, 3, 8, 8), needed 2, for weight "
        "(4, 2, 3, 3) in 1 groups",
    ),
    "convolution, dims": (
        lambda t: F.conv2d(t.one, t.weight), ShapeError,
        "conv2d: input is 1-dimensional, (1,), needed 4 dimensions (batched) or 3 "
        "(unbatched)",
    ),
    "convolution, window": (
        lambda t: F.conv2d(dt.ones(1, 2, 2, 2), t.weight), ShapeError,
        "convolution: kernel is (3, 3) with dilation (1, 1), needed no more than the "
        "padded input: (2, 2) with padding (0, 0)",
    ),
    "linear": (
        lambda t: F.linear(t.x, t.square), ShapeError,
        "linear: last dim of input is 3 (input: (2, 3), weight: (4, 5)): mat1 and mat2 "
        "shapes cannot be multiplied, needed 5, the features of weight",
    ),
    "dim": (
        lambda t: t.x.sum(5), DimError,
        "sum: dim is 5, needed between -2 and 1; the tensor has 2 dimensions",
    ),
    "dim, twice": (
        lambda t: t.x.sum((0, -2)), RepeatedDimError,
        "sum: dim is (0, -2), needed each dim once",
    ),
    "in place": (
        lambda t: t.one.add_(t.x), ShapeError,
        "add_: result is of shape (2, 3), needed (1,), the shape of the tensor "
        "written; use the out-of-place form",
    ),
    "out": (
        lambda t: dt.add(t.x, t.x, out=t.y), ShapeError,
        "add(out=): result is of shape (2, 3), needed (2, 4), the shape of the tensor "
        "written; use the out-of-place form",
    ),
    "assignment": (
        lambda t: t.x.__setitem__(0, t.y), ShapeError,
        "copy_: value is of shape (2, 4), needed one that broadcasts to (3,), the "
        "shape written to",
    ),
    "more than a number": (
        lambda t: t.x.item(), ShapeError,
        "item: tensor is of shape (2, 3), needed one element; index it, or use "
        "tolist()",
    ),
    "more than a bool": (
        lambda t: bool(t.x), ShapeError,
        "bool: tensor is of shape (2, 3): ambiguous, needed one element; use any() or "
        "all()",
    ),
}  # fmt: skip

INDICES: dict[str, Row] = {
    "out of range": (
        lambda t: t.x[2], IndexOutOfRange,
        "indexing: index for dim 0 is 2, needed between -2 and 1",
    ),
    "too many": (
        lambda t: t.x[0, 0, 0], IndexOutOfRange,
        "indexing: number of indices is 3, needed at most 2, the dims of (2, 3)",
    ),
    "tensor out of range": (
        lambda t: t.x[dt.tensor([0, 5])], IndexOutOfRange,
        "indexing: index is 5, out of bounds for dim 0 with size 2, needed -2 to 1",
    ),
    "assigned out of range": (
        lambda t: t.x.__setitem__(dt.tensor([0, 5]), 1.0), IndexOutOfRange,
        "is 5, out of bounds for dim 0 with size 2",
    ),
    "floats": (
        lambda t: t.x[dt.tensor([0.0, 1.0])], IndexOutOfRange,
        "indexing: index is a float32 tensor: tensors used as indices must be integer "
        "or bool, needed an integer or bool tensor; cast it with .long()",
    ),
    "a string": (
        lambda t: t.x["a"], ArgumentTypeError,
        "indexing: index is 'a', needed ints, slices, None, ..., tensors or lists of "
        "ints or bools",
    ),
    "mask": (
        lambda t: t.x[t.bits], IndexOutOfRange,
        "indexing: mask is of shape (3,) at dim 0, needed (2,), the sizes of the dims "
        "that it indexes",
    ),
    "negative step": (
        lambda t: t.x[::-1], ArgumentError,
        "indexing: slice step is -1, needed 1 or more: step must be positive; use "
        "flip() to reverse",
    ),
    "gather": (
        lambda t: dt.gather(t.x, 0, dt.tensor([[5, 0, 0]])), IndexOutOfRange,
        "gather: index is 5, out of bounds for dim 0 with size 2, needed 0 to 1",
    ),
    "gather by floats": (
        lambda t: dt.gather(t.x, 0, t.x), DTypeError,
        "gather: index is float32, needed an int64 or int32 tensor; cast it with "
        ".to(dovetail.int64)",
    ),
    "embedding": (
        lambda t: F.embedding(dt.tensor([7]), t.x), IndexOutOfRange,
        "is 7, out of bounds for dim 0 with size 2",
    ),
}  # fmt: skip

INTEGERS = "uint8, int8, int16, int32, int64, uint16, uint32, uint64"
DTYPES: dict[str, Row] = {
    "bits of floats": (
        lambda t: t.x & t.x, DTypeError,
        "bitwise_and: dtype of input is float32, needed one of bool, "
        f"{INTEGERS}; cast it with .to(dtype)",
    ),
    "not of floats": (
        lambda t: ~t.x, DTypeError,
        f"bitwise_not: dtype of input is float32, needed one of bool, {INTEGERS}; "
        "cast it with .to(dtype)",
    ),
    "gradients of integers": (
        lambda t: t.ints.requires_grad_(), DTypeError,
        "requires_grad: dtype is int64, needed a floating point or complex dtype; cast "
        "with .to(dovetail.float32) first",
    ),
    "float written to integers": (
        lambda t: t.ints.add_(1.5), DTypeError,
        "add_: result dtype is float32, needed one that can be cast to int64; use the "
        "out-of-place form, or cast the operand",
    ),
    "quotient written to integers": (
        lambda t: t.ints.div_(2), DTypeError,
        "div_: result dtype is float32, needed one that can be cast to int64; use the "
        "out-of-place form, or cast the operand",
    ),
    "out of another category": (
        lambda t: dt.mul(t.x, 2, out=t.ints), DTypeError,
        "mul(out=): result dtype is float32, needed one that can be cast to int64; use "
        "the out-of-place form, or cast the operand",
    ),
    "condition": (
        lambda t: dt.where(t.x, t.x, t.x), DTypeError,
        "where: condition is float32, needed a bool tensor; compare first, e.g. mask "
        "!= 0",
    ),
    "mean of integers": (
        lambda t: t.ints.mean(), DTypeError,
        "mean: dtype is int64, needed a floating point or complex dtype; cast it with "
        ".float(), or pass dtype=",
    ),
    "matmul of two": (
        lambda t: t.x @ t.x.t().double(), DTypeError,
        "matmul: other is float64, needed float32, as input has: expected m1 and m2 "
        "to have the same dtype; cast one of them with .to(dtype)",
    ),
    "a name": (
        lambda t: dt.zeros(2, dtype="float32"), ArgumentTypeError,
        "zeros: dtype is 'float32' (str), needed a dovetail dtype such as ",
    ),
}  # fmt: skip

LABELS: dict[str, Row] = {
    "NaN among classes": (
        lambda t: F.cross_entropy(t.x, dt.tensor([float("nan"), 1.0])), DTypeError,
        "cross_entropy: target is of dtype float32, shape (2,), needed classes as "
        "int64, [n, ...] for an input of (2, 3): expected scalar type Long; cast it "
        "with .long(), without NaN, which is no class",
    ),
    "NaN cast to a class": (
        lambda t: F.cross_entropy(t.x, dt.tensor([float("nan"), 1.0]).long()),
        IndexOutOfRange,
        "is out of bounds, needed classes from 0 to 2, or ignore_index",
    ),
    "NaN among probabilities": (
        lambda t: F.cross_entropy(t.x, t.x / 0), ArgumentError,
        "cross_entropy: target is NaN in at least one place, needed probabilities; "
        "leave out samples without a label, e.g. by a mask",
    ),
    "too great": (
        lambda t: F.cross_entropy(t.leaf, dt.tensor([0, 3])), IndexOutOfRange,
        "cross_entropy: target is 3: Target 3 is out of bounds, needed classes from 0 "
        "to 2, or ignore_index",
    ),
    "negative": (
        lambda t: F.nll_loss(t.x, dt.tensor([0, -1])), IndexOutOfRange,
        "nll_loss: target is -1: Target -1 is out of bounds, needed classes from 0 to "
        "2, or ignore_index",
    ),
    "another number of samples": (
        lambda t: F.cross_entropy(t.x, dt.tensor([0, 1, 2])), ShapeError,
        "cross_entropy: target is of shape (3,) with input (2, 3), needed (2,), one "
        "class a sample: expected input batch_size to match target batch_size",
    ),
}  # fmt: skip

LEAF = (
    "is a leaf Variable that requires grad, used in an in-place operation, needed a "
    "tensor that is not a leaf; write under dovetail.no_grad(), or on a clone()"
)
VIEW_OF_LEAF = (
    "is a view of a leaf Variable that requires grad, used in an in-place operation, "
    "needed a view of a tensor that is no leaf; write under dovetail.no_grad(), or on "
    "a clone()"
)


def backward_twice(t: SimpleNamespace) -> None:
    loss = (t.x * dt.ones(2, 3, requires_grad=True)).exp().sum()
    loss.backward()
    loss.backward()


def write_to_saved(t: SimpleNamespace) -> None:
    hidden = t.leaf * 2
    loss = (hidden * hidden).sum()
    hidden.add_(1)
    loss.backward()


def write_to_saved_result(t: SimpleNamespace) -> None:
    hidden = t.leaf.exp()
    hidden[0].zero_()
    hidden.sum().backward()


def write_to_view_without_grad(t: SimpleNamespace) -> None:
    with dt.no_grad():
        row = t.result[0]
    row.add_(1)


AUTOGRAD: dict[str, Row] = {
    "backward twice": (
        backward_twice, AutogradError,
        "backward of exp: graph is freed: backward was called a second time, needed "
        "saved tensors; pass retain_graph=True to the first backward",
    ),
    "saved input written": (
        write_to_saved, AutogradError,
        "backward of mul: other (2, 3) is at version 1: a tensor needed for gradient "
        "computation has been modified by an inplace operation, needed version 0; use "
        "the out-of-place form, or clone() before mul",
    ),
    "saved result written": (
        write_to_saved_result, AutogradError,
        "backward of exp: y (2, 3) is at version 1: a tensor needed for gradient "
        "computation has been modified by an inplace operation, needed version 0; use "
        "the out-of-place form, or clone() before exp",
    ),
    "leaf written": (lambda t: t.leaf.add_(1), InplaceError, f"add_: tensor {LEAF}"),
    "leaf filled": (lambda t: t.leaf.zero_(), InplaceError, f"tensor {LEAF}"),
    "leaf as out": (
        lambda t: dt.add(t.x, t.x, out=t.leaf), InplaceError,
        f"add(out=): tensor {LEAF}",
    ),
    "leaf assigned": (
        lambda t: t.leaf.__setitem__((0, 1), 7.0), InplaceError,
        f"tensor {VIEW_OF_LEAF}",
    ),
    "view of a leaf": (
        lambda t: t.leaf[0].mul_(2), InplaceError, f"mul_: tensor {VIEW_OF_LEAF}"
    ),
    "view of a view of a leaf": (
        lambda t: t.leaf.t()[0].copy_(t.x[:, 0]), InplaceError,
        f"copy_: tensor {VIEW_OF_LEAF}",
    ),
    "view taken without grad": (
        write_to_view_without_grad, InplaceError,
        "add_: tensor is a view taken under no_grad of a tensor that requires grad, "
        "needed a view taken with gradients on; take the view outside no_grad, or "
        "write under no_grad",
    ),
    "expanded": (
        lambda t: t.one.expand(3).add_(1), InplaceError,
        "add_: tensor is expanded: more than one element refers to a single memory "
        "location, needed one location an element; clone() it before writing",
    ),
    "result copied": (
        lambda t: copy.deepcopy(t.result), AutogradError,
        "deepcopy: tensor is the result of a recorded op, needed a leaf: only Tensors "
        "created explicitly by the user support it; use detach() first, or clone() to "
        "stay in the graph",
    ),
    "no gradient to be had": (
        lambda t: t.x.sum().backward(), AutogradError,
        "backward: tensor is a tensor that does not require grad and does not have a "
        "grad_fn, needed one that depends on a leaf with requires_grad=True",
    ),
    "not a scalar": (
        lambda t: t.result.backward(), AutogradError,
        "backward: gradient is missing for a tensor of shape (2, 3), needed grad can "
        "be implicitly created only for scalar outputs; reduce to a scalar, e.g. "
        ".sum(), or pass gradient=",
    ),
    "gradient of another shape": (
        lambda t: t.result.backward(t.y), ShapeError,
        "backward: gradient is of shape (2, 4), needed (2, 3), the shape of the tensor",
    ),
    "gradient of another device": (
        lambda t: t.result.backward(t.there), DeviceError,
        "is on reference:0, needed cpu",
    ),
    "gradient assigned": (
        lambda t: setattr(t.leaf, "grad", t.y), AutogradError,
        "grad: value is float32 tensor of shape (2, 4) on cpu, needed a float32 tensor "
        "of shape (2, 3) on cpu",
    ),
    "numpy": (
        lambda t: t.leaf.numpy(), AutogradError,
        "numpy: tensor is one that requires grad, needed one that does not; use "
        "tensor.detach().numpy()",
    ),
    "switched off within a graph": (
        lambda t: setattr(t.result, "requires_grad", False), AutogradError,
        "requires_grad: tensor is the result of a recorded op, needed a leaf to switch "
        "gradients off; use detach() for a tensor outside the graph",
    ),
    "optimizer of a result": (
        lambda t: dt.optim.SGD([t.result], lr=0.1), ArgumentError,
        "SGD.add_param_group: one of params is the result of an operation, not a leaf, "
        "needed a leaf; optimise what it was computed from",
    ),
}  # fmt: skip

ARGUMENTS: dict[str, Row] = {
    "a string": (
        lambda t: t.x + "a", ArgumentTypeError,
        "add: other is a str, needed a Tensor or a number; make one with "
        "dovetail.tensor(...)",
    ),
    "None": (
        lambda t: dt.add(t.x, None), ArgumentTypeError,
        "add: other is None (NoneType), needed a Tensor or a number",
    ),
    "a NumPy array": (
        lambda t: dt.mul(t.x, np.ones(3)), ArgumentTypeError,
        "mul: other is a ndarray, needed a Tensor or a number; make one with "
        "dovetail.tensor(...)",
    ),
    "a list": (
        lambda t: dt.exp([1.0, 2.0]), ArgumentTypeError,
        "exp: input is [1.0, 2.0], needed a Tensor; make one with dovetail.tensor(...)",
    ),
    "an unknown name": (
        lambda t: dt.add(t.x, t.x, beta=3), ArgumentTypeError,
        "add: call is wrong: got an unexpected keyword argument 'beta', needed "
        "add(input, other, *, alpha=1)",
    ),
    "a missing one": (
        lambda t: dt.add(t.x), ArgumentTypeError,
        "add: call is wrong: missing a required argument: 'other', "
        "needed add(input, other, *, alpha=1)",
    ),
    "a dim": (
        lambda t: t.x.sum("a"), ArgumentTypeError, "sum: dim is 'a', needed an integer"
    ),
    "a size": (
        lambda t: dt.zeros("a"), ArgumentTypeError,
        "zeros: size is 'a' (str), needed an integer or a sequence of integers",
    ),
    "a negative size": (
        lambda t: dt.zeros(2, -1), ArgumentError,
        "size: size is (2, -1), needed no negative size",
    ),
    "ragged": (
        lambda t: dt.tensor([[1, 2], [3]]), ArgumentError,
        "needed nested lists of equal lengths",
    ),
    "text": (
        lambda t: dt.tensor("abc"), ArgumentTypeError,
        "tensor: data is of type str, needed numbers, nested lists of numbers, an "
        "array or a tensor",
    ),
    "a step that leads away": (
        lambda t: dt.arange(0, 5, -1), ArgumentError,
        "arange: step is -1, needed one that leads from 0 to 5",
    ),
    "a probability": (
        lambda t: F.dropout(t.x, 1.5), ArgumentError,
        "dropout: p is 1.5, needed a probability from 0 to 1",
    ),
    "more elements than 64 bits count": (
        lambda t: dt.ones(2, 3, dtype=dt.uint8).tile((1 << 62,)), OutOfMemory,
        "repeat: memory is too little for a shape of (2, 13835058055282163712)",
    ),
    "and without a memory": (
        lambda t: dt.ones(2, 3, device="meta").tile((1 << 62,)), OutOfMemory,
        "needed fewer than 2^63 elements",
    ),
    "a list on an empty diagonal": (
        lambda t: dt.ones(0, 3).fill_diagonal_([1.0], True), ArgumentTypeError,
        "fill_: value is a list, needed a number",
    ),
    "a list on a diagonal of several dims": (
        lambda t: dt.ones(3, 3, 3).fill_diagonal_([1.0, 2.0, 3.0]), ArgumentTypeError,
        "fill_: value is a list, needed a number",
    ),
    "a negative bound in place": (
        lambda t: F.hardtanh_(dt.ones(3, dtype=dt.uint8), -2, 2), ArgumentError,
        "hardtanh: min_val is -2, needed 0 or more for dovetail.uint8",
    ),
    "a factor with a zero": (
        lambda t: dt.cholesky_inverse(dt.zeros(2, 3, 3)), LinAlgError,
        "(Batch element 0): singular: The diagonal element 1 is zero",
    ),
    "an element of none": (
        lambda t: dt.ones(0, device="meta").take(t.labels), IndexOutOfRange,
        "take: index is 2 numbers, needed none, for an empty tensor has no element",
    ),
    "a dim that is not there": (
        lambda t: t.x.renorm(2, 9, 1.0), DimError,
        "renorm: dim is 9, needed between -2 and 1",
    ),
    "too many gammas": (
        lambda t: t.x.mvlgamma(1 << 40), ArgumentError,
        "mvlgamma: p is 1099511627776, needed from 1 to 65536",
    ),
    "a leaf as one sequence": (
        lambda t: F.dropout1d(t.leaf, 0.0, inplace=True), InplaceError,
        "dropout1d_: tensor is a leaf Variable that requires grad",
    ),
    "a seed": (
        lambda t: dt.manual_seed("a"), ArgumentTypeError,
        "manual_seed: seed is 'a', needed an integer",
    ),
}  # fmt: skip

METHODS: dict[str, Row] = {
    "a memory format that is none": (
        lambda t: t.x.double(memory_format=[]), ArgumentTypeError,
        "double: memory_format is [] (list), needed a memory format such as "
        "dovetail.channels_last",
    ),
    "a memory format that is a number": (
        lambda t: t.x.bool(memory_format=3), ArgumentTypeError,
        "bool: memory_format is 3 (int), needed a memory format",
    ),
    "a function that is none, for no element": (
        lambda t: dt.ones(0).apply_("abs"), ArgumentTypeError,
        "apply_: callable is 'abs' (str), needed a function",
    ),
    "a device of another type": (
        lambda t: t.x.mtia("cpu"), DeviceError,
        "mtia: device is 'cpu', needed one of the type mtia; use to(device)",
    ),
    "a tensor as a device": (
        lambda t: t.x.ipu(t.y), ArgumentTypeError,
        "device: type is tensor(",
    ),
    "a flag that is none": (
        lambda t: t.x.mtia("mtia", "no"), ArgumentTypeError,
        "mtia: non_blocking is 'no' (str), needed True or False",
    ),
    "a device where none is asked": (
        lambda t: t.x.is_pinned(3), ArgumentTypeError,
        "device: type is 3, needed a string",
    ),
    "a device of which nothing is known": (
        lambda t: t.x.is_pinned("nonsense"), BackendError,
        "device: type is 'nonsense', for which no backend is installed",
    ),
    "more than a view takes": (
        lambda t: dt.squeeze_copy(t.x, 0, 1), ArgumentTypeError,
        "squeeze_copy: call is wrong: too many positional arguments, needed "
        "squeeze_copy(input, dim=())",
    ),
    "a number to be grown": (
        lambda t: dt.atleast_2d(t.x, 1), ArgumentTypeError,
        "atleast_2d: tensors is 1 (int), needed",
    ),
    "a number to be broadcast": (
        lambda t: dt.broadcast_tensors(t.x, 3), ArgumentTypeError,
        "broadcast_tensors: tensors is",
    ),
    "no buffer": (
        lambda t: dt.frombuffer(int, dtype=dt.uint8), ArgumentTypeError,
        "frombuffer: buffer is a type, needed an object with the buffer protocol",
    ),
    "widths given twice": (
        lambda t: dt.trapezoid(t.x, t.x, dx=1.0), ArgumentTypeError,
        "trapezoid: dx is given beside x, needed none",
    ),
    "widths that are a dtype": (
        lambda t: dt.cumulative_trapezoid(t.x, dx=dt.float32), ArgumentTypeError,
        "cumulative_trapezoid: dx is dovetail.float32 (DType), needed a real number",
    ),
    "a norm that is no number": (
        lambda t: t.x.renorm_(dt.nan, -1, 1.0), ArgumentError,
        "renorm: p is nan, needed a norm above 0",
    ),
    "dropout without a probability": (
        lambda t: dt.dropout_(t.x), ArgumentTypeError,
        "dropout_: call is wrong: missing a required argument: 'p'",
    ),
    "the product of a matrix": (
        lambda t: dt.cartesian_prod(t.x), ShapeError,
        "cartesian_prod: tensors is",
    ),
    "a modulus of few bits": (
        lambda t: dt.polar(t.x.bfloat16(), t.x), DTypeError,
        "polar: abs is bfloat16, needed float16, float32 or float64",
    ),
    "unbiased, twice": (
        lambda t: dt.std_mean(t.x, True, unbiased=True), ArgumentTypeError,
        "std_mean: unbiased is given twice, needed once",
    ),
    "counts below zero": (
        lambda t: dt.repeat_interleave(dt.tensor([1, -2])), ArgumentError,
        "repeat_interleave: input is [1, -2], needed counts of which none is negative",
    ),
    "a number to be repeated": (
        lambda t: dt.repeat_interleave(3), ArgumentTypeError,
        "repeat_interleave: input is 3 (int), needed a Tensor",
    ),
    "another dtype as new data": (
        lambda t: t.x.new(t.ints), ArgumentTypeError,
        "new: data is a int64 tensor of shape (2, 3), needed a float32 tensor; cast it",
    ),
    "a new tensor elsewhere": (
        lambda t: t.x.new(device="meta"), DeviceError,
        "new: device is 'meta', needed one of the type cpu",
    ),
    "a new tensor of one, and a device": (
        lambda t: t.x.new(t.y, device="cpu"), ArgumentTypeError,
        "new: device is given beside a tensor, needed none",
    ),
    "a truth as a count": (
        lambda t: t.x.tile(dt.tensor(True)), ArgumentTypeError,
        "tile: dims is (tensor(True),) (tuple), needed a sequence of integers",
    ),
    "more bits than numbers have": (
        lambda t: F.rrelu(t.x, upper=1 << 64), NumberOutOfRange,
        "rrelu: upper is too large, needed from -9223372036854775808 to",
    ),
    "more than floats hold": (
        lambda t: F.instance_norm(dt.ones(1, 2, 3), momentum=10**400), NumberOutOfRange,
        "instance_norm: momentum is too large, needed what a 64-bit float holds",
    ),
    "another dtype than that of out": (
        lambda t: dt.sum(t.x, 0, dtype=dt.float64, out=dt.ones(3)), DTypeError,
        "sum: out is float32, needed float64, as dtype says",
    ),
    "another dtype than that of zeros": (
        lambda t: dt.zeros(3, dtype=dt.float64, out=dt.ones(3)), DTypeError,
        "zeros: out is float32, needed float64, as dtype says",
    ),
    "a keyword beside a tensor of means": (
        lambda t: dt.normal(t.x, requires_grad=False), ArgumentTypeError,
        "normal: dtype, device or another keyword of the result is given beside",
    ),
    "the third without the second": (
        lambda t: dt.hamming_window(3, True, beta=0.5), ArgumentTypeError,
        "hamming_window: alpha is missing, needed a value for it, as beta has one",
    ),
    "truths to be powers": (
        lambda t: dt.linalg.vander(t.bits), DTypeError,
        "linalg.vander: x is bool, needed integers",
    ),
    "tolerances of both kinds": (
        lambda t: dt.linalg.pinv(t.x, 0.1, rtol=0.1), ArgumentTypeError,
        "linalg.pinv: rcond is given beside atol or rtol, needed one or the other",
    ),
    "a dim where dims are asked for": (
        lambda t: dt.permute_copy(t.x, 0), ArgumentTypeError,
        "permute_copy: dims is 0 (int), needed a sequence of integers",
    ),
    "a degree beyond all steps": (
        lambda t: dt.special.laguerre_polynomial_l(t.x, 1 << 40), ArgumentError,
        "laguerre_polynomial_l: n is 1099511627776, needed at most 16384",
    ),
    "several sizes for one axis": (
        lambda t: F.lp_pool2d(dt.ones(1, 4, 4), 2, [3]), ArgumentError,
        "lp_pool2d: kernel_size is [3], needed one number or 2",
    ),
    "edges of several dims": (
        lambda t: dt.histogramdd(t.x, [t.x, t.one, t.one]), ShapeError,
        "histogramdd: bins[0] is 2-d, of shape (2, 3), needed 1 dims",
    ),
    "a reduction that there is not": (
        lambda t: dt.ctc_loss(t.x, t.labels, (1,), (1,), 0, 7), ArgumentError,
        "ctc_loss: reduction is 7, needed 0, 1 or 2",
    ),
    "a step that is recorded, maybe": (
        lambda t: dt.optim.SGD([dt.ones(2)], differentiable=None), ArgumentTypeError,
        "SGD: differentiable is None, needed True or False",
    ),
    "tensors in a list": (
        lambda t: dt.broadcast_tensors([t.x]), ArgumentTypeError,
        "broadcast_tensors: tensors is [tensor(",
    ),
    "no differences with what does not fit": (
        lambda t: dt.diff(t.x, 0, append=dt.ones(3, 3)), ShapeError,
        "diff: append is of shape (3, 3), needed (2, 3), but for dim 1",
    ),
    "lines of no dim": (
        lambda t: dt.fft.irfft(dt.tensor(1.0), 7), DimError,
        "irfft: dim is -1, needed a dim, of which input has none",
    ),
    "batches that differ by a dim": (
        lambda t: dt.linalg.lstsq(dt.ones(2, 2, 3, 3), dt.ones(2, 3, 3)), ShapeError,
        "dim -1 is 2 in input but 3 in other",
    ),
    "a factor of what is undefined": (
        lambda t: dt.linalg.cholesky(dt.full((2, 2), dt.nan)), LinAlgError,
        "linalg.cholesky: input is not positive definite",
    ),
    "channels that are no number": (
        lambda t: dt.nn.LazyConvTranspose2d((1, 2), 3), ArgumentTypeError,
        "LazyConvTranspose2d: out_channels is (1, 2), needed an integer",
    ),
    "bounds of more than two": (
        lambda t: t.x.histogram(3, range=(1, 2, 3)), ArgumentError,
        "histogram: range is 3 numbers, needed two",
    ),
    "an encoder that is data": (
        lambda t: dt.nn.Transformer(4, 2, 1, 1, 8, custom_encoder=t.x),
        ArgumentTypeError, "Transformer: custom_encoder is a float32 tensor of shape",
    ),
    "truths among others": (
        lambda t: dt.isin(t.x, t.bits), DTypeError,
        "isin: test_elements is bool, needed real numbers",
    ),
    "distances of integers": (
        lambda t: dt.cdist(t.ints, t.ints), DTypeError,
        "cdist: x1 is int64, needed real floats",
    ),
    "slopes of truths": (
        lambda t: dt.gradient(t.bits), DTypeError,
        "gradient: input is bool, needed numbers",
    ),
    "angles of another dtype": (
        lambda t: dt.polar(t.x.double(), t.x), DTypeError,
        "polar: angle is float32, needed float64 as in abs",
    ),
    "one number as a shape": (
        lambda t: dt.full(3, 1.0), ArgumentTypeError,
        "full: size is 3 (int), needed a sequence of integers",
    ),
    "more elements than can be counted": (
        lambda t: dt.ones(1, device="meta").expand(1 << 40, 1 << 40), ShapeError,
        "expand: size is (1099511627776, 1099511627776), needed at most",
    ),
    "a norm over no dims": (
        lambda t: dt.linalg.norm(t.x, None, ()), ArgumentError,
        "linalg.norm: dim is (), needed one dim or two",
    ),
    "a source of no dims": (
        lambda t: dt.nn.Transformer(4, 2, 1, 1, 8)(dt.tensor(1), t.one), ShapeError,
        "Transformer: src is 0-d, of shape (), needed 2 or 3 dims",
    ),
    "a scale that is undefined": (
        lambda t: F.interpolate(dt.ones(1, 2, 3), scale_factor=dt.nan), ArgumentError,
        "interpolate: scale_factor is nan, needed finite numbers",
    ),
    "parameters in tuples": (
        lambda t: dt.optim.SGD(((1, 2), (3,))), ArgumentTypeError,
        "params is partly with names, needed all with names, or none",
    ),
    "no sizes": (
        lambda t: t.one.resize(), ArgumentTypeError,
        "resize: sizes is missing, needed a shape",
    ),
    "a size and a dtype": (
        lambda t: t.x.view(np.int64(2), dtype=dt.int32), ArgumentTypeError,
        "view: size is given beside dtype, needed one of them",
    ),
    "a view as nothing": (
        lambda t: t.one.view(), ArgumentTypeError,
        "view: call is without sizes or a dtype, needed one of them",
    ),
    "the hash of none": (
        lambda t: dt.ones(2, 0).hash_tensor(), EmptyDimError,
        "hash_tensor: input is empty, needed elements, or a dim to go along",
    ),
    "places that are truths": (
        lambda t: t.x.index_reduce(1, t.bits, t.x, "amax"), DTypeError,
        "index_reduce: index is bool, needed int32 or int64",
    ),
    "slices of fewer dims": (
        lambda t: t.x.index_reduce(1, t.labels, t.one, "amax"), ShapeError,
        "index_reduce: source is 1-d, needed 2-d, as input is",
    ),
    "distances of complex numbers": (
        lambda t: F.pdist(t.x.cfloat()), DTypeError,
        "pdist: input is complex64, needed a real floating point dtype",
    ),
    "margins that repeat nothing": (
        lambda t: F.pad(dt.ones(2, 0), (0, 0), "replicate"), ShapeError,
        "pad: input is of shape (2, 0), needed elements in all dims but the batch in "
        "mode 'replicate'",
    ),
    "slopes that are infinite": (
        lambda t: F.rrelu(t.x, dt.inf, dt.inf), ArgumentError,
        "rrelu: lower is inf, needed a finite number",
    ),
    "a generator that is none": (
        lambda t: F.rrelu_(t.x, generator=2), ArgumentTypeError,
        "rrelu: generator is 2 (int), needed",
    ),
    "a variance of no element": (
        lambda t: F.gaussian_nll_loss(t.x, t.x, dt.tensor(1.0)), ArgumentError,
        "gaussian_nll_loss: var is of shape (), needed (2, 3)",
    ),
    "weights of one class": (
        lambda t: F.linear_cross_entropy(t.x, t.one, t.labels), ShapeError,
        "linear_cross_entropy: input and linear_weight is of shapes (2, 3) and (1,), "
        "needed [n, width]",
    ),
    "a tuple of options": (
        lambda t: F.linear_cross_entropy(t.x, t.x, t.labels, options=(1,)),
        ArgumentTypeError,
        "linear_cross_entropy: options is (1,) (tuple), needed "
        "nn.LinearCrossEntropyOptions",
    ),
    "weights of no channel": (
        lambda t: F.instance_norm(dt.ones(2, 0, 3), weight=dt.ones(0)), ArgumentError,
        "instance_norm: input is of shape (2, 0, 3), needed a sample and a channel",
    ),
}  # fmt: skip

LAYERS: dict[str, Row] = {
    "random slopes of integers": (
        lambda t: dt.nn.RReLU()(t.ints), DTypeError,
        "rrelu: dtype is int64, needed a floating point dtype",
    ),
    "a factor that is text": (
        lambda t: dt.nn.Upsample(scale_factor="linear"), ArgumentTypeError,
        "Upsample: scale_factor is 'linear' (str), needed a real number or a tuple of "
        "real numbers or None",
    ),
    "a factor that is a list": (
        lambda t: dt.nn.UpsamplingNearest2d(scale_factor=[2.0]), ArgumentTypeError,
        "is [2.0] (list), needed a real number or a tuple",
    ),
    "a width of no dim": (
        lambda t: dt.nn.LazyLinear(7)(dt.tensor(1.0)), ArgumentError,
        "LazyLinear: input is 0-d, needed [..., in_features]",
    ),
    "devices that are a number": (
        lambda t: dt.nn.DataParallel(dt.nn.ReLU(), 3), ArgumentTypeError,
        "DataParallel: device_ids is 3 (int), needed a sequence or None",
    ),
    "a tensor for a module": (
        lambda t: dt.nn.DataParallel(t.x), ArgumentTypeError,
        "DataParallel: module is a float32 tensor of shape (2, 3), needed a Module",
    ),
    "a tensor for a layer, very often": (
        lambda t: dt.nn.TransformerEncoder(t.x, 1 << 40), ArgumentTypeError,
        "needed a Module",
    ),
    "a number for a norm": (
        lambda t: dt.nn.TransformerDecoder(dt.nn.ReLU(), 1, 3), ArgumentTypeError,
        "TransformerDecoder: norm is 3 (int), needed a Module",
    ),
    "no layer": (
        lambda t: dt.nn.TransformerEncoder(dt.nn.ReLU(), 0)(t.x), ArgumentError,
        "TransformerEncoder: num_layers is 0, needed 1 or more",
    ),
    "a pair as a chunk": (
        lambda t: dt.nn.LinearCrossEntropyOptions(batch_chunk_size=(2, 2)),
        ArgumentTypeError,
        "LinearCrossEntropyOptions: batch_chunk_size is (2, 2) (tuple), needed an "
        "integer or None",
    ),
    "margins by a 0-d tensor": (
        lambda t: dt.nn.ZeroPad1d(dt.tensor(1)), ArgumentTypeError,
        "iteration: tensor is 0-d, needed at least one dim",
    ),
    "ratios without an order": (
        lambda t: dt.nn.FractionalMaxPool2d(2, output_ratio={1, 2}), ArgumentTypeError,
        "FractionalMaxPool2d: output_ratio is {1, 2} (set), needed a real number or",
    ),
    "ratios that are a function": (
        lambda t: F.fractional_max_pool2d(t.picture, 2, output_ratio=len),
        ArgumentTypeError,
        "fractional_max_pool2d: output_ratio is <built-in function len>",
    ),
    "a buffer of an unknown kind": (
        lambda t: dt.nn.Buffer(t.x, bogus=1), ArgumentTypeError,
        "Buffer: call is wrong: got an unexpected keyword argument 'bogus'",
    ),
    "a gradient that is a number": (
        lambda t: dt.nn.UninitializedParameter(1), ArgumentTypeError,
        "UninitializedParameter: requires_grad is 1, needed True or False",
    ),
    "steps that are no pair": (
        lambda t: dt.optim.Rprop([t.leaf], step_sizes=(1.0,)), ArgumentTypeError,
        "Rprop: step_sizes is (1.0,), needed a pair",
    ),
    "terms that are no pair": (
        lambda t: dt.optim.Adafactor([t.leaf], eps=1.0), ArgumentTypeError,
        "Adafactor: eps is 1.0, needed a pair",
    ),
    "coefficients that are one": (
        lambda t: dt.optim.Muon([t.leaf], ns_coefficients=2.0), ArgumentTypeError,
        "Muon: ns_coefficients is 2.0 (float), needed",
    ),
    "parameters of no dim": (
        lambda t: dt.optim.LBFGS(np.array("a")), ArgumentTypeError,
        "LBFGS: params is a ndarray, needed an iterable of tensors or dicts",
    ),
}  # fmt: skip

GROUPS = {
    "devices": DEVICES, "shapes": SHAPES, "indices": INDICES, "dtypes": DTYPES,
    "labels": LABELS, "autograd": AUTOGRAD, "arguments": ARGUMENTS,
    "methods": METHODS, "layers": LAYERS,
}  # fmt: skip
ROWS = {
    f"{group}: {k}": row for group, rows in GROUPS.items() for k, row in rows.items()
}


@pytest.mark.parametrize("row", ROWS)
def test_refused(row: str, t: SimpleNamespace) -> None:
    """The class and the message are these, and every tensor is as it was."""
    call, cls, message = ROWS[row]
    error = refused(t, call)
    assert type(error) is cls
    assert isinstance(error, BUILTIN[cls])
    assert message in str(error)
    assert (error.op, error.needed) != ("", None)


def test_a_lazy_layer_that_refuses_a_call_still_has_no_shape() -> None:
    """Too many arguments leave it as it was, for the next call to give it shapes."""
    layer = dt.nn.LazyBatchNorm1d()
    with pytest.raises(ArgumentTypeError, match="LazyBatchNorm1d: call is wrong: too"):
        layer(dt.ones(2, 3), dt.ones(2, 3))
    assert layer.has_uninitialized_params()
    layer(dt.ones(2, 3))
    assert type(layer) is dt.nn.BatchNorm1d


def test_no_warning_comes_with_it(t: SimpleNamespace) -> None:
    """What is refused is not also warned of."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        refused(t, DEVICES["mixed"][0])


def test_the_graph_survives(t: SimpleNamespace) -> None:
    """After a refused backward, the same graph can still be differentiated."""
    loss = (t.leaf * t.leaf).sum()
    t.leaf.grad = None
    refused(t, lambda t: (t.leaf * 2).backward())
    refused(t, lambda t: t.leaf.mul_(2))
    loss.backward()
    assert t.leaf.grad.tolist() == [[2.0, 4.0, 6.0], [8.0, 10.0, 12.0]]


def test_a_failing_hook_leaves_no_gradient(t: SimpleNamespace) -> None:
    """An exception in the middle of a backward leaves the leaves as they were."""

    def fail(grad: Tensor) -> None:
        raise ZeroDivisionError

    before = t.leaf.grad.tolist()
    hidden = t.leaf * 2
    hidden.register_hook(fail)
    with pytest.raises(ZeroDivisionError):
        (hidden + t.leaf).sum().backward()
    assert t.leaf.grad.tolist() == before


@pytest.mark.parametrize("error", [IndexError, RuntimeError])
def test_a_place_outside_is_caught_by_either_name(error: type[Exception]) -> None:
    """Indexing raises an IndexError in torch, and gathering a RuntimeError."""
    x, outside = dt.ones(4), dt.tensor([9])
    for call in (lambda: x[outside], lambda: x.gather(0, outside)):
        with pytest.raises(error, match="9"):
            call()
