"""Modules of torch's that are left out, and why: declared once, here.

An import of one says the reason. Where `torch` means dovetail, programs may import
them, for they import whatever they might need: there a name raises when it is called.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class LeftOut(NamedTuple):
    """Modules, with what is below them, that are left out for one reason."""

    reason: str
    modules: str


LEFT_OUT: Final = (
    LeftOut(
        "is of torch's quantised tensors, which are made for kernels of its C++ "
        "libraries",
        "ao ao.quantization nn.intrinsic nn.qat nn.quantizable nn.quantized "
        "quantization jit.quantized sparse.semi_structured utils.mkldnn",
    ),
    LeftOut(
        "is of torch's compiler, of TorchScript or of what exports their programs; see "
        "`dovetail.compile`, `dovetail.compiler.record` and `dovetail.fx`",
        "_dynamo _functorch _guards _higher_order_ops _inductor _subclasses classes "
        "compiler.config export fx.experimental fx.annotate fx.config "
        "fx.operator_schemas fx.passes fx.tensor_type fx.traceback jit.frontend "
        "jit.generate_bytecode jit.mobile jit.supported_ops "
        "jit.unsupported_tensor_ops nativert onnx package utils._sympy "
        "utils.bundled_inputs utils.jit utils.mobile_optimizer utils.model_dump "
        "utils.show_pickle",
    ),
    LeftOut(
        "extends torch's C++ libraries: its dispatcher, its allocators, its kernels; "
        "what wants to see every op is an interposer of `dovetail.engine.scopes`, and "
        "new hardware a backend",
        "_C contrib cuda.gds cuda.green_contexts cuda.jiterator cuda.sparse "
        "cuda.tunable mtia nn.backends nn.cpp numa utils.backcompat "
        "utils.backend_registration utils.cpp_backtrace utils.cpp_extension "
        "utils.deterministic utils.file_baton utils.hipify utils.serialization "
        "utils.weak",
    ),
    LeftOut(
        "is for several processes that work on one program, and `dovetail.distributed` "
        "has groups of one",
        "cuda.comm cuda.nccl distributed._composable "
        "distributed._functional_collectives distributed._tensor "
        "distributed.algorithms distributed.argparse_util distributed.autograd "
        "distributed.c10d_logger distributed.checkpoint distributed.collective_utils "
        "distributed.config distributed.debug distributed.elastic "
        "distributed.flight_recorder distributed.fsdp distributed.launch "
        "distributed.launcher distributed.logging_handlers distributed.nn.api "
        "distributed.nn.jit distributed.optim distributed.pipelining "
        "distributed.remote_device distributed.rendezvous distributed.rpc "
        "distributed.run distributed.tensor distributed.utils nn.parallel.comm",
    ),
    LeftOut(
        "is a prototype in torch, or belongs to one",
        "masked.maskedtensor nested nn.attention.bias nn.attention.experimental "
        "nn.attention.varlen",
    ),
    LeftOut(
        "measures or describes torch's own runtime; see `dovetail.profiler`, "
        "`dovetail devices` and `dovetail.utils.benchmark`",
        "autograd.profiler_legacy cuda.profiler monitor mps.profiler profiler.itt "
        "profiler.python_tracer utils.benchmark.examples utils.benchmark.op_fuzzers "
        "utils.benchmark.utils.compare utils.benchmark.utils.compile "
        "utils.benchmark.utils.cpp_jit utils.benchmark.utils.fuzzer "
        "utils.benchmark.utils.sparse_fuzzer utils.benchmark.utils.valgrind_wrapper "
        "utils.bottleneck utils.collect_env utils.debug_log utils.flop_counter "
        "utils.module_tracker utils.throughput_benchmark utils.viz",
    ),
    LeftOut(
        "names a library that torch is built with; kernels are chosen by the device's "
        "table, and by no switch",
        "backends.cpu backends.cudnn.rnn backends.cusparselt backends.kleidiai "
        "backends.miopen backends.nnpack backends.python_native",
    ),
    LeftOut(
        "holds torch's own tests, or parts of how it sends tensors and walks its "
        "datapipes",
        "testing._internal multiprocessing.reductions "
        "utils.data.backward_compatibility utils.data.datapipes.dataframe "
        "utils.data.datapipes.gen_pyi "
        "utils.data.datapipes.utils utils.data.graph utils.data.graph_settings",
    ),
)  # fmt: skip
REASONS: Final = {
    module: left.reason for left in LEFT_OUT for module in left.modules.split()
}


def reason_for_module(name: str) -> str | None:
    """Why a module, such as `onnx.utils`, is left out; None if that is not declared."""
    above = f"utils.{name}" if name.startswith("data.") else name
    while above:
        if above in REASONS:
            return REASONS[above]
        above = above.rpartition(".")[0]
    return None
