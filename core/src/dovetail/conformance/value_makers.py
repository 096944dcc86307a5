"""How the values of each class are made of ordinary ones."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from dovetail.conformance.formats import BOOL, INT, limits
from dovetail.dtypes import Array, DType

Generator = np.random.Generator
SPARSE: Final = 0.05  # the share of what is to stand out
# Of words, and what is beside them: a shift by all bits is none on some machines.
_WIDTHS: Final = (8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65)
# Where other formats count no further: of bytes, words and the digits of floats.
_ENDS: Final = (
    127,
    255,
    1 << 11,
    32767,
    65535,
    1 << 24,
    (1 << 31) - 1,
    1 << 32,
    1 << 53,
)
_BESIDE: Final = (-1, 0, 1)
_SIGNS: Final = (1, -1)
_CROWD: Final = 16  # integers on either side of one, that are drawn together
MASKS: Final = (-np.inf, -np.inf, np.inf, np.nan)


def mixed(a: Array, pool: list[Any], random: Generator, share: float = 0.5) -> Array:
    """`a` with some of its elements, one at least, replaced from the pool."""
    chosen = random.choice(np.asarray(pool, a.dtype), a.shape)
    where = np.asarray(random.random(a.shape) < share)
    where.flat[random.integers(a.size)] = True
    found: Array = np.where(where, chosen, a)
    return found


def as_drawn(a: Array, random: Generator, dtype: DType) -> Array:
    return a


def special(a: Array, random: Generator, dtype: DType) -> Array:
    return mixed(a, [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0], random)


def few(a: Array, random: Generator, dtype: DType) -> Array:
    """Infinities, NaN and signed zeros here and there among ordinary numbers."""
    made = mixed(a, [np.nan, np.inf, -np.inf, -0.0], random, SPARSE)
    made.flat[random.integers(a.size)] = random.choice([np.inf, -np.inf])
    return made


def lone(a: Array, random: Generator, dtype: DType) -> Array:
    """One special value in each row: in its last place, then in each other in turn.

    That in the very last place is NaN, which tails lose. Some are numbers that all
    others are small beside.
    """
    made = a.copy() if a.ndim else a.reshape(1).copy()
    rows = made.reshape(-1, made.shape[-1])
    places = (np.arange(len(rows)) - 1) % made.shape[-1]
    vast = towering(dtype)
    chosen = random.choice([np.nan, np.inf, -np.inf, vast, -vast], len(rows))
    chosen[:1] = np.nan
    rows[np.arange(len(rows)), places] = chosen.astype(a.dtype)
    return rows.reshape(a.shape)


def towering(dtype: DType) -> float:
    """A number whose square fits the format, as does its difference from others."""
    return float(2.0 ** np.floor(0.45 * np.log2(float(limits(dtype).max))))


def nan(a: Array, random: Generator, dtype: DType) -> Array:
    """A few among ordinary numbers, and no infinities that make more of them.

    Of either sign and any payload, all of them quiet.
    """
    where = np.isnan(mixed(a, [np.nan], random, SPARSE))
    words = np.dtype(f"u{a.dtype.itemsize}")
    made = np.array(a, order="C")
    quiet = np.asarray(np.nan, a.dtype).view(words).item()
    sign = 1 << (8 * words.itemsize - 1)
    payloads = random.integers(0, 1 << max(limits(dtype).nmant - 1, 0), a.shape)
    signs = random.integers(0, 2, a.shape).astype(words) * words.type(sign)
    bits = words.type(quiet | sign) ^ signs | payloads.astype(words)
    np.copyto(made.view(words), bits, where=where)
    return made


def masked(a: Array, random: Generator, dtype: DType) -> Array:
    """A whole slice of -∞, ∞ or NaN along a dim, -∞ as often as the two."""
    return _slices(a, [*MASKS], random)


def flat(a: Array, random: Generator, dtype: DType) -> Array:
    """A whole slice of one number along a dim, of a zero of either sign for one."""
    if dtype.category == BOOL:
        return _slices(a, [True, False], random)
    zeros = [0.0, -0.0] if dtype.is_floating_point else [0]
    return _slices(a, [a.reshape(-1)[0], *zeros], random)


def _slices(a: Array, pool: list[Any], random: Generator) -> Array:
    """`a` with the first, the last or any slice along its longest or any dim filled."""
    made = a.copy()
    if not a.ndim:
        return np.full_like(a, pool[0])
    dims = [d for d in range(a.ndim) if a.shape[d] > 1] or [0]
    for _ in range(2 if a.ndim > 1 else 1):
        dim = int(random.choice(dims))
        at = tuple(
            slice(None) if d == dim else int(random.choice([0, n - 1, n // 2]))
            for d, n in enumerate(a.shape)
        )
        made[at] = random.choice(np.asarray(pool, a.dtype))
    return made


def zeros(a: Array, random: Generator, dtype: DType) -> Array:
    pool = [0.0, -0.0] if dtype.is_floating_point else [0]
    return mixed(a, pool, random)


def subnormal(a: Array, random: Generator, dtype: DType) -> Array:
    tiny = limits(dtype).smallest_subnormal
    return mixed(a, [tiny, -tiny, 3 * tiny, 0.0], random)


def extreme(a: Array, random: Generator, dtype: DType) -> Array:
    info = limits(dtype)
    pool = [info.max, info.min, info.max, 1]
    if dtype.category == INT:
        pool.append(info.max - 1)  # a wider format may take it for its neighbour
    if dtype.is_floating_point:
        pool += [info.smallest_normal, 1 + float(info.eps)]
    return mixed(a, pool, random, 0.3)


def great(a: Array, random: Generator, dtype: DType) -> Array:
    """Numbers whose squares leave the format, upwards; the modulus of two does not."""
    reach = np.log2(float(limits(dtype).max)) * random.uniform(0.55, 0.9, a.shape)
    where = np.asarray(random.random(a.shape) < 0.5)
    where.flat[random.integers(a.size)] = True
    wide = a.astype(np.float64)
    return np.where(where, np.copysign(2.0**reach, wide), wide)


def balanced(a: Array, random: Generator, dtype: DType) -> Array:
    """Numbers of which half a line leaves the format, and a whole one comes to little.

    Along each dim the second half is the first one, mirrored and of the other sign. In
    the middle all is as it was.
    """
    made = random.uniform(0.3, 0.6, a.shape) * float(limits(dtype).max)
    for d, n in enumerate(a.shape):
        place = np.arange(n)
        sign = np.sign(n - 1 - 2 * place).reshape(-1, *(1,) * (a.ndim - d - 1))
        made = np.take(made, np.minimum(place, n - 1 - place), axis=d) * sign
    return np.where(made == 0, a, made)


def ties(a: Array, random: Generator, dtype: DType) -> Array:
    """Two or three different values in all, zeros that differ in sign among some."""
    pool = list(a.reshape(-1)[:2])
    if dtype.is_floating_point and random.random() < 0.5:
        pool += [0.0, -0.0]
    tied: Array = random.choice(np.asarray(pool, a.dtype), a.shape)
    return tied


def rare(a: Array, random: Generator, dtype: DType) -> Array:
    """All the same but for one: the last, where tails are lost, or any."""
    few = dtype.category == BOOL
    made = np.full_like(a, random.random() < 0.5 if few else a.reshape(-1)[0])
    made.flat[random.choice(np.array([-1, random.integers(a.size)]))] ^= True
    return made


def exact(a: Array, random: Generator, dtype: DType) -> Array:
    """Small multiples of a quarter: sums and products are exact in every order."""
    quarters: Array = np.round(np.clip(a.astype(np.float64), -4, 4) * 4) / 4
    return np.where(quarters == 0, 0.25, quarters)


def wide(a: Array, random: Generator, dtype: DType) -> Array:
    """Magnitudes over many powers of two; of integers, products that pass 2^31."""
    if dtype.category == INT:
        return _wide_integers(a, random, dtype)
    reach = 6 if dtype.itemsize == 2 else 20
    spread: Array = a.astype(np.float64) * 2.0 ** random.integers(
        -reach, reach, a.shape
    )
    return spread


def _wide_integers(a: Array, random: Generator, dtype: DType) -> Array:
    info = limits(dtype)
    bits = np.log2(float(info.max))
    reach = np.where(random.random(a.shape) < 0.5, min(bits, 17.0), bits)
    size = 2.0 ** (reach * random.uniform(0.5, 0.99, a.shape))
    signs = random.choice([-1.0, 1.0], a.shape) if dtype.is_signed else 1.0
    return np.asarray(np.trunc(size * signs))


def shifted(a: Array, random: Generator, dtype: DType) -> Array:
    """A large mean with a small spread, of numbers that the op takes."""
    wide = a.astype(np.complex128 if dtype.is_complex else np.float64)
    centre = wide.reshape(-1)[int(np.argmax(np.abs(wide)))]
    # Of the spread, some twenty ulp at least are to be left.
    most = max(limits(dtype).nmant - 4, 3)
    ratio = 2.0 ** random.integers(3, min(most, 12) + 1)
    return np.asarray(centre + (wide - centre) / ratio)


def paired(a: Array, random: Generator, dtype: DType) -> Array:
    """Ordinary numbers with zeros, of which the other operands have other signs."""
    return mixed(a, [0], random, 0.2)


def pool(dtype: DType) -> Array:
    """Numbers of which each has to meet each other in ops of several operands."""
    info = limits(dtype)
    found: list[Any] = [0, 1, 2, 3, info.max]
    if dtype.is_signed or dtype.is_floating_point:
        found += [-1, -2, info.min]
    if dtype.category == INT:
        found += [info.max - 1, 7]
        found += [x for x in _WIDTHS if x <= 8 * dtype.itemsize + 1]
    if dtype.is_floating_point:
        found += [-0.0, 0.5, -0.5, 1.5, np.inf, -np.inf, np.nan]
        found += [info.smallest_normal, info.smallest_subnormal]
    return np.array(found, dtype.numpy)


def pairs(a: Array, random: Generator, dtype: DType) -> Array:
    """What is special, small or large; in ops of several operands, all with all."""
    chosen: Array = random.choice(pool(dtype), a.shape)
    return chosen


def sweep(a: Array, random: Generator, dtype: DType) -> Array:
    """Numbers of either sign: even along a line, and over powers of two."""
    even = random.permutation(np.linspace(-16, 16, a.size)).reshape(a.shape)
    # Down to where 1 + x is 1, and beyond.
    powers = 2.0 ** random.uniform(-max(limits(dtype).nmant + 8, 24), 7, a.shape)
    powers = powers * random.choice([-1.0, 1.0], a.shape)
    return np.where(random.random(a.shape) < 0.5, even, powers)


def beside(a: Array, random: Generator, dtype: DType) -> Array:
    """Numbers next to each other in the format: a narrower one takes them for one.

    Of floats, halves and integers, and what is just above or below these; of integers,
    all near one that few formats hold.
    """
    if dtype.category == INT:
        bits = 8 * dtype.itemsize
        power = int(random.integers(bits - 1 - bits // 6, bits - 1))
        turned = dtype.is_signed and random.random() < 0.5
        base = ((1 << power) + _CROWD) * (-1 if turned else 1)
        near = random.integers(0, _CROWD, a.shape)
        return np.asarray(np.asarray(base, a.dtype) + near.astype(a.dtype))
    halves = np.round(np.clip(a.astype(np.float64), -4, 4) * 2) / 2
    # By their bits, for not all formats have a function for the next one.
    words = halves.astype(a.dtype).view(f"i{a.dtype.itemsize}")
    step = random.integers(-1, 2, a.shape) * (halves != 0)
    return np.asarray((words + step).astype(words.dtype).view(a.dtype))


def borders(a: Array, random: Generator, dtype: DType) -> Array:
    """Where other formats end: the last number, what rounds to it, what does not."""
    if dtype.category == INT:
        info = limits(dtype)
        reach = range(info.min, info.max + 1)
        ends = [
            sign * (end + more) for end in _ENDS for more in _BESIDE for sign in _SIGNS
        ]
        return mixed(a, [x for x in ends if x in reach], random)
    last = np.array(
        [127, 255, 32767, 65504, 65519, 65520, 65535, 1 << 24, 1 << 31, 1 << 32,
         1 << 53, 1 << 63, 3.3895314e38, 3.396e38]
    )  # fmt: skip
    near = [*last, *(last + 1), *(last + 0.5), *(last * (1 - 2.0**-24))]
    found = np.array([*near, *(-x for x in near)])
    fits = found[np.abs(found) <= float(limits(dtype).max)]
    return mixed(a, list(fits), random)
