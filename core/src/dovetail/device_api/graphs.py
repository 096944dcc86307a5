"""The capability of graphs: work that is recorded once and done again and again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Final

from dovetail.errors import CaptureError

Flag = tuple[int, Any, Callable[[], Exception]]


class Graphs(ABC):
    """Work that streams record instead of doing, to be given to one as a whole.

    Between `begin_graph` and `end_graph` nothing that is given to the stream is done:
    kernels, fills and copies are kept. Memory made meanwhile is the graph's: while it
    lives, nobody else gets it, so that what a launch left there is there until the next
    one. Core keeps the arrays that kernels get; `hold` keeps those of copies and fills.
    Whoever waits is refused, by `refuse_to_wait` at the beginning of `copy_in`,
    `copy_out` and `synchronize`, since nothing that he could wait for is being done.
    """

    @abstractmethod
    def begin_graph(self, stream: Any, index: int) -> None:
        """Record what is given to `stream`, a further one of device `index`."""

    @abstractmethod
    def end_graph(self, stream: Any, index: int) -> Any:
        """What has been recorded, as an object of the backend's own."""

    @abstractmethod
    def launch_graph(self, graph: Any, stream: Any, index: int) -> None:
        """Give all work of a graph to `stream`, in order; does not wait."""


class Recorded:
    """What core keeps of a graph that is being recorded.

    Attributes:
        backend, index: the device.
        before: what the host does before each launch: it draws numbers.
        late: flags of errors that come late, to be asked after each launch.
        kept: what the graph reads and nobody else may hold.
    """

    def __init__(self, backend: Any, index: int) -> None:
        self.backend = backend
        self.index = index
        self.before: list[Callable[[], None]] = []
        self.late: list[Flag] = []
        self.kept: list[Any] = []
        self._passing: list[Any] = []

    def finish(self) -> None:
        """Be recorded: what callers of kernels kept is the graph's alone."""
        self.kept += self._passing
        self._passing.clear()

    def keeping(self, run: Callable[..., Any]) -> Callable[..., Any]:
        """A caller of kernels that keeps what they read and write.

        A context may remember it for good; so it knows the list alone.
        """
        passing = self._passing

        def keep(kernel: Callable[..., Any], /, *natives: Any, **attrs: Any) -> Any:
            passing.append(natives)
            return run(kernel, *natives, **attrs)

        return keep


recording: Final[ContextVar[Recorded | None]] = ContextVar("recording", default=None)
"""The graph that this context (a thread or a task) records, if it does."""


def hold(backend: Any, *natives: Any) -> None:
    """Keep what a copy or a fill reads or writes, where a graph records it.

    For backends whose records do not keep arrays alive; kernels are called by core,
    which keeps theirs.
    """
    found = recording.get()
    if found is not None and found.backend is backend:
        found.kept.append(natives)


def refuse_to_wait(backend: Any, op: str) -> None:
    """Raise where this context records a graph of a backend.

    Raises:
        CaptureError: it does; what was to be waited for is not being done.
    """
    found = recording.get()
    if found is not None and found.backend is backend:
        raise CaptureError(
            op, "device", was=f"{backend.type}:{found.index}, whose work is recorded "
            "as a graph and not done", needed="work that the host does not wait for",
            remedy="copy and read before the graph or after it",
        )  # fmt: skip
