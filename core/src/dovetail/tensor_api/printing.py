"""repr of tensors, as torch prints them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from dovetail.dtypes import FLOAT8, bfloat16, bool_, get_default_dtype, int64
from dovetail.engine.checks import values_of
from dovetail.engine.public import public
from dovetail.engine.tensor import Parameter, Tensor, extend
from dovetail.errors import AutogradError


class Format(NamedTuple):
    """How elements are shown, and the width by which torch counts those of a line."""

    show: Callable[[Any], str]
    width: int


class PrintOptions(NamedTuple):
    """How tensors are shown; torch's defaults."""

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


_NOT_NUMPYS: Final = FLOAT8 | {bfloat16}
_options: Final = [PrintOptions()]


@public("torch.set_printoptions", asks=False)
def set_printoptions(
    precision: int | None = None, threshold: float | None = None,
    edgeitems: int | None = None, linewidth: int | None = None,
    profile: str | None = None, sci_mode: bool | None = None,
) -> None:  # fmt: skip
    """Change how tensors are shown; `profile` is "default", "short" or "full".

    What is None stays as it is, but for `sci_mode`: the numbers then decide again.
    """
    chosen = {
        "default": PrintOptions(), "short": PrintOptions(precision=2, edgeitems=2),
        "full": PrintOptions(threshold=math.inf),
    }  # fmt: skip
    start = _options[0] if profile is None else chosen[profile]
    given = {
        "precision": precision, "threshold": threshold, "edgeitems": edgeitems,
        "linewidth": linewidth,
    }  # fmt: skip
    changes: Any = {k: v for k, v in given.items() if v is not None}
    _options[0] = start._replace(**changes, sci_mode=sci_mode)


def _formatter(values: np.ndarray[Any, Any], options: PrintOptions) -> Format:
    """One width and style for all shown values."""
    if values.dtype.kind == "c":
        return _complex_formatter(values, options)
    if values.dtype.kind not in "f":
        width = max((len(str(v)) for v in values.flat), default=1)
        return Format(lambda v: f"{v!s:>{width}}", width)
    style, dot = _float_style(values, options)
    finite = values[np.isfinite(values) & (values != 0)]
    # As in torch, only finite values that are not zero count for the width.
    width = max((len(style(v)) + len(dot) for v in finite.flat), default=1)

    def show(v: Any) -> str:
        text = style(v) + dot if np.isfinite(v) else f"{float(v)}"
        return f"{text:>{width}}"

    return Format(show, width)


def _float_style(
    values: np.ndarray[Any, Any], options: PrintOptions
) -> tuple[Callable[[Any], str], str]:
    """Whole numbers as `3.`, a wide range in scientific notation, else fixed."""
    finite = np.abs(values[np.isfinite(values) & (values != 0)].astype(np.float64))
    if not finite.size:
        return (lambda v: f"{v:.0f}"), "."
    low, high = float(finite.min()), float(finite.max())
    whole = bool((finite == np.floor(finite)).all())
    precision = options.precision
    scientific = high / low > 1000.0 or high > 1e8 or (low < 1e-4 and not whole)
    if options.sci_mode is not None:
        scientific = options.sci_mode
    if scientific:
        return (lambda v: f"{v:.{precision}e}"), ""
    if whole:
        return (lambda v: f"{v:.0f}"), "."
    return (lambda v: f"{v:.{precision}f}"), ""


def _complex_formatter(values: np.ndarray[Any, Any], options: PrintOptions) -> Format:
    real, imag = _formatter(values.real, options), _formatter(values.imag, options)

    def show(v: Any) -> str:
        second = imag.show(v.imag).lstrip()
        sign = "" if second.startswith("-") else "+"
        return f"{real.show(v.real)}{sign}{second}j"

    return Format(show, real.width + imag.width + 1)


def _shown(values: np.ndarray[Any, Any], options: PrintOptions) -> np.ndarray[Any, Any]:
    """The elements that appear: all, or the edges of a large tensor."""
    edge = options.edgeitems
    if not edge:
        return values[:0]
    for axis in range(values.ndim):
        if values.shape[axis] > 2 * edge:
            keep = [*range(edge), *range(-edge, 0)]
            values = values.take(keep, axis)
    return values


