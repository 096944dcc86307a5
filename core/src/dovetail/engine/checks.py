"""Values that an op refuses, such as indices out of range.

A declared check (`@op.check`) is made of ops and gives a flag, so that bodies read no
values: a program that is captured has the flag as one more result. Called on a device
with values, the flag is read here, once a call, or left to the device, which tells when
the host waits anyway. Kernels that say `checks_indices` look by themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dovetail.device_api import HostMemory, LateErrors
from dovetail.dtypes import DType
from dovetail.engine.elements import stored
from dovetail.engine.modes import no_grad
from dovetail.engine.op import Checked, Op
from dovetail.engine.scopes import anywhere, tell, unseen, watched
from dovetail.engine.tensor import Tensor
from dovetail.errors import IndexOutOfRange


def look(op: Op, inputs: tuple[Any, ...], attrs: dict[str, Any]) -> None:
    """Raise for values that the op refuses; waits for the answer.

    Where values do not exist there is nothing to look at. A device with `LateErrors`
    tells later, but of what is to be written in place.
    """
    if op.check is None:
        return
    lead = next((x for x in inputs if isinstance(x, Tensor)), None)
    if lead is None or lead._kind.backend.rules_only:
        return
    backend, index = lead._kind.backend, lead._kind.index
    late = None if op.mutates else backend.capability(LateErrors)
    with unseen():
        found = op.check(*inputs, **attrs)
        if late is None or found is None:
            answer(found)
        else:
            flag, error = found
            late.note(index, flag._a, lambda: _worded(op, error))


def _worded(op: Op, error: Callable[[], Exception]) -> Exception:
    """The error of a call whose inputs may have been written since."""
    try:
        return error()
    except LookupError:
        return IndexOutOfRange(
            op.name, "values", was="refused, and written since",
            needed="values that the op takes",
        )  # fmt: skip


def at_hand(x: Tensor) -> Any:
    """The values of a tensor as a NumPy array, where looking costs no waiting.

    None where they lie on a device, do not exist, or where a program is recorded, which
    has to serve for other values.
    """
    if anywhere[0] and watched():
        return None
    memory = x._kind.backend.capability(HostMemory)
    return None if memory is None else memory.expose(x._a)


def refuse_unless(
    x: Tensor, fits: Callable[[Any], Any], error: Callable[[Any], Exception]
) -> None:
    """Refuse a call by values of `x`, where the host need not wait to look at them.

    A device with `LateErrors` looks by itself, and the next wait tells. On other
    devices nobody looks.

    Args:
        fits: is not 0 where a value is taken, of a tensor or of a NumPy array.
        error: is made of the values.
    """
    values = at_hand(x)
    if values is None:
        tell_later(x, fits, error)
    elif not fits(values).all():
        raise error(values)


def tell_later(
    x: Tensor, fits: Callable[[Any], Any], error: Callable[[Any], Exception]
) -> None:
    """What `refuse_unless` does where values are not at hand."""
    late = x._kind.backend.capability(LateErrors)
    if late is None or 0 in x._a.shape or (anywhere[0] and watched()):
        return
    with unseen(), no_grad():
        flag: Any = ~fits(x).all()
    late.note(x._kind.index, flag._a, lambda: error(all_values(x)))


def check_fits(op: str, dtype: DType, value: Tensor) -> None:
    """Look at the number of a 0-d tensor, to be stored as `dtype`, if it is at hand.

    Raises:
        NumberOutOfRange: it does not fit.
    """
    number = None if value._kind.dtype is dtype else at_hand(value)
    if number is not None:
        stored(op, dtype, number.item())


def values_of(x: Tensor, how: str) -> np.ndarray[Any, Any]:
    """The values of a tensor for Python, which may decide by them; waits for them.

    Args:
        how: what reports of recorded programs call it.
    """
    if anywhere[0]:
        tell("read", x, how)
    backend: Any = x._kind.backend
    if backend.stands_for is not None:
        backend.refuse_read(x._a, how)
    return backend.copy_out(x._a)  # type: ignore[no-any-return]


def all_values(x: Tensor) -> np.ndarray[Any, Any]:
    """The values of a tensor, of every row where it stands for several.

    For what is refused wherever one of them is.
    """
    while x._kind.backend.stands_for is not None:
        backend: Any = x._kind.backend
        x = backend.held(x._a)[0]
    return x._kind.backend.copy_out(x._a)


def refuse(check: Callable[[], Checked]) -> None:
    """Make a check that no op declares, and raise its error if its flag is set."""
    with unseen():
        answer(check())


def answer(found: Checked) -> None:
    """Wait for the flag of a check, and raise its error if it is set."""
    if found is not None:
        flag, error = found
        if all_values(flag).any():
            raise error()
