"""Mixed precision on the devices of one type."""

from __future__ import annotations

from functools import partial
from types import ModuleType
from typing import Any

from dovetail.amp import GradScaler, autocast, custom_bwd, custom_fwd
from dovetail.engine.missing_names import missing_name


class AmpModule(ModuleType):
    """Mixed precision for one device type: what `torch.cuda.amp` has."""

    def __init__(self, name: str, device_type: str) -> None:
        super().__init__(name, f"Mixed precision on {device_type!r}.")
        self.__path__: list[str] = []  # torch has modules below

        vars(self)["__getattr__"] = missing_name(name)

        class Autocast(autocast):
            """`amp.autocast` of the device type."""

            def __init__(
                self, enabled: bool = True, dtype: Any = None,
                cache_enabled: bool | None = True,
            ) -> None:  # fmt: skip
                super().__init__(device_type, dtype, enabled, cache_enabled)

        class Scaler(GradScaler):
            """`amp.GradScaler` of the device type."""

            def __init__(self, *args: Any, **options: Any) -> None:
                super().__init__(device_type, *args, **options)

        self.autocast, self.GradScaler = Autocast, Scaler
        self.custom_fwd = partial(custom_fwd, device_type=device_type)
        self.custom_bwd = partial(custom_bwd, device_type=device_type)
