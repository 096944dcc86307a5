"""Switches of torch's libraries, and what may be asked of them: `torch.backends`.

Kernels are chosen by the device's table, so that no switch chooses between libraries:
those here are kept as they are set, for programs that set and read them, and change
nothing that is computed, but for those of `opt_einsum`, which say in which order einsum
contracts. The precision of products is `set_float32_matmul_precision`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, Final

from dovetail.device_api import registry
from dovetail.errors import (
    ArgumentError,
    CallOrderError,
    DeviceError,
    MissingName,
    NotSupported,
)
from dovetail.frontend import contractions
from dovetail.nn.attention import SDPBackend, sdpa_kernel

# Whether switches may be set but by `flags`; programs set it, too.
__allow_nonbracketed_mutation_flag = True


def disable_global_flags() -> None:
    """From now on, no switch is set for good: `flags` sets them for a block of code."""
    _let(False)


def flags_frozen() -> bool:
    """Whether `disable_global_flags` was called."""
    return not __allow_nonbracketed_mutation_flag


def _let(allowed: bool) -> None:
    globals()["__allow_nonbracketed_mutation_flag"] = allowed


@contextmanager
def _let_all() -> Iterator[None]:
    before = not flags_frozen()
    _let(True)
    try:
        yield
    finally:
        _let(before)


class Switches(ModuleType):
    """The switches of one library, which no other name can be given.

    Args:
        name: the module's.
        available: whether the library is there.
        values: the switches, as they stand at first.
    """

    _available: bool

    def __init__(self, name: str, available: bool, **values: Any) -> None:
        super().__init__(name, f"Switches of {name.rpartition('.')[2]}.")
        vars(self).update(values, _available=available, __path__=[])

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in vars(self):
            raise MissingName(self.__name__, name, lambda: None, None)
        vars(self)[name] = value

    def __getattr__(self, name: str) -> Any:
        raise MissingName(self.__name__, name, lambda: None, None)

    def is_available(self) -> bool:
        """Whether the library is there, and has a device."""
        return self._available

    is_built = is_available

    @contextmanager
    def flags(self, **values: Any) -> Iterator[None]:
        """Set switches for a block of code."""
        before = {name: getattr(self, name) for name in values}
        with _let_all():
            self._set(values)
        try:
            yield
        finally:
            with _let_all():
                self._set(before)

    def _set(self, values: dict[str, Any]) -> None:
        for name, value in values.items():
            setattr(self, name, value)


class GlobalSwitches(Switches):
    """Switches that `disable_global_flags` is for."""

    def __setattr__(self, name: str, value: Any) -> None:
        if flags_frozen():
            library = self.__name__.rpartition(".")[2]
            raise CallOrderError(
                name, was=f"not allowed to set {library} flags after "
                "disable_global_flags", remedy="use flags() for a block of code",
            )  # fmt: skip
        super().__setattr__(name, value)


class LibrarySwitches(GlobalSwitches):
    """The switches of a library that has versions."""

    def version(self) -> None:
        """None: no kernel asks for the library."""


def _attention_switch(name: str) -> tuple[Any, Any]:
    """Functions that ask and set whether attention may go a way; see `sdpa_kernel`."""

    def asked(self: Switches) -> bool:
        return bool(getattr(self, name))

    def enable(self: Switches, enabled: bool) -> None:
        setattr(self, name, enabled)

    asked.__doc__ = "Whether the switch is on."
    enable.__doc__ = "Set the switch, which is kept."
    return asked, enable


class AttentionSwitches(Switches):
    """The switch of torch's own way through layers of attention that are evaluated.

    Here there is one way, which computes the same: the switch is kept.
    """

    _fastpath: bool

    def get_fastpath_enabled(self) -> bool:
        """Whether the switch is on."""
        return self._fastpath

    def set_fastpath_enabled(self, value: bool) -> None:
        """Set the switch, which is kept."""
        self._fastpath = value


class DeviceSwitches(Switches):
    """The switches of a device type, which is there if its backend has a device."""

    _type: str
    flash_sdp_enabled, enable_flash_sdp = _attention_switch("_flash")
    mem_efficient_sdp_enabled, enable_mem_efficient_sdp = _attention_switch("_lean")
    math_sdp_enabled, enable_math_sdp = _attention_switch("_math")
    cudnn_sdp_enabled, enable_cudnn_sdp = _attention_switch("_cudnn")

    def is_available(self) -> bool:
        """Whether the machine has such a device, and a backend that drives it."""
        try:
            return bool(registry.load(self._type).devices())
        except DeviceError:
            return False

    is_built = is_available

    @contextmanager
    def sdp_kernel(
        self, enable_flash: bool = True, enable_math: bool = True,
        enable_mem_efficient: bool = True, enable_cudnn: bool = True,
    ) -> Iterator[None]:  # fmt: skip
        """What `nn.attention.sdpa_kernel` does, as older programs have it."""
        asked = {
            SDPBackend.FLASH_ATTENTION: enable_flash, SDPBackend.MATH: enable_math,
            SDPBackend.EFFICIENT_ATTENTION: enable_mem_efficient,
            SDPBackend.CUDNN_ATTENTION: enable_cudnn,
        }  # fmt: skip
        with sdpa_kernel([way for way, wanted in asked.items() if wanted]):
            yield


class EinsumSwitches(Switches):
    """In which order `einsum` contracts three operands or more."""

    def is_available(self) -> bool:
        """Whether the package opt_einsum is installed."""
        return contractions.is_available()

    @property
    def enabled(self) -> bool:
        """Whether opt_einsum is asked for the order, else it is from left to right."""
        return contractions.choice.enabled and contractions.is_available()

    @property
    def strategy(self) -> str | None:
        """How opt_einsum looks: auto, greedy, optimal or auto-hq; None without it."""
        return contractions.choice.strategy if self.is_available() else None

    def set_flags(
        self, _enabled: bool | None = None, _strategy: str | None = None
    ) -> tuple[bool, str | None]:
        """Set both switches, those that are given; what they were.

        Raises: ArgumentError for a strategy where opt_einsum is not to be asked.
        """
        before = self.enabled, self.strategy
        enabled = before[0] if _enabled is None else _enabled
        if _strategy is not None and not enabled:
            raise ArgumentError(
                "opt_einsum.set_flags", "_strategy", was=f"{_strategy!r}, while "
                "opt_einsum is not enabled", needed="None, or _enabled=True",
            )  # fmt: skip
        if _strategy is not None:
            setattr(self, "strategy", _strategy)  # noqa: B010  # mypy sees a property
        if _enabled is not None:
            setattr(self, "enabled", _enabled)  # noqa: B010
        return before

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in ("enabled", "strategy"):
            super().__setattr__(name, value)
        elif not self.is_available() and value:
            raise NotSupported(
                "opt_einsum", name, was=repr(value), needed="the package opt_einsum",
                remedy="pip install opt_einsum",
            )  # fmt: skip
        elif name == "strategy" and value not in contractions.STRATEGIES:
            raise ArgumentError(
                "opt_einsum", name, was=repr(value),
                needed=" or ".join(contractions.STRATEGIES),
            )  # fmt: skip
        else:
            setattr(contractions.choice, name, value)


_matmul: Final = Switches(
    f"{__name__}.cuda.matmul", False, allow_tf32=False,
    allow_fp16_reduced_precision_reduction=True,
    allow_bf16_reduced_precision_reduction=True, fp32_precision="none",
)  # fmt: skip
_ways: Final = {"_flash": True, "_lean": True, "_math": True, "_cudnn": True}
cuda: Final = DeviceSwitches(
    f"{__name__}.cuda", False, _type="cuda", matmul=_matmul, **_ways
)
mps: Final = DeviceSwitches(f"{__name__}.mps", False, _type="mps")
cudnn: Final = LibrarySwitches(
    f"{__name__}.cudnn", False, enabled=True, benchmark=False, deterministic=False,
    benchmark_limit=10, allow_tf32=True, fp32_precision="none",
)  # fmt: skip
mkldnn: Final = GlobalSwitches(
    f"{__name__}.mkldnn", True, enabled=True, deterministic=False
)
mha: Final = AttentionSwitches(f"{__name__}.mha", True, _fastpath=True)
mkl: Final = Switches(f"{__name__}.mkl", False)
openmp: Final = Switches(f"{__name__}.openmp", False)
quantized: Final = Switches(
    f"{__name__}.quantized", False, engine="none", supported_engines=["none"]
)
opt_einsum: Final = EinsumSwitches(f"{__name__}.opt_einsum", False)
__path__: list[str] = []

__all__ = [
    "cuda", "cudnn", "disable_global_flags", "flags_frozen", "mha", "mkl", "mkldnn",
    "mps", "openmp", "opt_einsum", "quantized",
]  # fmt: skip
