"""Memory that CuPy devices share with other libraries through DLPack."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dovetail.device_api import Borrowed, DLPack
from dovetail.device_api.dlpack import request
from dovetail.dtypes import from_numpy
from dovetail_cupy.probe import Platform

_CUDA: Final = 2
_ROCM: Final = 10
# How DLPack names the default stream: CUDA's 0 is ambiguous there, ROCm's is not.
_DEFAULT_STREAM: Final = {_CUDA: 1, _ROCM: 0}


class CupyExchange(DLPack):
    """Capsules of CuPy's, which know the device and order streams."""

    platform: Platform
    xp: Any
    inside: Callable[..., Any]

    def dlpack_device(self, native: Any) -> tuple[int, int]:
        kind, index = native.__dlpack_device__()
        return int(kind), int(index)

    def dlpack_index(self, device: tuple[int, int]) -> int | None:
        return device[1] if device[0] == self._kind() else None

    def _kind(self) -> int:
        return _ROCM if self.platform.hip else _CUDA

    def dlpack_export(
        self, native: Any, *, stream: int | None, max_version: tuple[int, int] | None,
        copy: bool | None, readonly: bool,
    ) -> Any:  # fmt: skip
        if readonly:
            raise BufferError("CuPy's capsules do not say that memory is read-only")
        return self.inside(
            native.device.id, native.__dlpack__, stream=stream, max_version=max_version,
            copy=copy,
        )  # fmt: skip

    def dlpack_import(self, source: Any, index: int, *, copy: bool | None) -> Borrowed:
        ours = _DEFAULT_STREAM[self._kind()]
        capsule = request(source, copy=copy, stream=ours)
        native = self.inside(index, self.xp.from_dlpack, capsule)
        return Borrowed(native, from_numpy(native.dtype), False)
