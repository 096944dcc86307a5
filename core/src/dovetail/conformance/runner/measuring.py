"""What a worker imports that is asked where the time of training steps goes."""

from __future__ import annotations

from dovetail.conformance.bodies import measure
from dovetail.conformance.runner import protocol

protocol.EXTRA[protocol.MEASURE] = measure
