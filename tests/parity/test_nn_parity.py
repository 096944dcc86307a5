"""Modules beside torch's: text, state dicts, results and gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import dovetail
from dovetail import nn

RTOL, ATOL = 1e-4, 1e-5
CLASSES = np.array([1, 0, 2])


def tensors(frame: Any, arrays: list[Any], *, grad: bool = False) -> list[Any]:
    """Tensors of one of the two frameworks; floats may want gradients."""
    made = []
    for array in arrays:
        t = frame.from_numpy(np.array(array))
        made.append(t.requires_grad_() if grad and t.is_floating_point() else t)
    return made


def floats(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def unit(*shape: int, seed: int = 0) -> Any:
    """Probabilities."""
    return np.random.default_rng(seed).uniform(0.05, 0.95, shape).astype(np.float32)


def close(ours: Any, theirs: Any, what: str = "") -> None:
    """Equal shapes and dtypes, and values within the tolerance."""
    assert tuple(ours.shape) == tuple(theirs.shape), what
    assert str(ours.dtype).split(".")[-1] == str(theirs.dtype).split(".")[-1], what
    np.testing.assert_allclose(
        ours.detach().numpy(), theirs.detach().numpy(), RTOL, ATOL, err_msg=what
    )


def case(name: str, *inputs: Any, **kwargs: Any) -> Any:
    args = kwargs.pop("args", ())
    label = f"{name}{args}{kwargs}{[np.shape(i) for i in inputs]}".replace(" ", "")
    return pytest.param(name, args, kwargs, inputs, id=label)


IMAGE, ROWS, SERIES = floats(2, 4, 7, 6), floats(5, 8), floats(3, 4, 9)
VOLUME = floats(2, 3, 5, 4, 6)

CASES = [
    case("Identity", ROWS),
    case("Linear", ROWS, args=(8, 3)),
    case("Linear", floats(2, 3, 8), args=(8, 3), bias=False),
    case("Linear", floats(8), args=(8, 3)),
    case("Bilinear", floats(5, 3), floats(5, 4), args=(3, 4, 2)),
    case("Flatten", IMAGE),
    case("Flatten", IMAGE, start_dim=0, end_dim=1),
    case("Unflatten", ROWS, args=(1, (2, 4))),
    case("Conv1d", SERIES, args=(4, 6, 3)),
    case("Conv1d", floats(4, 9), args=(4, 6, 3)),
    case("Conv1d", SERIES, args=(4, 6, 4), padding="same", dilation=1),
    case("Conv2d", IMAGE, args=(4, 6, 3)),
    case("Conv2d", floats(4, 7, 6), args=(4, 6, 3)),
    case("Conv2d", IMAGE, args=(4, 6, 3), stride=2, padding=1, bias=False),
    case("Conv2d", IMAGE, args=(4, 8, (3, 2)), groups=2, dilation=(2, 1)),
    case("Conv2d", IMAGE, args=(4, 4, 3), groups=4, padding=1),
    case("Conv2d", IMAGE, args=(4, 6, 1)),
    case("Conv2d", IMAGE, args=(4, 6, (4, 3)), padding="same", dilation=(1, 2)),
    case("Conv2d", IMAGE, args=(4, 6, 3), padding="valid"),
    case("Conv2d", IMAGE, args=(4, 6, 3), padding=(2, 1), padding_mode="reflect"),
    case("Conv2d", IMAGE, args=(4, 6, 3), padding="same", padding_mode="circular"),
    case("Conv2d", IMAGE, args=(4, 6, 3), padding=1, padding_mode="replicate"),
    case("Conv3d", VOLUME, args=(3, 2, 3), padding=1, stride=(1, 2, 1)),
    case("MaxPool1d", SERIES, args=(3,)),
    case("MaxPool2d", IMAGE, args=(2,)),
    case("MaxPool2d", floats(4, 7, 6), args=(3, 2, 1)),
    case("MaxPool2d", IMAGE, args=(3, 2, 1), ceil_mode=True),
    case("MaxPool2d", IMAGE, args=((2, 3), 1), dilation=2),
    case("MaxPool2d", IMAGE, args=(2,), return_indices=True),
    case("MaxPool3d", VOLUME, args=(2,)),
    case("AvgPool1d", SERIES, args=(3,)),
    case("AvgPool2d", IMAGE, args=(2,)),
    case("AvgPool2d", IMAGE, args=(3, 2, 1), count_include_pad=False),
    case("AvgPool2d", IMAGE, args=(3, 2, 1), ceil_mode=True),
    case("AvgPool2d", IMAGE, args=(2,), divisor_override=3),
    case("AvgPool3d", VOLUME, args=(2,)),
    case("AdaptiveAvgPool1d", SERIES, args=(4,)),
    case("AdaptiveAvgPool2d", IMAGE, args=(1,)),
    case("AdaptiveAvgPool2d", IMAGE, args=((3, None),)),
    case("AdaptiveAvgPool3d", VOLUME, args=((2, 3, 4),)),
    case("AdaptiveMaxPool1d", SERIES, args=(4,)),
    case("AdaptiveMaxPool2d", IMAGE, args=((3, 2),)),
    case("AdaptiveMaxPool3d", VOLUME, args=(2,)),
    case("BatchNorm1d", ROWS, args=(8,)),
    case("BatchNorm1d", SERIES, args=(4,), affine=False),
    case("BatchNorm2d", IMAGE, args=(4,)),
    case("BatchNorm2d", IMAGE, args=(4,), momentum=None, bias=False),
    case("BatchNorm2d", IMAGE, args=(4,), track_running_stats=False, eps=0.1),
    case("BatchNorm3d", VOLUME, args=(3,), momentum=0.3),
    case("LayerNorm", ROWS, args=(8,)),
    case("LayerNorm", IMAGE, args=((7, 6),), bias=False),
    case("LayerNorm", IMAGE, args=((4, 7, 6),), elementwise_affine=False),
    case("GroupNorm", IMAGE, args=(2, 4)),
    case("GroupNorm", SERIES, args=(4, 4), affine=False),
    case("RMSNorm", ROWS, args=(8,)),
    case("RMSNorm", IMAGE, args=((7, 6),), eps=1e-3, elementwise_affine=False),
    case("Dropout", ROWS, args=(0.0,)),
    case("Dropout2d", IMAGE, args=(1.0,)),
    case("ReLU", ROWS),
    case("ReLU6", 5 * ROWS),
    case("LeakyReLU", ROWS, args=(0.2,)),
    case("PReLU", ROWS),
    case("PReLU", IMAGE, args=(4,)),
    case("ELU", ROWS, args=(0.7,)),
    case("GELU", ROWS),
    case("GELU", ROWS, approximate="tanh"),
    case("SiLU", ROWS),
    case("CELU", ROWS, args=(0.7,)),
    case("SELU", ROWS),
    case("Mish", ROWS),
    case("Hardsigmoid", 4 * ROWS),
    case("Hardswish", 4 * ROWS),
    case("Threshold", ROWS, args=(0.1, -2.0)),
    case("Hardshrink", ROWS, args=(0.3,)),
    case("Softshrink", ROWS),
    case("GLU", IMAGE, dim=1),
    case("Sigmoid", ROWS),
    case("Tanh", ROWS),
    case("LogSigmoid", 9 * ROWS),
    case("Softsign", ROWS),
    case("Tanhshrink", ROWS),
    case("Softplus", 9 * ROWS, args=(2.0, 10.0)),
    case("Hardtanh", 3 * ROWS, args=(-2.0, 1.0)),
    case("Softmax", ROWS, dim=1),
    case("Softmin", ROWS, dim=0),
    case("LogSoftmax", IMAGE, dim=1),
    case("Embedding", np.array([[1, 4], [0, 1]]), args=(5, 3)),
    case("Embedding", np.array([1, 4, 4, 0]), args=(5, 3), padding_idx=-1),
    case("MSELoss", ROWS, floats(5, 8, seed=1)),
    case("MSELoss", ROWS, floats(5, 8, seed=1), reduction="none"),
    case("L1Loss", ROWS, floats(5, 8, seed=1), reduction="sum"),
    case("SmoothL1Loss", ROWS, floats(5, 8, seed=1), beta=0.5),
    case("HuberLoss", ROWS, floats(5, 8, seed=1), delta=0.7),
    case("CrossEntropyLoss", floats(3, 4), CLASSES),
    case("CrossEntropyLoss", floats(3, 4), CLASSES, label_smoothing=0.1),
    case("CrossEntropyLoss", floats(3, 4), CLASSES, ignore_index=0, reduction="sum"),
    case("CrossEntropyLoss", floats(3, 4), unit(3, 4), reduction="none"),
    case("CrossEntropyLoss", floats(2, 3, 4), np.ones((2, 4), np.int64)),
    case("CrossEntropyLoss", floats(4), np.array(2)),
    case("NLLLoss", -unit(3, 4), CLASSES, ignore_index=2),
    case("NLLLoss", -unit(2, 3, 4), np.ones((2, 4), np.int64), reduction="none"),
    case("BCELoss", unit(5, 2), unit(5, 2, seed=1)),
    case("BCEWithLogitsLoss", 9 * ROWS, unit(5, 8, seed=1)),
    case("ConvTranspose1d", SERIES, args=(4, 6, 3), stride=2, output_padding=1),
    case("ConvTranspose2d", IMAGE, args=(4, 6, 3), groups=2, dilation=2, padding=1),
    case("ConvTranspose2d", floats(4, 7, 6), args=(4, 2, (3, 2)), bias=False),
    case("ConvTranspose3d", VOLUME, args=(3, 2, 2), stride=(2, 1, 2)),
    case("InstanceNorm1d", floats(4, 9), args=(4,)),
    case("InstanceNorm2d", IMAGE, args=(4,), affine=True, track_running_stats=True),
    case("InstanceNorm3d", VOLUME, args=(3,), track_running_stats=True, momentum=None),
    case("LocalResponseNorm", IMAGE, args=(3,), alpha=0.5, k=2.0),
    case("ConstantPad1d", SERIES, args=((1, -2), 0.5)),
    case("ZeroPad2d", IMAGE, args=((1, 0, 2, 1),)),
    case("ZeroPad3d", VOLUME, args=(1,)),
    case("ReflectionPad2d", IMAGE, args=((1, 2, 3, 0),)),
    case("ReplicationPad3d", VOLUME, args=(2,)),
    case("CircularPad1d", floats(4, 9), args=(2,)),
    case("PixelShuffle", IMAGE, args=(2,)),
    case("PixelUnshuffle", floats(2, 3, 6, 4), args=(2,)),
    case("ChannelShuffle", IMAGE, args=(2,)),
    case("Unfold", IMAGE, args=((2, 3),), stride=2),
    case("Fold", floats(2, 12, 8), args=((5, 3), 2)),
    case("CosineSimilarity", ROWS, floats(5, 8, seed=1)),
    case("PairwiseDistance", ROWS, floats(5, 8, seed=1), args=(3.0,), keepdim=True),
    case("AlphaDropout", ROWS, args=(0.0,)),
    case("FeatureAlphaDropout", IMAGE, args=(1.0,)),
    case("RReLU", ROWS, args=(0.25, 0.25)),
    case("Softmax2d", IMAGE),
    case("LPPool1d", 3 * SERIES, args=(3, 2)),
    case("LPPool2d", unit(2, 4, 7, 6), args=(2.5, (2, 3)), ceil_mode=True),
    case("LPPool3d", VOLUME, args=(2, 2), stride=1),
    case("Upsample", IMAGE, scale_factor=(1.5, 2.0), mode="bilinear"),
    case("Upsample", IMAGE, size=(5, 9)),
    case("UpsamplingBilinear2d", IMAGE, scale_factor=2),
    case("UpsamplingNearest2d", IMAGE, size=11),
    case("EmbeddingBag", np.array([[1, 4], [0, 1]]), args=(5, 3), mode="max"),
    case("EmbeddingBag", np.array([1, 4, 4, 0]), np.array([0, 3, 3]), args=(5, 3)),
    case("EmbeddingBag", np.array([1, 4, 4, 0]), np.array([0, 3]), args=(5, 3),
         mode="sum", padding_idx=-1, max_norm=1.5, norm_type=1.0),
    case("Embedding", np.array([1, 4, 4, 0]), args=(5, 3), max_norm=0.5,
         scale_grad_by_freq=True),
    case("MarginRankingLoss", ROWS, floats(5, 8, seed=1), np.sign(ROWS), margin=0.3),
    case("CosineEmbeddingLoss", ROWS, floats(5, 8, seed=1), np.sign(ROWS[:, 0])),
    case("HingeEmbeddingLoss", ROWS, np.sign(floats(5, 8, seed=1))),
    case("MultiLabelMarginLoss", floats(2, 3), np.array([[2, 0, -1], [1, -1, 0]])),
    case("MultiLabelSoftMarginLoss", ROWS, unit(5, 8, seed=1)),
    case("MultiMarginLoss", floats(3, 4), CLASSES, args=(2, 0.5), reduction="none"),
    case("TripletMarginLoss", ROWS, floats(5, 8, seed=1), floats(5, 8, seed=2),
         swap=True),
    case("TripletMarginWithDistanceLoss", ROWS, floats(5, 8, seed=1),
         floats(5, 8, seed=2), margin=3.0),
    case("KLDivLoss", -unit(5, 8), unit(5, 8, seed=1), reduction="batchmean"),
    case("PoissonNLLLoss", ROWS, 3 * unit(5, 8, seed=1), full=True),
    case("GaussianNLLLoss", ROWS, floats(5, 8, seed=1), unit(1, 8, seed=2), full=True),
]  # fmt: skip


def pair(name: str, args: Any, kwargs: Any) -> tuple[Any, Any]:
    """The module of either framework, with torch's values in both."""
    torch.manual_seed(3)
    theirs = getattr(torch.nn, name)(*args, **kwargs)
    ours = getattr(nn, name)(*args, **kwargs)
    with torch.no_grad():
        for param in theirs.parameters():  # no ones and zeros, which hide mistakes
            param.add_(torch.rand_like(param))
    state = {k: dovetail.from_numpy(v.numpy()) for k, v in theirs.state_dict().items()}
    result = ours.load_state_dict(state)
    assert str(result) == "<All keys matched successfully>"
    return ours, theirs


