"""Pickles that PyTorch wrote: what they may name, and what they make of it.

A pickle calls what it names, and changes what it made. Here it finds nothing but the
few functions below, none of which does more than to make a tensor, a container or a
number; what it calls otherwise, and what it would change, is refused.
"""

from __future__ import annotations

import pickle
import sys
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, NamedTuple, NoReturn

from dovetail import dtypes
from dovetail.device import device
from dovetail.dtypes import DType
from dovetail.engine.tensor import Parameter, Tensor
from dovetail.engine.tensor_type import Size
from dovetail.errors import ArgumentError, DTypeError
from dovetail.frontend.create import empty_strided
from dovetail.io.pickled import get_safe_globals
from dovetail.memory_formats import LAYOUTS
from dovetail.tensor_api.memory import Ground, Layout

_MOST: Final = 1 << 58  # elements
_PACKAGE: Final = __name__.partition(".")[0]


class UnsafeFile(ArgumentError, pickle.UnpicklingError):
    """A file names what may run code, or does what no file of tensors does."""


class Storage(NamedTuple):
    """The memory of one or several tensors.

    Attributes:
        ground: where its bytes are.
        dtype: of its elements; None where each tensor says its own.
        size: how many elements there are, or bytes where they have no dtype.
    """

    ground: Ground
    dtype: DType | None
    size: int


class StorageType(NamedTuple):
    """A class of storages, by the dtype of elements; None for bytes."""

    dtype: DType | None


class Allowed:
    """A function that a pickle may call; it cannot be changed through it."""

    __slots__ = ("_function",)

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def __call__(self, *args: Any) -> Any:
        return self._function(*args)

    def __setstate__(self, state: Any) -> NoReturn:
        raise unsafe("a change of a function")


def unsafe(what: str) -> UnsafeFile:
    """The error for a pickle that does more than to hold data."""
    return UnsafeFile(
        "load", "weights_only", was=f"True, for a file with {what}",
        needed="tensors, plain values and containers of them, or weights_only=False "
        "for a file that you trust: it may run any code",
        remedy="allow a class by dovetail.io.add_safe_globals, or save a state_dict()",
    )  # fmt: skip


# ---- what a pickle may call


def _tensor(
    storage: Storage, offset: int, size: Any, stride: Any, requires_grad: bool = False,
    hooks: Any = None, metadata: Any = None,
) -> Any:  # fmt: skip
    return _view(storage, storage.dtype, offset, size, stride, requires_grad, metadata)


def _tensor_of_dtype(
    storage: Storage, offset: int, size: Any, stride: Any, requires_grad: bool,
    hooks: Any, dtype: Any, metadata: Any = None,
) -> Any:  # fmt: skip
    return _view(storage, dtype, offset, size, stride, requires_grad, metadata)


def _view(
    storage: Any, dtype: Any, offset: Any, size: Any, stride: Any, requires_grad: Any,
    metadata: Any,
) -> Any:  # fmt: skip
    """A tensor that looks into a storage, none of it beyond the storage's end."""
    if not isinstance(storage, Storage) or not isinstance(dtype, DType):
        raise ValueError("a tensor without a storage, or of no dtype")
    shape, steps = _sizes(size), _sizes(stride)
    if len(shape) != len(steps):
        raise ValueError(f"{shape} and {steps} are of no tensor")
    layout = Layout(shape, steps, *_sizes((offset,)))
    width = 1 if storage.dtype is None else storage.dtype.itemsize
    _, end = layout.span()
    if end * dtype.itemsize > storage.size * width and all(shape):
        raise ValueError(f"a tensor up to {end} of {storage.size} elements")
    made = storage.ground.tensor(dtype, layout)
    said = metadata if isinstance(metadata, dict) else {}
    made = made.conj() if said.get("conj") else made
    made = -made if said.get("neg") else made
    if requires_grad and dtype.is_inexact:
        made.requires_grad_()
    return made


def _sizes(values: Any) -> tuple[int, ...]:
    found = tuple(values)
    if any(type(n) is not int or not 0 <= n <= _MOST for n in found):
        raise ValueError(f"{found} are no sizes")
    return found


def _parameter(
    data: Any, requires_grad: Any, hooks: Any = None, state: Any = None
) -> Any:
    if not isinstance(data, Tensor):
        raise ValueError("a parameter that is no tensor")
    made = Parameter(data, requires_grad=bool(requires_grad))
    return _with_attributes(made, state)


def _with_attributes(x: Tensor, state: Any) -> Tensor:
    """A tensor with what users had set on it."""
    for part in state if isinstance(state, tuple) else (state,):
        for name, value in (part or {}).items() if isinstance(part, dict) else ():
            if type(name) is str and not name.startswith("_") and not hasattr(x, name):
                x.__dict__[name] = value
    return x


def _of_type(function: Any, cls: Any, args: Any, state: Any) -> Any:
    if type(function) is not Allowed or cls not in _CLASSES:
        raise unsafe("a tensor of another class")
    return _with_attributes(function(*args), state)


