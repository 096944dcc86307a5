"""Programs as data: what functions do, recorded, replayed and lowered.

`compile` is `dovetail.compile`: it follows a function from call to call, and
`explain(f)(*args)` tells what it makes of one. `record(function, *args)` keeps what a
function does and gives a `Recording`, which does it again with other values.
`op.lower(specs, attrs)` gives the graph of one op in primitives.
"""

from dovetail.compiler.asides import (
    allow_in_graph,
    assume_constant_result,
    cudagraph_mark_step_begin,
    is_dynamo_compiling,
    is_exporting,
)
from dovetail.compiler.backends import list_backends
from dovetail.compiler.compiled import (
    compile,
    disable,
    explain,
    reset,
)
from dovetail.compiler.program import Report
from dovetail.compiler.recorder import record
from dovetail.compiler.recording import Recording
from dovetail.compiler.stances import set_stance
from dovetail.compiler.states import is_compiling
from dovetail.engine.graph import Call, Graph, Number, Placed, Slot, Spec
from dovetail.engine.interpret import interpret
from dovetail.engine.lower import lower

__all__ = [
    "Call", "Graph", "Number", "Placed", "Recording", "Report", "Slot", "Spec",
    "allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin",
    "disable", "explain", "interpret", "is_compiling", "is_dynamo_compiling",
    "is_exporting", "list_backends", "lower", "record", "reset",
    "set_stance",
]  # fmt: skip
