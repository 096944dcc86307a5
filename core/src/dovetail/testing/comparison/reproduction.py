"""A diverging call written down: its inputs, and a script that makes it again."""

from __future__ import annotations

import pprint
from pathlib import Path
from string import Template
from typing import Any, Final

import numpy as np

from dovetail.conformance.expressions import written
from dovetail.dtypes import Array, DType
from dovetail.engine.kinds import Kind
from dovetail.io.whole_files import replacing
from dovetail.testing.comparison.inputs import Inputs, Value
from dovetail.testing.comparison.values import widened


def save(
    folder: Path,
    inputs: Inputs,
    names: tuple[str, str],
    limits: list[Array],
    setup: str,
) -> Path:
    """Write `inputs.npz` and `reproduce.py` to a folder; returns its absolute path.

    Args:
        folder: made if it is not there; what is in it is replaced.
        inputs: the call.
        names: the two devices.
        limits: what each result may be off by; empty where values were not compared.
        setup: lines that the script starts with.
    """
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    # Values in formats that NumPy's files know: not bfloat16.
    saved = {f"x{n}": widened(v.host) for n, v in enumerate(inputs.values)}
    saved |= {f"allowed{n}": limit for n, limit in enumerate(limits)}
    with (
        replacing(folder / "inputs.npz", "reproduction") as draft,
        draft.open("wb") as file,
    ):
        np.savez(file, allow_pickle=False, **saved)
    with replacing(folder / "reproduce.py", "reproduction") as draft:
        draft.write_text(script(inputs, names, setup), encoding="utf-8")
    return folder


def script(inputs: Inputs, names: tuple[str, str], setup: str) -> str:
    """The text of a script that makes the call on both devices."""
    attrs = ", ".join(f"{k!r}: {_source(v)}" for k, v in inputs.attrs.items())
    layouts = [(v.dtype.name, _layout(v)) for v in inputs.values]
    return _SCRIPT.substitute(
        op=inputs.op.name, names=repr(names), device=names[0], reference=names[1],
        setup=f"{setup.strip()}\n" if setup.strip() else "",
        arguments=inputs.mapped(lambda n: f"x[{n}]", _source), attrs=attrs,
        inputs=pprint.pformat(layouts), written=repr(inputs.written()),
    )  # fmt: skip


def _layout(value: Value) -> tuple[int, ...] | None:
    """Strides that the script lays memory out by; reversed dims are left out."""
    strides = value.strides
    return None if strides is None or any(s < 0 for s in strides) else strides


def _source(value: Any) -> str:
    """An attribute as Python source, its dtypes and kinds those of a device."""
    return written(value.item() if isinstance(value, np.generic) else value, _on_device)


def _on_device(value: DType | Kind) -> str:
    if isinstance(value, Kind):
        return f"device.kind({value.dtype.name!r})"
    return f"device.dtype({value.name!r})"


_SCRIPT: Final = Template('''\
"""$op on $device and $reference: the call in which they part.

Run it: it exits with 1 while they do.
"""

import sys
from pathlib import Path

from dovetail.testing.comparison import rerun
${setup}
DEVICES = $names
# Of each input: dtype, and element strides where it is not contiguous.
INPUTS = $inputs
WRITTEN = $written  # inputs that the op writes


def call(x, device):
    return [$arguments], {$attrs}


def main():
    saved = Path(__file__).with_name("inputs.npz")
    return rerun.both("$op", DEVICES, INPUTS, WRITTEN, call, saved)


if __name__ == "__main__":
    sys.exit(main())
''')
