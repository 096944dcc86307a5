"""Functions of optimizers beside torch's: their signatures, and what they write."""

from __future__ import annotations

import inspect
import sys
from importlib import import_module
from typing import Any

import numpy as np
import pytest
import torch
from tests.unit.test_optimizer_functions import CASES, COMMON, COUNTS

import dovetail as dt


def _functions(name: str) -> tuple[Any, Any]:
    import_module(f"torch.optim.{name}")
    theirs = getattr(sys.modules[f"torch.optim.{name}"], name)
    return getattr(import_module(f"dovetail.optim.{name}"), name), theirs


@pytest.mark.parametrize("name", CASES)
def test_signatures(name: str) -> None:
    """Names, places, kinds and defaults of all arguments."""
    ours, theirs = map(inspect.signature, _functions(name))
    facts = [
        [(p.name, p.kind, p.default) for p in s.parameters.values()]
        for s in (ours, theirs)
    ]
    assert facts[0] == facts[1]


@pytest.mark.parametrize("way", [{}, {"foreach": True}, {"maximize": True}])
@pytest.mark.parametrize("name", CASES)
def test_steps(name: str, way: dict[str, Any]) -> None:
    """Four steps: parameters and all lists are torch's to float32's accuracy."""
    ours, theirs = _functions(name)
    signature = inspect.signature(theirs).parameters
    options = {n: v for n, v in COMMON.items() if n in signature}
    options |= {
        n: v for n, v in CASES[name][0].items()
        if n in signature and not isinstance(v, tuple)
    }  # fmt: skip
    options |= {n: v for n, v in CASES[name][1].items() if n in signature}
    options |= {"maximize": False} | way
    for n, p in signature.items():  # what is left has no default
        if p.kind is p.KEYWORD_ONLY and n not in options:
            options[n] = {"nesterov": False, "amsgrad": False}[n]
    drawn = np.random.default_rng(7)
    start = [drawn.normal(size=s).astype("f4") for s in ((3, 2), (5,))]
    steps = [[drawn.normal(size=x.shape).astype("f4") for x in start] for _ in range(4)]
    found = [_stepped(f, m, name, start, steps, options) for f, m in (
        (ours, dt), (theirs, torch)
    )]  # fmt: skip
    for key, expected in found[1].items():
        for a, b in zip(found[0][key], expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-6, err_msg=key)


def _stepped(
    function: Any, m: Any, name: str, start: Any, steps: Any, options: dict[str, Any]
) -> dict[str, Any]:
    """What parameters and lists hold after all steps."""
    _, _, kept, counts = CASES[name]
    params = [m.tensor(x) for x in start]
    lists: dict[str, list[Any]] = {n: [0 * p for p in params] for n in kept.split()}
    if name == "sgd":
        lists = {"momentum_buffer_list": [None for _ in params]}
    if name == "rprop":
        lists["step_sizes"] = [0 * p + 0.05 for p in params]
    if not options.get("amsgrad"):
        lists.pop("max_exp_avg_sqs", None)
    first = {"mu": 1.0, "mu_product": 1.0, "eta": 0.05}
    for n in counts.split():
        lists[COUNTS[n]] = [m.tensor(first.get(n, 0.0)) for _ in params]
    given = lists if name not in ("adam", "adamw") else {"max_exp_avg_sqs": [], **lists}
    for grads in steps:
        with m.no_grad():
            function(
                params, **{"d_p_list" if name == "sgd" else "grads": [
                    m.tensor(g) for g in grads
                ]}, **given, **options,
            )  # fmt: skip
    return {"params": [p.numpy() for p in params]} | {
        n: [x.numpy() for x in xs] for n, xs in lists.items()
    }
