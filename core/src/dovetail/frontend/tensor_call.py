"""`Tensor(…)`: sizes, or data, in the default dtype; torch's oldest way to make one."""

from __future__ import annotations

from typing import Any, Final

from dovetail.device import device as Device
from dovetail.dtypes import DType, get_default_dtype
from dovetail.engine.annotations import conforms, described
from dovetail.engine.arguments import explained
from dovetail.engine.tensor import Tensor
from dovetail.engine.tensor_type import Size, TensorType
from dovetail.errors import (
    ArgumentError,
    ArgumentTypeError,
    DeviceError,
    DovetailError,
)
from dovetail.frontend.create import empty, tensor
from dovetail.ops.view import reshape


def called(cls: type[Tensor], *given: Any, device: Any = None, **by_name: Any) -> Any:
    """A tensor of sizes with unspecified contents, or of the numbers in a sequence.

    Args:
        given: nothing; sizes one by one, or a `Size`; a sequence of numbers or an
            array, cast to the default dtype; or a tensor, of which the result is a
            view.
        device: the CPU, if it is given.
        by_name: instead of those, `size=`, `data=` (a sequence) or `other=` (a tensor).

    Raises:
        ArgumentTypeError: something else.
    """
    data = named("Tensor", given, by_name)
    if len(data) == 1 and isinstance(data[0], Tensor):
        made = legacy("Tensor", data, data[0].dtype, device)
    else:
        made = legacy("Tensor", data, get_default_dtype(), device)
    return made if cls is Tensor else made.as_subclass(cls)


_NAMED: Final[dict[str, tuple[tuple[type, ...], str]]] = {
    "size": ((tuple, list), "a sequence of sizes"),
    "data": ((tuple, list), "a sequence of numbers"),
    "other": ((Tensor,), "a tensor"),
}


def named(
    name: str, given: tuple[Any, ...], by_name: dict[str, Any]
) -> tuple[Any, ...]:
    """What stands for the data: what is given, or the one argument with a name.

    Raises: ArgumentTypeError for names that are none of torch's, for several, and for
        what a name does not stand for.
    """
    if not by_name:
        return given
    key, value = next(iter(by_name.items()))
    if given or len(by_name) > 1 or key not in _NAMED:
        raise ArgumentTypeError(
            name, "keywords", was=", ".join(by_name),
            needed="one of size, data and other, and nothing beside it",
        )  # fmt: skip
    types, needed = _NAMED[key]
    if not isinstance(value, types):
        raise ArgumentTypeError(name, key, was=described(value), needed=needed)
    return (Size(by_name[key]),) if key == "size" else (value,)


def legacy(
    name: str, data: tuple[Any, ...], dtype: DType, device: Any = None
) -> Tensor:
    """What torch's classes of tensors make, in the dtype of the class.

    Raises: ArgumentTypeError for what is no data, ArgumentError for another device.
    """
    if device is not None and str(device).partition(":")[0] != "cpu":
        raise ArgumentError(
            name, "device", was=repr(device), needed="cpu",
            remedy="use dovetail.tensor(…, device=…) or dovetail.empty",
        )  # fmt: skip
    return of_data(name, data, dtype, "cpu")


def of_data(name: str, data: tuple[Any, ...], dtype: DType, device: Any) -> Tensor:
    """A tensor of sizes, of numbers in a sequence, or a view of one with that dtype."""
    first = data[0] if data else ()
    if len(data) == 1 and isinstance(first, Tensor):
        if first.dtype is not dtype:
            raise ArgumentTypeError(
                name, "data", was=described(first), needed=f"a {dtype.name} tensor",
                remedy="cast it with .to(dtype)",
            )  # fmt: skip
        if device is not None and Device(device).type != first.device.type:
            raise DeviceError(
                name, "data", was=f"on {first.device}", needed=f"one on {device}",
                remedy="move it with .to(device)",
            )  # fmt: skip
        view: Tensor = reshape(first, tuple(first.shape))
        return view
    if isinstance(first, Size) and len(data) == 1:
        return empty(first, dtype=dtype, device=device)
    if data and all(conforms("int", size) for size in data):
        return empty(*data, dtype=dtype, device=device)
    if len(data) > 1 or not hasattr(first, "__len__") or isinstance(first, str):
        wrong = next(v for v in data if len(data) == 1 or not conforms("int", v))
        raise ArgumentTypeError(
            name, "data", was=described(wrong), needed="sizes, or a sequence",
            remedy="use dovetail.tensor for a number",
        )  # fmt: skip
    return tensor(first, dtype=dtype, device=device)


def _explained(cls: type[Tensor], *args: Any, **kwargs: Any) -> Any:
    try:
        return called(cls, *args, **kwargs)
    except DovetailError:
        raise
    except Exception as error:
        ours = explained("Tensor", called, (cls, *args), kwargs, error)
        if ours is None:
            raise
        raise ours from error


_explained.__wrapped__ = called  # type: ignore[attr-defined]
TensorType.made = _explained
