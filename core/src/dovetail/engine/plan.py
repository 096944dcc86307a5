"""What is known of a call once its kinds and attributes are: a kernel, bound."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from dovetail.engine.kinds import Kind


class Unserved:
    """What a plan gives where no kernel's condition holds."""


UNSERVED: Final = Unserved()


class Plan:
    """How an op runs for one set of kinds and attributes.

    Attributes:
        native: the kernel on natives and scalars, with checks and layouts that it
            leaves to core; gives `UNSERVED` where it cannot serve. None without one.
        kinds: of the results.
        looks: the kernel looks itself for values that the op refuses, if it does.
        owner: the plug-in that the kernel comes from; several where one is chosen.
        into: the kernel that takes `out=`, an array like its first operand; None
            where there is none, or where the result has another kind.
    """

    __slots__ = ("into", "kinds", "looks", "native", "owner")

    def __init__(
        self, native: Callable[..., Any] | None, kinds: tuple[Kind, ...], looks: bool,
        owner: str,
    ) -> None:  # fmt: skip
        self.native = native
        self.kinds = kinds
        self.looks = looks
        self.owner = owner
        self.into: Callable[..., Any] | None = None
