"""Every public signature beside torch's: names of parameters, their order, defaults."""

from __future__ import annotations

import inspect
from functools import partial
from typing import Any

import pytest
import torch
from tests.support.torch_signatures import (
    EMPTY,
    Parameter,
    Signature,
    ours,
    signatures,
)

import dovetail as dt
from dovetail.engine.public import NAMESPACES

# Where ours differs on purpose, by place and name, and why.
DIFFERENT: dict[str, str] = {
    "torch.get_rng_state": "takes a device, for which torch has torch.cuda's function",
    "torch.set_rng_state": "as get_rng_state",
    "Tensor.expand": "torch's `implicit` serves its own vmap",
    "Tensor.new": "torch's stub calls the first parameter cls, as of a constructor",
    "Tensor.requires_grad_": "torch's stub says mode, torch itself requires_grad",
    "nn.RNN": "torch hides the arguments of RNNBase behind *args",
    "nn.LSTM": "as RNN",
    "nn.GRU": "as RNN",
    "nn.Buffer": "torch's metaclass gives Buffer a signature of its own",
    "nn.Transformer": "its activation is our relu",
    "nn.TransformerEncoderLayer": "as Transformer",
    "nn.TransformerDecoderLayer": "as Transformer",
    "nn.NLLLoss2d": "torch hides the arguments of NLLLoss behind a warning",
    "Tensor.to": "takes a dtype, a device or a tensor in the first place",
}
# Names that dovetail has in a place where torch has none, and why.
OWN: dict[str, str] = {
    "torch.fallbacks": "lists what ran on the host; torch has no such thing",
    "torch.get_fallback_policy": "as fallbacks",
    "torch.reset_fallbacks": "as fallbacks",
    "torch.set_fallback_policy": "as fallbacks",
    "torch.errors": "the tree of exceptions",
    "torch.dtypes": "the module of formats",
    "torch.devices": "lists every device of every plug-in",
    "torch.is_available": "of any device; torch has one for each kind of device",
    "torch.synchronize": "as is_available",
    "torch.stream": "as is_available",
    "torch.current_stream": "as is_available",
    "torch.default_stream": "as is_available",
    "torch.set_stream": "as is_available",
    "Tensor.to_device": "the method of the array API, which torch has no longer",
}
# Of torch's keywords, those that say where and how memory is laid out or by which
# library to compute, or that torch itself has deprecated; they may be missing.
MAY_LACK = frozenset({
    "layout", "pin_memory", "memory_format", "names", "size_average", "reduce",
    "cudnn_enable", "cudnn_enabled", "_stacklevel", "out", "async_", "sparse_grad",
})  # fmt: skip

SPACES: dict[str, tuple[Any, Any]] = {
    "torch": (dt, torch),
    "Tensor": (dt.Tensor, torch.Tensor),
    "F": (dt.nn.functional, torch.nn.functional),
}


def names_of(space: str) -> list[str]:
    """The public callables of a place, without classes and modules."""
    mine = SPACES[space][0]
    found = [n for n in dir(mine) if not n.startswith("_")]
    for name in found:
        getattr(mine, name, None)  # some load when they are asked for
    return [n for n in found if _is_function(inspect.getattr_static(mine, n, None))]


def _is_function(value: Any) -> bool:
    return callable(value) and not isinstance(value, type)


def _plain(parameters: Signature) -> Signature:
    """Without what may lack; the first one is `input` or `self` to everybody."""
    found = [p for p in parameters if p.name not in MAY_LACK]
    if found and found[0].name in ("self", "input"):
        found[0] = found[0]._replace(name="input")
    return tuple(found)


def _fits(mine: Signature, theirs: Signature) -> bool:
    """Whether a call by one overload of torch's means the same here."""
    by_name = {p.name: p for p in mine}
    position = {p.name: i for i, p in enumerate(mine)}
    last = -1
    for p in _plain(theirs):
        own = by_name.get(p.name)
        if own is None or position[p.name] < last:
            return False
        last = position[p.name]
        if not _same_default(p, own):
            return False
    return True


def _same_default(theirs: Parameter, own: Parameter) -> bool:
    if theirs.default is EMPTY or theirs.default is ...:
        return True
    if isinstance(theirs.default, str) and isinstance(own.default, dt.dtype):
        return True
    if isinstance(theirs.default, torch.dtype):
        return str(theirs.default) == str(own.default).replace("dovetail", "torch")
    return bool(own.default == theirs.default)


