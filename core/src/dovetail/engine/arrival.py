"""Where gradients arrive: added up, shown to hooks, gathered in leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from dovetail.engine.basics import basics
from dovetail.engine.level_hooks import value_at
from dovetail.engine.scopes import anywhere, here, tell
from dovetail.engine.storage import Storage
from dovetail.engine.tape import Leaf, storage_of
from dovetail.engine.tensor import Tensor
from dovetail.engine.views import unshared
from dovetail.errors import (
    ArgumentTypeError,
    AutogradError,
    DeviceError,
    DTypeError,
    ShapeError,
)

Hook = Callable[[Tensor], "Tensor | None"]


def add(a: Tensor, b: Tensor) -> Tensor:
    """The sum of two gradients."""
    total: Tensor = basics.add(a, b)
    return total


def summed_to(gradient: Tensor, shape: tuple[int, ...]) -> Tensor:
    """A gradient of another shape, summed over what broadcasting added or stretched.

    Where it did one of both, which is nearly always, one sum gives the shape.
    """
    size = tuple(gradient._a.shape)
    if size == shape:
        return gradient
    extra = len(size) - len(shape)
    if not gradient._kind.dtype.is_inexact:  # sums of these have another dtype
        return basics.sum_to(gradient, shape)  # type: ignore[no-any-return]
    if size[extra:] == shape:
        return basics.sum(gradient, tuple(range(extra)))  # type: ignore[no-any-return]
    whole = (1,) * extra + shape
    dims = tuple([d for d, n in enumerate(whole) if n != size[d] or d < extra])
    summed = basics.sum(gradient, dims, True)
    return unshared(basics.view(summed, shape)) if extra else summed


def hooked_outputs(extra: Any, ct: Any, run: Any) -> Any:
    """A node's cotangents after the hooks of its outputs."""
    if not (extra.hooks or extra.retained):
        return ct
    if extra.outputs is None:
        return _hooked_output(extra, 0, ct, run)
    return [
        None if g is None else _hooked_output(extra, i, g, run)
        for i, g in enumerate(ct)
    ]


def _hooked_output(extra: Any, index: int, ct: Tensor, run: Any) -> Tensor:
    hooks = extra.hooks.get(index)
    if hooks:
        ct = hooked(hooks, ct, run)
    retained = extra.retained.get(index) if extra.retained else None
    tensor = None if retained is None else retained()
    if tensor is not None:
        before = tensor.grad
        keep = basics.clone
        tensor.grad = keep(ct) if before is None else add(before, ct)
    return ct


class PassHook:
    """A hook that is told of the pass beside the gradient.

    Args:
        function: called with the pass and the gradient.
    """

    def __init__(self, function: Callable[[Any, Tensor], None]) -> None:
        self.function = function

    def __call__(self, ct: Tensor) -> None:
        raise AssertionError("a hook of passes is called by them alone")


def hooked(hooks: Iterable[Hook], ct: Tensor, run: Any) -> Tensor:
    """A cotangent after hooks, which may have kept it: leaves copy it.

    Raises: what a hook raises, and for another thing than its gradient, see `replaced`.
    """
    for hook in list(hooks):
        storage_of(ct)
        if type(hook) is PassHook:
            hook.function(run, ct)
            continue
        changed = hook(ct)
        if changed is not None:
            ct = replaced(hook, ct, changed)
    storage_of(ct)
    return ct


def replaced(hook: Any, ct: Tensor, changed: Any) -> Tensor:
    """What a hook returned instead of a gradient.

    Raises:
        ArgumentTypeError: it is no tensor.
        ShapeError, DTypeError, DeviceError: it is unlike the gradient.
    """
    name = f"hook {getattr(hook, '__name__', type(hook).__name__)!r}"
    if not isinstance(changed, Tensor):
        raise ArgumentTypeError(
            name, "result", was=f"a {type(changed).__name__}",
            needed="a Tensor, or None to leave the gradient as it is",
        )  # fmt: skip
    if tuple(changed.shape) != tuple(ct.shape):
        raise ShapeError(
            name, "result", was=f"of shape {tuple(changed.shape)}: it has changed the "
            "size of value", needed=f"{tuple(ct.shape)}, the shape of the gradient",
        )  # fmt: skip
    if changed.dtype is not ct.dtype:
        raise DTypeError(
            name, "result", was=f"{changed.dtype.name}: it has changed the type of "
            "value", needed=f"{ct.dtype.name}, the dtype of the gradient",
            remedy=f"cast it with .to(dovetail.{ct.dtype.name})",
        )  # fmt: skip
    if changed.device != ct.device:
        raise DeviceError(
            name, "result", was=f"on {changed.device}", needed=f"{ct.device}, where "
            "the gradient is",
        )  # fmt: skip
    return changed


def accumulate(leaf: Leaf, gradient: Tensor, create: bool) -> None:
    """Add a gradient to a leaf's, in the leaf's own dtype, and call what waits for it.

    What is in `.grad` is added to in place, as whoever put it there expects, unless
    the pass is recorded.
    """
    if gradient._kind is not leaf.kind:
        gradient = value_at(gradient, leaf.kind.backend)
        gradient = basics.cast(gradient, leaf.kind.dtype)
    if leaf.active:
        lock = leaf.lock
        lock.acquire()  # half as long as `with` takes
        try:
            before = leaf.grad
            if before is None:
                # A gradient that nobody else writes: views and shared memory are
                # copied. With a storage, the next leaf that gets it copies it.
                alone = gradient._storage is None
                if alone and (create or gradient._node is None):
                    gradient._storage = Storage(gradient._a)
                    leaf.grad = gradient
                else:
                    leaf.grad = basics.clone(gradient)
            elif create or (before._in_parts and not gradient._in_parts):
                leaf.grad = add(before, gradient)
            else:
                before.add_(gradient)
        finally:
            lock.release()
        if anywhere[0] and here() is not None:
            tell("accumulate", leaf, gradient)
    else:
        _require_leaf(leaf)
    if leaf.after:
        tensor = leaf.tensor()
        if tensor is not None:
            for hook in list(leaf.after):
                found: Any = hook(tensor)
                if found is not None and not isinstance(found, Tensor):
                    raise ArgumentTypeError(
                        "post_accumulate_grad_hook", "result",
                        was=f"a {type(found).__name__}",
                        needed="None: the gradient is in .grad by now",
                    )  # fmt: skip


def _require_leaf(leaf: Leaf) -> None:
    """Raise for a gradient of what was a leaf, and has been written by a recorded op.

    Raises:
        AutogradError: the tensor is the result of an op by now.
    """
    tensor = leaf.tensor()
    if tensor is not None and tensor.grad_fn is not None:
        raise AutogradError(
            "backward", "graph", was="from what was a leaf: a leaf variable has been "
            "moved into the graph interior", needed="a leaf that is one still",
            remedy="write to a clone of it",
        )  # fmt: skip
