"""Functions of users' that are ops: `custom_op`, and what is registered for one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from dovetail.autograd.function import Function
from dovetail.autograd.graph import increment_version
from dovetail.dtypes import DType
from dovetail.engine.autocast import casting, without_casting
from dovetail.engine.modes import grad_enabled, no_grad
from dovetail.engine.overrides import ask, overridden
from dovetail.engine.tape import storage_of
from dovetail.engine.tensor import Tensor
from dovetail.errors import (
    ArgumentError,
    ArgumentTypeError,
    AutogradError,
    NotSupported,
)
from dovetail.func.trees import put_together, taken_apart

from .inference import infer_schema
from .op_functions import Call, function_of
from .schemas import Schema, parsed

Values = tuple[Any, ...]
# All ops of users', by their names.
OPS: Final[dict[str, CustomOpDef]] = {}
_ALL: Final = "all devices"


class CustomOpDef:
    """An op of a user's; called as the function that it was made of.

    Attributes:
        schema: what it takes and gives.
        kernels: what computes, by types of devices; "meta" gives results without
            values.
        whole: what is called in place of all else, of ops that others are within.
    """

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.__name__ = schema.name.partition("::")[2]
        self.kernels: dict[str, Callable[..., Any]] = {}
        self.whole: Callable[..., Any] | None = None
        self.backward: Callable[..., Any] | None = None
        self.setup: Callable[..., Any] | None = None
        self.batching: Callable[..., Any] | None = None
        self.casts: dict[str, DType] = {}
        self._function: type[Function] = function_of(self)

    @property
    def _qualname(self) -> str:
        return self.schema.name

    @property
    def _schema(self) -> str:
        return str(self.schema)

    @property
    def default(self) -> CustomOpDef:
        """The op: it has one overload."""
        return self

    _opoverload = default

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def __reduce__(self) -> tuple[Any, ...]:
        return found, (self._qualname,)

    def __deepcopy__(self, memo: Any) -> CustomOpDef:
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        values = self.schema.bound(self._qualname, args, kwargs)
        classes = overridden(values)
        if classes:
            return ask(self, self._qualname, classes, args, kwargs)
        if self.casts and casting() is not None:
            with_casts = self._cast(values)
            if with_casts is not None:
                with without_casting():
                    return self._called(with_casts)
        return self._called(values)

    def _called(self, values: Values) -> Any:
        if self.whole is not None:
            return self._checked(_called_by(self.schema, self.whole, values))
        if self.schema.writes:
            return self._written(values)
        leaves, form = taken_apart(values)
        call = Call(self, form)
        outs = self._function.apply(call, *leaves)
        return put_together(list(outs), call.out)

    def _cast(self, values: Values) -> Values | None:
        here = casting() or {}
        for kind, dtype in self.casts.items():
            scope = here.get(kind)
            if scope is not None and scope.is_open:
                leaves, form = taken_apart(values)
                cast = [_cast(x, kind, dtype) for x in leaves]
                again: Values = put_together(cast, form)
                return again
        return None

    def _written(self, values: Values) -> Any:
        """A call of an op that writes into arguments: it has no gradient."""
        tensors = [x for x in taken_apart(values)[0] if isinstance(x, Tensor)]
        if grad_enabled() and any(x.requires_grad for x in tensors):
            raise AutogradError(
                self._qualname, "arguments", was="some that require gradients",
                needed="none that do: what writes into its arguments has no gradient",
                remedy="call it within no_grad(), or with detach()ed tensors",
            )  # fmt: skip
        with no_grad():
            result = self.run(values)
        for at in self.schema.writes:
            increment_version([x for x in taken_apart(values[at])[0] if x is not None])
        return result

    def run(self, values: Values) -> Any:
        """The result of the kernel of the arguments' device, which is checked."""
        leaves, form = taken_apart(values)
        tensors = [x for x in leaves if isinstance(x, Tensor)]
        kind = tensors[0].device.type if tensors else _device_of(self, values)
        kernel = self.kernels.get(kind)
        if kernel is None and kind != "meta":
            kernel = self.kernels.get(_ALL)
        if kernel is None:
            remedy = f"{self.__name__}.register_kernel({kind!r})"
            raise NotSupported(
                self._qualname, "device", was=kind,
                needed=f"one of {', '.join(self.kernels) or 'none that has a kernel'}",
                remedy="register_fake says what is given for device 'meta'"
                if kind == "meta" else remedy,
            )  # fmt: skip
        # A kernel is below autograd, and may ask for arrays.
        values = put_together([_below(x) for x in leaves], form)
        result = self._checked(_called_by(self.schema, kernel, values))
        if not self.schema.writes:
            _check_apart(self._qualname, tensors, result)
        return result

    def _checked(self, result: Any) -> Any:
        self.schema.check_result(self._qualname, result)
        return result

    def register_kernel(
        self, device_types: str | Iterable[str] | None,
        fn: Callable[..., Any] | None = None, /,
    ) -> Any:  # fmt: skip
        """Let a function compute on devices of some types, None for all.

        Args:
            fn: the function; without it, a decorator is given.
        """
        types = [device_types] if isinstance(device_types, str) else device_types

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            for kind in types or [_ALL]:
                self.kernels[kind] = function
            return function

        return register if fn is None else register(fn)

    def register_fake(self, fn: Callable[..., Any], /) -> Callable[..., Any]:
        """Let a function give results without values, of tensors of device "meta"."""
        self.kernels["meta"] = fn
        return fn

    def register_autograd(
        self, backward: Callable[..., Any], /, *,
        setup_context: Callable[..., Any] | None = None,
    ) -> None:  # fmt: skip
        """Give it a gradient.

        Args:
            backward: gets a context and the cotangents of the results, and gives a
                gradient for each argument, None for those without.
            setup_context: keeps in the context, from `inputs` and `output`, what
                backward needs.

        Raises:
            RuntimeError: it writes into its arguments.
        """
        if self.schema.writes:
            raise AutogradError(
                self._qualname, "op", was="one that writes into its arguments",
                needed="one that only gives results", remedy="let it give them",
            )  # fmt: skip
        self.backward, self.setup = backward, setup_context

    def register_vmap(self, func: Callable[..., Any] | None = None) -> Any:
        """Say what `vmap` does: `func(info, in_dims, *args)` gives results, and dims.

        Without it, the op is called for one row after the other.
        """

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            self.batching = function
            return function

        return register if func is None else register(func)

    def register_autocast(self, device_type: str, cast_inputs: DType) -> None:
        """Let autocast of a type of device cast floating point arguments to a dtype."""
        if not isinstance(cast_inputs, DType):
            raise ArgumentTypeError(
                "register_autocast", "cast_inputs", was=repr(cast_inputs),
                needed="a dtype",
            )  # fmt: skip
        self.casts[device_type] = cast_inputs


