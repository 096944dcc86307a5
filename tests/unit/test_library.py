"""Ops of users': `dovetail.library`."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dovetail as dt
from dovetail import Tensor, library
from dovetail.library import schemas
from dovetail.library.custom_ops import OPS

fn = dt.func


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    known = dict(OPS)
    yield
    OPS.clear()
    OPS.update(known)


def sines() -> Any:
    """`sin(x) * k` by NumPy, with a gradient."""

    @library.custom_op("mine::sines", mutates_args=())
    def op(x: Tensor, k: float = 2.0) -> Tensor:
        return dt.tensor(np.sin(x.numpy()) * k, dtype=x.dtype)

    def setup(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[0])
        ctx.k = inputs[1]
        assert ctx.needs_input_grad == (True, False)

    def backward(ctx: Any, ct: Any) -> Any:
        return ct * ctx.saved_tensors[0].cos() * ctx.k, None

    op.register_autograd(backward, setup_context=setup)
    op.register_fake(lambda x, k=2.0: dt.empty_like(x))
    return op


X = dt.from_numpy(np.random.default_rng(0).random((2, 3)))


def truth(x: Any) -> Any:
    """What `sines` computes, by ops."""
    return x.sin() * 2


PROGRAMS: dict[str, Any] = {
    "call": lambda f: f(X),
    "grad": lambda f: fn.grad(lambda x: (f(x) ** 2).sum())(X),
    "hessian": lambda f: fn.hessian(lambda x: (f(x) ** 2).sum())(X[0]),
    "vmap": lambda f: fn.vmap(f)(X),
    "vmap, by columns": lambda f: fn.vmap(f, 1, 1)(X),
    "vmap(grad)": lambda f: fn.vmap(fn.grad(lambda x: (f(x) ** 2).sum()))(X),
    "grad(vmap)": lambda f: fn.grad(lambda x: (fn.vmap(f)(x) ** 2).sum())(X),
    "jvp": lambda f: fn.jvp(lambda x: f(x) ** 2, (X,), (X,))[1],
    "vmap(vmap)": lambda f: fn.vmap(fn.vmap(f))(X),
    "jacrev": lambda f: fn.jacrev(f)(X),
    "compile": lambda f: dt.compile(lambda x: f(x) + 1)(X),
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_ops_take_part_in_everything(program: str) -> None:
    """Though nobody can look into them."""
    assert dt.allclose(PROGRAMS[program](sines()), PROGRAMS[program](truth))


def test_backward_and_what_is_kept() -> None:
    """On the tape; not without gradients asked for, where setup is not called."""
    op = sines()
    x = X.clone().requires_grad_()
    op(x, 3.0).sum().backward()
    assert dt.allclose(x.grad, 3 * X.cos())
    with dt.no_grad():
        assert not op(x).requires_grad
    assert op(X, k=1.0).requires_grad is False
    assert op(dt.empty(4, 5, device="meta")).shape == (4, 5)


def test_it_is_found_by_its_name() -> None:
    """Copied and pickled as what it is; a later one of the name takes its place."""
    op = sines()
    assert copy.deepcopy(op) is op
    assert pickle.loads(pickle.dumps(op)) is op
    assert repr(op) == "<CustomOpDef(mine::sines)>"
    assert op._schema == "mine::sines(Tensor x, float k=2.0) -> Tensor"
    again = sines()
    assert again is not op
    assert OPS["mine::sines"] is again


def test_lists_and_several_results() -> None:
    """Lists of tensors have lists of gradients; arguments by name have none."""

    @library.custom_op("mine::mixed", mutates_args=())
    def mixed(
        xs: Sequence[Tensor], w: Tensor | None, *, scale: float = 1.0
    ) -> tuple[Tensor, list[Tensor], int]:
        total = dt.stack([x.clone() for x in xs]).sum(0) * scale
        return total, [x * 2 for x in xs], len(xs)

    def setup(ctx: Any, inputs: Any, keyword_only_inputs: Any, output: Any) -> None:
        ctx.scale = keyword_only_inputs["scale"]
        ctx.count = output[2]
        assert ctx.needs_input_grad == ([True, False], False, False)

    def backward(ctx: Any, total: Any, doubled: Any, _: Any) -> Any:
        return [total * ctx.scale + 2 * d for d in doubled], None

    mixed.register_autograd(backward, setup_context=setup)
    a, b = X.clone().requires_grad_(), X.clone()
    total, doubled, count = mixed([a, b], None, scale=3.0)
    assert count == 2
    assert isinstance(doubled, list)
    (total * X + doubled[0]).sum().backward()
    assert dt.allclose(a.grad, 3 * X + 2)
    got = fn.vmap(lambda x: mixed([x, x], None)[0])(X)
    assert dt.allclose(got, 2 * X)


def test_writes() -> None:
    """What an op writes into is counted as written, and has no gradient."""

    @library.custom_op("mine::add_one", mutates_args={"x"})
    def add_one(x: Tensor) -> None:
        x.numpy()[...] += 1

    x = dt.zeros(3)
    before = x._version
    assert add_one(x) is None
    assert x.tolist() == [1, 1, 1]
    assert x._version > before
    w = dt.ones(3, requires_grad=True)
    y = w * x
    add_one(x)
    with pytest.raises(RuntimeError, match="modified"):
        (y * y).sum().backward()
    with pytest.raises(RuntimeError, match="no gradient"):
        add_one(w)
    with dt.no_grad():
        add_one(w)
    assert w.tolist() == [2, 2, 2]
    with pytest.raises(RuntimeError, match="writes"):
        add_one.register_autograd(lambda ctx: None)
    assert "Tensor(a!) x" in add_one._schema


def test_kernels_of_devices() -> None:
    """The device of the tensors says which kernel computes."""

    @library.custom_op("mine::where_am_i", mutates_args=(), device_types="cpu")
    def op(x: Tensor) -> Tensor:
        return x + 1

    assert op(dt.zeros(1)).item() == 1
    with pytest.raises(NotImplementedError, match="register_fake"):
        op(dt.zeros(1, device="meta"))

    @op.register_kernel("cpu")
    def _(x: Tensor) -> Tensor:
        return x + 2

    assert op(dt.zeros(1)).item() == 2
    op.register_kernel("elsewhere")(lambda x: x)
    lonely = library.CustomOpDef(schemas.parsed("mine::lonely(Tensor x) -> Tensor"))
    with pytest.raises(NotImplementedError, match=r"register_kernel\('cpu'\)"):
        lonely(X)


def test_a_rule_for_rows() -> None:
    """`register_vmap` says how, and gradients go through it."""
    op = sines()
    seen = []

    @op.register_vmap
    def _(info: Any, in_dims: Any, x: Any, k: Any) -> Any:
        seen.append((info.batch_size, in_dims))
        return op(x, k), in_dims[0]

    assert dt.allclose(fn.vmap(op, 1)(X), truth(X).mT)
    assert seen == [(3, (0, None))]
    got = fn.vmap(fn.grad(lambda x: (op(x) ** 2).sum()))(X)
    assert dt.allclose(got, fn.grad(lambda x: (truth(x) ** 2).sum())(X))
    assert len(seen) == 2


def test_autocast_casts_what_it_is_told_to() -> None:
    """And what is within is not cast again."""
    seen = []

    @library.custom_op("mine::cast", mutates_args=())
    def op(x: Tensor, n: Tensor) -> Tensor:
        seen.append((x.dtype, n.dtype, dt.mm(x.float(), x.float()).dtype))
        return x * 1

    op.register_autocast("cpu", dt.bfloat16)
    x, n = dt.ones(2, 2), dt.arange(2)
    op(x, n)
    with dt.autocast("cpu", dtype=dt.bfloat16):
        op(x, n)
    assert seen == [
        (dt.float32, dt.int64, dt.float32), (dt.bfloat16, dt.int64, dt.float32)
    ]  # fmt: skip


def _annotated(text: str) -> Any:
    names: dict[str, Any] = {"Tensor": Tensor, "dt": dt, "Sequence": Sequence}
    exec(f"def f{text}: ...", names)
    return names["f"]


SCHEMAS = {
    "(x: Tensor) -> Tensor": "(Tensor x) -> Tensor",
    "(x: Tensor | None, n: int = 3) -> None": "(Tensor? x, SymInt n=3) -> ()",
    "(xs: Sequence[Tensor], *, s: str = 'a') -> list[Tensor]":
        "(Tensor[] xs, *, str s='a') -> Tensor[]",
    "(xs: list[Tensor | None], d: list[int], b: bool) -> tuple[Tensor, int]":
        "(Tensor?[] xs, SymInt[] d, bool b) -> (Tensor, SymInt)",
    "(x: Tensor, t: dt.dtype, d: dt.device, s: float | int) -> Tensor":
        "(Tensor x, ScalarType t, Device d, Scalar s) -> Tensor",
    "(x: list[float] | None = None) -> float": "(float[]? x=None) -> float",
}  # fmt: skip


@pytest.mark.parametrize("text", SCHEMAS)
def test_schemas_of_annotations(text: str) -> None:
    """They are torch's, and are read again as what they say."""
    said = library.infer_schema(_annotated(text), mutates_args=())
    assert said == SCHEMAS[text]
    assert str(schemas.parsed(f"a::b{said}")) == f"a::b{said}"


