"""The package's functions and dtypes.

Written by `python -m dovetail.signatures`.
"""

from builtins import bool as _bool
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, overload

from numpy import ndarray

from dovetail.device import device
from dovetail.dtypes import DType, NamedDType
from dovetail.engine.generator import Generator as Generator
from dovetail.engine.generator import Generator as _Generator
from dovetail.engine.tensor import Tensor
from dovetail.engine.tensor_type import Size
from dovetail.errors import OutOfMemory
from dovetail.frontend.tensor_classes import BFloat16Tensor as BFloat16Tensor
from dovetail.frontend.tensor_classes import BoolTensor as BoolTensor
from dovetail.frontend.tensor_classes import ByteTensor as ByteTensor
from dovetail.frontend.tensor_classes import CharTensor as CharTensor
from dovetail.frontend.tensor_classes import ComplexDoubleTensor as ComplexDoubleTensor
from dovetail.frontend.tensor_classes import ComplexFloatTensor as ComplexFloatTensor
from dovetail.frontend.tensor_classes import DoubleTensor as DoubleTensor
from dovetail.frontend.tensor_classes import FloatTensor as FloatTensor
from dovetail.frontend.tensor_classes import HalfTensor as HalfTensor
from dovetail.frontend.tensor_classes import IntTensor as IntTensor
from dovetail.frontend.tensor_classes import LongTensor as LongTensor
from dovetail.frontend.tensor_classes import ShortTensor as ShortTensor
from dovetail.memory_formats import layout, memory_format
from dovetail.signatures.overloads import Extremes, Valued
from dovetail.tensor_api.streams import Event as Event
from dovetail.tensor_api.streams import Stream as Stream
from dovetail.tensor_api.streams import Stream as _Stream

OutOfMemoryError = OutOfMemory

