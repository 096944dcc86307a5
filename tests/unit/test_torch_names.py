"""Names are found where torch has them, and what is left out says so."""

import importlib
import itertools
import pickle
import random
from collections import OrderedDict, defaultdict, deque, namedtuple
from typing import Any

import pytest
from tests.support import child

import dovetail
from dovetail import nn
from dovetail.errors import MissingModule, MissingName
from dovetail.func import vmap
from dovetail.nn.parallel import gather, parallel_apply, replicate, scatter
from dovetail.nn.parallel.parallel_apply import get_a_var
from dovetail.nn.parallel.scatter_gather import scatter_kwargs
from dovetail.torch_names import trees
from dovetail.torch_names.left_out import LEFT_OUT
from dovetail.torch_names.places import PLACES, places
from dovetail.torch_names.versions import TorchVersion

# Lines that a program for torch begins with, of which `torch` alone is another word.
PROGRAM = """
import dovetail
import dovetail.nn as nn
from dovetail.nn.modules.batchnorm import _BatchNorm
from dovetail.nn.modules.conv import Conv2d, _ConvNd
from dovetail.nn.modules.utils import _pair
from dovetail.nn.common_types import _size_2_t
from dovetail.nn.parallel.scatter_gather import gather
from dovetail.nn.parallel.data_parallel import DataParallel
from dovetail.autograd.function import Function, once_differentiable
from dovetail.autograd.gradcheck import gradcheck
from dovetail.cuda.amp.autocast_mode import autocast
from dovetail.distributed.distributed_c10d import ReduceOp
from dovetail.distributions.kl import kl_divergence, register_kl
from dovetail.distributions.normal import Normal
from dovetail.optim.adamw import AdamW
from dovetail.overrides import handle_torch_function, has_torch_function
from dovetail.serialization import DEFAULT_PROTOCOL, load
from dovetail.storage import UntypedStorage
from dovetail.torch_version import TorchVersion
from dovetail.types import Device, Number
from dovetail.utils._pytree import tree_flatten, tree_map
from dovetail.utils.data._utils.collate import collate_tensor_fn, default_collate
from dovetail.utils.data.dataloader import DataLoader, get_worker_info
from dovetail.utils.model_zoo import load_url
import dovetail.backends.cudnn as cudnn
import dovetail.version

assert Conv2d is nn.Conv2d is nn.modules.Conv2d is nn.modules.conv.Conv2d
assert issubclass(nn.BatchNorm2d, _BatchNorm) and issubclass(Conv2d, _ConvNd)
assert DEFAULT_PROTOCOL == 2
assert Normal is dovetail.distributions.Normal and AdamW is dovetail.optim.AdamW
assert dovetail.distributions.kl.kl_divergence is kl_divergence
x = dovetail.ones(2, requires_grad=True, dtype=dovetail.float64)
assert gradcheck(dovetail.exp, (x,)) and dovetail.autograd.gradcheck(dovetail.exp, (x,))
assert dovetail.data.dataloader.DataLoader is DataLoader
assert DataParallel is nn.DataParallel and callable(nn.parallel.data_parallel)
print("found")
"""
COSTS = """
import sys
import dovetail, dovetail.nn, dovetail.optim, dovetail.utils, dovetail.distributions
print([name for name in sys.modules if name.startswith("dovetail.torch_names")])
"""


def test_programs_import_as_from_torch() -> None:
    """In a new process, in which nothing else has been imported."""
    assert child.printed(PROGRAM) == "found"


def test_imports_pay_nothing() -> None:
    """The table is read when a name is asked for that no file has."""
    assert child.printed(COSTS) == "[]"


@pytest.mark.parametrize("name", sorted(places()))
def test_places_have_their_sources(name: str) -> None:
    """Each is importable, and what it finds names in is there."""
    importlib.import_module(name)
    found = [s for s in PLACES[name.removeprefix("dovetail.")] if _is_there(s)]
    assert found, name


def _is_there(name: str) -> bool:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError:
        return False
    return True


def test_what_no_source_has_is_told() -> None:
    """By an AttributeError that names the place, as of any module."""
    with pytest.raises(AttributeError, match=r"nn\.modules\.conv.*'Sofmax'"):
        importlib.import_module("dovetail.nn.modules.conv").Sofmax  # noqa: B018
    assert "Conv2d" in dir(importlib.import_module("dovetail.nn.modules.conv"))


