"""A script that shows a failure on its own: NumPy, dovetail, and the values.

Arrays are written so that they come back bit for bit: as numbers where these say it
all, else as their bytes.
"""

from __future__ import annotations

import base64
import re
import zlib
from contextlib import suppress
from typing import Any, Final

import numpy as np

from dovetail.conformance.example import Example
from dovetail.conformance.oracle import truth
from dovetail.conformance.verdicts import Check
from dovetail.dtypes import DType, by_name, from_numpy
from dovetail.engine.kinds import Kind
from dovetail.engine.op import vocabulary

Array = np.ndarray[Any, Any]
_LITERAL: Final = 64  # elements that a person may still want to read
_SHOWN: Final = 1024  # elements of what is needed that are embedded
_NAMED: Final = ("array", "bits", "dtype", "inf", "kind", "nan", "packed")
_NAMES: Final = {"nan": np.nan, "inf": np.inf, "nanj": complex(0, np.nan)}


def file_name(check: Check) -> str:
    """What the script of a check is called."""
    return f"repro_{check.op}_{check.dtype}_{check.law}.py".replace("-_", "")


def script(check: Check, device: str, example: Example, message: str) -> str:
    """Python that runs one example of a check and exits with 1 if it fails."""
    try:
        call = _call(check, example) if example.case is not None else _WHOLE
    except _Unwritable:
        call = _WHOLE  # the call holds what no text can
    return _SCRIPT.format(
        claim=_commented(f"{check.id} on {device}: {message}"),
        name=file_name(check), device=device, check=check.id, call=call,
        imports=_imports(call),
    )  # fmt: skip


def _imports(call: str) -> str:
    """The line that imports what the expressions of a call use."""
    names = [n for n in _NAMED if re.search(rf"(?<![\w'\"]){n}(?![\w'\"])", call)]
    return f"from dovetail.conformance.rerun import {', '.join(names)}\n" * bool(names)


class _Unwritable(Exception):
    """A value that no Python expression gives."""


_SCRIPT: Final = """\
{claim}
#
# Run it:  python {name} [DEVICE]
# It exits with 1 while this fails, and with 0 once it passes.

import sys

from dovetail.conformance import rerun
{imports}
DEVICE = sys.argv[1] if len(sys.argv) > 1 else {device!r}
CHECK = {check!r}
{call}"""

# Laws that have no call, and calls that no text can hold: the check's own examples.
_WHOLE: Final = """
sys.exit(rerun.check(CHECK, DEVICE))
"""

_CALL: Final = """
args = [{args}]
kwargs = {{{kwargs}}}
{needed}
sys.exit(
    rerun.example(
        CHECK, DEVICE, args, kwargs, layout={layout!r}, values={values!r},
        size={size!r}, needed=needed,
    )
)
"""


def _call(check: Check, example: Example) -> str:
    case = example.case
    assert case is not None
    args = "".join(f"\n    {written(a)}," for a in case.args)
    kwargs = "".join(f"\n    {k!r}: {written(v)}," for k, v in case.kwargs.items())
    return _CALL.format(
        args=args + "\n" if args else "", kwargs=kwargs + "\n" if kwargs else "",
        needed=_needed(check, example), layout=example.layout, values=example.values,
        size=example.size,
    )  # fmt: skip


def _needed(check: Check, example: Example) -> str:
    """The oracle's answer, where the law asked for one and it is small."""
    found: list[Array] = []
    if check.law == "forward":
        with suppress(Exception):  # the oracle's own refusal is told elsewhere
            found = truth(vocabulary[check.op], example, by_name(check.dtype))
    if not found or sum(y.size for y in found) > _SHOWN:
        return "needed = []"
    rows = "".join(f"\n    {written(y)}," for y in found)
    return f"needed = [  # in exact arithmetic, before rounding{rows}\n]"


def _commented(text: str) -> str:
    return "\n".join(f"# {line}".rstrip() for line in text.splitlines() or [""])


def written(value: Any) -> str:
    """A Python expression for an argument; see the names in `rerun`."""
    if isinstance(value, np.ndarray):
        return _array(value)
    if isinstance(value, np.generic):
        return f"{_array(np.asarray(value))}[()]"
    if isinstance(value, DType):
        return f"dtype({value.name!r})"
    if isinstance(value, Kind):
        return f"kind(DEVICE, {value.dtype.name!r})"
    if isinstance(value, list):
        return f"[{', '.join(map(written, value))}]"
    if isinstance(value, tuple):
        return f"({''.join(f'{written(v)}, ' for v in value).rstrip()})"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{k!r}: {written(v)}' for k, v in value.items())}}}"
    if isinstance(value, slice):
        parts = value.start, value.stop, value.step
        return f"slice({', '.join(map(written, parts))})"
    if value is Ellipsis:
        return "..."
    return _plain(value)


def _plain(value: Any) -> str:
    if isinstance(value, float):
        text = repr(float(value))
        return text if text.lstrip("-")[0].isdigit() else f'float("{text}")'
    if isinstance(value, complex):
        return f"complex({_plain(value.real)}, {_plain(value.imag)})"
    if value is None or isinstance(value, bool | int | str | bytes):
        return repr(value)
    raise _Unwritable(type(value).__name__)


def _array(a: Array) -> str:
    """An expression for an array: numbers, else bytes in hex, else packed."""
    dtype = from_numpy(a.dtype).name
    shape = tuple(int(n) for n in a.shape)
    if a.size <= _LITERAL:
        plain = _literal(a, dtype)
        if plain:
            return plain
        seen = " ".join(map(str, a.reshape(-1)[:8]))
        return f"bits({dtype!r}, {shape}, {a.tobytes().hex()!r}, {seen!r})"
    packed = base64.b64encode(zlib.compress(a.tobytes(), 9)).decode()
    return f"packed({dtype!r}, {shape}, {packed!r})"


def _literal(a: Array, dtype: str) -> str:
    """The numbers, if they say all of it: not of a NaN's payload, nor if empty."""
    if not a.size and a.shape != (0,):
        return ""
    values = a.astype(np.float64) if dtype == "bfloat16" else a
    text = repr(values.tolist())
    with np.errstate(all="ignore"):
        again = np.asarray(eval(text, dict(_NAMES)), a.dtype)  # our own text
    same = again.shape == a.shape and again.tobytes() == a.tobytes()
    return f"array({text}, {dtype!r})" if same else ""
