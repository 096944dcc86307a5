"""The callables of ops: functions whose code is written when they are first called.

Writing all of them at import would cost some 50 ms. Until its first call a callable is
`_first`, whose code is then replaced; so it stays the same object, which namespaces and
methods hold.
"""

from __future__ import annotations

import linecache
from contextlib import suppress
from functools import partial
from types import FunctionType
from typing import Any, Final

from dovetail.dtypes import DType
from dovetail.engine.arguments import Shown
from dovetail.engine.attributes import frozen
from dovetail.engine.autocast import casting
from dovetail.engine.call_source import source_of
from dovetail.engine.dispatch import Ready, failed, miss, miss_public, several
from dovetail.engine.kinds import Kind
from dovetail.engine.modes import grad_enabled
from dovetail.engine.op import REQUIRED, UNSERVED, Op
from dovetail.engine.overrides import ask
from dovetail.engine.record import record, record_binary, record_unary
from dovetail.engine.scopes import anywhere, here
from dovetail.engine.tape import Storage
from dovetail.engine.tensor import Parameter, Tensor, overridden, wrap
from dovetail.engine.views import as_view
from dovetail.errors import DovetailError

# What the file of a written callable is called, before the name of its op.
WRITTEN: Final = "<call of "
# What the written code refers to, beside the op and what it remembers.
_NAMES: Final[dict[str, Any]] = {
    "_Tensor": Tensor, "_Parameter": Parameter, "_wrap": wrap,
    "_anywhere": anywhere, "_here": here, "_casting": casting,
    "_grad_enabled": grad_enabled,
    "_failed": failed, "_general": Ready.run, "_several": several,
    "_as_view": as_view, "_frozen": frozen,
    "_record": record, "_record_unary": record_unary, "_record_binary": record_binary,
    "_required": None, "_unserved": UNSERVED, "_Storage": Storage, "_Kind": Kind,
    "_DType": DType,
    "_type": type, "_len": len, "_int": int, "_bool": bool, "_str": str,
    "_list": list, "_tuple": tuple, "_Exception": Exception,
}  # fmt: skip


def callable_of(op: Op) -> Any:
    """What bodies and gradients call; numbers may stand for any operand."""
    op.uncast = None if op.autocast is None else _without_casts(op)
    return _unwritten(op, op.name, miss)


def public_callable(op: Op, name: str, out: bool) -> Any:
    """What users call by a name; refuses in our words, and where torch does."""
    function = _unwritten(op, name, miss)
    function.__globals__["_miss"] = partial(miss_public, function, out)
    function.__wrapped__ = Shown(op.body, out)
    return function


def operator_of(op: Op) -> Any:
    """What Tensor's operators are: the same, for operands alone."""
    return _unwritten(op, op.name, miss, others=False)


def before(op: Op, name: str, slow: Any, takes: tuple[str, ...] = ()) -> Any:
    """`slow`, which is an op and more, with the fast path of that op before it.

    `takes` are the parameters of the op that a plain call gives, in its order; the
    others have their defaults. All of them, unless given.
    """
    places = [op.names.index(n) for n in takes or op.names]
    params = [op.params[i] for i in places]

    def handed_over(*args: Any, **named: Any) -> Any:
        classes = overridden((*args, *named.values()))
        if classes:
            return ask(function, name, classes, args, named)
        return slow(*args, **named)

    def given(
        op: Op, values: tuple[Any, ...], others: dict[str, Any], key: Any
    ) -> Any:  # fmt: skip
        if key is not None:
            with suppress(DovetailError):  # what the op refuses may be served, or said
                return miss(op, values, others, key)
        args = [values[i] for i in places]
        count = next(
            (i for i, v in enumerate(args) if v is params[i].default), len(args)
        )
        rest = zip(params[count:], args[count:], strict=True)
        named = {p.name: v for p, v in rest if v is not p.default} | others
        return handed_over(*args[:count], **named)

    def failed(op: Op, values: tuple[Any, ...], error: Any = None) -> Any:
        return slow(*[values[i] for i in places])

    def general(ready: Ready, values: tuple[Any, ...]) -> Any:
        try:
            return ready.run(values)
        except DovetailError:
            return failed(op, values)

    function = _unwritten(op, name, given, takes=takes)
    function.__globals__.update(
        _failed=failed, _general=general, _handed_over=handed_over
    )
    function.__doc__, function.__wrapped__ = slow.__doc__, slow.__wrapped__
    del function.op
    return function


def over(op: Op, name: str, slow: Any) -> Any:
    """`slow`, an op's in-place form, with a fast path where the kernel can write.

    Only for elementwise ops of two operands or one.
    """
    if not op.is_elementwise or op.rest or op.view or len(op.tensors) > 2:
        return slow

    def given(
        op: Op, values: tuple[Any, ...], others: dict[str, Any], key: Any
    ) -> Any:  # fmt: skip
        return slow(*[v for v in values if v is not REQUIRED], **others)

    function = _unwritten(op, name, given, over=True)
    function.__doc__, function.__wrapped__ = slow.__doc__, slow.__wrapped__
    return function


def _without_casts(op: Op) -> Any:
    """What autocast calls on the inputs that it made ready."""
    return _unwritten(op, op.name, partial(miss, cast=False), others=False, casts=False)


def _unwritten(
    op: Op, name: str, miss: Any, others: bool = True, casts: bool = True,
    over: bool = False, takes: tuple[str, ...] = (),
) -> Any:  # fmt: skip
    names = _NAMES | {
        "_op": op, "_calls": op.calls, "_miss": miss, "_write": _write,
        "_variant": (others, casts, over, takes),
    }  # fmt: skip
    names["_function"] = function = FunctionType(_first.__code__, names, name)
    function.__qualname__ = name
    function.__module__ = op.module
    function.__doc__ = op.body.__doc__
    function.__wrapped__ = op.body  # type: ignore[attr-defined]
    function.op = op  # type: ignore[attr-defined]
    function.unwritten = _first.__code__  # type: ignore[attr-defined]
    op.callables.append(function)
    return function


def _first(*args: Any, **kwargs: Any) -> Any:
    """The code of a callable that was never called; its names are not this module's."""
    _write(_function)  # type: ignore[name-defined]  # noqa: F821
    return _function(*args, **kwargs)  # type: ignore[name-defined]  # noqa: F821


def _write(function: Any) -> None:
    """Give a callable its own code."""
    names = function.__globals__
    op: Op = names["_op"]
    names["_fresh"] = _fresh_tensor()
    names["_defaults"] = op.defaults
    source = source_of(op, *names["_variant"])
    place = f"{WRITTEN}{op.name}>"
    made: dict[str, Any] = {}
    exec(compile(source, place, "exec"), names | {"__builtins__": {}}, made)
    (written,) = made.values()
    linecache.cache[place] = (len(source), None, source.splitlines(True), place)
    *_, takes = names["_variant"]
    function.__defaults__ = tuple(op.defaults[n] for n in takes or op.names)
    function.__code__ = written.__code__


def _fresh_tensor() -> Any:
    """What makes an empty tensor: its class, while that takes no arguments of its own.

    A class is 25 ns faster than its `__new__`.
    """
    plain = Tensor.__new__ is object.__new__ and Tensor.__init__ is object.__init__
    return Tensor if plain else partial(object.__new__, Tensor)


__all__ = ["WRITTEN", "before", "callable_of", "operator_of", "over", "public_callable"]
