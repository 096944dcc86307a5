"""The device type `fake`: an example of a backend that supplies level 0 and no more.

The entry point in pyproject.toml names this module; what is marked `hookimpl` in it is
all that dovetail calls.
"""

from __future__ import annotations

from dovetail.device_api import hookimpl
from dovetail_fake.backend import FakeBackend


@hookimpl
def dovetail_backend() -> type[FakeBackend]:
    """The backend behind the device type."""
    return FakeBackend
