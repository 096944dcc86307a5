"""A script that shows a failure on its own: NumPy, dovetail, and the values."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Final

from dovetail.conformance.budget import Budget
from dovetail.conformance.example import Example
from dovetail.conformance.expressions import Unwritable, written
from dovetail.conformance.options import DECLARED
from dovetail.conformance.oracle import truth
from dovetail.conformance.setup import brought
from dovetail.conformance.verdicts import Check
from dovetail.dtypes import Array, by_name
from dovetail.engine.op import vocabulary

_SHOWN: Final = 1024  # elements of what is needed that are embedded
_NAMED: Final = ("array", "bits", "dtype", "inf", "kind", "nan", "packed")


def file_name(check: Check, device: str) -> str:
    """What the script of a check is called: no other device's has that name."""
    slug = re.sub(r"\W+", "_", device)
    return f"repro_{slug}_{check.op}_{check.dtype}_{check.law}.py".replace("-_", "")


def command(check: Check, device: str, folder: str) -> str:
    """The line that runs the script of a check."""
    return f"python {folder}/{file_name(check, device)}"


def script(
    check: Check, device: str, example: Example, message: str, budget: Budget
) -> str:
    """Python that runs one example of a check and exits with 1 if it fails.

    Args:
        budget: that of the run in which it failed.
    """
    whole = _WHOLE.format(budget=budget.name, seed=budget.seed)
    try:
        call = _call(check, example, budget) if example.case is not None else whole
    except Unwritable:
        call = whole  # the call holds what no text can
    return _SCRIPT.format(
        claim=_commented(f"{check.id} on {device}: {message}"),
        name=file_name(check, device), device=device, check=check.id, call=call,
        imports=_imports(call), setup=_setup(),
    )  # fmt: skip


def _imports(call: str) -> str:
    """The line that imports what the expressions of a call use."""
    names = [n for n in _NAMED if re.search(rf"(?<![\w'\"]){n}(?![\w'\"])", call)]
    return f"from dovetail.conformance.rerun import {', '.join(names)}\n" * bool(names)


def _setup() -> str:
    """The lines that import what brought the device, if anything did."""
    lines = [f"rerun.bring({n!r}, {folder!r})\n" for n, folder in brought().items()]
    return "".join(["\n", *lines]) if lines else ""


_SCRIPT: Final = """\
{claim}
#
# Run it:  python {name} [DEVICE]
# It exits with 1 while this fails, and with 0 once it passes.

import sys

from dovetail.conformance import rerun
{imports}{setup}
DEVICE = sys.argv[1] if len(sys.argv) > 1 else {device!r}
CHECK = {check!r}
{call}"""

# Laws that have no call, and calls that no text can hold: the check's own examples.
_WHOLE: Final = """
sys.exit(rerun.check(CHECK, DEVICE, budget={budget!r}, seed={seed}))
"""

_CALL: Final = """
args = [{args}]
kwargs = {{{kwargs}}}
{needed}
sys.exit(
    rerun.example(
        CHECK, DEVICE, args, kwargs, layout={layout!r}, values={values!r},
        size={size!r}, {options}needed=needed, seed={seed},
    )
)
"""


def _call(check: Check, example: Example, budget: Budget) -> str:
    case = example.case
    assert case is not None
    args = "".join(f"\n    {written(a)}," for a in case.args)
    options = "" if example.options == DECLARED else f"options={example.options!r}, "
    kwargs = "".join(f"\n    {k!r}: {written(v)}," for k, v in case.kwargs.items())
    return _CALL.format(
        args=args + "\n" if args else "", kwargs=kwargs + "\n" if kwargs else "",
        needed=_needed(check, example), layout=example.layout, values=example.values,
        size=example.size, options=options, seed=budget.seed,
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