BAD = {
    "(x) -> Tensor": "x is not annotated", "(x: Tensor)": "result is not annotated",
    "(x: dict) -> Tensor": "x is a <class 'dict'>", "(*x: Tensor) -> Tensor": "number",
    "(x: Tensor, y: Nowhere) -> Tensor": "not there",
    "(x: tuple[int, int]) -> Tensor": "no type of an op's",
    "(d: dt.dtype = dt.float32) -> Tensor": "by default",
}  # fmt: skip


@pytest.mark.parametrize("text", BAD)
def test_annotations_that_say_nothing(text: str) -> None:
    """Each is refused by what is wrong with it."""
    with pytest.raises(ValueError, match=BAD[text].replace("*", r"\*")):
        library.infer_schema(_annotated(text), mutates_args=())


BASES = st.sampled_from(["Tensor", "int", "float", "bool", "str", "Scalar"])


@st.composite
def types(draw: Any) -> schemas.Type:
    """A type of an argument's."""
    many = draw(st.booleans())
    base = draw(BASES)
    count = draw(st.integers(1, 3)) if many and base == "int" else None
    gaps = many and base == "Tensor" and draw(st.booleans())
    writes = base == "Tensor" and draw(st.booleans())
    return schemas.Type(base, draw(st.booleans()), many, gaps, count, writes)


