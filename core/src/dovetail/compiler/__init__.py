"""Programs as data: what functions do, recorded, replayed and lowered.

`record(function, *args)` keeps what a function does and gives a `Recording`, which does
it again with other values. `op.lower(specs, attrs)` gives the graph of one op in
primitives.
"""

from dovetail.compiler.recorder import record
from dovetail.compiler.recording import Recording
from dovetail.engine.graph import Call, Graph, Number, Placed, Slot, Spec
from dovetail.engine.interpret import interpret
from dovetail.engine.lower import lower

__all__ = [
    "Call", "Graph", "Number", "Placed", "Recording", "Slot", "Spec", "interpret",
    "lower", "record",
]  # fmt: skip
