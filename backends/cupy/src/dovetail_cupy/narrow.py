"""bfloat16 on a library that stores it and computes little with it.

What only moves elements moves their bits. All else is computed in float32, and rounded
once: by a launch before and one behind, where no generated kernel does it in one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dovetail.device_api import Kernel
from dovetail.dtypes import bfloat16, float32

_NAME: Final = bfloat16.name
_BITS: Final = "uint16"
# That, libraries do; the others are given no array.
_OWN: Final = frozenset({
    "bitcast", "cast", "clone", "arange", "linspace", "normal", "random_mask",
    "random_words", "uniform",
})  # fmt: skip
_WRITING: Final = frozenset({"scatter_add_"})  # their first argument
_OF_ITS_FORMAT: Final = frozenset({"nextafter"})  # bodies know what that is
_MOVING: Final = frozenset({
    "basic_index", "cat", "embedding", "expand", "flip", "gather", "index_copy",
    "index_get", "index_put", "index_put_", "index_select",
    "masked_scatter", "masked_select", "permute", "pick", "place", "repeat", "roll",
    "scatter", "scatter_set_", "squeeze", "stack", "t", "take_along", "transpose",
    "tril", "triu", "unsqueeze",
})  # fmt: skip

Change = Callable[[Any], Any]


def narrowed(kernel: Kernel) -> list[Kernel]:
    """The kernel as it is for other dtypes, and what serves bfloat16 by way of it."""
    if kernel.op in _OF_ITS_FORMAT:
        return [kernel._replace(dtypes=kernel.dtypes - {bfloat16})]
    if bfloat16 not in kernel.dtypes or kernel.op in _OWN:
        return [kernel]
    there, back = (_bits, _as_bfloat16) if kernel.op in _MOVING else (_wide, _rounded)
    through = _writing if kernel.op in _WRITING else _returning

    def bind(**attributes: Any) -> Callable[..., Any]:
        return through(kernel.function(**attributes), there, back)

    function = bind if kernel.binds else through(kernel.function, there, back)
    return [
        kernel._replace(dtypes=kernel.dtypes - {bfloat16}),
        kernel._replace(
            function=function, dtypes=frozenset({bfloat16}), supports_out=False
        ),
    ]


def _returning(run: Callable[..., Any], there: Change, back: Change) -> Change:
    def call(*given: Any, **named: Any) -> Any:
        found = run(*map(there, given), **{k: there(v) for k, v in named.items()})
        return tuple(map(back, found)) if type(found) is tuple else back(found)

    return call


def _writing(run: Callable[..., Any], there: Change, back: Change) -> Change:
    """For what writes its first argument, and gives nothing."""

    def call(target: Any, *given: Any, **named: Any) -> None:
        wide = there(target)
        run(wide, *map(there, given), **{k: there(v) for k, v in named.items()})
        if wide is not target:
            target[...] = back(wide)

    return call


def _is_narrow(a: Any) -> bool:
    return getattr(getattr(a, "dtype", None), "name", "") == _NAME and hasattr(
        a, "view"
    )


def _wide(a: Any) -> Any:
    if isinstance(a, list | tuple):
        return type(a)(map(_wide, a))
    return a.astype(float32.name) if _is_narrow(a) else a


def _bits(a: Any) -> Any:
    if isinstance(a, list | tuple):
        return type(a)(map(_bits, a))
    return a.view(_BITS) if _is_narrow(a) else a


def _rounded(a: Any) -> Any:
    if getattr(a, "dtype", None) == float32.name:
        return a.astype(bfloat16.numpy)
    return a


def _as_bfloat16(a: Any) -> Any:
    if getattr(a, "dtype", None) == _BITS:
        return a.view(bfloat16.numpy)
    return a
