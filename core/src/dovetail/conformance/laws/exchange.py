"""Tensors that leave the process's own hands: DLPack, pickles, copies and files."""

from __future__ import annotations

import copy
import gc
import io as bytes_io
import pickle
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Final

import numpy as np

import dovetail as dt
from dovetail import dtypes, io, nn
from dovetail.conformance.budget import Budget
from dovetail.conformance.example import Example
from dovetail.conformance.law import Trial, Unclaimed, Wrong, device_law
from dovetail.conformance.laws.bits import expect_bits, patterns, rng
from dovetail.conformance.layouts import LAYOUTS, projected
from dovetail.conformance.reference import TYPE, install
from dovetail.conformance.subject import Subject
from dovetail.device_api.capabilities import DLPack
from dovetail.device_api.dlpack import CPU
from dovetail.dtypes import Array, DType
from dovetail.engine.tensor import Parameter, Tensor
from dovetail.float8 import values_in

_SHAPE: Final = (3, 4)


def _laid(subject: Subject, dtype: DType | None, budget: Budget) -> Iterator[Example]:
    for at, name in enumerate(LAYOUTS):
        yield Example(layout=name, size="3 x 4", known={"at": at})
    yield Example(size="0-d", known={"at": 20, "shape": ()})
    yield Example(size="empty", known={"at": 21, "shape": (0, 2)})


def _made(trial: Trial) -> tuple[Tensor, Array]:
    dtype = trial.dtype
    assert dtype is not None
    shape, layout = trial.example.known.get("shape", _SHAPE), trial.example.layout
    values = projected(patterns(dtype, shape, rng(trial)), layout)
    return trial.subject.tensor(values, layout), values


# ---- DLPack


@device_law("dlpack", examples=_laid, rank=50)
def dlpack(trial: Trial) -> None:
    """Through DLPack, tensors share memory with whoever takes them, and keep it alive.

    A tensor that requires gradients is not exported, and a copy is one.
    """
    memory = trial.subject.backend.capability(DLPack)
    if memory is None:
        raise Unclaimed(f"{trial.subject.device} has no capability DLPack")
    x, values = _made(trial)
    device = trial.subject.device
    again = dt.from_dlpack(x, device=device)
    _expect_same(trial, "from_dlpack of a tensor", again, values)
    _expect_shared(trial, again, x)
    x, values = _made(trial)
    copied = dt.from_dlpack(x, device=device, copy=True)
    if values.size:
        _fill(trial, x, 0)
    _expect_same(trial, "from_dlpack with copy=True", copied, values)
    x, values = _made(trial)
    again = dt.from_dlpack(x, device=device)
    del x
    _collect(trial)
    trial.subject.tensor(values[::-1] if values.ndim else values)
    _expect_same(trial, "imported memory whose owner is gone", again, values)
    if memory.dlpack_device(again._a)[0] == CPU:
        _with_numpy(trial)
    _expect_refused_export(trial)


def _collect(trial: Trial) -> None:
    if trial.example.known["at"] == 0:  # slow, and once is enough
        gc.collect()


def _expect_same(trial: Trial, what: str, x: Tensor, values: Array) -> None:
    if str(x.device) != trial.subject.device:
        raise Wrong(f"{what} is on {x.device}, needed {trial.subject.device}")
    expect_bits(what, trial.subject.values(x), values)


def _expect_shared(trial: Trial, a: Tensor, b: Tensor) -> None:
    """A write through one is seen through the other."""
    if not a.numel():
        return
    for writer, reader in ((a, b), (b, a)):
        number = 1 if writer is a else 0
        _fill(trial, writer, number)
        want = np.broadcast_to(values_in(number, reader.dtype.numpy), reader.shape)
        expect_bits("shared memory after a write", trial.subject.values(reader), want)


def _fill(trial: Trial, x: Tensor, number: int) -> None:
    """Write memory past the tensor, which refuses where elements share it."""
    trial.subject.backend.fill(x._a, number)


def _with_numpy(trial: Trial) -> None:
    """The host's memory: what NumPy writes the device sees, and the other way."""
    x, values = _made(trial)
    if x.dtype is dtypes.bfloat16 or x.dtype in dtypes.FLOAT8:
        return  # NumPy has no such dtype
    device = trial.subject.device
    seen = np.from_dlpack(x)
    expect_bits("numpy.from_dlpack", np.array(seen), values)
    if values.size:
        _fill(trial, x, 1)
        expect_bits("NumPy's view after a write", np.array(seen),
                    np.ones_like(values))  # fmt: skip
    ours = values.copy()
    taken = dt.from_dlpack(ours, device=device)
    _expect_same(trial, "from_dlpack of a NumPy array", taken, values)
    if values.size:
        ours[...] = 0
        _expect_same(trial, "a tensor after NumPy wrote its memory", taken, ours)
    ours = values.copy()
    lent = dt.from_dlpack(ours, device=device)
    del ours
    _collect(trial)
    _expect_same(trial, "NumPy's memory after its array is gone", lent, values)


