"""What a declaration names is there, or the declaration is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import dovetail as dt
from dovetail.conformance.values import CLASSES
from dovetail.device_api.kernels import KNOWN_OPS
from dovetail.engine.declare import op
from dovetail.engine.op import Op, declared, vocabulary
from dovetail.engine.scopes import interpose
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentTypeError

# Each declares one name that means nothing, beside those that do.
MISSPELT: dict[str, tuple[dict[str, Any], str]] = {
    "mutates": ({"mutates": ("input", "buffer")}, "buffer"),
    "indices": ({"indices": ("indx",)}, "indx"),
    "masks": ({"masks": ("mask",)}, "mask"),
    "lines": ({"lines": "indx"}, "indx"),
    "trusted": ({"indices": ("index",), "trusted": ("input",)}, "input"),
    "holds_back": ({"holds_back": ("input",)}, "input"),
    "promote": ({"promote": "floats"}, "floats"),
    "autocast": ({"autocast": "lowest"}, "lowest"),
    "outputs": ({"outputs": ("y", "y")}, "y"),
    "residuals": ({"residuals": 2}, "2"),
    "grows": ({"grows": (1, 0)}, "(1, 0)"),
    "a signature's attribute": ({"shape": "(n@dims),()->()"}, "dims"),
    "a shape rule's attribute": ({"shape": lambda a, b, *, axis: a}, "axis"),
    "grad": ({"grad": {"inptu": lambda ct: ct}}, "inptu"),
    "a gradient's parameter": ({"grad": lambda ct, inptu: ct}, "inptu"),
    "an option": ({"elementwise": True}, "elementwise"),
}


def body(input: Tensor, index: Tensor, dim: int) -> Tensor:
    """A body with two tensors and an attribute."""
    return input


body.__annotations__ = {"input": "Tensor", "index": "Tensor", "dim": "int"}


@pytest.fixture
def declare() -> Iterator[Callable[..., Any]]:
    """Declares `body` under a name of its own, which is taken back."""
    yield lambda **options: op(**{"name": "misspelt", **options})(body)
    vocabulary.pop("misspelt", None)
    KNOWN_OPS.discard("misspelt")


@pytest.mark.parametrize("what", MISSPELT)
def test_a_name_that_means_nothing(what: str, declare: Callable[..., Any]) -> None:
    """An option that names what is not there is refused, and nothing is declared."""
    options, name = MISSPELT[what]
    with pytest.raises(TypeError) as caught:
        declare(**options)
    assert name in str(caught.value)
    assert "misspelt" not in vocabulary


def test_names_that_mean_something(declare: Callable[..., Any]) -> None:
    """The same options are taken where every name is there."""
    function = declare(
        shape=lambda a, b, *, dim: a, mutates=("input",), indices=("index",),
        trusted=("index",), promote=None, autocast="lower", outputs=("y", "z"),
        residuals=1, grows=(1, 0), holds_back=("dim",),
    )  # fmt: skip
    assert vocabulary["misspelt"] is function.op


HOOKS: dict[str, Callable[[Any], Any]] = {
    "uses of": lambda f: f.vjp(inputs="input"),
    "uses by": lambda f: f.vjp(input="inputs"),
    "a gradient of": lambda f: f.grad(inputs=lambda ct: ct),
    "a gradient's parameter": lambda f: f.grad(input=lambda ct, inputs: ct),
    "a vjp's parameter": lambda f: f.vjp(lambda ct, inputs: ct),
    "a rule's attribute": lambda f: f.rule(lambda a, b, *, inputs: a),
    "a geometry's attribute": lambda f: f.geometry(lambda a, b, *, inputs: (a, b, 0)),
}


@pytest.mark.parametrize("what", HOOKS)
def test_a_hook_that_names_nothing(what: str, declare: Callable[..., Any]) -> None:
    """A hook is refused where it names an input or attribute that is not there."""
    function = declare(shape=lambda a, b, **_: a, view=True)
    with pytest.raises(ArgumentTypeError, match="inputs"):
        HOOKS[what](function)


def test_nothing_is_declared_twice(declare: Callable[..., Any]) -> None:
    """A function has no hook for what its declaration gave, or rules out."""
    given = {"oracle": lambda a, b: a, "cases": lambda make: (), "kinks": lambda: ()}
    function = declare(**given, shape=lambda a, b, **_: a, nondifferentiable=True)
    for hook in (*given, "grad", "vjp", "geometry"):
        assert not hasattr(function, hook)
    assert hasattr(function, "check")


def test_declarations_end_with_the_import() -> None:
    """Nothing of an op that dovetail brings whole can be declared anew."""
    entries = [op for op in declared() if not op.module.endswith(("random", "philox"))]
    assert len(entries) > 200
    for entry in entries:
        assert not {"grad", "oracle", "cases", "rule"} & vars(entry.function).keys()


def test_classes_of_values() -> None:
    """Classes of values on which ops are not defined are such that the kit draws."""
    named = {name for op in declared() for name in op.undefined_on}
    assert named <= set(CLASSES)


def test_tensors_and_attributes_stand_in_any_order() -> None:
    """An interposer gets them apart, and may pass on others; the call is torch's."""
    x, index = dt.arange(6).reshape(2, 3), dt.tensor([[1, 0, 1]])
    seen = []

    def look(op: Op, inputs: Any, attrs: Any, proceed: Any) -> Any:
        seen.append((op.name, inputs, attrs))
        return proceed(inputs, attrs | {"dim": 1})

    with interpose(look):
        found = dt.gather(x, 0, index)
    assert seen == [("gather", (x, index), {"dim": 0})]
    assert found.tolist() == [[1, 0, 1]]


@pytest.mark.parametrize("shape", [(), (1,)])
def test_tensors_without_dims_are_lines(shape: tuple[int, ...]) -> None:
    """As in torch, where one of them has no dims; the result has those it names."""
    x, index = dt.tensor([5.0], requires_grad=True), dt.zeros(shape, dtype=dt.int64)
    found = dt.gather(x, 0, index)
    assert found.shape == shape
    found.backward(dt.ones(shape))
    assert x.grad.tolist() == [1.0]
    whole = dt.tensor(1.0).scatter_add(0, index, dt.full(shape, 2.0))
    assert whole.shape == ()
    assert whole.item() == 3.0


def test_a_line_of_one_element_gives_no_more() -> None:
    """A tensor without dims has no slices for several indices, as in torch."""
    x = dt.tensor(5.0)
    assert dt.index_select(x, 0, dt.tensor([0])).shape == ()
    with pytest.raises(RuntimeError, match="index_select"):
        dt.index_select(x, 0, dt.tensor([0, 0]))


def test_options_that_are_not_there_yet() -> None:
    """They are refused, also where a call without them is known; others are ignored."""
    weight, index = dt.ones(3, 2), dt.tensor([0, 2])
    wanted = dt.embedding(weight, index).tolist()
    for _ in range(2):
        with pytest.raises(NotImplementedError, match="sparse"):
            dt.embedding(weight, index, sparse=True)
        assert dt.embedding(weight, index, sparse=False).tolist() == wanted
    rows = index.reshape(2, 1)
    assert dt.gather(weight, 0, rows, sparse_grad=True).tolist() == [[1.0], [1.0]]
