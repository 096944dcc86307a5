"""The callables of ops: functions whose code is written when they are first called.

Writing all of them at import would cost some 50 ms. Until its first call a callable has
code that writes its own, which then replaces it; so it stays the same object, which
namespaces and methods hold. All share their globals, and what is their own is in cells,
since hundreds of dicts would cost each process milliseconds, most of them at its end.
"""

from __future__ import annotations

import linecache
from contextlib import suppress
from functools import partial
from types import CellType, CodeType, FunctionType
from typing import Any, Final

from dovetail.dtypes import DType
from dovetail.engine.annotations import described
from dovetail.engine.answers import answer
from dovetail.engine.arguments import Shown
from dovetail.engine.attribute_keys import frozen
from dovetail.engine.autocast import as_cast, casting
from dovetail.engine.call_source import CELLS, Form, enclosed, source_of
from dovetail.engine.dispatch import failed, miss, miss_public
from dovetail.engine.entries import Ready
from dovetail.engine.kinds import Kind
from dovetail.engine.modes import grad_enabled
from dovetail.engine.older_calls import SCALED
from dovetail.engine.op import Op, forget_last
from dovetail.engine.overrides import ask, overridden
from dovetail.engine.parameters import REQUIRED
from dovetail.engine.plan import UNSERVED
from dovetail.engine.record import record
from dovetail.engine.scopes import anywhere, by_name, here
from dovetail.engine.storage import Storage
from dovetail.engine.tape import Extra, Node, Output, next_seq, storage_of
from dovetail.engine.tape_of_views import View, on_tape
from dovetail.engine.tensor import Parameter, Tensor, fresh, makers, wrap
from dovetail.engine.tensor_type import Size
from dovetail.engine.views import as_view
from dovetail.errors import ArgumentTypeError, DovetailError

# What the file of a written callable is called, before the name of its op.
WRITTEN: Final = "<call of "


def callable_of(op: Op) -> Any:
    """What bodies and gradients call; numbers may stand for any operand."""
    op.uncast = None if op.autocast is None else _unwritten(op, op.name, _UNCAST)
    return _unwritten(op, op.name, _INNER)


def public_callable(op: Op, name: str, out: bool) -> Any:
    """What users call by a name; refuses in our words, and where torch does."""
    function = _unwritten(op, name, _PUBLIC_OUT if out else _PUBLIC)
    if out:
        function.__wrapped__ = Shown(op.body, out)
    return function


def operator_of(op: Op, *, first: bool = False) -> Any:
    """What Tensor's operators are: the same, for operands alone.

    Args:
        first: the first operand has to be a tensor; else a number may stand there too,
            as where `2 - x` is called with its operands swapped.
    """
    return _unwritten(op, op.name, _METHOD if first else _OPERATOR)


def before(
    op: Op, name: str, slow: Any, takes: tuple[str, ...] = (), items: bool = False
) -> Any:
    """`slow`, which is an op and more, with the fast path of that op before it.

    Args:
        takes: the parameters of the op that a plain call gives, in its order; the
            others have their defaults. All of them, unless given.
        items: the last one is a sequence whose items may be given one by one.
    """
    form = _BEFORE._replace(takes=takes, items=items, stores=op.unrounded)
    function = _unwritten(op, name, form)
    function.slow = slow
    function.__doc__, function.__wrapped__ = slow.__doc__, slow.__wrapped__
    function.takes_items = items
    del function.op
    return function


def _handed_over(function: Any, /, *args: Any, **named: Any) -> Any:
    classes = overridden((*args, *named.values()))
    if classes:
        return ask(function, function.__name__, classes, args, named)
    return function.slow(*args, **named)


def _taken(function: Any, op: Op, values: tuple[Any, ...]) -> list[Any]:
    """What a callable with a fast path before it was given of all values."""
    return [values[op.names.index(n)] for n in function.form.takes or op.names]


def _missed_before(
    function: Any, op: Op, values: tuple[Any, ...], others: dict[str, Any], key: Any
) -> Any:
    operands = op.operands(values)
    stored = function.form.stores and any(type(v) in _NUMBERS for v in operands)
    if key is None and not (stored or others) and anywhere[0] and here() is None:
        ready = as_cast(op, values)
        if ready is not None and op.uncast is not None:
            try:
                return op.uncast(*ready)
            except DovetailError:  # what the op refuses may be served, or said
                pass
    if key is not None and not stored:
        with suppress(DovetailError):  # what the op refuses may be served, or said
            return miss(op, values, others, key)
    names = function.form.takes or op.names
    args = _taken(function, op, values)
    count = next(
        (i for i, n in enumerate(names) if args[i] is op.defaults[n]), len(args)
    )
    rest = zip(names[count:], args[count:], strict=True)
    named = {n: v for n, v in rest if v is not op.defaults[n]} | others
    return _handed_over(function, *args[:count], **named)


def _failed_before(
    function: Any, op: Op, values: tuple[Any, ...], error: BaseException
) -> Any:
    return function.slow(*_taken(function, op, values))


def _general_before(function: Any, ready: Ready, values: tuple[Any, ...]) -> Any:
    try:
        return ready.run(values)
    except DovetailError:
        return function.slow(*_taken(function, ready.op, values))


def _by_body_before(function: Any, ready: Ready, values: tuple[Any, ...]) -> Any:
    try:
        return ready.recorded(values)
    except DovetailError:
        return function.slow(*_taken(function, ready.op, values))


