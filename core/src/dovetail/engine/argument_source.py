"""The lines that look at a call's arguments, for the code of an op's callable.

They find the native arrays and where the tape goes on, and the parts of the key under
which the call's entry is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from dovetail.engine.record_source import Given

if TYPE_CHECKING:
    from dovetail.engine.op import Op
    from dovetail.engine.parameters import Param

# By annotation, what a value has to be for its equality to be identity of meaning:
# 1, 1.0 and True are equal, and only one of them is a dim.
_EXACT: Final = {
    "Axis": "_int", "NewAxis": "_int", "int": "_int", "bool": "_bool", "str": "_str",
    "DType": "_DType", "Kind": "_Kind", "Ignored": "_bool", "NotYet": "_bool",
}  # fmt: skip
_COUNTED: Final = (
    "Axis",
    "NewAxis",
    "Axes",
    "AxesIfAny",
    "AxisList",
)  # from the front, by ndim
_UNCOUNTED: Final = frozenset({*_EXACT, "Ints", "Shape", "Sizes"} - {*_COUNTED})
_SEQUENCES: Final = frozenset({"Shape", "Sizes", "Ints", "AxisList", "AxisSet"})
_CHOICE: Final = "Literal["  # of strings, which all choices are


def _is_counted(param: Param) -> bool:
    """Whether a parameter means something by the number of dims."""
    choice = param.annotation.startswith(_CHOICE)
    return param.annotation not in _UNCOUNTED and not choice


def _is_no_tensor(name: str) -> str:
    """Whether it is no plain tensor; that it is a Parameter is rarely asked."""
    return f"_type({name}) is not _Tensor and _type({name}) is not _Parameter"


class ArgumentLines:
    """Writes what is asked of each argument.

    Attributes:
        takes: the parameters that the function takes; none where it takes all of them.
        numbers: it takes numbers for tensors.
        no_numbers: the places of tensors for which it takes none.
        over: it writes the result over the first operand.
        counts_dims: the number of dims of the leading tensor is part of the key.
        miss: the line for a call out of the ordinary.
        key: the parts of the key.
        values_of_key: those that may be equal without being the same object.
        unless_known: lines that ask for types, which the very object that was given
            before need not be asked.
        natives: what the kernel gets.
        inputs: what the tape gets, by position.
        nodes: what is true where an input is on the tape.
        late: lines that only the tape needs.
    """

    numbers: bool
    no_numbers: tuple[int, ...]
    over: bool
    miss: str

    def __init__(self, op: Op, takes: tuple[str, ...]) -> None:
        self.op = op
        self.takes = takes
        self.key: list[str] = []
        self.values_of_key: set[str] = set()
        self.unless_known: list[str] = []
        self.natives: list[str] = []
        self.inputs: dict[int, Given] = {}
        self.nodes: list[str] = []
        self.late: list[str] = []
        self.counts_dims = False

    def arguments(self, lead: Param | None) -> Iterator[str]:
        """The lines that ask what was given, the leading tensor first."""
        op = self.op
        self.natives = [f"_a{i}" for i in range(len(op.tensors))]
        self.counts_dims = lead is not None and any(map(_is_counted, op.statics))
        order = sorted(range(len(op.tensors)), key=lambda i: op.tensors[i] is not lead)
        parts: dict[int, list[str]] = {}
        for at in order:
            parts[at] = list(self._tensor(at, op.tensors[at] is lead))
            yield from parts[at]
        if self.counts_dims and lead is not None:
            first = f"_a{op.lead_at}" + ("[0]" if lead.role == "list" else "")
            self.key.append(f"_len({first}.shape)")
        given = [p for p in op.options if not self.takes or p.name in self.takes]
        for param in (*op.rest, *given):
            if param.role == "scalar":
                self.key.append(f"_type({param.name})")
                self.natives.append(f"{param.name}={param.name}")
            else:
                yield from self._attribute(param)

    def _tensor(self, at: int, lead: bool) -> Iterator[str]:
        op = self.op
        name, role = op.tensors[at].name, op.tensors[at].role
        promoted = op.promote is not None and name not in op.indices | op.masks
        own = "_k" if lead or promoted else f"_k{at}"
        if lead or not promoted:
            self.key.append(own)
        if role == "list":
            yield from self._list(at, own, lead, known=promoted and not lead)
            return
        native, node = f"_a{at}", f"{name}._node is not None"
        if role == "optional":
            yield from self._optional(at, own, promoted)
        elif promoted and not lead and self._takes_number(at):
            yield from self._number(at, op.tensors[at].fits)
            node = f"_d{at} is not None"
        else:
            yield f"if {_is_no_tensor(name)}:"
            yield f"    {self.miss}"
            if promoted and not lead:
                yield f"if {name}._kind is not _k:"
                yield f"    {self.miss}"
            else:
                yield f"{own} = {name}._kind"
            if self.over or (lead and self.counts_dims):
                yield f"{native} = {name}._a"
            else:  # read where it is needed, which is once without a tape
                self.natives[at] = f"{name}._a"
                self.late.append(f"{native} = {name}._a")
        if role != "optional":
            self.nodes.append(node)
            is_number = promoted and not lead and self._takes_number(at)
            self.inputs[at] = (
                Given(f"_x{at}", native, own, f"_d{at}", constant=True)
                if is_number
                else Given(name, native, own, f"{name}._node")
            )

    def _takes_number(self, at: int) -> bool:
        return self.numbers and at not in self.no_numbers

    def _number(self, at: int, fits: bool) -> Iterator[str]:
        """A tensor of the leading one's kind, or a number that leaves the dtype."""
        name = self.op.tensors[at].name
        plain = f"_c{at} is _Tensor or _c{at} is _Parameter"
        yield f"_c{at} = _type({name})"
        yield f"if {plain}:"
        yield f"    if {name}._kind is not _k:"
        yield f"        {self.miss}"
        yield f"    _a{at} = {name}._a"
        yield f"    _d{at} = {name}._node"
        yield "else:"
        yield f"    _a{at} = _k.scalars.get(_c{at})"
        refused = f" or _c{at} is _bool" if self.op.each else ""
        if fits:  # as all within the least range of floats do
            refused = f" or _c{at} is _complex or not -65504.0 <= {name} <= 65504.0"
        yield f"    if _a{at} is None{refused}:"
        yield f"        {self.miss}"
        yield f"    _a{at} = _a{at}[{name}]"
        yield f"    _d{at} = None"
        self.late.append(f"_x{at} = {name} if {plain} else None")

    def _optional(self, at: int, own: str, promoted: bool) -> Iterator[str]:
        name = self.op.tensors[at].name
        yield f"if {name} is None:"
        yield f"    _a{at} = _d{at} = None"
        if not promoted:
            yield f"    {own} = None"
        yield f"elif {_is_no_tensor(name)}:"
        yield f"    {self.miss}"
        if promoted:
            yield f"elif {name}._kind is not _k:"
            yield f"    {self.miss}"
        yield "else:"
        yield f"    _a{at} = {name}._a"
        yield f"    _d{at} = {name}._node"
        if promoted:
            self.key.append(f"({name} is None)")
        else:
            yield f"    {own} = {name}._kind"
        self.nodes.append(f"_d{at} is not None")
        self.inputs[at] = Given(name, f"_a{at}", own, f"_d{at}", optional=True)

    def _list(self, at: int, own: str, lead: bool, known: bool) -> Iterator[str]:
        name = self.op.tensors[at].name
        yield f"_c{at} = _type({name})"
        yield f"if _c{at} is not _tuple and _c{at} is not _list:"
        yield f"    {self.miss}"
        lines = self._each(at, own, known)
        if not known:
            yield f"{own} = None"
            yield from self._pair(at, own)
            yield f"if {own} is None:"
            lines = (f"    {line}" for line in lines)
        yield from lines
        if lead:  # of another, that it is empty is what the key says of it
            yield f"if {own} is None:"
            yield f"    {self.miss}"
        self.nodes.append(f"_d{at}")
        self.inputs[at] = Given(f"_list({name})", f"_a{at}", own, f"_d{at}")

    def _pair(self, at: int, own: str) -> Iterator[str]:
        """Two plain tensors off the tape, which most lists are, without a loop."""
        name = self.op.tensors[at].name
        yield f"if _len({name}) == 2:"
        yield f"    _x, _y = {name}"
        alike = "_x._kind is _y._kind and _x._node is None is _y._node"
        yield f"    if _type(_x) is _Tensor is _type(_y) and {alike}:"
        yield f"        {own} = _x._kind"
        yield f"        _a{at} = [_x._a, _y._a]"
        yield f"        _d{at} = False"

    def _each(self, at: int, own: str, known: bool) -> Iterator[str]:
        """The tensors of a list one by one, all of one kind."""
        yield f"_a{at} = []"
        yield f"_d{at} = False"
        yield f"for _x in {self.op.tensors[at].name}:"
        yield f"    if {_is_no_tensor('_x')}:"
        yield f"        {self.miss}"
        yield f"    if _x._kind is not {own}:"
        if known:
            yield f"        {self.miss}"
        else:
            yield f"        if {own} is not None:"
            yield f"            {self.miss}"
            yield f"        {own} = _x._kind"
        yield f"    _a{at}.append(_x._a)"
        yield "    if _x._node is not None:"
        yield f"        _d{at} = True"

    def _attribute(self, param: Param) -> Iterator[str]:
        """The value where its type is the one expected, else its frozen form."""
        kind, _, none = param.annotation.partition(" | ")
        exact = "_str" if kind.startswith(_CHOICE) else _EXACT.get(kind)
        part = param.name if exact is not None else f"_f_{param.name}"
        if exact is not None:
            wrong = f"_type({param.name}) is not {exact}"
            if none:
                wrong = f"{param.name} is not None and {wrong}"
            self.unless_known += f"if {wrong}:", f"    {self.miss}"
        elif kind in _SEQUENCES and not none:
            yield from self._sequence(param.name, part)
        else:
            yield f"{part} = {param.name}"
            yield f"if {part} is not None and _type({part}) is not _int:"
            yield f"    {part} = _frozen({part})"
            yield f"    if {part} is None:"
            yield f"        {self.miss}"
        self.key.append(part)
        if exact is None:
            self.values_of_key.add(part)

    def _sequence(self, name: str, part: str) -> Iterator[str]:
        """A tuple of ints, or a shape, is its own part; of others, the frozen form."""
        yield f"{part} = {name}"
        yield f"if _type({part}) is _tuple:"
        yield f"    for _n in {part}:"
        yield "        if _type(_n) is not _int:"
        yield f"            {part} = _frozen({part})"
        yield "            break"
        yield f"elif _type({part}) is not _Size:"
        yield f"    {part} = _frozen({part})"
        yield f"if {part} is None:"
        yield f"    {self.miss}"
