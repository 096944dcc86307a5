"""`dovetail run --as-torch`: scripts that import torch."""

import itertools
import subprocess
import sys
from pathlib import Path
from urllib.error import URLError

import pytest
from tests.support import child

import dovetail
from dovetail.torch_names import hub as torch_hub
from dovetail.torch_names import private as torch_private

SCRIPT = """
import sys
import multiprocessing

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.utils.data
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, TensorDataset


def total(n):
    assert "dovetail" in torch.__version__
    return int(torch.arange(n).sum())


if __name__ == "__main__":
    import dovetail

    assert nn is dovetail.nn and torch.nn is nn and torch.utils.data is dovetail.data
    assert nn.__spec__.name == "dovetail.nn"
    assert torch.Tensor is dovetail.Tensor and torch.linalg is dovetail.linalg
    from torch.utils import _pytree

    assert _pytree.tree_map(lambda x: x + 1, {"a": [1, 2]}) == {"a": [2, 3]}
    torch._foreach_mul_(twos := [torch.ones(2), torch.ones(3)], 2.0)
    assert [x.sum().item() for x in twos] == [4.0, 6.0]
    assert torch.__version__.split("+")[0].split(".")[0] == "2", torch.__version__
    net = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    data = TensorDataset(torch.randn(4, 4), torch.zeros(4, dtype=torch.long))
    for x, y in DataLoader(data, batch_size=2):
        F.cross_entropy(net(x), y).backward()
        optimizer.step()
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(sys.argv[1:], pool.map(total, [3, 4]))
"""


def run(folder: Path, text: str, *args: str) -> "subprocess.CompletedProcess[str]":
    """What a script does that is run with torch meaning dovetail."""
    script = folder / "script.py"
    script.write_text(text)
    command = [sys.executable, "-m", "dovetail", "run", "--as-torch", str(script)]
    return subprocess.run(
        [*command, *args], capture_output=True, text=True, timeout=60, check=False
    )


def test_scripts_train_and_spawn(tmp_path: Path) -> None:
    """A script of torch's names trains, and so do processes that it spawns."""
    found = run(tmp_path, SCRIPT, "--epochs", "3")
    assert found.stdout == "['--epochs', '3'] [3, 6]\n", found.stderr
    assert found.returncode == 0


def test_failures_are_the_scripts(tmp_path: Path) -> None:
    """A traceback begins in the script, and the name that is not there is told."""
    found = run(tmp_path, "import torch\ntorch.sofmax\n")
    first = found.stderr.splitlines()[1]
    assert "script.py" in first, found.stderr
    assert "the nearest is 'softmax'" in found.stderr
    assert found.returncode == 1


def test_exit_status_is_the_scripts(tmp_path: Path) -> None:
    """sys.exit() of the script is the command's."""
    assert run(tmp_path, "import sys, torch\nsys.exit(5)\n").returncode == 5


def test_modules_that_are_not_there(tmp_path: Path) -> None:
    """A module that dovetail lacks is no module, and the error says of whom."""
    found = run(tmp_path, "import torch._lazy\n")
    assert "ModuleNotFoundError: No module named 'torch._lazy'" in found.stderr
    assert "dovetail has no module '_lazy'" in found.stderr


def test_other_processes_keep_their_torch() -> None:
    """Importing dovetail's command line changes no import."""
    code = "import sys, dovetail.cli.run; print(*sys.meta_path)"
    assert "dovetail.cli" not in child.printed(code)


