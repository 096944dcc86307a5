"""Names of torch's that are not public, and that programs import nevertheless."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterable
from datetime import timedelta
from itertools import repeat
from typing import IO, Any, Final

import dovetail
from dovetail.device_modules import get_device_module
from dovetail.engine.overrides import ask, overridden
from dovetail.errors import ArgumentError
from dovetail.nn import attention, functional
from dovetail.nn.module.state import EXTRA_STATE as _EXTRA_STATE_KEY_SUFFIX  # noqa: F401
from dovetail.ops.softmax import softmax_backward
from dovetail.tensor_api.storages import UntypedStorage
from dovetail.torch_names.versions import TorchVersion as TorchVersion  # noqa: PLC0414

# ---- torch.nn.modules


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple[Any, ...]]:
    """A function that repeats a number n times, and leaves several as they are."""

    def parse(x: Any) -> tuple[Any, ...]:
        return tuple(x) if isinstance(x, Iterable) else tuple(repeat(x, n))

    parse.__name__ = name
    return parse


_single: Final = _ntuple(1, "_single")
_pair: Final = _ntuple(2, "_pair")
_triple: Final = _ntuple(3, "_triple")
_quadruple: Final = _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(t: tuple[Any, ...], n: int) -> tuple[Any, ...]:
    """Each entry n times, the last one first."""
    return tuple([x for x in reversed(t) for _ in range(n)])


def _addindent(s_: str, numSpaces: int) -> str:  # noqa: N803  torch's name
    """A text whose lines after the first are indented."""
    return s_.replace("\n", "\n" + numSpaces * " ")


NonDynamicallyQuantizableLinear: Final = attention.NonDynamicallyQuantizableLinear


def _get_clones(module: Any, N: int) -> dovetail.nn.ModuleList:
    """Copies of a module, in a list."""
    return dovetail.nn.ModuleList([copy.deepcopy(module) for _ in range(N)])


def _get_activation_fn(activation: str) -> Callable[..., Any]:
    """The function that a transformer's activation names."""
    known: dict[str, Callable[..., Any]] = {
        "relu": functional.relu,
        "gelu": functional.gelu,
    }
    if activation not in known:
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    return known[activation]


def consume_prefix_in_state_dict_if_present(
    state_dict: dict[str, Any], prefix: str
) -> None:
    """Take a prefix off the keys that begin with it."""
    for key in [key for key in state_dict if key.startswith(prefix)]:
        state_dict[key.removeprefix(prefix)] = state_dict.pop(key)


# ---- types, which annotations name

_size: Final = dovetail.Size | list[int] | tuple[int, ...]
Number: Final = int | float | bool
Device: Final = dovetail.device | str | int | None
FileLike: Final = str | os.PathLike[str] | IO[bytes]
Storage: Final = UntypedStorage
_int: Final = int
_float: Final = float
_bool: Final = bool
_dtype: Final = dovetail.dtype
_device: Final = dovetail.device
_size_1_t: Final = int | tuple[int]
_size_2_t: Final = int | tuple[int, int]
_size_3_t: Final = int | tuple[int, int, int]
_size_any_t: Final = int | tuple[int, ...]
_ratio_2_t: Final = float | tuple[float, float]
_ratio_3_t: Final = float | tuple[float, float, float]
_ratio_any_t: Final = float | tuple[float, ...]

# ---- torch.jit.annotations


class _BroadcastingList:
    """`BroadcastingList2[int]`, by which annotations mean a number or two of them."""

    def __getitem__(self, kind: Any) -> Any:
        return kind | tuple[kind, ...]


BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = _BroadcastingList()
BroadcastingList4 = BroadcastingList5 = BroadcastingList6 = _BroadcastingList()

# ---- torch, torch.version


def _assert(condition: Any, message: str) -> None:
    """Raise AssertionError with the message unless the condition holds."""
    classes = overridden((condition,))
    if classes:
        ask(_assert, "_assert", classes, (condition, message), {})
        return
    if not condition:
        raise AssertionError(message)


