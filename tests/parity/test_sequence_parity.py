"""Recurrent networks, packed sequences, transformers and lazy layers beside torch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import dovetail
from dovetail import nn

RTOL, ATOL = 1e-4, 1e-5
FRAMES: tuple[Any, ...] = ((dovetail, nn), (torch, torch.nn))


def floats(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def close(ours: Any, theirs: Any) -> None:
    assert tuple(ours.shape) == tuple(theirs.shape)
    np.testing.assert_allclose(
        ours.detach().numpy(), theirs.detach().numpy(), RTOL, ATOL
    )


def pair(name: str, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
    """The module of either framework, with torch's values in both."""
    torch.manual_seed(3)
    theirs = getattr(torch.nn, name)(*args, **kwargs)
    ours = getattr(nn, name)(*args, **kwargs)
    state = {k: dovetail.from_numpy(v.numpy()) for k, v in theirs.state_dict().items()}
    ours.load_state_dict(state)
    assert repr(ours) == repr(theirs)
    return ours, theirs


def flattened(found: Any) -> list[Any]:
    """The tensors of results, which may be tuples of tuples."""
    if isinstance(found, tuple | list):
        return [t for part in found for t in flattened(part)]
    return [] if found is None else [found]


def assert_same(found: list[tuple[Any, Any]]) -> None:
    """Results agree, and the gradients of what they are made from."""
    gradients: list[list[Any]] = []
    for results, sources in found:
        outputs = [t for t in flattened(results) if t.is_floating_point()]
        total: Any = sum((t.sin() * (i + 1)).sum() for i, t in enumerate(outputs))
        total.backward()
        gradients.append([x.grad for x in sources])
    for ours, theirs in zip(*(flattened(r) for r, _ in found), strict=True):
        close(ours, theirs)
    for ours, theirs in zip(*gradients, strict=True):
        close(ours, theirs)


RECURRENT: list[tuple[str, dict[str, Any]]] = [
    ("RNN", {}),
    ("RNN", {"nonlinearity": "relu", "bidirectional": True, "bias": False}),
    ("GRU", {"num_layers": 2, "batch_first": True}),
    ("GRU", {"bidirectional": True, "num_layers": 2, "dropout": 0.0}),
    ("LSTM", {"num_layers": 2, "bidirectional": True, "batch_first": True}),
    ("LSTM", {"proj_size": 2, "num_layers": 2, "bidirectional": True}),
    ("LSTM", {"bias": False}),
]


@pytest.mark.filterwarnings("ignore:LSTM with projections is not supported")
@pytest.mark.parametrize("form", ["zeros", "state", "unbatched", "packed", "sorted"])
@pytest.mark.parametrize(("name", "given"), RECURRENT, ids=lambda v: str(v)[:60])
def test_recurrent_networks_are_torchs(
    name: str, given: dict[str, Any], form: str
) -> None:
    """Results, last states and gradients, of padded and of packed sequences."""
    modules = pair(name, 3, 5, **given)
    rows = given.get("num_layers", 1) * (2 if given.get("bidirectional") else 1)
    widths = [given.get("proj_size", 5), 5] if name == "LSTM" else [5]
    first = given.get("batch_first", False)
    shape = (4, 6, 3) if first else (6, 4, 3)
    found = []
    for (frame, modules_of), module in zip(FRAMES, modules, strict=True):
        x = frame.from_numpy(floats(*(shape[1:] if form == "unbatched" else shape)))
        x.requires_grad_()
        states = [
            frame.from_numpy(floats(rows, 4, w, seed=i + 1)).requires_grad_()
            for i, w in enumerate(widths)
        ]
        sources = [x, *module.parameters()]
        fed = x
        if form in ("packed", "sorted"):
            lengths = [5, 3, 3, 1] if form == "sorted" else [3, 5, 1, 3]
            fed = modules_of.utils.rnn.pack_padded_sequence(
                x, lengths, batch_first=first, enforce_sorted=form == "sorted"
            )
        if form in ("zeros", "unbatched"):
            results = module(fed)
        else:
            sources += states
            results = module(fed, tuple(states) if name == "LSTM" else states[0])
        found.append((results, sources))
    assert_same(found)


@pytest.mark.parametrize("batched", [True, False])
@pytest.mark.parametrize("name", ["RNNCell", "LSTMCell", "GRUCell"])
def test_cells_are_torchs(name: str, batched: bool) -> None:
    """One step, with a batch and without."""
    found = []
    for (frame, _), cell in zip(FRAMES, pair(name, 3, 5), strict=True):
        arrays = [floats(4, 3), floats(4, 5, seed=1), floats(4, 5, seed=2)]
        x, h, c = (
            frame.from_numpy(a if batched else a[0]).requires_grad_() for a in arrays
        )
        state = (h, c) if name == "LSTMCell" else h
        sources = [x, h, *([c] if name == "LSTMCell" else []), *cell.parameters()]
        found.append((cell(x, state), sources))
    assert_same(found)


@pytest.mark.parametrize("batch_first", [True, False])
def test_packing_is_torchs(batch_first: bool) -> None:
    """Packed data, orders, what is padded and unpacked again."""
    found = []
    for frame, modules in FRAMES:
        rnn = modules.utils.rnn
        rows = [frame.from_numpy(floats(n, 2, seed=n)) for n in (2, 4, 1)]
        packed = rnn.pack_sequence(rows, enforce_sorted=False)
        back = rnn.pad_packed_sequence(packed, batch_first, -1.0, total_length=5)
        left = rnn.pad_sequence(rows, batch_first, 0.5, padding_side="left")
        whole = rnn.pad_sequence(rows, batch_first)
        apart = rnn.unpad_sequence(whole, frame.tensor([2, 4, 1]), batch_first)
        results = [tuple(packed.double()), back, left, apart]
        found.append(flattened([*results, rnn.unpack_sequence(packed)]))
    for ours, theirs in zip(*found, strict=True):
        close(ours, theirs)
        assert str(ours.dtype).split(".")[1] == str(theirs.dtype).split(".")[1]


