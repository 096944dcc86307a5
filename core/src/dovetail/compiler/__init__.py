"""Programs as data: recording the ops that a function calls.

Compilation is built on this; what is here is the record and its replay.
"""

from dovetail.compiler.record import Call, Recording, record

__all__ = ["Call", "Recording", "record"]
