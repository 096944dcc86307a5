"""Inputs made ready: one device, one dtype by torch's rules, numbers wrapped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from dovetail import dtypes
from dovetail.dtypes import DType, dtype_of_scalar, get_default_dtype, promote
from dovetail.engine.basics import basics
from dovetail.engine.casts import cast_in_order
from dovetail.engine.elements import factor
from dovetail.engine.kinds import Kind, kind_of, kind_on, scalar_native
from dovetail.engine.level_hooks import gathered
from dovetail.engine.level_hooks import together as levels_loaded
from dovetail.engine.modes import default_device
from dovetail.engine.op import Op
from dovetail.engine.tensor import Tensor, wrap
from dovetail.errors import ArgumentTypeError, DeviceError, DTypeError

_NUMBERS: Final = frozenset({int, float, complex, bool})
_PLACES: Final = frozenset({dtypes.int64, dtypes.int32})


def prepare(op: Op, inputs: Sequence[Any]) -> tuple[Any, ...]:
    """Tensors of one device and one dtype.

    Raises:
        DeviceError: tensors on different devices.
        DTypeError: the op does not accept the promoted dtype.
        ArgumentTypeError: something that is neither a tensor nor a number.
    """
    if op.of_numbers and all(type(x) in _NUMBERS for x in inputs):
        inputs = (_tensor_of(inputs[0]), *inputs[1:])
    flat = _flat(op, inputs)
    placed = _placed_on(op, flat)
    if placed is None:
        return tuple(inputs)
    kind = placed._kind
    if _simple(op, flat, kind) and kind.dtype in op.accepts:
        return tuple(list(x) if type(x) is tuple else x for x in inputs)
    if levels_loaded:
        inputs = gathered(inputs)
        kind = _placed_on(op, _flat(op, inputs))._kind  # type: ignore[union-attr]
    return _promoted(op, inputs, kind)


def _tensor_of(number: Any) -> Tensor:
    """A number alone, on the default device."""
    kind = kind_of(default_device(), dtype_of_scalar(number))
    made: Tensor = basics.full((), number, kind)
    return made


def lead_of(op: Op, inputs: Sequence[Any]) -> Tensor | None:
    """The tensor whose dtype and dims decide how an op runs."""
    if not inputs:
        return None
    lead: Any = inputs[op.lead_at]
    if isinstance(lead, list):
        lead = next((x for x in lead if x is not None), None)
    if lead is None:
        lead = next((x for x in _flat(op, inputs) if x is not None), None)
    found: Tensor | None = lead
    return found


def _flat(op: Op, inputs: Sequence[Any]) -> list[Any]:
    if not op.has_list:
        return list(inputs)
    flat: list[Any] = []
    for param, value in zip(op.tensors, inputs, strict=True):
        if param.role == "list":
            if not isinstance(value, list | tuple):
                raise ArgumentTypeError(
                    op.name, param.name, was=f"a {type(value).__name__}",
                    needed="a list or tuple of tensors",
                )  # fmt: skip
            flat += value
        else:
            flat.append(value)
    return flat


def _placed_on(op: Op, flat: list[Any]) -> Tensor | None:
    """The tensor that decides the device: the first that is no number on the CPU."""
    tensors = [x for x in flat if isinstance(x, Tensor)]
    required = op.tensors[0] if op.tensors else None
    if not tensors:
        if required is not None and (flat or required.role == "list"):
            raise ArgumentTypeError(
                op.name, required.name, was=repr(flat[0]) if flat else "an empty list",
                needed="a Tensor", remedy="make one with dovetail.tensor(...)",
            )  # fmt: skip
        return None
    if not op.has_list:
        for param, x in zip(op.tensors, flat, strict=True):
            if x is None and param.role == "tensor":
                raise ArgumentTypeError(
                    op.name, param.name, was="None", needed="a Tensor"
                )
    return next((x for x in tensors if not _number_on_cpu(x)), tensors[0])


def _number_on_cpu(x: Tensor) -> bool:
    """Whether `x` mixes with tensors on any device, as in torch."""
    return not len(x._a.shape) and x._kind.backend.type == "cpu"


def _simple(op: Op, flat: list[Any], kind: Kind) -> bool:
    """Whether everything has one kind already, so that nothing is to be done."""
    if op.indices or op.masks or op.promote not in ("same", "equal"):
        return False
    return all(x is None or (isinstance(x, Tensor) and x._kind is kind) for x in flat)


def _promoted(op: Op, inputs: Sequence[Any], kind: Kind) -> tuple[Any, ...]:
    inputs = _on_one_device(op, inputs, kind)
    takers = [
        v
        for param, value in zip(op.tensors, inputs, strict=True)
        if param.name not in op.indices and param.name not in op.masks
        for v in (value if isinstance(value, list) else (value,))
        if v is not None and (not param.fits or isinstance(v, Tensor))
    ]
    if op.promote == "equal":
        _require_one_dtype(op, inputs)
    if op.each:
        _require_accepted(op, takers)
    target = _target(op, takers) if takers else None
    if target is dtypes.int64:  # of a number beside a bool, where the device has none
        target = index_dtype(kind)
    return tuple(
        _cast_input(op, param, value, target, kind)
        for param, value in zip(op.tensors, inputs, strict=True)
    )


def _require_accepted(op: Op, takers: Sequence[Any]) -> None:
    """Raise for an operand whose own dtype the op does not accept."""
    for v in takers:
        dtype = v._kind.dtype if isinstance(v, Tensor) else dtype_of_scalar(v)
        if dtype not in op.accepts:
            raise op.refuse_dtype(dtype, "dtype of an operand")


def _require_one_dtype(op: Op, inputs: Sequence[Any]) -> None:
    """Raise for a number, and for a tensor whose dtype is not that of the first."""
    first, *others = [
        (p.name if p.role != "list" else f"{p.name}[{i}]", v)
        for p, value in zip(op.tensors, inputs, strict=True)
        for i, v in enumerate(value if p.role == "list" else [value])
        if v is not None and p.name not in op.indices | op.masks
    ]
    for name, value in (first, *others):
        if not isinstance(value, Tensor):
            raise ArgumentTypeError(op.name, name, was=repr(value), needed="a Tensor")
        dtype, wanted = value._kind.dtype, first[1]._kind.dtype
        if dtype is not wanted:
            raise DTypeError(
                op.name, name, was=dtype.name,
                needed=f"{wanted.name}, as {first[0]} has: expected m1 and m2 to have "
                "the same dtype", remedy="cast one of them with .to(dtype)",
            )  # fmt: skip


def _on_one_device(op: Op, inputs: Sequence[Any], kind: Kind) -> list[Any]:
    return [
        [_placed(op, f"{p.name}[{i}]", v, kind) for i, v in enumerate(value)]
        if p.role == "list"
        else _placed(op, p.name, value, kind)
        for p, value in zip(op.tensors, inputs, strict=True)
    ]


def _placed(op: Op, name: str, x: Any, kind: Kind) -> Any:
    if x is None or isinstance(x, int | float | complex):
        return x
    if isinstance(x, np.generic):
        return x.item()
    if not isinstance(x, Tensor):
        raise ArgumentTypeError(
            op.name, name, was=f"a {type(x).__name__}", needed="a Tensor or a number",
            remedy="make one with dovetail.tensor(...)",
        )  # fmt: skip
    own = x._kind
    if own.backend is kind.backend and own.index == kind.index:
        return x
    refused = op.promote is None or (kind.backend.rules_only and name in op.meta_only)
    if _number_on_cpu(x) and not refused:
        return to_kind(x, kind_on(kind.backend, kind.index, own.dtype))
    raise DeviceError(
        op.name, name, was=f"on {own.device}",
        needed=f"{kind.device}, where the other tensors are: expected all tensors to "
        "be on the same device", remedy=f'move it with .to("{kind.device}")',
    )  # fmt: skip


def to_kind(x: Tensor, kind: Kind) -> Tensor:
    """A copy on another device, recorded."""
    moved: Tensor = basics.transfer(x, kind)
    return moved


def _target(op: Op, takers: Sequence[Any]) -> DType:
    """The dtype the inputs are cast to; raises what the op does not accept."""
    if op.promote is None:
        tensors = [v for v in takers if isinstance(v, Tensor)]
        found = tensors[0]._kind.dtype if tensors else dtype_of_scalar(takers[0])
    elif op.promote == "first":
        found = takers[0]._kind.dtype
    else:
        found = result_type(takers)
    if op.promote == "float" and found.category < dtypes.FLOAT_CATEGORY:
        found = get_default_dtype()
    if found not in op.accepts:
        raise op.refuse_dtype(found)
    return found


def _cast_input(
    op: Op, param: Any, value: Any, target: DType | None, kind: Kind
) -> Any:
    if value is None:
        return None
    if isinstance(value, list | tuple):
        return [_cast_input(op, param, v, target, kind) for v in value]
    if param.name in op.masks:
        return _mask(op, param.name, value)
    if param.name in op.indices:
        return _index(op, param.name, value)
    assert target is not None
    if not isinstance(value, Tensor):
        if param.fits:
            value = factor(op.name, target, value, param.name)
        wanted = kind.with_dtype(target)
        return wrap(_number_in(wanted, value), wanted)
    if op.promote is None or value._kind.dtype is target:
        return value
    return cast_in_order(value, target)


def _number_in(kind: Kind, value: Any) -> Any:
    """A number, of Python's types or of a class made of them, as a 0-d array."""
    for number in (bool, int, float, complex):
        if isinstance(value, number) and number in kind.scalars:
            return kind.scalars[number][value]
    return scalar_native(kind, value)


