"""Adam for gradients that are sparse."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, NotSupported

from .expression import ExpressionOptimizer, Group, Kept, Numbers, State
from .optimizer import Params
from .options import check_betas, check_lr, number


class SparseAdam(ExpressionOptimizer):
    """Adam (Kingma & Ba 2015) of which a step changes the rows of a gradient alone.

    The means of a row that has no gradient stay as they are, and so does the row.

    Args:
        params: parameters or groups of them, whose gradients are sparse.
        lr: learning rate.
        betas: decay rates of the means of gradients and of their squares.
        eps: added to the root of the second mean.
        maximize: whether to go up the gradient.

    Examples:
        >>> import dovetail as torch
        >>> table = torch.nn.Embedding(3, 1, sparse=True, _weight=torch.zeros(3, 1))
        >>> optimizer = torch.optim.SparseAdam(table.parameters(), lr=0.1)
        >>> table(torch.tensor([2])).sum().backward()
        >>> optimizer.step()
        >>> table.weight.detach()
        tensor([[ 0.0000],
                [ 0.0000],
                [-0.1000]])
    """

    accumulates: ClassVar[Mapping[str, float]] = {}

    def __init__(
        self,
        params: Params,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        check_lr("SparseAdam", lr)
        check_betas("SparseAdam", betas, None)
        for name, value in (("lr", lr), ("eps", eps)):
            if not number(value) > 0:
                raise ArgumentError("SparseAdam", name, was=value, needed="above 0")
        defaults = {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize}
        super().__init__(params, defaults)

    def _check_param(self, op: str, param: Any) -> None:
        super()._check_param(op, param)
        if param._in_parts or param.is_complex():
            raise ArgumentError(
                "SparseAdam", "params", was="complex" if param.is_complex() else
                "sparse", needed="strided tensors of real numbers: SparseAdam requires "
                "dense parameter tensors",
            )  # fmt: skip

    def _kept(self, param: Tensor, group: Group) -> dict[str, Kept]:
        return {"exp_avg": Kept(), "exp_avg_sq": Kept()}

    def _first_counts(self, group: Group) -> Mapping[str, float]:
        return {"step": 0}  # an int, also in files

    def _numbers(self, options: Numbers, state: State) -> dict[str, Any]:
        raise NotSupported(
            "SparseAdam.step", "grad", was="strided", needed="a sparse tensor: "
            "SparseAdam does not support dense gradients",
            remedy="please consider Adam instead",
        )  # fmt: skip

    def _step_by_rows(
        self, param: Tensor, grad: Tensor, state: State, options: Group
    ) -> None:
        from .sparse_gradients import adam_step  # few programs have them

        adam_step(param, grad, state, options)
