"""The source of an op's callable: one call path, written out for its parameters.

What is known of an op when it is declared needs not be asked at a call: which
parameters are tensors, what decides the dtype, how many results there are. So the
callable of each op is a function of its own, with the op's parameter names, that

1. makes a key of the kinds of tensors, of attributes and types of numbers,
2. finds under it what this call needs (an entry, see `dovetail.engine.entries`),
3. calls the kernel, makes the tensor, and puts it on the tape.

Whatever is out of the ordinary goes to `_miss`: subclasses, scopes, mixed kinds,
`out=`, calls not seen before. Names of this module's making start with an underscore,
which no parameter's does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from dovetail.engine.argument_source import ArgumentLines
from dovetail.engine.parameters import REQUIRED
from dovetail.engine.record_source import Result, recording

if TYPE_CHECKING:
    from dovetail.engine.op import Op
    from dovetail.engine.parameters import Param

# What a callable remembers: what calls of its op need, itself, the entry of a kernel
# that was learned last with its key (asked first, emptied with the others), its op.
CELLS: Final = ("_calls", "_function", "_last", "_op")

_ENTRY: Final = "_kernel, _kind, _runner, _ready"
_ONE: Final = Result("_t", "_r", "_kind")


class Form(NamedTuple):
    """What a callable of an op is for.

    Attributes:
        miss: how it calls what serves a call out of the ordinary.
        failed: how it calls what serves one that the kernel refused.
        general: how it calls what serves one without a kernel.
        body: how it calls what serves one whose body is put on the tape.
        others: it takes arguments by names that are no parameters', such as `out`.
        casts: it asks for autocast.
        over: it writes the result over the first operand.
        takes: the parameters that it takes, by position alone, what is given beside
            them being handed over; none where it takes all of them.
        items: the last parameter is a sequence whose items may be given one by one.
        stores: a number for a tensor has to fit, as it moves into the result; whether
            it does is not this callable's to say.
        users: users call it, who may not give a number for every tensor.
    """

    miss: str = "_miss("
    failed: str = "_failed("
    general: str = "_general("
    body: str = "_by_body("
    others: bool = True
    casts: bool = True
    over: bool = False
    takes: tuple[str, ...] = ()
    items: bool = False
    stores: bool = False
    users: bool = False


def source_of(op: Op, form: Form) -> tuple[str, int]:
    """The source of a function that calls an op, and of how many parts its keys are."""
    source = _Source(op, form)
    text = enclosed(op.name, source.lines())
    return text, len(source.key)


def _source_of_default(param: Param) -> str:
    if param.default is None or type(param.default) in (bool, int):
        return repr(param.default)
    return f"_op.defaults[{param.name!r}]"


def enclosed(name: str, lines: Iterable[str]) -> str:
    """The source of a function within one that has what it remembers."""
    cells = ", ".join(CELLS)
    last = f"    {cells}  # never reached: all have the same cells"
    body = (f"    {line}" for line in (*lines, last, f"return {name}"))
    return "\n".join([f"def enclosing({cells}):", *body]) + "\n"


def _made(y: Result) -> Iterator[str]:
    """The lines that make a tensor of a native array."""
    yield f"{y.tensor} = _fresh()"
    yield f"{y.tensor}._a = {y.native}"
    yield f"{y.tensor}._kind = {y.kind}"
    yield f"{y.tensor}._node = None"  # one by one: the interpreter's way is shorter
    yield f"{y.tensor}._storage = None"


class _Source(ArgumentLines):
    """Writes the function, a part after the other."""

    def __init__(self, op: Op, form: Form) -> None:
        super().__init__(op, form.takes)
        self.form = form
        self.numbers = op.is_elementwise and not form.stores
        self.no_numbers = op.no_numbers if form.users else ()
        self.over = form.over
        self.casts = form.casts
        self.others = "_others" if form.others and not form.items else "{}"
        self.values = "(" + "".join(f"{p.name}, " for p in op.params) + ")"
        self.miss = f"return {form.miss}_op, {self.values}, {self.others}, None)"

    def lines(self) -> Iterator[str]:
        op = self.op
        yield f"def {op.name}({self._parameters()}):"
        yield from (f"    {line}" for line in self._left_out())
        yield from (f"    {line}" for line in self._items())
        lead = op.tensors[op.lead_at] if op.tensors else None
        body = [self.miss]
        if lead is None or lead.role != "optional":
            body = [*self._ordinary(), *self.arguments(lead), *self._entry()]
            body += self._call()
        yield from (f"    {line}" for line in body)

    def _parameters(self) -> str:
        if self.form.items:
            *before, last = self.op.names
            return f"{', '.join(before)}, *{last}, **_others"
        taken = "".join(f"{n}=_required, " for n in self.takes or self.op.names)
        taken += "/, *_more, " if self.takes else ""
        return taken + ("**_others" if self.others == "_others" else "")

    def _items(self) -> Iterator[str]:
        """The last argument, from its items or as one sequence."""
        if not self.form.items:
            return
        *before, last = self.op.names
        param = self.op.params[-1]
        optional = param.default is not REQUIRED
        given = f"{', '.join(before)}, *{last}, **_others"
        yield "if _others:" if optional else f"if _others or not {last}:"
        yield f"    return _handed_over(_function, {given})"
        yield f"if _len({last}) == 1 and _type({last}[0]) is not _int:"
        yield f"    {last} = {last}[0]"
        if optional:
            yield f"elif not {last}:"
            yield f"    {last} = {_source_of_default(param)}"

    def _left_out(self) -> Iterator[str]:
        """Parameters that the function does not take; what else it is given."""
        if not self.takes:
            return
        given = f"_function, {', '.join(self.takes)}, *_more, **_others"
        yield "if _more:"
        yield f"    return _handed_over({given})"
        for param in self.op.params:
            if param.name not in self.takes:
                yield f"{param.name} = {_source_of_default(param)}"

    def _ordinary(self) -> Iterator[str]:
        here = "_here() is not None"
        if self.op.autocast is not None and self.casts:
            here = f"({here} or _casting() is not None)"
        watched = f"_scoped and {here}"
        named = self.others == "_others"
        yield f"if _others or ({watched}):" if named else f"if {watched}:"
        yield f"    {self.miss}"

    # ---- the entry, the kernel, the results

    def _entry(self) -> Iterator[str]:
        # Parts are compared in less time than a key is made of them and looked up.
        last = [f"_p{at}" for at in range(len(self.key))]
        other = (
            f"{known} {'!=' if part in self.values_of_key else 'is not'} {part}"
            for known, part in zip(last, self.key, strict=True)
        )
        yield f"{_ENTRY}, {', '.join(last)} = _last"
        yield f"if {' or '.join(other)}:"
        lines = [*self.unless_known]
        if len(self.key) > 1:
            lines += f"_key = ({', '.join(self.key)})", *self._looked_up("_key")
        else:
            lines += self._looked_up(self.key[0])
        yield from (f"    {line}" for line in lines)
        if self.over:
            return
        fitting = {name for name, _ in self.op.fitting}
        for param in self.op.rest:
            if param.role != "scalar" or param.name not in fitting:
                continue
            given = f"{param.name} is not None and " if param.optional else ""
            yield f"if {given}not _ready.least <= {param.name} <= _ready.most:"
            yield f"    return {self.form.general}_ready, {self.values})"

    def _looked_up(self, key: str) -> Iterator[str]:
        """The entry of a key, or what serves a call without an entry, or a kernel."""
        miss = f"return {self.form.miss}_op, {self.values}, {self.others}, {key})"
        yield "try:"
        yield f"    {_ENTRY} = _calls[{key}]"
        yield "except _KeyError:"
        yield "    _kernel = _ready = None"
        if self.over:
            yield "if _ready is None:"
            yield f"    {miss}"
            return
        yield "if _kernel is None:"
        yield "    if _ready is None:"
        yield f"        {miss}"
        yield f"    return {self.form.general}_ready, {self.values})"

    def _call(self) -> Iterator[str]:
        op = self.op
        on_tape = " or ".join(self.nodes) or "False"
        if self.over:
            yield from self._written(on_tape)
            return
        if op.by_body and self.nodes and not op.view:
            simple = not (op.has_list or op.mutates)
            call = self.form.body if simple else self.form.general
            yield f"if ({self._flows() or on_tape}) and _grad_enabled():"
            yield f"    return {call}_ready, {self.values})"
        given = ", ".join(self.natives)
        yield "try:"
        called = f"_kernel({given})" if op.view else f"_runner()(_kernel, {given})"
        yield f"    _r = {called}"
        yield "except _Exception as _error:"
        yield f"    return {self.form.failed}_op, {self.values}, _error)"
        if len(op.outputs) > 1:
            yield "if _r is _unserved:"
            yield f"    return {self.form.general}_ready, {self.values})"
            yield from self._several(on_tape)
            return
        yield "if _type(_r) is not _kind.array:"
        yield "    if _r is _unserved:"
        yield f"        return {self.form.general}_ready, {self.values})"
        yield "    _r = _kind.lift(_r)"
        if op.view:
            yield f"return _as_view(_op, {op.tensors[0].name}, _r, _ready.attrs)"
            return
        yield from _made(_ONE)
        yield from self._returned(on_tape, [_ONE], "_t")

    def _several(self, on_tape: str) -> Iterator[str]:
        """The results of a kernel that gives more than one."""
        op = self.op
        results = [Result(f"_t{i}", f"_r{i}", f"_w{i}") for i in range(len(op.outputs))]
        yield f"{', '.join(y.native for y in results)} = _r"
        yield f"{', '.join(y.kind for y in results)} = _ready.plan.kinds"
        for y in results:
            yield f"if _type({y.native}) is not {y.kind}.array:"
            yield f"    {y.native} = {y.kind}.lift({y.native})"
            yield from _made(y)
        seen = [y.tensor for y in results[: len(results) - op.residuals]]
        several = f"_op.form(({', '.join(seen)}))"
        yield from self._returned(on_tape, results, several if seen[1:] else seen[0])

    def _returned(
        self, on_tape: str, results: list[Result], visible: str
    ) -> Iterator[str]:
        """What a caller gets of the results, which are put on the tape before."""
        if self.op.vjp is not None and self.nodes:
            yield f"if not ({on_tape}):"
            yield f"    return {visible}"
            yield from self.late
            yield from self._record(results)
        yield f"return {visible}"

    def _flows(self) -> str:
        """What is true where gradients flow, which a node alone of a view is not."""
        if self.op.has_list:
            return ""
        nodes = [self.inputs[i].node for i in sorted(self.inputs)]
        return " or ".join(f"({n} is not None and _on_tape({n}))" for n in nodes)

    def _written(self, on_tape: str) -> Iterator[str]:
        """The kernel writes over the first operand, if nothing speaks against it.

        Memory that is all its own, and no tape: a view, or an expanded tensor, has
        not the array that its storage was made for.
        """
        target = self.op.tensors[0].name
        yield "_into, _memory = _ready.plan.into, " + f"{target}._storage"
        yield f"if _into is None or (({on_tape}) and _grad_enabled()):"
        yield f"    {self.miss}"
        yield "if _memory is None and not _inferred:"
        yield f"    _memory = {target}._storage = _Storage(_a0)"
        yield "else:"
        yield f"    _memory = _memory or _storage_of({target})"
        yield "    if _memory.root is not _a0 or _memory.to_write is not None:"
        yield f"        {self.miss}"
        yield "try:"
        yield f"    _runner()(_into, {', '.join(self.natives)}, out=_a0)"
        yield "except _Exception:"
        yield f"    {self.miss}"
        yield "_memory.version += 1"
        yield f"return {target}"

    def _record(self, results: list[Result]) -> Iterable[str]:
        if self.op.has_list:
            outs = "".join(f"{y.tensor}, " for y in results)
            return (f"_record(_op, ({outs}), {self._tensors()}, {self._attrs()})",)
        inputs = [self.inputs[i] for i in sorted(self.inputs)]
        return recording(self.op, inputs, self._attrs(), results)

    def _tensors(self) -> str:
        """The inputs in the order of the parameters, numbers as tensors."""
        given = [self.inputs[i] for i in sorted(self.inputs)]
        tensors = (
            f"_wrap({x.native}, _k) if {x.tensor} is None else {x.tensor}"
            if x.constant
            else x.tensor
            for x in given
        )
        return "(" + "".join(f"{x}, " for x in tensors) + ")"

    def _attrs(self) -> str:
        if not self.op.scalars:
            return "_ready.attrs"
        filled = ", ".join(f"{name!r}: {name}" for name in self.op.scalars)
        return "{**_ready.attrs, " + filled + "}"