def _sparse(layout: Any, data: Any) -> Any:
    from dovetail.sparse.file_parts import put_together  # few files have one

    parts = tuple(data)
    says: dict[str, Any] = {"layout": getattr(layout, "name", None)}
    if says["layout"] == "sparse_coo":
        at, values, size, *coalesced = parts
        says |= {"size": _sizes(size), "coalesced": coalesced == [True]}
        return put_together(says, (at, values))
    if says["layout"] == "sparse_csr":
        *dense, size = parts
        return put_together(says | {"size": _sizes(size)}, dense)
    raise ValueError(f"a sparse tensor of the layout {layout}")


def _meta(dtype: Any, size: Any, stride: Any, requires_grad: Any) -> Any:
    made = empty_strided(_sizes(size), _sizes(stride), dtype=dtype, device="meta")
    return made.requires_grad_(bool(requires_grad))


def _layout_of(name: Any) -> Any:
    return LAYOUTS[str(name).removeprefix("torch.")]


def _encoded(text: Any, encoding: Any) -> Any:
    if type(text) is not str or encoding != "latin1":
        raise unsafe("bytes in another encoding")
    return text.encode("latin1")


def _of_bytes(data: Any) -> bytes:
    if type(data) is not bytes:  # a number would be that of zeros to be made
        raise ValueError("an array of no bytes")
    return data


def _never(*_: Any) -> NoReturn:
    raise unsafe("a tensor made of anything but its memory")


_TENSOR, _PARAMETER = Allowed(_never), Allowed(_never)  # as classes alone
_CLASSES: Final = (_TENSOR, _PARAMETER)
_STORAGES: Final = {
    "Double": "float64", "Float": "float32", "Half": "float16", "BFloat16": "bfloat16",
    "Long": "int64", "Int": "int32", "Short": "int16", "Char": "int8", "Byte": "uint8",
    "Bool": "bool", "ComplexFloat": "complex64", "ComplexDouble": "complex128",
}  # fmt: skip
_FUNCTIONS: Final[dict[str, Any]] = {
    "torch._utils._rebuild_tensor": Allowed(_tensor),
    "torch._utils._rebuild_tensor_v2": Allowed(_tensor),
    "torch._utils._rebuild_tensor_v3": Allowed(_tensor_of_dtype),
    "torch._utils._rebuild_parameter": Allowed(_parameter),
    "torch._utils._rebuild_parameter_with_state": Allowed(_parameter),
    "torch._utils._rebuild_sparse_tensor": Allowed(_sparse),
    "torch._utils._rebuild_meta_tensor_no_storage": Allowed(_meta),
    "torch._tensor._rebuild_from_type_v2": Allowed(_of_type),
    "torch.serialization._get_layout": Allowed(_layout_of),
    "torch.Size": Allowed(lambda sizes: Size(_sizes(sizes))),
    "torch.device": Allowed(device),
    "torch.Tensor": _TENSOR, "torch.nn.parameter.Parameter": _PARAMETER,
    "torch.storage.UntypedStorage": StorageType(None),
    "collections.OrderedDict": Allowed(OrderedDict),
    "collections.Counter": Allowed(Counter),
    "_codecs.encode": Allowed(_encoded),
    **{
        f"builtins.{cls.__name__}": Allowed(cls)
        for cls in (set, frozenset, complex)
    },
    "builtins.bytearray": Allowed(lambda data: bytearray(_of_bytes(data))),
    **{
        f"torch.{name}Storage": StorageType(dtypes.by_name(dtype))
        for name, dtype in _STORAGES.items()
    },
}  # fmt: skip


def known(module: str, name: str) -> Any:
    """What a file of tensors may name, None for all else."""
    room = {"__builtin__": "builtins"}.get(module, module)
    found = _FUNCTIONS.get(f"{room}.{name}")
    if found is None and module == "torch":
        try:
            return dtypes.by_name(name)
        except DTypeError:
            return None
    return found


# ---- the unpickler

Load = Callable[[Any], Any]
_BASE: Any = pickle._Unpickler  # the one that is written in Python
_REFUSED: Final = (
    pickle.INST, pickle.OBJ, pickle.EXT1, pickle.EXT2, pickle.EXT4, pickle.NEWOBJ_EX,
    pickle.NEXT_BUFFER, pickle.READONLY_BUFFER, pickle.BYTEARRAY8,
)  # fmt: skip


class _OfStorages:
    """What unpicklers have in common.

    Args:
        file: where the pickle is.
        storage: gives what is there of a persistent id.
    """

    def __init__(self, file: Any, storage: Callable[[Any], Any]) -> None:
        super().__init__(file, encoding="utf-8")  # type: ignore[call-arg]
        self._storage = storage

    def persistent_load(self, pid: Any) -> Any:
        """The storage of an id."""
        return self._storage(pid)


