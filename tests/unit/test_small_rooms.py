"""Small rooms of torch's: futures, benchmark, dlpack, gradients of convolutions."""

import threading

import pytest

import dovetail as torch
from dovetail.futures import Future, collect_all, wait_all
from dovetail.nn import functional as F
from dovetail.nn import grad
from dovetail.utils import benchmark, dlpack


def test_futures_are_waited_for() -> None:
    """By threads, by what follows, and together; errors go on."""
    first: Future[int] = Future()
    after = first.then(lambda f: f.value() + 1)
    failing = first.then(lambda f: f.value() // 0)
    both = collect_all([first, after])
    with pytest.raises(RuntimeError, match="no result yet"):
        first.value()
    threading.Timer(0.01, first.set_result, [1]).start()
    assert after.wait() == 2
    assert wait_all(both.wait()) == [1, 2]
    with pytest.raises(ZeroDivisionError):
        failing.wait()
    with pytest.raises(RuntimeError, match="already"):
        first.set_result(2)


def test_statements_are_timed() -> None:
    """The setup is not; times are those of one execution."""
    timer = benchmark.Timer("x.append(1)", "x.clear()", globals={"x": (x := [])})
    found = timer.timeit(100)
    assert len(x) == 100
    assert found.median == found.mean == found.raw_times[0] / 100
    ranged = timer.blocked_autorange(min_run_time=0.01)
    assert sum(ranged.raw_times) >= 0.01
    assert ranged.iqr >= 0
    adaptive = timer.adaptive_autorange(0.5, min_run_time=0.005, max_run_time=0.05)
    assert sum(adaptive.raw_times) >= 0.005
    assert "x.append(1)" in str(benchmark.Compare([found, ranged]))


def test_capsules_share_memory() -> None:
    """What is written on one side is seen on the other."""
    x = torch.zeros(3)
    y = dlpack.from_dlpack(dlpack.to_dlpack(x))
    y[0] = 1
    assert x.tolist() == [1, 0, 0]


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_gradients_of_convolutions(dims: int) -> None:
    """They are those of autograd, and can be differentiated."""
    convolve = getattr(F, f"conv{dims}d")
    x = torch.randn(2, 4, *[5] * dims, requires_grad=True)
    w = torch.randn(6, 2, *[3] * dims, requires_grad=True)
    options = {"stride": 2, "padding": 1, "groups": 2}
    y = convolve(x, w, **options)
    ct = torch.randn(y.shape)
    y.backward(ct)
    of_input = getattr(grad, f"conv{dims}d_input")(x.shape, w, ct, **options)
    of_weight = getattr(grad, f"conv{dims}d_weight")(x, w.shape, ct, **options)
    torch.testing.assert_close(of_input, x.grad)
    torch.testing.assert_close(of_weight, w.grad)
    assert of_input.requires_grad
    of_input.sum().backward()


class Named(torch.nn.Parameter):
    """A parameter whose `__new__` takes more than a tensor."""

    def __new__(cls, data: torch.Tensor, label: str, **options: bool) -> "Named":
        """Make a parameter, which has a label."""
        made: Named = super().__new__(cls, data, **options)
        made.label = label  # type: ignore[attr-defined]
        return made


def test_parameters_of_other_arguments() -> None:
    """What a subclass takes is its own; the class itself refuses what it has not."""
    made = Named(torch.ones(2), label="a", requires_grad=False)
    assert made.label == "a"  # type: ignore[attr-defined]
    assert not made.requires_grad
    with pytest.raises(TypeError):
        torch.nn.Parameter(torch.ones(2), label="a")  # type: ignore[call-arg]


def test_einsum_takes_lists_of_operands_and_of_dims() -> None:
    """A list after an equation holds operands, one after an operand its dims."""
    x = torch.arange(4.0).reshape(2, 2)
    assert torch.einsum("ij,j->i", [x, x[0]]).tolist() == [1.0, 3.0]
    assert torch.einsum(x, [0, 0]).tolist() == torch.einsum("ii", x).tolist() == 3.0
    assert torch.einsum(x, [0, 1], x[0], [1], [0]).tolist() == [1.0, 3.0]
