"""Cross entropy on devices: a block of threads for each sample, and nothing beside.

Backward, a thread for each logit. Losses and their weights are in the dtype that
kernels compute in; logits, logarithms and gradients as arrays have them.
"""

from __future__ import annotations

from typing import Any, Final

from dovetail.codegen import pointwise
from dovetail.codegen.accumulation import accumulator
from dovetail.codegen.formats import computed_in, in_memory, narrowed, widened
from dovetail.codegen.ir import (
    FIRST,
    LAST,
    Accumulator,
    Buffer,
    Kernel,
    Loop,
    Store,
    Update,
)
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

_SIZES: Final = (("classes", "int64"), ("places", "int64"), ("ignored", "int64"))
"""The parameters: classes, samples that lie side by side, and what is no class."""


def losses(dtype: str, label: str, there: tuple[bool, ...]) -> Kernel:
    """What each sample adds to the loss, with its weight and all its logarithms.

    Items: samples.

    Args:
        label: the dtype of classes.
        there: which there are of these buffers: logits, classes, weights of classes;
            then what is written: losses, weights of samples, logarithms.
    """
    wide = computed_in(dtype)
    kinds = (in_memory(dtype), label, in_memory(dtype), wide, wide, in_memory(dtype))
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
    top, total = accumulator("maximum", wide), accumulator("add", wide)

    def logit(number: Term) -> Term:
        place = begin + number * parameter("places")
        return widened(load(x, place), dtype)

    def less(number: Term) -> Term:
        return logit(number) - Term(top.value)

    most = Update(top, logit(c).value)
    added = Update(total, _done("exp", less(c)).value)
    body: list[Any] = [
        Loop("lane", c.value, zero, classes, (most,), (top,)),
        Loop("lane", c.value, zero, classes, (added,), (total,)),
    ]
    spread = _done("log", Term(total.value))
    valid, number = _label(target, sample)
    used = _weight(weight, valid, number, dtype)
    loss = (less(number) - spread) * used
    kept = choose(valid, constant(0, wide) - loss, constant(0, wide))
    if logs is not None:
        place = begin + c * parameter("places")
        log = narrowed(less(c) - spread, dtype)
        store = Store(logs, place.value, log.value)
        body.append(Loop("lane", c.value, zero, classes, (store,)))
    body.append(Store(losses, sample.value, kept.value))
    if weights is not None:
        body.append(Store(weights, sample.value, used.value))
    buffers = tuple([b for b in (x, target, weight, losses, weights, logs) if b])
    grid = Loop("grid", sample.value, FIRST, LAST, tuple(body))
    return Kernel(f"losses_{dtype}", buffers, _SIZES, (grid,))


def added(dtype: str, means: bool) -> Kernel:
    """The sum of all losses; with `means`, over that of their weights. One item.

    Buffers: losses; with `means` their weights; then the result. Parameter: how many.
    """
    wide = computed_in(dtype)
    losses, weights = Buffer("losses", wide), Buffer("weights", wide)
    out, at = Buffer("y", in_memory(dtype), True), index("sample")
    total, whole = accumulator("add", wide), accumulator("add", wide)
    body = [_over_samples(Update(total, load(losses, at).value), at, total)]
    y = Term(total.value)
    if means:
        body.append(_over_samples(Update(whole, load(weights, at).value), at, whole))
        y = apply("div", y, Term(whole.value))
    store = Store(out, constant(0, "int64").value, narrowed(y, dtype).value)
    buffers = (losses, weights, out) if means else (losses, out)
    grid = Loop("grid", index("one").value, FIRST, LAST, (*body, store))
    name = f"{'mean' if means else 'sum'}_of_losses_{dtype}"
    return Kernel(name, buffers, (("samples", "int64"),), (grid,))


def whole_weight(dtype: str, label: str, weighted: bool) -> Kernel:
    """The sum of the weights of all samples. One item.

    Buffers: classes, their weights if `weighted`, then the result. Parameters: those
    of all forms, and how many samples there are.
    """
    wide = computed_in(dtype)
    target, out = Buffer("target", label), Buffer("whole", wide, True)
    weight = Buffer("weight", in_memory(dtype)) if weighted else None
    at, total = index("sample"), accumulator("add", wide)
    used = _weight(weight, *_label(target, at), dtype)
    body = _over_samples(Update(total, used.value), at, total)
    store = Store(out, constant(0, "int64").value, total.value)
    buffers = tuple([b for b in (target, weight, out) if b])
    grid = Loop("grid", index("one").value, FIRST, LAST, (body, store))
    words = (*_SIZES, ("samples", "int64"))
    return Kernel(f"whole_weight_{dtype}", buffers, words, (grid,))


def _over_samples(update: Update, at: Term, total: Accumulator) -> Loop:
    zero, end = constant(0, "int64").value, parameter("samples").value
    return Loop("lane", at.value, zero, end, (update,), (total,))


def used_weights(dtype: str, label: str, weighted: bool) -> Kernel:
    """The weight of each sample. Items: samples.

    Args:
        weighted: whether classes have weights.
    """
    target = Buffer("target", label)
    out = Buffer("used", computed_in(dtype), True)
    weight = Buffer("weight", in_memory(dtype)) if weighted else None
    at = index("lane")
    used = _weight(weight, *_label(target, at), dtype)
    buffers = tuple([b for b in (target, weight, out) if b])
    loop = Loop("lane", at.value, FIRST, LAST, (Store(out, at.value, used.value),))
    return Kernel(f"used_weights_{dtype}", buffers, _SIZES, (loop,))


def slopes(dtype: str, label: str, there: tuple[bool, ...], each: bool) -> Kernel:
    """Probability, less one at the class, times the sample's share of the loss.

    Items: logits.

    Args:
        there: which there are of these buffers: the gradient of the loss, classes,
            logarithms, weights of classes, the sum of weights; then the result.
        each: whether the loss has a number for each sample.
    """
    wide, held = computed_in(dtype), in_memory(dtype)
    ct, target, logp = Buffer("ct", held), Buffer("target", label), Buffer("x", held)
    weight = Buffer("weight", held) if there[3] else None
    total = Buffer("total", wide) if there[4] else None
    out, at = Buffer("y", held, True), index("lane")
    places, zero = parameter("places"), constant(0, wide)
    line = apply("div", at, places)
    image = apply("div", line, parameter("classes"))
    number = line - image * parameter("classes")
    sample = image * places + (at - line * places)
    valid, chosen = _label(target, sample)
    used = _weight(weight, valid, chosen, dtype)
    first = constant(0, "int64")
    scale = widened(load(ct, sample if each else first), dtype) * used
    scale = choose(compare("eq", used, 0), zero, scale)  # not 0 * inf
    if total is not None:
        whole = load(total, first)
        whole = choose(compare("eq", whole, 0), constant(1, wide), whole)
        scale = apply("div", scale, whole)
    here = valid & compare("eq", number, chosen)
    share = _done("exp", widened(load(logp, at), dtype))
    slope = narrowed(share * scale - choose(here, scale, zero), dtype)
    buffers = tuple([b for b in (ct, target, logp, weight, total, out) if b])
    loop = Loop("lane", at.value, FIRST, LAST, (Store(out, at.value, slope.value),))
    return Kernel(f"slopes_{dtype}", buffers, _SIZES, (loop,))


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
    wide = computed_in(dtype)
    one = constant(1, wide) if weight is None else widened(load(weight, label), dtype)
    return choose(valid, one, constant(0, wide))