def _text(
    values: np.ndarray[Any, Any], style: Format, indent: int, summary: bool,
    options: PrintOptions,
) -> str:  # fmt: skip
    if values.ndim == 0:
        return style.show(values[()])
    edge = options.edgeitems
    if summary and not edge:
        return "[...]"
    cut = summary and values.shape[0] > 2 * edge
    if values.ndim == 1:
        items = [style.show(v) for v in (values[:edge] if cut else values)]
        if cut:
            items += [" ...", *(style.show(v) for v in values[-edge:])]
        return _row(items, style.width, indent, options.linewidth)
    rows: Sequence[Any] = [*values[:edge], *values[-edge:]] if cut else list(values)
    parts = [_text(v, style, indent + 1, summary, options) for v in rows]
    if cut:
        parts.insert(edge, "...")
    gap = "," + "\n" * (values.ndim - 1) + " " * (indent + 1)
    return "[" + gap.join(parts) + "]"


def _row(items: list[str], width: int, indent: int, linewidth: int) -> str:
    """Comma-separated values, broken at the line's end."""
    per_line = max(1, (linewidth - indent) // (width + 2))
    lines = [", ".join(items[i : i + per_line]) for i in range(0, len(items), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _values(x: Tensor) -> np.ndarray[Any, Any]:
    host = values_of(x, "print")
    return host.astype(np.float32) if x.dtype in _NOT_NUMPYS else host


def options() -> PrintOptions:
    """How tensors are shown now."""
    return _options[0]


def contents(x: Tensor, indent: int) -> str:
    """The elements of a tensor, as they are shown."""
    if x._kind.backend.rules_only:
        return "..."
    if not math.prod(x._a.shape):
        return "[]"
    values, how = _values(x), options()
    summary = values.size > how.threshold
    style = _formatter(_shown(values, how) if summary else values, how)
    return _text(values, style, indent, summary, how)


def describe(x: Tensor, prefix: str = "tensor(", given: object = None) -> str:
    """The text of a tensor: values, and what differs from the defaults.

    Args:
        given: what stands for the values.
    """
    body = contents(x, len(prefix)) if given is None else str(given)
    return joined(prefix + body, _suffixes(x), len(prefix))


def _suffixes(x: Tensor) -> list[str]:
    backend, default = x._kind.backend, get_default_dtype()
    empty = not math.prod(x._a.shape)
    found = [] if backend.type == "cpu" else [f"device='{x.device}'"]
    bare = (empty and x.ndim != 1) or (not empty and not options().edgeitems)
    if bare or backend.rules_only:
        found.append(f"size={tuple(x.shape)}")
    seen = () if empty or backend.rules_only else (default.complex, bool_, int64)
    if x.dtype is not default and x.dtype not in seen:
        found.append(f"dtype={x.dtype!r}")
    return found + graph_suffixes(x)


def graph_suffixes(x: Tensor) -> list[str]:
    """Where the tensor comes from, or that it is a leaf with a gradient."""
    try:
        node = x.grad_fn
    except AutogradError:  # of a view that may not be taken again
        return ["grad_fn=<Invalid>"]
    if node is not None:
        return [f"grad_fn=<{node.name()}>"]
    return ["requires_grad=True"] if x.requires_grad else []


def joined(
    text: str, suffixes: Sequence[str], indent: int, newline: bool = False
) -> str:
    """The text with suffixes, the first of them on a line of its own if asked."""
    length = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if newline or length + len(suffix) + 2 > options().linewidth:
            text += ",\n" + " " * indent + suffix
            length, newline = indent + len(suffix), False
        else:
            text += ", " + suffix
            length += len(suffix) + 2
    return text + ")"


def _repr(self: Tensor, *, tensor_contents: Any = None) -> str:
    backend: Any = self._kind.backend
    if backend.stands_for is not None:
        return str(backend.shown(self._a))
    cls = type(self)
    plain = cls in (Tensor, Parameter) or cls.__module__.startswith("dovetail.")
    text = describe(self, "tensor(" if plain else f"{cls.__name__}(", tensor_contents)
    return text if plain or not isinstance(self, Parameter) else f"Parameter({text})"


def _parameter_repr(self: Parameter) -> str:
    text = super(Parameter, self).__repr__()
    backend: Any = self._kind.backend
    return text if backend.stands_for is not None else f"Parameter containing:\n{text}"


extend(__repr__=_repr)
setattr(Parameter, "__repr__", _parameter_repr)  # noqa: B010  # mypy knows it as a method