def disagreement(space: str, name: str) -> str | None:
    """What differs between our signature and torch's, None where nothing does."""
    mine, theirs = SPACES[space]
    overloads = signatures(space, name, getattr(theirs, name))
    if not overloads:
        return None
    own = _plain(ours(getattr(mine, name)))
    known = {p.name for o in overloads for p in _plain(o)}
    strange = [p.name for p in own if p.name not in known]
    if strange and not any(p.several for o in overloads for p in o):
        return f"{strange[0]!r} is no parameter of torch's ({sorted(known)})"
    if not any(_fits(own, o) for o in overloads):
        return f"has {_text(own)}, torch {' or '.join(_text(o) for o in overloads)}"
    return None


def _text(signature: Signature) -> str:
    return "(" + ", ".join(
        p.name if p.default is EMPTY else f"{p.name}={p.default!r}" for p in signature
    ) + ")"  # fmt: skip


def differing(space: str) -> list[str]:
    """Every name of a place whose signature is not torch's, with what differs."""
    theirs = SPACES[space][1]
    found = []
    for name in names_of(space):
        if hasattr(theirs, name) and f"{space}.{name}" not in DIFFERENT:
            what = disagreement(space, name)
            if what is not None:
                found.append(f"{space}.{name}: {what}")
    return found


@pytest.mark.parametrize("space", SPACES)
def test_signatures(space: str) -> None:
    """No public function or method has other parameters or defaults than torch's."""
    assert differing(space) == []


@pytest.mark.parametrize("space", SPACES)
def test_no_name_is_where_torch_has_none(space: str) -> None:
    """A name is public where torch has it, or in the list with its reason."""
    theirs = SPACES[space][1]
    strange = [n for n in names_of(space) if not hasattr(theirs, n)]
    assert [n for n in strange if f"{space}.{n}" not in OWN] == []


def classes() -> list[tuple[str, type, type]]:
    """Layers, optimizers and schedulers that both have."""
    pairs = [
        ("nn", dt.nn, torch.nn),
        ("optim", dt.optim, torch.optim),
        ("lr_scheduler", dt.optim.lr_scheduler, torch.optim.lr_scheduler),
    ]
    return [
        (f"{where}.{name}", getattr(mine, name), getattr(theirs, name))
        for where, mine, theirs in pairs
        for name in dir(mine)
        if isinstance(getattr(mine, name), type)
        and isinstance(getattr(theirs, name, None), type)
    ]


def test_layers_and_optimizers() -> None:
    """No layer, optimizer or scheduler is made with other arguments than torch's."""
    found = []
    for name, mine, theirs in classes():
        own, other = (_of_class(c) for c in (mine, theirs))
        if name not in DIFFERENT and not _fits(own, other):
            found.append(f"{name}: has {_text(own)}, torch {_text(other)}")
    assert found == []


def _of_class(cls: type) -> Signature:
    # The mark of a class that torch no longer recommends hides what it takes.
    marked = hasattr(cls, "__deprecated__")
    made = inspect.signature(partial(cls.__init__, None) if marked else cls)
    return tuple(
        Parameter(p.name, p.default, p.kind is p.VAR_POSITIONAL)
        for p in made.parameters.values()
        if p.kind is not p.VAR_KEYWORD
    )


def test_every_public_function_asks_the_arguments() -> None:
    """A class with `__torch_function__` handles every function that torch lets it."""
    taken: list[Any] = []

    class Proxy:
        @classmethod
        def __torch_function__(
            cls, function: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> str:
            taken.append(function)
            return "handled"

    silent = []
    for space in ("torch", "F"):
        for name, function in sorted(NAMESPACES[space].items()):
            if not _is_function(function) or not _takes_tensors(function):
                continue
            taken.clear()
            try:
                answer = function(*_proxies(function, Proxy))
            except Exception:
                answer = None
            if answer != "handled" or taken != [function]:
                silent.append(f"{space}.{name}")
    assert silent == []


def _takes_tensors(function: Any) -> bool:
    return any(_wants(p) for p in inspect.signature(function).parameters.values())


def _wants(parameter: inspect.Parameter) -> bool:
    text = str(parameter.annotation)
    return ("Tensor" in text or "Operand" in text) and parameter.name != "out"


def _proxies(function: Any, proxy: type) -> list[Any]:
    """A proxy for each tensor that has to be given, 1 for other arguments."""
    required = [
        p
        for p in inspect.signature(function).parameters.values()
        if p.default is EMPTY and p.kind is not p.KEYWORD_ONLY
    ]
    return [
        ([proxy()] if "[" in str(p.annotation) else proxy()) if _wants(p) else 1
        for p in required
    ] or [proxy()]
