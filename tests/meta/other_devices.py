"""`reference` and the `dense` devices, for workers that import it."""

from __future__ import annotations

from tests.support.dense import VARIANTS

from dovetail.conformance import reference
from dovetail.device_api import registry

reference.install()
for _variant in VARIANTS:
    registry.register(_variant())
