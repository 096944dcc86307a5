"""The elementwise ops of level 0, and those that are one step of a kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from dovetail import dtypes as d
from dovetail.codegen import pointwise
from dovetail.codegen.c_dialects import TYPES
from dovetail.codegen.formats import computed_in
from dovetail.codegen.ir import Buffer, Store
from dovetail.codegen.lanes import lane, lane_kernel
from dovetail.codegen.program import Step
from dovetail.codegen.values import Term, apply, bits, cast, choose, compare, constant
from dovetail.device_api import KernelTable
from dovetail.dtypes import DType, bool_, int32
from dovetail.errors import NotSupported
from dovetail_xpu.elementwise import ByDtypes, Elementwise
from dovetail_xpu.launch import THREADS, Launchable, Launcher
from dovetail_xpu.memory import XpuArray
from dovetail_xpu.text import written

FLOATS: Final = frozenset({d.float16, d.bfloat16, d.float32, d.float64})
INTS: Final = frozenset({d.uint8, d.int8, d.int16, d.int32, d.int64})
BOOLS: Final = frozenset({bool_})
CLAIMED: Final = FLOATS | INTS | BOOLS
_OPTIONS: Final[dict[str, Any]] = {"broadcasts": True, "checks": True}
BITS: Final = {1: d.uint8, 2: d.int16, 4: d.int32, 8: d.int64}

# Steps that kernels know, and in which dtypes.
_STEPS: Final = {
    **dict.fromkeys(("add", "sub", "mul", "maximum", "minimum"), FLOATS | INTS),
    **dict.fromkeys(("neg", "abs", "square"), FLOATS | INTS),
    **dict.fromkeys(("div", "sqrt", "floor", "reciprocal", "copysign"), FLOATS),
    **dict.fromkeys(("exp", "log", "sin", "cos"), FLOATS),
    **dict.fromkeys(("bitwise_and", "bitwise_xor"), INTS | BOOLS),
}
_COMPARISONS: Final = ("lt", "eq", "le", "gt", "ge", "ne")


def install(table: KernelTable, launcher: Launcher, claimed: frozenset[DType]) -> None:
    """Add them to a table."""

    def add(op: str, make: Any, dtypes: Iterable[DType], **more: Any) -> None:
        kernel = ByDtypes(lambda given: _function(launcher, op, make, given))
        table.add(op, kernel, dtypes=claimed & frozenset(dtypes), **_OPTIONS, **more)

    for op, dtypes in _STEPS.items():
        add(op, _step(op), dtypes)
    for op in _COMPARISONS:
        add(op, _step(op), CLAIMED)
    add("isnan", _step("isnan"), FLOATS)
    add("idiv", _quotient, INTS)
    add("float_fmod", lambda a, b: written("fmod({0}, {1})", a.dtype, a, b), FLOATS)
    add("float_pow", lambda a, b: written("pow({0}, {1})", a.dtype, a, b), FLOATS)
    add("shift_left", lambda a, b: apply("shift_left", a, b), INTS)
    add("shift_right", lambda a, b: apply("shift_right_logical", a, b), INTS)
    table.add("where", _where(launcher), dtypes=claimed, **_OPTIONS)
    table.add("clone", copier(launcher), dtypes=claimed, **_OPTIONS)
    table.add("cast", _cast(launcher), dtypes=claimed, binds=True, **_OPTIONS)
    table.add("bitcast", _bitcast(launcher), dtypes=claimed, binds=True)
    table.add("iota", _iota(launcher), dtypes=[int32])


def _function(
    launcher: Launcher, op: str, make: Any, dtypes: tuple[DType, ...]
) -> Elementwise:
    is_truth = op in _COMPARISONS or op == "isnan"
    return Elementwise(launcher, make, dtypes, bool_ if is_truth else dtypes[0])


def _step(op: str) -> Callable[..., Term]:
    def make(*given: Term) -> Term:
        places = tuple(range(len(given)))
        try:
            return pointwise.done(Step(op, places, given[0].dtype), list(given))
        except NotSupported:  # in this format: OpenCL has a function for it
            return written(f"{op}({{0}})", given[0].dtype, *given)

    return make


def _quotient(a: Term, b: Term) -> Term:
    """Truncated; the least integer by -1 wraps, and by 0 it is 0."""
    zero = constant(0, a.dtype)
    safe = choose(compare("eq", b, 0), constant(1, a.dtype), b)
    if a.dtype == "uint8":
        found = apply("div", a, safe)
    else:
        minus = compare("eq", b, -1)
        safe = choose(minus, constant(1, a.dtype), safe)
        divided = written("({0} / {1})", a.dtype, a, safe)
        found = choose(minus, zero - a, divided)
    return choose(compare("eq", b, 0), zero, found)


def copier(launcher: Launcher) -> Callable[[XpuArray], XpuArray]:
    """A row-major copy, bit by bit."""
    move = ByDtypes(lambda given: Elementwise(launcher, _same, given, given[0]))
    return lambda a: move(a.read_as(BITS[a.dtype.itemsize])).read_as(a.dtype)


def mover(launcher: Launcher) -> Callable[[XpuArray, XpuArray], None]:
    """A copy of bits into an array that lies in any way."""
    move = ByDtypes(lambda given: Elementwise(launcher, _same, given, given[0]))

    def into(target: XpuArray, source: XpuArray) -> None:
        form = BITS[target.dtype.itemsize]
        move.of((form,)).into(target.read_as(form), source.read_as(form))

    return into


def filler(launcher: Launcher) -> Callable[[XpuArray, int], None]:
    """Sets all elements to the bits of a word."""
    forms = {
        form: Elementwise(launcher, _same, (), form, (form.name,))
        for form in BITS.values()
    }

    def fill(target: XpuArray, word: int) -> None:
        form = BITS[target.dtype.itemsize]
        forms[form].into(target.read_as(form), numbers=(word,))

    return fill


def _same(x: Term) -> Term:
    return x


def _where(launcher: Launcher) -> Callable[..., XpuArray]:
    select = ByDtypes(lambda given: Elementwise(launcher, choose, given, given[1]))

    def where(condition: XpuArray, a: XpuArray, b: XpuArray) -> XpuArray:
        form = BITS[a.dtype.itemsize]
        return select(condition, a.read_as(form), b.read_as(form)).read_as(a.dtype)

    return where


def _bitcast(launcher: Launcher) -> Callable[[DType], Callable[[XpuArray], XpuArray]]:
    copy = copier(launcher)

    def bind(dtype: DType) -> Callable[[XpuArray], XpuArray]:
        def bitcast(a: XpuArray) -> XpuArray:
            if a.dtype.itemsize != dtype.itemsize:
                raise ValueError(f"{a.dtype} and {dtype} differ in width")
            return copy(a).read_as(dtype)

        return bitcast

    return bind


def converter(launcher: Launcher, dtype: DType) -> Callable[[XpuArray], XpuArray]:
    """Gives arrays in another dtype."""
    return _cast(launcher)(dtype)


def _cast(launcher: Launcher) -> Callable[[DType], Callable[[XpuArray], XpuArray]]:
    copy = copier(launcher)

    def bind(dtype: DType) -> Callable[[XpuArray], XpuArray]:
        convert = ByDtypes(
            lambda given: Elementwise(
                launcher, lambda x: converted(x, dtype.name), given, dtype
            )
        )
        return lambda a: copy(a) if a.dtype is dtype else convert(a)

    return bind


def converted(x: Term, dtype: str) -> Term:
    """A value in the dtype that another one is computed in, rounded once in all."""
    to = computed_in(dtype)
    if x.dtype in ("float32", "float64") and to not in ("float32", "float64", "bool"):
        return _whole(x, to)
    if to != dtype and x.dtype in ("float64", "int32", "int64"):
        return _rounded_to_odd(x)
    return cast(x, to)


def _whole(x: Term, dtype: str) -> Term:
    """Truncated; to less than 32 bits by way of these, where more numbers fit."""
    wide = dtype if dtype in ("int32", "int64") else "int32"
    return cast(written(f"({TYPES[wide]})({{0}})", wide, x), dtype)


def _rounded_to_odd(x: Term) -> Term:
    """As float32, so that a second rounding, to 16 bits, is as good as one."""
    near = written("convert_float_rtz({0})", "float32", x)
    if x.dtype == "float64":
        inexact = compare("ne", cast(near, "float64"), x)
    else:
        whole = written("(i64)({0})", "int64", near)
        inexact = compare("ne", whole, cast(x, "int64"))
    odd = bits(bits(near, "uint32") | 1, "float32")
    return choose(compare("eq", x, x), choose(inexact, odd, near), near)


def _iota(launcher: Launcher) -> Callable[..., XpuArray]:
    out, at = Buffer("y", "int32", written=True), lane()
    store = Store(out, at.value, cast(at, "int32").value)
    count = Launchable(lambda: lane_kernel([out], [], at, [store]))

    def iota(n: int, dtype: DType, index: int) -> XpuArray:
        made = launcher.fresh((n,), int32, index)
        if n:
            stream = made.block.stream
            count.launch(stream, [made.address, 0, n], -(-n // THREADS))
        return made

    return iota


__all__ = ["BOOLS", "CLAIMED", "FLOATS", "INTS", "copier", "filler", "install", "mover"]
