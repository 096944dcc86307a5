"""What torch has and dovetail leaves out, and why: declared once, here.

Errors for missing names say the reason; docs/torch-compatibility.md is written from it
by `python -m dovetail.signatures`.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Omission(NamedTuple):
    """Names that are left out for one reason, by the room that torch has them in."""

    reason: str
    names: dict[str, str]


# `torch` is the package itself, `Tensor` its class; other rooms have torch's names.
OMISSIONS: Final = (
    Omission(
        "names bits of a width that no op computes with: in torch, too, such tensors "
        "are only stored, and reinterpreted by its own quantised kernels",
        {
            "torch": "bit bits16 bits1x8 bits2x4 bits4x2 bits8 float4_e2m1fn_x2 "
            "int1 int2 int3 int4 int5 int6 int7 uint1 uint2 uint3 uint4 uint5 uint6 "
            "uint7",
        },
    ),
    Omission(
        "belongs to torch's quantised tensors, which are made for kernels of its C++ "
        "libraries and are deprecated in favour of tensors of integers and scales",
        {
            "torch": "choose_qparams_optimized dequantize empty_quantized "
            "fake_quantize_per_channel_affine fake_quantize_per_tensor_affine "
            "fused_moving_avg_obs_fake_quant int_repr q_per_channel_axis "
            "q_per_channel_scales q_per_channel_zero_points q_scale q_zero_point "
            "qint32 qint8 qscheme quantize_per_channel quantize_per_tensor "
            "quantize_per_tensor_dynamic quantized_batch_norm quantized_gru_cell "
            "quantized_lstm_cell quantized_max_pool1d quantized_max_pool2d "
            "quantized_max_pool3d quantized_rnn_relu_cell quantized_rnn_tanh_cell "
            "quint2x4 quint4x2 quint8",
            "Tensor": "dequantize int_repr q_per_channel_axis q_per_channel_scales "
            "q_per_channel_zero_points q_scale q_zero_point qscheme",
        },
    ),
    Omission(
        "names a library that torch is built with; kernels of a library are chosen by "
        "the device's table, and have no names of their own",
        {
            "torch": "cudnn_affine_grid_generator cudnn_batch_norm cudnn_convolution "
            "cudnn_convolution_add_relu cudnn_convolution_relu "
            "cudnn_convolution_transpose cudnn_grid_sampler cudnn_is_acceptable "
            "fbgemm_linear_fp16_weight fbgemm_linear_fp16_weight_fp32_activation "
            "fbgemm_linear_int8_weight fbgemm_linear_int8_weight_fp32_activation "
            "fbgemm_linear_quantize_weight fbgemm_pack_gemm_matrix_fp16 "
            "fbgemm_pack_quantized_matrix miopen_batch_norm miopen_convolution "
            "miopen_convolution_add_relu miopen_convolution_relu "
            "miopen_convolution_transpose miopen_ctc_loss miopen_depthwise_convolution "
            "miopen_rnn mkldnn_adaptive_avg_pool2d mkldnn_convolution "
            "mkldnn_linear_backward_weights mkldnn_max_pool2d mkldnn_max_pool3d "
            "mkldnn_rnn_layer has_lapack has_mkl has_openmp has_spectral",
            "Tensor": "to_mkldnn",
        },
    ),
    Omission(
        "is part of TorchScript or of torch's own compiler, whose programs are C++ "
        "objects; see `dovetail.compile` and `dovetail.compiler.record`",
        {
            "torch": "AliasDb AnyType Argument ArgumentSpec AwaitType Block BoolType "
            "CallStack ClassType Code CompilationUnit CompleteArgumentSpec ComplexType "
            "ConcreteModuleType ConcreteModuleTypeBuilder DictType EnumType "
            "ErrorReport ExecutionPlan FloatType FunctionSchema FutureType Gradient "
            "Graph GraphExecutorState InferredType IntType InterfaceType JITException "
            "ListType LiteScriptModule NoneType NumberType OptionalType PyObjectType "
            "RRefType ScriptClass ScriptClassFunction ScriptFunction ScriptMethod "
            "ScriptModule ScriptObject StaticModule StringType SymBool SymBoolType "
            "SymFloat SymInt SymIntType TensorType TracingState TupleType Type "
            "UnionType Use Value sym_constrain_range sym_constrain_range_for_size "
            "sym_float sym_fresh_size sym_int sym_ite sym_max sym_min sym_not sym_sqrt "
            "sym_sum parse_ir parse_schema parse_type_comment import_ir_module "
            "import_ir_module_from_buffer merge_type_from_type_comment unify_type_list",
            "testing": "FileCheck",
        },
    ),
    Omission(
        "is a hook into torch's C++ dispatcher; what wants to see every op is an "
        "interposer or a recorder of `dovetail.engine.scopes`",
        {
            "torch": "DispatchKey DispatchKeySet DisableTorchFunction "
            "DisableTorchFunctionSubclass ExcludeDispatchKeyGuard OperatorInfo Tag",
            "Tensor": "__torch_dispatch__",
        },
    ),
    Omission(
        "hands out a pointer to C functions of torch's; tensors are exchanged by "
        "`__dlpack__`",
        {"Tensor": "__dlpack_c_exchange_api__"},
    ),
    Omission(
        "is how torch loads its own pickles; ours rebuild a tensor from its memory "
        "(`__reduce_ex__`), without one that is empty before",
        {"Tensor": "__setstate__"},
    ),
    Omission(
        "works on the first-class dims of functorch, which only its C++ extension has",
        {"Tensor": "index"},
    ),
    Omission(
        "has no format in NumPy, nor arithmetic in torch but on some devices: complex "
        "numbers of two float16",
        {"Tensor": "chalf"},
    ),
    Omission(
        "is a prototype in torch; the functions of dovetail.masked take `mask=`",
        {"masked": "MaskedTensor as_masked_tensor is_masked_tensor masked_tensor"},
    ),
    Omission(
        "is of a sparse layout that is not there: by columns, or of blocks; there are "
        "sparse_coo and sparse_csr",
        {
            "torch": "ccol_indices_copy row_indices_copy sparse_bsc_tensor "
            "sparse_bsr_tensor sparse_csc_tensor",
            "Tensor": "to_sparse_bsc to_sparse_bsr to_sparse_csc",
        },
    ),
    Omission(
        "belongs to a prototype in torch, or to kernels of its libraries",
        {
            "sparse": "SparseSemiStructuredTensor SparseSemiStructuredTensorCUSPARSELT "
            "SparseSemiStructuredTensorCUTLASS to_sparse_semi_structured spsolve "
            "as_sparse_gradcheck",
        },
    ),
    Omission(
        "is read from NVIDIA's own tools, whose libraries tell it to any program",
        {
            "cuda": "clock_rate device_memory_used list_gpu_processes memory_usage "
            "power_draw temperature utilization",
        },
    ),
    Omission(
        "hands out a part of torch's own runtime: its allocator, its handles of "
        "libraries, its errors",
        {
            "cuda": "CUDAPluggableAllocator CudaError DeferredCudaCallError "
            "GreenContext MemPool caching_allocator_alloc caching_allocator_delete "
            "caching_allocator_disabled caching_allocator_enable "
            "change_current_allocator check_error cudaStatus cudart "
            "current_blas_handle current_solver_handle get_allocator_backend "
            "memory_snapshot use_mem_pool",
        },
    ),
)  # fmt: skip
_REASONS: Final = {
    (room, name): omission.reason
    for omission in OMISSIONS
    for room, names in omission.names.items()
    for name in names.split()
}


def reason_for(module: str, name: str) -> str | None:
    """Why a module lacks a name of torch's, if that is declared.

    Args:
        module: as Python calls it, such as `dovetail.masked`.
    """
    room = module.partition(".")[2] or "torch"
    return _REASONS.get((room, name))


def omitted(room: str) -> frozenset[str]:
    """The names that a room leaves out."""
    return frozenset(name for of, name in _REASONS if of == room)
