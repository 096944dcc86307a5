"""Modules are importable from where torch has them."""

import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from tests.support import child

import dovetail
import dovetail.data

SCRIPT = """
from dovetail.utils.data import DataLoader, TensorDataset
from dovetail.utils.data.dataset import Dataset
from dovetail.utils.data.distributed import DistributedSampler
from dovetail.utils.data.datapipes.iter import IterableWrapper
from dovetail.cuda.amp import GradScaler, autocast
import dovetail as torch
import dovetail.utils.data.sampler
import dovetail.data.datapipes.iter

assert torch.utils.data is torch.data
assert torch.data.__name__ == torch.data.__spec__.name == "dovetail.data"
assert issubclass(TensorDataset, Dataset)
assert DistributedSampler is torch.data.DistributedSampler
assert torch.utils.data.sampler is torch.data.sampler
assert IterableWrapper is dovetail.data.datapipes.iter.IterableWrapper
assert GradScaler is torch.cuda.amp.GradScaler
print(next(iter(DataLoader(TensorDataset(torch.ones(2)))))[0].tolist())
"""


def test_programs_import_them_first() -> None:
    """In a new process, in any order; no class is there twice."""
    found = child.run(sys.executable, "-c", SCRIPT)
    assert found.stdout.split() == ["[1.0]"], found.stderr


@pytest.mark.parametrize("name", ["utils.data.nothing", "cuda.nothing", "nothing"])
def test_what_is_nowhere_is_told(name: str) -> None:
    """As of any module."""
    with pytest.raises(ModuleNotFoundError, match="nothing"):
        importlib.import_module(f"dovetail.{name}")


def test_no_own_module_is_hidden() -> None:
    """A file beside an attribute of its name is what an import gives."""
    root = Path(dovetail.__file__).parent
    for path in sorted(root.glob("*/*.py")):
        name = f"dovetail.{path.parent.name}.{path.stem}"
        if path.stem.startswith("__") or path.parent.name in ("cli", "demos"):
            continue
        module = importlib.import_module(name)
        own = isinstance(module, ModuleType) and module.__name__ == name
        assert own, name


def test_type_checkers_know_them(tmp_path: Path) -> None:
    """mypy finds the classes of `dovetail.utils.data`."""
    pytest.importorskip("mypy")
    script = tmp_path / "script.py"
    script.write_text(
        "from dovetail.utils.data import DataLoader\n\nreveal_type(DataLoader)\n"
    )
    command = [sys.executable, "-m", "mypy", "--follow-imports=silent", str(script)]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "dovetail.data.dataloader.DataLoader" in found.stdout, found.stdout
