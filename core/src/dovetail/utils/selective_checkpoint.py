"""Selective checkpoints: some results of the first run are kept for the second.

Both runs call the same ops in the same order, so that a result is found again by its
op and by how many calls of that op came before.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Final, NamedTuple, TypeAlias

from dovetail.engine.kept_results import (
    KeptResult,
    as_if_run,
    by_watched_body,
    is_differentiated_by_body,
    kept,
    may_be_kept,
)
from dovetail.engine.modes import no_grad
from dovetail.engine.op import Op
from dovetail.engine.scopes import interpose, unseen, without_interposers
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentTypeError, AutogradError
from dovetail.utils.checkpoint_policies import (
    NAME,
    OFFLOADS,
    SAVES,
    CheckpointPolicy,
    Policy,
    SelectiveCheckpointContext,
    public_function,
    saving,
)

Contexts: TypeAlias = tuple[AbstractContextManager[Any], AbstractContextManager[Any]]


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Policy | list[Any], allow_cache_entry_mutation: bool = False
) -> Contexts:
    """Contexts for the two runs of a checkpoint, by which some results are kept.

    An op whose results share memory with others (a view, a write in place) runs again
    whatever the policy says. Where an op's gradient is that of its body, as that of
    `layer_norm`, the policy is asked for the ops of the body, and told within which.

    Args:
        policy_fn_or_list: called as `policy(ctx, op, *args, **kwargs)` for each op of
            the first run, with the public function of the op, such as
            `dovetail.matmul` (if the package has none by the op's name, that of
            nn.functional), where torch gives `torch.ops.aten.mm.default`; or a list of
            such functions, whose results are kept.
        allow_cache_entry_mutation: let kept results be written in place; else that is
            an error in the second run.

    Raises:
        ArgumentTypeError: neither a function nor a list.
        ArgumentError: something in the list that is no op.

    Examples:
        >>> import functools
        >>> import dovetail as torch
        >>> from dovetail.utils.checkpoint import checkpoint
        >>> context_fn = functools.partial(
        ...     create_selective_checkpoint_contexts, [torch.matmul]
        ... )
        >>> x = torch.eye(2).requires_grad_()
        >>> y = checkpoint(
        ...     lambda x: (x @ x).exp(), x, use_reentrant=False, context_fn=context_fn
        ... )
        >>> y.sum().backward()
    """
    if isinstance(policy_fn_or_list, list):
        policy = saving(policy_fn_or_list)
    elif callable(policy_fn_or_list):
        policy = policy_fn_or_list
    else:
        raise ArgumentTypeError(
            NAME, "policy_fn_or_list", was=f"a {type(policy_fn_or_list).__name__}",
            needed="a function, or a list of ops",
        )  # fmt: skip
    store: _Store = {}
    first = interpose(_Keeping(policy, store))
    return first, _Second(store, allow_cache_entry_mutation)


class _Second(AbstractContextManager[None]):
    """The context of second runs, each of which counts anew."""

    def __init__(self, store: _Store, may_be_written: bool) -> None:
        self.made_of = store, may_be_written
        self.open: list[AbstractContextManager[None]] = []

    def __enter__(self) -> None:
        self.open.append(interpose(_HandingOut(*self.made_of)))
        self.open[-1].__enter__()

    def __exit__(self, *error: Any) -> None:
        self.open.pop().__exit__(*error)


class _Entry(NamedTuple):
    """The results of one call, and the device to which they go back."""

    results: tuple[KeptResult, ...]
    home: Any


# By op, what was kept of its calls: None runs again.
_Store: TypeAlias = dict[Op, list[_Entry | None]]
_CONSUMED: Final = _Entry((), None)


class _Keeping:
    """Asks the policy for each op of the first run, and keeps what it says."""

    def __init__(self, policy: Policy, store: _Store) -> None:
        self.policy = policy
        self.store = store
        self.within: tuple[Any, ...] = ()

    def __call__(
        self, op: Op, inputs: tuple[Any, ...], attrs: dict[str, Any], proceed: Any
    ) -> Any:
        if is_differentiated_by_body(op, inputs):
            outer, self.within = self.within, (*self.within, public_function(op))
            try:
                proceed.outs = by_watched_body(op, inputs, attrs)
            finally:
                self.within = outer
            return op.visible(proceed.outs)
        result = proceed(inputs, attrs)
        entry = None
        if may_be_kept(op, proceed.outs):
            policy = self._asked(op, inputs, attrs, result)
            if policy in SAVES:
                entry = _Entry(tuple(map(kept, proceed.outs)), None)
            elif policy in OFFLOADS:
                entry = _offloaded(proceed.outs)
        self.store.setdefault(op, []).append(entry)
        return result

    def _asked(
        self, op: Op, inputs: tuple[Any, ...], attrs: dict[str, Any], result: Any
    ) -> CheckpointPolicy:
        ctx = SelectiveCheckpointContext(is_recompute=False, op_output=result)
        ctx.within = self.within
        with unseen():
            found = self.policy(ctx, public_function(op), *inputs, **attrs)
        if isinstance(found, bool):
            kinds = CheckpointPolicy.PREFER_RECOMPUTE, CheckpointPolicy.MUST_SAVE
            return kinds[found]
        if not isinstance(found, CheckpointPolicy):
            raise ArgumentTypeError(
                NAME, f"what the policy gave for {op.name}", was=repr(found),
                needed="a CheckpointPolicy, True (save) or False (compute again)",
                remedy="return one in every case",
            )  # fmt: skip
        return found


def _offloaded(outs: tuple[Tensor, ...]) -> _Entry | None:
    with unseen(), no_grad():
        homes = [y.device for y in outs]
        return _Entry(tuple([kept(y.cpu()) for y in outs]), homes)


class _HandingOut:
    """Gives in the second run what was kept in the first."""

    def __init__(self, store: _Store, written: bool) -> None:
        self.store = store
        self.may_be_written = written
        self.counts: dict[Op, int] = {}

    def __call__(
        self, op: Op, inputs: tuple[Any, ...], attrs: dict[str, Any], proceed: Any
    ) -> Any:
        if is_differentiated_by_body(op, inputs):
            proceed.outs = by_watched_body(op, inputs, attrs)
            return op.visible(proceed.outs)
        at = self.counts.get(op, 0)
        self.counts[op] = at + 1
        calls = self.store.get(op, ())
        if at >= len(calls):
            raise _not_in_the_first(op, at, len(calls))
        entry = calls[at]
        if entry is None:
            return proceed(inputs, attrs)
        if entry is _CONSUMED:
            raise AutogradError(
                "selective checkpoint", f"the result of {op.name}",
                was="handed out already: this is trying to backward an extra time",
                needed="one backward pass through the checkpoint",
                remedy="do without a policy to run backward several times",
            )  # fmt: skip
        self._check_written(op, entry)
        self.store[op][at] = _CONSUMED
        with without_interposers():
            proceed.outs = as_if_run(op, inputs, attrs, _results(entry))
        return op.visible(proceed.outs)

    def _check_written(self, op: Op, entry: _Entry) -> None:
        if self.may_be_written or not any(r.is_written for r in entry.results):
            return
        raise AutogradError(
            "selective checkpoint", f"the kept result of {op.name}",
            was="not what the op gave: it has been mutated",
            needed="memory that nobody writes until backward",
            remedy="let the policy compute it again, or use the out-of-place form; "
            "allow_cache_entry_mutation=True takes it as it is",
        )  # fmt: skip


def _results(entry: _Entry) -> tuple[Tensor, ...]:
    found = tuple([r.tensor() for r in entry.results])
    if entry.home is None:
        return found
    with unseen(), no_grad():
        pairs = zip(found, entry.home, strict=True)
        return tuple([y.to(device=home) for y, home in pairs])


def _not_in_the_first(op: Op, at: int, count: int) -> AutogradError:
    return AutogradError(
        "selective checkpoint", f"call {at + 1} of {op.name} in the second run",
        was="one too many", needed=f"{count}, as in the first",
        remedy="let the function depend on nothing that changes in between",
    )  # fmt: skip
