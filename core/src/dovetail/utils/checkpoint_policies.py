"""Policies of selective checkpoints: which ops' results are kept."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from dovetail.engine.op import Op, vocabulary
from dovetail.engine.public import NAMESPACES
from dovetail.errors import ArgumentError

NAME: Final = "create_selective_checkpoint_contexts"


class SelectiveCheckpointContext:
    """What a policy is told beside the call.

    Attributes:
        is_recompute: False, for policies are asked in the first run alone.
        op_output: what the op gave.
        within: the ops of whose bodies it is a part, the outermost first.
    """

    def __init__(self, *, is_recompute: bool, op_output: Any = None) -> None:
        self.is_recompute = is_recompute
        self.op_output = op_output
        self.within: tuple[Any, ...] = ()


class CheckpointPolicy(enum.Enum):
    """What becomes of the results of an op: kept, kept on the CPU, or computed again.

    MUST and PREFER mean the same where no compiler decides otherwise.
    """

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


Policy: TypeAlias = Callable[..., CheckpointPolicy | bool]
SAVES: Final = (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE)
OFFLOADS: Final = (
    CheckpointPolicy.MUST_CPU_OFFLOAD,
    CheckpointPolicy.PREFER_CPU_OFFLOAD,
)


def public_function(op: Op) -> Any:
    """The function by which users know an op, else the op's own."""
    for space in ("torch", "F"):
        found = NAMESPACES[space].get(op.name)
        if found is not None:
            return found
    return op.function


def _op_of(function: Any) -> Op:
    """The op that a function is.

    Raises: ArgumentError for what is none, or made of several.
    """
    found = getattr(function, "op", None)
    if isinstance(found, Op):
        return found
    name = getattr(function, "__name__", "")
    named = vocabulary.get(name)
    spaces: Sequence[dict[str, Any]] = list(NAMESPACES.values())
    if named is not None and any(s.get(name) is function for s in spaces):
        return named
    raise ArgumentError(
        NAME, "an op of the list", was=repr(function),
        needed="functions that are one op each, such as dovetail.matmul",
        remedy="a policy function that prints its `op` shows which ops run",
    )  # fmt: skip


def saving(listed: list[Any]) -> Policy:
    """The policy that keeps the results of the ops in a list.

    Raises: ArgumentError for what is no op.
    """
    functions = {public_function(_op_of(f)) for f in listed}

    def policy(
        ctx: SelectiveCheckpointContext, op: Any, *args: Any, **kwargs: Any
    ) -> CheckpointPolicy:
        saves = not functions.isdisjoint((op, *ctx.within))
        return (
            CheckpointPolicy.MUST_SAVE if saves else CheckpointPolicy.PREFER_RECOMPUTE
        )

    return policy
