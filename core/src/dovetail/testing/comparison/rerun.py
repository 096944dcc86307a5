"""What the scripts of `reproduction` call: one op call on two devices, side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dovetail.device_api.numpy_arrays import strided
from dovetail.dtypes import Array, DType, by_name
from dovetail.engine.kinds import Kind
from dovetail.engine.op import vocabulary
from dovetail.engine.tensor import Tensor
from dovetail.testing.comparison.inputs import Call, Where, host_of, results_of
from dovetail.testing.comparison.values import errors, widened

# Of one input: its dtype, and its element strides unless it is contiguous.
Layout = tuple[str, tuple[int, ...] | None]


@dataclass(frozen=True, slots=True)
class Device:
    """One of the two devices, as a script names dtypes and kinds on it."""

    where: Where

    def kind(self, name: str) -> Kind:
        """The kind of a dtype, or of what the device has instead."""
        return self.where.kind(by_name(name))

    def dtype(self, name: str) -> DType:
        """The dtype of that name, or what the device has instead."""
        return self.kind(name).dtype

    def tensor(self, values: Array, layout: Layout) -> Tensor:
        """A tensor of these values, laid out in memory as the input was."""
        name, strides = layout
        if strides is None or not values.size:
            return self.where.put(values, by_name(name))
        steps = zip(values.shape, strides, strict=True)
        memory = np.zeros(1 + sum((n - 1) * s for n, s in steps), values.dtype)
        by_bytes = tuple(s * memory.itemsize for s in strides)
        looked_at = strided(memory, values.shape, by_bytes)
        looked_at[...] = values
        whole: Any = self.where.put(memory, by_name(name))
        found: Tensor = whole.as_strided(values.shape, strides)
        return found


Arguments = Callable[[list[Tensor], Device], tuple[list[Any], dict[str, Any]]]


def both(
    op: str, devices: tuple[str, str], inputs: Sequence[Layout], written: Sequence[int],
    call: Arguments, saved: Path,
) -> int:  # fmt: skip
    """Make a call on both devices, and print what they give; 1 where they differ.

    Args:
        op: the op's name.
        devices: the one that was judged, and its reference.
        inputs: how each input was laid out.
        written: numbers of the inputs that the op writes.
        call: arguments and attributes, made of tensors on a device.
        saved: the file that holds the inputs, and what results may be off by.
    """
    with np.load(saved) as file:
        arrays = dict(file)
    found = []
    for name in devices:
        device = Device(Where.named(name))
        results = _attempt(op, device, inputs, written, call, arrays)
        print(f"--- {op} on {name}")
        for y in [results] if isinstance(results, str) else results:
            print(y)
        found.append(results)
    got, want = found
    if isinstance(got, str) or isinstance(want, str):
        return int(isinstance(got, str) != isinstance(want, str))
    return int(_differ(got, want, arrays))


def _attempt(
    op: str, device: Device, inputs: Sequence[Layout], written: Sequence[int],
    call: Arguments, arrays: dict[str, Array],
) -> list[Array] | str:  # fmt: skip
    """The results and what was written, or the error that was raised."""
    try:
        x = [device.tensor(arrays[f"x{n}"], known) for n, known in enumerate(inputs)]
        before = [host_of(v).tobytes() for v in x]
        args, attrs = call(x, device)
        made = Call(vocabulary[op], tuple(args), attrs, x).run()
        for n, (value, bits) in enumerate(zip(x, before, strict=True)):
            if not written and host_of(value).tobytes() != bits:
                raise RuntimeError(f"input {n} was changed")
        return [widened(host_of(y)) for y in (*results_of(made), *_at(x, written))]
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def _at(x: list[Tensor], places: Sequence[int]) -> list[Tensor]:
    return [x[n] for n in places]


def _differ(got: list[Array], want: list[Array], arrays: dict[str, Array]) -> bool:
    """Whether results differ by more than they may; tells by how much."""
    differ = len(got) != len(want)
    for n, (a, b) in enumerate(zip(got, want, strict=False)):
        with np.errstate(all="ignore"):
            error = errors(a, b) if a.shape == b.shape else np.array(np.inf)
        beyond = error > arrays.get(f"allowed{n}", 0.0)
        differ = differ or bool(beyond.any())
        print(
            f"--- result {n}: largest error {error.max(initial=0):.6g}, "
            f"{int(beyond.sum())} of {error.size} elements beyond tolerance"
        )
    return differ
