"""The distributions of the workspace fit together."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = (
    "core",
    "backends/cpu",
    "backends/cupy",
    "backends/cuda",
    "backends/rocm",
    "backends/xpu",
    "tests/fake",
    "tests/strict",
)
BACKENDS = {
    "backends/cpu": ("cpu", "dovetail_cpu"),
    "backends/cuda": ("cuda", "dovetail_cuda"),
    "backends/rocm": ("rocm", "dovetail_rocm"),
    "backends/xpu": ("xpu", "dovetail_xpu"),
    "tests/fake": ("fake", "dovetail_fake"),
    "tests/strict": ("strict", "dovetail_strict"),
}


def project(folder: str) -> dict[str, Any]:
    """The `project` table of a distribution."""
    text = (ROOT / folder / "pyproject.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)["project"]


def requirements(folder: str) -> list[str]:
    """Everything a distribution asks for, with or without extras."""
    table = project(folder)
    extras = table.get("optional-dependencies", {}).values()
    return table["dependencies"] + [r for extra in extras for r in extra]


@pytest.mark.parametrize("folder", FOLDERS)
def test_versions_are_one(folder: str) -> None:
    """All distributions carry the version of core."""
    assert project(folder)["version"] == project("core")["version"]


def test_version_is_dovetails_own() -> None:
    """`dovetail.__version__` is the version of the distribution."""
    import dovetail

    assert dovetail.__version__ == project("core")["version"]


@pytest.mark.parametrize("folder", BACKENDS)
def test_backends_need_exactly_this_core(folder: str) -> None:
    """A backend of this repository is released with core, and pins it."""
    assert f"dovetail=={project('core')['version']}" in project(folder)["dependencies"]


@pytest.mark.parametrize("folder", BACKENDS)
def test_backends_announce_their_device(folder: str) -> None:
    """The entry point's name is the device type, its value the package."""
    device, package = BACKENDS[folder]
    announced = project(folder)["entry-points"]["dovetail.backends.v1"]
    assert announced == {device: package}
    assert (ROOT / folder / "src" / package / "__init__.py").exists()


def test_torch_is_an_extra_only() -> None:
    """torch is asked for by the extra `parity` of core and nowhere else.

    Beside it is what is written for torch, and is run with dovetail instead.
    """
    asked = [(f, r) for f in FOLDERS for r in requirements(f) if "torch" in r]
    assert asked == [("core", "torch==2.13.0")]
    extra = project("core")["optional-dependencies"]["parity"]
    assert [r.partition("==")[0] for r in extra] == ["torch", "transformers"]


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_distribution_carries_the_license(folder: str) -> None:
    """Each wheel is built with the same text of the Apache license."""
    ours = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert (ROOT / folder / "LICENSE").read_text(encoding="utf-8") == ours
    assert project(folder)["license"] == "Apache-2.0"


@pytest.mark.parametrize(
    "package", ["core/src/dovetail", "backends/cpu/src/dovetail_cpu"]
)
def test_packages_are_typed(package: str) -> None:
    """Type checkers of users see our annotations."""
    assert (ROOT / package / "py.typed").exists()
