"""The wrapped backend's kernels, put off until somebody waits for their results."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from dovetail import dtypes
from dovetail.device_api.contract import Ints
from dovetail.device_api.graphs import refuse_to_wait
from dovetail.device_api.kernels import Kernel, KernelTable
from dovetail.dtypes import DType
from dovetail.engine.kernel_call import call
from dovetail.engine.kinds import kind_on
from dovetail.engine.op import Op, vocabulary
from dovetail.engine.promotion import index_dtype
from dovetail.engine.results import DATA
from dovetail.errors import KernelError
from dovetail.testing.chaos_device.graphs import give
from dovetail.testing.chaos_device.memory import Cell, ChaosArray
from dovetail.testing.chaos_device.work import again

if TYPE_CHECKING:
    from dovetail.testing.chaos_device.backend import ChaosBackend

Function = Callable[..., Any]


class ChaosTable(KernelTable):
    """The table of the wrapped backend, each kernel behind a launch of ours."""

    def __init__(self, backend: ChaosBackend) -> None:
        super().__init__(backend.type)
        self._chaos = backend
        self._wrapped: dict[Kernel, Kernel] = {}
        backend.wrapped.table.on_change(self.changed)

    def add(self, op: str, function: Function, **_: Any) -> None:
        raise KernelError(
            f"kernel {op}", "backend", was=self.backend,
            needed="a backend with kernels of its own",
            remedy=f"add it to the table of {self._chaos.wrapped.type}",
        )  # fmt: skip

    def select(self, op: str, dtype: DType) -> list[Kernel]:
        return [self._behind(k) for k in self._chaos.wrapped.table.select(op, dtype)]

    def rivals(self, op: str) -> list[Kernel]:
        return [self._behind(k) for k in self._chaos.wrapped.table.rivals(op)]

    def names(self) -> list[str]:
        return self._chaos.wrapped.table.names()

    def _behind(self, kernel: Kernel) -> Kernel:
        found = self._wrapped.get(kernel)
        if found is None:
            launched = _launcher(self._chaos, kernel)
            found = kernel._replace(function=launched, supports_out=False)
            self._wrapped[kernel] = found
        return found


def _launcher(backend: ChaosBackend, kernel: Kernel) -> Function:
    if kernel.binds:
        return lambda **static: partial(
            _launch, backend, kernel.op, kernel.function(**static), static
        )
    return partial(_launch, backend, kernel.op, kernel.function, {})


def _launch(
    backend: ChaosBackend, name: str, function: Function, static: dict[str, Any], /,
    *natives: Any, **attrs: Any,
) -> Any:  # fmt: skip
    op = vocabulary.get(name)
    if op is None or op.view:  # `native_slice` is no op, and a view
        first, *rest = natives
        return backend.look(first, function(first.inner, *rest, **attrs), name)
    known = {**static, **attrs}
    arrays = list(_flat(natives))
    index = arrays[0].cell.index if arrays else known.get("index", 0)
    device = backend.device(index)
    with device.lock:
        device.launch(name)
        run = Launch(backend, op, function, natives, attrs, known, index)
        if op.outputs and op.shape is DATA:
            return run.at_once()
        return run.later()


class Launch:
    """One call of a kernel of the wrapped backend.

    Keeps cells and inner arrays, not the caller's, whose memory may go meanwhile.
    """

    def __init__(
        self, backend: ChaosBackend, op: Op, function: Function,
        natives: tuple[Any, ...], attrs: dict[str, Any], known: dict[str, Any],
        index: int,
    ) -> None:  # fmt: skip
        self.backend, self.op, self.function = backend, op, function
        self.attrs, self.index = attrs, index
        if "kind" in op.names and "index" in known:
            kind = kind_on(backend, index, known["dtype"])
            rest = {k: v for k, v in known.items() if k not in ("dtype", "index")}
            known = {**rest, "kind": kind}
        self.known = known
        self.shapes = tuple(map(_shape, natives))
        self.inputs = tuple(map(_inner, natives))
        self.given = frozenset(id(a.inner) for a in _flat(natives))
        self.lead, self.dtypes = self._foretold(natives)
        self.written: list[Cell] = []
        self.read: list[Cell] = []
        for param, native in zip(op.tensors, natives, strict=True):
            cells = self.written if param.name in op.mutates else self.read
            cells += [a.cell for a in _flat((native,))]

    def _foretold(self, natives: tuple[Any, ...]) -> tuple[DType, tuple[DType, ...]]:
        """The leading input's dtype, and those of the results, as core has them."""
        op = self.op
        if natives:
            lead = next(_flat((natives[op.lead_at], *natives))).cell.dtype
        else:
            lead = self.known["kind"].dtype
        given = [a.cell.dtype if isinstance(a, ChaosArray) else lead for a in natives]
        found = op.result_dtypes(given or [lead], self.known)
        if self.known.get("dtype") is dtypes.int64:
            return lead, found
        held = index_dtype(kind_on(self.backend, self.index, lead))
        return lead, tuple(held if d is dtypes.int64 else d for d in found)

    def later(self) -> Any:
        """Promise the results that the op's rule foretells."""
        op, backend = self.op, self.backend
        shapes: tuple[Any, ...] = ()
        if op.shape is not DATA:
            shapes = op.checked_shapes(self.shapes, self.known)
        specs = zip(shapes, self.dtypes, strict=True) if op.outputs else ()
        outs = [backend.allocate(s, d, self.index, op.name) for s, d in specs]
        written = {id(c) for c in self.written}
        give(
            backend.device(self.index), op.name,
            partial(self._run_into, [out.inner for out in outs]),
            backend.stream(self.index),
            reads=[c for c in self.read if id(c) not in written],
            writes=self.written, fresh=[out.cell for out in outs],
        )  # fmt: skip
        return self._as_core_takes(outs)

    def at_once(self) -> Any:
        """Run a kernel whose results have a shape that depends on values."""
        backend, device = self.backend, self.backend.device(self.index)
        refuse_to_wait(backend, self.op.name)
        place = backend.stream(self.index).place
        place.check(self.op.name, self.read)
        device.finish(c.writer for c in self.read if c.writer is not None)
        for cell in self.read:
            if cell.failure is not None:
                raise again(cell.failure)
        results = self._results()
        outs = [
            backend.allocate(tuple(r.shape), d, self.index, self.op.name)
            for r, d in zip(results, self.dtypes, strict=True)
        ]
        self._keep(results, [out.inner for out in outs])
        place.stamp(self.op.name, (), [out.cell for out in outs])
        return self._as_core_takes(outs)

    def _as_core_takes(self, outs: list[ChaosArray]) -> Any:
        if len(self.op.outputs) == 1:
            return outs[0]
        return tuple(outs) if outs else None

    def _results(self) -> list[Any]:
        """What the kernel gives, as arrays of the wrapped backend."""
        inner = self.backend.wrapped
        kind = kind_on(inner, self.index, self.lead)
        result = call(kind, self.function, self.inputs, self.attrs)
        several = len(self.op.outputs) != 1
        found = (result if several else (result,)) if self.op.outputs else ()
        return [r if type(r) is inner.array else inner.lift(r) for r in found]

    def _run_into(self, targets: Sequence[Any]) -> None:
        self._keep(self._results(), targets)

    def _keep(self, results: Sequence[Any], targets: Sequence[Any]) -> None:
        """Move results into memory of ours, once they are what was foretold."""
        inner, wanted = self.backend.wrapped, self.dtypes
        if len(results) != len(targets):
            raise self._broken(f"{len(results)} arrays", f"{len(targets)}")
        for result, target, dtype in zip(results, targets, wanted, strict=True):
            if id(result) in self.given:
                raise self._broken("one of its arguments", "a fresh array")
            shape = tuple(result.shape)
            if shape != tuple(target.shape):
                raise self._broken(f"of shape {shape}", f"{tuple(target.shape)}")
            found = self._dtype_of(result)
            if found is not dtype:
                raise self._broken(found.name, dtype.name)
            inner.copy(target, result)

    def _dtype_of(self, result: Any) -> DType:
        """The dtype of a native array, which only its values on the host tell."""
        inner, size = self.backend.wrapped, math.prod(result.shape)
        few = inner.view(result, (), (), 0) if size > 1024 else result
        return dtypes.from_numpy(inner.copy_out(few).dtype)

    def _broken(self, was: str, needed: str) -> KernelError:
        return KernelError(self.op.name, "kernel's result", was=was, needed=needed)


def _flat(natives: Sequence[Any]) -> Iterator[ChaosArray]:
    """Every array among the arguments and in lists of them."""
    for a in natives:
        if isinstance(a, list | tuple):
            yield from _flat(a)
        elif a is not None:
            yield a


def _inner(a: Any) -> Any:
    if isinstance(a, list | tuple):
        return [_inner(v) for v in a]
    return None if a is None else a.inner


def _shape(a: Any) -> Ints | tuple[Any, ...] | None:
    if isinstance(a, list | tuple):
        return tuple(_shape(v) for v in a)
    return None if a is None else a.shape