VERSIONS = """
import importlib
import torch, torch.torch_version, torch.version

v = torch.__version__
assert v > "2.4" and v > (2, 4) and v >= (2, 13) and v < (3,) and v != "2.4"
assert v >= "2.13.0" and not v < "2.2.1" and v.startswith("2."), v
assert "2.4" < v and (2, 4) < v and sorted([v, "2.4"])[0] == "2.4"
assert torch.torch_version.TorchVersion("1.2") < "1.10" and v != "none" != v
assert torch.version.__version__ == torch.torch_version.__version__ == v
assert {v: 1}[str(v)] == 1
import importlib.metadata
assert importlib.metadata.version("torch") == v
assert importlib.metadata.metadata("torch")["Name"] == "torch"
assert importlib.metadata.packages_distributions()["torch"][0] == "torch"
from torch._dynamo._nowhere import Thing
parsed = torch._C._nn._parse_to("cpu", torch.float64, non_blocking=True)
assert parsed == (torch.device("cpu"), torch.float64, True, None), parsed
assert torch._C._nn.gelu(torch.zeros(1)).item() == 0
assert torch.profiler.kineto_available() and not isinstance(1, torch.ScriptModule)
assert not isinstance(1, torch._dynamo.eval_frame.OptimizedModule)
assert torch._dynamo.list_backends() == torch.compiler.list_backends() == ["inductor"]
assert "eager" in torch.compiler.list_backends(exclude_tags=None)
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard
assert Shard(1).is_shard(1) and not Shard(1).is_shard(0) and Shard(1) == Shard(1)
assert Replicate().is_replicate() and Partial().is_partial("sum")
print("seen")
"""


def test_versions_compare_as_versions(tmp_path: Path) -> None:
    """Programs choose by the version, with text and with tuples; names are found."""
    found = run(tmp_path, VERSIONS)
    assert found.stdout == "seen\n", found.stderr


PACKAGE = {
    "__init__.py": "", "other.py": """
import torch


def total(n):
    return int(torch.arange(n).sum())
""", "__main__.py": """
import multiprocessing
import sys

import torch

from .other import total


def twice(n):
    return 2 * total(n)


if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(sys.argv[1:], pool.map(twice, [3, 4]), __package__)
""",
}  # fmt: skip


def test_modules_are_run(tmp_path: Path) -> None:
    """`-m` runs a package, with what follows its name as its own arguments."""
    (tmp_path / "here").mkdir()
    for name, text in PACKAGE.items():
        (tmp_path / "here" / name).write_text(text)
    command = [sys.executable, "-m", "dovetail", "run", "--as-torch", "-m"]

    def ran(*args: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [*command, *args], capture_output=True, text=True, timeout=60, check=False,
            cwd=tmp_path,
        )  # fmt: skip

    found = ran("here", "-m", "3", "--as-torch")
    assert found.stdout == "['-m', '3', '--as-torch'] [6, 12] here\n", found.stderr
    assert ran("here.other").returncode == 0
    found = ran("nowhere.at_all")
    assert found.returncode == 2
    assert "nowhere.at_all" in found.stderr


def test_a_script_that_is_not_there(tmp_path: Path) -> None:
    """It is a mistake of usage, and no traceback."""
    command = [sys.executable, "-m", "dovetail", "run", str(tmp_path / "none.py")]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 2
    assert "none.py" in found.stderr
    assert "Traceback" not in found.stderr


PLACES = """
import torch
import torch.nn as nn
from torch.nn.modules.utils import _pair
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.conv import _ConvNd
import torch.nn.modules.linear
from torch.distributions.normal import Normal
from torch.utils._pytree import tree_map
from torch.cuda.amp import autocast
import torch.backends.cudnn as cudnn
import torch.multiprocessing as mp

assert issubclass(nn.BatchNorm2d, _BatchNorm) and issubclass(nn.Conv1d, _ConvNd)
assert torch.nn.modules.linear.Linear is nn.Linear is nn.modules.Linear
assert torch.distributions.kl.kl_divergence is torch.distributions.kl_divergence
assert Normal is torch.distributions.Normal
assert nn.utils is torch.nn.utils and hasattr(nn.utils, "clip_grad_norm_")
assert _pair(3) == (3, 3) and _pair([1, 2]) == (1, 2)
assert tree_map(lambda x: x + 1, {"a": [1, 2]}) == {"a": [2, 3]}
assert torch.version.cuda is None and mp.Queue is not None
cudnn.benchmark = True
try:
    from torch.nn.modules.linear import Sofmax
except ImportError as error:
    print("refused", "Sofmax" in str(error))
"""


def test_names_are_found_where_torch_has_them(tmp_path: Path) -> None:
    """Modules below torch that dovetail has not, private names that programs use."""
    found = run(tmp_path, PLACES)
    assert found.stdout == "refused True\n", found.stderr


