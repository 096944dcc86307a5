"""Packed sequences in recurrent layers: each as it would be alone."""

from __future__ import annotations

import pytest

import dovetail as dt
from dovetail.nn.packed_steps import is_worth_a_layer
from dovetail.nn.utils.rnn import pack_sequence, unpack_sequence

DENSE, LOOSE, SPARSE = (4, 4, 3, 1), (9, 1, 1, 2), (30, *[1] * 14)


def test_what_is_worth_a_layer() -> None:
    """Sequences of about one length; others where steps are small, but not too many."""
    one_long = [4, 2, *[1] * 7]
    assert is_worth_a_layer([4, 3, 3, 2], 10**9)
    assert is_worth_a_layer(one_long, 10**5)
    assert not is_worth_a_layer(one_long, 10**9)
    assert not is_worth_a_layer([15, *[1] * 29], 1)


@pytest.mark.parametrize("lengths", [DENSE, LOOSE, SPARSE])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_packed_sequences_are_what_each_is_alone(
    kind: str, bidirectional: bool, lengths: tuple[int, ...]
) -> None:
    """Results, last states and gradients, of layers in both directions."""
    dt.manual_seed(1)
    options = {"num_layers": 2, "bidirectional": bidirectional, "dtype": dt.float64}
    network = getattr(dt.nn, kind)(3, 4, **options)
    sequences = [dt.randn(n, 3, dtype=dt.float64, requires_grad=True) for n in lengths]
    packed, state = network(pack_sequence(sequences, enforce_sorted=False))
    last = state[0] if kind == "LSTM" else state
    total = last.sin().sum()
    alone = dt.zeros((), dtype=dt.float64)
    for i, (x, y) in enumerate(zip(sequences, unpack_sequence(packed), strict=True)):
        wanted, own = network(x)
        own_last = own[0] if kind == "LSTM" else own
        dt.testing.assert_close(y, wanted)
        dt.testing.assert_close(last[:, i], own_last)
        total = total + y.square().sum()
        alone = alone + wanted.square().sum() + own_last.sin().sum()
    sources = [*sequences, *network.parameters()]
    found = dt.autograd.grad(total, sources)
    for got, want in zip(found, dt.autograd.grad(alone, sources), strict=True):
        dt.testing.assert_close(got, want)


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_packed_layers_have_second_gradients(kind: str) -> None:
    """By finite differences, through padding and what is gathered."""
    dt.manual_seed(2)
    network = getattr(dt.nn, kind)(2, 2, bidirectional=True, dtype=dt.float64)

    def results(*sequences: dt.Tensor) -> dt.Tensor:
        y, _ = network(pack_sequence(list(sequences)))
        return y.data

    sequences = [dt.randn(n, 2, dtype=dt.float64, requires_grad=True) for n in (3, 2)]
    assert dt.autograd.gradgradcheck(results, sequences)
