"""Calls as sources: of a public function, method, operator, class or optimizer."""

from __future__ import annotations

import ast
import inspect
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import dovetail as dt
from tests.programs.bad_calls import values

# They change the process, wait, reach files or answer about it: nothing to refuse.
LEFT_OUT: Final = frozenset({
    "save", "load", "save_file", "load_file", "stream", "synchronize", "import_module",
    "current_stream", "default_stream", "devices", "seed", "initial_seed", "compile",
    "use_deterministic_algorithms", "reset_fallbacks", "register_plugin",
    "get_default_dtype", "is_available", "get_num_threads", "Final", "numpy",
    "share_memory_", "data_ptr", "cuda", "xpu", "rocm", "empty", "new_empty",
    "empty_like", "empty_strided", "record_stream", "map_location", "from_file",
    "get_rng_state", "get_autocast_dtype", "is_autocast_enabled",
    "get_device_module",
})  # fmt: skip
OPERATORS: Final = (
    "{} + {}", "{} - {}", "{} * {}", "{} / {}", "{} // {}", "{} % {}", "{} ** {}",
    "{} @ {}", "{} & {}", "{} | {}", "{} ^ {}", "{} << {}", "{} >> {}", "{} < {}",
    "{} == {}", "{}[{}]", "{}[..., {}]", "{}[{}, None]", "put({}, {}, {})",
    "iadd({}, {})", "float({})", "int({})", "bool({})", "len({})", "list({})",
    "-{}", "~{}", "abs({})", "repr({})", "'{{:5}}'.format({})",
)  # fmt: skip
_OFTEN: Final = 4  # as often is an operator called as a function


@dataclass(frozen=True, slots=True)
class Call:
    """One call.

    Attributes:
        kind: function, method, operator, layer, class or optimizer.
        name: what is called, as the report groups it.
        template: its source, with `a0`, `a1`, … for the arguments.
        arguments: the source of each.
    """

    kind: str
    name: str
    template: str
    arguments: tuple[str, ...]

    def __str__(self) -> str:
        text = self.template
        for i in reversed(range(len(self.arguments))):
            text = text.replace(f"a{i}", self.arguments[i])
        return text


@dataclass(frozen=True, slots=True)
class Target:
    """Something public that can be called, and the parameters it is known to have."""

    kind: str
    path: str
    parameters: tuple[inspect.Parameter, ...]


def respelled(call: Call, parameters: Sequence[inspect.Parameter]) -> Iterator[Call]:
    """The same arguments by place alone, as far as they lie together, and by name.

    torch has overloads that take an argument by one of the two only, and such as have
    no default where another one has.
    """
    tree = ast.parse(call.template, mode="eval").body
    if call.kind not in ("function", "method") or not isinstance(tree, ast.Call):
        return
    names = [p.name for p in parameters if p.kind is not p.VAR_KEYWORD]
    given = [ast.unparse(a) for a in tree.args]
    named = {k.arg: ast.unparse(k.value) for k in tree.keywords if k.arg is not None}
    if len(named) != len(tree.keywords) or len(given) > len(names):
        return
    places, rest = list(given), dict(named)
    for name in names[len(given) :]:
        if name not in rest:
            break
        places.append(rest.pop(name))
    first = int(call.kind == "function")
    by_name = dict(zip(names[first:], given[first:], strict=False)) | named
    function = ast.unparse(tree.func)
    defaults = {
        p.name: repr(p.default) for p in parameters[first:]
        if type(p.default) in (type(None), bool, int, float, str)
    }  # fmt: skip
    in_full = defaults | by_name
    for some, others in (
        (places, rest), (given[:first], by_name), (given[:first], in_full),
    ):  # fmt: skip
        listed = ", ".join([*some, *(f"{k}={v}" for k, v in others.items())])
        yield replace(call, template=f"{function}({listed})")


def targets() -> list[Target]:
    """All that the live namespace offers, sorted."""
    tensor = dt.Tensor
    spaces = {
        "torch": dt, "torch.nn.functional": dt.nn.functional,
        "torch.linalg": dt.linalg, "torch.fft": dt.fft, "torch.special": dt.special,
    }  # fmt: skip
    found = [
        *(t for path, space in spaces.items() for t in _functions(path, space)),
        *(_target("method", n, getattr(tensor, n)) for n in _names(tensor)),
        *(
            _target(_kind(getattr(dt.nn, n)), f"torch.nn.{n}", getattr(dt.nn, n))
            for n in _names(dt.nn)
            if isinstance(getattr(dt.nn, n), type) and n not in ("Module", "Parameter")
        ),
        *(
            _target("optimizer", f"torch.optim.{n}", getattr(dt.optim, n))
            for n in _names(dt.optim) if isinstance(getattr(dt.optim, n), type)
            and n != "Optimizer"
        ),
    ]  # fmt: skip
    return sorted(found, key=lambda t: (t.kind, t.path))