def run(module: Any, frame: Any, arrays: Any) -> tuple[list[Any], list[Any]]:
    """Results of a call, and the gradients of inputs and parameters."""
    inputs = tensors(frame, arrays, grad=True)
    outputs = module(*inputs)
    outputs = list(outputs) if isinstance(outputs, tuple) else [outputs]
    cotangent = frame.from_numpy(floats(*outputs[0].shape, seed=9))
    if outputs[0].requires_grad:
        outputs[0].backward(cotangent)
    wanted = [x for x in (*inputs, *module.parameters()) if x.requires_grad]
    return outputs, [x.grad for x in wanted]


@pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel")
@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize(("name", "args", "kwargs", "inputs"), CASES)
def test_module_is_torchs(
    name: str, args: Any, kwargs: Any, inputs: Any, training: bool
) -> None:
    """Text, results, gradients and state afterwards are those of torch."""
    ours, theirs = pair(name, args, kwargs)
    ours.train(training)
    theirs.train(training)
    assert repr(ours) == repr(theirs)
    for _ in range(2):  # the second time with statistics that have moved
        outputs, gradients = run(ours, dovetail, inputs)
        expected, expected_gradients = run(theirs, torch, inputs)
    for mine, other in zip(outputs, expected, strict=True):
        close(mine, other, "result")
    for i, (g, h) in enumerate(zip(gradients, expected_gradients, strict=True)):
        assert (g is None) == (h is None), f"gradient {i}"
        if g is not None:
            close(g, h, f"gradient {i}")
    assert_same_state(ours, theirs)


