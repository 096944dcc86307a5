"""Tensor's methods and properties, but for those of its own class body.

Written by `python -m dovetail.signatures`.
"""

from builtins import bool as _bool
from builtins import float as _float
from builtins import int as _int
from builtins import type as _type
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, overload

from numpy import ndarray

from dovetail.device import device
from dovetail.dtypes import DType
from dovetail.engine.generator import Generator
from dovetail.engine.tensor import Tensor
from dovetail.engine.tensor_type import Size
from dovetail.memory_formats import layout as _layout
from dovetail.memory_formats import memory_format
from dovetail.signatures.overloads import Extremes, Valued
from dovetail.tensor_api.hook_handle import RemovableHandle
from dovetail.tensor_api.storages import TypedStorage, UntypedStorage
from dovetail.tensor_api.streams import Stream

class Methods:
    @property
    def H(self) -> Tensor:
        """A matrix transposed and conjugated."""
    @property
    def T(self) -> Tensor:
        """The dims in the opposite order."""
    def __abs__(self) -> Tensor:
        """The magnitude; the smallest integer wraps to itself."""
    def __add__(self, other: Tensor | complex) -> Tensor:
        """input + other; integers wrap, the sum of bools is `or`."""
    def __and__(self, other: Tensor | complex) -> Tensor:
        """Bitwise and."""
    def __array__(self, dtype: Any = None, copy: _bool | None = None) -> Any:
        """For NumPy: the values, sharing memory where nothing has to change."""
    def __array_function__(
        self, function: Any, types: Any, args: tuple[Any, ...], kwargs: Any
    ) -> Any:
        """NumPy's functions: through tensors' methods where those take what NumPy
        gives them, else on the values, as arrays.
        """
    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """The functions of the Python array API standard: `dovetail.array_api`."""
    def __array_wrap__(
        self, array: Any, context: Any = None, return_scalar: _bool = False
    ) -> Tensor:
        """A tensor over what a function of NumPy made of this one."""
    def __bool__(self) -> _bool: ...
    def __buffer__(self, flags: _int) -> memoryview:
        """The memory of a tensor on the host, for `memoryview` (Python 3.12, PEP
        688).
        """
    def __complex__(self) -> complex: ...
    def __contains__(self, element: Any) -> _bool:
        """Whether any element equals a number or a 0-d tensor."""
    def __copy__(self) -> Tensor:
        """A leaf over the same memory."""
    @property
    def __cuda_array_interface__(self) -> Any:
        """Not there: memory of devices is shared by DLPack."""
    def __deepcopy__(self, memo: dict[_int, Any]) -> Tensor:
        """A leaf with a copy of the values; tensors that share memory share the
        copy's.
        """
    def __delitem__(self, index: Any) -> None:
        """Refused: a tensor keeps its elements."""
    def __div__(self, other: Any) -> Any: ...
    def __dlpack__(
        self,
        *,
        stream: _int | None = None,
        max_version: tuple[_int, _int] | None = None,
        dl_device: tuple[_int, _int] | None = None,
        copy: _bool | None = None,
    ) -> Any:
        """A DLPack capsule over the memory of this tensor, which it keeps alive."""
    def __dlpack_device__(self) -> tuple[_int, _int]:
        """DLPack's type and id of the device."""
    def __eq__(self, other: Any) -> Tensor:  # type: ignore[override]
        ...
    def __float__(self) -> _float: ...
    def __floordiv__(self, other: Any) -> Tensor: ...
    def __format__(self, spec: str) -> str:
        """A 0-d tensor by its number, others as they print."""
    def __ge__(self, other: Tensor | complex) -> Tensor:
        """Whether input >= other; NaN compares false."""
    def __getitem__(self, index: Any) -> Tensor:
        """`x[index]`."""
    def __gt__(self, other: Tensor | complex) -> Tensor:
        """Whether input > other; NaN compares false."""
    def __idiv__(self, other: Any) -> Any: ...
    def __index__(self) -> _int: ...
    def __int__(self) -> _int: ...
    def __invert__(self) -> Tensor:
        """Bits inverted; `not` for bools."""
    def __iter__(self) -> Iterator[Tensor]: ...
    def __le__(self, other: Tensor | complex) -> Tensor:
        """Whether input <= other; NaN compares false."""
    def __len__(self) -> _int: ...
    def __long__(self) -> _int: ...
    def __lshift__(self, other: Tensor | complex) -> Tensor:
        """`input` shifted left; 0 where `other` is negative or not below the
        width.
        """
    def __lt__(self, other: Tensor | complex) -> Tensor:
        """Whether input < other; NaN compares false."""
    def __matmul__(self, other: Tensor) -> Tensor:
        """Matrix product of the last two dims; leading dims broadcast; vectors are
        1-D.
        """
    def __mod__(self, other: Any) -> Tensor: ...
    def __mul__(self, other: Tensor | complex) -> Tensor:
        """input * other; integers wrap, the product of bools is `and`."""
    def __ne__(self, other: Any) -> Tensor:  # type: ignore[override]
        ...
    def __neg__(self) -> Tensor:
        """-input; integers wrap."""
    def __nonzero__(self) -> _bool: ...
    def __or__(self, other: Tensor | complex) -> Tensor:
        """Bitwise or."""
    def __pos__(self) -> Tensor: ...
    def __pow__(self, exponent: Any) -> Tensor:
        """`self ** exponent`; an exponent of another class may know what that is."""
    def __radd__(self, other: Tensor | complex) -> Tensor:
        """input + other; integers wrap, the sum of bools is `or`."""
    def __rand__(self, other: Tensor | complex) -> Tensor:
        """Bitwise and."""
    def __rdiv__(self, other: Any) -> Tensor:
        """`other / self`, of a number torch's way: the reciprocal times the
        number.
        """
    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        """Pickle the memory and the place in it; loaded, the tensor is a leaf."""
    def __repr__(self, *, tensor_contents: Any = None) -> str: ...
    def __reversed__(self) -> Tensor: ...
    def __rfloordiv__(self, other: Any) -> Tensor: ...
    def __rlshift__(self, other: Any) -> Tensor: ...
    def __rmatmul__(self, other: Any) -> Tensor: ...
    def __rmod__(self, other: Any) -> Tensor: ...
    def __rmul__(self, other: Tensor | complex) -> Tensor:
        """input * other; integers wrap, the product of bools is `and`."""
    def __ror__(self, other: Tensor | complex) -> Tensor:
        """Bitwise or."""
    def __rpow__(self, base: Any) -> Any:
        """`base ** self`, of which torch's powers of a number lie in rows."""
    def __rrshift__(self, other: Any) -> Tensor: ...
    def __rshift__(self, other: Tensor | complex) -> Tensor:
        """`input` shifted right by any count, its sign coming in (arithmetic)."""
    def __rsub__(self, other: Any) -> Tensor: ...
    def __rtruediv__(self, other: Any) -> Tensor:
        """`other / self`, of a number torch's way: the reciprocal times the
        number.
        """
    def __rxor__(self, other: Tensor | complex) -> Tensor:
        """Bitwise exclusive or."""
    def __setitem__(self, index: Any, value: Any) -> None:
        """`x[index] = value`, in place."""
    def __sub__(self, other: Tensor | complex) -> Tensor:
        """input - other; integers wrap."""
    def __truediv__(self, other: Tensor | complex) -> Tensor:
        """input / other, at most 2.5 ulp; IEEE 754 at 0; integers have become
        floats.
        """
    def __xor__(self, other: Tensor | complex) -> Tensor:
        """Bitwise exclusive or."""
    def abs(self) -> Tensor:
        """The magnitude; the smallest integer wraps to itself."""
    def abs_(self) -> Tensor:
        """`abs` written into the tensor, which is returned."""
    def absolute(self) -> Tensor:
        """The magnitude; the smallest integer wraps to itself."""
    def absolute_(self) -> Tensor:
        """`absolute` written into the tensor, which is returned."""
    def acos(self) -> Tensor:
        """Arccosine in radians; NaN outside [-1, 1]."""
    def acos_(self) -> Tensor:
        """`acos` written into the tensor, which is returned."""
    def acosh(self) -> Tensor:
        """Inverse hyperbolic cosine; NaN below 1."""
    def acosh_(self) -> Tensor:
        """`acosh` written into the tensor, which is returned."""
    def add(self, other: Tensor | complex, *, alpha: complex = 1) -> Tensor:
        """input + alpha * other; integers wrap, the sum of bools is `or`."""
    def add_(
        self,
        other: Tensor | complex,
        *,
        alpha: complex = 1,
        out: Tensor | tuple[Tensor, ...] | None = None,
    ) -> Tensor:
        """`add` written into the tensor, which is returned."""
    def addbmm(
        self, batch1: Tensor, batch2: Tensor, *, beta: complex = 1, alpha: complex = 1
    ) -> Tensor:
        """beta * input + alpha * the sum of the products of a batch."""
    def addbmm_(
        self, batch1: Tensor, batch2: Tensor, *, beta: complex = 1, alpha: complex = 1
    ) -> Tensor:
        """`addbmm` written into the tensor, which is returned."""
    def addcdiv(
        self, tensor1: Tensor, tensor2: Tensor, *, value: complex = 1
    ) -> Tensor:
        """input + value * tensor1 / tensor2, of which one is no integer."""
    def addcdiv_(
        self,
        tensor1: Tensor,
        tensor2: Tensor,
        *,
        value: complex = 1,
        out: Tensor | tuple[Tensor, ...] | None = None,
    ) -> Tensor:
        """`addcdiv` written into the tensor, which is returned."""
    def addcmul(
        self, tensor1: Tensor, tensor2: Tensor, *, value: complex = 1
    ) -> Tensor:
        """input + value * tensor1 * tensor2; of integers the value is cut to one."""
    def addcmul_(
        self,
        tensor1: Tensor,
        tensor2: Tensor,
        *,
        value: complex = 1,
        out: Tensor | tuple[Tensor, ...] | None = None,
    ) -> Tensor:
        """`addcmul` written into the tensor, which is returned."""
    def addmm(
        self, mat1: Tensor, mat2: Tensor, *, beta: complex = 1, alpha: complex = 1
    ) -> Tensor:
        """beta * input + alpha * (mat1 @ mat2), rounded once."""
    def addmm_(
        self, mat1: Tensor, mat2: Tensor, *, beta: complex = 1, alpha: complex = 1
    ) -> Tensor:
        """`addmm` written into the tensor, which is returned."""
    def addmv(
        self, mat: Tensor, vec: Tensor, *, beta: complex = 1, alpha: complex = 1
    ) -> Tensor:
        """beta * input + alpha * (mat @ vec)."""
    def addmv_(
        self, mat: Tensor, vec: Tensor, *, beta: complex = 1, alpha: complex = 1
    ) -> Tensor:
        """`addmv` written into the tensor, which is returned."""
    def addr(
        self, vec1: Tensor, vec2: Tensor, *, beta: complex = 1, alpha: complex = 1
    ) -> Tensor:
        """beta * input + alpha * outer(vec1, vec2)."""
    def addr_(
        self,
        vec1: Tensor,
        vec2: Tensor,
        *,
        beta: complex = 1,
        alpha: complex = 1,
        out: Tensor | tuple[Tensor, ...] | None = None,
    ) -> Tensor:
        """`addr` written into the tensor, which is returned."""
    def adjoint(self) -> Tensor:
        """The last two dims swapped and the elements conjugated."""
    def all(
        self, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False
    ) -> Tensor:
        """Whether none over `dim` is zero; true where there are none."""
    def allclose(
        self,
        other: Tensor,
        rtol: _float = 1e-05,
        atol: _float = 1e-08,
        equal_nan: _bool = False,
    ) -> _bool:
        """Whether all elements are close; see `isclose`."""
    def amax(
        self, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = False
    ) -> Tensor:
        """The greatest over `dim`, not empty; NaN wins, and ties share the
        gradient.
        """
    def amin(
        self, dim: _int | Sequence[_int] | None = ..., keepdim: _bool = False
    ) -> Tensor:
        """The least over `dim`, not empty; NaN wins, and ties share the gradient."""
    def aminmax(self, *, dim: _int | None = None, keepdim: _bool = False) -> Extremes:
        """The least and the greatest, `min` and `max`, of all or along `dim`."""
    def angle(self) -> Tensor:
        """The angle in the complex plane in radians; 0 or pi for real numbers."""
    def any(
        self, dim: _int | Sequence[_int] | None = None, keepdim: _bool = False
    ) -> Tensor:
        """Whether one over `dim` is not zero; false where there are none."""
    def apply_(self, callable: Callable[[Any], Any]) -> Tensor:
        """Replace each element by what a Python function gives for it; slow."""
    def arccos(self) -> Tensor:
        """Arccosine in radians; NaN outside [-1, 1]."""
    def arccos_(self) -> Tensor:
        """`arccos` written into the tensor, which is returned."""
    def arccosh(self) -> Tensor:
        """Inverse hyperbolic cosine; NaN below 1."""
    def arccosh_(self) -> Tensor:
        """`arccosh` written into the tensor, which is returned."""
    def arcsin(self) -> Tensor:
        """Arcsine in radians; NaN outside [-1, 1]."""
    def arcsin_(self) -> Tensor:
        """`arcsin` written into the tensor, which is returned."""
    def arcsinh(self) -> Tensor:
        """Inverse hyperbolic sine."""
    def arcsinh_(self) -> Tensor:
        """`arcsinh` written into the tensor, which is returned."""
    def arctan(self) -> Tensor:
        """Arctangent in radians."""
    def arctan2(self, other: Tensor) -> Tensor:
        """The angle of the point (other, input) in radians; IEEE 754 at zeros."""
    def arctan2_(self, other: Tensor) -> Tensor:
        """`arctan2` written into the tensor, which is returned."""
    def arctan_(self) -> Tensor:
        """`arctan` written into the tensor, which is returned."""
    def arctanh(self) -> Tensor:
        """Inverse hyperbolic tangent; infinite at ±1, NaN beyond."""
    def arctanh_(self) -> Tensor:
        """`arctanh` written into the tensor, which is returned."""
    def argmax(self, dim: _int | None = None, keepdim: _bool = False) -> Tensor:
        """Where along `dim` the greatest is; the first of several, the first NaN."""
    def argmin(self, dim: _int | None = None, keepdim: _bool = False) -> Tensor:
        """Where along `dim` the least is; the first of several, the first NaN."""
    def argsort(
        self, dim: _int = -1, descending: _bool = False, *, stable: _bool = False
    ) -> Tensor:
        """Where the elements are, in order along `dim`; NaN is the greatest."""
    def argwhere(self) -> Tensor:
        """Indices of the elements that are not zero, as rows."""
    def as_strided(
        self,
        size: Sequence[_int],
        stride: Sequence[_int],
        storage_offset: _int | None = None,
    ) -> Tensor:
        """Elements of the memory by element strides; the offset counts from its
        start.
        """
    def as_strided_(
        self,
        size: Sequence[_int],
        stride: Sequence[_int],
        storage_offset: _int | None = None,
    ) -> Tensor:
        """`as_strided` of this tensor itself; returns it."""
    def as_strided_scatter(
        self,
        src: Tensor,
        size: Sequence[_int],
        stride: Sequence[_int],
        storage_offset: _int | None = None,
    ) -> Tensor:
        """`input` with `src` written over what `as_strided` shows of it."""
    def as_subclass(self, cls: Any) -> Tensor:
        """This tensor as an instance of a subclass of Tensor, over the same
        memory.
        """
    def asin(self) -> Tensor:
        """Arcsine in radians; NaN outside [-1, 1]."""
    def asin_(self) -> Tensor:
        """`asin` written into the tensor, which is returned."""
    def asinh(self) -> Tensor:
        """Inverse hyperbolic sine."""
    def asinh_(self) -> Tensor:
        """`asinh` written into the tensor, which is returned."""
    def atan(self) -> Tensor:
        """Arctangent in radians."""
    def atan2(self, other: Tensor) -> Tensor:
        """The angle of the point (other, input) in radians; IEEE 754 at zeros."""
    def atan2_(self, other: Tensor) -> Tensor:
        """`atan2` written into the tensor, which is returned."""
    def atan_(self) -> Tensor:
        """`atan` written into the tensor, which is returned."""
    def atanh(self) -> Tensor:
        """Inverse hyperbolic tangent; infinite at ±1, NaN beyond."""
    def atanh_(self) -> Tensor:
        """`atanh` written into the tensor, which is returned."""
    def backward(
        self,
        gradient: Tensor | None = None,
        retain_graph: _bool | None = None,
        create_graph: _bool = False,
        inputs: Sequence[Tensor] | None = None,
    ) -> None:
        """Add the gradients of this tensor to the `.grad` of its leaves."""
    def baddbmm(
        self, batch1: Tensor, batch2: Tensor, *, beta: complex = 1, alpha: complex = 1
    ) -> Tensor:
        """beta * input + alpha * the products of a batch, rounded once."""
    def baddbmm_(
        self, batch1: Tensor, batch2: Tensor, *, beta: complex = 1, alpha: complex = 1
    ) -> Tensor:
        """`baddbmm` written into the tensor, which is returned."""
    def bernoulli(
        self, p: _float | None = None, *, generator: Generator | None = None
    ) -> Tensor:
        """1 with the probability in `input` (or with `p`, in its shape), else 0."""
    def bernoulli_(
        self, p: _float | Tensor = 0.5, *, generator: Generator | None = None
    ) -> Tensor:
        """Fill with 1 with probability `p`, a number or a tensor of them, else 0."""
    def bfloat16(self, *, memory_format: memory_format = ...) -> Tensor:
        """This tensor as bfloat16; itself if it is."""
    def bincount(self, weights: Tensor | None = None, minlength: _int = 0) -> Tensor:
        """How often each of 0, 1, … occurs, or the sum of its weights."""
    def bitwise_and(self, other: Tensor | complex) -> Tensor:
        """Bitwise and."""
    def bitwise_and_(self, other: Tensor | complex) -> Tensor:
        """`bitwise_and` written into the tensor, which is returned."""
    def bitwise_left_shift(self, other: Tensor | complex) -> Tensor:
        """`input` shifted left; 0 where `other` is negative or not below the
        width.
        """
    def bitwise_left_shift_(self, other: Tensor | complex) -> Tensor:
        """`bitwise_left_shift` written into the tensor, which is returned."""
    def bitwise_not(self) -> Tensor:
        """Bits inverted; `not` for bools."""
    def bitwise_not_(self) -> Tensor:
        """`bitwise_not` written into the tensor, which is returned."""
    def bitwise_or(self, other: Tensor | complex) -> Tensor:
        """Bitwise or."""
    def bitwise_or_(self, other: Tensor | complex) -> Tensor:
        """`bitwise_or` written into the tensor, which is returned."""
    def bitwise_right_shift(self, other: Tensor | complex) -> Tensor:
        """`input` shifted right by any count, its sign coming in (arithmetic)."""
    def bitwise_right_shift_(self, other: Tensor | complex) -> Tensor:
        """`bitwise_right_shift` written into the tensor, which is returned."""
    def bitwise_xor(self, other: Tensor | complex) -> Tensor:
        """Bitwise exclusive or."""
    def bitwise_xor_(self, other: Tensor | complex) -> Tensor:
        """`bitwise_xor` written into the tensor, which is returned."""
    def bmm(self, mat2: Tensor) -> Tensor:
        """Products of a batch of matrices [b, n, k] and [b, k, m]."""
    def bool(self, *, memory_format: memory_format = ...) -> Tensor:
        """This tensor as bool; itself if it is."""
    @overload
    def broadcast_to(self, size: Sequence[_int]) -> Tensor:
        """Dims of size 1 repeated to `size`, without a copy; -1 keeps one; new
        dims lead.
        """
    @overload
    def broadcast_to(self, *size: _int) -> Tensor: ...
    def byte(self, *, memory_format: memory_format = ...) -> Tensor:
        """This tensor as uint8; itself if it is."""
    def cauchy_(
        self,
        median: _float = 0,
        sigma: _float = 1,
        *,
        generator: Generator | None = None,
    ) -> Tensor:
        """Fill with floats of the Cauchy distribution: the tangent of a uniform
        angle.
        """
    def ccol_indices(self) -> Any:
        """Of matrices by columns only, which dovetail does not have."""
    def cdouble(self, *, memory_format: memory_format = ...) -> Tensor:
        """This tensor as complex128; itself if it is."""
    def ceil(self) -> Tensor:
        """The least integer not below; -0 stays, as integers do."""
    def ceil_(self) -> Tensor:
        """`ceil` written into the tensor, which is returned."""
    def cfloat(self, *, memory_format: memory_format = ...) -> Tensor:
        """This tensor as complex64; itself if it is."""
    def char(self, *, memory_format: memory_format = ...) -> Tensor:
        """This tensor as int8; itself if it is."""
    def cholesky(self, upper: _bool = False) -> Tensor:
        """`linalg.cholesky` under its older name."""
    def cholesky_inverse(self, upper: _bool = False) -> Tensor:
        """The inverse of A, of which `input` is Cholesky's factor."""
    def cholesky_solve(self, input2: Tensor, upper: _bool = False) -> Tensor:
        """The X of A X = `input`, by Cholesky's factor `input2` of A."""
    def chunk(self, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
        """At most `chunks` parts along `dim`, of equal size but for the last."""
    def clamp(
        self, min: Tensor | complex | None = None, max: Tensor | complex | None = None
    ) -> Tensor:
        """`input` raised to `min`, then lowered to `max`: numbers, tensors or
        None.
        """
    def clamp_(
        self,
        min: Tensor | complex | None = None,
        max: Tensor | complex | None = None,
        *,
        out: Tensor | tuple[Tensor, ...] | None = None,
    ) -> Tensor:
        """`clamp` written into the tensor, which is returned."""
    def clamp_max(self, max: Tensor | complex) -> Tensor:
        """`input` lowered to `max`."""
    def clamp_max_(
        self, max: Tensor | complex, *, out: Tensor | tuple[Tensor, ...] | None = None
    ) -> Tensor:
        """`clamp_max` written into the tensor, which is returned."""
    def clamp_min(self, min: Tensor | complex) -> Tensor:
        """`input` raised to `min`."""
    def clamp_min_(
        self, min: Tensor | complex, *, out: Tensor | tuple[Tensor, ...] | None = None
    ) -> Tensor:
        """`clamp_min` written into the tensor, which is returned."""
    def clip(
        self, min: Tensor | complex | None = None, max: Tensor | complex | None = None
    ) -> Tensor:
        """`input` raised to `min`, then lowered to `max`: numbers, tensors or
        None.
        """
    def clip_(
        self,
        min: Tensor | complex | None = None,
        max: Tensor | complex | None = None,
        *,
        out: Tensor | tuple[Tensor, ...] | None = None,
    ) -> Tensor:
        """`clip` written into the tensor, which is returned."""
    def clone(self, *, memory_format: memory_format | None = ...) -> Tensor:
        """A copy in memory of its own."""
    def coalesce(self) -> Tensor:
        """The elements in order, those of the same coordinates added up."""
    def col_indices(self) -> Tensor:
        """The column of each element of a matrix by rows."""
    def conj(self) -> Tensor:
        """The complex conjugate; a real tensor is its own."""
    def conj_physical(self) -> Tensor:
        """The complex conjugate, computed; real numbers are unchanged."""
    def conj_physical_(self) -> Tensor:
        """`conj_physical` written into the tensor, which is returned."""
    def const_data_ptr(self) -> _int:
        """`data_ptr`, by which nothing is to be written."""
    def contiguous(self, memory_format: memory_format = ...) -> Tensor:
        """This tensor if it is contiguous, else a copy."""
    def copy_(self, other: Tensor | complex, non_blocking: _bool = False) -> Tensor:
        """Write the values of `other`, broadcast, cast and moved as needed."""
    def copysign(self, other: Tensor | complex) -> Tensor:
        """The magnitude of `input` with the sign of `other`, of -0 and NaN too."""
    def copysign_(self, other: Tensor | complex) -> Tensor:
        """`copysign` written into the tensor, which is returned."""
    def corrcoef(self) -> Tensor:
        """The correlation of variables (rows), limited to -1 and 1."""
    def cos(self) -> Tensor:
        """Cosine of `input` in radians, at most 4 ulp."""
    def cos_(self) -> Tensor:
        """`cos` written into the tensor, which is returned."""
    def cosh(self) -> Tensor:
        """Hyperbolic cosine."""
    def cosh_(self) -> Tensor:
        """`cosh` written into the tensor, which is returned."""
    @overload
    def count_nonzero(self, dim: _int | Sequence[_int] | None = None) -> Tensor:
        """How many over `dim` are not zero."""
    @overload
    def count_nonzero(self, *dim: _int) -> Tensor: ...
    def cov(
        self,
        *,
        correction: _int = 1,
        fweights: Tensor | None = None,
        aweights: Tensor | None = None,
    ) -> Tensor:
        """The covariance of variables (rows) over observations (columns)."""
    def cpu(self) -> Tensor:
        """This tensor on the CPU."""
    def cross(self, other: Tensor, dim: _int | None = None) -> Tensor:
        """The vector product along `dim`, where both have size 3."""
    def crow_indices(self) -> Tensor:
        """Where the rows of a matrix start among its elements, and the last one
        ends.
        """
    def cuda(self, device: Any = None, non_blocking: _bool = False) -> Tensor:
        """This tensor on a cuda device."""
    def cummax(self, dim: _int) -> Valued:
        """The greatest so far along `dim`, and where it is; the last of several or
        NaNs.
        """
    def cummin(self, dim: _int) -> Valued:
        """The least so far along `dim`, and where it is; the last of several or
        NaNs.
        """
    def cumprod(self, dim: _int, *, dtype: DType | None = None) -> Tensor:
        """Products of the elements so far; integers in int64."""
    def cumprod_(self, dim: _int, *, dtype: DType | None = None) -> Tensor:
        """`cumprod` written into the tensor, which is returned."""
    def cumsum(self, dim: _int, *, dtype: DType | None = None) -> Tensor:
        """Sums of the elements so far; integers in int64."""
    def cumsum_(self, dim: _int, *, dtype: DType | None = None) -> Tensor:
        """`cumsum` written into the tensor, which is returned."""
    def data_ptr(self) -> _int:
        """The address of the first element, in bytes."""
    def deg2rad(self) -> Tensor:
        """Degrees as radians."""
    def deg2rad_(self) -> Tensor:
        """`deg2rad` written into the tensor, which is returned."""
    def dense_dim(self) -> _int:
        """How many dims are dense."""
    def det(self) -> Tensor:
        """The determinant of square matrices."""
    def detach(self) -> Tensor:
        """The same memory outside the graph; writes show in both."""
    def detach_(self) -> Tensor:
        """Take this tensor out of the graph, making it a leaf."""
    def diag(self, diagonal: _int = 0) -> Tensor:
        """A matrix with `input` on a diagonal, or a copy of the diagonal of a
        matrix.
        """
    def diag_embed(self, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> Tensor:
        """Matrices in two new dims, the last dim of `input` as a diagonal in
        zeros.
        """
    def diagflat(self, offset: _int = 0) -> Tensor:
        """A matrix with all elements of `input` on a diagonal."""
    def diagonal(self, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
        """A diagonal of the matrices in two dims, as the last dim; above for
        offset > 0.
        """
    def diagonal_scatter(
        self, src: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1
    ) -> Tensor:
        """`input` with `src` as a diagonal."""
    def diff(
        self,
        n: _int = 1,
        dim: _int = -1,
        prepend: Tensor | None = None,
        append: Tensor | None = None,
    ) -> Tensor:
        """Differences of neighbours along `dim`, taken `n` times."""
    def digamma(self) -> Tensor:
        """The derivative of lgamma (DLMF 5.5.2, 5.5.4, 5.11.2)."""
    def digamma_(self) -> Tensor:
        """`digamma` written into the tensor, which is returned."""
    def dim(self) -> _int:
        """The number of dims."""
    def dim_order(
        self, *, ambiguity_check: _bool | list[memory_format] = False
    ) -> tuple[_int, ...]:
        """The dims from the outermost in memory to the innermost."""
    def dist(self, other: Tensor, p: Any = 2) -> Tensor:
        """The p-norm of the difference."""
    def div(
        self,
        other: Tensor | complex,
        *,
        rounding_mode: Literal["trunc", "floor"] | None = None,
    ) -> Tensor:
        """input / other: exact, towards zero (`"trunc"`) or down (`"floor"`)."""
    def div_(
        self,
        other: Tensor | complex,
        *,
        rounding_mode: Literal["trunc", "floor"] | None = None,
        out: Tensor | tuple[Tensor, ...] | None = None,
    ) -> Tensor:
        """`div` written into the tensor, which is returned."""
    def divide(
        self,
        other: Tensor | complex,
        *,
        rounding_mode: Literal["trunc", "floor"] | None = None,
    ) -> Tensor:
        """input / other: exact, towards zero (`"trunc"`) or down (`"floor"`)."""
    def divide_(
        self,
        other: Tensor | complex,
        *,
        rounding_mode: Literal["trunc", "floor"] | None = None,
        out: Tensor | tuple[Tensor, ...] | None = None,
    ) -> Tensor:
        """`divide` written into the tensor, which is returned."""
    def dot(self, tensor: Tensor) -> Tensor:
        """The sum of the products of two vectors' elements."""
    def double(self, *, memory_format: memory_format = ...) -> Tensor:
        """This tensor as float64; itself if it is."""
    def dsplit(
        self,
        sections: _int | Sequence[_int] | Tensor | None = None,
        *,
        indices: Sequence[_int] | Tensor | None = None,
    ) -> tuple[Tensor, ...]:
        """Parts along dim 2, as `tensor_split` cuts them."""
    def eig(self, eigenvectors: _bool = False) -> None:
        """Removed, as from torch: see `dovetail.linalg.eig`."""
    def element_size(self) -> _int:
        """Bytes an element."""
    def eq(self, other: Tensor | complex) -> Tensor:
        """Whether input equals other; NaN compares false."""
    def eq_(self, other: Tensor | complex) -> Tensor:
        """`eq` written into the tensor, which is returned."""
    def equal(self, other: Tensor) -> _bool:
        """Whether two tensors have one shape and equal elements."""
    def erf(self) -> Tensor:
        """The error function, 2 / sqrt(pi) times the integral of exp(-t²) up to
        it.
        """
    def erf_(self) -> Tensor:
        """`erf` written into the tensor, which is returned."""
    def erfc(self) -> Tensor:
        """1 - erf(input), accurate where it is small."""
    def erfc_(self) -> Tensor:
        """`erfc` written into the tensor, which is returned."""
    def erfinv(self) -> Tensor:
        """The inverse of erf; infinite at ±1, NaN beyond."""
    def erfinv_(self) -> Tensor:
        """`erfinv` written into the tensor, which is returned."""
    def exp(self) -> Tensor:
        """e to the power of `input`, at most 3 ulp."""
    def exp2(self) -> Tensor:
        """2 to the power of input."""
    def exp2_(self) -> Tensor:
        """`exp2` written into the tensor, which is returned."""
    def exp_(self) -> Tensor:
        """`exp` written into the tensor, which is returned."""
    @overload
    def expand(self, size: Sequence[_int]) -> Tensor:
        """Dims of size 1 repeated to `size`, without a copy; -1 keeps one; new
        dims lead.
        """
    @overload
    def expand(self, *size: _int) -> Tensor: ...
    def expand_as(self, other: Tensor) -> Tensor:
        """This tensor expanded to the shape of another."""
    def expm1(self) -> Tensor:
        """exp(input) - 1, accurate near 0 (Kahan; Higham 2002, section 1.14.1)."""
    def expm1_(self) -> Tensor:
        """`expm1` written into the tensor, which is returned."""
    def exponential_(
        self, lambd: _float = 1, *, generator: Generator | None = None
    ) -> Tensor:
        """Fill with exponential floats of rate `lambd`; never 0."""
    def fill_(self, value: Any) -> Tensor:
        """Set every element to a number or a 0-d tensor."""
    def fill_diagonal_(self, fill_value: Any, wrap: _bool = False) -> Tensor:
        """Set the main diagonal; with `wrap`, again below the square of a tall
        matrix.
        """
    def fix(self) -> Tensor:
        """The integer part, towards zero; -0 stays, as integers do."""
    def fix_(self) -> Tensor:
        """`fix` written into the tensor, which is returned."""
    def flatten(self, start_dim: _int = 0, end_dim: _int = -1) -> Tensor:
        """The dims from `start_dim` to `end_dim` made one; itself if it is one
        dim.
        """
    @overload
    def flip(self, dims: Sequence[_int]) -> Tensor:
        """`input` with the order along `dims` reversed."""
    @overload
    def flip(self, *dims: _int) -> Tensor: ...
    def fliplr(self) -> Tensor:
        """Columns in the opposite order."""
    def flipud(self) -> Tensor:
        """Rows in the opposite order."""
    def float(self, *, memory_format: memory_format = ...) -> Tensor:
        """This tensor as float32; itself if it is."""
    def float_power(self, exponent: Tensor | complex) -> Tensor:
        """`input` to the power of `exponent`, computed in float64 or complex128."""
    def float_power_(self, exponent: Tensor | complex) -> Tensor:
        """`float_power` written into the tensor, which has its dtype already."""
    def floor(self) -> Tensor:
        """The greatest integer not above; -0 stays, as integers do."""
    def floor_(self) -> Tensor:
        """`floor` written into the tensor, which is returned."""
    def floor_divide(self, other: Tensor | complex) -> Tensor:
        """input / other rounded down. Raises: DivisionByZero for integers by 0."""
    def floor_divide_(
        self, other: Tensor | complex, *, out: Tensor | tuple[Tensor, ...] | None = None
    ) -> Tensor:
        """`floor_divide` written into the tensor, which is returned."""
    def fmax(self, other: Tensor) -> Tensor:
        """The greater of each pair; of a number and NaN, the number."""
    def fmin(self, other: Tensor) -> Tensor:
        """The less of each pair; of a number and NaN, the number."""
    def fmod(self, other: Tensor | complex) -> Tensor:
        """What truncated division leaves, with the sign of `input`."""
    def fmod_(
        self, other: Tensor | complex, *, out: Tensor | tuple[Tensor, ...] | None = None
    ) -> Tensor:
        """`fmod` written into the tensor, which is returned."""
    def frac(self) -> Tensor:
        """What `trunc` takes away."""
    def frac_(self) -> Tensor:
        """`frac` written into the tensor, which is returned."""
    def frexp(self) -> Any:
        """A mantissa from 0.5 to 1 and a power of 2, whose product `input` is."""
    def gather(self, dim: _int, index: Tensor, *, sparse_grad: _bool = False) -> Tensor:
        """`input[..., index[..., i, ...], ...]` along `dim`, in the shape of
        `index`.
        """
    def gcd(self, other: Tensor) -> Tensor:
        """The greatest common divisor, not negative, by Euclid's algorithm."""
    def gcd_(self, other: Tensor) -> Tensor:
        """`gcd` written into the tensor, which is returned."""
    def ge(self, other: Tensor | complex) -> Tensor:
        """Whether input >= other; NaN compares false."""
    def ge_(self, other: Tensor | complex) -> Tensor:
        """`ge` written into the tensor, which is returned."""
    def geometric_(self, p: _float, *, generator: Generator | None = None) -> Tensor:
        """Fill with the number of trials until one of probability `p` succeeds,
        from 1.
        """
    def geqrf(self) -> Any:
        """R, and below its diagonal the reflections that make it, with their
        factors.
        """
    def ger(self, vec2: Tensor) -> Tensor:
        """The products of each element of one vector with each of another."""
    def get_device(self) -> _int:
        """The index of the device, -1 where it has none, as on the CPU."""
    @property
    def grad_dtype(self) -> DType | None:
        """The dtype of gradients: this tensor's."""
    @grad_dtype.setter
    def grad_dtype(self, value: DType | None) -> None: ...
    def greater(self, other: Tensor | complex) -> Tensor:
        """Whether input > other; NaN compares false."""
    def greater_(self, other: Tensor | complex) -> Tensor:
        """`greater` written into the tensor, which is returned."""
    def greater_equal(self, other: Tensor | complex) -> Tensor:
        """Whether input >= other; NaN compares false."""
    def greater_equal_(self, other: Tensor | complex) -> Tensor:
        """`greater_equal` written into the tensor, which is returned."""
    def gt(self, other: Tensor | complex) -> Tensor:
        """Whether input > other; NaN compares false."""
    def gt_(self, other: Tensor | complex) -> Tensor:
        """`gt` written into the tensor, which is returned."""
    def half(self, *, memory_format: memory_format = ...) -> Tensor:
        """This tensor as float16; itself if it is."""
    def hardshrink(self, lambd: complex = 0.5) -> Tensor:
        """`input`, and 0 where its magnitude is at most `lambd`."""
    def hash_tensor(
        self,
        dim: _int | Sequence[_int] = ...,
        *,
        keepdim: _bool = False,
        mode: _int = 0,
    ) -> Tensor:
        """The exclusive or of the elements over `dim`, each widened to 64 bits."""
    def heaviside(self, values: Tensor) -> Tensor:
        """0 below zero and for NaN, 1 above, `values` at zero."""
    def heaviside_(self, values: Tensor) -> Tensor:
        """`heaviside` written into the tensor, which is returned."""
    def histc(self, bins: _int = 100, min: _float = 0, max: _float = 0) -> Tensor:
        """How many elements lie in each of `bins` equal parts of min to max."""
    def histogram(
        self,
        bins: _int | Tensor,
        *,
        range: Sequence[_float] | None = None,
        weight: Tensor | None = None,
        density: _bool = False,
    ) -> Any:
        """How many elements lie in each bin, and the edges of the bins."""
    def hsplit(
        self,
        sections: _int | Sequence[_int] | Tensor | None = None,
        *,
        indices: Sequence[_int] | Tensor | None = None,
    ) -> tuple[Tensor, ...]:
        """Parts along dim 1, as `tensor_split` cuts them."""
    def hypot(self, other: Tensor) -> Tensor:
        """sqrt(input² + other²) without overflow between."""
    def hypot_(self, other: Tensor) -> Tensor:
        """`hypot` written into the tensor, which is returned."""
    def i0(self) -> Tensor:
        """The modified Bessel function I of order 0."""
    def i0_(self, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
        """`i0` written into the tensor, which is returned."""
    def igamma(self, other: Tensor) -> Tensor:
        """The share of the gamma integral of `input` that lies below `other`: P(a,
        x).
        """
    def igamma_(
        self, other: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None
    ) -> Tensor:
        """`igamma` written into the tensor, which is returned."""
    def igammac(self, other: Tensor) -> Tensor:
        """The share of the gamma integral of `input` that lies above `other`: Q(a,
        x).
        """
    def igammac_(
        self, other: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None
    ) -> Tensor:
        """`igammac` written into the tensor, which is returned."""
    @property
    def imag(self) -> Tensor:
        """The imaginary part of a complex tensor, a view of its memory."""
    @imag.setter
    def imag(self, value: Any) -> None: ...
    def index_add(
        self, dim: _int, index: Tensor, source: Tensor, *, alpha: _float = 1
    ) -> Tensor:
        """`input` with `alpha` times the slices of `source` added at the indices."""
    def index_add_(
        self,
        dim: _int,
        index: Tensor,
        source: Tensor,
        *,
        alpha: _float = 1,
        out: Tensor | tuple[Tensor, ...] | None = None,
    ) -> Tensor:
        """`index_add` written into the tensor, which is returned."""
    def index_copy(self, dim: _int, index: Tensor, source: Tensor) -> Tensor:
        """`input` with the slices of `source` written at the indices."""
    def index_copy_(self, dim: _int, index: Tensor, source: Tensor) -> Tensor:
        """`index_copy` written into the tensor, which is returned."""
    def index_fill(self, dim: _int, index: Tensor, value: Any) -> Tensor:
        """`input` with one value in the slices at the indices, which may be
        negative.
        """
    def index_fill_(
        self,
        dim: _int,
        index: Tensor,
        value: Any,
        *,
        out: Tensor | tuple[Tensor, ...] | None = None,
    ) -> Tensor:
        """`index_fill` written into the tensor, which is returned."""
    def index_put(
        self,
        indices: Sequence[Tensor | None],
        values: Tensor,
        accumulate: _bool = False,
    ) -> Tensor:
        """`input` with `values` written, or added, at tuples of indices."""
    def index_put_(
        self,
        indices: Sequence[Tensor | None],
        values: Tensor,
        accumulate: _bool = False,
    ) -> Tensor:
        """Write `values` into `input`, or add them, at tuples of indices."""
    def index_reduce(
        self,
        dim: _int,
        index: Tensor,
        source: Tensor,
        reduce: Literal["prod", "mean", "amax", "amin"],
        *,
        include_self: _bool = True,
    ) -> Tensor:
        """`input` with slices of `source` combined into the places `index` along
        `dim`.
        """
    def index_reduce_(
        self,
        dim: _int,
        index: Tensor,
        source: Tensor,
        reduce: Literal["prod", "mean", "amax", "amin"],
        *,
        include_self: _bool = True,
        out: Tensor | tuple[Tensor, ...] | None = None,
    ) -> Tensor:
        """`index_reduce` written into the tensor, which is returned."""
    def index_select(self, dim: _int, index: Tensor) -> Tensor:
        """The slices along `dim` that a one-dimensional index names."""
    def indices(self) -> Tensor:
        """The coordinates [sparse dims, elements] of a tensor that is coalesced."""
    def inner(self, other: Tensor) -> Tensor:
        """Products over the last dims of both; with a 0-d tensor, multiplication."""
    def int(self, *, memory_format: memory_format = ...) -> Tensor:
        """This tensor as int32; itself if it is."""
    def inverse(self) -> Tensor:
        """`linalg.inv` under its older name."""
    def ipu(self, device: Any = None, non_blocking: _bool = False) -> Tensor:
        """This tensor on a ipu device."""
    def is_coalesced(self) -> _bool:
        """Whether elements are known to be in order, and none to come twice."""
    def is_complex(self) -> _bool:
        """Whether the dtype is complex."""
    def is_conj(self) -> _bool:
        """False: conjugates and negations are computed at once."""
    def is_contiguous(self, memory_format: memory_format = ...) -> _bool:
        """Whether the elements lie in row-major order, or as a memory format says."""
    @property
    def is_cpu(self) -> _bool:
        """Whether the tensor is on the CPU."""
    @property
    def is_cuda(self) -> _bool:
        """Whether the tensor is on a cuda device."""
    def is_distributed(self) -> _bool:
        """False: a tensor lies on one device."""
    def is_floating_point(self) -> _bool:
        """Whether the dtype is a real floating point format."""
    def is_inference(self) -> _bool:
        """Whether a tensor was made in `inference_mode`, or looks into one that
        was.
        """
    @property
    def is_ipu(self) -> _bool:
        """False: no tensor is on a device of the type ipu."""
    @property
    def is_maia(self) -> _bool:
        """False: no tensor is on a device of the type maia."""
    @property
    def is_meta(self) -> _bool:
        """Whether the tensor has a shape and a dtype, and no values."""
    @property
    def is_mkldnn(self) -> _bool:
        """False: no tensor is in a layout of oneDNN's own."""
    @property
    def is_mps(self) -> _bool:
        """False: no tensor is on a device of the type mps."""
    @property
    def is_mtia(self) -> _bool:
        """False: no tensor is on a device of the type mtia."""
    def is_neg(self) -> _bool:
        """False: conjugates and negations are computed at once."""
    @property
    def is_nested(self) -> _bool:
        """False: no tensor is nested."""
    def is_nonzero(self) -> _bool:
        """Whether the one element is not zero; waits for it."""
    def is_pinned(self, device: device | str | None = None) -> _bool:
        """Whether `pin_memory` made the memory; for devices of a type, if one is
        named.
        """
    @property
    def is_quantized(self) -> _bool:
        """False: no tensor is quantized."""
    def is_same_size(self, other: Tensor) -> _bool:
        """Whether two tensors have one shape."""
    def is_set_to(self, tensor: Tensor) -> _bool:
        """Whether both are the same elements of one memory, under one shape."""
    def is_shared(self) -> _bool:
        """Whether other processes can see the memory of this tensor; see
        `share_memory_`.
        """
    def is_signed(self) -> _bool:
        """Whether the dtype has negative values."""
    @property
    def is_sparse(self) -> _bool:
        """False: no tensor is sparse."""
    @property
    def is_sparse_csr(self) -> _bool:
        """False: no tensor is sparse."""
    @property
    def is_vulkan(self) -> _bool:
        """False: no tensor is on a device of the type vulkan."""
    @property
    def is_xla(self) -> _bool:
        """False: no tensor is on a device of the type xla."""
    @property
    def is_xpu(self) -> _bool:
        """Whether the tensor is on a xpu device."""
    def isclose(
        self,
        other: Tensor,
        rtol: _float = 1e-05,
        atol: _float = 1e-08,
        equal_nan: _bool = False,
    ) -> Tensor:
        """Whether |input - other| <= atol + rtol |other|, or both are equal."""
    def isfinite(self) -> Tensor:
        """Whether an element is neither infinite nor NaN."""
    def isinf(self) -> Tensor:
        """Whether an element, or a part of it, is infinite."""
    def isnan(self) -> Tensor:
        """Whether an element is NaN, which is never so for integers."""
    def isneginf(self) -> Tensor:
        """Whether an element is -inf."""
    def isposinf(self) -> Tensor:
        """Whether an element is +inf."""
    def isreal(self) -> Tensor:
        """Whether the imaginary part is 0."""
    def istft(
        self,
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
    def item(self) -> Any:
        """The value of a tensor with one element, as a Python number; waits for
        it.
        """
    @property
    def itemsize(self) -> _int:
        """Bytes an element."""
    def kron(self, other: Tensor) -> Tensor:
        """Each element of `input` times the whole of `other`, as blocks."""
    def kthvalue(self, k: _int, dim: _int = -1, keepdim: _bool = False) -> Valued:
        """The k-th least along `dim`, counted from 1."""
    @property
    def layout(self) -> Any:
        """How elements are stored: all of them, by strides."""
    def lcm(self, other: Tensor) -> Tensor:
        """The least common multiple, not negative while it fits; 0 if either is 0."""
    def lcm_(self, other: Tensor) -> Tensor:
        """`lcm` written into the tensor, which is returned."""
    def ldexp(self, other: Tensor) -> Tensor:
        """input * 2 ** other; integers become floats."""
    def ldexp_(
        self, other: Tensor, *, out: Tensor | tuple[Tensor, ...] | None = None
    ) -> Tensor:
        """`ldexp` written into the tensor, which is returned."""
    def le(self, other: Tensor | complex) -> Tensor:
        """Whether input <= other; NaN compares false."""
    def le_(self, other: Tensor | complex) -> Tensor:
        """`le` written into the tensor, which is returned."""
    def lerp(self, end: Tensor, weight: Tensor) -> Tensor:
        """input + weight * (end - input), which is exactly `end` where the weight
        is 1.
        """
    def lerp_(self, end: Tensor, weight: Tensor) -> Tensor:
        """`lerp` written into the tensor, which is returned."""
    def less(self, other: Tensor | complex) -> Tensor:
        """Whether input < other; NaN compares false."""
    def less_(self, other: Tensor | complex) -> Tensor:
        """`less` written into the tensor, which is returned."""
    def less_equal(self, other: Tensor | complex) -> Tensor:
        """Whether input <= other; NaN compares false."""
    def less_equal_(self, other: Tensor | complex) -> Tensor:
        """`less_equal` written into the tensor, which is returned."""
    def lgamma(self) -> Tensor:
        """The logarithm of |gamma(input)|: recurrence, Stirling's series,
        reflection.
        """
    def lgamma_(self) -> Tensor:
        """`lgamma` written into the tensor, which is returned."""
    def log(self) -> Tensor:
        """Natural logarithm, at most 3 ulp; -inf at 0, NaN below."""
    def log10(self) -> Tensor:
        """The logarithm to base 10."""
    def log10_(self) -> Tensor:
        """`log10` written into the tensor, which is returned."""
    def log1p(self) -> Tensor:
        """log(1 + input), accurate near 0 (Kahan; Higham 2002, problem 1.5)."""
    def log1p_(self) -> Tensor:
        """`log1p` written into the tensor, which is returned."""
    def log2(self) -> Tensor:
        """The logarithm to base 2."""
    def log2_(self) -> Tensor:
        """`log2` written into the tensor, which is returned."""
    def log_(self) -> Tensor:
        """`log` written into the tensor, which is returned."""
    def log_normal_(
        self, mean: _float = 1, std: _float = 2, *, generator: Generator | None = None
    ) -> Tensor:
        """Fill with floats whose logarithms are normal."""
    def log_softmax(self, dim: _int, dtype: DType | None = None) -> Tensor:
        """The logarithm of softmax, without its rounding; `dtype` is cast to
        first.
        """
    def logaddexp(self, other: Tensor) -> Tensor:
        """log(exp(input) + exp(other)) without overflow."""
    def logaddexp2(self, other: Tensor) -> Tensor:
        """log2(2^input + 2^other) without overflow."""
    def logcumsumexp(self, dim: _int) -> Tensor:
        """The logarithm of the cumulative sum of exponentials along `dim`."""
    def logdet(self) -> Tensor:
        """The logarithm of the determinant; NaN where that is negative."""
    def logical_and(self, other: Tensor) -> Tensor:
        """Whether both are not zero."""
    def logical_and_(self, other: Tensor) -> Tensor:
        """`logical_and` written into the tensor, which is returned."""
    def logical_not(self) -> Tensor:
        """Whether an element is zero."""
    def logical_not_(self) -> Tensor:
        """`logical_not` written into the tensor, which is returned."""
    def logical_or(self, other: Tensor) -> Tensor:
        """Whether any of the two is not zero."""
    def logical_or_(self, other: Tensor) -> Tensor:
        """`logical_or` written into the tensor, which is returned."""
    def logical_xor(self, other: Tensor) -> Tensor:
        """Whether exactly one is not zero."""
    def logical_xor_(self, other: Tensor) -> Tensor:
        """`logical_xor` written into the tensor, which is returned."""
    def logit(self, eps: complex | None = None) -> Tensor:
        """log(input / (1 - input)), with `input` kept at least `eps` from 0 and 1."""
    def logit_(self, eps: complex | None = None) -> Tensor:
        """`logit` written into the tensor, which is returned."""
    def logsumexp(self, dim: _int | Sequence[_int], keepdim: _bool = False) -> Tensor:
        """log(sum(exp(input))) over `dim`, shifted by the greatest; -inf over
        nothing.
        """
    def long(self, *, memory_format: memory_format = ...) -> Tensor:
        """This tensor as int64; itself if it is."""
    def lstsq(self, other: Tensor) -> None:
        """Removed, as from torch: see `dovetail.linalg.lstsq`."""
    def lt(self, other: Tensor | complex) -> Tensor:
        """Whether input < other; NaN compares false."""
    def lt_(self, other: Tensor | complex) -> Tensor:
        """`lt` written into the tensor, which is returned."""
    def lu(self, pivot: _bool = True, get_infos: _bool = False) -> Any:
        """`linalg.lu_factor` under its older name; `get_infos` adds `info`."""
    def lu_solve(self, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
        """The x of A x = `input`, by the factors of A."""
    @property
    def mH(self) -> Tensor:
        """The last two dims swapped and the elements conjugated."""
    @property
    def mT(self) -> Tensor:
        """The last two dims swapped; of a 0-d tensor itself."""
    def map2_(
        self, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]
    ) -> Tensor:
        """Replace each element by a Python function of it and those of two others."""
    def map_(self, other: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
        """Replace each element by a Python function of it and one of another
        tensor.
        """
    def masked_fill(self, mask: Tensor, value: Any) -> Tensor:
        """`input` with one value where the mask, broadcast, holds."""
    def masked_fill_(self, mask: Tensor, value: Any) -> Tensor:
        """`masked_fill` written into the tensor, which is returned."""
    def masked_scatter(self, mask: Tensor, source: Tensor) -> Tensor:
        """`input` with the elements of `source`, in order, where the mask holds."""
    def masked_scatter_(self, mask: Tensor, source: Tensor) -> Tensor:
        """`masked_scatter` written into the tensor, which is returned."""
    def masked_select(self, mask: Tensor) -> Tensor:
        """The elements where the mask holds, both broadcast, in row-major order."""
    def matmul(self, other: Tensor) -> Tensor:
        """Matrix product of the last two dims; leading dims broadcast; vectors are
        1-D.
        """
    def matrix_exp(self) -> Tensor:
        """`linalg.matrix_exp` under its older name."""
    def matrix_power(self, n: _int) -> Tensor:
        """`linalg.matrix_power` under its older name."""
    @overload
    def max(self) -> Tensor:
        """The greatest of all, along `dim` with its indices, or of two tensors."""
    @overload
    def max(self, dim: _int, keepdim: _bool = False) -> Valued: ...
    @overload
    def max(self, other: Tensor) -> Tensor: ...
    def maximum(self, other: Tensor) -> Tensor:
        """The greater of each pair; NaN if either is NaN."""
    def mean(
        self,
        dim: _int | Sequence[_int] | None = None,
        keepdim: _bool = False,
        *,
        dtype: DType | None = None,
    ) -> Tensor:
        """The sum over `dim` divided by the number of elements; NaN over nothing."""
    @overload
    def median(self) -> Tensor:
        """The lower of the middle elements, of all or along `dim`; NaN wins."""
    @overload
    def median(self, dim: _int, keepdim: _bool = False) -> Valued: ...
    @overload
    def min(self) -> Tensor:
        """The least of all, along `dim` with its indices, or of two tensors; as
        `max`.
        """
    @overload
    def min(self, dim: _int, keepdim: _bool = False) -> Valued: ...
    @overload
    def min(self, other: Tensor) -> Tensor: ...
    def minimum(self, other: Tensor) -> Tensor:
        """The less of each pair; NaN if either is NaN."""
    def mm(self, mat2: Tensor) -> Tensor:
        """The product of two matrices."""
    def mode(self, dim: _int = -1, keepdim: _bool = False) -> Valued:
        """The most frequent along `dim`, the least of several; the last of its
        places.
        """
    def module_load(self, other: Tensor, assign: _bool = False) -> Tensor:
        """What a module keeps of `other` in this tensor's place: its values, or
        it.
        """
    def moveaxis(self, source: Any, destination: Any) -> Tensor:
        """Dims moved to other places; the rest keep their order."""
    def movedim(self, source: Any, destination: Any) -> Tensor:
        """Dims moved to other places; the rest keep their order."""
    def msort(self) -> Tensor:
        """The elements in order along the first dim."""
    def mtia(self, device: Any = None, non_blocking: _bool = False) -> Tensor:
        """This tensor on a mtia device."""
    def mul(self, other: Tensor | complex) -> Tensor:
        """input * other; integers wrap, the product of bools is `and`."""
    def mul_(self, other: Tensor | complex) -> Tensor:
        """`mul` written into the tensor, which is returned."""
    def multinomial(
        self,
        num_samples: _int,
        replacement: _bool = False,
        *,
        generator: Generator | None = None,
    ) -> Tensor:
        """Indices drawn with probability proportional to the weights in each row."""
    def multiply(self, other: Tensor | complex) -> Tensor:
        """input * other; integers wrap, the product of bools is `and`."""
    def multiply_(self, other: Tensor | complex) -> Tensor:
        """`multiply` written into the tensor, which is returned."""
    def mv(self, vec: Tensor) -> Tensor:
        """The product of a matrix and a vector."""
    def mvlgamma(self, p: _int) -> Tensor:
        """The logarithm of the gamma function of `p` dims."""
    def mvlgamma_(
        self, p: _int, *, out: Tensor | tuple[Tensor, ...] | None = None
    ) -> Tensor:
        """`mvlgamma` written into the tensor, which is returned."""
    @property
    def name(self) -> None:
        """None: tensors have no names."""
    def nan_to_num(
        self,
        nan: _float | None = None,
        posinf: _float | None = None,
        neginf: _float | None = None,
    ) -> Tensor:
        """NaN and infinities replaced: by 0 and the dtype's extremes unless given."""
    def nan_to_num_(
        self,
        nan: _float | None = None,
        posinf: _float | None = None,
        neginf: _float | None = None,
        *,
        out: Tensor | tuple[Tensor, ...] | None = None,
    ) -> Tensor:
        """`nan_to_num` written into the tensor, which is returned."""
    def nanmean(
        self,
        dim: _int | Sequence[_int] | None = None,
        keepdim: _bool = False,
        *,
        dtype: DType | None = None,
    ) -> Tensor:
        """The mean over `dim` of what is not NaN."""
    @overload
    def nanmedian(self) -> Tensor:
        """The lower of the middle elements that are not NaN."""
    @overload
    def nanmedian(self, dim: _int, keepdim: _bool = False) -> Valued: ...
    def nanquantile(
        self,
        q: Any,
        dim: _int | None = None,
        keepdim: _bool = False,
        *,
        interpolation: str = "linear",
    ) -> Tensor:
        """The values below which lie the fractions `q` of what is not NaN."""
    def nansum(
        self,
        dim: _int | Sequence[_int] | None = None,
        keepdim: _bool = False,
        *,
        dtype: DType | None = None,
    ) -> Tensor:
        """The sum over `dim` of what is not NaN."""
    def narrow(self, dim: _int, start: _int | Tensor, length: _int) -> Tensor:
        """The `length` slices from `start` on along `dim`."""
    def narrow_copy(self, dim: _int, start: _int, length: _int) -> Tensor:
        """A copy of `length` slices from `start` on."""
    @property
    def nbytes(self) -> _int:
        """Bytes that the elements take."""
    def ndimension(self) -> _int:
        """The number of dims."""
    def ne(self, other: Tensor | complex) -> Tensor:
        """Whether input differs from other; NaN differs from itself."""
    def ne_(self, other: Tensor | complex) -> Tensor:
        """`ne` written into the tensor, which is returned."""
    def neg(self) -> Tensor:
        """-input; integers wrap."""
    def neg_(self) -> Tensor:
        """`neg` written into the tensor, which is returned."""
    def negative(self) -> Tensor:
        """-input; integers wrap."""
    def negative_(self) -> Tensor:
        """`negative` written into the tensor, which is returned."""
    def nelement(self) -> _int:
        """The number of elements."""
    def new(self, *args: Any, device: Any = None, **by_name: Any) -> Tensor:
        """Sizes, or data, as a tensor of this dtype on this device, as `Tensor(…)`
        does.
        """
    def new_empty(
        self,
        *size: _int | Sequence[_int],
        memory_format: memory_format | None = ...,
        dtype: DType | None = None,
        layout: _layout | None = None,
        device: device | str | None = None,
        requires_grad: _bool = False,
        pin_memory: _bool = False,
    ) -> Tensor:
        """`empty` with the dtype and device of this tensor."""
    def new_empty_strided(
        self,
        size: Sequence[_int],
        stride: Sequence[_int],
        *,
        dtype: DType | None = None,
        layout: _layout | None = None,
        device: device | str | None = None,
        requires_grad: _bool = False,
        pin_memory: _bool = False,
    ) -> Tensor:
        """`empty_strided` with the dtype and device of this tensor."""
    def new_full(
        self,
        size: Sequence[_int],
        fill_value: Any,
        *,
        dtype: DType | None = None,
        layout: _layout | None = None,
        device: device | str | None = None,
        requires_grad: _bool = False,
        pin_memory: _bool = False,
    ) -> Tensor:
        """`full` with the dtype and device of this tensor."""
    def new_ones(
        self,
        *size: _int | Sequence[_int],
        dtype: DType | None = None,
        layout: _layout | None = None,
        device: device | str | None = None,
        requires_grad: _bool = False,
        pin_memory: _bool = False,
    ) -> Tensor:
        """`ones` with the dtype and device of this tensor."""
    def new_tensor(
        self,
        data: Any,
        *,
        dtype: DType | None = None,
        layout: _layout | None = None,
        device: device | str | None = None,
        requires_grad: _bool = False,
        pin_memory: _bool = False,
    ) -> Tensor:
        """`tensor` with the dtype and device of this tensor."""
    def new_zeros(
        self,
        *size: _int | Sequence[_int],
        dtype: DType | None = None,
        layout: _layout | None = None,
        device: device | str | None = None,
        requires_grad: _bool = False,
        pin_memory: _bool = False,
    ) -> Tensor:
        """`zeros` with the dtype and device of this tensor."""
    def nextafter(self, other: Tensor) -> Tensor:
        """The next representable value after `input` towards `other` (IEEE 754)."""
    def nextafter_(self, other: Tensor) -> Tensor:
        """`nextafter` written into the tensor, which is returned."""
    @overload
    def nonzero(
        self, *, out: Tensor | None = None, as_tuple: Literal[False] = False
    ) -> Tensor:
        """Indices of the elements that are not zero: rows, or one tensor a dim."""
    @overload
    def nonzero(
        self, *, out: Tensor | None = None, as_tuple: Literal[True]
    ) -> tuple[Tensor, ...]: ...
    @overload
    def nonzero(
        self, *, out: Tensor | None = None, as_tuple: _bool = False
    ) -> Tensor | tuple[Tensor, ...]: ...
    def nonzero_static(self, *, size: _int, fill_value: _int = -1) -> Tensor:
        """The first `size` rows of `nonzero`, and behind them rows of
        `fill_value`.
        """
    def norm(
        self,
        p: Any = "fro",
        dim: Any = None,
        keepdim: _bool = False,
        dtype: DType | None = None,
    ) -> Tensor:
        """The p-norm of the elements over `dim`; `"fro"` is that of 2."""
    def normal_(
        self, mean: _float = 0, std: _float = 1, *, generator: Generator | None = None
    ) -> Tensor:
        """Fill with normal floats."""
    def not_equal(self, other: Tensor | complex) -> Tensor:
        """Whether input differs from other; NaN differs from itself."""
    def not_equal_(self, other: Tensor | complex) -> Tensor:
        """`not_equal` written into the tensor, which is returned."""
    def numel(self) -> _int:
        """The number of elements."""
    def numpy(self, *, force: _bool = False) -> ndarray[Any, Any]:
        """The values as a NumPy array that shares memory with a CPU tensor."""
    def orgqr(self, input2: Tensor) -> Tensor:
        """`linalg.householder_product` under LAPACK's name; `input2` is its `tau`."""
    def ormqr(
        self,
        input2: Tensor,
        input3: Tensor,
        left: _bool = True,
        transpose: _bool = False,
    ) -> Tensor:
        """Q, the product of reflections, times `input3`; from the right if not
        `left`.
        """
    def outer(self, vec2: Tensor) -> Tensor:
        """The products of each element of one vector with each of another."""
    @property
    def output_nr(self) -> _int:
        """Which of its op's results this tensor is."""
    @overload
    def permute(self, dims: Sequence[_int]) -> Tensor:
        """The dims of `input` in another order."""
    @overload
    def permute(self, *dims: _int) -> Tensor: ...
    def pin_memory(self, device: device | str | None = None) -> Tensor:
        """A copy on the CPU in pinned memory; itself where it is there already."""
    def pinverse(self, rcond: _float = 1e-15) -> Tensor:
        """`linalg.pinv` under its older name."""
    def polygamma(self, n: _int) -> Tensor:
        """The derivative of order `n` of digamma."""
    def polygamma_(self, n: _int) -> Tensor:
        """`polygamma` written into the tensor, which is returned."""
    def positive(self) -> Tensor:
        """`input` itself, which may not be bool."""
    def pow(self, exponent: Tensor | complex) -> Tensor:
        """`input` to the power of `exponent`; integers wrap, exponents have to
        fit.
        """
    def pow_(
        self,
        exponent: Tensor | complex,
        *,
        out: Tensor | tuple[Tensor, ...] | None = None,
    ) -> Tensor:
        """`pow` written into the tensor, which is returned."""
    def prelu(self, weight: Tensor) -> Tensor:
        """`input`, times `weight` below zero: one weight, or one a channel (dim
        1).
        """
    def prod(
        self, dim: _int = ..., keepdim: _bool = False, *, dtype: DType | None = None
    ) -> Tensor:
        """The product over `dim`, by halving; integers multiply in int64. Empty
        gives 1.
        """
    def put(self, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor:
        """`input` with elements written, or added, by their row-major number."""
    def put_(self, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor:
        """`put` written into the tensor, which is returned."""
    def qr(self, some: _bool = True) -> Any:
        """`linalg.qr` under its older name: complete where not `some`."""
    def quantile(
        self,
        q: Any,
        dim: _int | None = None,
        keepdim: _bool = False,
        *,
        interpolation: str = "linear",
    ) -> Tensor:
        """The values below which lie the fractions `q`; NaN wins."""
    def rad2deg(self) -> Tensor:
        """Radians as degrees."""
    def rad2deg_(self) -> Tensor:
        """`rad2deg` written into the tensor, which is returned."""
    def random_(
        self,
        from_: _int | None = None,
        /,
        to: _int | None = None,
        *,
        generator: Generator | None = None,
    ) -> Tensor:
        """Fill with integers in [from, to), or [0, from); without either, from 0
        on, all that the dtype holds exactly.
        """
    def ravel(self) -> Tensor:
        """All elements in one dim, contiguous."""
    @property
    def real(self) -> Tensor:
        """The real part, a view of its memory; a real tensor is its own."""
    @real.setter
    def real(self, value: Any) -> None: ...
    def reciprocal(self) -> Tensor:
        """1 / input."""
    def reciprocal_(self) -> Tensor:
        """`reciprocal` written into the tensor, which is returned."""
    def record_stream(self, s: Stream) -> None:
        """Tell that `s`, not the stream it was made on, uses the memory of this
        tensor.
        """
    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
        """Call `hook(grad)` when this tensor's gradient is computed; it may
        replace it.
        """
    def register_post_accumulate_grad_hook(
        self, hook: Callable[[Tensor], None]
    ) -> RemovableHandle:
        """Call `hook(tensor)` after a gradient was added to this leaf's `.grad`."""
    def reinforce(self, reward: Any) -> None:
        """Removed, as from torch: sample by `log_prob` of a distribution instead."""
    def relu(self) -> Tensor:
        """The greater of `input` and 0; NaN stays."""
    def relu_(self) -> Tensor:
        """`relu` written into the tensor, which is returned."""
    def remainder(self, other: Tensor | complex) -> Tensor:
        """input modulo other, with the sign of `other`."""
    def remainder_(
        self, other: Tensor | complex, *, out: Tensor | tuple[Tensor, ...] | None = None
    ) -> Tensor:
        """`remainder` written into the tensor, which is returned."""
    def renorm(self, p: _float, dim: _int, maxnorm: _float) -> Tensor:
        """`input` with slices along `dim` scaled down to a norm of `maxnorm` at
        most.
        """
    def renorm_(
        self,
        p: _float,
        dim: _int,
        maxnorm: _float,
        *,
        out: Tensor | tuple[Tensor, ...] | None = None,
    ) -> Tensor:
        """`renorm` written into the tensor, which is returned."""
    @overload
    def repeat(self, repeats: Sequence[_int]) -> Tensor:
        """`input` laid side by side with itself, `repeats` times along each dim."""
    @overload
    def repeat(self, *repeats: _int) -> Tensor: ...
    def repeat_interleave(
        self,
        repeats: _int | Tensor,
        dim: _int | None = None,
        *,
        output_size: _int | None = None,
    ) -> Tensor:
        """Each slice along `dim` repeated, as often as one int or a tensor says."""
    def requires_grad_(self, requires_grad: _bool = True) -> Tensor:
        """Say whether gradients are wanted for this leaf; returns it."""
    @overload
    def reshape(self, shape: Sequence[_int]) -> Tensor:
        """The same elements under another shape: a view where possible, else a
        copy.
        """
    @overload
    def reshape(self, *shape: _int) -> Tensor: ...
    def reshape_as(self, other: Tensor) -> Tensor:
        """This tensor in the shape of another."""
    def resize(self, *sizes: _int) -> Tensor:
        """`reshape` under its older name, for as many elements; one number a dim."""
    @overload
    def resize_(self, size: Sequence[_int]) -> Tensor:
        """Give this tensor another shape; elements that it gains are unspecified."""
    @overload
    def resize_(self, *size: _int) -> Tensor: ...
    def resize_as(self, tensor: Tensor) -> Tensor:
        """`reshape` to the shape of another, under its older name."""
    def resize_as_(self, the_template: Tensor) -> Tensor:
        """Give this tensor the shape of another."""
    def resize_as_sparse_(self, the_template: Tensor) -> Tensor:
        """Get the shape and the sparse dims of another tensor; an empty one alone
        can.
        """
    def resolve_conj(self) -> Tensor:
        """`input` itself: conjugates and negations are computed at once."""
    def resolve_neg(self) -> Tensor:
        """`input` itself: conjugates and negations are computed at once."""
    def retain_grad(self) -> None:
        """Keep the gradient of this non-leaf tensor in `.grad`."""
    @property
    def retains_grad(self) -> _bool:
        """Whether a tensor that is no leaf keeps its gradient."""
    def roll(self, shifts: Sequence[_int], dims: Sequence[_int] = ...) -> Tensor:
        """`input` moved by `shifts` along `dims`; what leaves one end enters the
        other.
        """
    def rot90(self, k: _int = 1, dims: Sequence[_int] = ...) -> Tensor:
        """Turned by `k` right angles from the first of two dims to the second."""
    def round(self, *, decimals: _int = 0) -> Tensor:
        """The nearest integer or multiple of 10 ** -decimals, halves to even."""
    def round_(
        self, *, decimals: _int = 0, out: Tensor | tuple[Tensor, ...] | None = None
    ) -> Tensor:
        """`round` written into the tensor, which is returned."""
    def row_indices(self) -> Any:
        """Of matrices by columns only, which dovetail does not have."""
    def rsqrt(self) -> Tensor:
        """1 / sqrt(input)."""
    def rsqrt_(self) -> Tensor:
        """`rsqrt` written into the tensor, which is returned."""
    def scatter(
        self,
        dim: _int,
        index: Tensor,
        src: Any = None,
        *,
        value: Any = None,
        reduce: Literal["add", "multiply"] | None = None,
    ) -> Tensor:
        """`input` with a tensor or a number written to the indices along `dim`."""
    def scatter_(
        self,
        dim: _int,
        index: Tensor,
        src: Any = None,
        *,
        value: Any = None,
        reduce: Literal["add", "multiply"] | None = None,
        out: Tensor | tuple[Tensor, ...] | None = None,
    ) -> Tensor:
        """`scatter` written into the tensor, which is returned."""
    def scatter_add(self, dim: _int, index: Tensor, src: Tensor) -> Tensor:
        """`input` with `src` added to the places `index` along `dim`."""
    def scatter_add_(self, dim: _int, index: Tensor, src: Tensor) -> Tensor:
        """`scatter_add` written into the tensor, which is returned."""
    def scatter_reduce(
        self,
        dim: _int,
        index: Tensor,
        src: Tensor,
        reduce: Literal["sum", "prod", "mean", "amax", "amin"],
        *,
        include_self: _bool = True,
    ) -> Tensor:
        """`input` with `src` combined into the places `index` along `dim`."""
    def scatter_reduce_(
        self,
        dim: _int,
        index: Tensor,
        src: Tensor,
        reduce: Literal["sum", "prod", "mean", "amax", "amin"],
        *,
        include_self: _bool = True,
    ) -> Tensor:
        """`scatter_reduce` written into the tensor, which is returned."""
    def select(self, dim: _int, index: _int) -> Tensor:
        """The slice at `index` along `dim`, which vanishes."""
    def select_scatter(self, src: Tensor, dim: _int, index: _int) -> Tensor:
        """`input` with `src` as the slice at `index` along `dim`."""
    def set_(
        self,
        source: Tensor | UntypedStorage | None = None,
        storage_offset: _int = 0,
        size: Sequence[_int] | None = None,
        stride: Sequence[_int] | None = None,
    ) -> Tensor:
        """Make this tensor look into the memory of another; without one, into
        none.
        """
    def sgn(self) -> Tensor:
        """The sign; input / |input| for complex numbers, 0 at 0."""
    def sgn_(self) -> Tensor:
        """`sgn` written into the tensor, which is returned."""
    def share_memory_(self) -> Tensor:
        """Move the elements into memory that processes share, and look into it
        from now on.
        """
    def short(self, *, memory_format: memory_format = ...) -> Tensor:
        """This tensor as int16; itself if it is."""
    def sigmoid(self) -> Tensor:
        """1 / (1 + exp(-input)), without overflow."""
    def sigmoid_(self) -> Tensor:
        """`sigmoid` written into the tensor, which is returned."""
    def sign(self) -> Tensor:
        """-1, 0 or 1; 0 for NaN. Bools are unchanged."""
    def sign_(self) -> Tensor:
        """`sign` written into the tensor, which is returned."""
    def signbit(self) -> Tensor:
        """Whether the sign bit is set: of -0 and of negative NaN too."""
    def sin(self) -> Tensor:
        """Sine of `input` in radians, at most 4 ulp."""
    def sin_(self) -> Tensor:
        """`sin` written into the tensor, which is returned."""
    def sinc(self) -> Tensor:
        """sin(pi input) / (pi input), which is 1 at 0."""
    def sinc_(self) -> Tensor:
        """`sinc` written into the tensor, which is returned."""
    def sinh(self) -> Tensor:
        """Hyperbolic sine."""
    def sinh_(self) -> Tensor:
        """`sinh` written into the tensor, which is returned."""
    @overload
    def size(self, dim: None = None) -> Size:
        """The shape, or the size of one dim."""
    @overload
    def size(self, dim: _int) -> _int: ...
    def slice_scatter(
        self,
        src: Tensor,
        dim: _int = 0,
        start: _int | None = None,
        end: _int | None = None,
        step: _int = 1,
    ) -> Tensor:
        """`input` with `src` as the slices from `start` to `end` along `dim`."""
    def slogdet(self) -> Any:
        """`linalg.slogdet` under its older name."""
    def smm(self, mat2: Tensor) -> Tensor:
        """A sparse matrix by a dense one, sparse: rows without elements are left
        out.
        """
    def softmax(self, dim: _int, dtype: DType | None = None) -> Tensor:
        """Exponentials along `dim`, scaled to sum to one; `dtype` is cast to
        first.
        """
    def solve(self, other: Tensor) -> None:
        """Removed, as from torch: see `dovetail.linalg.solve`."""
    def sort(
        self, dim: _int = -1, descending: _bool = False, *, stable: _bool = False
    ) -> Valued:
        """The elements in order along `dim`, and where they were; NaN is the
        greatest.
        """
    def sparse_dim(self) -> _int:
        """How many dims coordinates count; 0 for a dense tensor."""
    def sparse_mask(self, mask: Tensor) -> Tensor:
        """The elements where a sparse tensor has some."""
    def sparse_resize_(self, size: Any, sparse_dim: _int, dense_dim: _int) -> Tensor:
        """Get another shape; a tensor that has elements may only grow."""
    def sparse_resize_and_clear_(
        self, size: Any, sparse_dim: _int, dense_dim: _int
    ) -> Tensor:
        """Get another shape, and no elements."""
    def split(
        self, split_size: _int | Sequence[_int], dim: _int = 0
    ) -> tuple[Tensor, ...]:
        """Parts along `dim` of one size, the last maybe smaller, or of the sizes
        given.
        """
    def split_with_sizes(
        self, split_sizes: Sequence[_int], dim: _int = 0
    ) -> tuple[Tensor, ...]:
        """Parts along `dim` of the sizes given."""
    def sqrt(self) -> Tensor:
        """Square root, at most 3 ulp; NaN below zero."""
    def sqrt_(self) -> Tensor:
        """`sqrt` written into the tensor, which is returned."""
    def square(self) -> Tensor:
        """input * input; integers wrap, bools count as int64."""
    def square_(self) -> Tensor:
        """`square` written into the tensor, which is returned."""
    @overload
    def squeeze(self, dim: _int | Sequence[_int] = ...) -> Tensor:
        """`input` without dims of size 1: all of them, or those of `dim`."""
    @overload
    def squeeze(self, *dim: _int) -> Tensor: ...
    @overload
    def squeeze_(self, dim: _int | Sequence[_int] = ...) -> Tensor:
        """`squeeze` of this tensor itself; returns it."""
    @overload
    def squeeze_(self, *dim: _int) -> Tensor: ...
    def sspaddmm(
        self, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1
    ) -> Tensor:
        """`beta * input + alpha * (mat1 @ mat2)` of two sparse matrices and a
        dense one.
        """
    def std(
        self,
        dim: Any = None,
        unbiased: _bool = True,
        keepdim: _bool = False,
        *,
        correction: _int | _float | None = None,
    ) -> Tensor:
        """The root of the variance; its gradient where that is 0 is 0. The
        correction is 1, or 0 unless `unbiased`.
        """
    def stft(
        self,
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
    def storage(self) -> TypedStorage:
        """All of the memory behind this tensor, as elements."""
    def storage_offset(self) -> _int:
        """Where the first element lies in the storage, in elements."""
    def storage_type(self) -> _type[TypedStorage]:
        """The class of what `storage` gives."""
    @overload
    def stride(self, dim: None = None) -> tuple[_int, ...]:
        """Element strides, or that of one dim."""
    @overload
    def stride(self, dim: _int) -> _int: ...
    def sub(self, other: Tensor | complex, *, alpha: complex = 1) -> Tensor:
        """input - alpha * other; integers wrap."""
    def sub_(
        self,
        other: Tensor | complex,
        *,
        alpha: complex = 1,
        out: Tensor | tuple[Tensor, ...] | None = None,
    ) -> Tensor:
        """`sub` written into the tensor, which is returned."""
    def subtract(self, other: Tensor | complex, *, alpha: complex = 1) -> Tensor:
        """input - alpha * other; integers wrap."""
    def subtract_(
        self,
        other: Tensor | complex,
        *,
        alpha: complex = 1,
        out: Tensor | tuple[Tensor, ...] | None = None,
    ) -> Tensor:
        """`subtract` written into the tensor, which is returned."""
    def sum(
        self,
        dim: _int | Sequence[_int] | None = None,
        keepdim: _bool = False,
        *,
        dtype: DType | None = None,
    ) -> Tensor:
        """The sum over `dim` in `dtype`; empty gives 0, 16-bit floats accumulate
        wider.
        """
    @overload
    def sum_to_size(self, size: Sequence[_int]) -> Tensor:
        """The sum over the dims that broadcasting would add or stretch from
        `size`.
        """
    @overload
    def sum_to_size(self, *size: _int) -> Tensor: ...
    def svd(self, some: _bool = True, compute_uv: _bool = True) -> Any:
        """U, S and V with U S Vᴴ = `input`; zeros for U and V unless `compute_uv`."""
    def swapaxes(self, axis0: _int, axis1: _int) -> Tensor:
        """Two dims swapped."""
    def swapaxes_(self, axis0: _int, axis1: _int) -> Tensor:
        """`swapaxes` of this tensor itself; returns it."""
    def swapdims(self, dim0: _int, dim1: _int) -> Tensor:
        """`input` with two dims swapped."""
    def swapdims_(self, dim0: _int, dim1: _int) -> Tensor:
        """`swapdims` of this tensor itself; returns it."""
    def symeig(self, eigenvectors: _bool = False) -> None:
        """Removed, as from torch: see `dovetail.linalg.eigh`."""
    def t(self) -> Tensor:
        """A matrix transposed; fewer dims stay as they are."""
    def t_(self) -> Tensor:
        """`t` of this tensor itself; returns it."""
    def take(self, index: Tensor) -> Tensor:
        """Elements by their row-major number, which may be negative."""
    def take_along_dim(self, indices: Tensor, dim: _int | None = None) -> Tensor:
        """`input` at indices along `dim`, negative ones too; the other dims
        broadcast.
        """
    def tan(self) -> Tensor:
        """Tangent of input in radians."""
    def tan_(self) -> Tensor:
        """`tan` written into the tensor, which is returned."""
    def tanh(self) -> Tensor:
        """Hyperbolic tangent."""
    def tanh_(self) -> Tensor:
        """`tanh` written into the tensor, which is returned."""
    def tensor_split(
        self,
        sections: _int | Sequence[_int] | Tensor | None = None,
        dim: _int = 0,
        *,
        indices: Sequence[_int] | Tensor | None = None,
    ) -> tuple[Tensor, ...]:
        """Parts along `dim`: that many of nearly equal size, or cut before the
        indices.
        """
    @overload
    def tile(self, dims: Sequence[_int]) -> Tensor:
        """`input` repeated; counts for leading dims may be left out."""
    @overload
    def tile(self, *dims: _int) -> Tensor: ...
    def to(
        self, *args: Any, copy: _bool = False, non_blocking: _bool = False, **kw: Any
    ) -> Tensor:
        """This tensor in another dtype, on another device, or like another tensor."""
    def to_dense(
        self, dtype: DType | None = None, *, masked_grad: _bool | None = None
    ) -> Tensor:
        """All elements, those that were left out as zeros; a dense tensor itself."""
    def to_device(
        self, device: device | str | None, /, *, stream: Any = None
    ) -> Tensor:
        """This tensor on another device, by the standard's name for `to`."""
    def to_sparse(
        self,
        sparse_dim: _int | None = None,
        *,
        layout: _layout | None = None,
        blocksize: Any = None,
        dense_dim: _int | None = None,
    ) -> Tensor:
        """The elements that are not 0, in a sparse layout."""
    def to_sparse_coo(self) -> Tensor:
        """The elements that are not 0, or are not left out, with their
        coordinates.
        """
    def to_sparse_csr(self, dense_dim: _int | None = None) -> Tensor:
        """A matrix row by row, of the elements that are not 0, or are not left
        out.
        """
    def tolist(self) -> Any:
        """The values as nested lists of Python numbers; waits for them."""
    def topk(
        self, k: _int, dim: _int = -1, largest: _bool = True, sorted: _bool = True
    ) -> Valued:
        """The `k` greatest (or least) along `dim`, and where they were."""
    def trace(self) -> Tensor:
        """The sum of the diagonal of a matrix; integers are summed as int64."""
    def transpose(self, dim0: _int, dim1: _int) -> Tensor:
        """`input` with two dims swapped."""
    def transpose_(self, dim0: _int, dim1: _int) -> Tensor:
        """`transpose` of this tensor itself; returns it."""
    def triangular_solve(
        self,
        A: Tensor,
        upper: _bool = True,
        transpose: _bool = False,
        unitriangular: _bool = False,
    ) -> Any:
        """The X of A X = `input` (of the transposed A where `transpose`), and A
        again.
        """
    def tril(self, diagonal: _int = 0) -> Tensor:
        """The matrices in the last two dims with zeros above a diagonal."""
    def tril_(self, diagonal: _int = 0) -> Tensor:
        """`tril` written into the tensor, which is returned."""
    def triu(self, diagonal: _int = 0) -> Tensor:
        """The matrices in the last two dims with zeros below a diagonal."""
    def triu_(self, diagonal: _int = 0) -> Tensor:
        """`triu` written into the tensor, which is returned."""
    def true_divide(self, other: Tensor | complex) -> Tensor:
        """input / other, at most 2.5 ulp; IEEE 754 at 0; integers have become
        floats.
        """
    def true_divide_(self, other: Tensor | complex) -> Tensor:
        """`true_divide` written into the tensor, which is returned."""
    def trunc(self) -> Tensor:
        """The integer part, towards zero; -0 stays, as integers do."""
    def trunc_(self) -> Tensor:
        """`trunc` written into the tensor, which is returned."""
    @overload
    def type(self, dtype: None = None, non_blocking: _bool = False) -> str:
        """The name of torch's class for the dtype, or this tensor in another one."""
    @overload
    def type(self, dtype: DType, non_blocking: _bool = False) -> Tensor: ...
    def type_as(self, other: Tensor) -> Tensor:
        """This tensor in the dtype and on the device of another."""
    def unbind(self, dim: _int = 0) -> tuple[Tensor, ...]:
        """The slices along `dim`, which vanishes."""
    def unflatten(self, dim: _int, sizes: Sequence[_int]) -> Tensor:
        """One dim made several of the sizes given, one of which may be -1."""
    def unfold(self, dimension: _int, size: _int, step: _int) -> Tensor:
        """Windows of `size` every `step` along `dimension`, in a new last dim."""
    def uniform_(
        self,
        from_: _float = 0,
        /,
        to: _float = 1,
        *,
        generator: Generator | None = None,
    ) -> Tensor:
        """Fill with floats uniform in [from, to)."""
    @overload
    def unique(
        self,
        sorted: _bool = True,
        return_inverse: Literal[False] = False,
        return_counts: Literal[False] = False,
        dim: _int | None = None,
    ) -> Tensor:
        """The distinct elements, or slices along `dim`, in order."""
    @overload
    def unique(
        self,
        sorted: _bool = True,
        return_inverse: _bool = False,
        return_counts: _bool = False,
        dim: _int | None = None,
    ) -> Any: ...
    @overload
    def unique_consecutive(
        self,
        return_inverse: Literal[False] = False,
        return_counts: Literal[False] = False,
        dim: _int | None = None,
    ) -> Tensor:
        """One element, or slice along `dim`, for each run of equal ones."""
    @overload
    def unique_consecutive(
        self,
        return_inverse: _bool = False,
        return_counts: _bool = False,
        dim: _int | None = None,
    ) -> Any: ...
    def unsafe_chunk(self, chunks: _int, dim: _int = 0) -> tuple[Tensor, ...]:
        """`chunk`, whose views may be written here as well."""
    def unsafe_split(self, split_size: _int, dim: _int = 0) -> tuple[Tensor, ...]:
        """`split`, whose views may be written here as well."""
    def unsafe_split_with_sizes(
        self, split_sizes: Sequence[_int], dim: _int = 0
    ) -> tuple[Tensor, ...]:
        """`split_with_sizes`, whose views may be written here as well."""
    def unsqueeze(self, dim: _int) -> Tensor:
        """`input` with a dim of size 1 inserted at `dim`."""
    def unsqueeze_(self, dim: _int) -> Tensor:
        """`unsqueeze` of this tensor itself; returns it."""
    def untyped_storage(self) -> UntypedStorage:
        """All of the memory behind this tensor, as bytes."""
    def values(self) -> Tensor:
        """The elements of a sparse tensor that is coalesced, or by rows."""
    def var(
        self,
        dim: Any = None,
        unbiased: _bool = True,
        keepdim: _bool = False,
        *,
        correction: _int | _float | None = None,
    ) -> Tensor:
        """The sum of squared distances from the mean, over n - `correction`."""
    def vdot(self, other: Tensor) -> Tensor:
        """`dot` with the conjugate of `input`."""
    @overload
    def view(
        self,
        size: _int | Sequence[_int] | DType | None = None,
        *,
        dtype: DType | None = None,
    ) -> Tensor:
        """The same elements under another shape or dtype; never copies."""
    @overload
    def view(self, *size: _int) -> Tensor: ...
    def view_as(self, other: Tensor) -> Tensor:
        """A view in the shape of another tensor."""
    @property
    def volatile(self) -> _bool:
        """False, as in torch since it was removed."""
    def vsplit(
        self,
        sections: _int | Sequence[_int] | Tensor | None = None,
        *,
        indices: Sequence[_int] | Tensor | None = None,
    ) -> tuple[Tensor, ...]:
        """Parts along dim 0, as `tensor_split` cuts them."""
    def where(self, condition: Tensor, other: Tensor | complex) -> Tensor:
        """This tensor where the condition holds, else `other`."""
    def xlogy(self, other: Tensor | complex) -> Tensor:
        """input log(other), which is 0 where `input` is 0 and `other` is not NaN."""
    def xlogy_(self, other: Tensor | complex) -> Tensor:
        """`xlogy` written into the tensor, which is returned."""
    def xpu(self, device: Any = None, non_blocking: _bool = False) -> Tensor:
        """This tensor on a xpu device."""
    def zero_(self) -> Tensor:
        """Set every element to zero."""
