"""Random numbers, bit for bit, and the generators that hand out places in streams."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

import dovetail as dt
from dovetail import dtypes
from dovetail.conformance.budget import Budget
from dovetail.conformance.example import Example
from dovetail.conformance.law import Trial, Wrong, device_law
from dovetail.conformance.laws.bits import expect_bits, rng, sizes
from dovetail.conformance.reference import install
from dovetail.conformance.subject import Subject
from dovetail.dtypes import ANY, Array, DType
from dovetail.engine.generator import generator_of
from dovetail.engine.tensor import Tensor
from dovetail.errors import DovetailError
from dovetail.ops import philox, random_truth
from dovetail.ops import random as ops

# Places in the stream: its start, odd ones, and across 2^32 blocks.
_OFFSETS: Final = (0, 2, 6, 4 * (2**32 - 3), 2**40 + 4)
_ODD_SIZES: Final = (4097, 40960, 40961)  # beyond one grid of many a launch
_ULP: Final = 8.0  # what the law allows normals, of their pair's radius
_SORTED: Final = 4097  # elements of the largest permutation
_HUGE: Final = (1 << 27, 1 << 27)  # more than there is memory anywhere


def _draws(subject: Subject, dtype: DType | None, budget: Budget) -> Iterator[Example]:
    counts = sizes(subject, budget)
    counts += [n for n in _ODD_SIZES if n <= budget.largest]
    for at, count in enumerate(counts):
        known = {"at": at, "n": count, "offset": _OFFSETS[at % len(_OFFSETS)]}
        yield Example(size=str(count), known=known)


def _is_real(subject: Subject, dtype: DType | None) -> bool:
    return dtype in ANY and not dtype.is_complex


@device_law("random", examples=_draws, fits=_is_real, rank=40)
def random(trial: Trial) -> None:
    """Random numbers are the law's: words, uniforms, masks, integers, permutations.

    They do so bit for bit, however many; normal and exponential numbers within 8 ulp.
    """
    dtype, known = trial.dtype, trial.example.known
    assert dtype is not None
    seed = int(rng(trial).integers(0, 1 << 63)) * 2 + 1
    draw = (trial, known["n"], seed, known["offset"])
    if dtype.category == dtypes.BOOL_CATEGORY:
        _masks(*draw)
    elif dtype.is_floating_point:
        _floats(*draw)
    else:
        _whole_numbers(*draw)


def _values(trial: Trial, made: Tensor) -> Array:
    return trial.subject.values(made)


def _masks(trial: Trial, n: int, seed: int, offset: int) -> None:
    kind = trial.subject.kind(dtypes.bool_)
    for p in (0.3, 0.0, 1.0, 2.0**-31):
        got = _values(trial, ops.random_mask((n,), p, seed, offset, kind))
        want = random_truth.mask(n, p, seed, offset)
        expect_bits(f"random_mask({n}, p={p}, {seed}, {offset})", got, want)


def _floats(trial: Trial, n: int, seed: int, offset: int) -> None:
    dtype = trial.dtype
    assert dtype is not None
    kind = trial.subject.kind(dtype)
    got = _values(trial, ops.uniform((n,), 0, 1, seed, offset, kind))
    want = random_truth.uniform(n, seed, offset, dtype)
    expect_bits(f"uniform({n}, {seed}, {offset})", got, want.astype(dtype.numpy))
    if n and not (got < 1).all():
        raise Wrong(f"uniform({n}, {seed}, {offset}) holds 1")
    got = _values(trial, ops.normal((n,), 0, 1, seed, offset, kind))
    normals, radius = random_truth.normal(n, seed, offset, dtype)
    _close(trial, f"normal({n}, {seed}, {offset})", got, normals, radius)
    got = _values(trial, ops.exponential((n,), 1, seed, offset, kind))
    want = random_truth.exponential(n, seed, offset, dtype)
    _close(trial, f"exponential({n}, {seed}, {offset})", got, want, want)


def _close(trial: Trial, what: str, got: Array, want: Array, scale: Array) -> None:
    """Raise beyond 8 ulp of `scale`, in the dtype that the numbers are computed in."""
    dtype = trial.dtype
    assert dtype is not None
    inner = np.float64 if dtype is dtypes.float64 else np.float32
    if got.shape != want.shape:
        raise Wrong(f"{what} has shape {list(got.shape)}, needed {list(want.shape)}")
    allowed = _ULP * np.spacing(scale.astype(inner)).astype(np.float64)
    if dtype in dtypes.HALF:
        allowed = allowed + np.abs(want) * float(dt.finfo(dtype).eps)
        allowed = allowed + dt.finfo(dtype).tiny
    off = np.abs(got.astype(np.float64) - want) > allowed
    if off.any():
        at = int(np.argmax(off))
        raise Wrong(
            f"{what} is {got[at]} at {at}, needed {want[at]} within {allowed[at]:.3g}"
        )


def _whole_numbers(trial: Trial, n: int, seed: int, offset: int) -> None:
    dtype = trial.dtype
    assert dtype is not None
    kind = trial.subject.kind(dtype)
    bits = 8 * dtype.itemsize
    least = -(1 << (bits - 1)) if dtype.is_signed else 0
    for low, high in ((0, 10), (least, least + (1 << bits)), (least, least + 100)):
        got = _values(trial, ops.random_integers((n,), low, high, seed, offset, kind))
        want = random_truth.integers(n, low, high, seed, offset)
        what = f"random_integers({n}, {low}, {high}, {seed}, {offset})"
        expect_bits(what, got, want.astype(dtype.numpy))
    if dtype is dtypes.int32:
        _words_and_orders(trial, n, seed, offset)


def _words_and_orders(trial: Trial, n: int, seed: int, offset: int) -> None:
    kind = trial.subject.kind(dtypes.int32)
    for stream in (0, 1):
        made = philox.random_words(n, seed, offset + 1, stream, kind)
        want = random_truth.words(n, seed, offset + 1, stream).astype(np.uint32)
        what = f"random_words({n}, {seed}, {offset + 1}, {stream})"
        expect_bits(what, _values(trial, made), want.view(np.int32))
    if n <= _SORTED and (n % 2 or n < 8):  # without a kernel, sorting is slow
        got = _values(trial, ops.random_permutation(n, seed, offset, kind))
        want = random_truth.permutation(n, seed, offset).astype(np.int32)
        expect_bits(f"random_permutation({n}, {seed}, {offset})", got, want)


# ---- generators


@device_law("generator", rank=41, per_dtype=False)
def generator(trial: Trial) -> None:
    """A generator's place moves by what was drawn, never by how it was.

    Refused calls draw nothing. Its state can be kept, set and pickled, and two
    devices with one seed agree.
    """
    for claim in (_splits, _state, _refusals, _agreement, _defaults):
        claim(trial)


def _seeded(trial: Trial, seed: int = 1234) -> Any:
    return dt.Generator(device=trial.subject.device).manual_seed(seed)


def _drawn(trial: Trial, make: Callable[..., Tensor], *args: Any, by: Any) -> Array:
    made = make(*args, generator=by, device=trial.subject.device)
    return _values(trial, made)


def _splits(trial: Trial) -> None:
    """Drawing n then m gives the numbers of n + m, n being whole groups of them."""
    for few, second in ((3, 5), (31, 34), (1025, 1), (7, 4096), (2047, 2051)):
        for make, drawing in ((dt.rand, ops.uniform), (dt.randn, ops.normal)):
            group = drawing.op.together
            first = -(-few // group) * group
            words = -(-(first + second) // group) * group
            parts, whole = _seeded(trial), _seeded(trial)
            got = [_drawn(trial, make, n, by=parts) for n in (first, second)]
            want = _drawn(trial, make, first + second, by=whole)
            what = f"{make.__name__}({first}) then ({second})"
            expect_bits(what, np.concatenate(got), want)
            if parts.offset != whole.offset or whole.offset != words:
                raise Wrong(
                    f"{what} moved the generator to {parts.offset}, one draw to "
                    f"{whole.offset}, needed {words}"
                )
    flat, shaped = _seeded(trial), _seeded(trial)
    expect_bits("rand(6, 7)", _drawn(trial, dt.rand, 6, 7, by=shaped),
                _drawn(trial, dt.rand, 42, by=flat).reshape(6, 7))  # fmt: skip


def _state(trial: Trial) -> None:
    """What follows a kept, pickled or cloned state is the same again."""
    g = _seeded(trial)
    _drawn(trial, dt.rand, 5, by=g)
    again = {"pickle": pickle.loads(pickle.dumps(g)), "clone_state": g.clone_state()}
    if dt.is_available("cpu"):  # where states are
        fresh = dt.Generator(device=trial.subject.device)
        again["set_state"] = fresh.set_state(g.get_state())
    want = _drawn(trial, dt.rand, 9, by=g)
    for what, other in again.items():
        expect_bits(f"rand after {what}", _drawn(trial, dt.rand, 9, by=other), want)


def _refusals(trial: Trial) -> None:
    g = _seeded(trial)
    device = trial.subject.device
    calls: dict[str, Callable[[], Any]] = {
        "rand(-1)": lambda: dt.rand(-1, generator=g, device=device),
        "rand(3, dtype=int32)": lambda: dt.rand(
            3, generator=g, device=device, dtype=dtypes.int32
        ),
        "randint(5, 5)": lambda: dt.randint(5, 5, (3,), generator=g, device=device),
        "randperm(-1)": lambda: dt.randperm(-1, generator=g, device=device),
        "rand of 2^54": lambda: dt.rand(_HUGE, generator=g, device=device),
        "randn of 2^54": lambda: dt.randn(_HUGE, generator=g, device=device),
        "randint of 2^54": lambda: dt.randint(9, _HUGE, generator=g, device=device),
    }
    for what, call in calls.items():
        try:
            call()
        except (DovetailError, RuntimeError, ValueError, TypeError, MemoryError):
            if g.offset:
                raise Wrong(f"{what} was refused but took {g.offset} words") from None
            continue
        raise Wrong(f"{what} ran, needed an error")


def _agreement(trial: Trial) -> None:
    """The reference, and other indices of the device, draw the same numbers."""
    install()
    subject = trial.subject
    places = [f"{subject.backend.type}:{d.index}" for d in subject.backend.devices()]
    want = _drawn(trial, dt.rand, 100, by=_seeded(trial, -5))
    for place in [*places, "reference"]:
        other = dt.Generator(device=place).manual_seed(-5)
        made = dt.rand(100, generator=other, device=place)
        expect_bits(f"rand(100) on {place}", Subject(place).values(made), want)


def _defaults(trial: Trial) -> None:
    """`manual_seed` starts the device's default generator, too."""
    device = trial.subject.device
    before = generator_of(device).clone_state()
    try:
        want = _values(trial, dt.rand(8, device=device, generator=_seeded(trial, 3)))
        for _ in range(2):
            generator_of(device).manual_seed(3)
            expect_bits("rand(8) of the default generator after manual_seed(3)",
                        _values(trial, dt.rand(8, device=device)), want)  # fmt: skip
    finally:
        generator_of(device)._set(before.initial_seed(), before.offset)