def _expect_refused_export(trial: Trial) -> None:
    x, _ = _made(trial)
    if not x.dtype.is_inexact:
        return
    x.requires_grad = True
    with suppress(BufferError, RuntimeError):
        x.__dlpack__()
        raise Wrong("a tensor that requires grad was exported through DLPack")


# ---- pickles and copies


@device_law("pickling", examples=_laid, rank=51)
def pickling(trial: Trial) -> None:
    """Pickled or deeply copied, tensors keep values, dtype, device, layout and sharing.

    Those that share memory share the new memory, and the old one is left alone.
    """
    x, values = _made(trial)
    if trial.dtype is not None and trial.dtype.is_inexact:
        x.requires_grad = True
    ways: dict[str, Callable[[Any], Any]] = {
        "pickle": lambda a: pickle.loads(pickle.dumps(a)), "deepcopy": copy.deepcopy
    }  # fmt: skip
    for what, way in ways.items():
        made = way(x)
        _expect_same(trial, what, made, values)
        if made.requires_grad != x.requires_grad:
            raise Wrong(f"{what} has requires_grad={made.requires_grad}")
        _expect_strides(what, made, x)
        _expect_sharing(trial, what, way)
    if trial.dtype is dtypes.float32 and trial.example.known["at"] == 0:
        _expect_modules(trial, ways)


def _expect_strides(what: str, made: Tensor, x: Tensor) -> None:
    each = zip(x.shape, made.stride(), x.stride(), strict=True)
    if x.numel() and any(n > 1 and a != b for n, a, b in each):
        raise Wrong(f"{what} has strides {made.stride()}, needed {x.stride()}")


def _expect_sharing(trial: Trial, what: str, way: Callable[[Any], Any]) -> None:
    base = _made(trial)[0].clone()
    if base.ndim < 2 or not base.numel():
        return
    before = trial.subject.values(base)
    first, second = way((base, base.t()[1:]))
    first.fill_(1)
    want = np.ones_like(before).T[1:]
    expect_bits(f"the second of two sharing tensors after {what}",
                trial.subject.values(second), want)  # fmt: skip
    expect_bits(f"the original after {what}", trial.subject.values(base), before)


def _expect_modules(trial: Trial, ways: dict[str, Callable[[Any], Any]]) -> None:
    model = nn.Linear(4, 3, device=trial.subject.device)
    for what, way in ways.items():
        other = way(model)
        for name, parameter in other.named_parameters():
            if type(parameter) is not Parameter or not parameter.requires_grad:
                raise Wrong(f"{what} of a module makes {name} no Parameter")
            want = trial.subject.values(model.state_dict()[name])
            _expect_same(trial, f"{name} after {what} of a module", parameter, want)


# ---- files


@device_law("files", examples=_laid, rank=52)
def files(trial: Trial) -> None:
    """What one device saves another loads, bit for bit, and tensors go on sharing."""
    install()
    x, values = _made(trial)
    assert trial.dtype is not None
    ours, other = trial.subject, Subject(TYPE)
    _expect_loads(ours, other, x, values)
    if ours.backend.type != TYPE:
        back = other.tensor(values, trial.example.layout)
        _expect_loads(other, ours, back, values)
    _expect_loads(ours, ours, x, values)


def _expect_loads(source: Subject, target: Subject, x: Tensor, values: Array) -> None:
    file = bytes_io.BytesIO()
    io.save({"x": x, "rows": x[1:] if x.ndim else x, "n": 3}, file)
    file.seek(0)
    loaded = io.load(file, map_location=target.device)
    what = f"what {source.device} saved and {target.device} loaded"
    if loaded["n"] != 3 or str(loaded["x"].device) != target.device:
        raise Wrong(f"{what} is on {loaded['x'].device}")
    expect_bits(what, target.values(loaded["x"]), values)
    shares = values.ndim and values[1:].size
    if shares and np.unique(x.stride()).size == x.ndim:
        loaded["x"].fill_(1)
        rows = target.values(loaded["rows"])
        expect_bits(f"rows of {what}, after a write", rows, np.ones_like(values[1:]))
