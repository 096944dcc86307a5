"""Every generated kernel of the CPU, with what one call of it read and wrote.

Sample calls of all ops are run in a process of their own, in which kernels serve arrays
of every size, and each kernel notes its first call.
"""

from __future__ import annotations

import ctypes
import pickle
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.codegen.ir import Kernel
from dovetail.errors import DovetailError
from tests.support import child

CASES = 12  # of an op, in which its kernels are looked for
Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Memory:
    """The bytes that an array lies in, and where in them its first element is."""

    content: Array
    start: int


@dataclass(frozen=True)
class Recorded:
    """A kernel, and a call of it.

    Args:
        form: the kernel.
        before, after: the memory of its buffers; none where that is not known.
        places: which memory each buffer is in.
        words: its parameters.
        count: how many items there were.
        grain: how many of them made a chunk.
    """

    form: Kernel
    before: tuple[Memory, ...] = ()
    after: tuple[Memory, ...] = ()
    places: tuple[int, ...] = ()
    words: tuple[int, ...] = ()
    count: int = 0
    grain: int = 1


def recorded_kernels(folder: Path) -> list[Recorded]:
    """Each kernel that some sample call of some op on the CPU asks for."""
    found = folder / "kernels"
    root = Path(__file__).parents[2]
    child.python(
        "-m", __name__, found, path=[root], cwd=root, limit=300,
        DOVETAIL_KERNELS="1", DOVETAIL_KERNEL_CACHE="off",
    )  # fmt: skip
    kernels: list[Recorded] = pickle.loads(found.read_bytes())
    return kernels


class _Witness:
    """Notes kernels as they are written, made and called."""

    def __init__(self) -> None:
        from dovetail.codegen import eager, llvm_text
        from dovetail.codegen.runtime import kernels

        self.forms: dict[str, Kernel] = {}
        self.made: dict[Any, Kernel] = {}
        self.arrays: dict[int, Array] = {}
        self.found: dict[str, Recorded] = {}
        # Before other modules take these functions from there.
        self._render, self._address = llvm_text.render, eager.address
        self._kernel, self._run = kernels.kernel, kernels.Kernel.run
        llvm_text.render = eager.render = self.render  # type: ignore[assignment]
        eager.address = self.address  # type: ignore[misc, assignment]
        kernels.kernel = self.kernel  # type: ignore[assignment]
        witness = self

        def run(
            made: Any, arguments: int, count: int, *given: Any, **named: Any
        ) -> None:
            witness.run(made, arguments, count, *given, **named)

        kernels.Kernel.run = run  # type: ignore[method-assign, assignment]

    def render(self, form: Kernel, *given: Any) -> str:
        """The text of a kernel."""
        text = self._render(form, *given)
        self.forms[text] = form
        self.found.setdefault(str(form), Recorded(form))
        return text

    def address(self, array: Array) -> int:
        """Where an array begins."""
        place = int(self._address(array))
        self.arrays[place] = array
        return place

    def kernel(self, name: str, text: str | Callable[[], str], *key: str) -> Any:
        """The machine code of a kernel."""
        text = text if isinstance(text, str) else text()
        made = self._kernel(name, text, *key)
        if text in self.forms:
            self.made[made] = self.forms[text]
        return made

    def run(
        self, made: Any, arguments: int, count: int, grain: int, **named: Any
    ) -> None:
        """A call, which is noted if it is the kernel's first one."""
        form = self.made.get(made)
        known = form is None or self.found[str(form)].count
        if known or form is None or not count:
            self._run(made, arguments, count, grain, **named)
            return
        size = len(form.buffers) + len(form.parameters)
        words = list((ctypes.c_uint64 * size).from_address(arguments))
        addresses = words[: len(form.buffers)]
        places = list(dict.fromkeys(addresses))
        if not all(place in self.arrays for place in places):
            self._run(made, arguments, count, grain, **named)
            return
        before = tuple(map(self._memory, places))
        self._run(made, arguments, count, grain, **named)
        self.found[str(form)] = Recorded(
            form, before, tuple(map(self._memory, places)),
            tuple(map(places.index, addresses)), tuple(words[len(addresses) :]), count,
            grain,
        )  # fmt: skip

    def _memory(self, place: int) -> Memory:
        low, high = np.lib.array_utils.byte_bounds(self.arrays[place])
        content = np.frombuffer(
            (ctypes.c_char * (high - low)).from_address(low), np.uint8
        )
        return Memory(content.copy(), place - low)


def main() -> None:
    """Write the kernels to the file that is named."""
    witness = _Witness()
    for call in _calls():
        try:
            call()
        except DovetailError:  # ops that refuse a call need no kernel for it
            continue
    Path(sys.argv[1]).write_bytes(pickle.dumps(list(witness.found.values())))


def _calls() -> Iterator[Any]:
    """Sample calls of all ops in both formats."""
    import dovetail as dt
    from dovetail.conformance.example import Example
    from dovetail.conformance.subject import Subject
    from dovetail.engine.cases import cases_of
    from dovetail.engine.op import declared

    subject = Subject("cpu")
    for op in declared():
        if op.cases is None and not op.is_elementwise:
            continue  # it has no sample calls
        for dtype in (dt.float32, dt.float64, dt.int64):
            if dtype not in op.accepts:
                continue
            for case in islice(cases_of(op, dtype), CASES):
                args, kwargs = subject.arguments(op, Example(case), dtype)
                yield lambda op=op, a=args, k=kwargs: subject.call(op, a, k)


if __name__ == "__main__":
    # As the module that pickles know, not as `__main__`.
    from tests.support.recorded_kernels import main as recorded_main

    recorded_main()
