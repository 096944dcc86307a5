"""Where the time of training steps goes on a device, asked in a worker of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from dovetail.conformance.runner import protocol
from dovetail.conformance.runner.lane import Lane
from dovetail.conformance.runner.process import Died, KitFailed, Settings
from dovetail.errors import DeviceError

_MODULE: Final = "dovetail.conformance.runner.measuring"


def measured(settings: Settings) -> dict[str, dict[str, float]] | None:
    """By model and op, the part of a step; None where the device dies of it."""
    lane = Lane(replace(settings, setup=(*settings.setup, _MODULE)), "quick")
    try:
        lane.open()
        found: dict[str, dict[str, float]] = lane.ask(protocol.MEASURE)
        return found
    except (Died, KitFailed, DeviceError):
        return None
    finally:
        lane.close()
