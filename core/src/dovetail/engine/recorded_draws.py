"""Random numbers of graphs: drawn anew before each launch, into memory that it reads.

A graph does the same work each time, with the numbers that it was recorded with. So
what is drawn while one is recorded is no part of it. Before each launch the host draws
as a call would, which advances the generator, and copies that to where the graph reads.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import copy_context
from types import MappingProxyType

from dovetail.device_api.capabilities import chosen_streams
from dovetail.device_api.graphs import Recorded, recording
from dovetail.engine.kinds import Kind
from dovetail.engine.scopes import unseen
from dovetail.engine.tensor import Tensor, wrap


def recorder(kind: Kind) -> Recorded | None:
    """The graph that this context records on the device of a kind."""
    found = recording.get()
    if found is None or found.backend is not kind.backend or found.index != kind.index:
        return None
    return found


def before_launches(
    graph: Recorded, like: Tensor, draw: Callable[[], Tensor], kind: Kind
) -> Tensor:
    """A tensor of the graph's, with what `draw` gives from each launch on.

    Args:
        like: has the shape and the dtype of what is drawn.
    """
    kind = kind.with_dtype(like.dtype)
    shape = tuple(like._a.shape)
    # No memory of the graph's own, which it may use for something else before.
    room = copy_context().run(_outside, kind, shape)
    graph.kept.append(room)
    backend = kind.backend

    def renew() -> None:
        with unseen():
            backend.copy(room, draw()._a)

    graph.before.append(renew)
    return wrap(room, kind)


def _outside(kind: Kind, shape: tuple[int, ...]) -> object:
    """Memory of the default stream, while another one is recorded."""
    recording.set(None)
    chosen_streams.set(MappingProxyType({}))
    return kind.backend.empty(shape, kind.dtype, kind.index)