class DataUnpickler(_OfStorages, _BASE):  # type: ignore[misc]
    """Reads pickles of data alone."""

    dispatch: ClassVar[dict[int, Load]] = dict(_BASE.dispatch)

    def find_class(self, module: str, name: str) -> Any:
        """What is allowed of that name.

        Raises: UnsafeFile for all else.
        """
        found = known(module, name)
        if found is None:
            found = _allowed_by_users(module, name)
        if found is None:
            raise unsafe(f"a {module}.{name}")
        return found

    def load_reduce(self) -> None:
        """Call what is allowed to be called."""
        args = self.stack.pop()
        function = self.stack[-1]
        if type(function) is not Allowed and not _is_users(function):
            raise unsafe(f"a call of a {type(function).__name__}")
        self.stack[-1] = function(*args)

    def load_newobj(self) -> None:
        """Make an object of a class that users allow."""
        args = self.stack.pop()
        cls = self.stack.pop()
        if not _is_users(cls):
            raise unsafe("an object of a class that nobody allowed")
        self.append(cls.__new__(cls, *args))

    def load_build(self) -> None:
        """Give an object its state: what is a container's or a tensor's own."""
        state = self.stack.pop()
        made = self.stack[-1]
        if isinstance(made, Tensor):
            _with_attributes(made, state)
        elif type(made) is OrderedDict and isinstance(state, dict):
            made.__dict__.update(state)
        elif _is_users(type(made)):
            self.append(state)
            super().load_build()
        else:
            raise unsafe(f"a change of a {type(made).__name__}")

    def load_refused(self) -> None:
        """Refuse what no file of tensors does."""
        raise unsafe("steps that files of tensors do not have")


_STEPS: Final[Mapping[bytes, Load]] = {
    pickle.REDUCE: DataUnpickler.load_reduce, pickle.NEWOBJ: DataUnpickler.load_newobj,
    pickle.BUILD: DataUnpickler.load_build,
    **dict.fromkeys(_REFUSED, DataUnpickler.load_refused),
}  # fmt: skip
DataUnpickler.dispatch.update({step[0]: load for step, load in _STEPS.items()})


def _allowed_by_users(module: str, name: str) -> Any:
    named = (x for x in get_safe_globals() if hasattr(x, "__qualname__"))
    return next(
        (x for x in named if (x.__module__, x.__qualname__) == (module, name)), None
    )


def _is_users(x: Any) -> bool:
    return any(x is y for y in get_safe_globals())


class _Anything:
    """Stands for whatever a pickle makes."""

    def append(self, _: Any) -> None:
        """Take an item."""

    extend = add = append

    def __setitem__(self, key: Any, value: Any) -> None:
        """Take a pair."""


class Scanner(DataUnpickler):
    """Finds the storages that a pickle names; makes nothing, and calls nothing."""

    def find_class(self, module: str, name: str) -> Any:
        """The class of a storage; for all else something that is nothing."""
        found = known(module, name)
        return found if isinstance(found, StorageType) else _Anything()

    def load_made(self) -> None:
        """What is made of a class or function, and arguments."""
        self.stack[-2:] = [_Anything()]

    def load_given(self) -> None:
        """What something is given as its state."""
        self.stack.pop()

    dispatch: ClassVar[dict[int, Load]] = DataUnpickler.dispatch | {
        pickle.REDUCE[0]: load_made, pickle.NEWOBJ[0]: load_made,
        pickle.BUILD[0]: load_given,
    }  # fmt: skip


class Namer(Scanner):
    """Lists what a pickle names and nobody has allowed; makes nothing."""

    def __init__(self, file: Any) -> None:
        super().__init__(file, lambda pid: _Anything())
        self.unsafe: list[str] = []

    def find_class(self, module: str, name: str) -> Any:
        """Note a name, for which something stands that is nothing."""
        allowed = known(module, name) or _allowed_by_users(module, name)
        full = f"{module}.{name}"
        if allowed is None and full not in self.unsafe:
            self.unsafe.append(full)
        return _Anything()


class TrustingUnpickler(_OfStorages, pickle.Unpickler):
    """Reads any pickle, PyTorch's names as those of dovetail."""

    def find_class(self, module: str, name: str) -> Any:
        """What is there of that name.

        Raises: UnpicklingError for a name of PyTorch's that dovetail lacks.
        """
        found = known(module, name)
        if found is _TENSOR or found is _PARAMETER:
            return Tensor if found is _TENSOR else Parameter
        if found is not None and module.startswith("torch"):
            return found
        if module.partition(".")[0] == "torch":
            return _ours(module, name)
        return super().find_class(module, name)


def _ours(module: str, name: str) -> Any:
    """The class or function of ours that a name of PyTorch's means."""
    rooms = module.split(".")[1:]
    for depth in range(len(rooms), -1, -1):
        found: Any = sys.modules[_PACKAGE]
        for part in (*rooms[:depth], *name.split(".")):
            found = getattr(found, part, None)
        if found is not None:
            return found
    raise pickle.UnpicklingError(f"dovetail has nothing that is {module}.{name}")


__all__ = [
    "DataUnpickler",
    "Namer",
    "Scanner",
    "Storage",
    "StorageType",
    "TrustingUnpickler",
    "UnsafeFile",
]
