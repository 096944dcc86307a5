"""pytest's options for `pytest --pyargs dovetail.conformance`, and nothing else.

pytest imports this wherever dovetail is installed: it imports nothing of dovetail, so
that no state of dovetail or of its plug-ins can disturb anybody's tests.
"""

from __future__ import annotations

import pytest

SUITE = "dovetail.conformance"
FILES = ("json", "html", "certificate")
USAGE = f'name the device: pytest --pyargs {SUITE} --dovetail-device="acme:0"'


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the conformance suite."""
    group = parser.getgroup("dovetail", "dovetail's conformance suite")
    group.addoption(
        "--dovetail-device", action="append", default=[], metavar="DEVICE",
        help=f"Device that `--pyargs {SUITE}` proves; may be given several times.",
    )  # fmt: skip
    texts = {
        "budget": ("quick", "How much is tried: quick, standard or deep."),
        "ops": ("*", "Only ops that fit these globs, separated by commas."),
        "laws": ("*", "Only laws that fit these globs."),
        "json": (None, "Write the report as JSON."),
        "html": (None, "Write the report as one HTML file."),
        "certificate": (None, "Write what others can replay."),
        "waivers": (None, "Known failures [that of the backend's package]."),
    }
    for name, (default, text) in texts.items():
        group.addoption(
            f"--dovetail-{name}", default=default, metavar=name.upper(), help=text
        )
    group.addoption(
        "--dovetail-seed", type=int, default=0, metavar="NUMBER",
        help="Draw other examples than the run of seed 0 does.",
    )  # fmt: skip
    group.addoption(
        "--dovetail-patience", type=float, default=60.0, metavar="SECONDS",
        help="Without a sign of life for so long, a device hangs.",
    )  # fmt: skip
    group.addoption(
        "--dovetail-setup", action="append", default=[], metavar="MODULE",
        help="Module that the device's process imports first.",
    )  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    """Refuse a call that asks for the suite and names no device."""
    asked = any(_is_suite(argument) for argument in config.args)
    if asked and not config.getoption("--dovetail-device"):
        raise pytest.UsageError(USAGE)
    files = [n for n in FILES if config.getoption(f"--dovetail-{n}")]
    if files and config.getoption("numprocesses", None):
        raise pytest.UsageError(
            f"--dovetail-{files[0]} needs all checks in one process: leave out -n"
        )


def _is_suite(argument: str) -> bool:
    module = argument.partition("::")[0]
    return module == SUITE or module.startswith(f"{SUITE}.")
