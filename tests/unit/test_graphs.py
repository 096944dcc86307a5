"""Graphs: a step that is recorded does each time what the step does."""

import contextvars
import copy
from collections.abc import Callable

import pytest

import dovetail as dt
from dovetail import nn
from dovetail.accelerator import Graph
from dovetail.device_modules import DeviceModule
from dovetail.errors import CaptureError
from dovetail.tensor_api import graphs

DEVICE = "chaos:cpu"
STEPS = 5


def step(
    model: nn.Module, optimizer: dt.optim.Optimizer, x: dt.Tensor, y: dt.Tensor
) -> dt.Tensor:
    """One training step; the loss before it."""
    optimizer.zero_grad(set_to_none=True)
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss


def test_a_training_step_is_replayed_bit_for_bit() -> None:
    """On new inputs, beside an eager one; other tensors come and go meanwhile."""
    dt.manual_seed(0)
    ours = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    eager = copy.deepcopy(ours)
    ours.to(DEVICE)
    sgd = dt.optim.SGD(ours.parameters(), lr=0.1, momentum=0.9)
    beside = dt.optim.SGD(eager.parameters(), lr=0.1, momentum=0.9)
    xs, ys = dt.randn(STEPS, 5, 4), dt.randint(0, 3, (STEPS, 5))
    x, y = xs[0].to(DEVICE), ys[0].to(DEVICE)
    step(ours, sgd, x, y)
    step(eager, beside, xs[0], ys[0])
    dt.synchronize(DEVICE)
    graph = Graph()
    with dt.Stream(DEVICE), graph:
        loss = step(ours, sgd, x, y)
    for i in range(1, STEPS):
        x.copy_(xs[i])
        y.copy_(ys[i])
        graph.replay()
        dt.ones(50, device=DEVICE)
        dt.synchronize(DEVICE)
        assert loss.item() == step(eager, beside, xs[i], ys[i]).item()
    for ours_, eager_ in zip(ours.parameters(), eager.parameters(), strict=True):
        assert dt.equal(ours_.cpu(), eager_)


def test_writes_in_place_are_each_launchs_own() -> None:
    """Views, masks, casts and `out=` write the same memory again."""
    a, b = dt.zeros(3, device=DEVICE), dt.zeros(3, dtype=dt.int64, device=DEVICE)
    dt.synchronize(DEVICE)
    graph = Graph()
    with dt.Stream(DEVICE), graph:
        a.add_(1)
        a[1:].mul_(2)
        b += 1
        b.masked_fill_(b > 2, 7)
        out = dt.empty(3, device=DEVICE)
        dt.add(a, a, out=out)
    found = []
    for _ in range(3):
        graph.replay()
        dt.synchronize(DEVICE)
        found.append((a.tolist(), b.tolist(), out.tolist()))
    assert found == [
        ([1, 2, 2], [1] * 3, [2, 4, 4]),
        ([2, 6, 6], [2] * 3, [4, 12, 12]),
        ([3, 14, 14], [7] * 3, [6, 28, 28]),
    ]


def test_gradients_accumulate_at_each_launch() -> None:
    """What `.grad` held before is added to, in its own memory."""
    w = dt.ones(3, device=DEVICE, requires_grad=True)
    (w * 2).sum().backward()
    grad = w.grad
    dt.synchronize(DEVICE)
    graph = Graph()
    with dt.Stream(DEVICE), graph:
        (w * 2).sum().backward()
    for _ in range(3):
        graph.replay()
    dt.synchronize(DEVICE)
    assert w.grad is grad
    assert grad is not None
    assert grad.tolist() == [8.0] * 3


@pytest.mark.parametrize(
    ("what", "match"),
    [
        (lambda x: x.sum().item(), "copy_out"),
        (lambda x: dt.ones(3).to(DEVICE), "copy_in"),
        (lambda x: dt.nonzero(x), "nonzero"),
        (lambda x: dt.synchronize(DEVICE), "synchronize"),
        (lambda x: dt.current_stream(DEVICE).synchronize(), "synchronize"),
        (lambda x: dt.current_stream(DEVICE).record_event(), "record_event"),
        (lambda x: dt.Generator(DEVICE).manual_seed(1), "seed"),
        (lambda x: dt.Generator(DEVICE).get_state(), "get_state"),
        (lambda x: dt.vmap(lambda r: dt.rand_like(r), randomness="same")(x), "draw"),
        (lambda x: Graph().capture_begin(), "another one"),
        (
            lambda x: dt.optim.Adam([x.detach().requires_grad_()]).step(),
            "counts step on the host",
        ),
    ],
)
def test_what_a_graph_cannot_repeat_is_refused(
    what: Callable[[dt.Tensor], object], match: str
) -> None:
    """The error names it, the graph is empty, and the device goes on."""
    x = dt.ones(3, device=DEVICE)
    dt.synchronize(DEVICE)
    graph = Graph()
    with pytest.raises(CaptureError, match=match), dt.Stream(DEVICE), graph:
        what(x)
    with pytest.raises(CaptureError, match="empty"):
        graph.replay()
    assert not graphs.is_current_stream_capturing()
    dt.synchronize(DEVICE)
    assert (x + 1).tolist() == [2.0] * 3


