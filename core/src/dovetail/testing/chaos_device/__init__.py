"""The device `chaos:<device>`: wraps any backend and uses every right that it has.

It computes what the wrapped device computes, bit for bit, for programs and backends
that keep to the rules, and is unkind to others: fresh memory is poisoned, memory lies
between guards, work is put off and reordered; it runs out of memory and disappears at
seeded points. `chaos:acme:1` has the type `chaos:acme` and the index 1.
"""

from dovetail.testing.chaos_device.backend import ChaosBackend, wrap
from dovetail.testing.chaos_device.controls import chaos

__all__ = ["ChaosBackend", "chaos", "wrap"]
