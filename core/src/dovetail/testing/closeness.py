"""`assert_close`: two values, or containers of them, are equal but for rounding."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

import dovetail as dt
from dovetail.dtypes import FLOAT8, HALF, Array, DType
from dovetail.errors import ArgumentError

# Relative and absolute, by dtype; others have to be equal.
_TOLERANCES: Final[dict[DType, tuple[float, float]]] = {
    dt.float16: (1e-3, 1e-5), dt.bfloat16: (1.6e-2, 1e-5), dt.float32: (1.3e-6, 1e-5),
    dt.float64: (1e-7, 1e-7), dt.complex64: (1.3e-6, 1e-5), dt.complex128: (1e-7, 1e-7),
}  # fmt: skip
_NUMBERS: Final = (bool, int, float, complex, np.generic)


@dataclass(frozen=True, slots=True)
class _How:
    rtol: float | None
    atol: float | None
    equal_nan: bool
    allow_subclasses: bool
    device: bool
    dtype: bool
    stride: bool


class _Differ(Exception):
    """Why two values differ, and where in the containers."""

    def __init__(self, words: str, place: tuple[Any, ...] = ()) -> None:
        super().__init__(words)
        self.words, self.place = words, place


def assert_close(
    actual: Any, expected: Any, *, allow_subclasses: bool = True,
    rtol: float | None = None, atol: float | None = None, equal_nan: bool = False,
    check_device: bool = True, check_dtype: bool = True, check_layout: bool = True,
    check_stride: bool = False, msg: str | Callable[[str], str] | None = None,
) -> None:  # fmt: skip
    """Raise unless |actual - expected| <= atol + rtol |expected| everywhere.

    Args:
        actual, expected: tensors, what becomes one, numbers, None, or sequences and
            mappings of these, of the same structure.
        rtol, atol: both or neither; by default what rounding in the dtype explains.
        equal_nan: NaN equals NaN.
        check_device, check_dtype, check_stride: these have to be the same, too.
        check_layout: of no effect: all tensors are strided.
        msg: the error's text, or a function of the one that it would have.

    Raises:
        AssertionError: they are not close. ArgumentError: one tolerance alone is given.

    Examples:
        >>> import dovetail as torch
        >>> torch.testing.assert_close(torch.ones(2) / 3 * 3, torch.ones(2))
    """
    if (rtol is None) != (atol is None):
        raise ArgumentError(
            "assert_close", "rtol and atol", was=(rtol, atol), needed="both, or neither"
        )
    how = _How(
        rtol, atol, equal_nan, allow_subclasses, check_device, check_dtype, check_stride
    )
    try:
        for first, second, place in _pairs(actual, expected, (), how):
            try:
                _compare(first, second, how)
            except _Differ as found:
                raise _Differ(found.words, place) from None
    except _Differ as found:
        words = found.words
        if found.place:
            path = "".join(f"[{key!r}]" for key in found.place)
            words += f"\n\nThe failure occurred for item {path}"
        if msg is not None:
            words = msg(words) if callable(msg) else msg
        raise AssertionError(words) from None


def assert_allclose(
    actual: Any, expected: Any, rtol: float | None = None, atol: float | None = None,
    equal_nan: bool = True, msg: str = "",
) -> None:  # fmt: skip
    """`assert_close` under its older name, for any dtypes and devices."""
    if rtol is None and atol is None:
        dtype = getattr(expected, "dtype", None) or dt.get_default_dtype()
        rtol, atol = _TOLERANCES.get(dtype, (0.0, 0.0))
    assert_close(
        _tensor(actual), _tensor(expected), rtol=rtol, atol=atol, equal_nan=equal_nan,
        check_device=False, check_dtype=False, msg=msg or None,
    )  # fmt: skip


def _tensor(value: Any) -> Any:
    return value if isinstance(value, dt.Tensor) else dt.as_tensor(value)


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _pairs(
    a: Any, b: Any, place: tuple[Any, ...], how: _How
) -> Iterator[tuple[Any, Any, tuple[Any, ...]]]:
    """The values of two containers of one structure, and their keys."""
    if _is_sequence(a) and _is_sequence(b):
        if len(a) != len(b):
            raise _Differ(
                f"The length of the sequences mismatch: {len(a)} != {len(b)}", place
            )
        for i, (one, other) in enumerate(zip(a, b, strict=True)):
            yield from _pairs(one, other, (*place, i), how)
    elif isinstance(a, Mapping) and isinstance(b, Mapping):
        if a.keys() != b.keys():
            missing, more = set(b) - set(a), set(a) - set(b)
            raise _Differ(
                f"The keys of the mappings do not match:\nMissing keys in the actual "
                f"mapping: {sorted(missing, key=str)}\nAdditional keys in the actual "
                f"mapping: {sorted(more, key=str)}", place,
            )  # fmt: skip
        for key in a:
            yield from _pairs(a[key], b[key], (*place, key), how)
    else:
        yield a, b, place


def _compare(a: Any, b: Any, how: _How) -> None:
    if a is None or b is None:
        if a is not b:
            raise _Differ(f"None mismatch: {a!r} is not {b!r}")
        return
    related = isinstance(a, type(b)) or isinstance(b, type(a))
    if not how.allow_subclasses and type(a) is not type(b):
        raise _Differ(f"{type(a)} and {type(b)} are not the same class")
    if isinstance(a, bool | np.bool_) and isinstance(b, bool | np.bool_):
        if a != b:
            raise _Differ(f"Booleans mismatch: {a} is not {b}")
        return
    if isinstance(a, _NUMBERS) and isinstance(b, _NUMBERS):
        _compare_numbers(a, b, how)
        return
    if not related:
        raise TypeError(
            "No comparison pair was able to handle inputs of type "
            f"{type(a)} and {type(b)}."
        )
    _compare_tensors(_as_tensor(a), _as_tensor(b), how)


def _as_tensor(value: Any) -> dt.Tensor:
    try:
        return dt.as_tensor(value)
    except Exception as error:
        raise TypeError(
            f"No comparison pair was able to handle inputs of type {type(value)}"
        ) from error


def _tolerances(dtypes: tuple[DType, ...], how: _How) -> tuple[float, float]:
    if how.rtol is not None and how.atol is not None:
        return float(how.rtol), float(how.atol)  # which may be tensors of one element
    both = [_TOLERANCES.get(d, (0.0, 0.0)) for d in dtypes]
    return max(r for r, _ in both), max(t for _, t in both)


def _compare_numbers(a: Any, b: Any, how: _How) -> None:
    kinds = (bool, int, float, complex)
    if how.dtype and {type(a), type(b)} <= set(kinds) and type(a) is not type(b):
        raise _Differ(f"The (d)types do not match: {type(a)} != {type(b)}.")
    of_type = {float: dt.float64, complex: dt.complex128}
    rtol, atol = _tolerances(tuple(of_type.get(type(v), dt.int64) for v in (a, b)), how)
    if not _close(np.asarray(a), np.asarray(b), rtol, atol, how.equal_nan).all():
        raise _Differ(_scalars(a, b, rtol, atol))


def _scalars(a: Any, b: Any, rtol: float, atol: float) -> str:
    """How much two numbers differ."""
    off = abs(a - b)
    relative = off / abs(b) if b else math.inf
    allowed = [f" (up to {t} allowed)" if rtol or atol else "" for t in (atol, rtol)]
    return (
        f"Scalars are not {'close' if rtol or atol else 'equal'}!\n\n"
        f"Expected {b} but got {a}.\nAbsolute difference: {off}{allowed[0]}\n"
        f"Relative difference: {relative}{allowed[1]}"
    )


def _compare_tensors(a: dt.Tensor, b: dt.Tensor, how: _How) -> None:
    facts = [
        ("shape", tuple(a.shape), tuple(b.shape), True),
        ("device", a.device, b.device, how.device),
        ("dtype", a.dtype, b.dtype, how.dtype),
        ("stride()", a.stride(), b.stride(), how.stride),
    ]
    for name, mine, theirs, asked in facts:
        if asked and mine != theirs:
            raise _Differ(
                f"The values for attribute '{name}' do not match: {mine} != {theirs}."
            )
    rtol, atol = _tolerances((a.dtype, b.dtype), how)
    first, second = (_values(t) for t in (a, b))
    good = _close(first, second, rtol, atol, how.equal_nan)
    if not good.all():
        if not good.ndim:
            raise _Differ(_scalars(first.item(), second.item(), rtol, atol))
        raise _Differ(_report(first, second, good, rtol, atol))


def _values(x: dt.Tensor) -> Array:
    if x.dtype in FLOAT8:
        x = x.float()
    values = x.detach().cpu().numpy()
    return values.astype(np.float32) if x.dtype in HALF else values


def _close(a: Array, b: Array, rtol: float, atol: float, equal_nan: bool) -> Array:
    if rtol == atol == 0 and not equal_nan:
        return np.asarray(a == b)
    with np.errstate(all="ignore"):
        wide = np.complex128 if "c" in (a.dtype.kind, b.dtype.kind) else np.float64
        a, b = a.astype(wide), b.astype(wide)
        near = (np.abs(a - b) <= atol + rtol * np.abs(b)) & np.isfinite(b)
    same = (a == b) | (np.isnan(a) & np.isnan(b) & equal_nan)
    return np.asarray(near | same)


def _report(a: Array, b: Array, good: Array, rtol: float, atol: float) -> str:
    """How many elements differ, and by how much at most."""
    bad, total = int(np.sum(~good)), good.size
    if {a.dtype.kind, b.dtype.kind} <= set("biu"):
        a, b = a.astype(np.int64), b.astype(np.int64)
    with np.errstate(all="ignore"):
        off = np.where(good, 0, np.abs(a - b))
        relative = np.where(good, 0, off / np.abs(b))
    lines = [
        f"Tensor-likes are not {'close' if rtol or atol else 'equal'}!", "",
        f"Mismatched elements: {bad} / {total} ({100 * bad / total:.1f}%)",
    ]  # fmt: skip
    for name, values, allowed in (
        ("absolute", off, atol),
        ("relative", relative, rtol),
    ):
        order = np.where(np.isnan(values), np.inf, values)
        at = np.unravel_index(int(np.argmax(order)), values.shape)
        where = f" at index {tuple(map(int, at))}" if values.ndim else ""
        up_to = f" (up to {allowed} allowed)" if rtol or atol else ""
        lines.append(f"Greatest {name} difference: {values[at].item()}{where}{up_to}")
    return "\n".join(lines)
