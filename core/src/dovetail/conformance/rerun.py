"""What the scripts of `reproduce` call: one example under its law, on a device.

A backend that no package announces is brought by a module that is imported first: the
script names it, and so may the environment variable DOVETAIL_CONFORMANCE_SETUP.
"""

from __future__ import annotations

import base64
import sys
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy import inf, nan

from dovetail.conformance import laws  # noqa: F401 (registers them)
from dovetail.conformance.budget import budget as limits
from dovetail.conformance.example import PLAIN, Example, shown
from dovetail.conformance.judge import attempt, describe, judge, resolve
from dovetail.conformance.law import Trial
from dovetail.conformance.options import DECLARED
from dovetail.conformance.setup import bring, named
from dovetail.conformance.subject import Subject
from dovetail.conformance.verdicts import BAD, Check
from dovetail.dtypes import Array, by_name
from dovetail.dtypes import by_name as dtype
from dovetail.engine.cases import Case
from dovetail.engine.host import set_fallback_policy
from dovetail.engine.kinds import Kind

__all__ = ["array", "bits", "bring", "dtype", "inf", "kind", "nan", "packed"]


def array(values: Any, name: str) -> Array:
    """An array of these numbers."""
    return np.asarray(values, by_name(name).numpy)


def bits(name: str, shape: tuple[int, ...], text: str, seen: str = "") -> Array:
    """An array of these bytes, in hex; `seen` tells the reader what they are."""
    return _of(bytes.fromhex(text), name, shape)


def packed(name: str, shape: tuple[int, ...], text: str) -> Array:
    """An array of these bytes, compressed and in base64."""
    return _of(zlib.decompress(base64.b64decode(text)), name, shape)


def _of(raw: bytes, name: str, shape: tuple[int, ...]) -> Array:
    return np.frombuffer(bytearray(raw), by_name(name).numpy).reshape(shape)


def kind(device: str, name: str) -> Kind:
    """What a creation op makes: this dtype on that device."""
    return subject(device).kind(by_name(name))


def subject(device: str) -> Subject:
    """The device, once the module that brings it is imported."""
    for name in named():
        bring(name)
    return Subject(device)


def example(
    check: str,
    device: str,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    *,
    layout: str = PLAIN,
    values: str = "ordinary",
    size: str = "own",
    options: str = DECLARED,
    needed: Sequence[Array] = (),
    seed: int = 0,
) -> int:
    """Judge one call, print what it gave and what the law says; 1 if it fails.

    Args:
        needed: what the oracle says, for the reader.
        seed: that of the run in which it failed.
    """
    given = Example(Case(tuple(args), kwargs), layout, values, size, options)
    under, what = subject(device), Check.parse(check)
    law, op, lead = resolve(what)
    set_fallback_policy("error")
    print(f"{check} on {under.device}: {law.describes}")
    for name, value in [*enumerate(args), *kwargs.items()]:
        print(f"  argument {name}  {_seen(value)}")
    if needed:
        _show_results(under, op, given, lead)
        for at, y in enumerate(needed):
            print(f"  needed {at}    {_seen(y)}")
    return _tell(attempt(law, Trial(under, op, lead, given, what.seeded(seed))))


def check(check: str, device: str, budget: str = "standard", seed: int = 0) -> int:
    """Judge a whole check and print its failures; 1 if there are any."""
    under = subject(device)
    set_fallback_policy("error")
    verdict = judge(under, Check.parse(check), limits(budget, seed))
    print(f"{check} on {under.device}: {verdict.outcome} {verdict.note}")
    for failure in verdict.failures:
        print(f"  {failure.message}\n  example  {failure.example}")
    return int(verdict.outcome in BAD)


def _show_results(under: Subject, op: Any, given: Example, lead: Any) -> None:
    try:
        for at, y in enumerate(under.run(op, given, lead)):
            print(f"  got {at}       {_seen(under.values(y))}")
    except Exception as error:  # the law tells it below
        print(f"  got nothing: {type(error).__name__}")


def _tell(error: BaseException | None) -> int:
    if error is None:
        print("passes")
        return 0
    print(f"FAILS  {describe(error)}", file=sys.stderr)
    return 1


def _seen(value: Any) -> str:
    if not isinstance(value, np.ndarray):
        return shown(value)
    text = np.array2string(value, threshold=64, separator=", ", prefix=" " * 14)
    return f"{value.dtype.name}{list(value.shape)} {text}"