SPELLED = """
import copy, pickle, sys
import torch

x = torch.arange(3.0)
p = torch.nn.Parameter(torch.ones(2))
assert repr(x.dtype) == "torch.float32" and f"{x.dtype}".split(".")[0] == "torch"
assert str(x.shape) == "torch.Size([3])" and str([x.dtype]) == "[torch.float32]"
assert repr(type(x)) == "<class 'torch.Tensor'>" and type(x).__module__ == "torch"
assert repr(type(p)) == "<class 'torch.nn.parameter.Parameter'>"
assert repr(type(x.dtype)) == "<class 'torch.dtype'>"
assert repr(torch.strided) == "torch.strided"
assert repr(torch.channels_last) == "torch.channels_last"
assert repr(x.double()) == "tensor([0., 1., 2.], dtype=torch.float64)"
assert repr(p.add(1).grad_fn).startswith("<AddBackward0 object at 0x")
best = torch.max(x, 0)
assert repr(best) == (
    "torch.return_types.max(\\nvalues=tensor(2.),\\nindices=tensor(2))"
), repr(best)
things = [x, p, x.shape, x.dtype, x.device, torch.strided, torch.nn.Linear(2, 2), best,
          torch.Tensor, torch.nn.Parameter]
assert copy.deepcopy(x.shape) == x.shape and copy.copy(x.device) == x.device
for protocol in (2, pickle.HIGHEST_PROTOCOL):
    with open(f"{sys.argv[1]}/{protocol}", "wb") as file:
        pickle.dump(things, file, protocol)
torch.save({"things": things[:5], "net": things[6]}, f"{sys.argv[1]}/saved.pt")
"""
READ = """
import pickle, sys
import dovetail as dt

for protocol in (2, pickle.HIGHEST_PROTOCOL):
    with open(f"{FOLDER}/{protocol}", "rb") as file:
        x, p, shape, dtype, device, layout, net, best, *kinds = pickle.load(file)
    assert type(x) is dt.Tensor and type(p) is dt.nn.Parameter, (x, p)
    assert type(shape) is dt.Size and dtype is dt.float32 and layout is dt.strided
    assert device == dt.device("cpu") and type(net) is dt.nn.Linear
    assert best.indices == 2 and kinds == [dt.Tensor, dt.nn.Parameter]
found = dt.load(f"{FOLDER}/saved.pt", weights_only=False)
assert type(found["net"]) is dt.nn.Linear and found["things"][2] == shape
assert repr(shape) == "dovetail.Size([3])" and "torch" not in sys.modules
"""


def test_texts_are_torchs_and_files_dovetails(tmp_path: Path) -> None:
    """What prints has torch's names; what is pickled is read without them."""
    found = run(tmp_path, SPELLED, str(tmp_path))
    assert found.returncode == 0, found.stderr
    child.printed(f"FOLDER = {str(tmp_path)!r}\n{READ}")


