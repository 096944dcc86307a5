"""The table of a backend's kernels: dtypes, conditions, ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, NamedTuple, TypeVar

from dovetail.dtypes import STORED, DType
from dovetail.errors import ArgumentError, ArgumentTypeError, KernelError

# The names that a kernel may have: ops, as they are declared, and the backend's own
# `array[slice]`, which tensors are indexed with.
KNOWN_OPS: Final[set[str]] = {"native_slice"}

F = TypeVar("F", bound=Callable[..., Any])


class Facts:
    """What a kernel's `when` may look at: exactly the names in its `reads`.

    `ndim` and `shape` of the inputs (tuples, one entry an input), `contiguous`
    (tuple of bools), and the op's attributes by name.
    """

    __slots__ = ("__dict__",)

    def __init__(self, values: dict[str, Any]) -> None:
        self.__dict__.update(values)

    def __getattr__(self, name: str) -> Any:
        raise KernelError(
            "when", name, was="not declared", needed=f"one of {sorted(self.__dict__)}",
            remedy=f"add {name!r} to reads",
        )  # fmt: skip


class Unwritten(NotImplementedError):
    """What a function of a backend raises until its author has written it.

    A function that names this class counts as work to do, not as a failure.
    """


class Kernel(NamedTuple):
    """One implementation of an op on one backend.

    Attributes:
        op: name of the op.
        function: `k(*natives, **attrs)`; gives a native array or a tuple of them.
        dtypes: dtypes of the op's first tensor (of its result where it has none).
        rank: higher ranks are asked first; a backend's own kernels have 0.
        when: a condition on `Facts`, None for always.
        reads: what `when` looks at; the choice is cached on exactly that.
        binds: `function(**attrs)` is called once for each set of attributes and
            dtypes, and gives the callable on natives alone.
        broadcasts: takes operands of different shapes; else core expands them.
        checks: refuses by itself the shapes that the op refuses; else core asks the
            op's rule first.
        checks_indices: refuses by itself the values that the op refuses, such as
            indices out of range; else core looks first, and waits for the answer.
        contiguous: needs contiguous inputs; else core copies them.
        supports_out: accepts `out=`, a native array that may be one of the inputs.
        deterministic: gives the same bits on every call.
        owner: the plug-in it came from.
    """

    op: str
    function: Callable[..., Any]
    dtypes: frozenset[DType]
    rank: int = 0
    when: Callable[[Facts], bool] | None = None
    reads: tuple[str, ...] = ()
    binds: bool = False
    broadcasts: bool = False
    checks: bool = False
    checks_indices: bool = False
    contiguous: bool = False
    supports_out: bool = False
    deterministic: bool = True
    owner: str = ""


class KernelTable:
    """The kernels of one backend, ordered by rank and never by load order."""

    def __init__(self, backend: str) -> None:
        self.backend = backend
        self.owner = backend
        self._kernels: dict[str, list[Kernel]] = {}
        self._listeners: list[Callable[[], None]] = []

    def kernel(
        self, op: str, *, dtypes: Iterable[DType], **options: Any
    ) -> Callable[[F], F]:
        """Register the decorated function as a kernel of `op`."""

        def register(function: F) -> F:
            self.add(op, function, dtypes=dtypes, **options)
            return function

        return register

    def add(
        self,
        op: str,
        function: Callable[..., Any],
        *,
        dtypes: Iterable[DType],
        **options: Any,
    ) -> None:
        """Register `function` as a kernel of `op`; see `Kernel` for the options."""
        claimed = self._check(op, function, dtypes)
        new = Kernel(op, function, claimed, owner=self.owner, **options)
        if new.when is not None and not new.reads:
            raise ArgumentError(
                f"kernel {op}", "reads", was="empty", needed="the names `when` looks at"
            )
        rivals = self._kernels.setdefault(op, [])
        for other in rivals:
            self._refuse_tie(new, other)
        rivals.append(new)
        rivals.sort(key=lambda k: (-k.rank, k.when is None))
        self.changed()

    def _check(self, op: str, function: Any, dtypes: Any) -> frozenset[DType]:
        """What the kernel of an op claims, which has to be dtypes."""
        if not callable(function):
            raise ArgumentTypeError(
                f"plug-in {self.owner}", f"the kernel of {op}",
                was=f"a {type(function).__name__}", needed="a callable",
            )  # fmt: skip
        if op not in KNOWN_OPS:
            from difflib import get_close_matches  # only for the words of an error

            near = get_close_matches(str(op), KNOWN_OPS, 3)
            raise ArgumentError(
                f"plug-in {self.owner}", "the op of a kernel",
                was=f"{op!r}, which is not in the vocabulary",
                needed="the name of an op",
                remedy=f"there is {', '.join(near)}" if near else None,
            )  # fmt: skip
        claimed = frozenset(dtypes if isinstance(dtypes, Iterable) else [dtypes])
        if not claimed <= STORED:
            raise ArgumentTypeError(
                f"plug-in {self.owner}", f"dtypes of the kernel of {op}",
                was=repr(dtypes), needed="dtypes such as dovetail.float32",
            )  # fmt: skip
        return claimed

    def _refuse_tie(self, new: Kernel, other: Kernel) -> None:
        shared = new.dtypes & other.dtypes
        # A condition goes before the unconditional kernel of the same rank.
        ordered = (new.when is None) != (other.when is None)
        if new.rank != other.rank or not shared or ordered:
            return
        names = ", ".join(sorted(d.name for d in shared))
        raise KernelError(
            f"kernel {new.op}", "rank",
            was=f"{new.rank} in both {other.owner} and {new.owner} for {names}",
            needed="different ranks where conditions may overlap",
            remedy="declare another rank or disjoint dtypes",
        )  # fmt: skip

    @contextmanager
    def adding(self, owner: str) -> Iterator[None]:
        """Let `owner` add kernels: all that it wants to, or none if it fails."""
        before = {op: list(rivals) for op, rivals in self._kernels.items()}
        outer, self.owner = self.owner, owner
        try:
            yield
        except BaseException:
            self._kernels = before
            self.changed()
            raise
        finally:
            self.owner = outer

    def exchange(self, functions: Mapping[str, tuple[F, F]]) -> None:
        """Let functions of kernels, by op, be served by others that give the same."""
        for op, (own, other) in functions.items():
            self._kernels[op] = [
                k._replace(function=other) if k.function is own else k
                for k in self._kernels.get(op, ())
            ]
        self.changed()

    def remove(self, owner: str) -> None:
        """Take out the kernels of one plug-in."""
        for op, rivals in self._kernels.items():
            self._kernels[op] = [k for k in rivals if k.owner != owner]
        self.changed()

    def select(self, op: str, dtype: DType) -> list[Kernel]:
        """The kernels of `op` for `dtype`, in the order they are asked."""
        return [k for k in self._kernels.get(op, ()) if dtype in k.dtypes]

    def rivals(self, op: str) -> list[Kernel]:
        """The kernels of `op` for all dtypes, in the order they are asked."""
        return list(self._kernels.get(op, ()))

    def names(self) -> list[str]:
        """The ops that have a kernel, sorted."""
        return sorted(op for op, rivals in self._kernels.items() if rivals)

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call `listener` whenever a kernel comes or goes; once if given twice."""
        if listener not in self._listeners:
            self._listeners.append(listener)

    def changed(self) -> None:
        for listener in self._listeners:
            listener()
