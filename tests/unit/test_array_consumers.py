"""SciPy, scikit-learn and einops on tensors."""

import json
import sys
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from tests.support import child
from tests.support.array_consumers import SCIPY, SKLEARN

import dovetail as dt


def _told(library: str) -> dict[str, str]:
    """What goes wrong, by function, in a process that dispatches."""
    program = (sys.executable, "-W", "ignore", "-m", "tests.support.array_consumers")
    done = child.run(*program, library, cwd=child.ROOT, SCIPY_ARRAY_API="1")
    told: dict[str, str] = json.loads(done.stdout)
    return told


@pytest.fixture(scope="module")
def scipy() -> dict[str, str]:
    """What goes wrong in SciPy."""
    pytest.importorskip("scipy", reason="SciPy is not installed")
    return _told("scipy")


@pytest.fixture(scope="module")
def sklearn() -> dict[str, str]:
    """What goes wrong in scikit-learn."""
    if find_spec("sklearn") is None:
        pytest.skip("scikit-learn is not installed")
    return _told("sklearn")


@pytest.mark.parametrize("name", SCIPY)
def test_scipy(name: str, scipy: dict[str, str]) -> None:
    """A function of SciPy gives a tensor of what it gives for the array."""
    assert scipy[name] == ""


@pytest.mark.parametrize("name", SKLEARN)
def test_sklearn(name: str, sklearn: dict[str, str]) -> None:
    """What scikit-learn learns of tensors is what it learns of arrays."""
    assert sklearn[name] == ""


@pytest.fixture(scope="module")
def einops() -> Any:
    """einops, which knows tensors."""
    pytest.importorskip("einops", reason="einops is not installed")
    import dovetail.utils.einops  # noqa: F401 (registers itself)

    return pytest.importorskip("einops")


@pytest.mark.parametrize(
    ("function", "pattern", "sizes"),
    [
        ("rearrange", "a (b c) d -> (a d) c b", {"b": 3}),
        ("reduce", "a b c -> a c", {"reduction": "mean"}),
        ("reduce", "a b c -> b", {"reduction": "prod"}),
        ("reduce", "a b c -> ()", {"reduction": "max"}),
        ("repeat", "a b c -> a (b 2) n c", {"n": 3}),
    ],
)
def test_einops(
    einops: Any, function: str, pattern: str, sizes: dict[str, Any]
) -> None:
    """Patterns do to tensors what they do to arrays."""
    values = np.arange(48.0).reshape(2, 6, 4) / 32
    expected = getattr(einops, function)(values, pattern, **sizes)
    found = getattr(einops, function)(dt.tensor(values), pattern, **sizes)
    assert isinstance(found, dt.Tensor)
    assert np.allclose(found.numpy(), expected)


def test_einops_keeps_gradients(einops: Any) -> None:
    """What einops makes of a tensor is on its tape."""
    x = dt.ones(2, 3, requires_grad=True)
    einops.einsum(einops.rearrange(x, "a b -> b a"), x, "b a, a b -> ").backward()
    assert x.grad.tolist() == [[2.0] * 3] * 2