def assert_same_state(ours: Any, theirs: Any) -> None:
    """Equal names, in order, and values."""
    mine, other = ours.state_dict(), theirs.state_dict()
    assert list(mine) == list(other)
    assert mine._metadata == other._metadata
    for name in mine:
        close(mine[name], other[name], name)
    trained = [(n, p.requires_grad) for n, p in ours.named_parameters()]
    assert trained == [(n, p.requires_grad) for n, p in theirs.named_parameters()]


@pytest.mark.parametrize("weight", ["weight", "pos_weight"])
def test_weights_of_losses(weight: str) -> None:
    """Weights of losses are buffers, and count as torch's do."""
    arrays = [floats(3, 4), unit(3, 4)]
    factors = unit(4, seed=5)
    both = []
    for frame, modules in ((dovetail, nn), (torch, torch.nn)):
        given = frame.from_numpy(factors)
        loss = modules.BCEWithLogitsLoss(**{weight: given})
        assert list(loss.state_dict()) == [weight]
        both.append(run(loss, frame, arrays))
    close(both[0][0][0], both[1][0][0])
    close(both[0][1][0], both[1][1][0])


def test_weighted_classes() -> None:
    """The mean of weighted classes is divided by their weights."""
    both = []
    for frame, modules in ((dovetail, nn), (torch, torch.nn)):
        loss = modules.CrossEntropyLoss(frame.from_numpy(unit(4, seed=5)))
        both.append(run(loss, frame, [floats(3, 4), CLASSES]))
    close(both[0][0][0], both[1][0][0])
    close(both[0][1][0], both[1][1][0])


