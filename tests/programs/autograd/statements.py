"""Random statements of programs that differentiate, written as Python source.

A statement is drawn for the tensors that torch has at that moment, so most of them
make sense; some do not, and both libraries have to refuse them. `L` in the source is
the library.

Not drawn, since torch's behaviour there is an accident that nobody would want:

- `relu` and other piecewise linear ops whose gradient, recorded, says that it requires
  gradients, which then are zero everywhere: dovetail's says that it does not.
- An op in place whose other operand shares the memory (`x.mul_(x)`): torch refuses its
  gradient, dovetail keeps the old values.
- Writes to what `grad` returned: which of it is expanded, or shares memory with other
  gradients, is an accident of the rules that made it.
- `detach_()` and `requires_grad_(False)` of a tensor with views: torch's views go on to
  say that they require gradients that nothing receives.
- Writes through views with hooks: torch drops the hooks, dovetail calls them with the
  gradient of the old values, as both do for tensors that are no views.
- Hooks on views that were taken under no_grad: torch 2.13 dies of a segmentation fault.
- `requires_grad_()` of what was an operand before: torch's gradients, recorded, then
  depend on it, dovetail's take it for the constant that it was.
- Hooks of several tensors on what a pass begins at: torch does not call them.
- `detach_()` in inference mode, which torch leaves undone; custom Functions that write
  to what retains its gradient, which torch then drops.
- `t_()` and its like under no_grad: torch forgets that the gradient has another shape.
- `t_()` and its like of a tensor with hooks, which torch calls in another order.
- `retain_grad()` of, and writes through, a view of a written base: torch takes it for
  a leaf unless somebody has looked at `grad_fn`, so programs look.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Any, Final

Names = dict[str, Any]
SHAPES: Final = ((), (3,), (2, 3), (3, 3), (2, 2, 2), (1, 3), (4, 1))


class Draw:
    """Draws statements for the tensors among `names`.

    Attributes:
        random: where all choices come from.
        names: torch's side of the program, as it runs.
        others: the same of ours.
        unreadable: called with torch's error where a tensor cannot be looked at.
    """

    def __init__(
        self, random: Random, names: Names, others: Names,
        unreadable: Callable[[Exception], None],
    ) -> None:  # fmt: skip
        self.random = random
        self.names = names
        self.others = others
        self.unreadable = unreadable
        self._count = 0

    def fresh(self, letter: str = "t") -> str:
        """A name that no statement has used."""
        self._count += 1
        return f"{letter}{self._count}"

    def tensors(self, fits: Callable[[Any], bool] = lambda t: True) -> list[str]:
        """The names of the tensors that fit."""
        kind = self.names["L"].Tensor
        tensors = {n: t for n, t in self.names.items() if isinstance(t, kind)}
        for name in tensors:  # looking takes views again, so both sides are looked at
            with suppress(Exception):
                fits(self.others[name])
        try:
            return [n for n, t in tensors.items() if fits(t)]
        except RuntimeError as error:
            self.unreadable(error)
            raise

    def one(self, fits: Callable[[Any], bool] = lambda t: True) -> str:
        """One tensor that fits, the later the likelier; any where none does."""
        found = self.tensors(fits) or self.tensors()
        late = found[-5:] if self.random.random() < 0.6 else found
        return self.random.choice(late)

    def differentiable(self) -> str:
        return self.one(lambda t: t.requires_grad)

    def leaf(self) -> str:
        return self.one(lambda t: t.is_leaf and t.requires_grad)

    def like(self, name: str, apart: bool = False) -> str:
        """A tensor that broadcasts to `name`, or a number; `apart`: in other memory."""
        shape, memory = self.names[name].shape, _memory(self.names[name])

        def fits(t: Any) -> bool:
            if apart and _memory(t) == memory:
                return False
            if t.ndim > len(shape):
                return False
            return all(
                a in (1, b) for a, b in zip(t.shape[::-1], shape[::-1], strict=False)
            )

        found = self.tensors(fits)
        if not found or self.random.random() < 0.1:
            return self.random.choice(["2.0", "-0.5", "3"])
        return self.random.choice(found)

    def hooked(self) -> set[int]:
        """The memory of views that have hooks."""
        found = self.tensors(lambda t: t._is_view() and bool(t._backward_hooks))
        return {_memory(self.names[n]) for n in found}

    def is_alone(self, name: str) -> bool:
        """Whether no other tensor shares the memory of this one."""
        memory = _memory(self.names[name])
        return len(self.tensors(lambda t: bool(_memory(t) == memory))) == 1

    def of_gradients(self) -> set[int]:
        """The memory of what `grad` returned."""
        return {_memory(self.names[n]) for n in self.tensors() if n[0] == "g"}

    def dim(self, name: str) -> int:
        n = self.names[name].ndim
        return self.random.randrange(-n, n) if n else 0

    def start(self) -> list[str]:
        """The first lines: leaves and a constant."""
        lines = []
        for i in range(self.random.randint(1, 3)):
            lines.append(self._made(f"x{i}", ", requires_grad=True"))
        lines.append(self._made("c", ""))
        return lines

    def _made(self, name: str, rest: str) -> str:
        values = self._values(self.random.choice(SHAPES))
        return f"{name} = L.tensor({values}, dtype=L.float64{rest})"

    def _values(self, shape: tuple[int, ...]) -> Any:
        if not shape:
            return round(self.random.uniform(-1, 1), 2)
        return [self._values(shape[1:]) for _ in range(shape[0])]

    def statement(self) -> str:
        """The next statement."""
        kinds, weights = zip(*KINDS, strict=True)
        made: str = self.random.choices(kinds, weights)[0](self)
        without = self.random.random() < 0.05
        if without and not made.endswith(("t_()", "squeeze_()", "unsqueeze_(0)")):
            mode = self.random.choice(("no_grad", "no_grad", "inference_mode"))
            if mode == "no_grad" or _may_infer(made):
                return f"with L.{mode}(): {made}"
        return made


def _has_edge(t: Any) -> bool:
    """Whether torch gives the edge of a tensor: not of views taken under no_grad."""
    return t.grad_fn is not None or (t.requires_grad and not t._is_view())


def _may_infer(made: str) -> bool:
    """Whether a statement is drawn in inference mode: leaves are made outside."""
    left_out = ("backward", "grad", "detach_", ".data = ")
    return not any(word in made.replace(".grad_fn", "") for word in left_out)


def _memory(t: Any) -> int:
    address: int = t.untyped_storage().data_ptr()
    return address


def view(d: Draw) -> str:
    """A look into another tensor."""
    x, y = d.one(), d.fresh()
    t, r = d.names[x], d.random
    n = t.ndim
    found = ["{x}.detach()", "{x}.view(-1)", "{x}.reshape(-1)", "{x}.squeeze()"]
    found += ["{x}.unsqueeze(0)", "{x}[...]", "{x}.expand(2, *{x}.shape)"]
    found += ["{x}.flatten()", "{x}.view({x}.shape)", "{x}.data"]
    if n:
        i, j = d.dim(x), d.dim(x)
        found += [
            "{x}[0]", "{x}[1:]", "{x}[::2]", "{x}[..., 0]", "{x}[..., 1:]", "{x}[:-1]",
            f"{{x}}.transpose({i}, {j})", f"{{x}}.select({i}, 0)",
            f"{{x}}.narrow({i}, 0, 1)", f"{{x}}.unbind({i})[0]",
            f"{{x}}.split(2, {i})[0]", f"{{x}}.chunk(2, {i})[-1]",
            f"{{x}}.squeeze({i})", f"{{x}}.movedim({i}, {j})", "{x}.view_as({x})",
        ]  # fmt: skip
        if n == 1 and t.numel() > 1 and t.stride() == (1,):
            found += [f"L.as_strided({{x}}, (2,), (1,), {r.randint(0, 1)})"]
    if n == 2:
        found += ["{x}.t()", "{x}.T", "{x}.diagonal()", "{x}.permute(1, 0)"]
    return f"{y} = {r.choice(found).format(x=x)}"


def compute(d: Draw) -> str:
    """A result in memory of its own."""
    x, y, r = d.one(), d.fresh(), d.random
    other = d.like(x)
    found = [
        "{x} * {o}", "{x} + {o}", "{x} - {o}", "{o} * {x}", "{x} * {x}", "{x} / 2.5",
        "{x} / ({o} * {o} + 1.0)", "{x}.sin()", "{x}.tanh()", "{x}.sigmoid()",
        "{x}.exp().clamp(max=9.0)", "{x}.abs()", "{x}.clone()", "-{x}",
        "{x}.sum()", "{x}.mean()", "{x} ** 2", "{x}.masked_fill({x} > 0.1, 0.5)",
        "L.where({x} > 0, {x}, {o} + 0 * {x})", "{x} * 1", "{x} + 0.5",
    ]  # fmt: skip
    if d.names[x].ndim:
        i = d.dim(x)
        found += [
            f"{{x}}.sum({i})", f"{{x}}.cumsum({i})", f"L.cat([{{x}}, {{x}} * 2], {i})",
            f"L.stack([{{x}}, {{x}}.sin()], {i})", f"{{x}}.softmax({i})",
            "{x}[[0, -1]]", "{x}[[0, 0]]", "{x}.flip(0)", "{x}.mean(0, keepdim=True)",
        ]  # fmt: skip
    if d.names[x].ndim == 2:
        found += ["{x} @ {x}.t()", "{x}.tril()"]
    if r.random() < 0.15:
        found = ["Cube({x})", "Same({x})", "Shown({x})", "Parts({x})[0]"]
        found += ["Parts({x})[1]", "Parts({x})[2]", "Cube({x} * {o})"]
    return f"{y} = {r.choice(found).format(x=x, o=other)}"


def write(d: Draw) -> str:
    """A write in place, most into what may be written."""
    lenient = d.random.random() < 0.1
    shared = d.of_gradients() | d.hooked()
    x = d.one(
        lambda t: (
            (lenient or not (t.is_leaf and t.requires_grad))
            and _memory(t) not in shared
        )
    )
    o, t, r = d.like(x, apart=True), d.names[x], d.random
    if _memory(t) in shared:
        return f"{d.fresh()} = {x} * 2"
    found = [
        "{x}.mul_(2)", "{x}.mul_({o})", "{x}.add_({o})", "{x}.zero_()",
        "{x}.fill_(0.5)", "{x}.copy_({o} * L.ones_like({x}))",
        "{x}.masked_fill_({x} > 0, 0.25)",
        "{x}.sigmoid_()", "{x}.sin_()", "{x}.clamp_(-1, 1)", "{x}[...] = 0.5",
        "{x}[...] = {o}", "{x}[{x} > 0] = -0.5", "{x}.data.mul_(2)", "{x} *= {o}",
        "{x}.detach().add_(1)", "{x}.sub_({o})", "{x}.div_(2.0)", "{x}.neg_()",
    ]  # fmt: skip
    if t.ndim:
        found += [
            "{x}[0] = {o0}", "{x}[..., -1] = 0.25", "{x}[::2] = 0.75",
            "{x}[[0]] = -1.0", "{x}[1:] *= 2", "{x}[0].copy_({x}[-1] * 2)",
            "{x}[[0, -1]] = {o0}",
        ]  # fmt: skip
    if r.random() < 0.12 and not (t.retains_grad or t._backward_hooks):
        found = ["{x}.t_()", "{x}.squeeze_()", "{x}.unsqueeze_(0)"]
        if d.is_alone(x):
            found += ["{x}.detach_()"]
    if r.random() < 0.06 and not t.retains_grad:
        found = ["{y} = Written({x})"]
    if r.random() < 0.03 and d.is_alone(x) and not t._is_view():
        found = ["{x}.data = L.full_like({x}, 0.3)"]
    o0 = r.choice(["0.5", f"{x}[-1] * 0.5", "x0.sum()"])
    return f"{x}.grad_fn; " + r.choice(found).format(x=x, o=o, o0=o0, y=d.fresh())


def leafness(d: Draw) -> str:
    """What a leaf is, and what its `.grad` holds."""
    x, r = d.one(lambda t: t.is_leaf and t.requires_grad and not t._is_view()), d.random
    if not d.is_alone(x):
        return f"{x}.grad = None"
    new = d.fresh()
    return r.choice([
        f"{new} = {x}.detach().clone(); {new}.requires_grad_()",
        f"{x}.requires_grad_(False)",
        f"{x}.requires_grad_()", f"{x}.grad = None", f"{d.fresh('b')} = {x}.grad",
        f"{x}.grad = L.ones_like({x})", f"{x}.grad = {x}.detach() * 2",
    ])  # fmt: skip


def hook(d: Draw) -> str:
    """Something that runs while, or because, a gradient arrives."""
    r = d.random
    choice = r.random()
    if choice < 0.5:
        h, factor = d.fresh("h"), r.choice(["None", "2.0", "-1.0", "None"])
        if r.random() < 0.03:
            factor = r.choice(["'other shape'", "'other dtype'"])
        x = d.one(
            lambda t: t.requires_grad and not (t._is_view() and t.is_leaf)
            and _memory(t) not in d.of_gradients()
        )  # fmt: skip
        return f"{h} = {x}.register_hook(hook('{h}', {factor}))"
    if choice < 0.6:
        return r.choice([hook_of_node, hook_of_several])(d)
    if choice < 0.78:
        own = d.of_gradients()
        x = d.one(lambda t: t.requires_grad and _memory(t) not in own)
        return f"{x}.grad_fn; {x}.retain_grad()"
    handles = [n for n in d.names if n[0] == "h" and n[1:].isdigit()]
    if choice < 0.84 and handles:
        return f"{r.choice(handles)}.remove()"
    h = d.fresh("h")
    how = r.choice(["'keep'", "'keep'", "'drop'"])
    return f"{h} = {d.leaf()}.register_post_accumulate_grad_hook(after('{h}', {how}))"


def hook_of_node(d: Draw) -> str:
    """One that runs before or after a node, whose only result is looked at."""
    h, own = d.fresh("h"), d.of_gradients()

    def fits(t: Any) -> bool:
        if t.grad_fn is None or t._is_view() or _memory(t) in own:
            return False
        return not any(w in t.grad_fn.name() for w in ("Unbind", "Split", "Parts"))

    if not d.tensors(fits):
        return f"{h} = None"
    x = d.one(fits)
    if d.random.random() < 0.5:
        return f"{h} = {x}.grad_fn.register_hook(after_node('{h}'))"
    factor = d.random.choice(["None", "0.5"])
    return f"{h} = {x}.grad_fn.register_prehook(before_node('{h}', {factor}))"


def hook_of_several(d: Draw) -> str:
    """One that waits for the gradients of several tensors, or for the first."""
    h, mode = d.fresh("h"), d.random.choice(["all", "any"])

    def fits(t: Any) -> bool:
        return t.is_leaf and t.requires_grad and not t._is_view()

    if not d.tensors(fits):
        return f"{h} = None"
    found = ", ".join(d.one(fits) for _ in range(d.random.randint(1, 3)))
    return (
        f"{h} = L.autograd.graph.register_multi_grad_hook([{found}], several('{h}'), "
        f"mode='{mode}')"
    )


def differentiate(d: Draw) -> str:
    """A backward pass."""
    r = d.random
    y = d.one(lambda t: t.requires_grad and not t.is_leaf)
    loss = r.choice(
        [f"{y}.sum()", f"({y} * {y}).sum()", f"{y}.mean()", f"{y}.sin().sum()"]
    )
    options = r.choice(
        ["", "retain_graph=True", "retain_graph=True", "create_graph=True"]
    )
    if d.tensors(lambda t: not t.numel()):  # whether theirs flow is torch's accident
        options = options.replace("create", "retain")
    choice = r.random()
    if choice < 0.45:
        return f"{loss}.backward({options})"
    if choice < 0.55:
        own = d.of_gradients()
        fits = lambda t: t.requires_grad and _memory(t) not in own  # noqa: E731
        into = ", ".join(d.one(fits) for _ in range(r.randint(1, 2)))
        return f"{loss}.backward({options}{', ' if options else ''}inputs=[{into}])"
    if choice < 0.62 and not d.names[y].is_leaf:
        return f"{y}.backward(L.ones_like({y}) * 0.5{', ' if options else ''}{options})"
    if choice < 0.68:
        rest = f", {options}" if options else ""
        other = d.differentiable()
        return f"L.autograd.backward([{loss}, {other}.sum()]{rest})"
    wanted = [d.differentiable() for _ in range(r.randint(1, 3))]
    found = [d.fresh("g") for _ in wanted]
    rest = f", {options}" if options else ""
    unused = r.choice(["", ", allow_unused=True", ", allow_unused=True"])
    if r.random() < 0.15:
        wanted = [f"edge({d.one(_has_edge)})" for _ in wanted]
    elif r.random() < 0.1:
        unused = ", materialize_grads=True"
    if r.random() < 0.1 and _has_edge(d.names[y]):
        loss, rest = f"edge({y})", f", L.ones_like({y}, dtype=L.float32){rest}"
    return (
        f"{', '.join(found)}, = L.autograd.grad({loss}, [{', '.join(wanted)}]{rest}"
        f"{unused})"
    )


KINDS: Final[list[tuple[Callable[[Draw], str], float]]] = [
    (view, 5), (compute, 6), (write, 4), (leafness, 0.7), (hook, 1.6),
    (differentiate, 2.2),
]  # fmt: skip
