"""Which of its two ways `scaled_dot_product_attention` goes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import IntEnum
from typing import Final

from dovetail.errors import ArgumentError, ArgumentTypeError


class SDPBackend(IntEnum):
    """Ways to compute attention, by torch's names.

    MATH keeps the weights of all keys. FLASH_ATTENTION and EFFICIENT_ATTENTION are one
    way here: some keys at a time, in memory that is linear in the sequence.
    """

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


_IN_PIECES: Final = {SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION}
# Whether weights may be kept and whether keys may be taken in pieces; None for both.
chosen: Final[ContextVar[tuple[bool, bool] | None]] = ContextVar(
    "attention_choice", default=None
)


@contextmanager
def sdpa_kernel(
    backends: SDPBackend | Iterable[SDPBackend], set_priority: bool = False
) -> Iterator[None]:
    """Compute attention in these ways alone, within a `with`.

    Args:
        backends: one way or several.
        set_priority: for torch's sake; which of several is taken depends on sizes.

    Raises: ArgumentError, where attention is computed, if none of them is there.

    >>> q = torch.randn(1, 2, 4, 8)
    >>> with torch.nn.attention.sdpa_kernel(SDPBackend.MATH):
    ...     F.scaled_dot_product_attention(q, q, q).shape
    dovetail.Size([1, 2, 4, 8])
    """
    ways = {backends} if isinstance(backends, SDPBackend) else set(backends)
    for way in ways:
        if not isinstance(way, SDPBackend):
            raise ArgumentTypeError(
                "sdpa_kernel", "backends", was=repr(way), needed="SDPBackends"
            )
    token = chosen.set((SDPBackend.MATH in ways, bool(ways & _IN_PIECES)))
    try:
        yield
    finally:
        chosen.reset(token)


def keeps_weights(few: bool, dropout: bool) -> bool:
    """Whether a call keeps all weights, as what was chosen and its size have it.

    Raises: ArgumentError where no way that was chosen can.
    """
    now = chosen.get()
    if now is None:
        return few or dropout
    whole, pieces = now
    if whole and (few or dropout or not pieces):
        return True
    if pieces and not dropout:
        return False
    raise ArgumentError(
        "scaled_dot_product_attention", "kernel", was="none that sdpa_kernel allows",
        needed="SDPBackend.MATH" if dropout else "MATH or FLASH_ATTENTION",
    )  # fmt: skip
