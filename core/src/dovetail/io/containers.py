"""Containers and plain values as JSON: what `save` keeps beside the tensors.

A list is a list, None, bool, str and small numbers are themselves, and everything else
is a dict of one entry whose key says what it is.
"""

from __future__ import annotations

import base64
import math
import struct
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from dovetail import dtypes
from dovetail.device import device
from dovetail.dtypes import Array, DType
from dovetail.engine.tensor import Parameter, Tensor
from dovetail.engine.tensor_type import Size
from dovetail.errors import ArgumentError, ArgumentTypeError, DTypeError
from dovetail.io.packing import Packer, Path
from dovetail.io.pickled import pickled, unpickled

Json = Any

_EXACT: Final = 1 << 53  # other programs' JSON has integers up to this
_ITEMS: Final[dict[type, str]] = {
    tuple: "tuple", set: "set", frozenset: "frozenset", Size: "size",
}  # fmt: skip
_PAIRS: Final[dict[type, str]] = {
    dict: "dict", OrderedDict: "ordered", Counter: "counter",
}  # fmt: skip
_KEYS: Final = (str, int, float, complex, bool, bytes, type(None), DType, device, Size)


def encoded(obj: Any, packer: Packer) -> Json:
    """`obj` as JSON, its tensors added to `packer`.

    Raises:
        ArgumentTypeError: it holds something that a file cannot; says where.
        ArgumentError: a container holds itself.
    """
    return _Encoder(packer).node(obj, ())


class _Encoder:
    """One object on its way into a file."""

    def __init__(self, packer: Packer) -> None:
        self.packer = packer
        self.open: set[int] = set()

    def node(self, x: Any, path: Path) -> Json:
        cls = type(x)
        if cls in _PAIRS or cls in _ITEMS or cls is list:
            return self._container(x, path)
        if isinstance(x, Tensor) and x._in_parts:
            return self._parts(x, path)
        if isinstance(x, Tensor):
            _check_class(x, path)
            return {"tensor": self.packer.add(x, path)}
        if cls is np.ndarray:
            dtype = _numpy_dtype(x, path)
            name = self.packer.add_array(x, path)
            return {"array": [name, dtype.name, list(x.shape)]}
        if isinstance(x, np.generic):
            return {"number": [_numpy_dtype(x, path).name, x.tobytes().hex()]}
        found = _plain(x)
        if (
            found is None
            and hasattr(cls, "load_state_dict")
            and hasattr(cls, "modules")
        ):
            return {"module": pickled(x, self.packer, path)}
        if found is None and x is not None:
            if not _is_pickled(x):
                raise _refused(x, path)
            return {"module": pickled(x, self.packer, path)}
        return found

    def _parts(self, x: Any, path: Path) -> Json:
        """A sparse tensor, by the dense ones that it is made of."""
        from dovetail.sparse.file_parts import taken_apart  # few files have one

        says, dense = taken_apart(x)
        return {"sparse": [says, *(self.node(d, path) for d in dense)]}

    def _container(self, x: Any, path: Path) -> Json:
        if id(x) in self.open:
            raise ArgumentError(
                "save", said(path), was=f"the {type(x).__name__} that it lies in",
                needed="containers that do not hold themselves",
            )  # fmt: skip
        self.open.add(id(x))
        try:
            return self._contents(x, path)
        finally:
            self.open.remove(id(x))

    def _contents(self, x: Any, path: Path) -> Json:
        cls = type(x)
        if cls in _PAIRS:
            pairs = [
                [self._key(key, path), self.node(value, (*path, key))]
                for key, value in x.items()
            ]
            made = {_PAIRS[cls]: pairs}
            if (versions := getattr(x, "_metadata", None)) is not None:
                made["_metadata"] = self.node(versions, (*path, "_metadata"))
            return made
        if isinstance(x, set | frozenset):
            return {_ITEMS[cls]: [self._key(v, path) for v in x]}
        nodes = [self.node(v, (*path, i)) for i, v in enumerate(x)]
        return nodes if cls is list else {_ITEMS[cls]: nodes}

    def _key(self, key: Any, path: Path) -> Json:
        if type(key) in (tuple, frozenset):
            return {_ITEMS[type(key)]: [self._key(k, path) for k in key]}
        if type(key) not in _KEYS:
            raise ArgumentTypeError(
                "save", f"a key of {said(path)}", was=f"a {type(key).__name__}",
                needed="a string, a number, or a tuple of them",
            )  # fmt: skip
        return self.node(key, path)


def _numpy_dtype(x: Any, path: Path) -> DType:
    try:
        return dtypes.from_numpy(x.dtype)
    except DTypeError as error:
        raise _refused(x, path) from error


def _check_class(x: Tensor, path: Path) -> None:
    if type(x) not in (Tensor, Parameter):
        raise ArgumentTypeError(
            "save", said(path), was=f"a {type(x).__name__}",
            needed="a Tensor or Parameter: a file holds no classes",
            remedy="use pickle, whose files may run code when they are loaded",
        )  # fmt: skip