def _names(space: Any) -> list[str]:
    """What can be called in a namespace: of dovetail's own, more than its `__all__`."""
    return [
        n for n in dir(space)
        if not n.startswith(("_", "set_", "manual_seed")) and n not in LEFT_OUT
        and callable(getattr(space, n))
    ]  # fmt: skip


def _kind(cls: type) -> str:
    """Modules are made and called; other classes of torch.nn are made only."""
    return "layer" if issubclass(cls, dt.nn.Module) else "class"


def _functions(path: str, space: Any) -> list[Target]:
    return [
        _target("function", f"{path}.{n}", getattr(space, n))
        for n in _names(space)
        if not isinstance(getattr(space, n), type)
    ]


def _target(kind: str, path: str, function: Any) -> Target:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return Target(kind, path, ())
    return Target(kind, path, tuple(signature.parameters.values()))


class Drawing:
    """One call. What is called goes round, so that a new name moves no other's draws.

    Args:
        offered: what can be called.
        seed: of all calls.
        number: of this call. It says what is called, and for how many times.
    """

    def __init__(self, offered: list[Target], seed: str, number: int) -> None:
        templates = OPERATORS * _OFTEN
        turn, at = divmod(number, len(offered) + len(templates))
        one: Target | str = [*offered, *templates][at]
        self.one = one
        name = one if isinstance(one, str) else f"{one.kind} {one.path}"
        again = max(0, at - len(offered)) // len(OPERATORS)
        self.rng = random.Random(f"{seed}:{name}:{turn}:{again}")
        self.arguments: list[str] = []

    def call(self) -> Call:
        if isinstance(self.one, str):
            return self._operator(self.one)
        return self._call(self.one)

    def _call(self, target: Target) -> Call:
        own = list(target.parameters)
        start = ""
        if target.kind == "method":
            own = own[1:]
            start = f"{self._argument(values.tensor(self.rng))}."
        text = f"{start}{target.path}({self._list(own)})"
        if target.kind == "layer":
            inputs = self.rng.choice((1, 1, 1, 2))
            given = (self._argument(values.tensor(self.rng)) for _ in range(inputs))
            text += f"({', '.join(given)})"
        elif target.kind == "optimizer":
            text += ".step()"
        return Call(target.kind, target.path, text, tuple(self.arguments))

    def _operator(self, template: str) -> Call:
        drawn = [values.tensor(self.rng)]
        while len(drawn) < 3:
            drawn.append(values.anything(self.rng))
        if template[0] == "{" and "[" not in template and self.rng.random() < 0.15:
            drawn[0], drawn[1] = drawn[1], drawn[0]
        places = [self._argument(a) for a in drawn[: template.count("{}")]]
        text = template.format(*places)
        return Call("operator", template, text, tuple(self.arguments))

    def _argument(self, source: str) -> str:
        self.arguments.append(source)
        return f"a{len(self.arguments) - 1}"

    def _list(self, parameters: list[inspect.Parameter]) -> str:
        """Arguments in order and by name: mostly fitting, one or two of them not."""
        rng = self.rng
        faults = rng.choice((0, 1, 1, 2))
        broken = {rng.randrange(len(parameters) or 1) for _ in range(faults)}
        places: list[str] = []
        named: list[str] = []
        for i, p in enumerate(parameters):
            if p.kind is p.VAR_KEYWORD:
                continue
            if p.kind is p.VAR_POSITIONAL:
                count = rng.choice((0, 1, 1, 2, 3)) if not named else 0
                places += [self._argument(values.anything(rng)) for _ in range(count)]
                continue
            optional = p.default is not p.empty
            if optional and rng.random() < 0.5:
                continue
            if not optional and rng.random() < 0.03:
                continue  # a missing one
            annotation = p.annotation if isinstance(p.annotation, str) else ""
            drawn = values.plausible(rng, p.name, annotation)
            at = self._argument(values.anything(rng) if i in broken else drawn)
            if p.kind is p.KEYWORD_ONLY or (optional and rng.random() < 0.7) or named:
                named.append(f"{p.name}={at}")
            else:
                places.append(at)
        return ", ".join([*places, *named, *self._extra(parameters)])

    def _extra(self, parameters: list[inspect.Parameter]) -> list[str]:
        """What no signature asks for: an unknown keyword, a double one, `out=`."""
        how = self.rng.random()
        if how < 0.02:
            return [f"bogus={self._argument('1')}"]
        variadic = inspect.Parameter.VAR_POSITIONAL
        if how < 0.04 and parameters and parameters[0].kind is not variadic:
            return [f"**{{{parameters[0].name!r}: {self._argument('1')}}}"]
        if how < 0.1:
            out = self.rng.random() < 0.7
            given = values.tensor(self.rng) if out else values.anything(self.rng)
            return [f"**{{'out': {self._argument(given)}}}"]
        return []
