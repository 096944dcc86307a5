"""Batch norms that keep no statistics, so that functions may map over them."""

from __future__ import annotations

from dovetail.nn.batchnorm import BatchNorm1d, BatchNorm2d, BatchNorm3d
from dovetail.nn.module import Module

__all__ = ["replace_all_batch_norm_modules_"]


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """Let all batch norms below a module forget their running statistics.

    Returns: the module, which is changed.
    """
    for module in root.modules():
        if isinstance(module, BatchNorm1d | BatchNorm2d | BatchNorm3d):
            module.running_mean = module.running_var = None
            module.num_batches_tracked = None
            module.track_running_stats = False
    return root
