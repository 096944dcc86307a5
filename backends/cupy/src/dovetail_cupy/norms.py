"""Norms over dims that are no rows, such as those of a batch: sums, and one launch.

The statistics of 16-bit floats are float32.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from dovetail.codegen.formats import computed_in
from dovetail.codegen.program import Program, Step
from dovetail.codegen.values import Term
from dovetail.device_api import Kernel
from dovetail.dtypes import by_name
from dovetail_cupy.launch import Machine
from dovetail_cupy.pointwise import DevicePointwise
from dovetail_cupy.reductions import Reductions

Dims = tuple[int, ...]
Steps = list[tuple[str, tuple[Any, ...]]]

OPS: Final = ("normalise", "normalise_backward")


def behind(own: Kernel, machine: Machine) -> Kernel:
    """A kernel with this in front of it."""
    norms = Norms(machine)
    serve = norms.forward if own.op == "normalise" else norms.backward

    def bind(**attributes: Any) -> Callable[..., Any]:
        other = own.function(**attributes) if own.binds else own.function
        given = {} if own.binds else attributes
        dims = tuple(attributes["dims"])

        def kernel(*arrays: Any, **scalars: Any) -> Any:
            if _serves(arrays, dims):
                return serve(*arrays, dims, **scalars)
            return other(*arrays, **given, **scalars)

        return kernel

    return own._replace(function=bind, binds=True)


def _serves(arrays: tuple[Any, ...], dims: Dims) -> bool:
    """Whether there are elements, and scales are the same along what is reduced."""
    x = arrays[0]
    if not x.size or not dims:
        return False
    at = {d % x.ndim for d in dims}
    for a in arrays[1:]:
        if a is None or a.shape == x.shape:
            continue
        wide = (1,) * (x.ndim - a.ndim) + a.shape
        if any(wide[d] != 1 for d in at):
            return False
    return True


class Norms:
    """The kernels, with those of elements by the dtypes that they are for."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._reduce = Reductions(machine)
        self._known: dict[Any, DevicePointwise] = {}

    def forward(
        self, x: Any, weight: Any, bias: Any, dims: Dims, eps: float
    ) -> tuple[Any, Any, Any, Any]:
        """The result, the mean, the variance, and 1 over what x is divided by."""
        mean = self._mean([x], x, dims, _itself)
        var = self._mean([x, mean], x, dims, _squared)
        rstd = self._made("rstd", [var], var.dtype, [
            ("add", (0, 1)), ("sqrt", (2,)), ("reciprocal", (3,)),
        ], numbers=[eps])  # fmt: skip
        steps: Steps = [("sub", (0, 1)), ("mul", (-1, 2))]
        arrays = [x, mean, rstd]
        for op, a in (("mul", weight), ("add", bias)):
            if a is not None:
                steps.append((op, (-1, len(arrays))))
                arrays.append(a)
        return self._made("normalise", arrays, x.dtype, steps), mean, var, rstd

    def backward(
        self, ct: Any, x: Any, weight: Any, mean: Any, rstd: Any, dims: Dims
    ) -> Any:
        """The gradient of x."""
        given = [ct, x, mean, rstd]
        sent = self._mean([ct], ct, dims, _itself)
        along = self._mean(given, ct, dims, _along)
        steps: Steps = [
            ("sub", (1, 2)), ("mul", (-1, 3)), ("mul", (-1, 5)), ("add", (-1, 4)),
            ("sub", (0, -1)), ("mul", (-1, 3)),
        ]  # fmt: skip
        arrays = [*given, sent, along]
        if weight is not None:
            steps.append(("mul", (-1, 6)))
            arrays.append(weight)
        return self._made("normalise_backward", arrays, ct.dtype, steps)

    def _mean(
        self, arrays: list[Any], like: Any, dims: Dims, element: Callable[..., Term]
    ) -> Any:
        """The mean over dims, which stay, of what is made of elements."""
        shape = like.shape
        at = tuple(sorted({d % like.ndim for d in dims}))
        spread = [
            a if a.shape == shape else self._reduce.xp.broadcast_to(a, shape)
            for a in arrays
        ]
        wide = by_name(computed_in(like.dtype.name)).numpy
        count = math.prod([shape[d] for d in at])
        return self._reduce("add", spread, shape, at, True, wide, element, count)

    def _made(
        self, name: str, arrays: list[Any], result: Any, steps: Steps,
        numbers: list[float] | None = None,
    ) -> Any:  # fmt: skip
        """What steps make of elements; of operands, -1 is the step before.

        Args:
            numbers: inputs behind the arrays.
        """
        numbers = numbers or []
        key = name, len(steps), *[a.dtype for a in arrays]
        found = self._known.get(key)
        if found is None:
            stored = [a.dtype.name for a in arrays]
            program = _program(stored, len(numbers), steps)
            found = self._known[key] = DevicePointwise(
                self._machine, name, program, len(numbers), stored, result.name
            )
        return found(*arrays, scalars=numbers)


def _program(stored: list[str], numbers: int, steps: Steps) -> Program:
    wide = computed_in(stored[0])
    inputs = (wide,) * (len(stored) + numbers)
    made = []
    for at, (op, operands) in enumerate(steps, len(inputs)):
        given = tuple([at - 1 if x == -1 else x for x in operands])
        made.append(Step(op, given, wide))
    return Program(inputs, tuple(made), ((len(inputs) + len(made) - 1, wide),))


def _itself(x: Term) -> Term:
    return x


def _squared(x: Term, mean: Term) -> Term:
    return (x - mean) * (x - mean)


def _along(ct: Term, x: Term, mean: Term, rstd: Term) -> Term:
    return ct * ((x - mean) * rstd)