@pytest.mark.filterwarnings("ignore:enable_nested_tensor is True")
@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("masked", [True, False])
def test_transformer_is_torchs(masked: bool, norm_first: bool) -> None:
    """Encoder and decoder, with every mask, norms before or after."""
    options = {"dropout": 0.0, "activation": "gelu", "norm_first": norm_first}
    modules = pair("Transformer", 8, 2, 2, 1, 16, batch_first=True, **options)
    found = []
    for (frame, _), module in zip(FRAMES, modules, strict=True):
        src = frame.from_numpy(floats(3, 5, 8)).requires_grad_()
        tgt = frame.from_numpy(floats(3, 4, 8, seed=1)).requires_grad_()
        masks: dict[str, Any] = {}
        if masked:
            hidden = frame.from_numpy(np.eye(3, 5, 2) > 0)
            masks = {
                "tgt_mask": frame.from_numpy(np.triu(np.ones((4, 4)), 1) > 0),
                "src_key_padding_mask": hidden, "memory_key_padding_mask": hidden,
            }  # fmt: skip
        found.append((module(src, tgt, **masks), [src, tgt, *module.parameters()]))
    assert_same(found)


def test_adaptive_softmax_is_torchs() -> None:
    """Log probabilities of targets and of all classes, and predictions."""
    modules = pair("AdaptiveLogSoftmaxWithLoss", 8, 12, [3, 7], 2.0, head_bias=True)
    found = []
    for (frame, _), module in zip(FRAMES, modules, strict=True):
        x = frame.from_numpy(floats(5, 8)).requires_grad_()
        target = frame.tensor([0, 8, 4, 2, 11])
        results = [tuple(module(x, target)), module.log_prob(x), module.predict(x)]
        found.append((results, [x, *module.parameters()]))
    assert_same(found)


@pytest.mark.parametrize("rows", [1, 3, 99, None])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_chunks_change_no_loss(reduction: str, rows: int | None) -> None:
    """Logits made in chunks give the loss and the gradients of whole ones."""
    options = nn.LinearCrossEntropyOptions(batch_chunk_size=rows)
    found = []
    for (frame, modules), chunks in zip(FRAMES, (options, None), strict=True):
        x = frame.from_numpy(floats(7, 4)).requires_grad_()
        weight = frame.from_numpy(floats(5, 4, seed=1)).requires_grad_()
        target = frame.tensor([0, 4, 2, -100, 1, 1, 3])
        factors = frame.from_numpy(np.linspace(0.5, 2, 5, dtype=np.float32))
        loss = modules.functional.linear_cross_entropy(
            x, weight, target, weight=factors, reduction=reduction,
            label_smoothing=0.1, options=chunks,
        )  # fmt: skip
        found.append((loss, [x, weight]))
    assert_same(found)


LAZY: list[tuple[str, tuple[Any, ...], tuple[int, ...]]] = [
    ("LazyLinear", (3,), (2, 5)),
    ("LazyConv1d", (4, 3), (2, 2, 7)),
    ("LazyConv2d", (4, 3), (2, 5, 5)),
    ("LazyConv3d", (4, 2), (1, 2, 3, 3, 3)),
    ("LazyConvTranspose1d", (4, 3), (2, 2, 7)),
    ("LazyConvTranspose2d", (4, 3), (1, 2, 5, 5)),
    ("LazyConvTranspose3d", (4, 2), (1, 2, 3, 3, 3)),
    ("LazyBatchNorm1d", (), (3, 4)),
    ("LazyBatchNorm2d", (), (3, 4, 2, 2)),
    ("LazyBatchNorm3d", (), (2, 4, 2, 2, 2)),
    ("LazyInstanceNorm1d", (), (3, 4, 5)),
    ("LazyInstanceNorm2d", (), (3, 4, 2, 2)),
    ("LazyInstanceNorm3d", (), (2, 4, 2, 2, 2)),
]


@pytest.mark.parametrize(("name", "args", "shape"), LAZY, ids=lambda v: str(v))
def test_lazy_layers_are_torchs(
    name: str, args: tuple[Any, ...], shape: tuple[int, ...]
) -> None:
    """A lazy layer takes shapes from its first input, and is an ordinary one then."""
    seen = []
    for frame, modules in FRAMES:
        module = getattr(modules, name)(*args)
        before = [repr(module), list(module.state_dict())]
        fresh = getattr(modules, name)(*args)
        assert module.has_uninitialized_params()
        y = module(frame.from_numpy(floats(*shape)))
        fresh.load_state_dict(module.state_dict())
        state = {k: tuple(v.shape) for k, v in module.state_dict().items()}
        loaded = {k: tuple(v.shape) for k, v in fresh.state_dict().items()}
        assert loaded == state
        seen.append(
            (*before, tuple(y.shape), state, type(module).__name__, repr(module))
        )
    assert seen[0] == seen[1]


def test_a_shape_that_is_not_there_is_refused() -> None:
    """Asking for the shape of an uninitialised parameter says what is needed."""
    with pytest.raises(RuntimeError, match="needed a first call of the lazy module"):
        _ = nn.LazyLinear(3).weight.shape
