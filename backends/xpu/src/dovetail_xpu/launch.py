"""Launches: kernels by what they compute, and the words that a launch passes."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from dovetail.codegen.ir import Kernel
from dovetail.device_api.capabilities import chosen_streams
from dovetail.dtypes import DType
from dovetail_xpu.compiler import kernel_of
from dovetail_xpu.faults import lost
from dovetail_xpu.memory import Device, Ints, Stream, XpuArray, fresh
from dovetail_xpu.text import NAME, text_of, word_count

THREADS: Final = 256
"""Threads of a block whose lanes have nothing to do with each other."""
_WORDS: Final = 1 << 64


class Launchable:
    """A kernel, built for each device that it is launched on.

    Args:
        form: gives its loops.
        threads: of a block.
    """

    def __init__(self, form: Callable[[], Kernel], threads: int = THREADS) -> None:
        self.form = form
        self.threads = threads
        self._built: dict[Device, Any] = {}
        self._text = ""
        self._pack: Callable[..., bytes] = struct.Struct("").pack
        self._argument: Callable[[bytes], Any] = bytes
        self._group = [threads]

    def source(self) -> tuple[str, int]:
        """The kernel as OpenCL C, and how many words it takes."""
        form = self.form()
        return text_of(form, self.threads), word_count(form)

    def on(self, device: Device) -> Any:
        """The kernel for a device."""
        found = self._built.get(device)
        if found is None:
            if not self._text:
                from dpctl import RawKernelArg

                self._argument = RawKernelArg
                self._text, count = self.source()
                self._pack = struct.Struct(f"{count}q").pack
            queue = device.stream.queue
            found = self._built[device] = kernel_of(queue, self._text, NAME)
        return found

    def launch(self, stream: Stream, words: Sequence[int], blocks: int) -> None:
        """Add a launch to a queue; `words` end with the first and the last item.

        Raises:
            DeviceLost: the queue takes no work.
        """
        kernel = self._built.get(stream.device)
        if kernel is None:
            kernel = self.on(stream.device)
        given = [self._argument(self._pack(*words))]
        threads = [blocks * self.threads]
        if stream.work is None:
            self._submit(kernel, given, threads, stream)
        else:
            stream.work.calls.append(partial(self._submit, kernel, given, threads))

    def _submit(
        self, kernel: Any, given: list[Any], threads: list[int], stream: Stream
    ) -> None:
        try:
            stream.queue.submit_async(kernel, given, threads, self._group)
        except Exception as error:
            if type(error).__name__ != "SyclKernelSubmitError":
                raise
            raise lost(stream.device.index, "kernel", error) from error


class Written(Launchable):
    """A kernel whose text is there already, by the names of its words."""

    def __init__(self, text: str, words: int, threads: int) -> None:
        super().__init__(_no_form, threads)
        self._given = text, words

    def source(self) -> tuple[str, int]:
        """The text, and how many words it takes."""
        return self._given


def _no_form() -> Kernel:
    raise AssertionError("a kernel that is written has a text")


class Launcher:
    """Where work of the caller goes: the stream that was chosen, or the default."""

    def __init__(self, backend: Any, devices: Sequence[Device]) -> None:
        self.backend = backend
        self.devices = devices

    def stream(self, index: int) -> Stream:
        """The stream of a device that the caller's work goes to."""
        chosen = chosen_streams.get()
        if not chosen:
            return self.devices[index].stream
        found = chosen.get((self.backend, index))
        return self.devices[index].stream if found is None else found

    def fresh(self, shape: Ints, dtype: DType, index: int) -> XpuArray:
        """A new array, in memory of the caller's stream."""
        return fresh(self.stream(index), shape, dtype)


def signed(word: int) -> int:
    """64 bits as a number with a sign."""
    word %= _WORDS
    return word - _WORDS if word >> 63 else word