def _cast(x: Any, kind: str, dtype: DType) -> Any:
    floats = isinstance(x, Tensor) and x.dtype.is_floating_point
    return x.to(dtype) if floats and x.device.type == kind else x


def _below(x: Any) -> Any:
    return x.detach() if isinstance(x, Tensor) and x.requires_grad else x


def _called_by(schema: Schema, kernel: Callable[..., Any], values: Values) -> Any:
    """A function's result, arguments that are given by name given so."""
    pairs = list(zip(schema.arguments, values, strict=True))
    by_place = [x for a, x in pairs if not a.by_name]
    return kernel(*by_place, **{a.name: x for a, x in pairs if a.by_name})


def _device_of(op: CustomOpDef, values: Values) -> str:
    """The type of the device that is asked for, of an op without tensors."""
    for argument, value in zip(op.schema.arguments, values, strict=True):
        if argument.type.base == "Device" and value is not None:
            return str(value).partition(":")[0]
    return "cpu"


def _check_apart(name: str, tensors: list[Tensor], result: Any) -> None:
    """Raise for a result that is an argument, or in the memory of one.

    What is within an op is not seen, so that nothing could follow its views.
    """
    taken = {id(storage_of(x)) for x in tensors}
    for y in taken_apart(result)[0]:
        if not isinstance(y, Tensor):
            continue
        own = id(storage_of(y))
        if own in taken:
            raise AutogradError(
                name, "result", was="an argument, or in the memory of one, or of "
                "another result", needed="tensors of their own", remedy="clone() it",
            )  # fmt: skip
        taken.add(own)


def found(op: Any) -> CustomOpDef:
    """The op of a name, or the op itself.

    Raises:
        ArgumentError: there is none.
    """
    if isinstance(op, CustomOpDef):
        return op
    if op not in OPS:
        raise ArgumentError(
            "library", "op", was=repr(op), needed="the name of an op that was defined",
            remedy="custom_op or define makes one",
        )  # fmt: skip
    return OPS[op]


def custom_op(
    name: str, fn: Callable[..., Any] | None = None, /, *,
    mutates_args: str | Iterable[str], device_types: str | Iterable[str] | None = None,
    schema: str | None = None, tags: Any = None,
) -> Any:  # fmt: skip
    """Make an op of a function, which the rest takes as a whole.

    Args:
        name: with a namespace, as `"mine::sort"`.
        fn: the function, annotated; without it, a decorator is given.
        mutates_args: names of the arguments that it writes into, or "unknown".
        device_types: of the devices on which it computes, None for all.
        schema: what it takes and gives, in torch's notation, where there are no
            annotations.
        tags: torch's hints for its compiler, which change nothing.

    Raises:
        ValueError: a name without a namespace, an annotation of no type of an op's.

    Examples:
        >>> import dovetail as torch
        >>> from dovetail import Tensor
        >>> @torch.library.custom_op("doc::cubed", mutates_args=())
        ... def cubed(x: Tensor) -> Tensor:
        ...     return torch.from_numpy(x.numpy() ** 3)
        >>> def setup_context(ctx, inputs, output):
        ...     ctx.save_for_backward(*inputs)
        >>> def backward(ctx, ct):
        ...     return 3 * ctx.saved_tensors[0] ** 2 * ct
        >>> cubed.register_autograd(backward, setup_context=setup_context)
        >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> cubed(x).sum().backward()
        >>> x.grad
        tensor([ 3., 12.])
    """

    def made(function: Callable[..., Any]) -> CustomOpDef:
        text = schema or infer_schema(function, mutates_args=mutates_args)
        op = defined(name, text)
        op.register_kernel(device_types, function)
        op.__doc__ = function.__doc__
        return op

    return made if fn is None else made(fn)


def defined(name: str, schema: str) -> CustomOpDef:
    """A new op of a name, in place of an older one."""
    space, colons, own = name.partition("::")
    if not (colons and space.isidentifier() and own.replace(".", "_").isidentifier()):
        raise ArgumentError(
            "library", "name", was=repr(name), needed='a namespace and a name, "a::b"'
        )
    said = parsed(schema)
    op = OPS[name] = CustomOpDef(Schema(name, said.arguments, said.returns))
    return op
