"""Where PyTorch keeps `utils.data`; the classes live in `dovetail.data`."""

from dovetail import data

__all__ = ["data"]