def _plain(x: Any) -> Json:
    """A value without parts as JSON, None where it is none."""
    cls = type(x)
    if cls in (bool, str) or x is None:
        return x
    if cls is int:
        return x if abs(x) <= _EXACT else {"int": hex(x)}
    if cls is float:
        return x if math.isfinite(x) else {"float": struct.pack(">d", x).hex()}
    if cls is complex:
        return {"complex": [_plain(x.real), _plain(x.imag)]}
    if cls is bytes:
        return {"bytes": base64.b64encode(x).decode("ascii")}
    if cls is DType:
        return {"dtype": x.name}
    return {"device": str(x)} if cls is device else None


def _is_pickled(x: Any) -> bool:
    """Whether an object goes into a pickle, as those of users' classes do.

    Not what is ours and has a state to be saved, nor arrays, which have dtypes that
    tensors lack.
    """
    rooms = {cls.__module__.partition(".")[0] for cls in type(x).__mro__}
    has_state = hasattr(x, "state_dict") or hasattr(x, "get_state")
    return "numpy" not in rooms and not ("dovetail" in rooms and has_state)


def _refused(x: Any, path: Path) -> ArgumentTypeError:
    name, remedy = type(x).__name__, "keep it out, or save what it is made of"
    if hasattr(x, "state_dict"):
        remedy = "save its state_dict()"
    elif hasattr(x, "get_state"):
        remedy = "save its get_state()"
    elif isinstance(x, np.ndarray | np.generic):
        remedy = "convert it with .astype to a dtype that tensors have"
    return ArgumentTypeError(
        "save", said(path), was=f"a {name}",
        needed="tensors, plain values and containers of them", remedy=remedy,
    )  # fmt: skip


def said(path: Path) -> str:
    """A place in the object as Python writes it."""
    return "obj" + "".join(f"[{key!r}]" for key in path)


class Contents(NamedTuple):
    """What a file has beside its tree.

    Attributes:
        tensors: by number.
        array: the NumPy array of a name, a dtype and a shape.
        trusted: whether modules, and objects of other classes, may be unpickled.
    """

    tensors: Sequence[Tensor]
    array: Callable[[str, DType, Sequence[int]], Array]
    trusted: bool = False


def decoded(node: Json, contents: Contents) -> Any:
    """What `encoded` made the JSON of.

    Raises:
        KeyError, TypeError or ValueError: it did not make it.
    """
    if isinstance(node, list):
        return [decoded(n, contents) for n in node]
    if not isinstance(node, dict):
        return node
    versions = node.get("_metadata")
    (what,) = node.keys() - {"_metadata"}
    if what == "tensor":
        return contents.tensors[_index(node[what])]
    if what == "sparse":
        from dovetail.sparse.file_parts import put_together  # few files have one

        says, *dense = node[what]
        return put_together(says, [decoded(d, contents) for d in dense])
    if what == "array":
        name, dtype, shape = node[what]
        return contents.array(name, dtypes.by_name(dtype), shape)
    if what == "module":
        return unpickled(node[what], contents)
    if what in _FROM_PAIRS:
        pairs = [(decoded(k, contents), decoded(v, contents)) for k, v in node[what]]
        made = _FROM_PAIRS[what](pairs)
        if versions is not None:
            made._metadata = decoded(versions, contents)
        return made
    if what in _FROM_ITEMS:
        return _FROM_ITEMS[what](decoded(n, contents) for n in node[what])
    return _FROM_TEXT[what](node[what])


def _index(number: Any) -> int:
    if type(number) is not int or number < 0:
        raise ValueError(f"{number!r} is not the number of a tensor")
    return number


def _counter(pairs: Any) -> Counter[Any]:
    return Counter(dict(pairs))


def _float(text: Any) -> float:
    found: float = struct.unpack(">d", bytes.fromhex(text))[0]
    return found


def _complex(parts: Any) -> complex:
    real, imag = (
        p if isinstance(p, int | float) else _float(p["float"]) for p in parts
    )
    return complex(real, imag)


def _numpy_number(parts: Any) -> Any:
    name, bits = parts
    (found,) = np.frombuffer(bytes.fromhex(bits), dtypes.by_name(name).numpy)
    return found


_FROM_PAIRS: Final[dict[str, Callable[[Any], Any]]] = {
    "dict": dict, "ordered": OrderedDict, "counter": _counter,
}  # fmt: skip
_FROM_ITEMS: Final[dict[str, Callable[[Any], Any]]] = {
    name: cls for cls, name in _ITEMS.items()
}
_FROM_TEXT: Final[dict[str, Callable[[Any], Any]]] = {
    "int": lambda text: int(text, 16), "float": _float, "complex": _complex,
    "bytes": lambda text: base64.b64decode(text, validate=True),
    "dtype": dtypes.by_name, "device": device, "number": _numpy_number,
}  # fmt: skip
