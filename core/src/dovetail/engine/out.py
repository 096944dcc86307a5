"""`out=`: results written into tensors that the caller has."""

from __future__ import annotations

from typing import Any

from dovetail.dtypes import as_dtype, bool_, uint8
from dovetail.engine.basics import basics
from dovetail.engine.inplace import commit, fitting, touched
from dovetail.engine.kernel_call import call, native_of, shapes_of
from dovetail.engine.modes import grad_enabled, no_grad
from dovetail.engine.op import Op, TakesOut
from dovetail.engine.plan import Plan
from dovetail.engine.plans import is_contiguous
from dovetail.engine.scopes import outside
from dovetail.engine.tape import storage_of
from dovetail.engine.tensor import Parameter, Tensor
from dovetail.engine.writable import check_writable
from dovetail.errors import (
    ArgumentError,
    ArgumentTypeError,
    AutogradError,
    DTypeError,
)


def write_out(name: str, takes: TakesOut, out: Any, result: Any) -> Any:
    """Write results into `out`, a tensor or a tuple of them: all or, on error, none.

    Tensors without elements take the shapes of what is written.

    Args:
        takes: as the function is declared.
    """
    several = isinstance(result, tuple)
    if several and not isinstance(out, tuple | list):
        raise ArgumentTypeError(
            name, "out", was=f"a {type(out).__name__}",
            needed=f"a tuple of {len(result)} tensors",
        )  # fmt: skip
    targets, sources = (tuple(out), result) if several else ((out,), (result,))
    if len(targets) != len(sources):
        raise ArgumentError(
            name, "out", was=f"{len(targets)} tensors", needed=f"{len(sources)}"
        )
    fit = []
    for target, source in zip(targets, sources, strict=True):
        if not isinstance(target, Tensor):
            raise ArgumentTypeError(
                name, "out", was=f"a {type(target).__name__}", needed="a Tensor"
            )
        check_writable(f"{name}(out=)", target)
        if grad_enabled() and (source.requires_grad or target.requires_grad):
            raise AutogradError(
                name, "out", was="given, while an argument requires gradients: out= "
                "does not support automatic differentiation", needed="no out=",
                remedy="call it under no_grad(), or on detach()",
            )  # fmt: skip
        if takes == "same" and target.dtype is not source.dtype:
            raise DTypeError(
                name, "out", was=target.dtype.name,
                needed=f"{source.dtype.name}, the dtype of the result",
            )  # fmt: skip
        if takes == "truth" and target.dtype not in (bool_, uint8):
            raise DTypeError(
                name, "out", was=target.dtype.name, needed="bool, or uint8"
            )
        resizes = _is_to_be_filled(target)
        fit.append(fitting(f"{name}(out=)", target, source, resizes=resizes))
    written = list(map(_commit, targets, fit))
    if not several:
        return written[0]
    return type(result)(*written) if hasattr(result, "_fields") else tuple(written)


def _is_to_be_filled(target: Tensor) -> bool:
    """Whether a tensor has no elements and shows nobody else's memory.

    It then takes the shape of what is written, as torch's do.
    """
    return 0 in target._a.shape and not target._is_view()


def _commit(target: Tensor, source: Tensor) -> Tensor:
    """Move what fits into a tensor, which has the shape or is given it."""
    if tuple(target._a.shape) != tuple(source._a.shape):
        outside("out=")
        storage = target._storage
        if storage is not None or source._storage is not None:
            with no_grad():
                target._a = basics.clone(source)._a
            storage_of(target).root = target._a
    return commit(target, source)


def check_asked(name: str, dtype: Any, out: Any) -> None:
    """Raise for an `out` of another dtype than the one that is asked for beside it.

    Raises:
        DTypeError: it has another.
    """
    if dtype is None or not isinstance(out, Tensor):
        return
    asked = as_dtype(dtype, name)
    if out.dtype is not asked:
        raise DTypeError(
            name, "out", was=out.dtype.name, needed=f"{asked.name}, as dtype says"
        )


def written_by_kernel(
    op: Op, plan: Plan, inputs: tuple[Any, ...], attrs: dict[str, Any], out: Any
) -> bool:
    """Let the kernel write into `out`, where it can and nothing speaks against it."""
    if plan.into is None or type(out) not in (Tensor, Parameter):
        return False
    kind = plan.kinds[0]
    if out._kind is not kind or not _is_plain(out):
        return False
    if any(not _is_apart(x, out) for x in inputs):
        return False
    (shape,) = op.checked_shapes(shapes_of(inputs), attrs)
    if tuple(out._a.shape) != shape or not is_contiguous(kind, out._a):
        return False
    scalars = {name: attrs[name] for name in op.scalars}
    natives = [native_of(x) for x in inputs]
    call(kind, plan.into, natives, {**scalars, "out": out._a})
    touched(out)
    return True


def _is_plain(out: Tensor) -> bool:
    """Whether memory is the tensor's own, and the tape does not ask for it."""
    memory = storage_of(out) if out._inference else out._storage
    if memory is not None and (memory.root is not out._a or memory.to_write):
        return False
    return out._node is None or not grad_enabled()


def _is_apart(x: Any, out: Tensor) -> bool:
    """Whether an input is on no tape, and shares no memory but all of it."""
    if x is None:
        return True
    if not isinstance(x, Tensor) or (x._node is not None and grad_enabled()):
        return False
    if x._a is out._a or x._storage is None or out._storage is None:
        return True
    return x._storage.root is not out._storage.root
