"""A random program as it runs: its lines, its tensors, and what they must be."""

from __future__ import annotations

import gc
from typing import Any, Final

import numpy as np

from dovetail import errors
from dovetail.conformance.law import Wrong
from dovetail.conformance.programs.model import COLUMNS, Alias, Need
from dovetail.conformance.subject import Subject
from dovetail.device_api import Unwritten
from dovetail.device_api.capabilities import Pool
from dovetail.dtypes import Array
from dovetail.engine.tensor import Tensor

Namespace = dict[str, Any]

PREAMBLE: Final = """\
import gc
import unittest
import dovetail as dt
from dovetail.conformance.reference import install
install()
raises = unittest.TestCase().assertRaises
D = {device!r}
"""
_ROUND: Final = 512  # bytes to which allocators round up
# Where allocators and tapes may keep more than the tensors, a graph is alive.


class Program:
    """Lines of Python on a device, beside the model of what they do.

    Attributes:
        lines: what ran so far, below the preamble.
        live: the program's tensors by name.
        grad: what the gradients of all leaves must be, by column.
    """

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.lines: list[str] = []
        self.live: dict[str, Alias] = {}
        self.losses: dict[str, tuple[Array, tuple[Need, ...], tuple[Need, ...]]] = {}
        self.grad = np.zeros(COLUMNS)
        self.names: Namespace = {}
        exec(PREAMBLE.format(device=subject.device), self.names)
        self._count = 0
        self._pool = subject.backend.capability(Pool)
        if self._pool is not None:
            gc.collect()  # what dies later must not count
        self._before = self.live_bytes()

    # ---- running

    def fresh_name(self) -> str:
        self._count += 1
        return f"t{self._count}"

    def run(self, line: str) -> None:
        """Run a line, which must not fail."""
        self.lines.append(line)
        try:
            exec(line, self.names)
        except errors.FallbackError:
            raise
        except (errors.NotSupported, Unwritten):
            raise
        except Exception as error:
            text = f"`{line}` raised {type(error).__name__}: {error}"
            raise self.wrong(text, "") from error

    def refused(self, line: str, error: str) -> None:
        """Run a line that must raise that error."""
        kind: Any = eval(error, self.names)
        self.lines.append(f"with raises({error}):\n    {line}")
        try:
            exec(line, self.names)
        except kind:
            return
        except Exception as found:
            text = f"`{line}` raised {type(found).__name__}: {found}, needed {error}"
            raise self.wrong(text, "") from found
        raise self.wrong(f"`{line}` ran, needed {error}", "")

    def script(self) -> str:
        """The program, runnable on its own."""
        return PREAMBLE.format(device=self.subject.device) + "\n".join(self.lines)

    def wrong(self, text: str, last: str) -> Wrong:
        """What is wrong, and the program that shows it."""
        shown = "\n".join(part for part in (self.script(), last) if part)
        return Wrong(f"{text}; this program shows it:\n{shown}")

    # ---- what must hold after every line

    def check(self) -> None:
        """Compare every live tensor, every gradient and the live bytes."""
        for alias in self.live.values():
            self._check_tensor(alias)
        self._check_gradients()
        self._check_bytes()

    def _check_tensor(self, alias: Alias) -> None:
        name, tensor = alias.name, self.names[alias.name]
        want = alias.values
        got = self.subject.values(tensor)
        if got.shape != want.shape or got.dtype != want.dtype:
            found = f"{got.dtype.name}{list(got.shape)}"
            needed = f"{want.dtype.name}{list(want.shape)}"
            last = f"assert list({name}.shape) == {list(want.shape)}, {name}.shape"
            raise self.wrong(f"{name} is {found}, needed {needed}", last)
        if not np.array_equal(got, want):
            raise self.wrong(
                f"{name} is {got.tolist()}, needed {want.tolist()}",
                f"assert {name}.tolist() == {want.tolist()}, {name}",
            )
        if tensor._version != alias.counter.version:
            raise self.wrong(
                f"{name} has version {tensor._version}, needed {alias.counter.version}",
                f"assert {name}._version == {alias.counter.version}, {name}._version",
            )
        if tensor.requires_grad != alias.tracked:
            raise self.wrong(
                f"{name}.requires_grad is {tensor.requires_grad}",
                f"assert {name}.requires_grad is {alias.tracked}",
            )

    def _check_gradients(self) -> None:
        for name, first in (("A", 0), ("B", COLUMNS // 2)):
            if name not in self.names:
                continue
            leaf: Tensor = self.names[name]
            shape = tuple(leaf.shape)
            want = self.grad[first : first + COLUMNS // 2].reshape(shape)
            got = np.zeros(shape)
            if leaf.grad is not None:
                got = self.subject.values(leaf.grad)
            if not np.allclose(got, want, rtol=1e-5, atol=0):
                raise self.wrong(
                    f"{name}.grad is {got.tolist()}, needed {want.tolist()}",
                    f"assert {name}.grad.tolist() == {want.tolist()}, {name}.grad",
                )

    # ---- memory

    def live_bytes(self) -> int:
        """Bytes in use, 0 where the device does not count them."""
        return 0 if self._pool is None else self._pool.live_bytes(self.subject.index)

    def _check_bytes(self) -> None:
        if self._pool is None:
            return
        memories = {a.memory for a in self.live.values()}
        least = sum(m.nbytes for m in memories)
        used = self.live_bytes() - self._before
        if used < least:
            raise self.wrong(
                f"the pool counts {used} bytes more than before the program, whose "
                f"live tensors take {least}", "",
            )  # fmt: skip
        graph = self.losses or any(a.tracked for a in self.live.values())
        most = sum(-(-m.nbytes // _ROUND) * _ROUND for m in memories)
        if not graph and used > most and self._after_collection() > most:
            raise self.wrong(
                f"the pool counts {used} bytes more than before the program, whose "
                f"live tensors take {most} at most, and no graph is alive", "",
            )  # fmt: skip

    def _after_collection(self) -> int:
        gc.collect()
        return self.live_bytes() - self._before

    def end(self) -> None:
        """Drop everything; the live bytes are back where they were."""
        self.live.clear()
        self.losses.clear()
        for name in [n for n, v in self.names.items() if isinstance(v, Tensor)]:
            del self.names[name]
        self.subject.backend.synchronize(self.subject.index)
        if self.live_bytes() > self._before and self._after_collection() > 0:
            raise self.wrong(
                f"{self.live_bytes() - self._before} bytes are still in use when all "
                "tensors of the program are gone", "",
            )  # fmt: skip
