"""Parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable

from dovetail import frontend as ft
from dovetail.engine.autograd import tensors_of
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentTypeError, ShapeError


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All elements of all parameters in one vector; a copy, recorded by autograd.

    Examples:
        >>> nn.utils.parameters_to_vector(nn.Linear(2, 3).parameters()).shape
        dovetail.Size([9])
    """
    listed = tensors_of("parameters_to_vector", "parameters", parameters)
    vector: Tensor = ft.cat([param.reshape(-1) for param in listed])
    return vector


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Give the parameters the elements of `vec`, whose storage they then share.

    Raises: ShapeError if the vector has fewer elements than the parameters.
    """
    if not isinstance(vec, Tensor):
        raise ArgumentTypeError(
            "vector_to_parameters", "vec", was=type(vec).__name__, needed="a Tensor"
        )
    listed = tensors_of("vector_to_parameters", "parameters", parameters)
    count = sum(param.numel() for param in listed)
    if vec.numel() < count:
        raise ShapeError(
            "vector_to_parameters", "vec", was=f"{vec.numel()} elements",
            needed=f"{count}",
        )  # fmt: skip
    start = 0
    for param in listed:
        end = start + param.numel()
        param.data = vec[start:end].view_as(param).data
        start = end