ROOMS = """
import torch
import torch._dynamo
import torch._inductor.config
from torch.cuda.amp.grad_scaler import GradScaler
from torch.distributed import ReduceOp, get_rank, nn as dist_nn
from torch.distributed.elastic.multiprocessing.errors import record
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.fx import GraphModule
from torch.nn import _reduction
from torch.nn.functional import _Reduction
from torch.onnx import is_in_onnx_export
from torch.autograd.function import InplaceFunction
from torch.overrides import handle_torch_function, has_torch_function, is_tensor_like
from torch.serialization import SourceChangeWarning
from torch.utils.model_zoo import load_url

class Mine:
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return function.__name__, types, args, kwargs

assert has_torch_function([1, Mine()]) and is_tensor_like(Mine())
assert not has_torch_function([torch.ones(1)]) and is_tensor_like(torch.ones(1))
assert handle_torch_function(print, [mine := Mine()], 1, sep=2) == (
    "print", (Mine,), (1,), {"sep": 2}
)
assert issubclass(InplaceFunction, torch.autograd.Function)
assert issubclass(SourceChangeWarning, Warning)
torch._dynamo.config.suppress_errors = True
assert torch._dynamo.config.suppress_errors and not torch._dynamo.config.verbose
assert torch._dynamo.reset() is None and not torch._dynamo.is_compiling()
assert not torch._C._get_tracing_state() and not torch._C._cuda_isInBadFork()
assert torch._C._jit_set_profiling_mode(False) is None
assert torch._dynamo.optimize("inductor")(len) is len
torch.compiler.cudagraph_mark_step_begin()
assert torch.compiler.allow_in_graph(len) is len
assert torch.compiler.assume_constant_result(len) is len
assert not torch.compiler.is_dynamo_compiling()
torch._inductor.config.triton.unique_kernel_names = True
torch._C._log_api_usage_once("here")
assert torch._dynamo.disable(len) is len and torch._dynamo.disable()(len) is len
assert record(len) is len
assert issubclass(GradScaler, torch.amp.GradScaler) and not is_in_onnx_export()
assert GradScaler is torch.cuda.amp.GradScaler
net = torch.nn.Linear(2, 2)
assert not isinstance(net, (FSDP, GraphModule))
assert torch.jit.trace(net, torch.ones(1, 2)) is net
assert torch.jit.wait(torch.jit.fork(net, torch.ones(1, 2))).shape == (1, 2)
assert _reduction.get_enum("sum") == 2
assert _Reduction.get_enum is _reduction.get_enum
assert _reduction.legacy_get_string(False, None) == "sum"
torch.backends.cuda.enable_flash_sdp(False)
assert not torch.backends.cuda.flash_sdp_enabled()
assert torch.backends.cuda.math_sdp_enabled() and torch.backends.cudnn.version() is None
try:
    get_rank()
except ValueError as error:
    assert "has not been initialized" in str(error)
torch.distributed.init_process_group("gloo", rank=0, world_size=1, init_method="tcp://x:1")
assert dist_nn.all_reduce(net.weight, ReduceOp.SUM).grad_fn is not None
try:
    torch.linalg.inv(torch.zeros(2, 2))
except (torch._C._LinAlgError, torch._C._SomeNewError) as error:
    assert isinstance(error, torch.linalg.LinAlgError)
for refused in (
    lambda: FSDP(net), lambda: torch.onnx.export(net, ()),
    lambda: torch.jit.save(net, "x"),
    lambda: torch.hub.load("a/b", "c"), lambda: torch._dynamo.explain(len),
):
    try:
        refused()
    except NotImplementedError as error:
        print(str(error).partition(":")[0])
"""


def test_rooms_that_do_nothing_here(tmp_path: Path) -> None:
    """Switches are kept; what is missing can be imported, and says so when called."""
    found = run(tmp_path, ROOMS)
    assert found.stdout.split() == [
        "torch.distributed.fsdp.FullyShardedDataParallel", "torch.onnx.export",
        "jit.save", "hub", "torch._dynamo.explain",
    ], found.stderr  # fmt: skip


def test_files_are_fetched_once(tmp_path: Path) -> None:
    """And kept; one of another hash is refused, and leaves nothing."""
    source = tmp_path / "model.pt"
    dovetail.save({"a": dovetail.ones(2)}, source)
    kept = tmp_path / "kept"
    for _ in range(2):
        found = torch_hub.load_state_dict_from_url(source.as_uri(), str(kept))
        assert found["a"].tolist() == [1.0, 1.0]
        source.unlink(missing_ok=True)
    assert [p.name for p in kept.iterdir()] == ["model.pt"]
    again = (kept / "model.pt").as_uri()
    with pytest.raises(RuntimeError, match="hash"):
        torch_hub.download_url_to_file(again, str(tmp_path / "x"), "00000000")
    assert not (tmp_path / "x").exists()
    there = tmp_path / "there"
    there.write_text("as it was")
    with pytest.raises(URLError, match="No such file"):
        torch_hub.download_url_to_file((tmp_path / "none").as_uri(), str(there))
    assert there.read_text() == "as it was"