def abs(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The magnitude; the smallest integer wraps to itself."""

def abs_(input: Tensor) -> Tensor:
    """`abs` written into the tensor, which is returned."""

def absolute(
    input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """The magnitude; the smallest integer wraps to itself."""

def acos(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """Arccosine in radians; NaN outside [-1, 1]."""

def acos_(input: Tensor) -> Tensor:
    """`acos` written into the tensor, which is returned."""

def acosh(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """Inverse hyperbolic cosine; NaN below 1."""

def acosh_(input: Tensor) -> Tensor:
    """`acosh` written into the tensor, which is returned."""

def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """Means over windows of 1 axes, to a size of the result."""

def adaptive_max_pool1d(input: Tensor, output_size: Any) -> tuple[Tensor, Tensor]:
    """`adaptive_max_pool1d` and the places, in the flattened spatial axes."""

def add(
    input: Tensor | _complex,
    other: Tensor | _complex,
    *,
    alpha: _complex = 1,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """input + alpha * other; integers wrap, the sum of bools is `or`."""

def addbmm(
    input: Tensor,
    batch1: Tensor,
    batch2: Tensor,
    *,
    beta: _complex = 1,
    alpha: _complex = 1,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """beta * input + alpha * the sum of the products of a batch."""

def addcdiv(
    input: Tensor,
    tensor1: Tensor,
    tensor2: Tensor,
    *,
    value: _complex = 1,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """input + value * tensor1 / tensor2, of which one is no integer."""

def addcmul(
    input: Tensor,
    tensor1: Tensor,
    tensor2: Tensor,
    *,
    value: _complex = 1,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """input + value * tensor1 * tensor2; of integers the value is cut to one."""

def addmm(
    input: Tensor,
    mat1: Tensor,
    mat2: Tensor,
    *,
    beta: _complex = 1,
    alpha: _complex = 1,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """beta * input + alpha * (mat1 @ mat2), rounded once."""

def addmv(
    input: Tensor,
    mat: Tensor,
    vec: Tensor,
    *,
    beta: _complex = 1,
    alpha: _complex = 1,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """beta * input + alpha * (mat @ vec)."""

def addmv_(
    input: Tensor, mat: Tensor, vec: Tensor, *, beta: _complex = 1, alpha: _complex = 1
) -> Tensor:
    """`addmv` written into the tensor, which is returned."""

def addr(
    input: Tensor,
    vec1: Tensor,
    vec2: Tensor,
    *,
    beta: _complex = 1,
    alpha: _complex = 1,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """beta * input + alpha * outer(vec1, vec2)."""

def adjoint(input: Tensor) -> Tensor:
    """The last two dims swapped and the elements conjugated."""

def alias_copy(input: Tensor) -> Tensor:
    """`input` in memory of its own."""

def all(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    keepdim: _bool = False,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """Whether none over `dim` is zero; true where there are none."""

def allclose(
    input: Tensor,
    other: Tensor,
    rtol: _float = 1e-05,
    atol: _float = 1e-08,
    equal_nan: _bool = False,
) -> _bool:
    """Whether all elements are close; see `isclose`."""

def alpha_dropout(input: Tensor, p: _float, train: _bool) -> Tensor:
    """Dropout that keeps mean and variance after SELU (Klambauer et al. 2017)."""

def alpha_dropout_(input: Tensor, p: _float, train: _bool) -> Tensor:
    """Dropout that keeps mean and variance after SELU (Klambauer et al. 2017)."""

def amax(
    input: Tensor,
    dim: _int | Sequence[_int] | None = ...,
    keepdim: _bool = False,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The greatest over `dim`, not empty; NaN wins, and ties share the
    gradient.
    """

def amin(
    input: Tensor,
    dim: _int | Sequence[_int] | None = ...,
    keepdim: _bool = False,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The least over `dim`, not empty; NaN wins, and ties share the gradient."""

def aminmax(
    input: Tensor,
    *,
    dim: _int | None = None,
    keepdim: _bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Extremes:
    """The least and the greatest, `min` and `max`, of all or along `dim`."""

def angle(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The angle in the complex plane in radians; 0 or pi for real numbers."""

def any(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    keepdim: _bool = False,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """Whether one over `dim` is not zero; false where there are none."""

def arange(
    start: Tensor | _float,
    end: Tensor | _float | None = None,
    step: Tensor | _float = 1,
    *,
    dtype: DType | None = None,
    layout: layout | None = None,
    device: device | str | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """start, start + step, … below `end`; with one argument, 0 to it."""

def arccos(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """Arccosine in radians; NaN outside [-1, 1]."""

def arccos_(input: Tensor) -> Tensor:
    """`arccos` written into the tensor, which is returned."""

def arccosh(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """Inverse hyperbolic cosine; NaN below 1."""

def arccosh_(input: Tensor) -> Tensor:
    """`arccosh` written into the tensor, which is returned."""

def arcsin(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """Arcsine in radians; NaN outside [-1, 1]."""

def arcsin_(input: Tensor) -> Tensor:
    """`arcsin` written into the tensor, which is returned."""

def arcsinh(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """Inverse hyperbolic sine."""

def arcsinh_(input: Tensor) -> Tensor:
    """`arcsinh` written into the tensor, which is returned."""

def arctan(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """Arctangent in radians."""

def arctan2(
    input: Tensor, other: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """The angle of the point (other, input) in radians; IEEE 754 at zeros."""

def arctan_(input: Tensor) -> Tensor:
    """`arctan` written into the tensor, which is returned."""

def arctanh(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """Inverse hyperbolic tangent; infinite at ±1, NaN beyond."""

def arctanh_(input: Tensor) -> Tensor:
    """`arctanh` written into the tensor, which is returned."""

def are_deterministic_algorithms_enabled() -> _bool:
    """Whether algorithms that give the same bits on every run were asked for."""

def argmax(
    input: Tensor,
    dim: _int | None = None,
    keepdim: _bool = False,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """Where along `dim` the greatest is; the first of several, the first NaN."""

def argmin(
    input: Tensor,
    dim: _int | None = None,
    keepdim: _bool = False,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """Where along `dim` the least is; the first of several, the first NaN."""

def argsort(
    input: Tensor, dim: _int = -1, descending: _bool = False, *, stable: _bool = False
) -> Tensor:
    """Where the elements are, in order along `dim`; NaN is the greatest."""

def argwhere(input: Tensor) -> Tensor:
    """Indices of the elements that are not zero, as rows."""

def as_strided(
    input: Tensor,
    size: Sequence[_int],
    stride: Sequence[_int],
    storage_offset: _int | None = None,
) -> Tensor:
    """Elements of the memory by element strides; the offset counts from its
    start.
    """

def as_strided_(
    input: Tensor,
    size: Sequence[_int],
    stride: Sequence[_int],
    storage_offset: _int | None = None,
) -> Tensor:
    """`Tensor.as_strided_` as a function."""

def as_strided_copy(
    input: Tensor,
    size: Sequence[_int],
    stride: Sequence[_int],
    storage_offset: _int | None = None,
) -> Tensor:
    """`as_strided` in memory of its own."""

def as_strided_scatter(
    input: Tensor,
    src: Tensor,
    size: Sequence[_int],
    stride: Sequence[_int],
    storage_offset: _int | None = None,
) -> Tensor:
    """`input` with `src` written over what `as_strided` shows of it."""

def as_tensor(
    data: Any, dtype: DType | None = None, device: device | str | None = None
) -> Tensor:
    """`data` as a tensor, sharing memory where dtype and device allow it."""

def asarray(
    obj: Any,
    *,
    dtype: DType | None = None,
    device: device | str | None = None,
    copy: _bool | None = None,
    requires_grad: _bool | None = None,
) -> Tensor:
    """`obj` as a tensor, sharing memory where it can."""

def asin(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """Arcsine in radians; NaN outside [-1, 1]."""

def asin_(input: Tensor) -> Tensor:
    """`asin` written into the tensor, which is returned."""

def asinh(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """Inverse hyperbolic sine."""

def asinh_(input: Tensor) -> Tensor:
    """`asinh` written into the tensor, which is returned."""

def atan(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """Arctangent in radians."""

def atan2(
    input: Tensor, other: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """The angle of the point (other, input) in radians; IEEE 754 at zeros."""

def atan_(input: Tensor) -> Tensor:
    """`atan` written into the tensor, which is returned."""

def atanh(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """Inverse hyperbolic tangent; infinite at ±1, NaN beyond."""

def atanh_(input: Tensor) -> Tensor:
    """`atanh` written into the tensor, which is returned."""

@overload
def atleast_1d(tensor: Tensor | Sequence[Tensor]) -> Tensor:
    """Views with dims of size 1 added up to 1."""

@overload
def atleast_1d(
    tensor: Tensor | Sequence[Tensor], /, *tensors: Tensor | Sequence[Tensor]
) -> Tensor | tuple[Tensor, ...]: ...
@overload
def atleast_2d(tensor: Tensor | Sequence[Tensor]) -> Tensor:
    """Views with dims of size 1 added up to 2."""

@overload
def atleast_2d(
    tensor: Tensor | Sequence[Tensor], /, *tensors: Tensor | Sequence[Tensor]
) -> Tensor | tuple[Tensor, ...]: ...
@overload
def atleast_3d(tensor: Tensor | Sequence[Tensor]) -> Tensor:
    """Views with dims of size 1 added up to 3."""

@overload
def atleast_3d(
    tensor: Tensor | Sequence[Tensor], /, *tensors: Tensor | Sequence[Tensor]
) -> Tensor | tuple[Tensor, ...]: ...
def avg_pool1d(
    input: Tensor,
    kernel_size: _int | Iterable[_int],
    stride: _int | Iterable[_int] | None = ...,
    padding: _int | Iterable[_int] = 0,
    ceil_mode: _bool = False,
    count_include_pad: _bool = True,
) -> Tensor:
    """The mean of each window over 1 axes."""

def baddbmm(
    input: Tensor,
    batch1: Tensor,
    batch2: Tensor,
    *,
    beta: _complex = 1,
    alpha: _complex = 1,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """beta * input + alpha * the products of a batch, rounded once."""

def bartlett_window(
    window_length: _int,
    periodic: _bool = True,
    *,
    dtype: DType | None = None,
    layout: layout | None = None,
    device: device | str | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """A triangle between zeros."""

def batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: _bool,
    momentum: _float,
    eps: _float,
    cudnn_enabled: _bool,
) -> Tensor:
    """`nn.functional.batch_norm` with its arguments in another order."""

def bernoulli(
    input: Tensor,
    p: _float | None = None,
    *,
    generator: _Generator | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """1 with the probability in `input` (or with `p`, in its shape), else 0."""

bfloat16: DType

def bilinear(
    input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None
) -> Tensor:
    """`input1 @ weight[k] @ input2` for each of the k outputs, plus `bias`."""

def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    pos_weight: Tensor | None = None,
    reduction: _int = 1,
) -> Tensor:
    """The function of nn.functional, its reduction 0 (none), 1 (mean) or 2
    (sum).
    """

def bincount(
    input: Tensor,
    weights: Tensor | None = None,
    minlength: _int = 0,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """How often each of 0, 1, … occurs, or the sum of its weights."""

def binomial(
    count: Tensor, prob: Tensor, generator: _Generator | None = None
) -> Tensor:
    """How many of `count` tries succeed, each with the probability `prob`."""

def bitwise_and(
    input: Tensor | _complex,
    other: Tensor | _complex,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """Bitwise and."""

def bitwise_left_shift(
    input: Tensor | _complex,
    other: Tensor | _complex,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """`input` shifted left; 0 where `other` is negative or not below the
    width.
    """

def bitwise_not(
    input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """Bits inverted; `not` for bools."""

def bitwise_or(
    input: Tensor | _complex,
    other: Tensor | _complex,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """Bitwise or."""

def bitwise_right_shift(
    input: Tensor | _complex,
    other: Tensor | _complex,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """`input` shifted right by any count, its sign coming in (arithmetic)."""

def bitwise_xor(
    input: Tensor | _complex,
    other: Tensor | _complex,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """Bitwise exclusive or."""

def blackman_window(
    window_length: _int,
    periodic: _bool = True,
    *,
    dtype: DType | None = None,
    layout: layout | None = None,
    device: device | str | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """Blackman's window, of three cosines."""

def block_diag(*tensors: Tensor) -> Tensor:
    """A matrix with the tensors, as matrices, along its diagonal, else zeros."""

def bmm(
    input: Tensor, mat2: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """Products of a batch of matrices [b, n, k] and [b, k, m]."""

bool: DType

def broadcast_shapes(*shapes: _int | Sequence[_int]) -> Size:
    """The common shape of operands of these shapes."""

def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    """The tensors expanded to their common shape."""

def broadcast_to(input: Tensor, size: Sequence[_int]) -> Tensor:
    """Dims of size 1 repeated to `size`, without a copy; -1 keeps one; new
    dims lead.
    """

def bucketize(
    input: Any,
    boundaries: Tensor,
    *,
    out_int32: _bool = False,
    right: _bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The number of the bucket between sorted boundaries that each value lies
    in.
    """

def cartesian_prod(*tensors: Tensor) -> Tensor:
    """Every combination of one element from each tensor, as rows."""

def cat(
    tensors: Sequence[Tensor],
    dim: _int = 0,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The tensors one behind the other along an existing dim."""

def cdist(
    x1: Tensor,
    x2: Tensor,
    p: _float = 2.0,
    compute_mode: str = "use_mm_for_euclid_dist_if_necessary",
) -> Tensor:
    """The `p` norm distance of each row of `x1` to each row of `x2`."""

cdouble: DType

def ceil(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The least integer not below; -0 stays, as integers do."""

def ceil_(input: Tensor) -> Tensor:
    """`ceil` written into the tensor, which is returned."""

def celu(input: Tensor, alpha: _float = 1.0) -> Tensor:
    """`input`, and alpha * expm1(input / alpha) below zero (Barron 2017)."""

def celu_(input: Tensor, alpha: _float = 1.0) -> Tensor:
    """`celu` written into the tensor, which is returned."""

cfloat: DType

def chain_matmul(
    *matrices: Tensor, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """The product of several matrices in the order that costs least."""

chalf: NamedDType

def channel_shuffle(input: Tensor, groups: _int) -> Tensor:
    """Channels of several groups, one of each in turn (arXiv:1707.01083)."""

channels_last: memory_format
channels_last_3d: memory_format

def cholesky(
    input: Tensor,
    upper: _bool = False,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """`linalg.cholesky` under its older name."""

def cholesky_inverse(
    input: Tensor,
    upper: _bool = False,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The inverse of A, of which `input` is Cholesky's factor."""

def cholesky_solve(
    input: Tensor,
    input2: Tensor,
    upper: _bool = False,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The X of A X = `input`, by Cholesky's factor `input2` of A."""

def chunk(input: Tensor, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
    """At most `chunks` parts along `dim`, of equal size but for the last."""

def clamp(
    input: Tensor,
    min: Tensor | _complex | None = None,
    max: Tensor | _complex | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """`input` raised to `min`, then lowered to `max`: numbers, tensors or
    None.
    """

def clamp_(
    input: Tensor,
    min: Tensor | _complex | None = None,
    max: Tensor | _complex | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """`clamp` written into the tensor, which is returned."""

def clamp_max(
    input: Tensor,
    max: Tensor | _complex,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """`input` lowered to `max`."""

def clamp_max_(
    input: Tensor,
    max: Tensor | _complex,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """`clamp_max` written into the tensor, which is returned."""

def clamp_min(
    input: Tensor,
    min: Tensor | _complex,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """`input` raised to `min`."""

def clamp_min_(
    input: Tensor,
    min: Tensor | _complex,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """`clamp_min` written into the tensor, which is returned."""

def clip(
    input: Tensor,
    min: Tensor | _complex | None = None,
    max: Tensor | _complex | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """`input` raised to `min`, then lowered to `max`: numbers, tensors or
    None.
    """

def clip_(
    input: Tensor,
    min: Tensor | _complex | None = None,
    max: Tensor | _complex | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """`clip` written into the tensor, which is returned."""

def clone(input: Tensor, *, memory_format: memory_format | None = ...) -> Tensor:
    """A copy in memory of its own."""

def col_indices_copy(input: Tensor) -> Tensor:
    """`col_indices` in memory of its own."""

def column_stack(
    tensors: Sequence[Tensor], *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """Side by side along dim 1, one-dimensional tensors being columns."""

def combinations(input: Tensor, r: _int = 2, with_replacement: _bool = False) -> Tensor:
    """Rows of `r` elements of a vector, in the order of
    `itertools.combinations`.
    """

def complex(
    real: Tensor, imag: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """real + imag * i."""

complex128: DType
complex32: NamedDType
complex64: DType

def concat(
    tensors: Sequence[Tensor],
    dim: _int = 0,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The tensors one behind the other along an existing dim."""

def concatenate(
    tensors: Sequence[Tensor],
    dim: _int = 0,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The tensors one behind the other along an existing dim."""

def cond(
    pred: _bool | Tensor,
    true_fn: Callable[..., Any],
    false_fn: Callable[..., Any],
    operands: tuple[Any, ...] | list[Any] = ...,
) -> Any:
    """What one of two functions gives for the operands, by a bool or a 0-d
    tensor.
    """

def conj(input: Tensor) -> Tensor:
    """The complex conjugate; a real tensor is its own."""

def conj_physical(
    input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """The complex conjugate, computed; real numbers are unchanged."""

def conj_physical_(input: Tensor) -> Tensor:
    """`conj_physical` written into the tensor, which is returned."""

def constant_pad_nd(input: Tensor, pad: Sequence[_int], value: _complex = 0) -> Tensor:
    """Margins of one value, the last dim's first."""

contiguous_format: memory_format

def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _int | Iterable[_int] = 1,
    padding: _int | Iterable[_int] | str = 0,
    dilation: _int | Iterable[_int] = 1,
    groups: _int = 1,
) -> Tensor:
    """Cross-correlation over 1 spatial axes."""

def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _int | Iterable[_int] = 1,
    padding: _int | Iterable[_int] | str = 0,
    dilation: _int | Iterable[_int] = 1,
    groups: _int = 1,
) -> Tensor:
    """Cross-correlation over 2 spatial axes."""

def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _int | Iterable[_int] = 1,
    padding: _int | Iterable[_int] | str = 0,
    dilation: _int | Iterable[_int] = 1,
    groups: _int = 1,
) -> Tensor:
    """Cross-correlation over 3 spatial axes."""

def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: _int = 0) -> Tensor:
    """`conv1d` of sequences [t, n, channels]."""

def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _int | Iterable[_int] = 1,
    padding: _int | Iterable[_int] = 0,
    output_padding: _int | Iterable[_int] = 0,
    groups: _int = 1,
    dilation: _int | Iterable[_int] = 1,
) -> Tensor:
    """The adjoint of `conv1d` in its input."""

def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _int | Iterable[_int] = 1,
    padding: _int | Iterable[_int] = 0,
    output_padding: _int | Iterable[_int] = 0,
    groups: _int = 1,
    dilation: _int | Iterable[_int] = 1,
) -> Tensor:
    """The adjoint of `conv2d` in its input."""

def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _int | Iterable[_int] = 1,
    padding: _int | Iterable[_int] = 0,
    output_padding: _int | Iterable[_int] = 0,
    groups: _int = 1,
    dilation: _int | Iterable[_int] = 1,
) -> Tensor:
    """The adjoint of `conv3d` in its input."""

def convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: _int | Iterable[_int],
    padding: _int | Iterable[_int],
    dilation: _int | Iterable[_int],
    transposed: _bool = False,
    output_padding: _int | Iterable[_int] = 0,
    groups: _int = 1,
) -> Tensor:
    """Convolution, or its transpose, over as many axes as the weight has
    behind two.
    """

def copysign(
    input: Tensor,
    other: Tensor | _complex,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The magnitude of `input` with the sign of `other`, of -0 and NaN too."""

def corrcoef(input: Tensor) -> Tensor:
    """The correlation of variables (rows), limited to -1 and 1."""

def cos(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """Cosine of `input` in radians, at most 4 ulp."""

def cos_(input: Tensor) -> Tensor:
    """`cos` written into the tensor, which is returned."""

def cosh(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """Hyperbolic cosine."""

def cosh_(input: Tensor) -> Tensor:
    """`cosh` written into the tensor, which is returned."""

def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: _float = 0.0,
    reduction: _int = 1,
) -> Tensor:
    """The function of nn.functional, its reduction 0 (none), 1 (mean) or 2
    (sum).
    """

def cosine_similarity(
    x1: Tensor, x2: Tensor, dim: _int = 1, eps: _float = 1e-08
) -> Tensor:
    """The cosine between vectors along `dim`, their norms taken as at least
    `eps`.
    """

def count_nonzero(input: Tensor, dim: _int | Sequence[_int] | None = None) -> Tensor:
    """How many over `dim` are not zero."""

def cov(
    input: Tensor,
    *,
    correction: _int = 1,
    fweights: Tensor | None = None,
    aweights: Tensor | None = None,
) -> Tensor:
    """The covariance of variables (rows) over observations (columns)."""

def cross(
    input: Tensor,
    other: Tensor,
    dim: _int | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The vector product along `dim`, where both have size 3."""

def crow_indices_copy(input: Tensor) -> Tensor:
    """`crow_indices` in memory of its own."""

def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | Sequence[_int],
    target_lengths: Tensor | Sequence[_int],
    blank: _int = 0,
    reduction: _int = 1,
    zero_infinity: _bool = False,
) -> Tensor:
    """`nn.functional.ctc_loss`, with the reduction as a number: none, mean or
    sum.
    """

def cummax(
    input: Tensor, dim: _int, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Valued:
    """The greatest so far along `dim`, and where it is; the last of several or
    NaNs.
    """

def cummin(
    input: Tensor, dim: _int, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Valued:
    """The least so far along `dim`, and where it is; the last of several or
    NaNs.
    """

def cumprod(
    input: Tensor,
    dim: _int,
    *,
    dtype: DType | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """Products of the elements so far; integers in int64."""

def cumsum(
    input: Tensor,
    dim: _int,
    *,
    dtype: DType | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """Sums of the elements so far; integers in int64."""

def cumulative_trapezoid(
    y: Tensor,
    x: Tensor | None = None,
    *,
    dx: Tensor | _float | None = None,
    dim: _int = -1,
) -> Tensor:
    """The integral so far along `dim` by the trapezoidal rule."""

def current_stream(device: device | str | None = None) -> _Stream:
    """The stream that this context's work on a device (the default one) goes
    to.
    """

def default_stream(device: device | str | None = None) -> _Stream:
    """The stream that work on a device goes to where none is chosen."""

def deg2rad(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """Degrees as radians."""

def deg2rad_(input: Tensor) -> Tensor:
    """`deg2rad` written into the tensor, which is returned."""

def det(input: Tensor) -> Tensor:
    """The determinant of square matrices."""

def detach(input: Tensor) -> Tensor:
    """The same memory outside the graph; writes show in both."""

def detach_(input: Tensor) -> Tensor:
    """`Tensor.detach_` as a function."""

def detach_copy(input: Tensor) -> Tensor:
    """`detach` in memory of its own."""

def devices() -> list[device]:
    """Every device whose backend loads; `dovetail devices` tells why others do
    not.
    """

def diag(
    input: Tensor, diagonal: _int = 0, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """A matrix with `input` on a diagonal, or a copy of the diagonal of a
    matrix.
    """

def diag_embed(
    input: Tensor, offset: _int = 0, dim1: _int = -2, dim2: _int = -1
) -> Tensor:
    """Matrices in two new dims, the last dim of `input` as a diagonal in
    zeros.
    """

def diagflat(input: Tensor, offset: _int = 0) -> Tensor:
    """A matrix with all elements of `input` on a diagonal."""

def diagonal(input: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
    """A diagonal of the matrices in two dims, as the last dim; above for
    offset > 0.
    """

def diagonal_copy(
    input: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1
) -> Tensor:
    """`diagonal` in memory of its own."""

def diagonal_scatter(
    input: Tensor, src: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1
) -> Tensor:
    """`input` with `src` as a diagonal."""

def diff(
    input: Tensor,
    n: _int = 1,
    dim: _int = -1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """Differences of neighbours along `dim`, taken `n` times."""

def digamma(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The derivative of lgamma (DLMF 5.5.2, 5.5.4, 5.11.2)."""

def dist(input: Tensor, other: Tensor, p: Any = 2) -> Tensor:
    """The p-norm of the difference."""

def div(
    input: Tensor | _complex,
    other: Tensor | _complex,
    *,
    rounding_mode: Literal["trunc", "floor"] | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """input / other: exact, towards zero (`"trunc"`) or down (`"floor"`)."""

def divide(
    input: Tensor | _complex,
    other: Tensor | _complex,
    *,
    rounding_mode: Literal["trunc", "floor"] | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """input / other: exact, towards zero (`"trunc"`) or down (`"floor"`)."""

def dot(
    input: Tensor, tensor: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """The sum of the products of two vectors' elements."""

double: DType

def dropout(input: Tensor, p: _float, train: _bool) -> Tensor:
    """Zero each element with probability `p`, and scale the others by `1 / (1
    - p)`.
    """

def dropout_(input: Tensor, p: _float, train: _bool) -> Tensor:
    """Zero each element with probability `p`, and scale the others by `1 / (1
    - p)`.
    """

def dsmm(input: Tensor, mat2: Tensor) -> Tensor:
    """`sparse.mm` under its older names."""

def dsplit(
    input: Tensor,
    sections: _int | Sequence[_int] | Tensor | None = None,
    *,
    indices: Sequence[_int] | Tensor | None = None,
) -> tuple[Tensor, ...]:
    """Parts along dim 2, as `tensor_split` cuts them."""

def dstack(
    tensors: Sequence[Tensor], *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """One behind the other in depth: along dim 2."""

def einsum(*args: Any) -> Tensor:
    """Einstein summation: `einsum("ij,jk->ik", a, b)`, or with lists of
    numbers.
    """

def embedding(
    weight: Tensor,
    indices: Tensor,
    padding_idx: _int = -1,
    scale_grad_by_freq: _bool = False,
    sparse: _bool = False,
) -> Tensor:
    """The rows of `weight` that `indices` names; the padding row gets no
    gradient.
    """

def empty(
    *size: _int | Sequence[_int],
    memory_format: memory_format | None = ...,
    dtype: DType | None = None,
    layout: layout | None = None,
    device: device | str | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """A tensor with unspecified contents, whose dims lie in a memory format."""

def empty_like(
    input: Tensor,
    *,
    dtype: DType | None = None,
    layout: layout | None = None,
    device: device | str | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
    memory_format: memory_format | None = None,
) -> Tensor:
    """`empty` in the shape, dtype and device of `input`."""

def empty_permuted(
    size: Sequence[_int],
    physical_layout: Sequence[_int],
    *,
    dtype: DType | None = None,
    layout: layout | None = None,
    device: device | str | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """Unspecified contents, the dims lying in memory in the order given."""

def empty_strided(
    size: Sequence[_int],
    stride: Sequence[_int],
    *,
    dtype: DType | None = None,
    layout: layout | None = None,
    device: device | str | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """Unspecified contents under given element strides."""

def eq(
    input: Tensor,
    other: Tensor | _complex,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """Whether input equals other; NaN compares false."""

def equal(input: Tensor, other: Tensor) -> _bool:
    """Whether two tensors have one shape and equal elements."""

def erf(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The error function, 2 / sqrt(pi) times the integral of exp(-t²) up to
    it.
    """

def erf_(input: Tensor) -> Tensor:
    """`erf` written into the tensor, which is returned."""

def erfc(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """1 - erf(input), accurate where it is small."""

def erfc_(input: Tensor) -> Tensor:
    """`erfc` written into the tensor, which is returned."""

def erfinv(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The inverse of erf; infinite at ±1, NaN beyond."""

def exp(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """e to the power of `input`, at most 3 ulp."""

def exp2(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """2 to the power of input."""

def exp2_(input: Tensor) -> Tensor:
    """`exp2` written into the tensor, which is returned."""

def exp_(input: Tensor) -> Tensor:
    """`exp` written into the tensor, which is returned."""

def expand_copy(
    input: Tensor, size: Sequence[_int], *, implicit: _bool = False
) -> Tensor:
    """`expand` in memory of its own."""

def expm1(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """exp(input) - 1, accurate near 0 (Kahan; Higham 2002, section 1.14.1)."""

def expm1_(input: Tensor) -> Tensor:
    """`expm1` written into the tensor, which is returned."""

def eye(
    n: _int,
    m: _int | None = None,
    *,
    dtype: DType | None = None,
    layout: layout | None = None,
    device: device | str | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """A matrix with ones on the diagonal and zeros elsewhere."""

def feature_alpha_dropout(input: Tensor, p: _float, train: _bool) -> Tensor:
    """`alpha_dropout` of whole channels."""

def feature_alpha_dropout_(input: Tensor, p: _float, train: _bool) -> Tensor:
    """`alpha_dropout` of whole channels."""

def feature_dropout(input: Tensor, p: _float, train: _bool) -> Tensor:
    """`dropout` of whole channels of [n, c, …] (Tompson et al. 2015)."""

def feature_dropout_(input: Tensor, p: _float, train: _bool) -> Tensor:
    """`dropout` of whole channels of [n, c, …] (Tompson et al. 2015)."""

def fill(
    input: Tensor, value: Any, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """A copy with every element `value`, a number or a 0-d tensor."""

def fill_(input: Tensor, value: Any) -> Tensor:
    """`Tensor.fill_` as a function."""

def fix(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The integer part, towards zero; -0 stays, as integers do."""

def fix_(input: Tensor) -> Tensor:
    """`fix` written into the tensor, which is returned."""

def flatten(input: Tensor, start_dim: _int = 0, end_dim: _int = -1) -> Tensor:
    """The dims from `start_dim` to `end_dim` made one; itself if it is one
    dim.
    """

def flip(input: Tensor, dims: Sequence[_int]) -> Tensor:
    """`input` with the order along `dims` reversed."""

def fliplr(input: Tensor) -> Tensor:
    """Columns in the opposite order."""

def flipud(input: Tensor) -> Tensor:
    """Rows in the opposite order."""

float: DType
float16: DType
float32: DType
float64: DType
float8_e4m3fn: DType
float8_e4m3fnuz: DType
float8_e5m2: DType
float8_e5m2fnuz: DType
float8_e8m0fnu: DType

def float_power(
    input: Tensor | _complex,
    exponent: Tensor | _complex,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """`input` to the power of `exponent`, computed in float64 or complex128."""

def floor(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The greatest integer not above; -0 stays, as integers do."""

def floor_(input: Tensor) -> Tensor:
    """`floor` written into the tensor, which is returned."""

def floor_divide(
    input: Tensor | _complex,
    other: Tensor | _complex,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """input / other rounded down. Raises: DivisionByZero for integers by 0."""

def fmax(
    input: Tensor, other: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """The greater of each pair; of a number and NaN, the number."""

def fmin(
    input: Tensor, other: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """The less of each pair; of a number and NaN, the number."""

def fmod(
    input: Tensor,
    other: Tensor | _complex,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """What truncated division leaves, with the sign of `input`."""

def frac(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """What `trunc` takes away."""

def frac_(input: Tensor) -> Tensor:
    """`frac` written into the tensor, which is returned."""

def frexp(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Any:
    """A mantissa from 0.5 to 1 and a power of 2, whose product `input` is."""

def from_dlpack(
    ext_tensor: Any, *, device: device | str | None = None, copy: _bool | None = None
) -> Tensor:
    """A tensor over the memory of another library's, or of a DLPack capsule."""

def from_file(
    filename: str,
    shared: _bool | None = None,
    size: _int | None = 0,
    *,
    dtype: DType | None = None,
    layout: layout | None = None,
    device: device | str | None = None,
    pin_memory: _bool | None = False,
    requires_grad: _bool = False,
) -> Tensor:
    """A CPU tensor over the bytes of a file."""

def from_numpy(ndarray: ndarray[Any, Any]) -> Tensor:
    """A CPU tensor over the memory of a NumPy array: writes show in both."""

def frombuffer(
    buffer: Any,
    *,
    dtype: DType,
    count: _int = -1,
    offset: _int = 0,
    requires_grad: _bool = False,
) -> Tensor:
    """A one-dimensional CPU tensor over the memory of a writable buffer."""

def full(
    size: Sequence[_int],
    fill_value: Any,
    *,
    dtype: DType | None = None,
    layout: layout | None = None,
    device: device | str | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """Every element `fill_value`, whose type decides the dtype where none is
    named.
    """

def full_like(
    input: Tensor,
    fill_value: Any,
    *,
    dtype: DType | None = None,
    layout: layout | None = None,
    device: device | str | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
    memory_format: memory_format | None = None,
) -> Tensor:
    """`full` in the shape, dtype and device of `input`."""

def gather(
    input: Tensor,
    dim: _int,
    index: Tensor,
    *,
    sparse_grad: _bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """`input[..., index[..., i, ...], ...]` along `dim`, in the shape of
    `index`.
    """

def gcd(
    input: Tensor, other: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """The greatest common divisor, not negative, by Euclid's algorithm."""

def gcd_(input: Tensor, other: Tensor) -> Tensor:
    """`gcd` written into the tensor, which is returned."""

def ge(
    input: Tensor,
    other: Tensor | _complex,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """Whether input >= other; NaN compares false."""

def geqrf(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Any:
    """R, and below its diagonal the reflections that make it, with their
    factors.
    """

def ger(
    input: Tensor, vec2: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """The products of each element of one vector with each of another."""

def get_default_device() -> device:
    """Where tensors are made that name no device."""

def get_deterministic_debug_mode() -> _int:
    """The choice as a number: 0 default, 1 warn, 2 error."""

def get_device(input: Tensor) -> _int:
    """The index of the device, -1 where it has none, as on the CPU."""

def get_float32_matmul_precision() -> str:
    """How coarse products of float32 matrices may be."""

def get_num_interop_threads() -> _int:
    """How many threads may run ops beside one another for one program."""

def get_rng_state(device: Any = "cpu,auto") -> Tensor:
    """The state of a device's default generator, as a uint8 tensor."""

def gradient(
    input: Tensor,
    *,
    spacing: _complex | Sequence[Any] | None = 1,
    dim: _int | Sequence[_int] | None = None,
    edge_order: _int = 1,
) -> tuple[Tensor, ...]:
    """Estimates of the derivative along each of `dim`, one tensor a dim."""

def greater(
    input: Tensor,
    other: Tensor | _complex,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """Whether input > other; NaN compares false."""

def greater_equal(
    input: Tensor,
    other: Tensor | _complex,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """Whether input >= other; NaN compares false."""

def grid_sampler(
    input: Tensor,
    grid: Tensor,
    interpolation_mode: _int,
    padding_mode: _int,
    align_corners: _bool,
) -> Tensor:
    """`nn.functional.grid_sample`, its modes by their places in torch's lists."""

def grid_sampler_2d(
    input: Tensor,
    grid: Tensor,
    interpolation_mode: _int,
    padding_mode: _int,
    align_corners: _bool,
) -> Tensor:
    """`nn.functional.grid_sample`, its modes by their places in torch's lists."""

def grid_sampler_3d(
    input: Tensor,
    grid: Tensor,
    interpolation_mode: _int,
    padding_mode: _int,
    align_corners: _bool,
) -> Tensor:
    """`nn.functional.grid_sample`, its modes by their places in torch's lists."""

def group_norm(
    input: Tensor,
    num_groups: _int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: _float = 1e-05,
) -> Tensor:
    """Mean 0 and variance 1 over groups of channels (Wu & He 2018,
    arXiv:1803.08494).
    """

def gru_cell(
    input: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    """One step of a GRU: the hidden state."""

def gt(
    input: Tensor,
    other: Tensor | _complex,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """Whether input > other; NaN compares false."""

half: DType

def hamming_window(
    window_length: _int,
    periodic: _bool = True,
    alpha: _float = 0.54,
    beta: _float = 0.46,
    *,
    dtype: DType | None = None,
    layout: layout | None = None,
    device: device | str | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """alpha - beta cos of one turn."""

def hann_window(
    window_length: _int,
    periodic: _bool = True,
    *,
    dtype: DType | None = None,
    layout: layout | None = None,
    device: device | str | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """Hann's window; `periodic` for one period of it, without its last point."""

def hardshrink(
    input: Tensor,
    lambd: _complex = 0.5,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """`input`, and 0 where its magnitude is at most `lambd`."""

def hash_tensor(
    input: Tensor,
    dim: _int | Sequence[_int] = ...,
    *,
    keepdim: _bool = False,
    mode: _int = 0,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The exclusive or of the elements over `dim`, each widened to 64 bits."""

def heaviside(
    input: Tensor, values: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """0 below zero and for NaN, 1 above, `values` at zero."""

def hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: _float = 1.0, reduction: _int = 1
) -> Tensor:
    """The function of nn.functional, its reduction 0 (none), 1 (mean) or 2
    (sum).
    """

def histc(
    input: Tensor,
    bins: _int = 100,
    min: _float = 0,
    max: _float = 0,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """How many elements lie in each of `bins` equal parts of min to max."""

def histogram(
    input: Tensor,
    bins: _int | Tensor,
    *,
    range: Sequence[_float] | None = None,
    weight: Tensor | None = None,
    density: _bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Any:
    """How many elements lie in each bin, and the edges of the bins."""

def histogramdd(
    input: Tensor,
    bins: _int | Sequence[_int] | Sequence[Tensor],
    range: Sequence[_float] | None = None,
    weight: Tensor | None = None,
    density: _bool = False,
) -> Any:
    """How many points lie in each box, and the edges of the boxes."""

def hsmm(input: Tensor, mat2: Tensor) -> Tensor:
    """`sparse.mm` under its older names."""

def hsplit(
    input: Tensor,
    sections: _int | Sequence[_int] | Tensor | None = None,
    *,
    indices: Sequence[_int] | Tensor | None = None,
) -> tuple[Tensor, ...]:
    """Parts along dim 1, as `tensor_split` cuts them."""

def hspmm(mat1: Tensor, mat2: Tensor) -> Tensor:
    """A sparse matrix by a dense one, of which the rows that have elements are
    kept.
    """

def hstack(
    tensors: Sequence[Tensor], *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """Side by side: along dim 1, or 0 for one-dimensional tensors."""

def hypot(
    input: Tensor, other: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """sqrt(input² + other²) without overflow between."""

def i0(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The modified Bessel function I of order 0."""

def i0_(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """`i0` written into the tensor, which is returned."""

def igamma(
    input: Tensor, other: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """The share of the gamma integral of `input` that lies below `other`: P(a,
    x).
    """

def igammac(
    input: Tensor, other: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """The share of the gamma integral of `input` that lies above `other`: Q(a,
    x).
    """

def imag(input: Tensor) -> Tensor:
    """The imaginary part of a complex tensor, a view of its memory."""

def index_add(
    input: Tensor,
    dim: _int,
    index: Tensor,
    source: Tensor,
    *,
    alpha: _float = 1,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """`input` with `alpha` times the slices of `source` added at the indices."""

def index_copy(
    input: Tensor,
    dim: _int,
    index: Tensor,
    source: Tensor,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """`input` with the slices of `source` written at the indices."""

def index_fill(
    input: Tensor,
    dim: _int,
    index: Tensor,
    value: Any,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """`input` with one value in the slices at the indices, which may be
    negative.
    """

def index_put(
    input: Tensor,
    indices: Sequence[Tensor | None],
    values: Tensor,
    accumulate: _bool = False,
) -> Tensor:
    """`input` with `values` written, or added, at tuples of indices."""

def index_put_(
    input: Tensor,
    indices: Sequence[Tensor | None],
    values: Tensor,
    accumulate: _bool = False,
) -> Tensor:
    """Write `values` into `input`, or add them, at tuples of indices."""

def index_reduce(
    input: Tensor,
    dim: _int,
    index: Tensor,
    source: Tensor,
    reduce: Literal["prod", "mean", "amax", "amin"],
    *,
    include_self: _bool = True,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """`input` with slices of `source` combined into the places `index` along
    `dim`.
    """

def index_select(
    input: Tensor,
    dim: _int,
    index: Tensor,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The slices along `dim` that a one-dimensional index names."""

def indices_copy(input: Tensor) -> Tensor:
    """`indices` in memory of its own."""

def init_num_threads() -> None:
    """Nothing: every thread has the number that `set_num_threads` has set."""

def initial_seed() -> _int:
    """The seed of the CPU's default generator."""

def inner(
    input: Tensor, other: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """Products over the last dims of both; with a 0-d tensor, multiplication."""

def instance_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: _bool,
    momentum: _float,
    eps: _float,
    cudnn_enabled: _bool,
) -> Tensor:
    """`nn.functional.instance_norm` with its arguments in another order."""

int: DType
int16: DType
int32: DType
int64: DType
int8: DType

def inverse(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """`linalg.inv` under its older name."""

def is_available(device: device | str) -> _bool:
    """Whether tensors can be made on `device`; tries to load its backend."""

def is_complex(input: Tensor) -> _bool:
    """Whether the dtype is complex."""

def is_conj(input: Tensor) -> _bool:
    """False: conjugates and negations are computed at once."""

def is_deterministic_algorithms_warn_only_enabled() -> _bool:
    """Whether the lack of a deterministic algorithm shall only warn."""

def is_distributed(input: Tensor) -> _bool:
    """False: a tensor lies on one device."""

def is_floating_point(input: Tensor) -> _bool:
    """Whether the dtype is a real floating point format."""

def is_inference(input: Tensor) -> _bool:
    """Whether a tensor was made in `inference_mode`, or looks into one that
    was.
    """

def is_neg(input: Tensor) -> _bool:
    """False: conjugates and negations are computed at once."""

def is_nonzero(input: Tensor) -> _bool:
    """Whether the one element is not zero; waits for it."""

def is_same_size(input: Tensor, other: Tensor) -> _bool:
    """Whether two tensors have one shape."""

def is_signed(input: Tensor) -> _bool:
    """Whether the dtype has negative values."""

def is_storage(obj: Any) -> _bool:
    """Whether an object is the storage of a tensor."""

def is_tensor(obj: Any) -> _bool:
    """Whether an object is a Tensor."""

def is_warn_always_enabled() -> _bool:
    """Whether dovetail's warnings are shown each time."""

def isclose(
    input: Tensor,
    other: Tensor,
    rtol: _float = 1e-05,
    atol: _float = 1e-08,
    equal_nan: _bool = False,
) -> Tensor:
    """Whether |input - other| <= atol + rtol |other|, or both are equal."""

def isfinite(input: Tensor) -> Tensor:
    """Whether an element is neither infinite nor NaN."""

def isin(
    elements: Tensor | _complex,
    test_elements: Tensor | _complex,
    *,
    assume_unique: _bool = False,
    invert: _bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """Whether each element is among others: of integers and real floats."""

def isinf(input: Tensor) -> Tensor:
    """Whether an element, or a part of it, is infinite."""

def isnan(input: Tensor) -> Tensor:
    """Whether an element is NaN, which is never so for integers."""

def isneginf(
    input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """Whether an element is -inf."""

def isposinf(
    input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """Whether an element is +inf."""

def isreal(input: Tensor) -> Tensor:
    """Whether the imaginary part is 0."""

def istft(
    input: Tensor,
    n_fft: _int,
    hop_length: _int | None = None,
    win_length: _int | None = None,
    window: Tensor | None = None,
    center: _bool = True,
    normalized: _bool = False,
    onesided: _bool | None = None,
    length: _int | None = None,
    return_complex: _bool = False,
) -> Tensor:
    """The signal whose `stft` is nearest (Griffin and Lim 1984)."""

jagged: layout

def kaiser_window(
    window_length: _int,
    periodic: _bool = True,
    beta: _float = 12.0,
    *,
    dtype: DType | None = None,
    layout: layout | None = None,
    device: device | str | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """Kaiser's window, of a Bessel function."""

def kl_div(
    input: Tensor, target: Tensor, reduction: _int = 1, *, log_target: _bool = False
) -> Tensor:
    """`nn.functional.kl_div`, its reduction 0 for none, 1 for mean or 2 for
    sum.
    """

def kron(
    input: Tensor, other: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """Each element of `input` times the whole of `other`, as blocks."""

def kthvalue(
    input: Tensor,
    k: _int,
    dim: _int = -1,
    keepdim: _bool = False,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Valued:
    """The k-th least along `dim`, counted from 1."""

def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[_int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: _float = 1e-05,
) -> Tensor:
    """Mean 0 and variance 1 over the last dims (Ba et al. 2016,
    arXiv:1607.06450).
    """

def lcm(
    input: Tensor, other: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """The least common multiple, not negative while it fits; 0 if either is 0."""

def lcm_(input: Tensor, other: Tensor) -> Tensor:
    """`lcm` written into the tensor, which is returned."""

def ldexp(
    input: Tensor, other: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """input * 2 ** other; integers become floats."""

def ldexp_(
    input: Tensor, other: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """`ldexp` written into the tensor, which is returned."""

def le(
    input: Tensor,
    other: Tensor | _complex,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """Whether input <= other; NaN compares false."""

def lerp(
    input: Tensor,
    end: Tensor,
    weight: Tensor,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """input + weight * (end - input), which is exactly `end` where the weight
    is 1.
    """

def less(
    input: Tensor,
    other: Tensor | _complex,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """Whether input < other; NaN compares false."""

def less_equal(
    input: Tensor,
    other: Tensor | _complex,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """Whether input <= other; NaN compares false."""

def lgamma(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The logarithm of |gamma(input)|: recurrence, Stirling's series,
    reflection.
    """

def linspace(
    start: _complex,
    end: _complex,
    steps: _int,
    *,
    dtype: DType | None = None,
    layout: layout | None = None,
    device: device | str | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """`steps` evenly spaced numbers from `start` to `end`, both included."""

def lobpcg(
    A: Tensor,
    k: _int | None = None,
    B: Tensor | None = None,
    X: Tensor | None = None,
    n: _int | None = None,
    iK: Tensor | None = None,
    niter: _int | None = None,
    tol: _float | None = None,
    largest: _bool | None = None,
    method: str | None = None,
    tracker: None = None,
    ortho_iparams: Any = None,
    ortho_fparams: Any = None,
    ortho_bparams: Any = None,
) -> tuple[Tensor, Tensor]:
    """The `k` greatest (or least) eigenvalues of A x = w B x, and their
    vectors.
    """

def log(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """Natural logarithm, at most 3 ulp; -inf at 0, NaN below."""

def log10(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The logarithm to base 10."""

def log10_(input: Tensor) -> Tensor:
    """`log10` written into the tensor, which is returned."""

def log1p(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """log(1 + input), accurate near 0 (Kahan; Higham 2002, problem 1.5)."""

def log1p_(input: Tensor) -> Tensor:
    """`log1p` written into the tensor, which is returned."""

def log2(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The logarithm to base 2."""

def log2_(input: Tensor) -> Tensor:
    """`log2` written into the tensor, which is returned."""

def log_(input: Tensor) -> Tensor:
    """`log` written into the tensor, which is returned."""

def log_softmax(
    input: Tensor,
    dim: _int,
    dtype: DType | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The logarithm of softmax, without its rounding; `dtype` is cast to
    first.
    """

def logaddexp(
    input: Tensor, other: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """log(exp(input) + exp(other)) without overflow."""

def logaddexp2(
    input: Tensor, other: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """log2(2^input + 2^other) without overflow."""

def logcumsumexp(
    input: Tensor, dim: _int, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """The logarithm of the cumulative sum of exponentials along `dim`."""

def logdet(input: Tensor) -> Tensor:
    """The logarithm of the determinant; NaN where that is negative."""

def logical_and(
    input: Tensor, other: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """Whether both are not zero."""

def logical_not(
    input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """Whether an element is zero."""

def logical_or(
    input: Tensor, other: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """Whether any of the two is not zero."""

def logical_xor(
    input: Tensor, other: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """Whether exactly one is not zero."""

def logit(
    input: Tensor,
    eps: _complex | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """log(input / (1 - input)), with `input` kept at least `eps` from 0 and 1."""

def logit_(input: Tensor, eps: _complex | None = None) -> Tensor:
    """`logit` written into the tensor, which is returned."""

def logspace(
    start: _complex,
    end: _complex,
    steps: _int,
    base: _float = 10.0,
    *,
    dtype: DType | None = None,
    layout: layout | None = None,
    device: device | str | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """`base` to the power of `steps` evenly spaced numbers."""

def logsumexp(
    input: Tensor,
    dim: _int | Sequence[_int],
    keepdim: _bool = False,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """log(sum(exp(input))) over `dim`, shifted by the greatest; -inf over
    nothing.
    """

long: DType

def lstm_cell(
    input: Tensor,
    hx: Sequence[Tensor],
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """One step of an LSTM: the hidden state and the cell's."""

def lt(
    input: Tensor,
    other: Tensor | _complex,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """Whether input < other; NaN compares false."""

def lu(input: Tensor, pivot: _bool = True, get_infos: _bool = False) -> Any:
    """`linalg.lu_factor` under its older name; `get_infos` adds `info`."""

def lu_solve(
    input: Tensor,
    LU_data: Tensor,
    LU_pivots: Tensor,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The x of A x = `input`, by the factors of A."""

def lu_unpack(
    LU_data: Tensor,
    LU_pivots: Tensor,
    unpack_data: _bool = True,
    unpack_pivots: _bool = True,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Any:
    """P, L and U of what `lu_factor` gives; empty where they are not asked
    for.
    """

def manual_seed(seed: _int) -> _Generator:
    """Start the stream of `seed` on every device; returns the CPU's generator."""

def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: _float = 0.0,
    reduction: _int = 1,
) -> Tensor:
    """The function of nn.functional, its reduction 0 (none), 1 (mean) or 2
    (sum).
    """

def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """`input` with one value where the mask, broadcast, holds."""

def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """`input` with the elements of `source`, in order, where the mask holds."""

def masked_select(
    input: Tensor, mask: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """The elements where the mask holds, both broadcast, in row-major order."""

def matmul(
    input: Tensor, other: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """Matrix product of the last two dims; leading dims broadcast; vectors are
    1-D.
    """

def matrix_exp(input: Tensor) -> Tensor:
    """`linalg.matrix_exp` under its older name."""

def matrix_power(
    input: Tensor, n: _int, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """`linalg.matrix_power` under its older name."""

@overload
def max(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The greatest of all, along `dim` with its indices, or of two tensors."""

@overload
def max(
    input: Tensor,
    dim: _int,
    keepdim: _bool = False,
    *,
    out: tuple[Tensor, Tensor] | None = None,
) -> Valued: ...
@overload
def max(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def max_pool1d(
    input: Tensor,
    kernel_size: _int | Iterable[_int],
    stride: _int | Iterable[_int] | None = ...,
    padding: _int | Iterable[_int] = 0,
    dilation: _int | Iterable[_int] = 1,
    ceil_mode: _bool = False,
) -> Tensor:
    """`nn.functional.max_pool1d`, without places."""

def max_pool1d_with_indices(
    input: Tensor,
    kernel_size: _int | Iterable[_int],
    stride: _int | Iterable[_int] | None = ...,
    padding: _int | Iterable[_int] = 0,
    dilation: _int | Iterable[_int] = 1,
    ceil_mode: _bool = False,
) -> tuple[Tensor, Tensor]:
    """`max_pool1d` and the places, in the flattened spatial axes."""

def max_pool2d(
    input: Tensor,
    kernel_size: _int | Iterable[_int],
    stride: _int | Iterable[_int] | None = ...,
    padding: _int | Iterable[_int] = 0,
    dilation: _int | Iterable[_int] = 1,
    ceil_mode: _bool = False,
) -> Tensor:
    """`nn.functional.max_pool2d`, without places."""

def max_pool3d(
    input: Tensor,
    kernel_size: _int | Iterable[_int],
    stride: _int | Iterable[_int] | None = ...,
    padding: _int | Iterable[_int] = 0,
    dilation: _int | Iterable[_int] = 1,
    ceil_mode: _bool = False,
) -> Tensor:
    """`nn.functional.max_pool3d`, without places."""

def maximum(
    input: Tensor, other: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """The greater of each pair; NaN if either is NaN."""

def mean(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    keepdim: _bool = False,
    *,
    dtype: DType | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The sum over `dim` divided by the number of elements; NaN over nothing."""

@overload
def median(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The lower of the middle elements, of all or along `dim`; NaN wins."""

@overload
def median(
    input: Tensor,
    dim: _int,
    keepdim: _bool = False,
    *,
    out: tuple[Tensor, Tensor] | None = None,
) -> Valued: ...
def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Each tensor along a dim of its own, expanded to the grid of all of them."""

@overload
def min(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The least of all, along `dim` with its indices, or of two tensors; as
    `max`.
    """

@overload
def min(
    input: Tensor,
    dim: _int,
    keepdim: _bool = False,
    *,
    out: tuple[Tensor, Tensor] | None = None,
) -> Valued: ...
@overload
def min(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def minimum(
    input: Tensor, other: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """The less of each pair; NaN if either is NaN."""

def mm(
    input: Tensor, mat2: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """The product of two matrices."""

def mode(
    input: Tensor,
    dim: _int = -1,
    keepdim: _bool = False,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Valued:
    """The most frequent along `dim`, the least of several; the last of its
    places.
    """

def moveaxis(input: Tensor, source: Any, destination: Any) -> Tensor:
    """Dims moved to other places; the rest keep their order."""

def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """Dims moved to other places; the rest keep their order."""

def msort(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The elements in order along the first dim."""

def mul(
    input: Tensor | _complex,
    other: Tensor | _complex,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """input * other; integers wrap, the product of bools is `and`."""

def multinomial(
    input: Tensor,
    num_samples: _int,
    replacement: _bool = False,
    *,
    generator: _Generator | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """Indices drawn with probability proportional to the weights in each row."""

def multiply(
    input: Tensor | _complex,
    other: Tensor | _complex,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """input * other; integers wrap, the product of bools is `and`."""

def mv(
    input: Tensor, vec: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """The product of a matrix and a vector."""

def mvlgamma(
    input: Tensor, p: _int, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """The logarithm of the gamma function of `p` dims."""

def nan_to_num(
    input: Tensor,
    nan: _float | None = None,
    posinf: _float | None = None,
    neginf: _float | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """NaN and infinities replaced: by 0 and the dtype's extremes unless given."""

def nan_to_num_(
    input: Tensor,
    nan: _float | None = None,
    posinf: _float | None = None,
    neginf: _float | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """`nan_to_num` written into the tensor, which is returned."""

def nanmean(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    keepdim: _bool = False,
    *,
    dtype: DType | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The mean over `dim` of what is not NaN."""

@overload
def nanmedian(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The lower of the middle elements that are not NaN."""

@overload
def nanmedian(
    input: Tensor,
    dim: _int,
    keepdim: _bool = False,
    *,
    out: tuple[Tensor, Tensor] | None = None,
) -> Valued: ...
def nanquantile(
    input: Tensor,
    q: Any,
    dim: _int | None = None,
    keepdim: _bool = False,
    *,
    interpolation: str = "linear",
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The values below which lie the fractions `q` of what is not NaN."""

def nansum(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    keepdim: _bool = False,
    *,
    dtype: DType | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The sum over `dim` of what is not NaN."""

def narrow(input: Tensor, dim: _int, start: _int | Tensor, length: _int) -> Tensor:
    """The `length` slices from `start` on along `dim`."""

def narrow_copy(
    input: Tensor,
    dim: _int,
    start: _int,
    length: _int,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """A copy of `length` slices from `start` on."""

def native_batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: _bool,
    momentum: _float,
    eps: _float,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """`batch_norm`, and in training the means and one over the deviations."""

def native_channel_shuffle(input: Tensor, groups: _int) -> Tensor:
    """`channel_shuffle` by the name of torch's kernel."""

def native_group_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    N: _int,
    C: _int,
    HxW: _int,
    group: _int,
    eps: _float,
) -> tuple[Tensor, Tensor, Tensor]:
    """`group_norm`, the means [N, group], and one over the deviations."""

def native_layer_norm(
    input: Tensor,
    normalized_shape: Sequence[_int],
    weight: Tensor | None,
    bias: Tensor | None,
    eps: _float,
) -> tuple[Tensor, Tensor, Tensor]:
    """`layer_norm`, the means, and one over the deviations."""

def ne(
    input: Tensor,
    other: Tensor | _complex,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """Whether input differs from other; NaN differs from itself."""

def neg(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """-input; integers wrap."""

def neg_(input: Tensor) -> Tensor:
    """`neg` written into the tensor, which is returned."""

def negative(
    input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """-input; integers wrap."""

def negative_(input: Tensor) -> Tensor:
    """`negative` written into the tensor, which is returned."""

def nextafter(
    input: Tensor, other: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """The next representable value after `input` towards `other` (IEEE 754)."""

@overload
def nonzero(
    input: Tensor, *, out: Tensor | None = None, as_tuple: Literal[False] = False
) -> Tensor:
    """Indices of the elements that are not zero: rows, or one tensor a dim."""

@overload
def nonzero(
    input: Tensor, *, out: Tensor | None = None, as_tuple: Literal[True]
) -> tuple[Tensor, ...]: ...
@overload
def nonzero(
    input: Tensor, *, out: Tensor | None = None, as_tuple: _bool = False
) -> Tensor | tuple[Tensor, ...]: ...
def nonzero_static(input: Tensor, *, size: _int, fill_value: _int = -1) -> Tensor:
    """The first `size` rows of `nonzero`, and behind them rows of
    `fill_value`.
    """

def norm(
    input: Tensor,
    p: Any = "fro",
    dim: Any = None,
    keepdim: _bool = False,
    dtype: DType | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The p-norm of the elements over `dim`; `"fro"` is that of 2."""

def normal(
    mean: Any,
    std: Any = 1.0,
    size: Any = None,
    *,
    generator: _Generator | None = None,
    dtype: DType | None = None,
    layout: layout | None = None,
    device: device | str | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """Normal floats: of numbers and a size, or with a mean and deviation an
    element.
    """

def not_equal(
    input: Tensor,
    other: Tensor | _complex,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """Whether input differs from other; NaN differs from itself."""

def numel(input: Tensor) -> _int:
    """The number of elements."""

def ones(
    *size: _int | Sequence[_int],
    dtype: DType | None = None,
    layout: layout | None = None,
    device: device | str | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """Ones of a shape given as ints or one sequence."""

def ones_like(
    input: Tensor,
    *,
    dtype: DType | None = None,
    layout: layout | None = None,
    device: device | str | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
    memory_format: memory_format | None = None,
) -> Tensor:
    """`ones` in the shape, dtype and device of `input`."""

def orgqr(
    input: Tensor, input2: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """`linalg.householder_product` under LAPACK's name; `input2` is its `tau`."""

def ormqr(
    input: Tensor,
    input2: Tensor,
    input3: Tensor,
    left: _bool = True,
    transpose: _bool = False,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """Q, the product of reflections, times `input3`; from the right if not
    `left`.
    """

def outer(
    input: Tensor, vec2: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """The products of each element of one vector with each of another."""

def pairwise_distance(
    x1: Tensor, x2: Tensor, p: _float = 2.0, eps: _float = 1e-06, keepdim: _bool = False
) -> Tensor:
    """The `p` norm of x1 - x2 + eps over the last dim."""

def pca_lowrank(
    A: Tensor, q: _int | None = None, center: _bool = True, niter: _int = 2
) -> tuple[Tensor, Tensor, Tensor]:
    """U, S and V of rows less their mean: the columns of V are principal
    directions.
    """

def pdist(input: Tensor, p: _float = 2.0) -> Tensor:
    """The `p` norm distance of each pair of rows: of 0 and 1, 0 and 2, … 1 and
    2, …
    """

def permute(input: Tensor, dims: Sequence[_int]) -> Tensor:
    """The dims of `input` in another order."""

def permute_copy(input: Tensor, dims: Sequence[_int]) -> Tensor:
    """`permute` in memory of its own."""

def pinverse(input: Tensor, rcond: _float = 1e-15) -> Tensor:
    """`linalg.pinv` under its older name."""

def pixel_shuffle(input: Tensor, upscale_factor: _int) -> Tensor:
    """[..., c r², h, w] as [..., c, h r, w r] (Shi et al. 2016,
    arXiv:1609.05158).
    """

def pixel_unshuffle(input: Tensor, downscale_factor: _int) -> Tensor:
    """[..., c, h r, w r] as [..., c r², h, w], which pixel_shuffle undoes."""

def poisson(input: Tensor, generator: _Generator | None = None) -> Tensor:
    """Counts of events, one for each rate in `input`; the gradient to rates is
    zero.
    """

def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: _bool,
    full: _bool,
    eps: _float,
    reduction: _int,
) -> Tensor:
    """The function of nn.functional, its reduction 0 (none), 1 (mean) or 2
    (sum).
    """

def polar(
    abs: Tensor, angle: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """The complex number of that modulus and angle in radians."""

def polygamma(
    n: _int, input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """The derivative of order `n` of digamma."""

def positive(input: Tensor) -> Tensor:
    """`input` itself, which may not be bool."""

def pow(
    input: Tensor | _complex,
    exponent: Tensor | _complex,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """`input` to the power of `exponent`; integers wrap, exponents have to
    fit.
    """

def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """`input`, times `weight` below zero: one weight, or one a channel (dim
    1).
    """

preserve_format: memory_format

def prod(
    input: Tensor,
    dim: _int = ...,
    keepdim: _bool = False,
    *,
    dtype: DType | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The product over `dim`, by halving; integers multiply in int64. Empty
    gives 1.
    """

def put(
    input: Tensor, index: Tensor, source: Tensor, accumulate: _bool = False
) -> Tensor:
    """`input` with elements written, or added, by their row-major number."""

def qr(
    input: Tensor, some: _bool = True, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Any:
    """`linalg.qr` under its older name: complete where not `some`."""

def quantile(
    input: Tensor,
    q: Any,
    dim: _int | None = None,
    keepdim: _bool = False,
    *,
    interpolation: str = "linear",
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The values below which lie the fractions `q`; NaN wins."""

def rad2deg(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """Radians as degrees."""

def rad2deg_(input: Tensor) -> Tensor:
    """`rad2deg` written into the tensor, which is returned."""

def rand(
    *size: _int | Sequence[_int],
    generator: _Generator | None = None,
    dtype: DType | None = None,
    layout: layout | None = None,
    device: device | str | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """Floats uniform in [0, 1)."""

def rand_like(
    input: Tensor,
    *,
    generator: _Generator | None = None,
    dtype: DType | None = None,
    layout: layout | None = None,
    device: device | str | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
    memory_format: memory_format | None = None,
) -> Tensor:
    """`rand` in the shape, dtype and device of `input`."""

def randint(
    low: Any = 0,
    high: Any = None,
    size: Any = None,
    *,
    generator: _Generator | None = None,
    dtype: DType | None = None,
    layout: layout | None = None,
    device: device | str | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """Integers in [low, high), or [0, low) with a size in second place."""

def randint_like(
    input: Tensor,
    low: Any = None,
    high: Any = None,
    *,
    generator: _Generator | None = None,
    memory_format: memory_format | None = None,
    dtype: DType | None = None,
    layout: layout | None = None,
    device: device | str | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """`randint` in the shape, dtype, device and order of dims of `input`."""

def randn(
    *size: _int | Sequence[_int],
    generator: _Generator | None = None,
    dtype: DType | None = None,
    layout: layout | None = None,
    device: device | str | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """Normal floats of mean 0 and variance 1."""

def randn_like(
    input: Tensor,
    *,
    generator: _Generator | None = None,
    dtype: DType | None = None,
    layout: layout | None = None,
    device: device | str | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
    memory_format: memory_format | None = None,
) -> Tensor:
    """`randn` in the shape, dtype and device of `input`."""

def randperm(
    n: Any,
    *,
    generator: _Generator | None = None,
    dtype: DType | None = None,
    layout: layout | None = None,
    device: device | str | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """0 … n-1 in random order."""

def range(
    start: Tensor | _float,
    end: Tensor | _float,
    step: Tensor | _float = 1,
    *,
    dtype: DType | None = None,
    layout: layout | None = None,
    device: device | str | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """start, start + step, … up to `end`, which is one of them where it is
    met.
    """

def ravel(input: Tensor) -> Tensor:
    """All elements in one dim, contiguous."""

def real(input: Tensor) -> Tensor:
    """The real part, a view of its memory; a real tensor is its own."""

def reciprocal(
    input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """1 / input."""

def reciprocal_(input: Tensor) -> Tensor:
    """`reciprocal` written into the tensor, which is returned."""

def relu(input: Tensor) -> Tensor:
    """The greater of `input` and 0; NaN stays."""

def relu_(input: Tensor) -> Tensor:
    """`relu` written into the tensor, which is returned."""

def remainder(
    input: Tensor | _complex,
    other: Tensor | _complex,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """input modulo other, with the sign of `other`."""

def renorm(
    input: Tensor,
    p: _float,
    dim: _int,
    maxnorm: _float,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """`input` with slices along `dim` scaled down to a norm of `maxnorm` at
    most.
    """

def repeat_interleave(
    input: Tensor,
    repeats: _int | Tensor | None = None,
    dim: _int | None = None,
    *,
    output_size: _int | None = None,
) -> Tensor:
    """Each slice along `dim` repeated, as often as one int or a tensor says."""

def reshape(input: Tensor, shape: Sequence[_int]) -> Tensor:
    """The same elements under another shape: a view where possible, else a
    copy.
    """

def resize_as_(input: Tensor, the_template: Tensor) -> Tensor:
    """`Tensor.resize_as_` as a function."""

def resize_as_sparse_(input: Tensor, the_template: Tensor) -> Tensor:
    """Get the shape and the sparse dims of another tensor; an empty one alone
    can.
    """

def resolve_conj(input: Tensor) -> Tensor:
    """`input` itself: conjugates and negations are computed at once."""

def resolve_neg(input: Tensor) -> Tensor:
    """`input` itself: conjugates and negations are computed at once."""

def result_type(tensor: Tensor | _complex, other: Tensor | _complex) -> DType:
    """The dtype that an operation of both would have."""

def rms_norm(
    input: Tensor,
    normalized_shape: Sequence[_int],
    weight: Tensor | None = None,
    eps: _float | None = None,
) -> Tensor:
    """Root mean square 1 over the last dims (Zhang & Sennrich 2019,
    arXiv:1910.07467).
    """

def rnn_relu_cell(
    input: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    """One step of a simple network with a rectifier: the hidden state."""

def rnn_tanh_cell(
    input: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    """One step of a simple network with tanh: the hidden state."""

def roll(input: Tensor, shifts: Sequence[_int], dims: Sequence[_int] = ...) -> Tensor:
    """`input` moved by `shifts` along `dims`; what leaves one end enters the
    other.
    """

def rot90(input: Tensor, k: _int = 1, dims: Sequence[_int] = ...) -> Tensor:
    """Turned by `k` right angles from the first of two dims to the second."""

def round(
    input: Tensor, *, decimals: _int = 0, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """The nearest integer or multiple of 10 ** -decimals, halves to even."""

def round_(
    input: Tensor, *, decimals: _int = 0, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """`round` written into the tensor, which is returned."""

def row_stack(
    tensors: Sequence[Tensor], *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """Rows on top of one another: along dim 0, one-dimensional tensors being
    rows.
    """

def rrelu(
    input: Tensor,
    lower: Tensor | _float = 0.125,
    upper: Tensor | _float = 0.3333333333333333,
    training: _bool = False,
    generator: _Generator | None = None,
) -> Tensor:
    """`nn.functional.rrelu`, of which the random numbers may be said."""

def rrelu_(
    input: Tensor,
    lower: Tensor | _float = 0.125,
    upper: Tensor | _float = 0.3333333333333333,
    training: _bool = False,
    generator: _Generator | None = None,
) -> Tensor:
    """`rrelu` written into the tensor, which is returned."""

def rsqrt(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """1 / sqrt(input)."""

def rsqrt_(input: Tensor) -> Tensor:
    """`rsqrt` written into the tensor, which is returned."""

def rsub(input: Tensor, other: Tensor | _complex, *, alpha: _complex = 1) -> Tensor:
    """other - alpha * input."""

def saddmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1
) -> Tensor:
    """`beta * input + alpha * (mat1 @ mat2)`, where `mat1` is sparse."""

def scalar_tensor(
    s: Any,
    *,
    dtype: DType | None = None,
    layout: layout | None = None,
    device: device | str | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """A 0-d tensor of a number, float unless a dtype is named."""

def scatter(
    input: Tensor,
    dim: _int,
    index: Tensor,
    src: Any = None,
    *,
    value: Any = None,
    reduce: Literal["add", "multiply"] | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """`input` with a tensor or a number written to the indices along `dim`."""

def scatter_add(
    input: Tensor,
    dim: _int,
    index: Tensor,
    src: Tensor,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """`input` with `src` added to the places `index` along `dim`."""

def scatter_reduce(
    input: Tensor,
    dim: _int,
    index: Tensor,
    src: Tensor,
    reduce: Literal["sum", "prod", "mean", "amax", "amin"],
    *,
    include_self: _bool = True,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """`input` with `src` combined into the places `index` along `dim`."""

def searchsorted(
    sorted_sequence: Tensor,
    input: Any,
    *,
    out_int32: _bool = False,
    right: _bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """Where values go in the sorted last dim: before equal ones, or after."""

def seed() -> _int:
    """Start the stream of a seed from the operating system everywhere; returns
    it.
    """

def select(input: Tensor, dim: _int, index: _int) -> Tensor:
    """The slice at `index` along `dim`, which vanishes."""

def select_copy(input: Tensor, dim: _int, index: _int) -> Tensor:
    """`select` in memory of its own."""

def select_scatter(input: Tensor, src: Tensor, dim: _int, index: _int) -> Tensor:
    """`input` with `src` as the slice at `index` along `dim`."""

def selu(input: Tensor) -> Tensor:
    """ELU scaled so that activations normalise themselves (Klambauer et al.
    2017).
    """

def selu_(input: Tensor) -> Tensor:
    """`selu` written into the tensor, which is returned."""

def set_default_tensor_type(t: type | str) -> None:
    """`set_default_dtype` by one of torch's classes for it, or by its name."""

def set_deterministic_debug_mode(debug_mode: _int | str) -> None:
    """The same choice by a name or a number: 0 default, 1 warn, 2 error."""

def set_float32_matmul_precision(precision: str) -> None:
    """How coarse products of float32 matrices may be."""

def set_flush_denormal(mode: _bool) -> _bool:
    """Whether the choice could be made: numbers next to 0 are never flushed to
    it.
    """

def set_num_interop_threads(num: _int) -> None:
    """Keep a number for `get_num_interop_threads`; see there."""

def set_printoptions(
    precision: _int | None = None,
    threshold: _float | None = None,
    edgeitems: _int | None = None,
    linewidth: _int | None = None,
    profile: str | None = None,
    sci_mode: _bool | None = None,
) -> None:
    """Change how tensors are shown; `profile` is "default", "short" or "full"."""

def set_rng_state(new_state: Tensor, device: Any = "cpu,auto") -> None:
    """Set the state of a device's default generator."""

def set_stream(stream: _Stream) -> None:
    """Send the work of this context to `stream` from now on; its device is
    current.
    """

def set_warn_always(b: _bool) -> None:
    """Show dovetail's warnings each time, and not once for each place that
    warns.
    """

def sgn(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The sign; input / |input| for complex numbers, 0 at 0."""

short: DType

def sigmoid(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """1 / (1 + exp(-input)), without overflow."""

def sigmoid_(input: Tensor) -> Tensor:
    """`sigmoid` written into the tensor, which is returned."""

def sign(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """-1, 0 or 1; 0 for NaN. Bools are unchanged."""

def signbit(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """Whether the sign bit is set: of -0 and of negative NaN too."""

def sin(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """Sine of `input` in radians, at most 4 ulp."""

def sin_(input: Tensor) -> Tensor:
    """`sin` written into the tensor, which is returned."""

def sinc(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """sin(pi input) / (pi input), which is 1 at 0."""

def sinc_(input: Tensor) -> Tensor:
    """`sinc` written into the tensor, which is returned."""

def sinh(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """Hyperbolic sine."""

def sinh_(input: Tensor) -> Tensor:
    """`sinh` written into the tensor, which is returned."""

def slice_copy(
    input: Tensor,
    dim: _int = 0,
    start: _int | None = None,
    end: _int | None = None,
    step: _int = 1,
) -> Tensor:
    """`input[start:end:step]` along a dim, in memory of its own."""

def slice_scatter(
    input: Tensor,
    src: Tensor,
    dim: _int = 0,
    start: _int | None = None,
    end: _int | None = None,
    step: _int = 1,
) -> Tensor:
    """`input` with `src` as the slices from `start` to `end` along `dim`."""

def slogdet(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Any:
    """`linalg.slogdet` under its older name."""

def smm(input: Tensor, mat2: Tensor) -> Tensor:
    """A sparse matrix by a dense one, sparse: rows without elements are left
    out.
    """

def softmax(
    input: Tensor,
    dim: _int,
    dtype: DType | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """Exponentials along `dim`, scaled to sum to one; `dtype` is cast to
    first.
    """

def sort(
    input: Tensor,
    dim: _int = -1,
    descending: _bool = False,
    *,
    stable: _bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Valued:
    """The elements in order along `dim`, and where they were; NaN is the
    greatest.
    """

sparse_bsc: layout
sparse_bsr: layout

def sparse_compressed_tensor(
    compressed_indices: Any,
    plain_indices: Any,
    values: Any,
    size: Sequence[_int] | None = None,
    *,
    dtype: DType | None = None,
    layout: layout | None = None,
    device: Any = None,
    pin_memory: _bool = False,
    requires_grad: _bool = False,
    check_invariants: _bool | None = None,
) -> Tensor:
    """`sparse_csr_tensor`, where `layout` says that it is wanted; no other is
    there.
    """

sparse_coo: layout

def sparse_coo_tensor(
    indices: Any = None,
    values: Any = None,
    size: Sequence[_int] | None = None,
    *,
    dtype: DType | None = None,
    device: Any = None,
    pin_memory: _bool = False,
    requires_grad: _bool = False,
    check_invariants: _bool | None = None,
    is_coalesced: _bool | None = None,
) -> Tensor:
    """A tensor that has values at coordinates, and zeros elsewhere."""

sparse_csc: layout
sparse_csr: layout

def sparse_csr_tensor(
    crow_indices: Any,
    col_indices: Any,
    values: Any,
    size: Sequence[_int] | None = None,
    *,
    dtype: DType | None = None,
    device: Any = None,
    pin_memory: _bool = False,
    requires_grad: _bool = False,
    check_invariants: _bool | None = None,
) -> Tensor:
    """A matrix that has values in some columns of each row, and zeros
    elsewhere.
    """

def split(
    tensor: Tensor, split_size_or_sections: _int | Sequence[_int], dim: _int = 0
) -> tuple[Tensor, ...]:
    """Parts along `dim` of one size, the last maybe smaller, or of the sizes
    given.
    """

def split_copy(input: Tensor, split_size: _int, dim: _int = 0) -> tuple[Tensor, ...]:
    """`split` into parts of one size, in memory of their own."""

def split_with_sizes(
    input: Tensor, split_sizes: Sequence[_int], dim: _int = 0
) -> tuple[Tensor, ...]:
    """Parts along `dim` of the sizes given."""

def split_with_sizes_copy(
    input: Tensor, split_sizes: Sequence[_int], dim: _int = 0
) -> tuple[Tensor, ...]:
    """`split_with_sizes` in memory of its own."""

def spmm(input: Tensor, mat2: Tensor) -> Tensor:
    """`sparse.mm` under its older names."""

def sqrt(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """Square root, at most 3 ulp; NaN below zero."""

def sqrt_(input: Tensor) -> Tensor:
    """`sqrt` written into the tensor, which is returned."""

def square(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """input * input; integers wrap, bools count as int64."""

def square_(input: Tensor) -> Tensor:
    """`square` written into the tensor, which is returned."""

def squeeze(input: Tensor, dim: _int | Sequence[_int] = ...) -> Tensor:
    """`input` without dims of size 1: all of them, or those of `dim`."""

def squeeze_copy(input: Tensor, dim: _int | Sequence[_int] = ...) -> Tensor:
    """`squeeze` in memory of its own."""

def sspaddmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1
) -> Tensor:
    """`beta * input + alpha * (mat1 @ mat2)` of two sparse matrices and a
    dense one.
    """

def stack(
    tensors: list[Tensor],
    dim: _int = 0,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The tensors, all of one shape, side by side along a new dim."""

def std(
    input: Tensor,
    dim: Any = None,
    unbiased: _bool = True,
    keepdim: _bool = False,
    *,
    correction: _int | _float | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The root of the variance; its gradient where that is 0 is 0. The
    correction is 1, or 0 unless `unbiased`.
    """

def std_mean(
    input: Tensor,
    dim: Any = None,
    unbiased: _bool = True,
    keepdim: _bool = False,
    *,
    correction: _int | _float | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> tuple[Tensor, Tensor]:
    """`std`, and the mean over the same dims."""

def stft(
    input: Tensor,
    n_fft: _int,
    hop_length: _int | None = None,
    win_length: _int | None = None,
    window: Tensor | None = None,
    center: _bool = True,
    pad_mode: str = "reflect",
    normalized: _bool = False,
    onesided: _bool | None = None,
    return_complex: _bool | None = None,
    align_to_window: _bool | None = None,
) -> Tensor:
    """Fourier transforms of pieces of `n_fft` numbers, `hop_length` apart."""

def stream(stream: _Stream) -> _Stream:
    """The stream itself: `with stream(s):` reads as in torch."""

strided: layout

def sub(
    input: Tensor | _complex,
    other: Tensor | _complex,
    *,
    alpha: _complex = 1,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """input - alpha * other; integers wrap."""

def subtract(
    input: Tensor | _complex,
    other: Tensor | _complex,
    *,
    alpha: _complex = 1,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """input - alpha * other; integers wrap."""

def sum(
    input: Tensor,
    dim: _int | Sequence[_int] | None = None,
    keepdim: _bool = False,
    *,
    dtype: DType | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The sum over `dim` in `dtype`; empty gives 0, 16-bit floats accumulate
    wider.
    """

def svd(
    input: Tensor,
    some: _bool = True,
    compute_uv: _bool = True,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Any:
    """U, S and V with U S Vᴴ = `input`; zeros for U and V unless `compute_uv`."""

def svd_lowrank(
    A: Tensor, q: _int | None = 6, niter: _int | None = 2, M: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """U, S and V for about the `q` greatest singular values of `A`, or of A -
    M.
    """

def swapaxes(input: Tensor, axis0: _int, axis1: _int) -> Tensor:
    """Two dims swapped."""

def swapdims(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """`input` with two dims swapped."""

def synchronize(device: device | str | None = None) -> None:
    """Wait for all work on a device (the default one), and raise its errors."""

def t(input: Tensor) -> Tensor:
    """A matrix transposed; fewer dims stay as they are."""

def t_copy(input: Tensor) -> Tensor:
    """`t` in memory of its own."""

def take(
    input: Tensor, index: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """Elements by their row-major number, which may be negative."""

def take_along_dim(
    input: Tensor,
    indices: Tensor,
    dim: _int | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """`input` at indices along `dim`, negative ones too; the other dims
    broadcast.
    """

def tan(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """Tangent of input in radians."""

def tan_(input: Tensor) -> Tensor:
    """`tan` written into the tensor, which is returned."""

def tanh(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """Hyperbolic tangent."""

def tanh_(input: Tensor) -> Tensor:
    """`tanh` written into the tensor, which is returned."""

def tensor(
    data: Any,
    *,
    dtype: DType | None = None,
    layout: layout | None = None,
    device: device | str | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """A fresh leaf with the values of numbers, nested lists, an array or a
    tensor.
    """

def tensor_split(
    input: Tensor,
    sections: _int | Sequence[_int] | Tensor | None = None,
    dim: _int = 0,
    *,
    indices: Sequence[_int] | Tensor | None = None,
) -> tuple[Tensor, ...]:
    """Parts along `dim`: that many of nearly equal size, or cut before the
    indices.
    """

def tensordot(
    a: Tensor,
    b: Tensor,
    dims: Any = 2,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """Products summed over pairs of dims."""

def thread_safe_generator() -> _Generator | None:
    """None: random numbers drawn without a generator are safe in every thread."""

def threshold(input: Tensor, threshold: _complex, value: _complex) -> Tensor:
    """`input` above the threshold, else `value`; of integers an integer."""

def threshold_(input: Tensor, threshold: _complex, value: _complex) -> Tensor:
    """`threshold` written into the tensor, which is returned."""

def tile(input: Tensor, dims: Sequence[_int]) -> Tensor:
    """`input` repeated; counts for leading dims may be left out."""

def topk(
    input: Tensor,
    k: _int,
    dim: _int = -1,
    largest: _bool = True,
    sorted: _bool = True,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Valued:
    """The `k` greatest (or least) along `dim`, and where they were."""

def trace(input: Tensor) -> Tensor:
    """The sum of the diagonal of a matrix; integers are summed as int64."""

def transpose(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """`input` with two dims swapped."""

def transpose_copy(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """`transpose` in memory of its own."""

def trapezoid(
    y: Tensor,
    x: Tensor | None = None,
    *,
    dx: Tensor | _float | None = None,
    dim: _int = -1,
) -> Tensor:
    """The integral along `dim` by the trapezoidal rule."""

def trapz(
    y: Tensor, x: Tensor | None = None, *, dx: _float | None = None, dim: _int = -1
) -> Tensor:
    """`trapezoid` under its older name."""

def triangular_solve(
    input: Tensor,
    A: Tensor,
    upper: _bool = True,
    transpose: _bool = False,
    unitriangular: _bool = False,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Any:
    """The X of A X = `input` (of the transposed A where `transpose`), and A
    again.
    """

def tril(
    input: Tensor, diagonal: _int = 0, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """The matrices in the last two dims with zeros above a diagonal."""

def tril_indices(
    row: _int,
    col: _int,
    offset: _int = 0,
    *,
    dtype: DType | None = None,
    layout: layout | None = None,
    device: device | str | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """Rows and columns of the elements on and below a diagonal, [2, count]."""

def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: _float = 1.0,
    p: _float = 2.0,
    eps: _float = 1e-06,
    swap: _bool = False,
    reduction: _int = 1,
) -> Tensor:
    """The function of nn.functional, its reduction 0 (none), 1 (mean) or 2
    (sum).
    """

def triu(
    input: Tensor, diagonal: _int = 0, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """The matrices in the last two dims with zeros below a diagonal."""

def triu_indices(
    row: _int,
    col: _int,
    offset: _int = 0,
    *,
    dtype: DType | None = None,
    layout: layout | None = None,
    device: device | str | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
) -> Tensor:
    """Rows and columns of the elements on and above a diagonal, [2, count]."""

def true_divide(
    input: Tensor | _complex,
    other: Tensor | _complex,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """input / other, at most 2.5 ulp; IEEE 754 at 0; integers have become
    floats.
    """

def trunc(input: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """The integer part, towards zero; -0 stays, as integers do."""

def trunc_(input: Tensor) -> Tensor:
    """`trunc` written into the tensor, which is returned."""

def typename(obj: Any) -> str:
    """What a tensor's `type()` says, or a class (or an object's) with its
    module.
    """

uint16: DType
uint32: DType
uint64: DType
uint8: DType

def unbind(input: Tensor, dim: _int = 0) -> tuple[Tensor, ...]:
    """The slices along `dim`, which vanishes."""

def unbind_copy(input: Tensor, dim: _int = 0) -> tuple[Tensor, ...]:
    """`unbind` in memory of its own."""

def unflatten(input: Tensor, dim: _int, sizes: Sequence[_int]) -> Tensor:
    """One dim made several of the sizes given, one of which may be -1."""

def unfold_copy(input: Tensor, dimension: _int, size: _int, step: _int) -> Tensor:
    """`unfold` in memory of its own."""

@overload
def unique(
    input: Tensor,
    sorted: _bool = True,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    dim: _int | None = None,
) -> Tensor:
    """The distinct elements, or slices along `dim`, in order."""

@overload
def unique(
    input: Tensor,
    sorted: _bool = True,
    return_inverse: _bool = False,
    return_counts: _bool = False,
    dim: _int | None = None,
) -> Any: ...
@overload
def unique_consecutive(
    input: Tensor,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    dim: _int | None = None,
) -> Tensor:
    """One element, or slice along `dim`, for each run of equal ones."""

@overload
def unique_consecutive(
    input: Tensor,
    return_inverse: _bool = False,
    return_counts: _bool = False,
    dim: _int | None = None,
) -> Any: ...
def unravel_index(indices: Tensor, shape: _int | Sequence[_int]) -> tuple[Tensor, ...]:
    """The places that flat indices name in a tensor of `shape`, one tensor a
    dim.
    """

def unsafe_chunk(input: Tensor, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
    """`chunk`, whose views may be written here as well."""

def unsafe_split(input: Tensor, split_size: _int, dim: _int = 0) -> tuple[Tensor, ...]:
    """`split`, whose views may be written here as well."""

def unsafe_split_with_sizes(
    input: Tensor, split_sizes: Sequence[_int], dim: _int = 0
) -> tuple[Tensor, ...]:
    """`split_with_sizes`, whose views may be written here as well."""

def unsqueeze(input: Tensor, dim: _int) -> Tensor:
    """`input` with a dim of size 1 inserted at `dim`."""

def unsqueeze_copy(input: Tensor, dim: _int) -> Tensor:
    """`unsqueeze` in memory of its own."""

def use_deterministic_algorithms(mode: _bool, *, warn_only: _bool = False) -> None:
    """Ask for algorithms that give the same bits on every run."""

def values_copy(input: Tensor) -> Tensor:
    """`values` in memory of its own."""

def vander(x: Tensor, N: _int | None = None, increasing: _bool = False) -> Tensor:
    """The powers of a vector's elements as columns, from the highest unless
    asked.
    """

def var(
    input: Tensor,
    dim: Any = None,
    unbiased: _bool = True,
    keepdim: _bool = False,
    *,
    correction: _int | _float | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """The sum of squared distances from the mean, over n - `correction`."""

def var_mean(
    input: Tensor,
    dim: Any = None,
    unbiased: _bool = True,
    keepdim: _bool = False,
    *,
    correction: _int | _float | None = None,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> tuple[Tensor, Tensor]:
    """`var`, and the mean over the same dims."""

def vdot(
    input: Tensor, other: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """`dot` with the conjugate of `input`."""

def view_as_complex(input: Tensor) -> Tensor:
    """Complex numbers from pairs along the last dim, a view of their memory."""

def view_as_complex_copy(input: Tensor) -> Tensor:
    """`view_as_complex` in memory of its own."""

def view_as_real(input: Tensor) -> Tensor:
    """Real and imaginary parts along a new last dim, a view of their memory."""

def view_as_real_copy(input: Tensor) -> Tensor:
    """`view_as_real` in memory of its own."""

def view_copy(
    input: Tensor,
    size: _int | Sequence[_int] | DType | None = None,
    *,
    dtype: DType | None = None,
) -> Tensor:
    """`view` in memory of its own."""

def vsplit(
    input: Tensor,
    sections: _int | Sequence[_int] | Tensor | None = None,
    *,
    indices: Sequence[_int] | Tensor | None = None,
) -> tuple[Tensor, ...]:
    """Parts along dim 0, as `tensor_split` cuts them."""

def vstack(
    tensors: Sequence[Tensor], *, out: Tensor | tuple[Tensor, ...] | None = None
) -> Tensor:
    """Rows on top of one another: along dim 0, one-dimensional tensors being
    rows.
    """

@overload
def where(condition: Tensor) -> tuple[Tensor, ...]:
    """`input` where the condition holds, else `other`; alone, where it is not
    zero.
    """

@overload
def where(
    condition: Tensor,
    input: Tensor | _complex,
    other: Tensor | _complex,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def xlogy(
    input: Tensor | _complex,
    other: Tensor | _complex,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """input log(other), which is 0 where `input` is 0 and `other` is not NaN."""

def xlogy_(input: Tensor | _complex, other: Tensor | _complex) -> Tensor:
    """`xlogy` written into the tensor, which is returned."""

def zero_(input: Tensor) -> Tensor:
    """`Tensor.zero_` as a function."""

def zeros(
    *size: _int | Sequence[_int],
    dtype: DType | None = None,
    layout: layout | None = None,
    device: device | str | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
    out: Tensor | tuple[Tensor, ...] | None = None,
) -> Tensor:
    """Zeros of a shape given as ints or one sequence."""

def zeros_like(
    input: Tensor,
    *,
    dtype: DType | None = None,
    layout: layout | None = None,
    device: device | str | None = None,
    requires_grad: _bool = False,
    pin_memory: _bool = False,
    memory_format: memory_format | None = None,
) -> Tensor:
    """`zeros` in the shape, dtype and device of `input`."""