@pytest.mark.parametrize(
    "name", sorted(m for left in LEFT_OUT for m in left.modules.split())
)
def test_what_is_left_out_says_why(name: str) -> None:
    """An import of it, or of what is below, gives the declared reason."""
    if name in ("fx.passes",):  # part of which is there
        name += ".split_module"
    for module in (f"dovetail.{name}", f"dovetail.{name}.deeper"):
        with pytest.raises(
            ImportError, match=r"it (is|has|extends|measures|names|holds) "
        ):
            importlib.import_module(module)


def test_reasons_survive_copies() -> None:
    """The error is a ModuleNotFoundError with its name, also from another process."""
    with pytest.raises(ModuleNotFoundError) as caught:
        importlib.import_module("dovetail.onnx")
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is MissingModule
    assert again.name == "dovetail.onnx"
    assert str(again) == str(caught.value)
    with pytest.raises(MissingName, match="exports"):
        dovetail.onnx  # noqa: B018
    assert not hasattr(dovetail, "onnx")


# ---- containers

Pair = namedtuple("Pair", "first second")


def _drawn(draw: random.Random, depth: int) -> Any:
    """Containers within containers, and numbers in them."""
    kind = draw.choice(
        [int, list, tuple, dict, OrderedDict, defaultdict, deque, Pair, None]
    )
    if depth == 0 or kind is int or kind is None:
        return None if kind is None else draw.randrange(100)
    items = [_drawn(draw, depth - 1) for _ in range(draw.randrange(4))]
    if kind is Pair:
        return Pair(_drawn(draw, depth - 1), items)
    if kind is defaultdict:
        return defaultdict(int, enumerate(items))
    if kind in (dict, OrderedDict):
        return kind((f"k{i}", item) for i, item in enumerate(items))
    return deque(items, draw.choice([None, 9])) if kind is deque else kind(items)


