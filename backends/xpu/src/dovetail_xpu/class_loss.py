"""Cross entropy: a block of threads for each sample, and no memory for probabilities.

Backward, a thread for each logit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from dovetail.codegen import pointwise
from dovetail.codegen.accumulation import accumulator
from dovetail.codegen.ir import FIRST, LAST, Buffer, Kernel, Loop, Store, Update
from dovetail.codegen.program import Step
from dovetail.codegen.values import (
    Term,
    apply,
    cast,
    choose,
    compare,
    constant,
    index,
    load,
    parameter,
)
from dovetail.device_api import KernelTable
from dovetail.dtypes import DType, float32, float64
from dovetail.xp.classes import class_dim
from dovetail_xpu.elementwise import Elementwise
from dovetail_xpu.lanes import lane, lane_kernel
from dovetail_xpu.launch import THREADS, Launchable, Launcher
from dovetail_xpu.memory import XpuArray
from dovetail_xpu.primitives import copier
from dovetail_xpu.reductions import Reductions

_BLOCK: Final = 64
_BLOCKS: Final = 1 << 16
_SIZES: Final = (("classes", "int64"), ("places", "int64"), ("ignored", "int64"))


def install(table: KernelTable, launcher: Launcher, claimed: frozenset[DType]) -> None:
    """Add them to a table."""
    for dtype in sorted(claimed & {float32, float64}, key=str):
        losses = Losses(launcher, dtype)
        table.add("cross_entropy", losses.forward, dtypes=[dtype])
        table.add("log_softmax_nll", losses.with_logs, dtypes=[dtype])
        table.add("cross_entropy_backward", losses.backward, dtypes=[dtype])


class Losses:
    """The kernels of cross entropy in one dtype, by what there is beside logits."""

    def __init__(self, launcher: Launcher, dtype: DType) -> None:
        self.launcher = launcher
        self.dtype = dtype
        self.copy = copier(launcher)
        self.reduce = Reductions(launcher)
        self.divide = Elementwise(
            launcher, lambda a, b: apply("div", a, b), (dtype, dtype), dtype
        )
        self._kernels: dict[Any, Launchable] = {}

    def forward(self, *given: Any, **choices: Any) -> XpuArray:
        """The loss."""
        return self._forward(False, *given, **choices)[0]

    def with_logs(self, *given: Any, **choices: Any) -> tuple[XpuArray, XpuArray]:
        """The loss, and the logarithms of probabilities."""
        y, logs = self._forward(True, *given, **choices)
        assert logs is not None
        return y, logs

    def _forward(
        self, keeps: bool, x: XpuArray, target: XpuArray, weight: XpuArray | None,
        ignore_index: int, reduction: str,
    ) -> tuple[XpuArray, XpuArray | None]:  # fmt: skip
        x, target = self._dense(x), self._dense(target)
        losses = self._fresh(target)
        logs = self._fresh(x) if keeps else None
        means = reduction == "mean"
        weights = self._fresh(target) if means else None
        arrays = [x, target, weight, losses, weights, logs]
        words = [*_sizes(x), ignore_index]
        there = tuple([a is not None for a in arrays])
        key = _losses, self.dtype.name, target.dtype.name, there
        blocks = min(target.size, _BLOCKS)
        self._launch(key, _BLOCK, arrays, words, target.size, blocks)
        if reduction == "none":
            return losses, logs
        y = self._total(losses)
        if weights is not None:
            y = self.divide(y, self._total(weights))
        return y, logs

    def backward(
        self, ct: XpuArray, target: XpuArray, logp: XpuArray, weight: XpuArray | None,
        ignore_index: int, reduction: str,
    ) -> XpuArray:  # fmt: skip
        """The gradient of the logits."""
        ct, target, logp = self._dense(ct), self._dense(target), self._dense(logp)
        total = None
        words = [*_sizes(logp), ignore_index]
        if reduction == "mean":
            used = self._fresh(target)
            arrays = [target, weight, used]
            key = _weights, self.dtype.name, target.dtype.name, weight is not None
            self._flat(key, arrays, words, target.size)
            total = self._total(used)
        made = self._fresh(logp)
        arrays = [ct, target, logp, weight, total, made]
        there = tuple([a is not None for a in arrays])
        key = _slopes, self.dtype.name, target.dtype.name, there, reduction == "none"
        self._flat(key, arrays, words, logp.size)
        return made

    def _total(self, x: XpuArray) -> XpuArray:
        return self.reduce("add", x, None, False, self.dtype)

    def _dense(self, x: XpuArray) -> XpuArray:
        return x if x.dense else self.copy(x)

    def _fresh(self, like: XpuArray) -> XpuArray:
        return self.launcher.fresh(like.shape, self.dtype, like.device.index)

    def _flat(self, key: Any, arrays: Any, words: list[int], count: int) -> None:
        self._launch(key, THREADS, arrays, words, count, -(-count // THREADS))

    def _launch(
        self, key: Any, threads: int, arrays: Any, words: list[int], count: int,
        blocks: int,
    ) -> None:  # fmt: skip
        if not count:
            return
        found = self._kernels.get(key)
        if found is None:
            form: Callable[[], Kernel] = partial(*key)
            found = self._kernels[key] = Launchable(form, threads)
        given = [self._dense(a) for a in arrays if a is not None]
        stream = self.launcher.stream(given[0].device.index)
        found.launch(stream, [*[a.address for a in given], *words, 0, count], blocks)


def _sizes(x: XpuArray) -> list[int]:
    """How many classes there are, and how many samples lie side by side."""
    dim = class_dim(len(x.shape))
    return [x.shape[dim], math.prod(x.shape[dim + 1 :])]


def _done(op: str, x: Term) -> Term:
    """A function of one number."""
    return pointwise.done(Step(op, (0,), x.dtype), [x])


def _begin(sample: Term) -> Term:
    """Where the first logit of a sample is."""
    places = parameter("places")
    image = apply("div", sample, places)
    return image * places * parameter("classes") + (sample - image * places)


def _label(target: Buffer, sample: Term) -> tuple[Term, Term]:
    """Whether a sample counts, and its class, within the classes that there are."""
    label = cast(load(target, sample), "int64")
    valid = compare("ne", label, parameter("ignored"))
    zero = constant(0, "int64")
    safe = apply("minimum", choose(valid, label, zero), parameter("classes") - 1)
    return valid, apply("maximum", safe, zero)


def _weight(weight: Buffer | None, valid: Term, label: Term, dtype: str) -> Term:
    """The weight of a sample: that of its class, 0 where it does not count."""
    one = constant(1, dtype) if weight is None else load(weight, label)
    return choose(valid, one, constant(0, dtype))


def _losses(dtype: str, label: str, there: tuple[bool, ...]) -> Kernel:
    """What each sample adds to the loss, with its weight and all its logarithms."""
    kinds = (dtype, label, dtype, dtype, dtype, dtype)
    names = ("x", "target", "weight", "losses", "weights", "logs")
    written = (False, False, False, True, True, True)
    x, target, weight, losses, weights, logs = (
        Buffer(name, kind, w) if here else None
        for name, kind, w, here in zip(names, kinds, written, there, strict=True)
    )
    assert x is not None
    assert target is not None
    assert losses is not None
    sample, c = index("sample"), index("c")
    begin, classes = _begin(sample), parameter("classes").value
    zero = constant(0, "int64").value
    top, total = accumulator("maximum", dtype), accumulator("add", dtype)

    def logit(number: Term) -> Term:
        return load(x, begin + number * parameter("places")) - Term(top.value)

    most = Update(top, load(x, begin + c * parameter("places")).value)
    added = Update(total, _done("exp", logit(c)).value)
    body: list[Any] = [
        Loop("lane", c.value, zero, classes, (most,), (top,)),
        Loop("lane", c.value, zero, classes, (added,), (total,)),
    ]
    spread = _done("log", Term(total.value))
    valid, number = _label(target, sample)
    used = _weight(weight, valid, number, dtype)
    loss = (logit(number) - spread) * used
    kept = choose(valid, constant(0, dtype) - loss, constant(0, dtype))
    if logs is not None:
        place = begin + c * parameter("places")
        store = Store(logs, place.value, (logit(c) - spread).value)
        body.append(Loop("lane", c.value, zero, classes, (store,)))
    body.append(Store(losses, sample.value, kept.value))
    if weights is not None:
        body.append(Store(weights, sample.value, used.value))
    buffers = tuple([b for b in (x, target, weight, losses, weights, logs) if b])
    grid = Loop("grid", sample.value, FIRST, LAST, tuple(body))
    return Kernel("k", buffers, _SIZES, (grid,))


def _weights(dtype: str, label: str, weighted: bool) -> Kernel:
    """The weight of each sample."""
    target, out = Buffer("target", label), Buffer("used", dtype, True)
    weight = Buffer("weight", dtype) if weighted else None
    at = lane()
    used = _weight(weight, *_label(target, at), dtype)
    buffers = [b for b in (target, weight, out) if b]
    return lane_kernel(buffers, _SIZES, at, [Store(out, at.value, used.value)])


def _slopes(dtype: str, label: str, there: tuple[bool, ...], each: bool) -> Kernel:
    """Probability, less one at the class, times the sample's share of the loss."""
    ct, target, logp = Buffer("ct", dtype), Buffer("target", label), Buffer("x", dtype)
    weight = Buffer("weight", dtype) if there[3] else None
    total = Buffer("total", dtype) if there[4] else None
    out, at = Buffer("y", dtype, True), lane()
    places, zero = parameter("places"), constant(0, dtype)
    line = apply("div", at, places)
    image = apply("div", line, parameter("classes"))
    number = line - image * parameter("classes")
    sample = image * places + (at - line * places)
    valid, chosen = _label(target, sample)
    used = _weight(weight, valid, chosen, dtype)
    first = constant(0, "int64")
    scale = load(ct, sample if each else first) * used
    scale = choose(compare("eq", used, 0), zero, scale)  # not 0 * inf
    if total is not None:
        whole = load(total, first)
        whole = choose(compare("eq", whole, 0), constant(1, dtype), whole)
        scale = apply("div", scale, whole)
    here = valid & compare("eq", number, chosen)
    slope = _done("exp", load(logp, at)) * scale - choose(here, scale, zero)
    buffers = [b for b in (ct, target, logp, weight, total, out) if b]
    return lane_kernel(buffers, _SIZES, at, [Store(out, at.value, slope.value)])
