"""Sorting and searching: each element finds the place where it goes.

A row is cut into chunks, in which elements count those before them. Then neighbours
are merged until one run is left: an element finds by bisection how many of the other
run come before it. All of this keeps the order of equal elements.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dovetail.codegen.ir import Accumulator, Buffer, Kernel, Loop, Store, Update
from dovetail.codegen.lanes import lane, lane_kernel
from dovetail.codegen.sort_kernels import bits_dtype, key_of
from dovetail.codegen.values import (
    Term,
    apply,
    cast,
    choose,
    constant,
    equal,
    index,
    load,
    parameter,
)
from dovetail.device_api import Facts, KernelTable
from dovetail.dtypes import ORDERED, DType, int32, int64
from dovetail_xpu.elementwise import Elementwise
from dovetail_xpu.launch import THREADS, Launchable, Launcher
from dovetail_xpu.memory import Ints, XpuArray
from dovetail_xpu.moving import taker
from dovetail_xpu.primitives import BITS, copier

_CHUNK: Final = 5  # log2 of the elements of a chunk
_PLACE: Final = "int32"
_LONGEST: Final = 2**31 - 1
_BOUND: Final[dict[str, Any]] = {"binds": True, "reads": ("shape",)}


def install(table: KernelTable, launcher: Launcher, claimed: frozenset[DType]) -> None:
    """Add them to a table."""
    order = Order(launcher)
    for op, bind in (
        ("argsort", order.places), ("sort", order.both), ("topk", order.greatest)
    ):  # fmt: skip
        table.add(op, bind, dtypes=claimed & ORDERED, when=_can_be_counted, **_BOUND)
    table.add("searchsorted", order.searched, dtypes=claimed & ORDERED, binds=True)


def _can_be_counted(facts: Facts) -> bool:
    """Whether places of rows have 31 bits."""
    return max(facts.shape[0], default=0) <= _LONGEST


class Order:
    """The kernels of sorting, by the width of keys, and of searching, by dtype."""

    def __init__(self, launcher: Launcher) -> None:
        self.launcher = launcher
        self.take = taker(launcher)
        self.copy = copier(launcher)
        self._keys: dict[DType, Elementwise] = {}
        self._kernels: dict[Any, Launchable] = {}
        self._widen = Elementwise(launcher, lambda x: cast(x, "int64"), [int32], int64)

    # ---- ops

    def places(self, **choices: Any) -> Callable[[XpuArray], XpuArray]:
        """Where the elements are, in order."""
        dim, descending = choices["dim"], choices["descending"]
        return lambda x: self.ordered(x, dim, descending)

    def both(self, **choices: Any) -> Callable[[XpuArray], tuple[XpuArray, XpuArray]]:
        """The elements in order, and where they were."""
        places = self.places(**choices)

        def call(x: XpuArray) -> tuple[XpuArray, XpuArray]:
            order = places(x)
            return self.take(x, order, choices["dim"]), order

        return call

    def greatest(
        self, **choices: Any
    ) -> Callable[[XpuArray], tuple[XpuArray, XpuArray]]:
        """The first elements of that order, and where they were."""
        k, dim, largest = choices["k"], choices["dim"], choices["largest"]

        def call(x: XpuArray) -> tuple[XpuArray, XpuArray]:
            order = self.ordered(x, dim, largest)
            if x.shape:
                shape = (*x.shape[:dim], k, *x.shape[dim + 1 :])
                order = self.copy(order.seen_as(shape, order.strides))
            return self.take(x, order, dim), order

        return call

    def ordered(self, x: XpuArray, dim: int, descending: bool) -> XpuArray:
        """Where the elements are, in order along a dim, in the shape of `x`."""
        made = self.launcher.fresh(x.shape, int64, x.device.index)
        lanes = x.shape[dim] if x.shape else 1
        if not x.size:
            return made
        keys = self._keyed(last_dim(x, dim), descending)
        found = self._merged(keys, lanes)
        self._widen.into(last_dim(made, dim), found)
        return made

    def searched(self, right: bool) -> Callable[[XpuArray, XpuArray], XpuArray]:
        """Where values go in sorted rows."""

        def call(rows: XpuArray, values: XpuArray) -> XpuArray:
            rows, values = self._dense(rows), self._dense(values)
            made = self.launcher.fresh(values.shape, int64, values.device.index)
            size, count = rows.shape[-1], values.size
            lanes = values.shape[-1] if len(rows.shape) > 1 else max(count, 1)
            words = [rows.address, values.address, made.address]
            words += [lanes, size, size.bit_length()]
            self._launch(_search, (values.dtype.name, right), words, count, made)
            return made

        return call

    # ---- steps

    def _dense(self, x: XpuArray) -> XpuArray:
        return x if x.dense else self.copy(x)

    def _keyed(self, x: XpuArray, descending: bool) -> XpuArray:
        """Unsigned numbers, row-major, that have the order of the elements."""
        wide = int64 if x.dtype.itemsize == 8 else int32
        found = self._keys.get(x.dtype)
        if found is None:
            name, form = x.dtype.name, BITS[x.dtype.itemsize]

            def key(bits: Term, turn: Term) -> Term:
                return cast(_key(bits, name), turn.dtype) ^ turn

            found = Elementwise(self.launcher, key, (form,), wide, [f"u{wide.name}"])
            self._keys[x.dtype] = found
        turn = -1 if descending else 0
        return found(x.read_as(BITS[x.dtype.itemsize]), numbers=(turn,))

    def _merged(self, keys: XpuArray, lanes: int) -> XpuArray:
        """The places of keys in order, along rows that lie side by side."""
        at = keys.device.index
        kind = f"u{keys.dtype.name}"
        places = self.launcher.fresh(keys.shape, int32, at)
        other = self.launcher.fresh(keys.shape, keys.dtype, at)
        words = [keys.address, other.address, places.address, lanes]
        self._launch(_chunks, (kind,), words, keys.size, places)
        width = _CHUNK
        spare: XpuArray | None = None
        while lanes > 1 << width:
            keys, other = other, keys
            moved = spare or self.launcher.fresh(keys.shape, int32, at)
            words = [keys.address, places.address, other.address, moved.address]
            words += [lanes, width]
            self._launch(_merge, (kind,), words, keys.size, moved)
            places, spare = moved, places
            width += 1
        return places

    def _launch(
        self, form: Callable[..., Kernel], choices: Any, words: list[int], count: int,
        made: XpuArray,
    ) -> None:  # fmt: skip
        if count:
            key = form, *choices
            found = self._kernels.get(key)
            if found is None:
                found = self._kernels[key] = Launchable(lambda: form(*choices))
            found.launch(made.block.stream, [*words, 0, count], -(-count // THREADS))


def last_dim(x: XpuArray, dim: int) -> XpuArray:
    """An array with one of its dims behind the others."""
    if not x.shape:
        return x

    def moved(of: Ints) -> Ints:
        return (*of[:dim], *of[dim + 1 :], of[dim])

    return x.seen_as(moved(x.shape), moved(x.strides))


def _key(bits: Term, dtype: str) -> Term:
    """The key of an element, from its bits."""
    return key_of(cast(bits, f"u{bits.dtype.removeprefix('u')}"), dtype)


def _in_row() -> tuple[Term, Term, Term]:
    """The element of a thread; where its row begins; its place there."""
    at, lanes = lane(), parameter("lanes")
    begin = apply("div", at, lanes) * lanes
    return at, begin, at - begin


def _chunks(kind: str) -> Kernel:
    """Elements go behind those of their chunk that are less, or equal and earlier."""
    keys, out = Buffer("keys", kind), Buffer("out", kind, written=True)
    places = Buffer("places", _PLACE, written=True)
    at, begin, place = _in_row()
    first = (place >> _CHUNK) << _CHUNK
    end = apply("minimum", first + (1 << _CHUNK), parameter("lanes"))
    other, before = index("other"), Accumulator("add", "int64", 0)
    key, their = load(keys, at), load(keys, begin + other)
    earlier = (their < key) | (equal(their, key) & (other < place))
    step = Update(before, cast(earlier, "int64").value)
    loop = Loop("seq", other.value, first.value, end.value, (step,), (before,))
    to = (begin + first + Term(before.value)).value
    stores = Store(out, to, key.value), Store(places, to, cast(place, _PLACE).value)
    return lane_kernel([keys, out, places], [("lanes", "int64")], at, [loop, *stores])


def _merge(kind: str) -> Kernel:
    """Elements of two runs of 2**width go where they are in both together."""
    keys, places = Buffer("keys", kind), Buffer("places", _PLACE)
    out, moved = Buffer("out", kind, True), Buffer("moved", _PLACE, True)
    at, begin, place = _in_row()
    lanes, width = parameter("lanes"), parameter("width")
    first = (place >> (width + 1)) << (width + 1)
    run = apply("shift_left", constant(1, "int64"), width)
    middle = apply("minimum", first + run, lanes)
    end = apply("minimum", middle + run, lanes)
    is_left, is_right = place < middle, place >= middle
    own, theirs = choose(is_left, first, middle), choose(is_left, middle, first)
    size = choose(is_left, end, middle) - theirs
    key = load(keys, at)

    def is_before(tried: Term) -> Term:
        entry = load(keys, begin + theirs + tried)
        return (entry < key) | (equal(entry, key) & is_right)

    loop, count = _bisected(width + 1, size, is_before)
    to = (begin + first + (place - own) + count).value
    stores = Store(out, to, key.value), Store(moved, to, load(places, at).value)
    words = [("lanes", "int64"), ("width", "int64")]
    return lane_kernel([keys, places, out, moved], words, at, [loop, *stores])


def _search(dtype: str, right: bool) -> Kernel:
    """Values go before equal ones of their sorted row of `size`, or after."""
    memory = bits_dtype(dtype)
    rows, values = Buffer("rows", memory), Buffer("values", memory)
    found = Buffer("found", "int64", written=True)
    at, size = lane(), parameter("size")
    begin = apply("div", at, parameter("lanes")) * size
    wanted = _key(load(values, at), dtype)

    def is_before(tried: Term) -> Term:
        entry = _key(load(rows, begin + tried), dtype)
        return entry <= wanted if right else entry < wanted

    loop, place = _bisected(parameter("halvings"), size, is_before)
    words = [(name, "int64") for name in ("lanes", "size", "halvings")]
    store = Store(found, at.value, place.value)
    return lane_kernel([rows, values, found], words, at, [loop, store])


def _bisected(
    halvings: Term, size: Term, is_before: Callable[[Term], Term]
) -> tuple[Loop, Term]:
    """How many of `size` elements come before, put together from the highest bit."""
    bit, count = index("bit"), Accumulator("add", "int64", 0)
    power = apply("shift_left", constant(1, "int64"), halvings - 1 - bit)
    tried = Term(count.value) + power
    exists = tried <= size
    entry = choose(exists, tried - 1, constant(0, "int64"))
    more = choose(exists & is_before(entry), power, constant(0, "int64"))
    step = Update(count, more.value)
    zero = constant(0, "int64").value
    loop = Loop("seq", bit.value, zero, halvings.value, (step,), (count,))
    return loop, Term(count.value)