@given(st.lists(types(), max_size=4), st.lists(types(), max_size=3), st.data())
def test_schemas_are_read_as_they_are_written(
    args: list[schemas.Type], outs: list[schemas.Type], data: Any
) -> None:
    """Any schema, written and read again, is the same."""
    arguments = []
    for i, kind in enumerate(args):
        given_default = kind.optional and data.draw(st.booleans())
        more = {"default": None} if given_default else {}
        arguments.append(schemas.Argument(f"x{i}", kind, by_name=i > 1, **more))
    said = schemas.Schema("a::b", tuple(arguments), tuple(outs))
    assert schemas.parsed(str(said)) == said


@pytest.mark.parametrize("text", [
    "nothing", "(Tensor x)", "f(Tensor) -> Tensor", "f(Tensor 3) -> Tensor",
    "f(Thing x) -> Tensor", "f(int x=y) -> Tensor", "f(Tensor x) -> Thing",
])  # fmt: skip
def test_schemas_that_say_nothing(text: str) -> None:
    """Refused, by the part that cannot be read."""
    with pytest.raises(ValueError, match="schema"):
        schemas.parsed(text)


def test_arguments_are_checked() -> None:
    """By the schema: type, name, number; and so is the result."""
    op = sines()
    for args, kwargs in [
        ((3,), {}), ((), {}), ((X, 1.0, 2), {}), ((X,), {"z": 1}),
        ((X, 1.0), {"k": 2.0}), ((X, "a"), {}), ((None,), {}),
    ]:  # fmt: skip
        with pytest.raises(TypeError, match="mine::sines"):
            op(*args, **kwargs)
    assert op(X, 1).shape == X.shape  # an int is a float

    @library.custom_op("mine::wrong", mutates_args=())
    def wrong(x: Tensor) -> Tensor:
        return [x]  # type: ignore[return-value]

    with pytest.raises(TypeError, match="what the schema says"):
        wrong(X)

    @library.custom_op("mine::sizes", mutates_args=(), schema="(int[2] n) -> int")
    def sizes(n: Any) -> Any:
        return sum(n)

    assert sizes(3) == 6
    assert sizes([3, 4]) == 7


def test_results_are_no_arguments() -> None:
    """Nothing could follow a view that is made inside."""

    @library.custom_op("mine::same", mutates_args=())
    def same(x: Tensor, way: int) -> Tensor:
        return [x, x[0], x.view(-1), x.detach()][way]

    for way in range(4):
        with pytest.raises(RuntimeError, match="clone"):
            same(X, way)

    @library.custom_op("mine::twins", mutates_args=())
    def twins(x: Tensor) -> tuple[Tensor, Tensor]:
        y = x + 1
        return y, y

    with pytest.raises(RuntimeError, match="clone"):
        twins(X)


