"""The host fallback: visible, counted, and refused when the policy says so."""

from __future__ import annotations

import warnings
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from dovetail.device_api import registry
from dovetail.engine import modes
from dovetail.engine.kinds import Kind, kind_on
from dovetail.engine.op import Op, vocabulary
from dovetail.engine.scopes import within_body
from dovetail.engine.tensor import Tensor, wrap
from dovetail.errors import ArgumentError, FallbackError, FallbackWarning

if TYPE_CHECKING:
    from collections.abc import Sequence

POLICIES: Final = ("error", "warn", "allow")
_policy: list[str] = ["warn"]
_host_runs: Counter[tuple[str, str]] = Counter()
_warned: set[tuple[str, str]] = set()


def set_fallback_policy(policy: str) -> None:
    """What to do with an op that a device cannot run: `error`, `warn` or `allow`."""
    if type(policy) is not str or policy not in POLICIES:
        raise ArgumentError(
            "set_fallback_policy", "policy", was=repr(policy),
            needed=f"one of {', '.join(POLICIES)}",
        )  # fmt: skip
    _policy[0] = policy


def get_fallback_policy() -> str:
    """The policy in force."""
    return _policy[0]


def fallbacks() -> dict[tuple[str, str], int]:
    """How often each (op, device type) ran on the host since the start."""
    return dict(_host_runs)


def reset_fallbacks() -> None:
    """Start counting anew, and warn again."""
    _host_runs.clear()
    _warned.clear()


def fallback(
    op: Op,
    inputs: Sequence[Any],
    attrs: dict[str, Any],
    kind: Kind,
    kinds: Sequence[Kind],
) -> tuple[Tensor, ...]:
    """Run an op on the CPU with copies of the inputs, and copy the results back.

    Raises:
        FallbackError: the policy is `error`, or the device is the CPU itself.
    """
    _announce(op.name, kind)
    cpu = registry.load("cpu")
    local = tuple(_to_host(x) for x in inputs)
    if "kind" in attrs:
        attrs = attrs | {"kind": kind_on(cpu, 0, attrs["kind"].dtype)}
    with within_body(), modes.no_grad():
        result = vocabulary[op.name].call_with(local, attrs)
    results = result if isinstance(result, tuple) else (result,)
    if op.mutates:
        for target, source in zip(inputs, local, strict=True):
            _write_back(target, source)
    return tuple(map(_to_device, results, kinds))


def announce(name: str, kind: Kind) -> None:
    """Count a function that computes on the host, unless the host is the device.

    Raises:
        FallbackError: the policy is `error`.
    """
    if kind.backend.type != "cpu":
        _announce(name, kind)


def _announce(name: str, kind: Kind) -> None:
    device = kind.backend.type
    if device == "cpu" or _policy[0] == "error":
        raise FallbackError(
            name, "device",
            was=f"{kind.device} with {kind.dtype.name}, for which it has neither "
            "a kernel nor a body",
            needed="a kernel, or a fallback policy other than error",
            remedy='use dovetail.set_fallback_policy("warn") or register a kernel',
        )  # fmt: skip
    key = (name, device)
    _host_runs[key] += 1
    if _policy[0] == "warn" and key not in _warned:
        _warned.add(key)
        warnings.warn(
            f"{name} has no kernel on {kind.device} and runs on the host; "
            "dovetail.fallbacks() lists such ops",
            FallbackWarning,
            stacklevel=2,
        )


def _to_host(x: Any) -> Any:
    if isinstance(x, list):
        return [_to_host(v) for v in x]
    if x is None:
        return None
    cpu = registry.load("cpu")
    kind = x._kind
    local = kind_on(cpu, 0, kind.dtype)
    return wrap(cpu.copy_in(kind.backend.copy_out(x._a), 0), local)


def _to_device(y: Tensor, kind: Kind) -> Tensor:
    native = kind.backend.copy_in(y._kind.backend.copy_out(y._a), kind.index)
    return wrap(native, kind)


def _write_back(target: Any, source: Any) -> None:
    if isinstance(target, list):
        for one, other in zip(target, source, strict=True):
            _write_back(one, other)
    elif target is not None:
        kind = target._kind
        kind.backend.copy(target._a, _to_device(source, kind)._a)
