"""torch's switches of a process: determinism, precision, warnings, threads."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Final

from dovetail.codegen.runtime.threads import get_num_threads
from dovetail.dtypes import get_default_dtype, set_default_dtype
from dovetail.engine.generator import Generator
from dovetail.engine.modes import default_device, set_default_device
from dovetail.engine.public import public
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ArgumentTypeError, DeviceError
from dovetail.frontend.tensor_classes import meant

_MODES: Final = ("default", "warn", "error")
_PRECISIONS: Final = ("highest", "high", "medium")


class _Chosen:
    """What the process has chosen."""

    determinism = "default"
    precision = "highest"
    warn_always = False
    interop_threads: int | None = None
    place: str | None = None


@public("torch.use_deterministic_algorithms", asks=False)
def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Ask for algorithms that give the same bits on every run.

    The CPU has no others. Plug-ins of other devices read the choice by
    `are_deterministic_algorithms_enabled`.

    Args:
        warn_only: where a device has no such algorithm, it warns instead of raising.
    """
    if not isinstance(mode, bool):
        raise ArgumentTypeError(
            "use_deterministic_algorithms", "mode", was=repr(mode),
            needed="True or False",
        )  # fmt: skip
    _Chosen.determinism = ("warn" if warn_only else "error") if mode else "default"


@public("torch.are_deterministic_algorithms_enabled")
def are_deterministic_algorithms_enabled() -> bool:
    """Whether algorithms that give the same bits on every run were asked for."""
    return _Chosen.determinism != "default"


@public("torch.is_deterministic_algorithms_warn_only_enabled")
def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether the lack of a deterministic algorithm shall only warn."""
    return _Chosen.determinism == "warn"


@public("torch.set_deterministic_debug_mode", asks=False)
def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """The same choice by a name or a number: 0 default, 1 warn, 2 error."""
    names = dict(enumerate(_MODES))
    known = debug_mode in _MODES or debug_mode in names
    if isinstance(debug_mode, bool) or not known:
        raise ArgumentError(
            "set_deterministic_debug_mode", "debug_mode", was=repr(debug_mode),
            needed="'default', 'warn', 'error', or 0 to 2",
        )  # fmt: skip
    _Chosen.determinism = (
        names[debug_mode] if isinstance(debug_mode, int) else debug_mode
    )


@public("torch.get_deterministic_debug_mode")
def get_deterministic_debug_mode() -> int:
    """The choice as a number: 0 default, 1 warn, 2 error."""
    return _MODES.index(_Chosen.determinism)


@public("torch.set_float32_matmul_precision", asks=False)
def set_float32_matmul_precision(precision: str) -> None:
    """How coarse products of float32 matrices may be.

    The CPU's are always of the highest precision, which every choice allows.
    """
    if precision not in _PRECISIONS:
        raise ArgumentError(
            "set_float32_matmul_precision", "precision", was=repr(precision),
            needed="'highest', 'high' or 'medium'",
        )  # fmt: skip
    _Chosen.precision = precision


@public("torch.get_float32_matmul_precision")
def get_float32_matmul_precision() -> str:
    """How coarse products of float32 matrices may be."""
    return _Chosen.precision


@public("torch.set_flush_denormal", asks=False)
def set_flush_denormal(mode: bool) -> bool:
    """Whether the choice could be made: numbers next to 0 are never flushed to it.

    Returns: False for True, for which the choice cannot be made.
    """
    if not isinstance(mode, bool):
        raise ArgumentTypeError(
            "set_flush_denormal", "mode", was=repr(mode), needed="True or False"
        )
    return not mode


@public("torch.set_warn_always", asks=False)
def set_warn_always(b: bool, /) -> None:
    """Show dovetail's warnings each time, and not once for each place that warns."""
    if not isinstance(b, bool):
        raise ArgumentTypeError(
            "set_warn_always", "b", was=repr(b), needed="True or False"
        )
    if b and not _Chosen.warn_always:
        warnings.filterwarnings("always", module=r"dovetail(\.|$)")
    elif not b and _Chosen.warn_always:
        warnings.filterwarnings("default", module=r"dovetail(\.|$)")
    _Chosen.warn_always = b


@public("torch.is_warn_always_enabled")
def is_warn_always_enabled() -> bool:
    """Whether dovetail's warnings are shown each time."""
    return _Chosen.warn_always


@public("torch.get_num_interop_threads")
def get_num_interop_threads() -> int:
    """How many threads may run ops beside one another for one program.

    Ops of one thread run one after the other, so the number is kept and not used.
    """
    chosen = _Chosen.interop_threads
    return get_num_threads() if chosen is None else chosen


@public("torch.set_num_interop_threads", asks=False)
def set_num_interop_threads(num: int, /) -> None:
    """Keep a number for `get_num_interop_threads`; see there."""
    if type(num) is not int or num < 1:
        raise ArgumentError(
            "set_num_interop_threads", "num", was=repr(num),
            needed="a positive integer",
        )  # fmt: skip
    _Chosen.interop_threads = num


@public("torch.init_num_threads")
def init_num_threads() -> None:
    """Nothing: every thread has the number that `set_num_threads` has set."""


@public("torch.set_default_tensor_type", asks=False)
def set_default_tensor_type(t: type | str, /) -> None:
    """`set_default_dtype` by one of torch's classes for it, or by its name.

    A class of another device type, such as `cuda.FloatTensor`, makes that the default
    device, until a class of the CPU is set.

    Raises: ArgumentTypeError for another class, or one of a device that is not there,
        DTypeError for one of integers.
    """
    found = meant(t)
    if found is None:
        raise ArgumentTypeError(
            "set_default_tensor_type", "t", was=repr(t),
            needed="a class such as dovetail.DoubleTensor, or its name",
        )  # fmt: skip
    dtype, place = found
    before = get_default_dtype()
    set_default_dtype(dtype)
    try:
        _make_default(place)
    except DeviceError as error:
        set_default_dtype(before)
        raise ArgumentTypeError(
            "set_default_tensor_type", "t", was=repr(t),
            needed="a class for devices that are there",
        ) from error  # fmt: skip


def _make_default(place: str) -> None:
    """Make tensors on devices of a type; the CPU's only undoes what was set so."""
    if place != "cpu":
        set_default_device(place)
        _Chosen.place = place
    elif _Chosen.place is not None and str(default_device()) == _Chosen.place:
        set_default_device(None)
        _Chosen.place = None


@public("torch.thread_safe_generator")
def thread_safe_generator() -> Generator | None:
    """None: random numbers drawn without a generator are safe in every thread.

    Each draw takes its place in the stream of the default generator as one step.
    """
    return None


@public("torch.cond")
def cond(
    pred: bool | Tensor, true_fn: Callable[..., Any], false_fn: Callable[..., Any],
    operands: tuple[Any, ...] | list[Any] = (),
) -> Any:  # fmt: skip
    """What one of two functions gives for the operands, by a bool or a 0-d tensor.

    Raises: ArgumentTypeError for another `pred`.
    """
    one = isinstance(pred, Tensor) and pred.numel() == 1
    if not isinstance(pred, bool) and not one:
        raise ArgumentTypeError(
            "cond", "pred", was=repr(pred), needed="a bool or a tensor of one element"
        )
    chosen = true_fn if bool(pred) else false_fn
    return chosen(*operands)
