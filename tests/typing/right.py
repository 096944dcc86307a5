"""A program that type checkers accept: functions, methods, layers, an optimizer."""

from typing import assert_type

import dovetail as torch
from dovetail import Tensor, nn, optim
from dovetail.nn import functional as F


class Net(nn.Module):
    """Two layers with what is between them."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden = nn.Linear(4, 8)
        self.output = nn.Linear(8, 3)

    def forward(self, x: Tensor) -> Tensor:
        hidden = F.dropout(F.gelu(self.hidden(x), approximate="tanh"), p=0.1)
        return self.output(hidden)


def functions() -> None:
    """Functions of the package, with torch's names."""
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=torch.float32)
    assert_type(torch.relu(x), Tensor)
    assert_type(torch.cat([x, x], dim=1), Tensor)
    assert_type(torch.sum(x, dim=(0, 1), keepdim=True), Tensor)
    assert_type(torch.maximum(input=x, other=x, out=x), Tensor)
    assert_type(torch.matmul(x, x), Tensor)
    torch.save({"x": x}, "x.pt")
    torch.manual_seed(1)


def methods(x: Tensor) -> None:
    """Methods, properties and operators of tensors."""
    assert_type(x.sum(0), Tensor)
    assert_type(x.reshape(2, -1).transpose(0, 1), Tensor)
    assert_type(x.mul_(2.0).add_(x), Tensor)
    assert_type(x.T, Tensor)
    assert_type(x[0, :, None], Tensor)
    assert_type(2 - x * 3 + 1j, Tensor)
    assert_type(x == 1, Tensor)
    assert_type(x.grad, Tensor | None)
    assert_type(float(x), float)
    assert_type(len(x), int)
    assert_type([row for row in x], list[Tensor])  # noqa: C416
    assert_type(x.to("cpu", torch.float64), Tensor)


def forms(x: Tensor) -> None:
    """What a result is depends on what is asked for."""
    assert_type(x.size(), torch.Size)
    assert_type(x.size(0), int)
    assert_type(x.stride(), tuple[int, ...])
    assert_type(x.max(), Tensor)
    assert_type(x.max(0).values, Tensor)
    assert_type(x.min(dim=1, keepdim=True).indices, Tensor)
    assert_type(torch.max(x, x), Tensor)
    assert_type(x.median(0)[1], Tensor)
    assert_type(x.sort(descending=True).indices, Tensor)
    assert_type(x.topk(2).values, Tensor)
    assert_type(x.aminmax().max, Tensor)
    assert_type(torch.where(x > 0, x, 0.0), Tensor)
    assert_type(torch.where(x > 0), tuple[Tensor, ...])
    assert_type(x.nonzero(), Tensor)
    assert_type(x.nonzero(as_tuple=True), tuple[Tensor, ...])
    assert_type(x.unique(), Tensor)
    assert_type(x.type(torch.float64), Tensor)
    assert_type(x.type(), str)
    assert_type(torch.atleast_2d(x), Tensor)
    assert_type(F.max_pool2d(x, 2), Tensor)
    assert_type(F.max_pool2d(x, 2, return_indices=True), tuple[Tensor, Tensor])
    assert_type(x // 2 % 3, Tensor)


def train() -> None:
    """A step of training."""
    net = Net()
    optimizer = optim.AdamW(net.parameters(), lr=1e-3, weight_decay=0.1)
    loss = F.cross_entropy(net(torch.rand(5, 4)), torch.randint(0, 3, (5,)))
    assert_type(loss, Tensor)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