def _check(cond: bool, message: Callable[[], str] | None = None) -> None:
    """Raise RuntimeError unless a condition holds."""
    _check_with(RuntimeError, cond, message)


def _check_value(cond: bool, message: Callable[[], str] | None = None) -> None:
    """Raise ValueError unless a condition holds."""
    _check_with(ValueError, cond, message)


def _check_index(cond: bool, message: Callable[[], str] | None = None) -> None:
    """Raise IndexError unless a condition holds."""
    _check_with(IndexError, cond, message)


def _check_type(cond: bool, message: Callable[[], str] | None = None) -> None:
    """Raise TypeError unless a condition holds."""
    _check_with(TypeError, cond, message)


def _check_is_size(i: int, message: Callable[[], str] | None = None) -> None:
    """Raise RuntimeError for a number below 0."""
    _check_with(RuntimeError, i >= 0, message)


def _check_with(
    error_type: type[Exception], cond: bool, message: Callable[[], str] | None
) -> None:
    """Raise an error of a class unless a condition holds."""
    if not isinstance(cond, bool):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if not cond:
        raise error_type(
            "Expected cond to be True, but got False"
            if message is None
            else str(message())
        )


def _assert_async(input: Any, assert_msg: str = "") -> None:
    """Raise RuntimeError unless a value is true."""
    if not input:
        raise RuntimeError(assert_msg or "Expected Tensor with single nonzero value")


def _shape_as_tensor(self: Any) -> Any:
    """The sizes of a tensor, as one."""
    return dovetail.tensor(list(self.shape), dtype=dovetail.int64)


def _softmax_backward_data(
    grad_output: Any, output: Any, dim: int, input_dtype: dovetail.dtype
) -> Any:
    """The gradient of softmax, from its result, in the dtype of its input."""
    return softmax_backward(grad_output, output, dim).to(input_dtype)


def _convert_indices_from_coo_to_csr(
    input: Any, size: int, *, out_int32: bool = False
) -> Any:
    """Where each of so many rows begins, from sorted numbers of rows."""
    ends = dovetail.bincount(input, minlength=size).cumsum(0)
    dtype = dovetail.int32 if out_int32 else dovetail.int64
    return functional.pad(ends, (1, 0)).to(dtype)


def _convert_indices_from_csr_to_coo(
    crow_indices: Any, col_indices: Any, *, out_int32: bool = False,
    transpose: bool = False,
) -> Any:  # fmt: skip
    """Rows and columns of elements, from where each row begins."""
    rows = dovetail.repeat_interleave(crow_indices.diff())
    pair = [rows.to(col_indices.dtype), col_indices]
    dtype = dovetail.int32 if out_int32 else dovetail.int64
    return dovetail.stack(pair[::-1] if transpose else pair).to(dtype)


cuda: Final = None
hip: Final = None
rocm: Final = None
xpu: Final = None
git_version: Final = "Unknown"
debug: Final = False

# ---- torch.distributions.utils


def broadcast_all(*values: Any) -> tuple[Any, ...]:
    """Numbers and tensors as tensors of one shape."""
    tensors = [v for v in values if isinstance(v, dovetail.Tensor)]
    like: dict[str, Any] = {"dtype": dovetail.get_default_dtype()}
    if tensors:
        like = {"dtype": tensors[0].dtype, "device": tensors[0].device}
    return tuple(
        dovetail.broadcast_tensors(
            *[
                v if isinstance(v, dovetail.Tensor) else dovetail.tensor(v, **like)
                for v in values
            ]
        )
    )


def _standard_normal(shape: Any, dtype: Any, device: Any) -> Any:
    """What `randn` draws."""
    return dovetail.randn(shape, dtype=dtype, device=device)


def _sum_rightmost(value: Any, dim: int) -> Any:
    """Sums over the last dims."""
    return value.flatten(-dim).sum(-1) if dim else value


