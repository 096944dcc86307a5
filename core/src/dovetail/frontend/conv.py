"""Convolutions: torch's signatures over `ops/conv.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from dovetail.engine.attributes import integer
from dovetail.engine.public import public
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ShapeError
from dovetail.ops import conv as ops
from dovetail.ops.primitive import add
from dovetail.ops.view import basic_index, place, reshape, squeeze, unsqueeze

Size = int | Iterable[int]


def each_axis(op: str, name: str, value: Any, n: int) -> tuple[int, ...]:
    """`value` for each of `n` axes: one number serves all of them."""
    if not isinstance(value, Iterable):
        return (integer(op, name, value, n),) * n
    sizes = tuple(integer(op, name, v, n) for v in value)
    if len(sizes) == 1:
        sizes *= n
    if len(sizes) != n:
        raise ArgumentError(op, name, was=sizes, needed=f"one number or {n}")
    return sizes


def with_batch(op: str, x: Tensor, n: int, call: Callable[[Tensor], Any]) -> Any:
    """`call` on a batch; where `x` has none, one is added and taken away again.

    Raises:
        ShapeError: another number of dims.
    """
    ndim = x.ndim
    if ndim == n + 2:
        return call(x)
    if ndim != n + 1:
        raise ShapeError(
            op, "input", was=f"{ndim}-dimensional, {tuple(x.shape)}",
            needed=f"{n + 2} dimensions (batched) or {n + 1} (unbatched)",
        )  # fmt: skip
    found = call(unsqueeze(x, 0))
    if isinstance(found, tuple):
        return tuple(squeeze(y, (0,)) for y in found)
    return squeeze(found, (0,))


def _check_kernel(op: str, w: Tensor, n: int) -> None:
    if w.ndim != n + 2:
        raise ShapeError(
            op, "weight", was=f"{w.ndim}-dimensional, {tuple(w.shape)}",
            needed=f"{n + 2} dimensions",
        )  # fmt: skip


@public("torch.convolution")
def convolution(
    input: Tensor, weight: Tensor, bias: Tensor | None, stride: Size, padding: Size,
    dilation: Size, transposed: bool = False, output_padding: Size = 0, groups: int = 1,
) -> Tensor:  # fmt: skip
    """Convolution, or its transpose, over as many axes as the weight has behind two."""
    op, n = "convolution", weight.ndim - 2
    if transposed:
        steps = (stride, padding, output_padding, groups, dilation)
        return _conv_transpose(op, n, input, weight, bias, *steps)
    return _conv(op, n, input, weight, bias, stride, padding, dilation, groups)


def _conv(
    op: str, n: int, x: Tensor, w: Tensor, b: Tensor | None, stride: Size,
    padding: Size | str, dilation: Size, groups: int,
) -> Tensor:  # fmt: skip
    _check_kernel(op, w, n)
    steps = each_axis(op, "stride", stride, n)
    spread = each_axis(op, "dilation", dilation, n)
    if isinstance(padding, str):
        x, pads = _named_padding(op, padding, x, tuple(w.shape[2:]), steps, spread)
    else:
        pads = each_axis(op, "padding", padding, n)
    found: Tensor = with_batch(
        op, x, n, lambda x: ops.convolution(x, w, b, steps, pads, spread, groups)
    )
    return found


def _named_padding(
    op: str, name: str, x: Tensor, kernel: tuple[int, ...], stride: tuple[int, ...],
    dilation: tuple[int, ...],
) -> tuple[Tensor, tuple[int, ...]]:  # fmt: skip
    """Input and symmetric padding that stand for "same" or "valid"."""
    if name == "valid":
        return x, (0,) * len(kernel)
    if name != "same":
        raise ArgumentError(op, "padding", was=repr(name), needed="'same' or 'valid'")
    if any(s != 1 for s in stride):
        raise ArgumentError(
            op, "padding", was=f"'same' with stride {stride}", needed="a stride of 1",
            remedy="give the padding as numbers",
        )  # fmt: skip
    total = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
    if any(t % 2 for t in total):  # one more at the end, for an even kernel
        lead = x.ndim - len(kernel)
        shape = tuple(x.shape)
        wide = [s + t % 2 for s, t in zip(shape[lead:], total, strict=True)]
        x = place(x, (*shape[:lead], *wide), tuple(slice(0, s) for s in shape))
    return x, tuple(t // 2 for t in total)


def _conv_transpose(
    op: str, n: int, x: Tensor, w: Tensor, b: Tensor | None, stride: Size,
    padding: Size, output_padding: Size, groups: int, dilation: Size,
) -> Tensor:  # fmt: skip
    _check_kernel(op, w, n)
    steps = each_axis(op, "stride", stride, n)
    pads = each_axis(op, "padding", padding, n)
    spread = each_axis(op, "dilation", dilation, n)
    extra = each_axis(op, "output_padding", output_padding, n)
    if any(
        not 0 <= e < max(s, d) for e, s, d in zip(extra, steps, spread, strict=True)
    ):
        raise ArgumentError(
            op, "output_padding", was=extra,
            needed=f"less than stride {steps} or dilation {spread}",
        )  # fmt: skip

    def call(x: Tensor) -> Tensor:
        whole = tuple(
            (s - 1) * t + d * (k - 1) + 1
            for s, t, d, k in zip(x.shape[2:], steps, spread, w.shape[2:], strict=True)
        )
        size = tuple(s - 2 * p + e for s, p, e in zip(whole, pads, extra, strict=True))
        y: Tensor
        if all(e < t for e, t in zip(extra, steps, strict=True)):
            y = ops.convolution_transpose(x, w, size, steps, pads, spread, groups)
        else:
            none = (0,) * n
            y = ops.convolution_transpose(x, w, whole, steps, none, spread, groups)
            y = _cut(y, pads, size)
        if b is not None:
            y = add(y, reshape(b, (-1, *(1 for _ in size))))
        return y

    found: Tensor = with_batch(op, x, n, call)
    return found


def _cut(y: Tensor, start: tuple[int, ...], size: tuple[int, ...]) -> Tensor:
    """`size` elements of the spatial axes from `start`, zeros where there are none."""
    shape = tuple(y.shape)
    kept = tuple(slice(a, a + s) for a, s in zip(start, size, strict=True))
    y = basic_index(y, (slice(None), slice(None), *kept))
    have = tuple(slice(0, s) for s in y.shape)
    return place(y, (*shape[:2], *size), have)


def publish_named(name: str, names: str, function: Callable[..., Any]) -> None:
    """Offer a function that was made for a number of axes, under its own name."""
    function.__name__ = function.__qualname__ = name
    public(names)(function)


def _offer_conv(n: int) -> None:
    op = f"conv{n}d"

    def conv(
        input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Size = 1,
        padding: Size | str = 0, dilation: Size = 1, groups: int = 1,
    ) -> Tensor:  # fmt: skip
        return _conv(op, n, input, weight, bias, stride, padding, dilation, groups)

    conv.__doc__ = f"""Cross-correlation over {n} spatial axes.

    Args:
        input: [batch, channels, *spatial], or without the batch.
        weight: [out, channels / groups, *kernel].
        bias: [out].
        stride, dilation: one number, or one for each axis.
        padding: the same, or "valid" for none, or "same" for as much as keeps sizes.

    Raises:
        ShapeError: sizes that do not fit.
        DTypeError: weight or bias of another dtype.

    Examples:
        >>> import dovetail
        >>> F = dovetail.nn.functional
        >>> x = dovetail.ones({", ".join(["1", "2", *"5" * n])})
        >>> F.conv{n}d(x, dovetail.ones({", ".join(["3", "2", *"3" * n])})).shape
        dovetail.Size([{", ".join(["1", "3", *"3" * n])}])
    """
    publish_named(op, f"torch.{op} F.{op}", conv)


def _offer_conv_transpose(n: int) -> None:
    op = f"conv_transpose{n}d"

    def conv(
        input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Size = 1,
        padding: Size = 0, output_padding: Size = 0, groups: int = 1,
        dilation: Size = 1,
    ) -> Tensor:  # fmt: skip
        steps = (stride, padding, output_padding, groups, dilation)
        return _conv_transpose(op, n, input, weight, bias, *steps)

    conv.__doc__ = f"""The adjoint of `conv{n}d` in its input.

    Args:
        input: [batch, channels, *places], or without the batch.
        weight: [channels, out / groups, *kernel].
        bias: [out].
        output_padding: added to one side of the result's sizes, of which several lead
            to the same places.
    """
    publish_named(op, f"torch.{op} F.{op}", conv)


for _n in (1, 2, 3):
    _offer_conv(_n)
    _offer_conv_transpose(_n)