def test_triangles_are_vectors_by_rows() -> None:
    """Up to any diagonal, and back; what is no triangle is refused as a ValueError."""
    for n, diag in itertools.product(range(1, 5), range(-2, 3)):
        if not -n <= diag < n:
            continue
        rows = [[3.0 * i + j + 1 for j in range(n)] for i in range(n)]
        flat = [rows[i][j] for i in range(n) for j in range(n) if j <= i + diag]
        found = torch_private.tril_matrix_to_vec(dovetail.tensor([rows, rows]), diag)
        assert found.tolist() == [flat, flat]
        if diag in (-1, 0):
            square = torch_private.vec_to_tril_matrix(found, diag)
            kept = dovetail.tensor([rows, rows]).tril(diag)
            assert square.tolist() == kept.tolist()
    with pytest.raises(ValueError, match="triangle"):
        torch_private.vec_to_tril_matrix(dovetail.ones(5))
    with pytest.raises(ValueError, match="diag"):
        torch_private.tril_matrix_to_vec(dovetail.ones(2, 2), 2)


NAMES = """
import torch
import torch.cuda.nvtx as nvtx
import torch.fx.passes.shape_prop
from functorch import combine_state_for_ensemble, make_functional, vmap
from torch.autograd.gradcheck import gradcheck
from torch.distributed.distributed_c10d import ReduceOp
from torch.futures import Future
from torch.nn.modules.module import _IncompatibleKeys
from torch.optim.adamw import AdamW
from torch.storage import UntypedStorage
from torch.utils._foreach_utils import _group_tensors_by_device_and_dtype as grouped
from torch.utils._pytree import tree_any, tree_map_only
from torch.utils.dlpack import from_dlpack, to_dlpack

class Own(torch.Tensor):
    __torch_function__ = torch._C._disabled_torch_function_impl

x = torch.ones(2, requires_grad=True, dtype=torch.float64)
assert gradcheck(torch.exp, (x,)) and torch.autograd.gradcheck(torch.exp, (x,))
assert type(torch.ones(2).as_subclass(Own) + 1) is torch.Tensor
own = torch.Tensor._make_subclass(Own, x, True)
assert type(own) is Own and own.is_leaf and own.requires_grad
kind = type("P", (torch.nn.Parameter,), {})
assert type(torch.Tensor._make_subclass(kind, x)) is kind
assert torch.Future is Future and torch.distributed.fsdp.is_fsdp_managed(x) is False
assert not isinstance(3, torch.SymInt) and torch.sym_max(1, 2) == 2
assert isinstance(x.untyped_storage(), UntypedStorage)
assert (nvtx.range_push("a"), nvtx.range_push("b"), nvtx.range_pop()) == (0, 1, 1)
assert tree_map_only(int, lambda n: n + 1, [1, "a"]) == [2, "a"]
assert tree_any(lambda n: n == 1, [0, [1]])
assert "dovetail" in torch.__config__.show() and torch.torch is torch
assert torch.ops.aten.add.Tensor(x, 1).sum() == 4 and not hasattr(torch.ops.mine, "f")
nets = [torch.nn.Linear(2, 3) for _ in range(4)]
function, params = make_functional(nets[0])
assert torch.equal(function(params, torch.ones(2)), nets[0](torch.ones(2)))
function, params, buffers = combine_state_for_ensemble(nets)
found = vmap(function, (0, 0, None))(params, buffers, torch.ones(2))
assert torch.allclose(found[3], nets[3](torch.ones(2)))
traced = torch.fx.symbolic_trace(lambda a, b: torch.einsum("i,i->", (a, b)))
assert len(traced.graph.find_nodes(op="call_function")[0].args) == 3
lists, places = grouped([[x, x.half()]], True)[x.device, torch.float16]
assert lists[0][0].dtype is torch.float16 and places == [1]
with_error = lambda *given: torch._check_with(KeyError, *given)
for check in (torch._check, torch._check_value, with_error):
    try:
        check(False, lambda: "no")
    except (RuntimeError, ValueError, KeyError) as error:
        print(type(error).__name__)
"""


def test_names_below_private_rooms(tmp_path: Path) -> None:
    """They do what programs import them for."""
    found = run(tmp_path, NAMES)
    assert found.stdout.split() == ["RuntimeError", "ValueError", "KeyError"], (
        found.stderr
    )
