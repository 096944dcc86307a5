"""Every public module of torch's is importable here, or left out with a reason."""

from __future__ import annotations

import contextlib
import io
import pkgutil
import sys
import warnings
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest
import torch
from tests.support import child

from dovetail.engine.omissions import omitted
from dovetail.errors import MissingModule
from dovetail.torch_names.left_out import reason_for_module

# Below these, torch's own modules are looked at no further: all of them are left out.
_DEEP = (
    "ao", "contrib", "distributed", "export", "fx.experimental", "fx.passes",
    "nativert", "onnx", "package", "testing",
)  # fmt: skip


@cache
def modules() -> list[str]:
    """The names below torch of its public modules that this machine can import."""
    found: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _walk(torch, found)
    return sorted(found)


def _walk(package: ModuleType, found: list[str]) -> None:
    for info in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        below = info.name.partition(".")[2]
        if any(part.startswith("_") for part in below.split(".")):
            continue
        found.append(below)
        if info.ispkg and below not in _DEEP:
            with (
                contextlib.suppress(ImportError),
                contextlib.redirect_stdout(io.StringIO()),
            ):
                inner = import_module(info.name)
                if "__path__" in vars(inner):
                    _walk(inner, found)


def _ours(name: str) -> ModuleType | None:
    """dovetail's module of a name, None where it is left out.

    Raises: ModuleNotFoundError where that has no reason.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return import_module(f"dovetail.{name}")
        except MissingModule:
            return None


def test_modules_are_there_or_left_out() -> None:
    """No public module is missing without a reason; nothing that is there has one."""
    there = {name: _ours(name) is not None for name in modules()}
    assert sum(there.values()) > 220
    partly = {"fx.passes", "fx.passes.shape_prop"}
    found = {name for name, is_there in there.items() if is_there}
    assert {name for name in found if reason_for_module(name)} <= partly


ATTRIBUTES = """
import sys, dovetail
missing = []
for name in sys.argv[1:]:
    found = dovetail
    try:
        for part in name.split("."):
            found = getattr(found, part)
    except AttributeError:
        missing.append(name)
print(*missing)
"""


def test_modules_are_attributes() -> None:
    """What `import torch` makes reachable by dots is so after `import dovetail`."""
    loaded = child.run(
        sys.executable, "-c",
        "import torch, sys; print(*[n[6:] for n in sys.modules if n[:6] == 'torch.'])",
    ).stdout.split()  # fmt: skip
    public = [n for n in modules() if n in loaded and _ours(n) is not None]
    found = child.run(sys.executable, "-c", ATTRIBUTES, *public)
    pipes = "utils.data.datapipes."
    assert {n for n in found.stdout.split() if not n.startswith(pipes)} <= {
        "fx.passes", "fx.passes.shape_prop"
    }  # fmt: skip


def test_modules_are_called_where_torchs_are() -> None:
    """`multiprocessing.spawn` is a function too; `storage` is a module alone."""
    differing = []
    for name in modules():
        with contextlib.suppress(MissingModule):
            import_module(f"dovetail.{name}")
            parent, _, last = f".{name}".rpartition(".")
            own = getattr(import_module(f"dovetail{parent}"), last, None)
            theirs = getattr(import_module(f"torch{parent}"), last, None)
            if callable(own) != callable(theirs):
                differing.append(name)
    assert differing == ["autograd.variable"]  # torch's function only raises


def _names(module: Any) -> set[str]:
    """The public names of a module of torch's."""
    listed = getattr(module, "__all__", None)
    if listed is None:
        listed = [
            n for n, v in vars(module).items()
            if getattr(v, "__module__", None) == module.__name__ and len(n) > 1
        ]  # fmt: skip
    return {n for n in listed if not n.startswith("_")}


@pytest.mark.parametrize("room", [
    "nn.modules", "nn.modules.activation", "nn.modules.batchnorm",
    "nn.modules.container", "nn.modules.conv", "nn.modules.linear", "nn.modules.loss",
    "nn.modules.module",
    "nn.modules.normalization", "nn.modules.pooling", "nn.modules.rnn",
    "nn.modules.transformer", "nn.modules.upsampling", "nn.modules.utils",
    "nn.parallel", "nn.parallel.scatter_gather", "nn.parallel.replicate",
    "nn.parallel.parallel_apply", "nn.parallel.data_parallel", "nn.init",
    "nn.utils.rnn", "nn.utils.clip_grad", "nn.utils.parametrize",
    "nn.utils.parametrizations", "nn.utils.prune", "nn.utils.init",
    "nn.utils.memory_format", "optim", "optim.lr_scheduler", "optim.swa_utils",
    "autograd.functional", "autograd.forward_ad", "autograd.anomaly_mode",
    "amp.autocast_mode", "distributions.kl", "distributions.utils",
    "distributions.relaxed_bernoulli", "distributions.relaxed_categorical",
    "distributions.constraints", "distributions.transforms", "functional", "func",
    "hub", "storage", "torch_version", "types", "random", "utils.data",
    "utils.data.dataset", "utils.data.sampler", "utils.data.dataloader",
    "utils.data.distributed", "utils.dlpack", "utils.model_zoo", "cuda.amp.common",
    "multiprocessing.spawn", "optim.optimizer", "optim.adam", "optim.adamw",
    "optim.adadelta", "optim.adagrad", "optim.adamax", "optim.asgd", "optim.nadam",
    "optim.radam", "optim.rmsprop", "optim.rprop", "optim.sgd", "optim.lbfgs",
    "optim.sparse_adam",
])  # fmt: skip
def test_names_are_where_torch_has_them(room: str) -> None:
    """All of them, in the rooms that programs import from most."""
    import_module(f"torch.{room}")
    own = import_module(f"dovetail.{room}")
    names = _names(sys.modules[f"torch.{room}"])
    assert {n for n in names if not hasattr(own, n)} - omitted(room) == set()


def test_trees_are_torchs() -> None:
    """The public functions of trees, and what they answer to the same containers."""
    from torch.utils import _pytree as theirs

    from dovetail.utils import _pytree as ours

    missing = {n for n in theirs.__all__ if not hasattr(ours, n)}
    assert missing == {
        "DumpableContext", "FlattenFn", "FromDumpableContextFn", "ToDumpableContextFn",
        "UnflattenFn", "is_structseq", "is_structseq_class", "is_structseq_instance",
        "treespec_dumps", "treespec_loads", "treespec_pprint",
    }  # fmt: skip
    trees: list[Any] = [
        {"a": [1, (2,)], "b": None}, [{}, (), [3]], 4, ({"z": 1, "a": [2]}, None),
    ]  # fmt: skip
    for tree in trees:
        for function in ("tree_leaves", "tree_is_leaf", "tree_iter"):
            found, told = getattr(ours, function)(tree), getattr(theirs, function)(tree)
            is_list = function == "tree_iter"
            assert (list(found), list(told)) if is_list else found == told
        mine, form = ours.tree_structure(tree), theirs.tree_structure(tree)
        for fact in ("num_leaves", "num_nodes", "num_children", "type", "context"):
            assert getattr(mine, fact) == getattr(form, fact), (tree, fact)
        paths = [ours.keystr(path) for path, _ in ours.tree_leaves_with_path(tree)]
        assert paths == [
            theirs.keystr(path) for path, _ in theirs.tree_leaves_with_path(tree)
        ]