def _leaves(value: Any) -> list[Any]:
    """What is in containers, by plain recursion."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple | deque):
        return [leaf for item in value for leaf in _leaves(item)]
    return [value]


@pytest.mark.parametrize("seed", range(40))
def test_containers_come_apart_and_together(seed: int) -> None:
    """Leaves are in order; forms are equal, and built again; paths lead to leaves."""
    tree = _drawn(random.Random(seed), 4)
    leaves, form = trees.tree_flatten(tree)
    assert leaves == _leaves(tree) == list(trees.tree_iter(tree))
    assert (form.num_leaves, form) == (len(leaves), trees.tree_structure(tree))
    again = trees.tree_unflatten(leaves, form)
    assert again == tree
    assert repr(again) == repr(tree)
    assert type(again) is type(tree)
    assert trees.tree_map(lambda a, b: (a, b) and a, tree, again) == tree
    found, same = trees.tree_flatten_with_path(tree)
    assert same == form
    assert [leaf for _, leaf in found] == leaves
    assert [trees.key_get(tree, path) for path, _ in found] == leaves
    named = trees.tree_map_with_path(lambda path, leaf: trees.keystr(path), tree)
    assert trees.tree_leaves(named) == [trees.keystr(path) for path, _ in found]
    count = trees.tree_map_only(int, lambda n: n + 1, tree)
    assert trees.tree_leaves(count) == [n if n is None else n + 1 for n in leaves]
    assert trees.tree_all(lambda n: n in leaves, tree)
    assert trees.tree_any_only(int, lambda n: n >= 50, tree) == any(
        n >= 50 for n in leaves if n is not None
    )


def test_forms_answer_as_torchs() -> None:
    """Types, contexts, parts, and what `is_leaf` keeps whole."""
    tree = {"a": [1, (2, 3)], "b": None}
    form = trees.tree_structure(tree)
    assert (form.type, form.context, form.num_nodes) == (dict, ["a", "b"], 7)
    assert [part.is_leaf() for part in form.children()] == [False, True]
    assert form.child(1) == trees.LeafSpec()
    whole = trees.tree_leaves(tree, is_leaf=lambda x: isinstance(x, tuple))
    assert whole == [1, (2, 3), None]
    assert trees.keystr(trees.tree_leaves_with_path(tree)[1][0]) == "['a'][1][0]"
    assert trees.tree_is_leaf(3)
    assert not trees.tree_is_leaf(())
    assert trees._broadcast_to_and_flatten([0, 1], form.child(0)) == [0, 1, 1]
    assert trees._broadcast_to_and_flatten([0], form.child(0)) is None


@pytest.mark.parametrize(("first", "second"), [
    ([1, 2], [1]), ([1, 2], (1, 2)), ({"a": 1}, {"b": 1}), ([1], 3),
    (deque([1], 2), deque([1], 3)),
])  # fmt: skip
def test_trees_that_differ_are_refused(first: Any, second: Any) -> None:
    """As a ValueError, whichever function gets two of them."""
    with pytest.raises(ValueError, match="tree_map"):
        trees.tree_map(lambda a, b: a, first, second)
    with pytest.raises(ValueError, match="leaves"):
        trees.tree_unflatten([1] * 5, trees.tree_structure(first))
    with pytest.raises(TypeError, match="treespec"):
        trees.tree_unflatten([1], 3)  # type: ignore[arg-type]


class Held:
    """Two values with a name."""

    def __init__(self, x: Any, y: Any) -> None:
        self.x, self.y = x, y


def test_classes_that_are_registered_are_containers() -> None:
    """For functions of trees, and for transforms, until they are no more."""
    held = Held(dovetail.arange(3.0), dovetail.ones(3))
    trees.register_pytree_node(
        Held, lambda h: ([h.x, h.y], "held"), lambda parts, _: Held(*parts),
        flatten_with_keys_fn=lambda h: ([(trees.GetAttrKey("x"), h.x)], "held"),
    )  # fmt: skip
    try:
        assert trees.tree_structure(held).context == "held"
        assert trees.tree_leaves_with_path(held)[0][0] == (trees.GetAttrKey("x"),)
        found = vmap(lambda h: Held(h.x + h.y, h.x))(held)
        assert type(found) is Held
        assert found.x.tolist() == [1.0, 2.0, 3.0]
        with pytest.raises(ValueError, match="already registered"):
            trees.register_pytree_node(Held, iter, list)
    finally:
        trees._deregister_pytree_node(Held)
    assert trees.tree_leaves(held) == [held]


# ---- versions

VERSIONS = (
    "1.9", "1.10.0.dev20210301", "1.10.0a0", "1.10.0b2", "1.10.0rc1", "1.10.0",
    "1.10.0+cpu", "1.10.0.post1", "1.10.1", "2.0", "2.13.0",
)  # fmt: skip


def test_versions_are_ordered_as_numbers() -> None:
    """Against texts, tuples and each other, in the one order of PEP 440."""
    for (i, a), (j, b) in itertools.product(enumerate(VERSIONS), repeat=2):
        found = (
            TorchVersion(a) < b, TorchVersion(a) == b,
            TorchVersion(a) >= TorchVersion(b),
        )  # fmt: skip
        assert found == (i < j, i == j, i >= j), (a, b)
    assert TorchVersion("2.13.0+x") >= (2, 13)
    assert TorchVersion("2.0.0") == "2.0"
    assert TorchVersion("odd") != "2.0"
    assert TorchVersion("odd") == "odd"


# ---- devices in parallel


def test_batches_are_split_and_put_together() -> None:
    """A round trip for containers; what is no tensor is there for each device."""
    x, y = dovetail.arange(10.0).view(5, 2), dovetail.arange(4)
    split = scatter({"x": x, "more": [y, "same", Pair(y, 1)]}, ["cpu"] * 2)
    assert [part["more"][1] for part in split] == ["same"] * 2
    assert split[0]["x"].tolist() == x[:3].tolist()
    assert type(split) is list
    together = gather([{"x": p["x"], "y": (p["more"][0],)} for p in split], "cpu")
    assert together["x"].tolist() == x.tolist()
    assert together["y"][0].tolist() == y.tolist()
    assert type(scatter(x, ["cpu"])) is tuple
    assert gather([None, None], "cpu") is None
    args, named = scatter_kwargs((x,), {"flag": True}, ["cpu", "cpu"])
    assert len(args) == len(named) == 2
    assert named[1] == {"flag": True}
    with pytest.warns(UserWarning, match="unsqueeze"):
        assert gather([x.sum(), x.sum()], "cpu").shape == (2,)
    with pytest.raises(ValueError, match="gather"):
        gather([{"a": x}, {}], "cpu")


def test_replicas_gradients_are_the_modules() -> None:
    """Called in parallel, copies give what the module does, and its gradients."""
    net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Linear(3, 1)).eval()
    x = dovetail.randn(6, 2, requires_grad=True)
    copies = replicate(net, ["cpu", "cpu"])
    assert [list(copy.parameters()) for copy in copies] == [[], []]
    with dovetail.autocast("cpu", dtype=dovetail.bfloat16):
        outs = parallel_apply(copies, scatter(x, ["cpu"] * 2), devices=["cpu"] * 2)
    assert outs[0].dtype is dovetail.bfloat16  # the caller's modes
    outs = parallel_apply(copies, scatter(x, ["cpu"] * 2))
    gather(outs, "cpu").sum().backward()
    found = [p.grad.clone() for p in net.parameters()]
    net.zero_grad()
    net(x).sum().backward()
    for p, grad in zip(net.parameters(), found, strict=True):
        dovetail.testing.assert_close(grad, p.grad)
    (detached,) = replicate(net, ["cpu"], detach=True)
    assert not detached(x.detach()).requires_grad


def test_parallel_calls_that_do_not_fit_are_refused() -> None:
    """One input a module; what a module raises is raised."""
    with pytest.raises(ValueError, match="inputs"):
        parallel_apply([nn.Identity()], [1, 2])
    with pytest.raises(ZeroDivisionError):
        parallel_apply([lambda x: x, lambda x: x / 0], [1, 2])
    assert parallel_apply([max], [(1, 2)]) == [2]
    x = dovetail.ones(1)
    assert get_a_var([1, {"a": (x,)}]) is x
    assert get_a_var("text") is None


def test_batch_norms_forget_their_statistics() -> None:
    """So that a model with them may be mapped over rows."""
    net = nn.Sequential(
        nn.BatchNorm1d(2), nn.InstanceNorm1d(2, track_running_stats=True)
    )
    assert dovetail.func.replace_all_batch_norm_modules_(net) is net
    assert net[0].running_mean is None
    assert not net[0].track_running_stats
    assert net[1].running_mean is not None
    found = vmap(net[0])(x := dovetail.randn(3, 4, 2))
    dovetail.testing.assert_close(found[1], net[0](x[1]))


# ---- names without tensors

USES = {
    "zeros": lambda c: dovetail.zeros(2, dtype=c),
    "meta": lambda c: dovetail.empty(2, dtype=c, device="meta"),
    "tensor": lambda c: dovetail.tensor([1j], dtype=c),
    "to": lambda c: dovetail.ones(2).to(c),
    "view": lambda c: dovetail.ones(2).view(c),
    "sum": lambda c: dovetail.ones(2).sum(dtype=c),
    "module": lambda c: nn.Linear(2, 2).to(c),
    "layer": lambda c: nn.Linear(2, 2, dtype=c),
    "promotion": lambda c: dovetail.promote_types(c, dovetail.float32),
    "limits": lambda c: dovetail.finfo(c),
    "numpy": lambda c: c.numpy,
}  # fmt: skip


@pytest.mark.parametrize("use", USES)
def test_complex_halves_have_no_tensors(use: str) -> None:
    """Whatever is to have that dtype, a call says so, as one of what is missing."""
    with pytest.raises(NotImplementedError, match="complex32, which is a name"):
        USES[use](dovetail.complex32)


def test_names_without_tensors_are_in_tables() -> None:
    """Programs ask for their size and their parts, and pickle them."""
    c = dovetail.complex32
    assert c is dovetail.chalf
    assert isinstance(c, dovetail.dtype)
    assert (c.itemsize, c.is_complex, c.is_floating_point) == (4, True, False)
    assert (c.to_real(), c.to_complex()) == (dovetail.float16, c)
    assert pickle.loads(pickle.dumps({c: 1})) == {c: 1}
    assert repr(c) == "dovetail.complex32"
    assert dovetail.ones(1).dtype != c
    jagged = dovetail.jagged
    assert isinstance(jagged, dovetail.layout)
    assert pickle.loads(pickle.dumps(jagged)) is jagged
    assert dovetail.ones(1).layout != jagged
    with pytest.raises(ValueError, match=r"zeros: layout is dovetail\.jagged"):
        dovetail.zeros(2, layout=jagged)


def test_functions_of_programs_let_arguments_handle_calls() -> None:
    """Those that the dispatcher names; without such, the function is called."""
    from dovetail.overrides import wrap_torch_function

    @wrap_torch_function(lambda a, b=None: (a,))
    def paired(a: Any, b: Any = None) -> Any:
        """Both."""
        return a, b

    class Handles:
        """Says what it was asked."""

        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return func.__name__, types, len(args), kwargs

    assert paired(1, b=2) == (1, 2)
    assert paired(1, Handles())[0] == 1
    assert paired(Handles(), b=2) == ("paired", (Handles,), 1, {"b": 2})


def test_places_are_pickled_and_called_as_what_they_stand_for() -> None:
    """A module of a function's name is that function to whoever calls it."""
    import inspect
    import pickle

    import dovetail.autograd.gradcheck
    import dovetail.functional

    for place in (dovetail.functional, dovetail.autograd.gradcheck):
        assert pickle.loads(pickle.dumps(place)) is place
    assert not callable(dovetail.functional)
    called = dovetail.autograd.gradcheck
    own = inspect.signature(called.gradcheck)
    assert inspect.signature(called) == own
    assert "eps" in own.parameters
    x = dovetail.ones(2, dtype=dovetail.float64, requires_grad=True)
    assert called(lambda v: v * v, (x,))
