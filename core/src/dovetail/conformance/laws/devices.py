"""The devices of a backend: their list and names, and values that move among them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

import dovetail as dt
from dovetail import dtypes
from dovetail.conformance.budget import Budget
from dovetail.conformance.example import Example
from dovetail.conformance.law import Trial, Wrong, device_law
from dovetail.conformance.laws.bits import expect_bits, patterns, rng
from dovetail.conformance.layouts import LAYOUTS, projected
from dovetail.conformance.reference import TYPE, install
from dovetail.conformance.subject import Subject
from dovetail.device_api import registry
from dovetail.dtypes import Array, DType
from dovetail.engine.tensor import Tensor
from dovetail.errors import DeviceError, DTypeError

_REQUIRED: Final = (dtypes.bool_, dtypes.int32, dtypes.float32)


@device_law("devices", rank=5, per_dtype=False)
def devices(trial: Trial) -> None:
    """The backend lists its devices, always the same, and their strings name them.

    It claims bool, int32 and float32; a dtype that it lacks is refused in words.
    """
    subject, backend = trial.subject, trial.subject.backend
    found = list(backend.devices())
    indices = [info.index for info in found]
    if not found or [d.index for d in backend.devices()] != indices:
        raise Wrong(f"devices() gives {indices}, needed the same devices every time")
    if len(set(indices)) < len(indices) or any(i < 0 for i in indices):
        raise Wrong(f"devices() has the indices {indices}, needed each once, from 0 on")
    for info in found:
        name: Any = info.name
        if not isinstance(name, str) or not name.strip():
            raise Wrong(f"device {info.index} has the name {name!r}")
        memory = info.memory_bytes
        if memory is not None and memory <= 0:
            raise Wrong(f"device {info.index} has memory_bytes {memory}")
        _expect_named(backend.type, info.index)
    lacking = [d.name for d in _REQUIRED if d not in backend.dtypes]
    if lacking:
        raise Wrong(f"{backend.type} lacks {', '.join(lacking)}, which level 0 needs")
    _expect_refusals(subject, max(indices) + 1)


def _expect_named(kind: str, index: int) -> None:
    text = f"{kind}:{index}"
    made = dt.zeros(2, device=text)
    where = made.device
    if where.type != kind or where.index not in (index, None):
        raise Wrong(f"a tensor made on {text!r} is on {where}")


def _expect_refusals(subject: Subject, beyond: int) -> None:
    kind = subject.backend.type
    try:
        dt.zeros(2, device=f"{kind}:{beyond}")
    except DeviceError:
        pass
    else:
        raise Wrong(f"a tensor was made on {kind}:{beyond}, which is not there")
    for dtype in dtypes.ALL:
        if not subject.claims(dtype):
            _expect_dtype_refused(subject, dtype)


def _expect_dtype_refused(subject: Subject, dtype: DType) -> None:
    try:
        dt.zeros(2, dtype=dtype, device=subject.device)
    except DTypeError as error:
        if dtype.name not in str(error):
            raise Wrong(f"{dtype.name} is refused without its name: {error}") from error
        return
    raise Wrong(f"a tensor of {dtype.name} was made, which the device does not claim")


@device_law("synchronize", rank=6, per_dtype=False)
def synchronize(trial: Trial) -> None:
    """`synchronize` waits on every device, with and without work, and returns None."""
    backend = trial.subject.backend
    for info in backend.devices():
        native = backend.copy_in(np.arange(4096, dtype=np.float32), info.index)
        backend.fill(native, 3.0)
        for _ in range(2):
            found = backend.synchronize(info.index)
            if found is not None:
                raise Wrong(f"synchronize gives {found!r}, needed None")
        expect_bits("memory after fill and synchronize", backend.copy_out(native),
                    np.full(4096, 3, np.float32))  # fmt: skip


# ---- moves


def _laid(subject: Subject, dtype: DType | None, budget: Budget) -> Iterator[Example]:
    for at, name in enumerate(LAYOUTS):
        yield Example(layout=name, size="3 x 4 x 2", known={"at": at})
    for at, shape in enumerate(((), (0, 2)), len(LAYOUTS)):
        yield Example(size=str(list(shape)), known={"at": at, "shape": shape})


@device_law("transfer", examples=_laid, rank=30)
def transfer(trial: Trial) -> None:
    """Bits survive the way to every other device and back, from every layout.

    A device without the dtype says so; gradients find their way back.
    """
    dtype, subject = trial.dtype, trial.subject
    assert dtype is not None
    shape, layout = trial.example.known.get("shape", (3, 4, 2)), trial.example.layout
    values = projected(patterns(dtype, shape, rng(trial)), layout)
    for place in partners(subject):
        other = Subject(place)
        if not other.claims(dtype):
            _expect_stays(subject.tensor(values, layout), place)
            continue
        _expect_moves(subject, other, values, layout)
        _expect_moves(other, subject, values, layout)
        if dtype is dtypes.float32:
            _expect_gradient(subject, place)


def partners(subject: Subject) -> list[str]:
    """Every other device of the type, and one of each other type in this process."""
    install()
    kind = subject.backend.type
    own = [f"{kind}:{d.index}" for d in subject.backend.devices()]
    found = [place for place in own if Subject(place).index != subject.index]
    names = {b.type for b in registry.loaded() if not b.rules_only} | {TYPE}
    if dt.is_available("cpu"):
        names.add("cpu")
    return found + sorted(names - {kind})


def _expect_moves(source: Subject, target: Subject, values: Array, layout: str) -> None:
    x = source.tensor(values, layout)
    moved = x.to(target.device)
    what = f"{layout} {moved.dtype.name} from {source.device} to {target.device}"
    if str(moved.device) != target.device or moved.dtype is not x.dtype:
        raise Wrong(f"{what} gives {moved.dtype.name} on {moved.device}")
    expect_bits(what, target.values(moved), values)
    if values.size:
        moved.fill_(1)
        expect_bits(f"the source of {what}, after the result was written,",
                    source.values(x), values)  # fmt: skip


def _expect_stays(x: Tensor, place: str) -> None:
    try:
        x.to(place)
    except DTypeError as error:
        if x.dtype.name in str(error):
            return
        raise Wrong(f"to({place!r}) refuses without the dtype: {error}") from error
    raise Wrong(f"to({place!r}) moved {x.dtype.name}, which {place} does not claim")


def _expect_gradient(subject: Subject, place: str) -> None:
    leaf = Subject(place).tensor(np.arange(6, dtype=np.float32).reshape(2, 3))
    leaf.requires_grad = True
    moved = leaf.t().to(subject.device)
    (moved * moved).sum().backward()
    if leaf.grad is None or str(leaf.grad.device) != str(leaf.device):
        raise Wrong(f"the gradient of a leaf on {place} is {leaf.grad}")
    want = 2 * np.arange(6, dtype=np.float32).reshape(2, 3)
    expect_bits(f"the gradient on {place}", Subject(place).values(leaf.grad), want)
