"""In which order einsum contracts three operands or more: that of opt_einsum.

Without the package (the extra `dovetail[einsum]`) operands are contracted from left to
right, as they are where `torch.backends.opt_einsum.enabled` is False.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any, Final, NamedTuple

from dovetail.dtypes import Sizes

STRATEGIES: Final = ("auto", "greedy", "optimal", "auto-hq")
_REMEMBERED: Final = 512  # equations, each with the shapes of its operands


class Step(NamedTuple):
    """Operands that are contracted next, by their places, and how.

    The result comes after all others; the operands are there no more.
    """

    places: tuple[int, ...]
    equation: str


class Choice:
    """How the order is chosen, for the whole process.

    Attributes:
        enabled: whether it is looked for.
        strategy: how opt_einsum looks for it.
    """

    def __init__(self) -> None:
        self.enabled = True
        self.strategy = STRATEGIES[0]


choice: Final = Choice()


@cache
def is_available() -> bool:
    """Whether opt_einsum is installed."""
    from importlib.util import find_spec

    return find_spec("opt_einsum") is not None


def steps_for(equation: str, shapes: Sequence[Sizes]) -> tuple[Step, ...] | None:
    """The steps that take least work; None where operands go from left to right.

    The equation has to fit operands of these shapes.
    """
    if len(shapes) < 3 or not choice.enabled or not is_available():
        return None
    return _steps(equation, tuple(map(tuple, shapes)), choice.strategy)


@lru_cache(_REMEMBERED)
def _steps(
    equation: str, shapes: tuple[Sizes, ...], strategy: str
) -> tuple[Step, ...]:  # fmt: skip
    import opt_einsum

    found: Any = opt_einsum.contract_path(
        equation, *shapes, shapes=True, optimize=strategy
    )[1]
    return tuple(Step(tuple(each[0]), each[2]) for each in found.contraction_list)
