"""Signals, under torch.signal's names."""

from dovetail.signal import windows as windows

__all__ = ["windows"]
