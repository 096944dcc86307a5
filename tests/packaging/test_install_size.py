"""What `pip install` of core and cpu leaves on the disk."""

import sys
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support import child

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
BAR_MB = 60
NOT_COUNTED = ("numpy", "llvmlite", "pip", "setuptools", "pkg_resources")
SOURCES = {
    "dovetail": ROOT / "core/src/dovetail",
    "dovetail_cpu": ROOT / "backends/cpu/src/dovetail_cpu",
}


@pytest.fixture(scope="module")
def site_packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment into which core and cpu were installed."""
    home = tmp_path_factory.mktemp("size") / "venv"
    venv.create(home, with_pip=True, symlinks=True)
    python = home / "bin" / "python"
    packages = ROOT / "core", ROOT / "backends/cpu"
    child.run(python, "-m", "pip", "install", "-q", *packages, limit=1200)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    return home / "lib" / version / "site-packages"


def owner(path: Path) -> str:
    """The distribution that an entry of site-packages belongs to."""
    return path.name.split("-")[0].split(".")[0].lower()


def size(path: Path) -> int:
    """Bytes in a file, or in all files of a folder."""
    if path.is_file():
        return path.stat().st_size
    return sum(p.stat().st_size for p in path.rglob("*") if p.is_file())


def files(folder: Path) -> Iterator[str]:
    """Relative names of the files below a folder, without bytecode."""
    for path in folder.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path.relative_to(folder).as_posix()


def test_installation_is_small(
    site_packages: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Core and cpu bring at most 60 MB beside NumPy and llvmlite."""
    sizes: dict[str, float] = {}
    for path in site_packages.iterdir():
        sizes[owner(path)] = sizes.get(owner(path), 0.0) + size(path) / 1e6
    counted = {k: v for k, v in sizes.items() if k not in NOT_COUNTED}
    largest = sorted(counted.items(), key=lambda item: -item[1])[:6]
    told = ", ".join(f"{name} {mb:.1f}" for name, mb in largest)
    with capsys.disabled():
        print(f"\ninstalled: {sum(counted.values()):.1f} MB ({told})")
    assert sum(counted.values()) <= BAR_MB, told


@pytest.mark.parametrize("package", SOURCES)
def test_wheel_holds_every_source_file(package: str, site_packages: Path) -> None:
    """No module and no data file is lost on the way into the wheel."""
    installed = set(files(site_packages / package))
    assert installed == set(files(SOURCES[package]))
