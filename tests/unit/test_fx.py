"""Functions and modules as graphs of steps, which programs change and run."""

import copy
import math
import operator
import pickle
from typing import Any

import pytest

import dovetail as torch
from dovetail import fx, nn
from dovetail.fx.passes.shape_prop import ShapeProp
from dovetail.nn import functional as F

half = math.floor


def halved(x: Any) -> Any:
    """What must not be looked into: it asks for a value."""
    return x * 0.5 if x.sum() > 0 else x


fx.wrap("halved")


def used_twice(x: Any, w: Any) -> Any:
    """A sum that more than relu uses."""
    total = x + w
    return torch.relu(total), total


class Net(nn.Module):
    """Layers, a parameter, a buffer and functions."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 4), nn.Linear(4, 4)])
        self.scale = nn.Parameter(torch.ones(4))
        self.register_buffer("shift", torch.ones(4))

    def forward(self, x: torch.Tensor, twice: bool = False) -> torch.Tensor:
        """Some steps of each kind."""
        for layer in self.layers:
            x = F.relu(layer(x))
        x = x * self.scale + self.shift
        return x.view(x.shape[0], -1).tanh()


def test_a_module_is_traced() -> None:
    """The code says what forward does, and does it, with the same state."""
    net, x = Net(), torch.randn(2, 3)
    traced = fx.symbolic_trace(net)
    assert traced.code.strip().splitlines()[1:] == [
        '    layers_0 = getattr(self.layers, "0")(x);  x = None',
        "    relu = dovetail.nn.functional.relu(layers_0);  layers_0 = None",
        '    layers_1 = getattr(self.layers, "1")(relu);  relu = None',
        "    relu_1 = dovetail.nn.functional.relu(layers_1);  layers_1 = None",
        "    scale = self.scale",
        "    mul = relu_1 * scale;  relu_1 = scale = None",
        "    shift = self.shift",
        "    add = mul + shift;  mul = shift = None",
        "    getattr_1 = add.shape",
        "    getitem = getattr_1[0];  getattr_1 = None",
        "    view = add.view(getitem, -1);  add = getitem = None",
        "    tanh = view.tanh();  view = None",
        "    return tanh",
    ]
    assert torch.equal(traced(x), net(x))
    assert set(traced.state_dict()) == set(net.state_dict())


def test_calls_are_as_before_after_tracing() -> None:
    """Whatever is another thing while a function is traced is put back."""
    call, get, floor = nn.Module.__call__, nn.Module.__getattr__, math.floor
    with pytest.raises(fx.proxy.TraceError):
        fx.symbolic_trace(lambda x: x if x else -x)
    assert (nn.Module.__call__, nn.Module.__getattr__) == (call, get)
    assert math.floor is floor
    assert half is floor
    assert not fx.is_fx_tracing()


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))]
)
def test_copies_have_graphs_of_their_own(copied: Any) -> None:
    """What is changed in a copy stays what it was in the other."""
    traced, x = fx.symbolic_trace(Net()), torch.randn(2, 3)
    other = copied(traced)
    assert other.code == traced.code
    assert torch.equal(other(x), traced(x))
    for node in other.graph.find_nodes(op="call_method", target="tanh"):
        node.target = "sigmoid"
    other.recompile()
    assert "sigmoid" in other.code
    assert "sigmoid" not in traced.code


def test_what_depends_on_values_is_refused() -> None:
    """Loops, lengths and branches of what is traced say that they cannot be."""
    for function, error in [
        (lambda x: 1 if x > 0 else 2, fx.proxy.TraceError),
        (lambda x: list(x), fx.proxy.TraceError),
        (lambda x: len(x), RuntimeError),
    ]:
        with pytest.raises(error):
            fx.symbolic_trace(function)


def test_wrapped_functions_are_steps() -> None:
    """So are functions of math, wherever they are called from."""
    traced = fx.symbolic_trace(lambda x: halved(x) + math.sqrt(x.size(0)))
    targets = [n.target for n in traced.graph.find_nodes(op="call_function")]
    assert targets[:2] == [halved, math.sqrt]
    assert torch.equal(traced(torch.ones(4)), torch.full((4,), 2.5))
    again = fx.symbolic_trace(traced)
    assert again.code == traced.code
    with pytest.raises(NotImplementedError, match="top level"):
        fx.wrap("halved")


def test_values_may_be_given() -> None:
    """A value that is given is no input, but checked where the code gets one."""

    def function(a: Any, b: Any) -> Any:
        return a if b else a * 2

    traced = fx.symbolic_trace(function, concrete_args={"b": False})
    assert traced(3, False) == 6
    with pytest.raises(AssertionError, match="specialized"):
        traced(3, True)
    nested = fx.symbolic_trace(
        lambda a, b: a + b[0] * b[1], concrete_args={"b": [fx.PH, fx.PH]}
    )
    assert nested(1, [2, 3]) == 7


def test_stars_are_inputs() -> None:
    """`*args` and `**kwargs` are traced as a tuple and a dict."""
    traced = fx.symbolic_trace(lambda *a, **k: a[0] + a[1] * k["b"])
    assert traced(1, 2, b=3) == 7


def test_graphs_are_written_and_changed() -> None:
    """Steps are put in at places, erased when nothing uses them, and counted."""
    graph = fx.Graph()
    x = graph.placeholder("x")
    total = graph.call_function(operator.add, (x, 1))
    with graph.inserting_before(total):
        positive = graph.call_method("relu", (x,))
    total.args = (positive, 2)
    graph.output(total)
    module = fx.GraphModule(nn.Module(), graph)
    assert module(torch.tensor([-1.0, 2.0])).tolist() == [2.0, 4.0]
    assert list(x.users) == [positive]
    assert len(graph.nodes) == 4
    with pytest.raises(RuntimeError, match="still had 1 users"):
        graph.erase_node(positive)
    with pytest.raises(TypeError, match="mutation"):
        graph.call_function(torch.cat, ([x, x],)).args[0].append(x)
    assert graph.eliminate_dead_code()
    total.replace_all_uses_with(positive)
    graph.erase_node(total)
    graph.lint()
    module.recompile()
    assert module(torch.tensor([-1.0, 2.0])).tolist() == [0.0, 2.0]


def test_lint_finds_what_comes_too_late() -> None:
    """A step that uses a later one is no graph that can be run."""
    graph = fx.Graph()
    x = graph.placeholder("x")
    first = graph.call_method("relu", (x,))
    second = graph.call_method("tanh", (first,))
    graph.output(second)
    first.args = (second,)
    with pytest.raises(RuntimeError, match="before it has been defined"):
        graph.lint()


def test_an_interpreter_sees_each_step() -> None:
    """It runs them in order, and names the step that failed."""
    seen = []

    class Watching(fx.Interpreter):
        def run_node(self, n: fx.Node) -> Any:
            seen.append(n.op)
            return super().run_node(n)

    net, x = Net(), torch.randn(2, 3)
    traced = fx.symbolic_trace(net)
    assert torch.equal(Watching(traced).run(x), net(x))
    assert seen == [n.op for n in traced.graph.nodes]
    with pytest.raises(RuntimeError) as info:
        fx.Interpreter(traced).run(torch.ones(2, 5))
    assert "%layers_0" in info.value.__notes__[0]


def test_a_transformer_writes_another_graph() -> None:
    """What its methods give is in the new graph."""

    class Negating(fx.Transformer):
        def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
            other = torch.neg if target is torch.sigmoid else target
            return super().call_function(other, args, kwargs)

    traced = fx.symbolic_trace(lambda x: torch.sigmoid(x) + 1)
    changed = Negating(traced).transform()
    assert changed(torch.ones(1)).tolist() == [0.0]


def test_patterns_are_replaced() -> None:
    """Wherever a pattern is, also where one uses another's result."""
    traced = fx.symbolic_trace(lambda x, w: torch.relu(torch.relu(x + w) + x))
    found = fx.replace_pattern(
        traced, lambda a, b: torch.relu(a + b), lambda a, b: torch.tanh(a) * b
    )
    assert len(found) == 2
    x, w = torch.randn(3), torch.randn(3)
    assert torch.equal(traced(x, w), torch.tanh(torch.tanh(x) * w) * x)
    kept = fx.symbolic_trace(lambda x, w: (torch.relu(x + w), (x + w) * 2))
    used = fx.symbolic_trace(used_twice)
    for module, count in ((kept, 1), (used, 0)):
        pattern = fx.symbolic_trace(lambda a, b: torch.relu(a + b))
        places = fx.replace_pattern(module, pattern, lambda a, b: a - b)
        assert len(places) == count


def test_shapes_are_found_by_running() -> None:
    """Each step's note says what its result looks like."""
    traced = fx.symbolic_trace(Net())
    ShapeProp(traced).propagate(torch.randn(2, 3))
    found = [
        n.meta["tensor_meta"].shape for n in traced.graph.find_nodes(op="call_module")
    ]
    assert found == [(2, 4), (2, 4)]


def test_modules_of_a_tracers_choice_are_steps() -> None:
    """A class below Tracer says what is not looked into."""

    class Coarse(fx.Tracer):
        def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
            return isinstance(m, nn.Sequential)

    net = nn.Module()
    net.body = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    net.forward = lambda x: net.body(x)  # type: ignore[method-assign]
    graph = Coarse().trace(nn.Sequential(net.body))
    assert [n.target for n in graph.find_nodes(op="call_module")] == ["0"]