def test_a_gradient_that_is_not_there() -> None:
    """Is missed where it is asked for, and not before."""

    @library.custom_op("mine::flat", mutates_args=())
    def flat(x: Tensor) -> Tensor:
        return x + 1

    y = flat(X.clone().requires_grad_())
    assert y.requires_grad
    with pytest.raises(RuntimeError, match="register_autograd"):
        y.sum().backward()
    flat.register_autograd(lambda ctx, ct: (ct, ct))
    with pytest.raises(RuntimeError, match="2 of them"):
        flat(X.clone().requires_grad_()).sum().backward()


def test_names() -> None:
    """A namespace and a name, no less."""
    for name in ("alone", "a::", "::b", "a::b c"):
        with pytest.raises(ValueError, match="name"):
            library.custom_op(name, lambda x: x, mutates_args=(), schema="() -> int")
    with pytest.raises(ValueError, match="defined"):
        library.register_fake("mine::nothing", lambda: None)
    with pytest.raises(AttributeError, match="nowhere"):
        library.nowhere  # type: ignore[attr-defined]  # noqa: B018


def test_libraries() -> None:
    """Ops that are defined and filled in one by one."""
    lib = library.Library("yours", "DEF")
    assert lib.define("twice(Tensor x) -> Tensor") == "twice"
    lib.define("both(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError, match="is defined"):
        lib.define("twice(Tensor x) -> Tensor")
    lib.impl("twice", lambda x: x * 2, "CPU")
    lib.impl("both", lambda x: OPS["yours::twice"](x) + x, "CompositeImplicitAutograd")
    library.register_autograd("yours::twice", lambda ctx, ct: 2 * ct)
    x = X.clone().requires_grad_()
    OPS["yours::both"](x).sum().backward()
    assert dt.allclose(x.grad, dt.full_like(X, 3))
    library.impl("yours::twice", "default")(lambda x: x * 2)
    library.define("yours::none", "(Tensor x) -> Tensor")
    library.register_kernel("yours::none", "cpu")(lambda x: x + 1)
    assert dt.allclose(OPS["yours::none"](X), X + 1)
    with pytest.raises(NotImplementedError, match="dispatch_key"):
        lib.impl("twice", lambda x: x, "Quantized")
    with pytest.raises(NotImplementedError):
        lib.fallback(lambda x: x)
    library.define("yours::last", "(Tensor x) -> Tensor", lib=lib)
    lib._destroy()
    assert "yours::twice" not in OPS
    assert "yours::last" not in OPS
    assert "yours::none" in OPS
    with pytest.raises(ValueError, match="kind"):
        library.Library("yours", "OTHER")


def test_what_was_registered_is_tried() -> None:
    """A wrong gradient, a wrong shape, and a write that was not said are found."""
    op, x = sines(), X.clone().requires_grad_()
    assert set(library.opcheck(op, (x, 2.0)).values()) == {"SUCCESS"}
    op.register_fake(lambda x, k=2.0: dt.empty(7))
    wrong = library.opcheck(op, (x, 2.0), raise_exception=False)
    assert [name for name, said in wrong.items() if said != "SUCCESS"] == [
        "test_faketensor"
    ]
    with pytest.raises(RuntimeError, match="kernel gives"):
        library.opcheck(op, (x,))
    op.register_autograd(lambda ctx, ct: (ct, None))
    with pytest.raises(RuntimeError, match="differences"):
        library.opcheck(op, (x,), test_utils="test_autograd_registration")

    @library.custom_op("mine::hidden", mutates_args=())
    def hidden(x: Tensor) -> Tensor:
        x += 1
        return x * 1

    with pytest.raises(RuntimeError, match="mutates_args"):
        library.opcheck(hidden, (X.clone(),), test_utils="test_schema")
    assert hidden._schema == "mine::hidden(Tensor x) -> Tensor"
    with pytest.raises(RuntimeError, match="test_utils"):
        library.opcheck(hidden, (X,), test_utils="test_nothing")


class Mine(Tensor):
    """A class that handles calls itself."""

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        return func, args


def test_classes_that_handle_calls_are_asked() -> None:
    """As for every public function."""
    op = sines()
    x = X.as_subclass(Mine)
    func, args = op(x, 3.0)
    assert func is op
    assert args[0] is x
