"""Memory that SYCL devices share with other libraries through DLPack."""

from __future__ import annotations

from typing import Any, Final

from dovetail.device_api import Borrowed, DLPack
from dovetail.device_api.capsules import Taken, lend
from dovetail.device_api.dlpack import request
from dovetail.errors import ExchangeError
from dovetail_xpu.memory import Block, Device, Stream, XpuArray, is_dense

_ONEAPI: Final = 14


class LentBlock(Block):
    """Memory of another library, which gets it back when the last array dies."""

    __slots__ = ("lender",)

    def __init__(self, stream: Stream, lender: Taken, memory: Any) -> None:
        self.stream = stream
        self.lender = lender
        self.memory = memory
        self.address = memory._pointer
        self.size = memory.nbytes
        self.events = None
        self.bucket = 0

    def __del__(self) -> None:
        if getattr(self, "memory", None) is not None:
            self.stream.device.wait()  # work on it may still be due


class _Span:
    """Bytes at an address, as dpctl asks for them."""

    def __init__(self, address: int, size: int, queue: Any) -> None:
        self.__sycl_usm_array_interface__ = {
            "data": (address, False), "shape": (size,), "strides": None,
            "typestr": "|u1", "version": 1, "syclobj": queue,
        }  # fmt: skip


class XpuExchange(DLPack):
    """Capsules over unified shared memory, with devices numbered as dpctl does.

    A part of a device has a number past all of those, which no other library knows.
    """

    present: list[Device]
    launcher: Any
    _copied: Any

    def dlpack_device(self, native: XpuArray) -> tuple[int, int]:
        return _ONEAPI, self._number(native.device)

    def _number(self, device: Device) -> int:
        import dpctl

        whole = dpctl.get_devices()
        sycl = device.sycl
        return whole.index(sycl) if sycl in whole else len(whole) + device.index

    def dlpack_index(self, device: tuple[int, int]) -> int | None:
        if device[0] != _ONEAPI:
            return None
        return next(
            (d.index for d in self.present if self._number(d) == device[1]), None
        )

    def dlpack_export(
        self, native: XpuArray, *, stream: Any, max_version: tuple[int, int] | None,
        copy: bool | None, readonly: bool,
    ) -> Any:  # fmt: skip
        source = self._copied(native) if copy else native
        ours = self.launcher.stream(native.device.index).queue
        if stream is not ours:
            ours.wait()  # right for each consumer, whichever queue it has
        return lend(
            source, source.address, self.dlpack_device(native), native.dtype,
            source.shape, source.strides, versioned=max_version is not None
            and max_version[0] >= 1, readonly=readonly and not copy,
        )  # fmt: skip

    def dlpack_import(self, source: Any, index: int, *, copy: bool | None) -> Borrowed:
        from dpctl import memory

        stream = self.launcher.stream(index)
        taken = Taken(request(source, copy=copy).capsule)
        if 0 in taken.shape:
            made = self.launcher.fresh(taken.shape, taken.dtype, index)
            return Borrowed(made, taken.dtype, taken.readonly)
        last = sum((n - 1) * s for n, s in zip(taken.shape, taken.strides, strict=True))
        size = (last + 1) * taken.dtype.itemsize
        try:
            span = memory.as_usm_memory(_Span(taken.address, size, stream.queue))
        except (TypeError, ValueError, RuntimeError) as error:
            raise ExchangeError(
                "from_dlpack", "capsule", was=f"memory that SYCL refuses: {error}",
                needed=f"unified shared memory of the default context of xpu:{index}",
                remedy="bring it over the host: from_dlpack(x, device=\"cpu\")",
            ) from error  # fmt: skip
        block = LentBlock(stream, taken, span)
        dense = is_dense(taken.shape, taken.strides)
        made = XpuArray(
            block, taken.dtype, taken.shape, taken.strides, block.address, dense
        )
        return Borrowed(made, taken.dtype, taken.readonly)
