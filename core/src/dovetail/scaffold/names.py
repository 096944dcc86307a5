"""What a new backend is called: one device type, from which all names follow."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from dovetail.device_api.discovery import GROUP, RESERVED
from dovetail.errors import ArgumentError

# A device type that makes a good name for a distribution and a module, too.
_PATTERN: Final = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_LONGEST: Final = 32
# Names whose package, or whose device string, means something else.
_TAKEN: Final = RESERVED | {"auto", "pytest"}


@dataclass(frozen=True, slots=True)
class Names:
    """The names of a backend.

    Attributes:
        device: the device type, which is also the entry point's name.
        distribution: what pip installs.
        package: what Python imports.
        backend: the class.
        group: the entry-point group that the package announces itself in.
    """

    device: str
    distribution: str
    package: str
    backend: str
    group: str = GROUP


def names_of(device: str) -> Names:
    """The names that follow from a device type.

    Raises:
        ArgumentError: it cannot be one, or is taken.
    """
    if not _PATTERN.fullmatch(device) or len(device) > _LONGEST:
        raise ArgumentError(
            "new-backend", "name", was=repr(device),
            needed=f"at most {_LONGEST} lower-case letters and digits, a letter first, "
            "with single underscores between words",
            remedy="it is the device type that users write, for example acme",
        )  # fmt: skip
    if device in _TAKEN:
        raise ArgumentError(
            "new-backend", "name", was=f"{device!r}, which dovetail reserves",
            needed=f"none of {', '.join(sorted(_TAKEN))}",
            remedy="choose another device type, or add kernels to that device "
            "with a plug-in in dovetail.kernels.v1",
        )  # fmt: skip
    words = device.split("_")
    return Names(
        device=device,
        distribution=f"dovetail-{'-'.join(words)}",
        package=f"dovetail_{device}",
        backend="".join(word.capitalize() for word in words) + "Backend",
    )
