"""Tools for parameters and their gradients."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from dovetail.engine.missing_names import missing_name as _missing_name

from . import rnn
from .clip_grad import (
    clip_grad_norm_,
    clip_grad_value_,
    clip_grads_with_norm_,
    get_total_norm,
)
from .convert_parameters import parameters_to_vector, vector_to_parameters

__all__ = [
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "get_total_norm",
    "parameters_to_vector",
    "rnn",
    "vector_to_parameters",
]

if not _TYPE_CHECKING:
    __getattr__ = _missing_name(__name__)
