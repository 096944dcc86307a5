"""`autocast` as torch signs it, over `dovetail.engine.autocast`."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, TypeVar

from dovetail import dtypes
from dovetail.device import device as Device
from dovetail.device_api import registry
from dovetail.dtypes import DType, as_dtype
from dovetail.engine.autocast import Casting, casting, set_casting
from dovetail.engine.missing_names import missing_name
from dovetail.errors import ArgumentTypeError, DTypeError

F = TypeVar("F", bound=Callable[..., Any])

# What torch has before anybody sets it.
_DEFAULTS: Final = {"cpu": dtypes.bfloat16}
# Types that torch has, which programs may name whether or not there is a device.
_TYPES: Final = frozenset({
    "cpu", "cuda", "hip", "hpu", "ipu", "maia", "meta", "mps", "mtia", "privateuseone",
    "rocm", "vulkan", "xla", "xpu",
})  # fmt: skip
_LOWER: Final = (dtypes.bfloat16, dtypes.float16)
# The settings of this context: lower precisions by device type, and whether casts of
# parameters are kept.
_chosen: Final[ContextVar[dict[str, DType] | None]] = ContextVar(
    "autocast_dtypes", default=None
)
_caches: Final[ContextVar[bool]] = ContextVar("autocast_cache", default=True)


class autocast:  # noqa: N801  torch's name
    """Runs products in a lower precision and losses in float32, within a `with`.

    Also a decorator. Which op is run how is said by its declaration; the lists are
    torch's for the CPU. Parameters are cast once for the whole scope.

    Args:
        device_type: whose tensors are cast, e.g. `"cpu"`.
        dtype: the lower precision, bfloat16 or float16; by default
            `get_autocast_dtype(device_type)`.
        enabled: False switches an outer scope off within this one.
        cache_enabled: whether the casts of parameters are kept; by default
            `is_autocast_cache_enabled()`.

    A dtype that is no lower precision, or a device type of NVIDIA's that is not there,
    switches the scope off, of which a UserWarning tells.

    Raises:
        ArgumentTypeError: `device_type` is no string.
        BackendError: no backend of that type is known.

    >>> import dovetail as dt
    >>> x = dt.ones(2, 3)
    >>> with dt.autocast("cpu"):
    ...     y = x @ x.t()
    >>> y.dtype
    dovetail.bfloat16
    """

    def __init__(
        self, device_type: str, dtype: DType | None = None, enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:  # fmt: skip
        self.device = _device_type("autocast", device_type)
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        self._enabled = bool(enabled) and _can_be(self.device, self.fast_dtype)
        self._cache_enabled = cache_enabled
        self._open: list[tuple[Casting | None, Casting | None]] = []

    def __enter__(self) -> autocast:
        outer = (casting() or {}).get(self.device)
        made = None
        if self._enabled:
            keeps = self._cache_enabled
            keeps = is_autocast_cache_enabled() if keeps is None else keeps
            known = None if outer is None else outer.casts
            casts = (known if known is not None else {}) if keeps else None
            made = Casting(self.device, self.fast_dtype, casts)
            made.use(1)
        set_casting(self.device, made, outer)
        self._open.append((made, outer))
        return self

    def __exit__(self, *_: object) -> None:
        made, outer = self._open.pop()
        set_casting(self.device, outer, made)
        if made is not None:
            made.use(-1)

    def __call__(self, function: F) -> F:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            scope = (self.device, self.fast_dtype, self._enabled, self._cache_enabled)
            with autocast(*scope):
                return function(*args, **kwargs)

        return wrapped  # type: ignore[return-value]


def _can_be(type: str, dtype: Any) -> bool:
    """Whether a device type has scopes of a lower precision; warns where it has not."""
    if as_dtype(dtype, "autocast") not in _LOWER:
        warnings.warn(
            f"In {type.upper()} autocast, but the target dtype is not supported. "
            f"Disabling autocast.\n{type.upper()} Autocast only supports dtypes of "
            "bfloat16, float16 currently.", UserWarning, stacklevel=4,
        )  # fmt: skip
        return False
    if type == "cuda" and not is_autocast_available(type):
        warnings.warn(
            "CUDA is not available. Disabling autocast.", UserWarning, stacklevel=4
        )
        return False
    return True


def _device_type(name: str, value: Any) -> str:
    """The type of a device, checked; an index after it changes nothing.

    Raises:
        ArgumentTypeError: it is no string.
        BackendError: no backend of that type is known.
    """
    if value in _TYPES:
        return str(value)
    type = Device(_text(name, value)).type
    if type not in _TYPES:
        registry.check_type(type)
    return type


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ArgumentTypeError(
            name, "device_type", was=repr(value), needed='a string such as "cpu"'
        )
    return value


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether calls of this context are cast on a device type."""
    name, here = _device_type("is_autocast_enabled", device_type), casting()
    return here is not None and name in here