def _mask(op: Op, name: str, value: Any) -> Any:
    if not isinstance(value, Tensor) or value._kind.dtype is not dtypes.bool_:
        raise DTypeError(
            op.name, name, was=_dtype_name(value), needed="a bool tensor",
            remedy="compare first, e.g. mask != 0",
        )  # fmt: skip
    return value


def _index(op: Op, name: str, value: Any) -> Any:
    if not isinstance(value, Tensor) or value._kind.dtype not in _PLACES:
        raise DTypeError(
            op.name, name, was=_dtype_name(value), needed="an int64 or int32 tensor",
            remedy="cast it with .to(dovetail.int64)",
        )  # fmt: skip
    wanted = index_dtype(value._kind)
    if value._kind.dtype is wanted or value._kind.dtype is dtypes.int32:
        return value
    return basics.cast(value, wanted)


def index_dtype(kind: Kind) -> DType:
    """The dtype of indices on a device: int64 where it has it."""
    has_long = dtypes.int64 in kind.backend.dtypes
    return dtypes.int64 if has_long else dtypes.int32


def _dtype_name(value: Any) -> str:
    if isinstance(value, Tensor):
        return f"{value._kind.dtype.name}"
    return f"a {type(value).__name__}"


def result_type(values: Sequence[Any]) -> DType:
    """Torch's result type: tensors with dims, then 0-d tensors, then numbers.

    A weaker group changes the dtype only by a higher category (bool, integer, float,
    complex).
    """
    dims: DType | None = None
    zero: DType | None = None
    weak: DType | None = None
    for v in values:
        if not isinstance(v, Tensor):
            weak = _join(weak, dtype_of_scalar(v))
        elif len(v._a.shape):
            dims = _join(dims, v._kind.dtype)
        else:
            zero = _join(zero, v._kind.dtype)
    found = _combine(_combine(dims, zero), weak)
    assert found is not None
    return found


def _join(a: DType | None, b: DType) -> DType:
    return b if a is None else promote(a, b)


def _combine(strong: DType | None, weak: DType | None) -> DType | None:
    if strong is None or weak is None:
        return weak if strong is None else strong
    if strong.category >= weak.category:
        return strong
    if weak.is_complex and strong.is_floating_point:
        return strong.complex  # however wide the weaker one is
    return weak
