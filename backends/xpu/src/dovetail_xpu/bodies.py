"""Ops that are made of others, as one kernel: what their bodies compute an element."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any, Final

from dovetail.codegen import pointwise
from dovetail.codegen.declarations import vocabularies
from dovetail.codegen.formats import computed_in
from dovetail.codegen.program import Program
from dovetail.codegen.values import Term, parameter
from dovetail.device_api import Facts, KernelTable
from dovetail.dtypes import HALF, DType, bool_, by_name
from dovetail.errors import DovetailError, NotSupported
from dovetail_xpu.elementwise import Elementwise
from dovetail_xpu.launch import Launcher
from dovetail_xpu.memory import XpuArray
from dovetail_xpu.primitives import FLOATS

# The ops of tensors of one dtype that declarations do not count among `bodies`.
_MORE: Final = {
    "celu": 1, "gelu_backward": 2, "relu_backward": 2, "relu6": 1, "selu": 1,
    "sigmoid_backward": 2, "silu_backward": 2, "tanh_backward": 2,
    "masked_fill": 2, "masked_scale": 2, "nan_to_num": 1,
}  # fmt: skip
_MASKED: Final = frozenset({"masked_fill", "masked_scale"})  # the second is a mask
_OF_LIMITS: Final = frozenset({"nan_to_num"})  # of those of the format computed in
_REMEMBERED: Final = 64  # attributes of an op


def install(table: KernelTable, launcher: Launcher, claimed: frozenset[DType]) -> None:
    """Add a kernel of each body that can be one, where there is none yet."""
    for v in vocabularies:
        count = {op: inputs for op, (inputs, _) in v.bodies().items()} | _MORE
        for op, inputs in sorted(count.items()):
            names = v.takes(op)[1]
            for dtype in sorted(claimed & FLOATS, key=str):
                if table.select(op, dtype) or (op in _OF_LIMITS and dtype in HALF):
                    continue
                dtypes = [dtype] * inputs
                if op in _MASKED:
                    dtypes[1] = bool_
                bodies = Bodies(launcher, op, dtypes)
                table.add(
                    op, bodies.bind, dtypes=[dtype], binds=True, broadcasts=True,
                    checks=True, when=bodies.can_be, reads=("ndim", *names),
                )  # fmt: skip


class Bodies:
    """The kernels of one op in one dtype, by its attributes and numbers."""

    def __init__(self, launcher: Launcher, op: str, dtypes: Sequence[DType]) -> None:
        self.launcher = launcher
        self.op = op
        self.dtypes = dtypes
        self.names = vocabularies[0].takes(op)[1]
        self.numbers = vocabularies[0].takes(op)[2]
        self._made: dict[Any, Elementwise | None] = {}

    def can_be(self, facts: Facts) -> bool:
        """Whether the body is one that kernels know, all numbers being there."""
        attributes = {name: getattr(facts, name) for name in self.names}
        return self.of(attributes, self.numbers) is not None

    def bind(self, **attributes: Any) -> Callable[..., XpuArray]:
        """What serves calls with these attributes."""
        if not self.numbers:
            return self.of(attributes, ()) or self._unserved

        def kernel(*arrays: XpuArray, **numbers: Any) -> XpuArray:
            given = {name: x for name, x in numbers.items() if x is not None}
            absent = dict.fromkeys(set(self.numbers) - set(given))
            found = self.of(attributes | absent, tuple(given))
            assert found is not None
            words = [
                word(d, x) for d, x in zip(found.numbers, given.values(), strict=True)
            ]
            return found(*arrays, numbers=words)

        return kernel

    def _unserved(self, *arrays: XpuArray) -> XpuArray:
        """What is bound before `can_be` is asked, whose answer is no."""
        raise NotSupported(f"kernel of {self.op}", was="asked for", needed="a body")

    def of(
        self, attributes: dict[str, Any], numbers: tuple[str, ...]
    ) -> Elementwise | None:
        """The kernels for these attributes, and numbers of these names."""
        key = repr(attributes), numbers
        if key not in self._made:
            if len(self._made) >= _REMEMBERED:
                self._made.clear()
            self._made[key] = self._make(attributes, numbers)
        return self._made[key]

    def _make(
        self, attributes: dict[str, Any], numbers: tuple[str, ...]
    ) -> Elementwise | None:
        from dovetail.codegen.pointwise import KNOWN

        dtypes = [computed_in(d.name) for d in self.dtypes]
        try:
            program = vocabularies[0].program(
                self.op, dtypes, attributes, numbers, KNOWN
            )
            given = [parameter(f"x{i}", str(d)) for i, d in enumerate(program.inputs)]
            _result(program, given)
        except DovetailError:
            return None
        made = program.results[0][1]
        own = self.dtypes[0]
        result = own if made == computed_in(own.name) else by_name(made)
        scalars = [str(d) for d in program.inputs[len(dtypes) :]]
        return Elementwise(
            self.launcher, lambda *given: _result(program, given), self.dtypes,
            result, scalars,
        )  # fmt: skip


def _result(program: Program, given: Sequence[Term]) -> Term:
    (y,) = pointwise.results(program, given)
    return y


def word(dtype: str, number: Any) -> int:
    """A number as a word of a launch, in the dtype that it has in the kernel."""
    if dtype == "float32":
        number = by_name(dtype).numpy.type(number)  # beyond its range infinite
        return int(struct.unpack("<i", struct.pack("<f", number))[0])
    return int(struct.unpack("<q", struct.pack("<d", number))[0])
