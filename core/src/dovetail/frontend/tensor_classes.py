"""torch's oldest names for tensors of a dtype: `FloatTensor`, `LongTensor` and so on.

Called, they make one; `isinstance` asks for the dtype of a tensor on the CPU. Those of
other device types, such as `cuda.FloatTensor`, are made from them.
"""

from __future__ import annotations

from typing import Any, Final

from dovetail import dtypes
from dovetail.device import device as Device
from dovetail.dtypes import DType
from dovetail.engine.public import NAMESPACES
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ArgumentTypeError
from dovetail.frontend.tensor_call import legacy, named, of_data


class _Class(type):
    """The type of such classes, which have no instances of their own."""

    dtype: DType
    place: str = "cpu"

    def __call__(cls, *given: Any, device: Any = None, **by_name: Any) -> Tensor:
        data = named(cls.__name__, given, by_name)
        first: Any = data[0] if len(data) == 1 else None
        if isinstance(first, Tensor) and first.dtype is not cls.dtype:
            raise ArgumentTypeError(
                cls.__name__, "data", was=f"a {first.dtype.name} tensor",
                needed=f"one of {cls.dtype.name}",
                remedy=f"use .to(dovetail.{cls.dtype.name})",
            )  # fmt: skip
        if hasattr(type(first), "untyped"):  # a storage, whose memory it looks at
            return of_data(cls.__name__, (), cls.dtype, first.device).set_(first)
        if cls.place == "cpu":
            return legacy(cls.__name__, data, cls.dtype, device)
        where = Device(cls.place if device is None else device)
        if where.type != cls.place:
            raise ArgumentError(
                cls.__name__, "device", was=repr(str(where)), needed=cls.place,
                remedy="use dovetail.tensor(…, device=…) or dovetail.empty",
            )  # fmt: skip
        return of_data(cls.__name__, data, cls.dtype, where)

    def __instancecheck__(cls, value: object) -> bool:
        if not isinstance(value, Tensor) or value._kind.dtype is not cls.dtype:
            return False
        return value._kind.backend.type == cls.place


class FloatTensor(metaclass=_Class):
    """Tensors of float32 on the CPU; called, it makes one."""

    dtype = dtypes.float32


class DoubleTensor(metaclass=_Class):
    """Tensors of float64 on the CPU; called, it makes one."""

    dtype = dtypes.float64


class HalfTensor(metaclass=_Class):
    """Tensors of float16 on the CPU; called, it makes one."""

    dtype = dtypes.float16


class BFloat16Tensor(metaclass=_Class):
    """Tensors of bfloat16 on the CPU; called, it makes one."""

    dtype = dtypes.bfloat16


class LongTensor(metaclass=_Class):
    """Tensors of int64 on the CPU; called, it makes one."""

    dtype = dtypes.int64


class IntTensor(metaclass=_Class):
    """Tensors of int32 on the CPU; called, it makes one."""

    dtype = dtypes.int32


class ShortTensor(metaclass=_Class):
    """Tensors of int16 on the CPU; called, it makes one."""

    dtype = dtypes.int16


class CharTensor(metaclass=_Class):
    """Tensors of int8 on the CPU; called, it makes one."""

    dtype = dtypes.int8


class ByteTensor(metaclass=_Class):
    """Tensors of uint8 on the CPU; called, it makes one."""

    dtype = dtypes.uint8


class BoolTensor(metaclass=_Class):
    """Tensors of bool on the CPU; called, it makes one."""

    dtype = dtypes.bool_


class ComplexFloatTensor(metaclass=_Class):
    """Tensors of complex64 on the CPU; called, it makes one."""

    dtype = dtypes.complex64


class ComplexDoubleTensor(metaclass=_Class):
    """Tensors of complex128 on the CPU; called, it makes one."""

    dtype = dtypes.complex128


_ALL: Final = (
    FloatTensor, DoubleTensor, HalfTensor, BFloat16Tensor, LongTensor, IntTensor,
    ShortTensor, CharTensor, ByteTensor, BoolTensor, ComplexFloatTensor,
    ComplexDoubleTensor,
)  # fmt: skip
# Those that torch has of other device types as well.
_ELSEWHERE: Final = tuple(c for c in _ALL if not c.dtype.is_complex)


def classes_on(place: str) -> dict[str, type]:
    """Such classes for tensors of a device type, by name."""
    return {
        c.__name__: _Class(
            c.__name__, (), {"dtype": c.dtype, "place": place, "__doc__":
            f"Tensors of {c.dtype.name} on {place}; called, it makes one."},
        )
        for c in _ELSEWHERE
    }  # fmt: skip


def meant(t: object) -> tuple[DType, str] | None:
    """The dtype and the device type of such a class, or of its whole name.

    Returns: None for what is no such class; whether there is a device is not asked.
    """
    if isinstance(t, _Class):
        return t.dtype, t.place
    room, _, name = t.rpartition(".") if isinstance(t, str) else ("", "", "")
    root, dot, place = room.partition(".")
    if root not in ("torch", "dovetail") or name not in CLASSES:
        return None
    if dot and (place == "sparse" or not place.isidentifier()):
        return None
    return CLASSES[name], place or "cpu"


CLASSES: Final[dict[str, DType]] = {c.__name__: c.dtype for c in _ALL}
NAMESPACES["torch"].update({c.__name__: c for c in _ALL})
