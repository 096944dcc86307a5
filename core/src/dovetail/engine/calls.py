"""The callables of ops: a fast path for what is ordinary, by the op's parameters.

The fast path takes only plain tensors of one kind, a kernel with no condition and no
interposer, and costs one lookup beside the kernel and the tensor.
"""

from __future__ import annotations

from typing import Any, Final

from dovetail.engine.dispatch import execute, learn, slow
from dovetail.engine.kernel_call import is_reentry
from dovetail.engine.op import REQUIRED, Op
from dovetail.engine.record import record_binary, record_unary
from dovetail.engine.scopes import anywhere, here
from dovetail.engine.tensor import Parameter, Tensor, wrap
from dovetail.engine.views import as_view
from dovetail.errors import DovetailError

_new: Final = Tensor.__new__
_ABSENT: Final = object()


def callable_of(made: Op) -> Any:
    """The public function of an op, by the shape of its parameters."""
    roles = [p.role for p in made.params]
    if made.view:
        return _viewed(made)
    if made.mutates or len(made.outputs) > 1:
        return _general(made)
    if roles == ["tensor"]:
        return _unary(made)
    if roles == ["tensor", "tensor"] and not made.indices and made.promote:
        return _binary(made)
    if roles[:1] == ["tensor"] and set(roles[1:]) == {"attr"}:
        return _attributed(made)
    return _general(made)


def _general(made: Op) -> Any:
    fast, total, tensors = made.fast, len(made.params), len(made.tensors)
    roles = tuple(_KEYED_BY[p.role] for p in made.params)
    defaults = tuple(p.default for p in made.params)
    names = made.names

    def call(*args: Any, **kwargs: Any) -> Any:
        if anywhere[0] and here() is not None:
            return slow(made, args, kwargs)
        values = args
        if len(args) != total or kwargs:
            filled = _filled(names, defaults, args, kwargs)
            if filled is None:
                return slow(made, args, kwargs)
            values = filled
        key = _key(values, roles)
        try:
            ready = fast.get(key)
        except TypeError:  # a slice or a list among the attributes
            return slow(made, values, _NO_ATTRS)
        if key is None:
            return slow(made, values, _NO_ATTRS)
        if ready is None:
            return learn(made, values, key)
        attrs = ready.attrs
        if ready.scalars:
            attrs = attrs.copy()
            for name, at in ready.scalars:
                attrs[name] = values[at]
        inputs = values[:tensors]
        if ready.numbers:
            inputs = _with_numbers(inputs, ready.numbers)
        if made.has_list:
            inputs = tuple([list(x) if type(x) is tuple else x for x in inputs])
        return execute(made, inputs, attrs, ready.kind, ready.plan)

    return call


# How a parameter's argument enters the key of a call.
_BY_KIND, _BY_KINDS, _BY_TYPE, _BY_VALUE = range(4)
_KEYED_BY: Final = {
    "tensor": _BY_KIND, "optional": _BY_KIND, "list": _BY_KINDS,
    "scalar": _BY_TYPE, "attr": _BY_VALUE,
}  # fmt: skip
_NUMBERS: Final = frozenset({int, float, complex, bool, type(None)})


