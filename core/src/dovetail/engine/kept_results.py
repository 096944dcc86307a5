"""Results of an op that are kept, and stand in for a call that is made again."""

from __future__ import annotations

from typing import Any, NamedTuple

from dovetail.engine.autocast import as_cast
from dovetail.engine.bodies import requires_grad
from dovetail.engine.execution import run
from dovetail.engine.kinds import Kind
from dovetail.engine.op import Op
from dovetail.engine.promotion import lead_of, prepare
from dovetail.engine.record import record
from dovetail.engine.scopes import anywhere, current
from dovetail.engine.storage import Storage
from dovetail.engine.tape import storage_of
from dovetail.engine.tape_of_views import View
from dovetail.engine.tensor import Tensor, wrap

Inputs = tuple[Any, ...]


class KeptResult(NamedTuple):
    """The memory of a result, off the tape, with the version that it had."""

    native: Any
    kind: Kind
    storage: Storage
    version: int

    @property
    def is_written(self) -> bool:
        """Whether the memory was written in place since."""
        return self.storage.version != self.version

    def tensor(self) -> Tensor:
        """A tensor over the memory that was kept."""
        t = wrap(self.native, self.kind)
        t._storage = self.storage
        return t


def may_be_kept(op: Op, outs: tuple[Tensor, ...]) -> bool:
    """Whether results have memory of their own: no views, and nothing written."""
    return not (op.view or op.mutates) and all(
        type(y._node) is not View and y._kind.backend.stands_for is None for y in outs
    )


def kept(y: Tensor) -> KeptResult:
    """A result as it is now."""
    storage = storage_of(y)
    return KeptResult(y._a, y._kind, storage, storage.version)


def is_differentiated_by_body(op: Op, inputs: Inputs) -> bool:
    """Whether the ops of the body are on the tape instead of the op."""
    if not op.by_body:
        return False
    flat = [v for x in inputs for v in (x if isinstance(x, list | tuple) else (x,))]
    return requires_grad(tuple([v for v in flat if isinstance(v, Tensor)]))


def by_watched_body(op: Op, inputs: Inputs, attrs: dict[str, Any]) -> tuple[Any, ...]:
    """All results of such an op, whose body's ops interposers see instead of it."""
    return run(op, op.arguments(inputs, attrs))


def as_if_run(
    op: Op, inputs: Inputs, attrs: dict[str, Any], outs: tuple[Tensor, ...]
) -> tuple[Tensor, ...]:
    """Put kept results on the tape as if the op had just run on these inputs.

    Args:
        inputs, attrs: as an interposer gets them.
        outs: all results, with those that only backward uses.
    """
    values = op.arguments(inputs, attrs)
    values = as_cast(op, values) or values
    ready = prepare(op, op.operands(values))
    lead = lead_of(op, ready)
    normal = op.normalise(values, 0 if lead is None else len(lead._a.shape))
    if op.vjp is not None:
        record(op, outs, ready, normal)
    scope = current() if anywhere[0] else None
    for recorder in () if scope is None else scope.recorders:
        recorder.call(op, ready, normal, outs)
    return outs
