"""torch.utils.data.distributed: a sampler's place among those of its processes."""

from dovetail.data.sampler import DistributedSampler

__all__ = ["DistributedSampler"]
