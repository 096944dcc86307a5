"""Views of batched arrays: the same view of the tensor below, one dim further."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dovetail.engine.op import Op
from dovetail.func.batch_shapes import Batched, aligned
from dovetail.ops import view as views
from dovetail.ops.view_shapes import resolve_shape

View = Callable[[Any, dict[str, Any], Batched], Any]


def _viewing(take: View) -> Any:
    """A rule that takes the view below: of one row's shape where all are one."""

    def rule(backend: Any, op: Op, attrs: dict[str, Any]) -> Any:
        def kernel(a: Batched) -> Batched:
            if not a.batched:
                return Batched(op.call_with([a.inner], attrs), False)
            return Batched(take(a.inner, attrs, a), True)

        return kernel

    return rule


def _index(x: Any, attrs: dict[str, Any], a: Batched) -> Any:
    index = attrs["index"]
    entries = index if type(index) is tuple else (index,)
    return x[(slice(None), *entries)]


def _expand(x: Any, attrs: dict[str, Any], a: Batched) -> Any:
    size = attrs["size"]
    wide = aligned(a, len(size))
    kept = tuple([n if want == -1 else want for want, n in _sizes(size, a)])
    return views.expand(wide, (x._a.shape[0], *kept))


def _sizes(size: Any, a: Batched) -> list[tuple[int, int]]:
    own = (1,) * (len(size) - len(a.shape)) + tuple(a.shape)
    return list(zip(size, own, strict=True))


def _squeeze(x: Any, attrs: dict[str, Any], a: Batched) -> Any:
    ones = [d + 1 for d in attrs["dim"] if d < len(a.shape)]
    return views.squeeze(x, tuple(ones))


def _transpose(x: Any, attrs: dict[str, Any], a: Batched) -> Any:
    if not a.shape:
        return views.view(x, (-1,))
    return views.transpose(x, attrs["dim0"] + 1, attrs["dim1"] + 1)


def _t(x: Any, attrs: dict[str, Any], a: Batched) -> Any:
    if len(a.shape) < 2:
        return views.view(x, tuple(x._a.shape))
    return views.transpose(x, 1, 2)


def _diagonal(x: Any, attrs: dict[str, Any], a: Batched) -> Any:
    return x.diagonal(attrs["offset"], attrs["dim1"] + 1, attrs["dim2"] + 1)


def _view(x: Any, attrs: dict[str, Any], a: Batched) -> Any:
    shape = resolve_shape("view", tuple(a.shape), attrs["shape"])
    return views.view(x, (x._a.shape[0], *shape))


VIEWS: Final = {
    "basic_index": _viewing(_index),
    "diagonal": _viewing(_diagonal),
    "expand": _viewing(_expand),
    "permute": _viewing(
        lambda x, attrs, a: views.permute(x, (0, *[d + 1 for d in attrs["dims"]]))
    ),
    "squeeze": _viewing(_squeeze),
    "t": _viewing(_t),
    "transpose": _viewing(_transpose),
    "unfold": _viewing(
        lambda x, attrs, a: x.unfold(
            attrs["dimension"] + 1, attrs["size"], attrs["step"]
        )
    ),
    "unsqueeze": _viewing(lambda x, attrs, a: views.unsqueeze(x, attrs["dim"] + 1)),
    "view": _viewing(_view),
}
