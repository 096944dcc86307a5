"""The families that load when they are first asked for, by what they declare."""

from __future__ import annotations

from dovetail.engine.later import later

later("dovetail.frontend.fourier", ops="fft_complex fft_hermitian fft_real")
later(
    "dovetail.frontend.linalg",
    ops="cholesky_factor determinant eigen_hermitian householder_factor "
    "householder_product least_squares log_determinant lu_factorise mirrored "
    "pseudo_inverse qr_factorise row_order singular_values solve_linear solve_triangle",
    functions="cholesky cholesky_inverse cholesky_solve det geqrf inverse logdet "
    "lobpcg lu lu_solve lu_unpack matrix_exp matrix_power orgqr ormqr pca_lowrank "
    "pinverse qr slogdet svd svd_lowrank triangular_solve vander",
    methods="cholesky cholesky_inverse cholesky_solve det geqrf inverse logdet "
    "lu lu_solve matrix_exp matrix_power orgqr ormqr pinverse qr slogdet svd "
    "triangular_solve",
)
later(
    "dovetail.frontend.special",
    ops="bessel_j0 bessel_j1 bessel_y0 bessel_y1 erfcx i0e i1e "
    "modified_bessel_k0 modified_bessel_k1 normal_quantile polygamma_above "
    "scaled_modified_bessel_k0 scaled_modified_bessel_k1 spherical_bessel_j0",
    functions="i0 i0_ mvlgamma polygamma",
    methods="i0 i0_ mvlgamma mvlgamma_ polygamma polygamma_",
)
later(
    "dovetail.frontend.logaddexp",
    functions="logaddexp logcumsumexp",
    methods="logaddexp logcumsumexp",
)
later("dovetail.frontend.polynomials")
later("dovetail.frontend.airy", ops="airy_function")
later(
    "dovetail.frontend.incomplete_gamma",
    ops="gamma_share_above gamma_share_below",
    functions="igamma igammac",
    methods="igamma igamma_ igammac igammac_",
)
later(
    "dovetail.frontend.tapers",
    functions="bartlett_window blackman_window hamming_window hann_window "
    "kaiser_window",
)
later("dovetail.frontend.masked")
later(
    "dovetail.frontend.copies",
    functions="alias_copy as_strided_copy detach_copy diagonal_copy expand_copy "
    "permute_copy select_copy slice_copy split_copy split_with_sizes_copy squeeze_copy "
    "t_copy transpose_copy unbind_copy unfold_copy unsafe_chunk unsafe_split "
    "unsafe_split_with_sizes unsqueeze_copy view_as_complex_copy view_as_real_copy "
    "view_copy",
    methods="unsafe_chunk unsafe_split unsafe_split_with_sizes",
)
later(
    "dovetail.frontend.arrangements",
    functions="as_strided_ as_strided_scatter channel_shuffle combinations detach_ "
    "empty_permuted fill_ index_reduce nonzero_static pixel_shuffle pixel_unshuffle "
    "renorm resize_as_ unravel_index zero_",
    methods="as_strided_scatter index_reduce index_reduce_ nonzero_static "
    "renorm renorm_",
)
later(
    "dovetail.frontend.slopes",
    ops="float_parts",
    functions="frexp gradient histogram",
    methods="frexp histogram",
)
later("dovetail.frontend.spectrograms", functions="istft stft", methods="istft stft")
later(
    "dovetail.frontend.settings",
    functions="are_deterministic_algorithms_enabled cond get_deterministic_debug_mode "
    "get_float32_matmul_precision get_num_interop_threads init_num_threads "
    "is_deterministic_algorithms_warn_only_enabled is_warn_always_enabled "
    "set_default_tensor_type set_deterministic_debug_mode set_float32_matmul_precision "
    "set_flush_denormal set_num_interop_threads set_warn_always thread_safe_generator "
    "use_deterministic_algorithms",
)
later(
    "dovetail.tensor_api.storages",
    functions="from_file is_storage",
    methods="const_data_ptr is_set_to set_ storage storage_type untyped_storage",
)
later("dovetail.frontend.random_counts", functions="binomial poisson")
later("dovetail.tensor_api.pinned", methods="is_pinned pin_memory")
later("dovetail.tensor_api.shared_memory", methods="is_shared share_memory_")
later(
    "dovetail.tensor_api.retired",
    functions="get_device is_distributed is_inference",
    methods="__array_wrap__ __cuda_array_interface__ __delitem__ __div__ __idiv__ "
    "__long__ __nonzero__ ccol_indices dim_order eig grad_dtype ipu "
    "is_distributed is_inference is_ipu is_maia is_mkldnn is_mps is_mtia is_nested "
    "is_quantized is_sparse is_sparse_csr is_vulkan is_xla layout lstsq "
    "module_load mtia name new output_nr reinforce resize resize_as row_indices solve "
    "symeig volatile",
)
later("dovetail.tensor_api.printing", functions="set_printoptions", methods="__repr__")
later("dovetail.tensor_api.python_functions", methods="apply_ map2_ map_")
later(
    "dovetail.frontend.native_norms",
    functions="native_batch_norm native_group_norm native_layer_norm",
)
later(
    "dovetail.frontend.bins", functions="hash_tensor histogramdd", methods="hash_tensor"
)
later(
    "dovetail.sparse",
    functions="col_indices_copy crow_indices_copy dsmm hsmm hspmm indices_copy "
    "resize_as_sparse_ saddmm smm sparse_compressed_tensor sparse_coo_tensor "
    "sparse_csr_tensor spmm sspaddmm values_copy",
    methods="_indices _nnz _values coalesce col_indices crow_indices dense_dim indices "
    "is_coalesced resize_as_sparse_ smm sparse_dim sparse_mask sparse_resize_ "
    "sparse_resize_and_clear_ sspaddmm to_dense to_sparse to_sparse_coo "
    "to_sparse_csr values",
)
later(
    "dovetail.frontend.pool",
    ops="adaptive_avg_pool adaptive_avg_pool_backward adaptive_max_positions avg_pool "
    "avg_pool_backward max_pool max_pool_backward max_pool_slots max_pool_take",
    functions="adaptive_avg_pool1d adaptive_max_pool1d avg_pool1d max_pool1d "
    "max_pool1d_with_indices max_pool2d max_pool3d",
)
later(
    "dovetail.frontend.conv",
    ops="col2im convolution convolution_transpose convolution_weight im2col",
    functions="conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d "
    "convolution",
)
later("dovetail.frontend.einstein", ops="einsum", functions="einsum")
later(
    "dovetail.frontend.distance",
    functions="cdist cosine_similarity pairwise_distance pdist",
)
later(
    "dovetail.frontend.quantile",
    functions="kthvalue median mode nanmedian nanquantile quantile",
    methods="kthvalue median mode nanmedian nanquantile quantile",
)
later("dovetail.ops.attention", ops="attention mixture mixture_backward")
later("dovetail.ops.optim", ops="adam_step_ adam_steps_ sgd_step_ sgd_steps_")
later(
    "dovetail.nn.functional",
    functions="bilinear binary_cross_entropy_with_logits conv_tbc "
    "cosine_embedding_loss ctc_loss grid_sampler grid_sampler_2d grid_sampler_3d "
    "hinge_embedding_loss kl_div margin_ranking_loss native_channel_shuffle "
    "poisson_nll_loss rrelu rrelu_ triplet_margin_loss",
)
later(
    "dovetail.nn.cell_functions",
    functions="gru_cell lstm_cell rnn_relu_cell rnn_tanh_cell",
)
later("dovetail.ops.gru", ops="gru_sequence gru_sequence_backward")
later("dovetail.ops.lstm", ops="lstm_sequence lstm_sequence_backward")
later("dovetail.ops.ctc", ops="ctc_losses ctc_shares")
later("dovetail.ops.grid", ops="grid_taps grid_taps_backward")
later("dovetail.ops.one_hot", ops="one_hot")
later("dovetail.ops.taps", ops="tap_dot tap_spread tap_sum")