DRAWS: dict[str, Callable[[dt.Tensor], dt.Tensor]] = {
    "rand": lambda x: dt.rand(5, device=x.device) * x.sum(),
    "randn": lambda x: dt.randn_like(x) + x,
    "complex": lambda x: dt.randn(3, dtype=dt.complex64, device=x.device),
    "randint": lambda x: dt.randint(0, 7, (9,), device=x.device),
    "randperm": lambda x: dt.randperm(6, device=x.device),
    "in place": lambda x: dt.empty_like(x).exponential_(2.0).mul_(x),
    "dropout": lambda x: nn.functional.dropout(x, 0.4),
    "channels": lambda x: nn.functional.dropout1d(x, 0.4),
    "noise of SELU": lambda x: nn.functional.alpha_dropout(x, 0.4, True),
    "several": lambda x: nn.functional.dropout(x + dt.rand_like(x), 0.3)[:, 1:],
}


@pytest.mark.parametrize("name", DRAWS)
def test_each_replay_draws_what_a_call_would(name: str) -> None:
    """From the same generator, as far as a call; recording draws nothing."""
    draw = DRAWS[name]
    dt.manual_seed(3)
    x = dt.randn(4, 6)
    theirs = x.to(DEVICE)
    dt.synchronize(DEVICE)
    graph = Graph()
    with dt.Stream(DEVICE), graph:
        y = draw(theirs)
    for seed in (5, 5, 6):
        dt.manual_seed(seed)
        for _ in range(3):
            graph.replay()
            dt.synchronize(DEVICE)
            found = y.cpu()
            dt.testing.assert_close(found, draw(x), rtol=1e-6, atol=1e-6)


def test_a_graph_draws_from_the_generator_that_it_was_given() -> None:
    """Wherever that stands; the device's own stays where it is."""
    one, same = (dt.Generator(DEVICE).manual_seed(9) for _ in range(2))
    own = dt.Generator(DEVICE)
    dt.synchronize(DEVICE)
    graph = Graph()
    with dt.Stream(DEVICE), graph:
        y = dt.rand(4, device=DEVICE, generator=one)
    assert one.offset == 0
    for _ in range(2):
        graph.replay()
        dt.synchronize(DEVICE)
        assert y.tolist() == dt.rand(4, device=DEVICE, generator=same).tolist()
    assert (one.offset, own.offset) == (8, 0)


def test_what_is_drawn_is_alone_in_its_memory() -> None:
    """What a graph does before it draws, and what it does to that, does not stay."""
    x = dt.ones(64, device=DEVICE)
    dt.synchronize(DEVICE)
    graph = Graph()
    with dt.Stream(DEVICE), graph:
        for _ in range(3):
            (x * 3 + 1).sum()
        drawn = dt.rand(64, device=DEVICE)
        twice = drawn * 2
        drawn.zero_()
    for _ in range(3):
        graph.replay()
        dt.synchronize(DEVICE)
        assert twice.count_nonzero().item() > 60
        assert drawn.count_nonzero().item() == 0


def test_only_streams_of_devices_that_record_do() -> None:
    """Neither the default stream nor a device without the capability."""
    contextvars.Context().run(_record_where_nothing_does)  # no stream is chosen there


def _record_where_nothing_does() -> None:
    with pytest.raises(CaptureError, match="default one"), dt.device(DEVICE), Graph():
        pass
    with pytest.raises(NotImplementedError, match="graphs"), Graph():
        pass
    with pytest.raises(CaptureError, match="not being recorded"):
        Graph().capture_end()
    with pytest.raises(TypeError, match="cuda_graph"):
        graphs.graph(3)  # type: ignore[arg-type]


def test_other_work_and_other_threads_are_not_recorded() -> None:
    """The CPU computes and draws as ever while a device records."""
    x = dt.ones(3, device=DEVICE)
    dt.synchronize(DEVICE)
    graph = Graph()
    with dt.Stream(DEVICE), graph:
        assert graphs.is_current_stream_capturing()
        y = x + 1
        assert dt.rand(3).sum().item() > 0
    graph.replay()
    dt.synchronize(DEVICE)
    assert y.tolist() == [2.0] * 3


def test_a_graph_lets_its_memory_go() -> None:
    """When it is reset or dropped, memory is back at what it was."""
    x = dt.ones(1000, device=DEVICE)
    dt.synchronize(DEVICE)
    before = dt.accelerator.memory_allocated(DEVICE)
    for end in (Graph.reset, lambda graph: None):
        graph = Graph()
        with dt.Stream(DEVICE), graph:
            y = (x + 1) * 2
        graph.replay()
        dt.synchronize(DEVICE)
        del y
        assert dt.accelerator.memory_allocated(DEVICE) > before
        end(graph)
        del graph
        dt.synchronize(DEVICE)
        assert dt.accelerator.memory_allocated(DEVICE) == before


