"""torch's private functions of lists of tensors, which optimizers of others call.

`_foreach_add_(xs, ys)` is `x.add_(y)` for each pair. All of them derive from the method
that their name names: what is a list is taken entry by entry, all else as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError
from dovetail.optim.grouping import by_device_and_dtype

PREFIX: Final = "_foreach_"
# Methods whose last number torch takes without its name here.
_NUMBERS: Final = {"addcmul": "value", "addcdiv": "value"}
# Arguments that have another name there.
_NAMES: Final = {"norm": {"ord": "p"}}
_BOUNDS: Final = {"maximum": "clamp_min", "minimum": "clamp_max"}
_OTHERS: Final = frozenset({"mm", "powsum"})


def of_lists(name: str) -> Callable[..., Any] | None:
    """The function of a name like `_foreach_add_`; None where no method has it."""
    method = name.removeprefix(PREFIX)
    plain = method.removesuffix("_")
    known = hasattr(Tensor, method) or plain in _BOUNDS
    if method == name or method in _OTHERS or not known:
        return None

    def each(self: Sequence[Tensor], *args: Any, **named: Any) -> Sequence[Tensor]:
        calls = [_call(name, method, self, args, named, i) for i in range(len(self))]
        found = tuple([call() for call in calls])  # all of them are right by now
        return self if method.endswith("_") else found

    each.__name__ = each.__qualname__ = name
    each.__doc__ = f"`{method}` of each tensor of a list."
    return each


def _call(
    name: str, method: str, tensors: Sequence[Tensor], args: tuple[Any, ...],
    named: dict[str, Any], i: int,
) -> Callable[[], Tensor]:  # fmt: skip
    """The call of the method for one tensor.

    Raises: ArgumentError for lists of different lengths.
    """
    given = [_entry(name, a, len(tensors), i) for a in args]
    plain = method.removesuffix("_")
    ours = _NAMES.get(plain, {})
    options = {
        ours.get(k, k): _entry(name, a, len(tensors), i) for k, a in named.items()
    }
    if plain in _NUMBERS and len(given) > 2:
        options[_NUMBERS[plain]] = given.pop()
    if plain in _BOUNDS and not isinstance(given[0], Tensor):
        method = method.replace(plain, _BOUNDS[plain])
    if not hasattr(Tensor, method):  # in place, which torch has for lists alone
        return lambda: tensors[i].copy_(getattr(tensors[i], plain)(*given, **options))
    return lambda: getattr(tensors[i], method)(*given, **options)


def _entry(name: str, value: Any, count: int, i: int) -> Any:
    if not isinstance(value, list | tuple):
        return value
    if len(value) != count:
        raise ArgumentError(
            name, "argument", was=f"a list of {len(value)}",
            needed=f"one entry for each of {count} tensors",
        )  # fmt: skip
    return value[i]


# ---- torch.utils._foreach_utils


_group_tensors_by_device_and_dtype: Final = by_device_and_dtype


def _get_foreach_kernels_supported_devices() -> list[str]:
    """The devices on which lists are computed at once: none says so of itself."""
    return []


_get_fused_kernels_supported_devices: Final = _get_foreach_kernels_supported_devices


def _device_has_foreach_support(device: Any) -> bool:
    """Whether lists are computed at once."""
    return False