def clamp_probs(probs: Any) -> Any:
    """Probabilities whose logarithms are finite."""
    eps = dovetail.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Any, is_binary: bool = False) -> Any:
    """The logarithms of probabilities, or of their odds."""
    inside = clamp_probs(probs)
    return inside.log() - (-inside).log1p() if is_binary else inside.log()


def logits_to_probs(logits: Any, is_binary: bool = False) -> Any:
    """The probabilities of logarithms, or of the logarithms of odds."""
    return logits.sigmoid() if is_binary else logits.softmax(-1)


def vec_to_tril_matrix(vec: Any, diag: int = 0) -> Any:
    """Square matrices whose lower triangles, up to a diagonal, are vectors, by rows."""
    count = vec.shape[-1]
    ways = (1 + 2 * diag) ** 2 + 8 * count + 4 * abs(diag) * (diag + 1)
    exact = (ways**0.5 - (1 + 2 * diag)) / 2
    n = round(exact)
    if n - exact > dovetail.finfo(vec.dtype).eps:
        raise ArgumentError(
            "vec_to_tril_matrix", "vec", was=f"of {count} elements",
            needed=f"as many as a triangle with diag={diag} of a square matrix has",
        )  # fmt: skip
    matrix = vec.new_zeros((*vec.shape[:-1], n, n))
    matrix[..., _below(n, diag, vec.device)] = vec
    return matrix


def tril_matrix_to_vec(mat: Any, diag: int = 0) -> Any:
    """The lower triangles of square matrices, up to a diagonal, by rows."""
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ArgumentError(
            "tril_matrix_to_vec", "diag", was=diag, needed=f"from {-n} to {n - 1}"
        )
    return mat[..., _below(n, diag, mat.device)]


def _below(n: int, diag: int, device: Any) -> Any:
    """The lower triangle of a matrix, as a mask."""
    return dovetail.ones(n, n, dtype=dovetail.bool, device=device).tril(diag)


class lazy_property:  # noqa: N801  torch's name
    """An attribute that is computed when it is first asked for."""

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        self.wrapped = wrapped
        self.__doc__ = wrapped.__doc__

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        with dovetail.enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


# ---- torch.cuda.amp.common


def amp_definitely_not_available() -> bool:
    """Whether no device of NVIDIA's is there."""
    return not get_device_module("cuda").is_available()


# ---- torch.utils.data.dataloader

_collate_fn_t: Final = Callable[[list[Any]], Any]
_worker_init_fn_t: Final = Callable[[int], None]

# ---- torch.serialization


FILE_LIKE: Final = Any
MAP_LOCATION: Final = Any
DEFAULT_PROTOCOL: Final = 2


def default_restore_location(storage: Any, location: Any) -> Any:
    """What was saved, on the device that it was saved on: a `map_location`."""
    return storage if str(location) == "cpu" else storage.to(location)


class SourceChangeWarning(Warning):
    """What torch warns of where a module's code has changed; nothing here does."""


# ---- torch.distributed.constants

default_pg_timeout: Final = timedelta(minutes=30)
default_pg_nccl_timeout: Final = timedelta(minutes=10)

# ---- torch.distributed.elastic


def record(fn: Any = None, error_handler: Any = None) -> Any:
    """The function itself, whose errors no launcher waits for."""
    return fn if callable(fn) else record


# ---- torch._jit_internal


def _copy_to_script_wrapper(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function itself: what scripts are made of is not marked."""
    return fn


# ---- torch._utils


def _element_size(dtype: dovetail.dtype) -> int:
    """Bytes that an element takes."""
    return dtype.itemsize


def _flatten_dense_tensors(tensors: Iterable[Any]) -> Any:
    """Tensors as one of one dim."""
    return dovetail.cat([t.reshape(-1) for t in tensors])


def _unflatten_dense_tensors(flat: Any, tensors: Iterable[Any]) -> tuple[Any, ...]:
    """Pieces of one tensor, in the shapes of others."""
    like = list(tensors)
    pieces = flat.split([t.numel() for t in like])
    return tuple([p.view(t.shape) for p, t in zip(pieces, like, strict=True)])
