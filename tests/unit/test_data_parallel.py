"""DataParallel on several devices: results, gradients, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

import dovetail as torch
from dovetail import nn


class Net(nn.Module):
    """Results of several kinds, of tensors, containers and what is no tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 2)
        self.register_buffer("shift", torch.ones(2))
        self.seen: list[Any] = []

    def forward(self, x: Any, scale: float = 1.0, *, more: Any = None) -> Any:
        self.seen.append((str(x.device), len(x)))
        y = self.linear(x) * scale + self.shift
        return {"y": y if more is None else y + more, "mean": y.mean()}


@pytest.mark.filterwarnings("ignore:Was asked to gather along dimension 0")
@pytest.mark.parametrize("devices", [["fake:0", "fake:1"], ["cpu", "cpu", "cpu"]])
@pytest.mark.parametrize("batch", [7, 2])
def test_results_and_gradients_are_those_of_one_device(
    devices: list[str], batch: int
) -> None:
    torch.manual_seed(0)
    one = Net()
    many = Net()
    many.load_state_dict(one.state_dict())
    many.to(devices[0])
    x, more = torch.randn(batch, 3), torch.randn(batch, 2)
    wanted = one(x, 2.0, more=more)["y"]
    wanted.square().sum().backward()
    parallel = nn.DataParallel(many, device_ids=devices)
    found = parallel(x.to(devices[0]), 2.0, more=more.to(devices[0]))
    assert found["y"].device == torch.device(devices[0])
    found["y"].square().sum().backward()
    torch.testing.assert_close(found["y"].cpu(), wanted)
    for name, p in one.named_parameters():
        other = many.get_parameter(name)
        assert other.grad.device == torch.device(devices[0])
        torch.testing.assert_close(other.grad.cpu(), p.grad)
    assert found["mean"].shape == (min(batch, len(devices)),)
    used = {where for where, _ in many.seen}
    assert used == set(devices[:batch])


def test_a_module_on_the_cpu_is_called_as_it_is() -> None:
    net = Net()
    for parallel in (nn.DataParallel(net), nn.DataParallel(net, [0, 1])):
        assert parallel.device_ids == []
        assert parallel(torch.ones(4, 3))["y"].shape == (4, 2)
    assert net.seen == [("cpu", 4)] * 2


def test_none_is_all_devices_of_the_modules_type() -> None:
    parallel = nn.DataParallel(nn.Linear(3, 2).to("fake:0"))
    assert [str(d) for d in parallel.device_ids] == ["fake:0", "fake:1"]
    assert [str(d) for d in nn.DataParallel(parallel.module, [1]).device_ids] == [
        "fake:1"
    ]


def test_a_module_elsewhere_is_refused() -> None:
    parallel = nn.DataParallel(nn.Linear(3, 2).to("fake:1"), ["fake:0", "fake:1"])
    with pytest.raises(RuntimeError, match="buffers on fake:1, needed all of them on"):
        parallel(torch.ones(2, 3, device="fake:0"))


def test_parts_can_be_overridden() -> None:
    class Halved(nn.DataParallel):
        """Gives the first device one row."""

        def scatter(self, inputs: Any, kwargs: Any, device_ids: Any) -> Any:
            (x,) = inputs
            return ((x[:1],), (x[1:],)), ({}, {})

        def gather(self, outputs: Any, output_device: Any) -> Any:
            return [len(y) for y in outputs]

    assert Halved(nn.Linear(3, 2), ["cpu", "cpu"])(torch.ones(5, 3)) == [1, 4]


def test_as_a_function() -> None:
    net = nn.Linear(3, 2)
    x = torch.randn(5, 3)
    found = nn.parallel.data_parallel(net, x, ["cpu", "cpu"])
    torch.testing.assert_close(found, net(x))


def test_batches_may_be_along_another_dim_and_results_elsewhere() -> None:
    net = nn.Linear(3, 2).to("fake:0")
    shapes: list[tuple[int, ...]] = []
    net.register_forward_pre_hook(lambda m, args: shapes.append(tuple(args[0].shape)))
    parallel = nn.DataParallel(net, [0, 1], output_device=1, dim=1)
    x = torch.randn(4, 5, 3)
    found = parallel(x.to("fake:0"))
    assert sorted(shapes) == [(4, 2, 3), (4, 3, 3)]
    assert str(found.device) == "fake:1"
    torch.testing.assert_close(found.cpu(), net.cpu()(x))
