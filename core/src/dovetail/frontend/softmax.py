"""Softmax and its kin, in a dtype that is cast to first, under torch's names."""

from __future__ import annotations

from collections.abc import Callable

from dovetail.dtypes import DType
from dovetail.engine.public import public
from dovetail.engine.tensor import Tensor
from dovetail.ops import softmax as ops
from dovetail.ops.primitive import cast


def _axis(input: Tensor, dim: int | None) -> int:
    """The axis; torch's old default, by the number of axes, where none is given."""
    if dim is not None:
        return dim
    return 0 if input.ndim in (0, 1, 3) else 1


def _offer(
    name: str, apply: Callable[[Tensor, int], Tensor], half: str, doc: str
) -> Callable[..., Tensor]:
    """Offer a function along an axis in the package and in nn.functional.

    `half` is what it gives for two equal numbers.
    """

    def plain(input: Tensor, dim: int, dtype: DType | None = None) -> Tensor:
        if dtype is not None and input.dtype is not dtype:
            input = cast(input, dtype)
        return apply(input, dim)

    def functional(
        input: Tensor, dim: int | None = None, _stacklevel: int = 3,
        dtype: DType | None = None,
    ) -> Tensor:  # fmt: skip
        return plain(input, _axis(input, dim), dtype)

    shown = (
        f">>> torch.{name}(torch.zeros(1, 2), dim=1)\n    tensor([[{half}, {half}]])"
    )
    plain.__doc__ = f"{doc}; `dtype` is cast to first.\n\n    {shown}\n    "
    functional.__doc__ = f"""{doc}.

    Args:
        dim: the axis; None takes torch's old default, by the number of axes.
        dtype: what to cast `input` to first.

    {shown.replace("torch", "F", 1)}
    """
    public(f"F.{name}")(functional)
    public(name, out="same")(plain)
    return plain


_softmax = _offer(
    "softmax", ops.softmax, "0.5000", "Exponentials along `dim`, scaled to sum to one"
)
_offer(
    "log_softmax", ops.log_softmax, "-0.6931",
    "The logarithm of softmax, without its rounding",
)  # fmt: skip


@public("F.softmin")
def softmin(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3,
    dtype: DType | None = None,
) -> Tensor:  # fmt: skip
    """`softmax` of the negated input."""
    return _softmax(-input, _axis(input, dim), dtype)
