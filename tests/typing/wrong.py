"""A program in which type checkers find a mistake in each marked line."""

import dovetail as torch
from dovetail import Tensor, nn, optim
from dovetail.nn import functional as F


def mistakes(x: Tensor) -> None:
    """Names that do not exist, arguments that are not taken, types that do not fit."""
    torch.rellu(x)  # wrong
    torch.relu(x, 1, 2, 3)  # wrong
    torch.sum(x, dims=0)  # wrong
    torch.cat(x, axes=1)  # wrong
    torch.zeros(2, dtype="float32")  # wrong
    x.summ()  # wrong
    x.sum(dim="last")  # wrong
    x.softmax(dims=1)  # wrong
    x.shape = (1, 2)  # wrong
    x.max().values.sum()  # wrong
    x.size(0).numel()  # wrong
    torch.where(x > 0, x)  # wrong
    F.rellu(x)  # wrong
    F.gelu(x, approximation="tanh")  # wrong
    nn.Linear(2, 3, biases=False)  # wrong
    optim.AdamW([x], learning_rate=0.1)  # wrong
    torch.nn.Lineer(2, 3)  # wrong
