"""Kernels written once for NumPy-like array libraries, which are passed in as `xp`."""