def over(op: Op, name: str, slow: Any) -> Any:
    """`slow`, an op's in-place form, with a fast path where the kernel can write.

    Only for elementwise ops of two operands or one.
    """
    if not op.is_elementwise or op.rest or op.view or len(op.tensors) > 2:
        return slow
    more = name.removesuffix("_") in SCALED  # which may have a number before the other
    function = _unwritten(op, name, _OVER._replace(takes=op.names if more else ()))
    function.slow = slow
    function.__doc__, function.__wrapped__ = slow.__doc__, slow.__wrapped__
    return function


def _missed_method(
    op: Op, values: tuple[Any, ...], others: dict[str, Any], key: Any
) -> Any:
    if not isinstance(values[0], Tensor):
        raise ArgumentTypeError(
            op.name, "self", was=described(values[0]), needed="a Tensor"
        )
    return _missed_operator(op, values, others, key)


def _missed_operator(
    op: Op, values: tuple[Any, ...], others: dict[str, Any], key: Any
) -> Any:
    if key is None and len(values) > 1:
        found = answer(op.name, values[0], values[1])
        if found is not NotImplemented:
            return found
    return miss(op, values, others, key)


def _missed_over(
    function: Any, op: Op, values: tuple[Any, ...], others: dict[str, Any], key: Any
) -> Any:
    return function.slow(*[v for v in values if v is not REQUIRED], **others)


_NUMBERS: Final = frozenset({int, float, complex, bool})
# What the written code refers to, beside what is a callable's own.
_NAMES: Final[dict[str, Any]] = {
    "_Tensor": Tensor, "_fresh": fresh, "_Parameter": Parameter, "_wrap": wrap,
    "_here": here, "_casting": casting,
    "_miss": miss, "_miss_public": miss_public, "_miss_cast": partial(miss, cast=False),
    "_missed_before": _missed_before, "_handed_over": _handed_over,
    "_missed_over": _missed_over, "_missed_method": _missed_method,
    "_missed_operator": _missed_operator,
    "_failed": failed, "_failed_before": _failed_before,
    "_general": Ready.run, "_general_before": _general_before,
    "_by_body": Ready.recorded, "_by_body_before": _by_body_before,
    "_as_view": as_view, "_frozen": frozen,
    "_record": record, "_grad_enabled": grad_enabled, "_View": View,
    "_on_tape": on_tape,
    "_Node": Node, "_Extra": Extra, "_Output": Output, "_new_node": Node.__new__,
    "_next_seq": next_seq,
    "_required": None, "_unserved": UNSERVED, "_Storage": Storage,
    "_storage_of": storage_of, "_inferred": False, "_Kind": Kind, "_DType": DType,
    "_type": type, "_len": len, "_int": int, "_bool": bool, "_complex": complex,
    "_str": str, "_list": list, "_tuple": tuple, "_Size": Size, "_Exception": Exception,
    "_KeyError": KeyError, "__builtins__": {},
}  # fmt: skip
_INNER: Final = Form()
# What autocast calls on the inputs that it made ready.
_UNCAST: Final = Form("_miss_cast(", others=False, casts=False)
_OPERATOR: Final = Form("_missed_operator(", others=False)
_METHOD: Final = Form("_missed_method(", others=False)
_PUBLIC: Final = Form("_miss_public(_function, False, ", users=True)
_PUBLIC_OUT: Final = Form("_miss_public(_function, True, ", users=True)
_BEFORE: Final = Form(
    "_missed_before(_function, ", "_failed_before(_function, ",
    "_general_before(_function, ", "_by_body_before(_function, ",
)  # fmt: skip
_OVER: Final = Form("_missed_over(_function, ", over=True)


def _unwritten(op: Op, name: str, form: Form) -> Any:
    itself, last = CellType(), CellType()
    calls, own = op.cells
    function: Any = FunctionType(_FIRST, _NAMES, name, None, (calls, itself, last, own))
    itself.cell_contents = function
    function.last, function.parts = last, 0
    forget_last(function)
    function.__qualname__ = name
    function.__module__ = op.module
    function.__doc__ = op.body.__doc__
    function.__wrapped__ = op.body
    function.op = op
    function.form = form
    op.callables.append(function)
    return function


def _write(function: Any, op: Op) -> None:
    """Give a callable its own code."""
    source, function.parts = source_of(op, function.form)
    forget_last(function)
    place = f"{WRITTEN}{op.name}>"
    named = () if function.form.items else function.form.takes or op.names
    function.__defaults__ = tuple(op.defaults[n] for n in named)
    function.__code__ = _code_of(source, place)
    linecache.cache[place] = (len(source), None, source.splitlines(True), place)


def _code_of(source: str, place: str) -> CodeType:
    """The code of the function that the source encloses."""
    made: dict[str, Any] = {}
    exec(compile(source, place, "exec"), _NAMES, made)
    found: CodeType = made["enclosing"](*CELLS).__code__
    return found


# The code of a callable that was never called.
_FIRST: Final = _code_of(
    enclosed("first", (
        "def first(*args, **kwargs):",
        "    _write(_function, _op)",
        "    return _function(*args, **kwargs)",
    )), f"{WRITTEN}an op>",
)  # fmt: skip
_NAMES["_write"] = _write
by_name(_NAMES)
makers.append((_NAMES, "_fresh"))
Op.unwritten = _FIRST


__all__ = ["WRITTEN", "before", "callable_of", "operator_of", "over", "public_callable"]
