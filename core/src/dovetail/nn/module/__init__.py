"""`Module`, by what it does: each class adds to the one before.

`attributes` holds the tables of parameters, buffers, children and hooks, and finds and
registers what is in them. `tree` walks what is below a module, and moves or casts it.
`state` saves and loads it. `module` calls it, with the hooks around a call (those of
the backward pass are `backward_hooks`), and shows it. `optimized` is what
`dovetail.compile` makes of one.
"""

from .compilation import OptimizedModule
from .module import Module

__all__ = ["Module", "OptimizedModule"]