ATTENTION: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {}),
    ({"bias": False, "batch_first": True}, {"average_attn_weights": False}),
    ({"kdim": 3, "vdim": 5}, {"need_weights": False}),
    ({"add_bias_kv": True, "add_zero_attn": True}, {"mask": True}),
    ({"batch_first": True}, {"mask": True, "padding": True}),
    ({}, {"mask": True, "padding": True, "need_weights": False}),
    ({}, {"unbatched": True, "mask": True}),
]


@pytest.mark.parametrize(("made", "called"), ATTENTION)
def test_attention_is_torchs(made: dict[str, Any], called: dict[str, Any]) -> None:
    """Results, weights and gradients, with every kind of mask."""
    ours, theirs = pair("MultiheadAttention", (8, 2), made)
    assert repr(ours) == repr(theirs)
    call = dict(called)
    mask, padding = call.pop("mask", False), call.pop("padding", False)
    drop = 1 if call.pop("unbatched", False) else None
    order = (1, 0, 2) if made.get("batch_first") else (0, 1, 2)
    shapes = [(5, 3, 8), (4, 3, made.get("kdim", 8)), (4, 3, made.get("vdim", 8))]
    arrays = [floats(*shape, seed=i) for i, shape in enumerate(shapes)]
    arrays = [a[:, 0] if drop else a.transpose(order).copy() for a in arrays]
    both = []
    for frame, module in ((dovetail, ours), (torch, theirs)):
        inputs = tensors(frame, arrays, grad=True)
        if mask:
            call["attn_mask"] = frame.from_numpy(np.arange(20).reshape(5, 4) % 3 == 1)
        if padding:
            call["key_padding_mask"] = frame.from_numpy(np.eye(3, 4, 1) > 0)
        result, weights = module(*inputs, **call)
        (result * frame.from_numpy(floats(*result.shape))).sum().backward()
        gradients = [x.grad for x in (*inputs, *module.parameters())]
        both.append([result, *([] if weights is None else [weights]), *gradients])
    for mine, other in zip(*both, strict=True):
        close(mine, other)


