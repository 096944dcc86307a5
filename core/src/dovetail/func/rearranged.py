"""Dims in another order, split and joined, by einops' patterns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, NotSupported


def rearrange(
    tensor: Tensor | Sequence[Tensor], pattern: str, **axes_lengths: int
) -> Any:
    """The elements of a tensor in the shape that a pattern describes.

    The package einops reads the pattern; under `vmap`, it is that of one example.

    Args:
        tensor: any, or several of one shape, which are stacked first.
        pattern: einops' notation, names of dims before and after "->".
        axes_lengths: sizes of dims that the pattern splits off.

    Raises:
        NotSupported: einops is not installed.
        ArgumentError: the pattern is none, or does not fit the tensor.

    Examples:
        >>> x = torch.arange(6).reshape(2, 3)
        >>> torch.func.rearrange(x, "a b -> (b a)")
        tensor([0, 3, 1, 4, 2, 5])
    """
    try:
        import einops

        import dovetail.utils.einops  # noqa: F401  it makes einops know tensors
    except ImportError as error:
        raise NotSupported(
            "rearrange", "einops", was="not installed", needed="to read the pattern",
            remedy="pip install einops",
        ) from error  # fmt: skip
    given: Any = tensor if isinstance(tensor, Tensor) else list(tensor)
    try:
        return einops.rearrange(given, pattern, **axes_lengths)
    except einops.EinopsError as error:
        raise ArgumentError(
            "rearrange", "pattern", was=repr(pattern),
            needed=f"one that fits: {error}",
        ) from error  # fmt: skip
