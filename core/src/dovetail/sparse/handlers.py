"""Which functions sparse tensors handle, by name; all others are refused in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeVar

from dovetail.engine.arguments import explained
from dovetail.engine.homes import home_of
from dovetail.errors import DovetailError, NotSupported

F = TypeVar("F", bound=Callable[..., Any])


class Above:
    """What `SparseTensor` needs of modules that need it, which fill it in.

    Attributes:
        handled: calls a public function that has sparse arguments.
        described: makes the text of a tensor.
    """

    handled: Callable[..., Any]
    described: Callable[..., str]


above: Final = Above()


class Handler(NamedTuple):
    """What computes a function where an argument is sparse.

    Attributes:
        compressed: it takes matrices by rows as they are; others get coordinates.
    """

    function: Callable[..., Any]
    compressed: bool


HANDLERS: Final[dict[str, Handler]] = {}
# Functions that have the name of another one, in other rooms.
_ROOMS: Final = ("dovetail.frontend.linalg", "dovetail.frontend.masked")


def handles(names: str, compressed: bool = False) -> Callable[[F], F]:
    """Let the decorated function handle torch's functions of these names."""

    def note(function: F) -> F:
        for name in names.split():
            HANDLERS[name] = Handler(function, compressed)
        return function

    return note


def handler_of(function: Any) -> Handler | None:
    """What handles a public function, or an op of the engine's."""
    if home_of(function).startswith(_ROOMS):
        return None
    return HANDLERS.get(function.__name__)


def called(
    name: str, function: Callable[..., Any], args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:  # fmt: skip
    """Call a handler; an error that is not ours names the argument that is wrong."""
    try:
        return function(*args, **kwargs)
    except DovetailError:
        raise
    except Exception as error:
        ours = explained(name, function, args, kwargs, error)
        if ours is None and args and not getattr(args[0], "_in_parts", False):
            ours = NotSupported(
                name, "arguments", was="a sparse tensor after others",
                needed="strided tensors", remedy="call to_dense() first",
            )  # fmt: skip
        if ours is None:
            raise
        raise ours from error


def refusal(name: str, layout: Any, needed: str = "a strided tensor") -> NotSupported:
    """The error for a function that sparse tensors do not have."""
    return NotSupported(
        name, "tensor", was=f"of the layout {layout}", needed=needed,
        remedy="call to_dense() first",
    )  # fmt: skip
