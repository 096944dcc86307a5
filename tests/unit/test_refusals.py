"""What is refused does not depend on what was called before."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dovetail as dt
from dovetail.conformance.reference import reference
from dovetail.engine.attribute_keys import frozen
from dovetail.engine.op import vocabulary

F = dt.nn.functional
X = dt.arange(24.0).reshape(2, 3, 4)

# Values that are equal and mean different things, or that only look alike.
DIMS = [0, 0.0, -0.0, False, 1, 1.0, True, -1, 2, None, (0,), (0.0,), (0, 1),
        (False, 1), [0], (), "0", 9]  # fmt: skip
NUMBERS = [0, 0.0, -0.0, False, 1, 1.0, True, 2, 2.0, float("nan"), None, "1", (1,),
           10**30, 10**400]  # fmt: skip

CALLS: dict[str, tuple[Callable[[Any], Any], list[Any]]] = {
    "sum": (lambda v: X.sum(v), DIMS),
    "amax": (lambda v: X.amax(v), DIMS),
    "softmax": (lambda v: F.softmax(X, v), DIMS),
    "sum keepdim": (lambda v: X.sum(1, v), NUMBERS),
    "transpose": (lambda v: X.transpose(v, 1), DIMS),
    "cat": (lambda v: dt.cat((X, X), v), DIMS),
    "permute": (lambda v: X.permute((v, 1, 2)), DIMS),
    "unsqueeze": (lambda v: X.unsqueeze(v), DIMS),
    "add": (lambda v: X + v, NUMBERS),
    "mul of integers": (lambda v: X.long() * v, NUMBERS),
    "where": (lambda v: dt.where(X > 3, X, v), NUMBERS),
    "leaky_relu": (lambda v: F.leaky_relu(X, v), NUMBERS),
    "nan_to_num": (lambda v: dt.nan_to_num(X, v), NUMBERS),
    "nan_to_num of integers": (lambda v: dt.nan_to_num(X.long(), v), NUMBERS),
    "nan_to_num_ of bools": (lambda v: X.bool().nan_to_num_(posinf=v), NUMBERS),
    "layer_norm": (lambda v: F.layer_norm(X, (4,), eps=v), NUMBERS),
    "flip": (lambda v: X.flip(v), DIMS),
    "cast": (lambda v: X.to(v), [dt.float32, dt.int64, "float32", float, int, 1]),
    "roll": (lambda v: X.roll(v, 0), NUMBERS),
}


def outcome(name: str, at: int) -> Any:
    """What a call gives: its values and dtype, or the class and words of its error."""
    call, values = CALLS[name]
    try:
        made = call(values[at])
    except Exception as error:
        # Other tests may have brought devices that a message lists.
        return type(error), re.sub(r"(?<=needed one of )[^;]*", "…", str(error))
    return str(made.dtype), tuple(made.shape), str(made.tolist())


def forget() -> None:
    """Let the ops know of no call."""
    for op in vocabulary.values():
        op.forget()


FRESH: dict[tuple[str, int], Any] = {}
for _name, (_, _values) in CALLS.items():
    for _at in range(len(_values)):
        forget()
        FRESH[_name, _at] = outcome(_name, _at)


KEYS = sorted(FRESH)
MIXED = st.lists(st.sampled_from(KEYS), min_size=2, max_size=30)
# What one call learns is asked by that call alone.
ALIKE = st.sampled_from(sorted(CALLS)).flatmap(
    lambda name: st.permutations([key for key in KEYS if key[0] == name])
)


@settings(max_examples=120, deadline=None)
@given(st.one_of(MIXED, ALIKE))
def test_an_outcome_does_not_depend_on_history(order: list[tuple[str, int]]) -> None:
    """In any order, and again, a call gives what it gives at first."""
    forget()
    for key in order:
        assert outcome(*key) == FRESH[key], (key, CALLS[key[0]][1][key[1]])


def test_some_are_refused_and_some_are_not() -> None:
    """The calls above try both sides."""
    refused = {key for key, found in FRESH.items() if isinstance(found[0], type)}
    assert 40 < len(refused) < len(FRESH) - 40


@pytest.mark.parametrize("name", CALLS)
def test_a_refusal_is_ours_and_comes_again(name: str) -> None:
    """What is refused is refused by an error of ours, twice."""
    for at in range(len(CALLS[name][1])):
        first, again = outcome(name, at), outcome(name, at)
        assert first == again
        if isinstance(first[0], type):
            assert issubclass(first[0], dt.errors.DovetailError), first


PLAIN = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 2), st.sampled_from([0.0, -0.0, 1.0, 2.0])
)
NESTED = st.recursive(PLAIN, lambda v: st.lists(v, max_size=2).map(tuple), max_leaves=4)


@settings(max_examples=200, deadline=None)
@given(NESTED, NESTED)
def test_equal_keys_mean_the_same(a: Any, b: Any) -> None:
    """`frozen` tells apart whatever `repr` does, and nothing else."""
    assert (frozen(a) == frozen(b)) is (repr(a) == repr(b))


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_a_reshape_copies_whatever_was_reshaped_before(device: str) -> None:
    """After a reshape that is a view, one that cannot be one is served by a copy."""
    if device == "reference":
        reference()
    x = dt.arange(24, dtype=dt.float32).to(device).reshape(4, 6)
    assert x.reshape(-1)._base is not None
    assert x.t().reshape(-1).tolist() == x.t().clone().flatten().tolist()


def test_padding_counts_from_the_end_by_position_too() -> None:
    """What follows the arguments of an op before a function is the function's own."""
    weight = dt.ones(3, 2, requires_grad=True)
    for placed, named in (((-1,), {}), ((), {"padding_idx": -1})):
        weight.grad = None
        rows = dt.nn.functional.embedding(dt.tensor([1, 2]), weight, *placed, **named)
        rows.sum().backward()
        assert weight.grad.tolist() == [[0, 0], [1, 1], [0, 0]]


def test_an_ops_own_names_are_no_names_of_the_function_before_it() -> None:
    """`F.embedding` has `input`, and does not take what its op calls it."""
    index, weight = dt.tensor([1]), dt.ones(3, 2)
    expected = dt.nn.functional.embedding(index, weight).tolist()
    assert dt.nn.functional.embedding(input=index, weight=weight).tolist() == expected
    with pytest.raises(TypeError, match="missing a required argument: 'input'"):
        dt.nn.functional.embedding(index=index, weight=weight)


def test_a_handler_gets_a_call_as_it_was_given() -> None:
    """Arguments beyond those of the op reach `__torch_function__` where they stood."""

    class Handler(dt.Tensor):
        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return func, args[1:], kwargs

    index, weight = dt.tensor([1]).as_subclass(Handler), dt.ones(3, 2)
    embedding = dt.nn.functional.embedding
    assert embedding(index, weight, 1) == (embedding, (weight, 1), {})
    found = embedding(index, weight=weight)
    assert found == (embedding, (), {"weight": weight})


def test_minus_zero_finds_no_other_zero() -> None:
    """A zero of another type, kept for a kind, is not what -0.0 stands for."""
    for cache in X._kind.scalars.values():
        for zero in (0, False, 0.0):
            _ = cache[zero]
    assert str((X * -0.0).tolist()).startswith("[[[-0.0")
