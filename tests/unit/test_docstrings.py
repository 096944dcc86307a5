"""The examples in docstrings of public names run, and print what they say."""

from __future__ import annotations

import doctest
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dovetail
from dovetail import autograd, data, io, nn, optim
from dovetail.nn import functional, init
from dovetail.nn import utils as nn_utils
from dovetail.optim import lr_scheduler

SPACES = {
    "dovetail": dovetail, "Tensor": dovetail.Tensor, "nn": nn, "F": functional,
    "optim": optim, "lr_scheduler": lr_scheduler, "data": data, "init": init,
    "utils": nn_utils, "autograd": autograd, "io": io,
}  # fmt: skip
# What most programs use; others may have examples too.
SHOWN = {
    "dovetail": """
        tensor zeros ones full arange linspace eye empty rand randn randint
        randperm from_numpy as_tensor cat stack split chunk
        where matmul bmm einsum sum mean std var max min argmax argmin sort topk
        exp log sqrt abs pow clamp relu sigmoid tanh softmax gather index_select
        nonzero unique flatten reshape squeeze unsqueeze transpose permute cumsum
        allclose isnan no_grad enable_grad manual_seed device save load compile
        autocast add mul div sub maximum bincount
    """,
    "Tensor": """
        __getitem__ __setitem__ backward reshape view to sum numpy item tolist
        detach clone requires_grad_ expand contiguous size register_hook copy_
        masked_fill scatter repeat
    """,
    "autograd": """
        grad backward
    """,
    "nn": """
        Module Sequential ModuleList ModuleDict Linear Conv1d Conv2d BatchNorm1d
        BatchNorm2d LayerNorm GroupNorm RMSNorm Dropout Embedding
        MultiheadAttention ReLU GELU SiLU Softmax MaxPool2d AvgPool2d
        AdaptiveAvgPool2d Flatten CrossEntropyLoss MSELoss BCEWithLogitsLoss
        NLLLoss L1Loss SmoothL1Loss Parameter Identity
    """,
    "F": """
        cross_entropy relu gelu log_softmax mse_loss dropout linear conv2d
        max_pool2d avg_pool2d layer_norm embedding one_hot pad
        scaled_dot_product_attention normalize binary_cross_entropy_with_logits
        nll_loss unfold softmax
    """,
    "optim": """
        SGD Adam AdamW
    """,
    "lr_scheduler": """
        StepLR MultiStepLR LambdaLR CosineAnnealingLR ExponentialLR LinearLR
        OneCycleLR ReduceLROnPlateau SequentialLR
    """,
    "data": """
        DataLoader Dataset TensorDataset random_split Subset
    """,
    "init": """
        kaiming_uniform_ kaiming_normal_ xavier_uniform_ normal_ zeros_ constant_
    """,
    "utils": """
        clip_grad_norm_ parameters_to_vector
    """,
    "io": """
        save load
    """,
}  # fmt: skip


def documented() -> Iterator[tuple[str, str]]:
    """Public names, and methods of public classes, that have a docstring."""
    seen: set[int] = set()
    for space, owner in SPACES.items():
        for name in dir(owner):
            found = inspect.getattr_static(owner, name, None)
            if found is None:
                found = getattr(owner, name, None)
            if inspect.ismodule(found) or (name.startswith("_") and space != "Tensor"):
                continue
            yield from _own(f"{space}.{name}", found, seen)


def _own(name: str, found: Any, seen: set[int]) -> Iterator[tuple[str, str]]:
    if id(found) in seen:
        return
    seen.add(id(found))
    if isinstance(getattr(found, "__doc__", None), str):
        yield name, found.__doc__
    if inspect.isclass(found) and found.__module__.startswith("dovetail"):
        for method, value in vars(found).items():
            if not method.startswith("_") and not inspect.isclass(value):
                yield from _own(f"{name}.{method}", value, seen)


def example(name: str, doc: str) -> doctest.DocTest:
    """The examples of a docstring, in which the usual names are there."""
    names = {
        "torch": dovetail, "nn": nn, "F": functional, "optim": optim,
        "lr_scheduler": lr_scheduler,
    }  # fmt: skip
    return doctest.DocTestParser().get_doctest(doc, names, name, None, 0)


EXAMPLES = {
    name: test for name, doc in documented() if (test := example(name, doc)).examples
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_prints_what_it_says(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A docstring's examples run from top to bottom, with the results they show."""
    monkeypatch.chdir(tmp_path)
    report: list[str] = []
    with dovetail.random.fork_rng():
        doctest.DocTestRunner(verbose=False).run(EXAMPLES[name], out=report.append)
    assert not report, "".join(report)


@pytest.mark.parametrize("space", SHOWN)
def test_what_people_use_most_has_an_example(space: str) -> None:
    """What most programs use shows how it is used."""
    docs = {
        n: inspect.getdoc(getattr(SPACES[space], n)) or "" for n in SHOWN[space].split()
    }
    assert [name for name, doc in docs.items() if ">>>" not in doc] == []