def _filled(
    names: tuple[str, ...], defaults: tuple[Any, ...], args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> tuple[Any, ...] | None:  # fmt: skip
    """All arguments in order, None where some are missing, unknown or too many."""
    values = list(args)
    at = len(values)
    taken = 0
    for name, default in zip(names[at:], defaults[at:], strict=True):
        if name in kwargs:
            values.append(kwargs[name])
            taken += 1
        elif default is REQUIRED:
            return None
        else:
            values.append(default)
    if taken != len(kwargs) or len(values) != len(names):
        return None
    return tuple(values)


def _key(values: tuple[Any, ...], roles: tuple[int, ...]) -> Any:
    """Kinds, dims and attributes of a call; None where it is out of the ordinary."""
    key: list[Any] = []
    add = key.append
    for value, role in zip(values, roles, strict=True):
        cls = type(value)
        if cls is Tensor or cls is Parameter:
            if role != _BY_KIND:
                return None
            add(value._kind)
            add(len(value._a.shape))
        elif role == _BY_VALUE:
            add(value)
        elif role == _BY_TYPE:
            if cls not in _NUMBERS:
                return None
            add(cls)
        elif role == _BY_KINDS:
            if cls is not list and cls is not tuple:
                return None
            for x in value:
                if type(x) is not Tensor and type(x) is not Parameter:
                    return None
                add(x._kind)
            add(len(value[0]._a.shape) if value else 0)
        elif cls in _NUMBERS:
            add(cls)
        else:
            return None
    return tuple(key)


def _with_numbers(inputs: tuple[Any, ...], numbers: Any) -> tuple[Any, ...]:
    """Inputs with the numbers among them as 0-d tensors of the kinds they take."""
    made = list(inputs)
    for at, kind, cache in numbers:
        made[at] = wrap(cache[made[at]], kind)
    return tuple(made)


def _unary(made: Op) -> Any:
    table, new, plain, special = made.table, _new, Tensor, Parameter

    def call(x: Any, /) -> Any:
        cls = type(x)
        if (cls is plain or cls is special) and (not anywhere[0] or here() is None):
            entry = table.get(x._kind)
            if entry is not None:
                kernel, kind, runner, array = entry
                try:
                    r = runner.run(kernel, x._a)
                except Exception as error:
                    return _again(made, (x,), error)
                if type(r) is not array:
                    r = kind.lift(r)
                t = new(plain)
                t._a = r
                t._kind = kind
                t._node = t._storage = None
                if x._node is not None:
                    record_unary(made, t, x, _NO_ATTRS)
                return t
        return slow(made, (x,), _NO_ATTRS)

    return call


def _binary(made: Op) -> Any:
    table, new, plain, special = made.table, _new, Tensor, Parameter
    elementwise = made.is_elementwise

    def call(a: Any, b: Any) -> Any:
        ca, cb = type(a), type(b)
        if (ca is plain or ca is special) and (not anywhere[0] or here() is None):
            source = a._kind
            if source in table:
                if cb is plain or cb is special:
                    if b._kind is not source:
                        return slow(made, (a, b), _NO_ATTRS)
                    nb, node = b._a, b._node
                else:
                    cache = source.scalars.get(cb)
                    if cache is None or not elementwise:
                        return slow(made, (a, b), _NO_ATTRS)
                    nb, node, b = cache[b], None, None
                kernel, kind, runner, array = table[source]
                try:
                    r = runner.run(kernel, a._a, nb)
                except Exception as error:
                    if b is None:
                        b = wrap(nb, source)
                    return _again(made, (a, b), error)
                if type(r) is not array:
                    r = kind.lift(r)
                t = new(plain)
                t._a = r
                t._kind = kind
                t._node = t._storage = None
                if a._node is not None or node is not None:
                    record_binary(made, t, a, b, nb)
                return t
        return slow(made, (a, b), _NO_ATTRS)

    return call


def _attributed(made: Op) -> Any:
    bound, new, plain, special = made.bound, _new, Tensor, Parameter
    general = _general(made)

    def call(x: Any = _ABSENT, *args: Any, **kwargs: Any) -> Any:
        cls = type(x)
        if (cls is plain or cls is special) and (not anywhere[0] or here() is None):
            a = x._a
            if kwargs:
                key: Any = (x._kind, len(a.shape), args, *kwargs.items())
            else:
                key = (x._kind, len(a.shape), args)
            try:
                entry = bound.get(key)
            except TypeError:  # a list among the attributes
                return general(x, *args, **kwargs)
            if entry is not None:
                kernel, kind, attrs = entry
                try:
                    r = kind.runner.run(kernel, a)
                except Exception as error:
                    return _again(made, (x, *args), error, kwargs)
                if type(r) is not kind.array:
                    r = kind.lift(r)
                t = new(plain)
                t._a = r
                t._kind = kind
                t._node = t._storage = None
                if x._node is not None:
                    record_unary(made, t, x, attrs)
                return t
            y = general(x, *args, **kwargs)
            if key not in bound:
                _bind_attributes(made, key, x, args, kwargs)
            return y
        if x is _ABSENT:  # given by its name
            return slow(made, (), kwargs)
        return general(x, *args, **kwargs)

    return call


def _viewed(made: Op) -> Any:
    """A view by attributes seen before goes straight to the backend's kernel."""
    bound, plain, special = made.bound, Tensor, Parameter
    general = _general(made)

    def call(x: Any, *args: Any, **kwargs: Any) -> Any:
        cls = type(x)
        if (cls is not plain and cls is not special) or (
            anywhere[0] and here() is not None
        ):
            return general(x, *args, **kwargs)
        a = x._a
        key: Any = (x._kind, len(a.shape), args, *kwargs.items())
        try:
            entry = bound.get(key)
        except TypeError:  # a slice or a list among the attributes
            return general(x, *args, **kwargs)
        if entry is not None:
            try:
                native = entry[0](a)
            except Exception:  # the slow path says what is wrong
                return general(x, *args, **kwargs)
            if type(native) is x._kind.array:
                return as_view(made, x, native, entry[1])
        y = general(x, *args, **kwargs)
        if key not in bound:
            values = made.bind((x, *args), kwargs)
            ready = made.fast.get(
                _key(tuple(values), (_BY_KIND, *[_BY_VALUE] * len(made.rest)))
            )
            if len(bound) >= _BOUND_LIMIT:
                bound.clear()
            if ready is not None and ready.plan.only is not None:
                bound[key] = (ready.plan.only[1], ready.attrs)
            else:
                bound[key] = None
        return y

    return call


def _bind_attributes(made: Op, key: Any, x: Tensor, args: Any, kwargs: Any) -> None:
    """Remember the one kernel for these attributes; None where it takes more."""
    values = made.bind((x, *args), kwargs)
    ready = made.fast.get(
        _key(tuple(values), (_BY_KIND, *[_BY_VALUE] * len(made.rest)))
    )
    if len(made.bound) >= _BOUND_LIMIT:
        made.bound.clear()
    made.bound[key] = None
    if ready is None or ready.kind.backend.rules_only:
        return
    plan = ready.plan
    constant = made.vjp is not None and plan.kinds[0].dtype.category < 2
    if plan.only is not None and plan.direct and not (made.by_body or constant):
        made.bound[key] = (plan.only[1], plan.kinds[0], ready.attrs)


_NO_ATTRS: Final[dict[str, Any]] = {}
_BOUND_LIMIT: Final = 1024


def _again(
    made: Op, args: tuple[Any, ...], error: BaseException,
    kwargs: dict[str, Any] = _NO_ATTRS,
) -> Any:  # fmt: skip
    """A kernel refused on the fast path: say why, or rerun where a thread collided."""
    try:
        if is_reentry(error):
            return slow(made, args, kwargs)
        if isinstance(error, DovetailError):
            raise error
        try:
            return slow(made, args, kwargs)
        except DovetailError as explained:
            raise explained from error
    finally:
        del error  # it holds this frame, which would hold it and the tensors
