"""Random kernels and generators that are wrong."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

import numpy as np
from tests.meta.mutants.mutant import Mutant, Run, after, core, kernel

import dovetail as dt
from dovetail.conformance.subject import Subject
from dovetail.engine.generator import Generator
from dovetail.engine.op import vocabulary
from dovetail.errors import DovetailError

Array = np.ndarray[Any, Any]
Attrs = dict[str, Any]


def _always(**changes: Any) -> Any:
    def fault(run: Run, natives: list[Any], attrs: Attrs) -> Any:
        return run(*natives, **{**attrs, **changes})

    return fault


def _from_next(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    return run(*natives, **{**attrs, "offset": attrs["offset"] + 1})


def _short_seed(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    return run(*natives, **{**attrs, "seed": attrs["seed"] & 0xFFFF_FFFF})


def _short_offset(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    return run(*natives, **{**attrs, "offset": attrs["offset"] & 0xFFFF_FFFF})


def _repeats(y: Array, *natives: Any, **attrs: Any) -> Array:
    """Every launch of 1024 numbers starts anew."""
    flat = np.array(y).reshape(-1)
    return flat[np.arange(flat.size) % 1024].reshape(y.shape)


def _up_to_one(y: Array, *natives: Any, **attrs: Any) -> Array:
    """Rounded to ten bits."""
    if y.dtype.itemsize < 4:
        return y
    return (np.round(y.astype(np.float64) * 1024) / 1024).astype(y.dtype)


def _sorted_tail(y: Array, *natives: Any, **attrs: Any) -> Array:
    """The last element never moves."""
    made = np.array(y)
    if made.size > 2:
        at = int(np.argmax(made))
        made[at], made[-1] = made[-1], made[at]
    return made


def _kept_scale(y: Any, *natives: Any, **attrs: Any) -> Any:
    """What is kept is not scaled up."""
    values, mask = y
    return np.asarray(values * (1 - attrs["p"])).astype(values.dtype), mask


def _other_mask(y: Any, *natives: Any, **attrs: Any) -> Any:
    """The mask for the gradient is another one than was used."""
    values, mask = y
    return values, np.array(np.roll(mask, 1))


# ---- generators

_spend = Generator.spend
_set_state = Generator.set_state
_manual_seed = Generator.manual_seed
_clone_state = Generator.clone_state


def _stale(self: Any, words: int, align: int, make: Any) -> Any:
    before = self._offset
    try:
        return _spend(self, words, align, make)
    finally:
        self._offset = before


def _by_one(self: Any, words: int, align: int, make: Any) -> Any:
    return _spend(self, words + 1, align, make)


def _per_call(self: Any, words: int, align: int, make: Any) -> Any:
    """Each draw takes whole groups of 32 words."""
    return _spend(self, -(-words // 32) * 32, align, make)


def _even_if_refused(self: Any, words: int, align: int, make: Any) -> Any:
    """A refused call has taken its words."""
    try:
        return _spend(self, words, align, make)
    except BaseException:
        self._offset += words
        raise


def _seed_only(self: Any, state: Any) -> Any:
    _set_state(self, state)
    self._offset = 0
    return self


def _keeps_place(self: Any, seed: int) -> Any:
    offset = self._offset
    _manual_seed(self, seed)
    self._offset = offset
    return self


def _fresh_clone(self: Any) -> Any:
    made = _clone_state(self)
    made._offset = 0
    return made


def _draws(subject: Subject) -> Any:
    g = dt.Generator(device=subject.device).manual_seed(7)

    def rand(by: Any) -> Array:
        return subject.values(dt.rand(5, generator=by, device=subject.device))

    first = [rand(g), rand(g)]
    state, clone = g.get_state(), g.clone_state()
    then = rand(g)
    other = dt.Generator(device=subject.device).set_state(state)
    again = [rand(other), rand(clone)]
    g.manual_seed(7)
    return [*first, then, *again, rand(g)]


def _many(subject: Subject) -> Any:
    g = dt.Generator(device=subject.device).manual_seed(7)
    return subject.values(dt.rand(3000, generator=g, device=subject.device))


def _dropped(subject: Subject) -> Any:
    """A result and its gradient."""
    x = subject.tensor(np.ones(50, np.float32))
    x.requires_grad = True
    found = vocabulary["random_dropout"].function(x, 0.5, 3, 0)
    y = found[0] if isinstance(found, tuple) else found
    y.sum().backward()
    assert x.grad is not None
    return [subject.values(y.detach()), subject.values(x.grad)]


def _split(subject: Subject) -> Any:
    g = dt.Generator(device=subject.device).manual_seed(7)
    dt.rand(3, generator=g, device=subject.device)
    first = subject.values(dt.rand(3, generator=g, device=subject.device))
    before = g.offset
    with suppress(DovetailError, RuntimeError, ValueError):
        dt.rand(-1, generator=g, device=subject.device)
    return [first, before, g.offset]


def generator(name: str, describes: str, method: str, broken: Any) -> Mutant:
    """A mutant of the generator's class."""
    observe = _split if method == "spend" else _draws
    laws = ("generator", "random")
    return core(name, describes, Generator, method, broken, observe, laws=laws)


RANDOMNESS: Final[list[Mutant]] = [
    kernel("random/uniform-stale", "uniform", "the place in the stream is not heeded",
           _always(offset=0)),
    kernel("random/words-off-by-one", "random_words", "one word further on",
           _from_next),
    kernel("random/seed-of-32-bits", "uniform normal random_words", "half of the seed",
           _short_seed),
    kernel("random/offset-of-32-bits", "uniform random_words", "half of the place",
           _short_offset),
    kernel("random/uniform-repeats", "uniform", "every 1024 numbers the same again",
           after(_repeats), observe=_many, dtypes=("float32",)),
    kernel("random/uniform-of-ten-bits", "uniform", "1024 different numbers",
           after(_up_to_one)),
    kernel("random/normal-narrow", "normal", "the deviation is always 1",
           _always(std=1.0)),
    kernel("random/permutation-keeps-the-last", "random_permutation",
           "the last element stays", after(_sorted_tail)),
    kernel("random/mask-inverted", "random_mask", "True and False changed places",
           after(lambda y, *a, **k: np.asarray(y == 0).astype(y.dtype))),
    kernel("random/integers-never-high", "random_integers", "the highest never comes",
           lambda run, natives, attrs: run(
               *natives, **{**attrs, "high": attrs["high"] - 1})),
    kernel("random/dropout-unscaled", "random_dropout", "what is kept is not scaled",
           after(_kept_scale), observe=_dropped),
    kernel("random/dropout-other-mask", "random_dropout", "its mask is not that of its "
           "result", after(_other_mask), observe=_dropped),
    generator("random/generator-stands-still", "drawing does not move it", "spend",
              _stale),
    generator("random/generator-by-one", "a word too many for each draw", "spend",
              _by_one),
    generator("random/generator-in-groups", "whole groups of 32", "spend", _per_call),
    generator("random/state-without-place", "set_state starts anew", "set_state",
              _seed_only),
    generator("random/seed-keeps-the-place", "manual_seed goes on where it was",
              "manual_seed", _keeps_place),
    generator("random/clone-starts-anew", "a clone has the seed alone", "clone_state",
              _fresh_clone),
]  # fmt: skip
