"""Calls of modules with other parameters, where older programs look for them."""

from dovetail.func.stateless import functional_call

__all__ = ["functional_call"]
