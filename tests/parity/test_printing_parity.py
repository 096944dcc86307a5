"""How tensors print: as torch's do, but for the name of the dtype."""

import math

import numpy as np
import pytest

import dovetail as dt

torch = pytest.importorskip("torch")

SHAPES = [
    (), (1,), (3,), (0,), (2, 0), (2, 3), (2, 1, 3), (30,), (1001,), (40, 40), (3, 500),
]  # fmt: skip
SPECIAL = [math.inf, -math.inf, math.nan, 0.0, -0.0, 1.0, 2.5]


def drawn(kind: str, count: int) -> list[float]:
    """Numbers of one look: usual, far apart, whole, special or tiny."""
    draws = np.random.default_rng(count)
    values = {
        "usual": draws.normal(size=count),
        "far apart": draws.normal(size=count) * 10.0 ** draws.integers(-8, 9, count),
        "whole": draws.integers(-1000, 1000, count),
        "special": draws.choice(SPECIAL, count),
        "tiny": draws.normal(size=count) * 1e-6,
    }[kind]
    return [float(v) for v in values]


@pytest.mark.parametrize("dtype", ["float32", "float16", "complex64"])
@pytest.mark.parametrize("kind", ["usual", "far apart", "whole", "special", "tiny"])
def test_prints_as_torch(dtype: str, kind: str) -> None:
    """Widths, signs, line breaks and what is left out are torch's, at every shape."""
    for shape in SHAPES:
        numbers = np.asarray(drawn(kind, math.prod(shape)))
        if dtype == "complex64":
            numbers = np.stack([numbers, numbers[::-1]], -1).view(np.complex128)[:, 0]
        if dtype == "float16":  # what it holds
            held = np.clip(numbers, -6e4, 6e4)
            numbers = np.where(np.isfinite(numbers), held, numbers)
        theirs, ours = (
            lib.tensor(numbers.tolist(), dtype=getattr(lib, dtype)).reshape(shape)
            for lib in (torch, dt)
        )
        text = repr(ours).replace("dtype=dovetail.", "dtype=torch.")
        where = text.rfind(",\n       dtype")  # the longer name may need a line
        if where >= 0 and text != repr(theirs):
            text = text[:where] + ", " + text[where + 9 :]
        assert text == repr(theirs)


@pytest.mark.parametrize("dtype", ["bool", "int64", "int32", "complex64", "float32"])
@pytest.mark.parametrize("shape", [(0,), (2, 0), (3,)])
def test_tells_what_is_no_default(dtype: str, shape: tuple[int, ...]) -> None:
    """The dtype is told where the numbers do not show it, which none do if empty."""
    theirs = torch.zeros(shape, dtype=getattr(torch, dtype))
    ours = dt.zeros(shape, dtype=getattr(dt, dtype))
    assert repr(ours).replace("dovetail.", "torch.") == repr(theirs)


OPTIONS = [
    {"edgeitems": 0}, {"edgeitems": 0, "threshold": 5},
    {"edgeitems": 1, "threshold": 5}, {"precision": 2},
    {"sci_mode": True}, {"sci_mode": False}, {"linewidth": 40},
    {"profile": "short"}, {"profile": "full"}, {"profile": "short", "precision": 6},
]  # fmt: skip


def _told(line: str) -> tuple[str, str]:
    """What a line shows in torch and here, by torch's names."""
    texts = []
    for lib in (torch, dt):
        own = type("Own", (lib.Tensor,), {})
        parameter = type("Weight", (lib.nn.Parameter,), {})
        texts.append(eval(line, {"T": lib, "Own": own, "Weight": parameter}))
    return texts[0], texts[1].replace("dovetail.", "torch.")


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_options_are_torchs(options: dict[str, object]) -> None:
    """Options change the text as in torch; sci_mode is forgotten by the next call."""
    drawn = np.random.default_rng(0).normal(size=(3, 8)).astype(np.float32)
    try:
        for given in (options, {"precision": 3}):
            for lib in (torch, dt):
                lib.set_printoptions(**given)
            for values in (drawn, drawn * 1e6, drawn[0], drawn[:0]):
                texts = [repr(lib.from_numpy(values)) for lib in (torch, dt)]
                assert texts[0] == texts[1]
    finally:
        for lib in (torch, dt):
            lib.set_printoptions(profile="default")


TOLD = """
T.ones(2, device="meta", dtype=T.int64) | T.ones(2, device="meta")
T.nn.Buffer(T.ones(2, requires_grad=True)) | T.ones(2).as_subclass(Own) | Own()
Weight(T.ones(2)) | T.nn.Parameter(T.ones(2)) | T.nn.Parameter(T.ones(0))
T.ones(2).to_sparse()
"""
NAMED = """
1 - x | x - 1 | x ** 2 | x ** 3 | 2 ** x | x ** x | m.sum(0) | m.sum() | m.mean(1)
m.max(0)[0] | x.norm() | m @ m | m @ x | x @ x | x @ m | b @ b | F.linear(m, m)
F.linear(m, m, x) | F.linear(b, m) | F.linear(b, m, x) | F.elu(x) | F.selu(x)
m[0] | m[:1] | m[...] | m[None] | m[0, 0] | m[:, None] | m[[0]] | m.select(0, 0)
m.double() | m.clamp(min=0) | m.squeeze() | m.squeeze(0) | F.pad(m, (1, 1))
F.max_pool2d(b[None], 2) | F.avg_pool2d(b[None], 2) | F.layer_norm(m, (2,)) | x.log1p()
F.batch_norm(b, None, None, training=True) | T.linalg.det(m) | x.exp() | x * 2
F.cross_entropy(m, i) | m.view(4) | m.t() | m.sum_to_size(1, 2) | F.logsigmoid(x)
F.max_pool1d(b, 2) | F.prelu(x, x[:1]) | T.clamp(m, min=m)
"""


@pytest.mark.parametrize(
    "line", [s for s in TOLD.replace("\n", " | ").split(" | ") if s]
)
def test_kinds_of_tensors_are_told(line: str) -> None:
    """Classes, buffers, parameters, meta tensors and sparse ones read as in torch."""
    theirs, ours = _told(f"repr({line})")
    assert ours == theirs


@pytest.mark.parametrize("line", ["T.nn.Parameter(T.ones(2))", "Weight(T.ones(2))"])
def test_the_title_of_parameters_is_their_classs(line: str) -> None:
    """Classes that write one of their own ask Tensor for what comes below."""
    theirs, ours = _told(f"T.Tensor.__repr__({line})")
    assert ours == theirs
    assert not ours.startswith("Parameter containing")


def test_contents_may_be_given() -> None:
    """The text that stands for the values is the caller's."""
    line = "T.ones(0, 3, dtype=T.int32).__repr__(tensor_contents='none')"
    theirs, ours = _told(line)
    assert ours == theirs


@pytest.mark.parametrize(
    "line", [s for s in NAMED.replace("\n", " | ").split(" | ") if s]
)
def test_nodes_have_torchs_names(line: str) -> None:
    """A result tells how it came about in torch's words."""
    names = []
    for lib in (torch, dt):
        values = {
            "x": lib.tensor([0.5, 0.25], requires_grad=True),
            "m": lib.tensor([[1.0, 0.5], [0.25, 2.0]], requires_grad=True),
            "b": lib.arange(8.0).reshape(2, 2, 2).requires_grad_(),
        }  # fmt: skip
        space = {"T": lib, "F": lib.nn.functional, "i": lib.tensor([0, 1])}
        names.append(eval(line, space | values).grad_fn.name())
    assert names[0] == names[1]