def network(modules: Any) -> Any:
    """A small network with nested containers."""
    return modules.Sequential(
        modules.Conv2d(4, 6, 3, bias=False),
        modules.Sequential(modules.BatchNorm2d(6), modules.ReLU(inplace=True)),
        modules.MaxPool2d(2),
        modules.ModuleList([modules.Tanh()])[0],
        modules.Flatten(),
        modules.Dropout(0.0),
        modules.Linear(24, 3),
    )


def test_network_is_torchs() -> None:
    """A network with nested containers: text, state, results, gradients."""
    torch.manual_seed(0)
    theirs, ours = network(torch.nn), network(nn)
    assert repr(ours) == repr(theirs)
    state = {k: dovetail.from_numpy(v.numpy()) for k, v in theirs.state_dict().items()}
    ours.load_state_dict(state)
    outputs, gradients = run(ours, dovetail, [IMAGE])
    expected, expected_gradients = run(theirs, torch, [IMAGE])
    close(outputs[0], expected[0])
    for g, h in zip(gradients, expected_gradients, strict=True):
        close(g, h)
    assert_same_state(ours, theirs)


def test_repr_of_containers_is_torchs() -> None:
    """Lists fold equal neighbours; dicts and sequences do not."""

    def build(m: Any) -> Any:
        blocks = [m.Linear(2, 3), m.Linear(2, 3), m.ReLU(), m.Linear(2, 3)]
        named = {"a": m.ModuleList(blocks), "b": m.Sequential(), "c": m.ModuleList()}
        return m.Sequential(m.ModuleDict(named), m.ReLU(), m.ReLU())

    assert repr(build(nn)) == repr(build(torch.nn))


