"""What packages for PyTorch do as they are imported, under `--as-torch`."""

from pathlib import Path

from tests.unit.test_torch_alias import run

IMPORTS = """
import torch, torch._custom_ops, torch.onnx
from torch.hub import tqdm
from torch.jit.annotations import BroadcastingList2
from torch.onnx.symbolic_helper import parse_args
from torch.utils.model_zoo import tqdm as again

def pooled(x: torch.Tensor, size: BroadcastingList2[int]) -> torch.Tensor:
    return x

assert again is tqdm and list(tqdm([1, 2], disable=True)) == [1, 2]
keys = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU) | (
    torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCUDA)
)
assert keys.has("AutocastCPU") and not keys.has(torch._C.DispatchKey.CPU)

@torch.library.register_fake("nowhere::nms")
def nms(boxes, scores, threshold):
    return boxes

@parse_args("v", "f")
def symbolic(g, x):
    return x

torch.onnx.register_custom_op_symbolic("nowhere::nms", symbolic, 11)

aten, x = torch.ops.aten, torch.arange(6.0).reshape(2, 3)
assert aten._to_copy.default(x, dtype=torch.float64).dtype is torch.float64
assert aten._to_copy(x).data_ptr() != x.data_ptr() == aten.alias(x).data_ptr()
assert aten.slice.Tensor(x, -1, 1, 3).tolist() == [[1, 2], [4, 5]]
assert aten.index.Tensor(x, [None, torch.tensor([2])]).tolist() == [[2], [5]]
assert not isinstance(torch.nn.Linear(1, 1), torch.jit.ScriptModule)
assert aten.sym_size.int(x, 1) == aten.sym_stride.int(x, 0) == 3
aten._assert_scalar.default(True, "all is well")
aten._assert_tensor_metadata(x, (2, 3), (3, 1), x.dtype, device=x.device)
aten.sym_constrain_range_for_size(3, min=0, max=3)
for wrong in (
    lambda: aten._assert_async.msg(torch.zeros(1), "a 1"),
    lambda: aten._assert_tensor_metadata(x, (3, 2)),
    lambda: aten.sym_constrain_range(3, min=4),
):
    try:
        wrong()
    except RuntimeError:
        continue
    raise AssertionError("nothing was refused")

def halved(x):
    torch._assert(x.shape[-1] == 3, "rows of three")
    return x / 2

halved = torch.fx.symbolic_trace(halved)
assert halved(x).sum() == 7.5
try:
    halved(x[:, :2])
except AssertionError as error:
    assert str(error) == "rows of three"
else:
    raise AssertionError("the check is no part of what was traced")
from torch.utils._sympy.numbers import IntInfinity
assert torch._C._get_accelerator().type == "cpu"

from torch.distributed import checkpoint, rpc, tensor
assert rpc.api._require_initialized(len) is len
from torch._tensor_str import PRINT_OPTS, _tensor_str
before = PRINT_OPTS.precision
torch.set_printoptions(precision=2)
assert PRINT_OPTS.precision == 2 and _tensor_str(x / 3, 0).startswith("[[0.00, 0.33")
torch.set_printoptions(precision=before)

within = torch._C._are_functorch_transforms_active
assert not within()
seen = []
torch.func.vmap(lambda x: (x, seen.append(within()))[0])(torch.ones(2))
assert seen == [True]

@torch.jit._script_if_tracing
def half(x):
    return x / 2

@torch.library.custom_op("here::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2

assert torch.ops.here.twice.default(half(torch.ones(1))).item() == 1
try:
    torch.ops.nowhere.nms
except AttributeError:
    print("seen")
"""


def test_what_is_done_at_import(tmp_path: Path) -> None:
    """As torchvision does it, whose own code of C++ is not there."""
    found = run(tmp_path, IMPORTS)
    assert found.stdout == "seen\n", found.stderr
