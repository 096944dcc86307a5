"""Subclasses of Tensor, and buffers: what ops give of them, and write to them."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import dovetail

Library = Any

IN_PLACE = [
    "requires_grad_()", "add_(1)", "t_()", "squeeze_()", "unsqueeze_(0)", "zero_()",
    "fill_(3)", "copy_(T.full((2, 3), 5.0))", "relu_()", "clamp_(0, 0.5)",
    "masked_fill_(T.ones(2, 3) > 0, 7.0)", "set_(T.zeros(3))", "__iadd__(2)",
    "index_add_(0, T.tensor([0]), T.ones(1, 3))",
]  # fmt: skip
NEW = [
    "sqrt()", "max(0)", "__add__(1)", "__getitem__(0)", "matmul(T.ones(3, 2))",
    "mean()", "split(1)", "sort()", "double()", "view(6)", "clone()", "detach()",
    "new_zeros(2)", "T", "shape", "tolist()", "data", "as_subclass(T.Tensor)",
    "as_subclass(T.Tensor).clone()", "data.data[0]", "new_tensor([1])",
]  # fmt: skip


def _made(library: Library, kind: str) -> Any:
    if kind == "buffer":
        return library.nn.Buffer(library.ones(2, 3))
    return library.ones(2, 3).as_subclass(type("Own", (library.Tensor,), {}))


def _names(y: Any) -> Any:
    if isinstance(y, tuple | list):
        return [_names(each) for each in y]
    name = type(y).__name__
    return (name, y.tolist()) if hasattr(y, "tolist") else name


@pytest.mark.parametrize("kind", ["class", "buffer"])
@pytest.mark.parametrize("line", IN_PLACE)
def test_writes_are_the_callers_own(kind: str, line: str) -> None:
    """A form in place returns what it was called on, which has changed as in torch."""
    found = []
    for library in (torch, dovetail):
        x = _made(library, kind)
        assert eval(f"x.{line}", {"x": x, "T": library}) is x
        found.append((tuple(x.shape), x.requires_grad, x.tolist()))
    assert found[0] == found[1]


@pytest.mark.parametrize("kind", ["class", "buffer"])
@pytest.mark.parametrize("line", NEW)
def test_results_have_torchs_class(kind: str, line: str) -> None:
    """A class is passed on, also into tuples with fields; a buffer's is not."""
    theirs, ours = (
        _names(eval(f"x.{line}", {"x": _made(library, kind), "T": library}))
        for library in (torch, dovetail)
    )
    assert ours == theirs


def test_gradients_pass_through_writes_of_a_class() -> None:
    """A view that was taken before a write is of what was written."""
    for library in (torch, dovetail):
        x, w = _made(library, "class"), library.tensor(3.0, requires_grad=True)
        row = x[0]
        x.mul_(w)
        row.sum().backward()
        assert w.grad.item() == 3.0


def test_autocast_casts_a_class() -> None:
    """What a class computes is in the precision of the scope."""
    for library in (torch, dovetail):
        x = _made(library, "class")
        with library.autocast("cpu", dtype=library.bfloat16):
            assert (x @ library.ones(3, 2)).dtype is library.bfloat16


def test_what_is_made_of_a_buffer_is_none() -> None:
    """A module keeps it as an attribute."""
    for library in (torch, dovetail):
        module = library.nn.Module()
        module.scale = library.nn.Buffer(library.ones(2))
        module.twice = module.scale * 2
        assert list(module.state_dict()) == ["scale"]


@pytest.mark.parametrize("library", [torch, dovetail])
def test_handlers_are_not_asked_for_another_class(library: Library) -> None:
    """As a plain tensor means without the class; `data` goes by the handler."""
    seen: list[str] = []

    class Tagged(library.Tensor):  # type: ignore[misc, name-defined]
        def clone(self, **kwargs: Any) -> Any:
            made = self.as_subclass(library.Tensor).clone(**kwargs)
            return made.as_subclass(Tagged)

        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            seen.append(func.__name__)
            result = super().__torch_function__(func, types, args, kwargs or {})
            if isinstance(result, Tagged):
                result.tag = args[0].tag
            return result

    x = library.ones(2).as_subclass(Tagged)
    x.tag = "x"
    assert type(x.clone()) is Tagged
    assert "clone" not in seen
    assert x.data.tag == "x"
    assert "__get__" in seen
    x.data += 1
    assert x.tolist() == [2, 2]


@pytest.mark.filterwarnings("ignore:To copy construct")
@pytest.mark.parametrize("kind", ["class", "buffer"])
def test_fresh_tensors_are_plain(kind: str) -> None:
    """`tensor` makes one of its values, whatever they are in."""
    for library in (torch, dovetail):
        x = _made(library, kind)
        for made in (library.tensor(x), library.tensor(x, dtype=library.float64)):
            assert type(made) is library.Tensor
            assert made.tolist() == x.tolist()


@pytest.mark.parametrize("name", ["unbind", "relu_", "sum", "argsort", "isnan"])
@pytest.mark.parametrize("library", [torch, dovetail])
def test_functions_and_methods_differ(library: Library, name: str) -> None:
    """Handlers are told which of them was called."""
    seen: list[Any] = []

    class Own(library.Tensor):  # type: ignore[misc, name-defined]
        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            seen.append(func)

    x = library.ones(2, 3).as_subclass(Own)
    function, method = getattr(library, name), getattr(library.Tensor, name)
    function(x)
    getattr(x, name)()
    assert seen == [function, method]
    assert function != method
