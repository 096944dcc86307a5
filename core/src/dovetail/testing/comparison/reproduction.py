"""A diverging call written down: its inputs, and a script that makes it again."""

from __future__ import annotations

import math
import pprint
from collections.abc import Iterable
from pathlib import Path
from string import Template
from typing import Any, Final

import numpy as np

from dovetail.dtypes import HALF, DType
from dovetail.engine.kinds import Kind
from dovetail.io.whole_files import replacing
from dovetail.testing.comparison.inputs import Inputs, Value, Where

Array = np.ndarray[Any, Any]


def save(
    folder: Path, inputs: Inputs, where: tuple[Where, Where],
    names: tuple[str, str], limits: list[Array], setup: str,
) -> Path:  # fmt: skip
    """Write `inputs.npz` and `reproduce.py` to a folder; returns its absolute path.

    Args:
        folder: made if it is not there; what is in it is replaced.
        inputs: the call.
        where: the two devices.
        names: their device strings.
        limits: what each result may be off by; empty where values were not compared.
        setup: lines that the script starts with.
    """
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    saved = {f"x{n}": _storable(v) for n, v in enumerate(inputs.values)}
    saved |= {f"allowed{n}": limit for n, limit in enumerate(limits)}
    with (
        replacing(folder / "inputs.npz", "reproduction") as draft,
        draft.open("wb") as file,
    ):
        np.savez(file, allow_pickle=False, **saved)
    with replacing(folder / "reproduce.py", "reproduction") as draft:
        draft.write_text(script(inputs, where, names, setup), encoding="utf-8")
    return folder


def _storable(value: Value) -> Array:
    """Values in a format that NumPy's files know; bfloat16 fits in float32."""
    return value.host.astype(np.float32) if value.dtype in HALF else value.host


def script(
    inputs: Inputs, where: tuple[Where, Where], names: tuple[str, str], setup: str
) -> str:
    """The text of a script that makes the call on both devices."""
    used = {v.dtype for v in inputs.values}
    for value in inputs.attrs.values():
        used |= {value.dtype} if isinstance(value, Kind) else set()
        used |= {value} if isinstance(value, DType) else set()
    instead = {
        name: _instead(place, used) for name, place in zip(names, where, strict=True)
    }
    arguments = inputs.mapped(lambda n: f"x[{n}]", source)
    attrs = "".join(f", {k}={source(v)}" for k, v in inputs.attrs.items())
    layouts = [(v.dtype.name, _layout(v)) for v in inputs.values]
    return _SCRIPT.substitute(
        op=inputs.op.name, names=repr(names), device=names[0], reference=names[1],
        setup=f"{setup.strip()}\n" if setup.strip() else "",
        call=(arguments + attrs).removeprefix(", "),
        inputs=pprint.pformat(layouts), instead=pprint.pformat(instead),
        written=repr(inputs.written()), mutates=bool(inputs.op.mutates),
    )  # fmt: skip


def _instead(where: Where, used: Iterable[DType]) -> dict[str, str]:
    """What a device has instead of the dtypes that it lacks."""
    held = {d.name: where.kind(d).dtype.name for d in used}
    return {name: other for name, other in sorted(held.items()) if other != name}


def _layout(value: Value) -> tuple[int, ...] | None:
    """Strides that the script lays memory out by; reversed dims are left out."""
    strides = value.strides
    return None if strides is None or any(s < 0 for s in strides) else strides


def source(value: Any) -> str:
    """An attribute as Python source."""
    if isinstance(value, np.generic):
        return source(value.item())
    if isinstance(value, Kind):
        return f"kind_of(device, held(device, {value.dtype.name!r}))"
    if isinstance(value, DType):
        return f"held(device, {value.name!r})"
    if isinstance(value, list | tuple):
        inner = ", ".join(map(source, value))
        if isinstance(value, list):
            return f"[{inner}]"
        return f"({inner},)" if value else "()"
    if isinstance(value, slice):
        return f"slice({source(value.start)}, {source(value.stop)}, " + (
            f"{source(value.step)})"
        )
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    return "..." if value is Ellipsis else repr(value)


_SCRIPT: Final = Template('''"""$op on $device and on $reference, with the inputs at which they part."""

import sys
from pathlib import Path

import numpy as np

import dovetail as dt
from dovetail.engine.kinds import kind_of, numpy_of
from dovetail.engine.op import vocabulary
${setup}
DEVICES = $names
with np.load(Path(__file__).with_name("inputs.npz")) as saved:
    SAVED = dict(saved)
# Of each input: dtype, and element strides where it is not contiguous.
INPUTS = $inputs
# What a device has instead of the dtypes that it lacks.
INSTEAD = $instead
WRITTEN = $written  # inputs that the op writes
MUTATES = $mutates


def held(device, name):
    return getattr(dt, INSTEAD[device].get(name, name))


def tensor(number, device):
    dtype, strides = INPUTS[number]
    values = SAVED[f"x{number}"]
    if strides is None or not values.size:
        return dt.tensor(values, dtype=held(device, dtype), device=device)
    reach = 1 + sum((n - 1) * s for n, s in zip(values.shape, strides))
    memory = np.zeros(reach, values.dtype)
    steps = tuple(s * memory.itemsize for s in strides)
    np.lib.stride_tricks.as_strided(memory, values.shape, steps)[...] = values
    flat = dt.tensor(memory, dtype=held(device, dtype), device=device)
    return flat.as_strided(values.shape, strides)


def host(y):
    values = numpy_of(y._kind, y._a)
    half = y.dtype in (dt.float16, dt.bfloat16)
    return values.astype(np.float32) if half else values


def run(device):
    x = [tensor(n, device) for n in range(len(INPUTS))]
    before = [host(v) for v in x]
    with dt.no_grad():
        made = vocabulary["$op"].function($call)
    found = made if isinstance(made, (list, tuple)) else [made]
    results = [host(y) for y in found if y is not None]
    results += [host(x[n]) for n in WRITTEN]
    if not MUTATES:
        for n, (v, b) in enumerate(zip(x, before)):
            if host(v).tobytes() != b.tobytes():
                raise RuntimeError(f"input {n} was changed")
    return results


def attempt(device):
    try:
        return run(device)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def error_of(got, want):
    if got.shape != want.shape:
        return np.array(np.inf)
    wide = np.complex128 if "c" in got.dtype.kind + want.dtype.kind else np.float64
    with np.errstate(all="ignore"):
        a, b = got.astype(wide), want.astype(wide)
        error = np.abs(a - b)
    error[(a == b) | (np.isnan(a) & np.isnan(b))] = 0
    return np.where(np.isnan(error), np.inf, error)


def main():
    got, want = map(attempt, DEVICES)
    for device, results in zip(DEVICES, (got, want)):
        print(f"--- $op on {device}")
        for y in [results] if isinstance(results, str) else results:
            print(y)
    if isinstance(got, str) or isinstance(want, str):
        return int(isinstance(got, str) != isinstance(want, str))
    differ = len(got) != len(want)
    for n, (a, b) in enumerate(zip(got, want)):
        error = error_of(a, b)
        allowed = SAVED[f"allowed{n}"] if f"allowed{n}" in SAVED else 0.0
        beyond = error > allowed
        differ = differ or bool(beyond.any())
        print(f"--- result {n}: largest error {error.max(initial=0):.6g}, "
              f"{int(beyond.sum())} of {error.size} elements beyond tolerance")
    return int(differ)


if __name__ == "__main__":
    sys.exit(main())
''')  # noqa: E501