def test_torchs_block_makes_its_own_stream() -> None:
    """`cuda.graph(g)` records on a stream that nobody else has, or on a given one."""

    class OfDevice(Graph):
        """A graph of the device, as `cuda.CUDAGraph` is of CUDA's."""

        def _device(self) -> str:
            return DEVICE

    x = dt.zeros(3, device=DEVICE)
    for stream in (None, dt.Stream(DEVICE)):
        made = OfDevice()
        with graphs.graph(made, stream=stream):
            x.add_(1)
        made.replay()
        dt.synchronize(DEVICE)
    assert x.tolist() == [2.0] * 3
    assert made.pool() != graphs.graph_pool_handle()
    assert issubclass(dt.cuda.CUDAGraph, Graph)


class Chaotic(DeviceModule):
    """A room about the device, with graphs as `torch.cuda` has them."""

    def __init__(self) -> None:
        super().__init__("dovetail.cuda", DEVICE)


def test_a_graphed_module_trains_as_the_module() -> None:
    """Losses, gradients of inputs and parameters, and eval mode are eager's."""
    dt.manual_seed(1)
    room = Chaotic()
    eager = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2))
    ours = copy.deepcopy(eager).to(DEVICE)
    sample = dt.randn(3, 4).to(DEVICE).requires_grad_()
    dt.synchronize(DEVICE)
    graphed = room.make_graphed_callables(ours, (sample,))
    assert graphed is ours
    for _ in range(3):
        x = dt.randn(3, 4)
        here, there = x.requires_grad_(), x.detach().to(DEVICE).requires_grad_()
        for model, given in ((eager, here), (ours, there)):
            model.zero_grad()
            model(given).square().sum().backward()
            dt.synchronize(DEVICE)
        assert there.grad is not None
        dt.testing.assert_close(there.grad.cpu(), here.grad, rtol=0, atol=0)
        for p, q in zip(eager.parameters(), ours.parameters(), strict=True):
            assert p.grad is not None
            assert q.grad is not None
            dt.testing.assert_close(q.grad.cpu(), p.grad, rtol=0, atol=0)
    ours.eval()
    assert ours(dt.ones(1, 4, device=DEVICE)).shape == (1, 2)  # which is no graph


def test_a_graphed_module_drops_out_as_the_module() -> None:
    """Another mask each time, and backward has that of its forward."""
    room = Chaotic()
    eager = nn.Sequential(nn.Linear(4, 16), nn.Dropout(0.5), nn.Linear(16, 2))
    ours = copy.deepcopy(eager).to(DEVICE)
    sample = dt.randn(3, 4).to(DEVICE).requires_grad_()
    dt.synchronize(DEVICE)
    room.make_graphed_callables(ours, (sample,))
    dt.manual_seed(2)
    seen = set()
    for _ in range(4):
        x = dt.randn(3, 4, generator=dt.Generator().manual_seed(0))
        here, there = x.requires_grad_(), x.detach().to(DEVICE).requires_grad_()
        for model, given in ((eager, here), (ours, there)):
            model(given).square().sum().backward()
            dt.synchronize(DEVICE)
        assert there.grad is not None
        dt.testing.assert_close(there.grad.cpu(), here.grad)
        seen.add(tuple(there.grad.cpu().flatten().tolist()))
    assert len(seen) == 4


def test_graphed_functions_are_recorded_in_order() -> None:
    """Each has its graphs; what cannot be recorded is refused by name."""
    room = Chaotic()
    x = dt.ones(3, device=DEVICE, requires_grad=True)
    dt.synchronize(DEVICE)
    twice, both = room.make_graphed_callables(
        (lambda v: v * 2, lambda v: (v + 1, v * v)), ((x,), (x,))
    )
    y = dt.full((3,), 3.0, device=DEVICE, requires_grad=True)
    dt.synchronize(DEVICE)
    a, b = both(twice(y))
    (a + b).sum().backward()
    dt.synchronize(DEVICE)
    assert (a.tolist(), b.tolist()) == ([7.0] * 3, [36.0] * 3)
    assert y.grad is not None
    assert y.grad.tolist() == [2 * (1 + 12.0)] * 3
    with pytest.raises(TypeError, match="sample_args"):
        room.make_graphed_callables(lambda v: v, (3,))
    with pytest.raises(ValueError, match="2 tensors"):
        twice(x, x)
    hooked = nn.Linear(3, 3).to(DEVICE)
    hooked.register_forward_hook(lambda *_: None)
    with pytest.raises(ValueError, match="hooks"):
        room.make_graphed_callables(hooked, (x,))