def _require_bool(op: str, enabled: Any) -> None:
    if not isinstance(enabled, bool):
        raise ArgumentTypeError(
            op, "enabled", was=repr(enabled), needed="True or False"
        )


def set_autocast_enabled(device_type: str | bool, enabled: bool | None = None) -> None:
    """Switch autocast on or off for a device type, until it is switched again.

    A switch alone is that of `"cuda"`, as older programs have it.
    """
    if enabled is None and isinstance(device_type, bool):
        enabled, device_type = device_type, "cuda"
    name = _device_type("set_autocast_enabled", device_type)
    _require_bool("set_autocast_enabled", enabled)
    before = (casting() or {}).get(name)
    if enabled != (before is not None):
        made = Casting(name, get_autocast_dtype(name), {}) if enabled else None
        for scope, more in ((made, 1), (before, -1)):
            if scope is not None:
                scope.use(more)
        set_casting(name, made, before)


def get_autocast_dtype(device_type: str) -> DType:
    """The lower precision of a device type."""
    name = _device_type("get_autocast_dtype", device_type)
    here = (casting() or {}).get(name)
    if here is not None:
        return here.dtype
    return (_chosen.get() or {}).get(name) or _DEFAULTS.get(name, dtypes.float16)


def set_autocast_dtype(device_type: str, dtype: DType) -> None:
    """Make `dtype` the lower precision of a device type.

    Raises:
        DTypeError: it is no lower precision.
    """
    name = _device_type("set_autocast_dtype", device_type)
    if as_dtype(dtype, "set_autocast_dtype") not in _LOWER:
        raise DTypeError(
            "set_autocast_dtype", "dtype", was=repr(dtype),
            needed="bfloat16 or float16",
        )  # fmt: skip
    _chosen.set((_chosen.get() or {}) | {name: dtype})


def _older(name: str, device_type: str) -> None:
    warnings.warn(
        f"{name} is deprecated. Please use the function of a device type instead, "
        f"with {device_type!r}.", DeprecationWarning, stacklevel=3,
    )  # fmt: skip


def is_autocast_cpu_enabled() -> bool:
    """Whether calls of this context are cast on the CPU."""
    _older("is_autocast_cpu_enabled", "cpu")
    return is_autocast_enabled("cpu")


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """Switch autocast on or off for the CPU."""
    _older("set_autocast_cpu_enabled", "cpu")
    set_autocast_enabled("cpu", enabled)


def get_autocast_cpu_dtype() -> DType:
    """The lower precision of the CPU."""
    _older("get_autocast_cpu_dtype", "cpu")
    return get_autocast_dtype("cpu")


def set_autocast_cpu_dtype(dtype: DType) -> None:
    """Make `dtype` the lower precision of the CPU."""
    _older("set_autocast_cpu_dtype", "cpu")
    set_autocast_dtype("cpu", dtype)


def get_autocast_gpu_dtype() -> DType:
    """The lower precision of NVIDIA's devices."""
    _older("get_autocast_gpu_dtype", "cuda")
    return get_autocast_dtype("cuda")


def set_autocast_gpu_dtype(dtype: DType) -> None:
    """Make `dtype` the lower precision of NVIDIA's devices."""
    _older("set_autocast_gpu_dtype", "cuda")
    set_autocast_dtype("cuda", dtype)


def is_autocast_cache_enabled() -> bool:
    """Whether the casts of parameters are kept for a whole scope."""
    return _caches.get()


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Keep the casts of parameters for a whole scope, or do not."""
    _require_bool("set_autocast_cache_enabled", enabled)
    _caches.set(enabled)


def clear_autocast_cache() -> None:
    """Forget the casts of parameters that this context keeps."""
    for here in (casting() or {}).values():
        if here.casts is not None:
            here.casts.clear()


def is_autocast_available(device_type: str) -> bool:
    """Whether there is such a device type, which autocast can serve."""
    name = _text("is_autocast_available", device_type)
    return name in {kind for kind, _ in registry.available()}


def autocast_decorator(autocast_instance: autocast, func: F) -> F:
    """A function that runs in an autocast scope at each call."""
    return autocast_instance(func)


if not TYPE_CHECKING:
    __getattr__ = missing_name(__name__)
