"""`out=`: results written into tensors that the caller has."""

from __future__ import annotations

from typing import Any

from dovetail.engine.inplace import check_writable, commit, fitting
from dovetail.errors import ArgumentError, ArgumentTypeError


def write_out(name: str, out: Any, result: Any) -> Any:
    """Write results into `out`, a tensor or a tuple of them: all or, on error, none."""
    several = isinstance(result, tuple)
    if several and not isinstance(out, tuple | list):
        raise ArgumentTypeError(
            name, "out", was=f"a {type(out).__name__}",
            needed=f"a tuple of {len(result)} tensors",
        )  # fmt: skip
    targets, sources = (tuple(out), result) if several else ((out,), (result,))
    if len(targets) != len(sources):
        raise ArgumentError(
            name, "out", was=f"{len(targets)} tensors", needed=f"{len(sources)}"
        )
    fit = []
    for target, source in zip(targets, sources, strict=True):
        check_writable(f"{name}(out=)", target)
        fit.append(fitting(f"{name}(out=)", target, source))
    written = list(map(commit, targets, fit))
    if not several:
        return written[0]
    return type(result)(*written) if hasattr(result, "_fields") else tuple(written)