@pytest.mark.parametrize("name", ["Linear", "Conv2d", "Embedding", "Bilinear"])
def test_first_values_are_distributed_as_torchs(name: str) -> None:
    """Bounds and spread of freshly made parameters are torch's."""
    torch.manual_seed(0)
    dovetail.manual_seed(0)
    args = {"Linear": (200, 300), "Conv2d": (30, 40, 5), "Embedding": (300, 200)}
    theirs = getattr(torch.nn, name)(*args.get(name, (20, 30, 40)))
    ours = getattr(nn, name)(*args.get(name, (20, 30, 40)))
    for (key, p), q in zip(ours.named_parameters(), theirs.parameters(), strict=True):
        a, b = p.detach().numpy(), q.detach().numpy()
        assert a.shape == b.shape
        spread = 0.25 if a.size < 500 else 0.02
        assert np.std(a) == pytest.approx(np.std(b), rel=spread), key
        assert np.abs(a).max() == pytest.approx(np.abs(b).max(), rel=0.3), key


INITS = {
    "xavier_uniform_": {"gain": 2.0},
    "xavier_normal_": {},
    "kaiming_uniform_": {"a": 0.2, "mode": "fan_out"},
    "kaiming_normal_": {"nonlinearity": "relu"},
    "uniform_": {"a": -2.0, "b": 1.0},
    "normal_": {"mean": 3.0, "std": 0.5},
    "trunc_normal_": {"mean": 1.0, "std": 2.0, "a": 0.0, "b": 3.0},
    "ones_": {},
    "zeros_": {},
    "constant_": {"val": 3.0},
    "eye_": {},
}


@pytest.mark.parametrize("name", INITS)
def test_init_is_distributed_as_torchs(name: str) -> None:
    """Mean, spread and quantiles are torch's, and the tensor is returned."""
    torch.manual_seed(0)
    dovetail.manual_seed(0)
    shape = (300, 200) if name == "eye_" else (100, 30, 5, 5)
    ours, theirs = dovetail.empty(*shape), torch.empty(*shape)
    assert getattr(nn.init, name)(ours, **INITS[name]) is ours
    getattr(torch.nn.init, name)(theirs, **INITS[name])
    a, b = ours.numpy(), theirs.numpy()
    spread = float(np.std(b))
    assert np.mean(a) == pytest.approx(np.mean(b), abs=0.02 * spread + 1e-9)
    assert np.std(a) == pytest.approx(spread, rel=0.02, abs=1e-9)
    ends = [0.002, 0.1, 0.9, 0.998]
    gap = np.abs(np.quantile(a, ends) - np.quantile(b, ends)).max()
    assert gap <= 0.1 * spread


def test_clip_grad_norm_is_torchs() -> None:
    """Norms before, and gradients after."""
    for norm_type in (2.0, 1.0, float("inf")):
        both = []
        for frame in (dovetail, torch):
            modules = nn if frame is dovetail else torch.nn
            params = tensors(frame, [floats(3, 4), floats(5)], grad=True)
            for i, param in enumerate(params):
                param.grad = frame.from_numpy(floats(*param.shape, seed=i))
            total = modules.utils.clip_grad_norm_(params, 0.5, norm_type)
            both.append([total, *(p.grad for p in params)])
        for mine, other in zip(*both, strict=True):
            close(mine, other)


def test_load_state_dict_words_are_torchs() -> None:
    """What does not fit is told in torch's words."""
    said = []
    for frame, modules in ((dovetail, nn), (torch, torch.nn)):
        given = {"weight": frame.ones(3, 3), "x.y": frame.ones(1)}
        with pytest.raises(RuntimeError) as info:
            modules.Linear(2, 3).load_state_dict(given)
        said.append(str(info.value).replace("torch.Size", "dovetail.Size"))
    assert said[0].replace("torch.Size", "dovetail.Size") == said[1]
