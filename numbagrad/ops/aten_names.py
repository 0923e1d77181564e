"""The operators of torch's dispatcher and their overloads, for ``torch.ops.aten.name.overload``.

Written by ``tools/write_aten_names.py``: ``name:overload,overload``, or ``name`` alone where the
only overload is ``default``. Overloads that write into ``out`` are left out.
"""

from __future__ import annotations

import functools

__all__ = ["overloads"]


@functools.cache
def _table() -> dict[str, frozenset[str]]:
    table = {}
    for entry in _NAMES.split():
        name, _, listed = entry.partition(":")
        table[name] = frozenset(listed.split(",") if listed else ("default",))
    return table


def overloads(name: str) -> frozenset[str]:
    """The overloads that torch has of an operator; none if it has no such operator."""
    return _table().get(name, frozenset())


_NAMES = """
    Bool:Tensor
    Complex:Tensor_Tensor,Tensor_bool,Tensor_float,Tensor_int,bool_Tensor,float_Tensor,int_Tensor
    ComplexImplicit Delete:Dict_Tensor Float:Tensor FloatImplicit Int:Tensor IntImplicit
    ScalarImplicit _adaptive_avg_pool2d _adaptive_avg_pool2d_backward _adaptive_avg_pool3d
    _adaptive_avg_pool3d_backward _add_batch_dim _add_relu:Scalar,Tensor
    _add_relu_:Scalar,Tensor _addmm_activation _aminmax:default,dim
    _amp_foreach_non_finite_check_and_unscale _amp_foreach_non_finite_check_and_unscale_
    _amp_update_scale _amp_update_scale_ _assert_async:default,msg _assert_scalar
    _assert_tensor_metadata _autocast_to_full_precision _autocast_to_reduced_precision _backward
    _batch_norm_impl_index _batch_norm_impl_index_backward _batch_norm_no_update
    _batch_norm_with_update _batch_norm_with_update_functional _cast_Byte _cast_Char
    _cast_Double _cast_Float _cast_Half _cast_Int _cast_Long _cast_Short _cdist_backward
    _cdist_forward _cholesky_solve_helper _choose_qparams_per_tensor _chunk_cat _coalesce
    _coalesced _coalesced_ _compute_linear_combination _conj _conj_copy _conj_physical
    _conv_depthwise2d _convert_indices_from_coo_to_csr _convert_indices_from_csr_to_coo
    _convert_weight_to_int4pack _convert_weight_to_int4pack_for_cpu
    _convolution:default,deprecated _convolution_double_backward _convolution_mode _copy_from
    _copy_from_and_resize _cslt_compress _cslt_sparse_mm _cslt_sparse_mm_search
    _ctc_loss:Tensor,default _ctc_loss_backward:Tensor,default _cudnn_attention_backward
    _cudnn_attention_forward _cudnn_ctc_loss:Tensor,default _cudnn_init_dropout_state _cudnn_rnn
    _cudnn_rnn_backward _cudnn_rnn_flatten_weight _cufft_clear_plan_cache
    _cufft_get_plan_cache_max_size _cufft_get_plan_cache_size _cufft_set_plan_cache_max_size
    _cummax_helper _cummin_helper _debug_has_internal_overlap _dimI _dimV _dim_arange
    _dirichlet_grad _dyn_quant_matmul_4bit _dyn_quant_pack_4bit_weight
    _efficient_attention_backward _efficient_attention_forward _efficientzerotensor
    _embedding_bag _embedding_bag_backward _embedding_bag_dense_backward
    _embedding_bag_forward_only _embedding_bag_per_sample_weights_backward
    _embedding_bag_sparse_backward _empty_affine_quantized _empty_per_channel_affine_quantized
    _euclidean_dist _fake_quantize_learnable_per_channel_affine
    _fake_quantize_learnable_per_channel_affine_backward
    _fake_quantize_learnable_per_tensor_affine
    _fake_quantize_learnable_per_tensor_affine_backward
    _fake_quantize_per_tensor_affine_cachemask_tensor_qparams _fft_c2c _fft_c2r _fft_r2c
    _fill_mem_eff_dropout_mask_ _flash_attention_backward
    _flash_attention_forward:default,quantized _flash_attention_forward_no_dropout_inplace
    _foobar _foreach_abs _foreach_abs_ _foreach_acos _foreach_acos_
    _foreach_add:List,Scalar,ScalarList,Tensor _foreach_add_:List,Scalar,ScalarList,Tensor
    _foreach_addcdiv:Scalar,ScalarList,Tensor _foreach_addcdiv_:Scalar,ScalarList,Tensor
    _foreach_addcmul:Scalar,ScalarList,Tensor _foreach_addcmul_:Scalar,ScalarList,Tensor
    _foreach_asin _foreach_asin_ _foreach_atan _foreach_atan_ _foreach_ceil _foreach_ceil_
    _foreach_clamp_max:List,Scalar,ScalarList _foreach_clamp_max_:List,Scalar,ScalarList
    _foreach_clamp_min:List,Scalar,ScalarList _foreach_clamp_min_:List,Scalar,ScalarList
    _foreach_clone _foreach_copy _foreach_copy_ _foreach_cos _foreach_cos_ _foreach_cosh
    _foreach_cosh_ _foreach_div:List,Scalar,ScalarList,Tensor
    _foreach_div_:List,Scalar,ScalarList,Tensor _foreach_erf _foreach_erf_ _foreach_erfc
    _foreach_erfc_ _foreach_exp _foreach_exp_ _foreach_expm1 _foreach_expm1_ _foreach_floor
    _foreach_floor_ _foreach_frac _foreach_frac_ _foreach_lerp:List,Scalar,ScalarList
    _foreach_lerp_:List,Scalar,ScalarList _foreach_lgamma _foreach_lgamma_ _foreach_log
    _foreach_log10 _foreach_log10_ _foreach_log1p _foreach_log1p_ _foreach_log2 _foreach_log2_
    _foreach_log_ _foreach_max _foreach_maximum:List,Scalar,ScalarList
    _foreach_maximum_:List,Scalar,ScalarList _foreach_minimum:List,Scalar,ScalarList
    _foreach_minimum_:List,Scalar,ScalarList _foreach_mm
    _foreach_mul:List,Scalar,ScalarList,Tensor _foreach_mul_:List,Scalar,ScalarList,Tensor
    _foreach_neg _foreach_neg_ _foreach_norm:Scalar
    _foreach_pow:List,Scalar,ScalarAndTensor,ScalarList _foreach_pow_:List,Scalar,ScalarList
    _foreach_powsum:Scalar _foreach_reciprocal _foreach_reciprocal_ _foreach_round
    _foreach_round_ _foreach_rsqrt _foreach_rsqrt_ _foreach_sigmoid _foreach_sigmoid_
    _foreach_sign _foreach_sign_ _foreach_sin _foreach_sin_ _foreach_sinh _foreach_sinh_
    _foreach_sqrt _foreach_sqrt_ _foreach_sub:List,Scalar,ScalarList
    _foreach_sub_:List,Scalar,ScalarList _foreach_tan _foreach_tan_ _foreach_tanh _foreach_tanh_
    _foreach_trunc _foreach_trunc_ _foreach_zero _foreach_zero_ _functional_assert_async:msg
    _functional_assert_scalar _functional_sym_constrain_range
    _functional_sym_constrain_range_for_size _fused_adagrad:default,tensor_lr
    _fused_adagrad_:default,tensor_lr _fused_adam:default,tensor_lr
    _fused_adam_:default,tensor_lr _fused_adamw:default,tensor_lr
    _fused_adamw_:default,tensor_lr _fused_dropout _fused_moving_avg_obs_fq_helper
    _fused_moving_avg_obs_fq_helper_functional _fused_rms_norm _fused_rms_norm_backward
    _fused_sdp_choice _fused_sgd:default,tensor_lr _fused_sgd_:default,tensor_lr _fw_primal
    _fw_primal_copy _gather_sparse_backward _grad_sum_to_size _grid_sampler_2d_cpu_fallback
    _grid_sampler_2d_cpu_fallback_backward _grouped_mm _has_compatible_shallow_copy_type
    _has_same_storage_numel _histogramdd_bin_edges _histogramdd_from_bin_cts
    _histogramdd_from_bin_tensors _index_put_impl _index_put_impl_:default,hacked_twin _indices
    _indices_copy _int_mm _is_all_true _is_any_true _is_zerotensor
    _jagged_to_padded_dense_forward _lazy_clone _linalg_check_errors _linalg_det:default,result
    _linalg_eigh:default,eigenvalues _linalg_eigvals _linalg_slogdet:default,sign
    _linalg_solve_ex:default,result _linalg_svd:U,default _local_scalar_dense _log_softmax
    _log_softmax_backward_data _logcumsumexp _lstm_mps _lu_with_info _make_dep_token _make_dual
    _make_dual_copy _make_per_channel_quantized_tensor _make_per_tensor_quantized_tensor
    _masked_scale _masked_softmax _masked_softmax_backward _mixed_dtypes_linear _mkldnn_reshape
    _mkldnn_transpose _mkldnn_transpose_ _mps_convolution _mps_convolution_transpose
    _native_batch_norm_legit:default,no_stats _native_batch_norm_legit_functional
    _native_batch_norm_legit_no_training _native_multi_head_attention _ncf_unsqueeze _ncf_view
    _neg_view _neg_view_copy _nested_compute_contiguous_strides_offsets _nested_from_padded
    _nested_from_padded_and_nested_example _nested_from_padded_tensor _nested_get_jagged_dummy
    _nested_get_lengths _nested_get_max_seqlen _nested_get_min_seqlen _nested_get_offsets
    _nested_get_ragged_idx _nested_get_values _nested_get_values_copy _nested_select_backward
    _nested_sum_backward _nested_tensor_from_mask _nested_tensor_from_mask_left_aligned
    _nested_tensor_from_tensor_list _nested_tensor_size _nested_tensor_softmax_with_shape
    _nested_tensor_storage_offsets _nested_tensor_strides _nested_view_from_buffer
    _nested_view_from_buffer_copy _nested_view_from_jagged _nested_view_from_jagged_copy
    _new_zeros_with_same_feature_meta _nnpack_available _nnpack_spatial_convolution _nnz
    _no_grad_embedding_renorm_ _no_grad_fill_ _no_grad_normal_ _no_grad_uniform_ _no_grad_zero_
    _pack_padded_sequence _pack_padded_sequence_backward _pack_sequence _pad_circular _pad_enum
    _pad_packed_sequence _padded_dense_to_jagged_forward _pdist_backward _pdist_forward
    _philox_key_fold_in _philox_key_split _philox_normal _philox_normal_ _philox_uniform
    _philox_uniform_ _pin_memory _prelu_kernel _prelu_kernel_backward _print _propagate_xla_data
    _remove_batch_dim _reshape_alias _reshape_alias_copy _reshape_copy _reshape_from_tensor
    _resize_output _resize_output_ _rowwise_prune _safe_softmax _sample_dirichlet
    _saturate_weight_to_fp16 _scaled_dot_product_attention_math
    _scaled_dot_product_attention_math_for_mps _scaled_dot_product_cudnn_attention
    _scaled_dot_product_cudnn_attention_backward _scaled_dot_product_efficient_attention
    _scaled_dot_product_efficient_attention_backward
    _scaled_dot_product_flash_attention:default,quantized
    _scaled_dot_product_flash_attention_backward _scaled_dot_product_flash_attention_for_cpu
    _scaled_dot_product_flash_attention_for_cpu_backward
    _scaled_dot_product_fused_attention_overrideable
    _scaled_dot_product_fused_attention_overrideable_backward _scaled_grouped_mm
    _scaled_grouped_mm_v2 _scaled_mm _scaled_mm_v2 _segment_reduce_backward _set_item:Tensor
    _shape_as_tensor _slow_conv2d_backward:grad_input,output_mask
    _slow_conv2d_forward:default,output _sobol_engine_draw _sobol_engine_ff_
    _sobol_engine_initialize_state_ _sobol_engine_scramble_ _softmax _softmax_backward_data
    _sparse_addmm _sparse_broadcast_to _sparse_broadcast_to_copy _sparse_bsc_tensor_unsafe
    _sparse_bsr_tensor_unsafe _sparse_compressed_tensor_unsafe
    _sparse_compressed_tensor_with_dims _sparse_coo_tensor_unsafe _sparse_coo_tensor_with_dims
    _sparse_coo_tensor_with_dims_and_tensors _sparse_csc_tensor_unsafe
    _sparse_csr_prod:dim_dtype _sparse_csr_sum:dim_dtype _sparse_csr_tensor_unsafe
    _sparse_log_softmax:default,int _sparse_log_softmax_backward_data _sparse_mask_projection
    _sparse_mm:default,reduce _sparse_mm_reduce_impl _sparse_mm_reduce_impl_backward
    _sparse_semi_structured_addmm _sparse_semi_structured_apply
    _sparse_semi_structured_apply_dense _sparse_semi_structured_linear
    _sparse_semi_structured_mm _sparse_semi_structured_tile _sparse_softmax:default,int
    _sparse_softmax_backward_data _sparse_sparse_matmul _sparse_sum:default,dim,dim_dtype,dtype
    _sparse_sum_backward _spdiags _spsolve _stack _standard_gamma _standard_gamma_grad
    _tensor_to_list _test_ambiguous_defaults:a,b
    _test_autograd_multiple_dispatch:fullcoverage,ntonly _test_autograd_multiple_dispatch_view
    _test_autograd_multiple_dispatch_view_copy _test_check_tensor _test_functorch_fallback
    _test_optional_filled_intlist _test_optional_floatlist _test_optional_intlist
    _test_parallel_materialize _test_serialization_subcmul _test_string_default
    _test_warn_in_autograd _thnn_differentiable_gru_cell_backward
    _thnn_differentiable_lstm_cell_backward _thnn_fused_gru_cell _thnn_fused_gru_cell_backward
    _thnn_fused_lstm_cell _thnn_fused_lstm_cell_backward _thnn_fused_lstm_cell_backward_impl
    _to_copy _to_cpu _to_dense _to_sparse:default,sparse_dim _to_sparse_bsc _to_sparse_bsr
    _to_sparse_csc _to_sparse_csr _to_sparse_semi_structured _transform_bias_rescale_qkv
    _transformer_encoder_layer_fwd _trilinear _triton_multi_head_attention
    _triton_scaled_dot_attention _unique _unique2 _unpack_dual
    _unsafe_index:Tensor,Tensor_hacked_twin _unsafe_index_put:default,hacked_twin
    _unsafe_masked_index _unsafe_masked_index_put_accumulate _unsafe_view
    _upsample_bicubic2d_aa:default,vec _upsample_bicubic2d_aa_backward:default,grad_input
    _upsample_bilinear2d_aa:default,vec _upsample_bilinear2d_aa_backward:default,grad_input
    _upsample_lanczos2d_aa:default,vec _upsample_lanczos2d_aa_backward:default,grad_input
    _upsample_nearest_exact1d:default,vec _upsample_nearest_exact1d_backward:default,grad_input
    _upsample_nearest_exact2d:default,vec _upsample_nearest_exact2d_backward:default,grad_input
    _upsample_nearest_exact3d:default,vec _upsample_nearest_exact3d_backward:default,grad_input
    _use_cudnn_ctc_loss:Tensor,default _use_cudnn_rnn_flatten_weight
    _use_miopen_ctc_loss:Tensor,default _validate_compressed_sparse_indices
    _validate_sparse_bsc_tensor_args _validate_sparse_bsr_tensor_args
    _validate_sparse_compressed_tensor_args _validate_sparse_coo_tensor_args
    _validate_sparse_csc_tensor_args _validate_sparse_csr_tensor_args _values _values_copy
    _version _weight_int4pack_mm _weight_int4pack_mm_for_cpu
    _weight_int4pack_mm_with_scales_and_zeros _weight_int8pack_mm _weight_norm
    _weight_norm_differentiable_backward _weight_norm_interface _weight_norm_interface_backward
    _wrapped_linear_prepack _wrapped_quantized_linear_prepacked abs abs_ absolute absolute_ acos
    acos_ acosh acosh_ adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d
    adaptive_avg_pool3d_backward:grad_input adaptive_max_pool1d adaptive_max_pool2d
    adaptive_max_pool2d_backward:default,grad_input adaptive_max_pool3d
    adaptive_max_pool3d_backward:default,grad_input add:Scalar,Tensor add_:Scalar,Tensor addbmm
    addbmm_ addcdiv addcdiv_ addcmul addcmul_ addmm:default,dtype addmm_ addmv addmv_ addr addr_
    adjoint affine_grid_generator affine_grid_generator_backward alias alias_copy
    all:default,dim,dims allclose alpha_dropout alpha_dropout_ amax amin aminmax angle
    any:default,dim,dims arange:default,start,start_step arccos arccos_ arccosh arccosh_ arcsin
    arcsin_ arcsinh arcsinh_ arctan arctan2 arctan2_ arctan_ arctanh arctanh_ argmax argmin
    argsort:default,stable argwhere as_strided as_strided_ as_strided_copy as_strided_scatter
    as_tensor asin asin_ asinh asinh_ atan atan2 atan2_ atan_ atanh atanh_
    atleast_1d:Sequence,default atleast_2d:Sequence,default atleast_3d:Sequence,default
    avg_pool1d avg_pool2d avg_pool2d_backward:default,grad_input avg_pool3d
    avg_pool3d_backward:default,grad_input backward:TensorList,default baddbmm:default,dtype
    baddbmm_ bartlett_window:default,periodic batch_norm batch_norm_backward
    batch_norm_backward_elemt batch_norm_backward_reduce batch_norm_elemt
    batch_norm_gather_stats batch_norm_gather_stats_with_counts batch_norm_stats
    batch_norm_update_stats bernoulli:Tensor,default,p bernoulli_:Tensor,float bilinear
    binary_cross_entropy binary_cross_entropy_backward:default,grad_input
    binary_cross_entropy_with_logits bincount binomial bitwise_and:Scalar,Scalar_Tensor,Tensor
    bitwise_and_:Scalar,Tensor bitwise_left_shift:Scalar_Tensor,Tensor,Tensor_Scalar
    bitwise_left_shift_:Tensor,Tensor_Scalar bitwise_not bitwise_not_
    bitwise_or:Scalar,Scalar_Tensor,Tensor bitwise_or_:Scalar,Tensor
    bitwise_right_shift:Scalar_Tensor,Tensor,Tensor_Scalar
    bitwise_right_shift_:Tensor,Tensor_Scalar bitwise_xor:Scalar,Scalar_Tensor,Tensor
    bitwise_xor_:Scalar,Tensor blackman_window:default,periodic block_diag bmm:default,dtype
    broadcast_tensors broadcast_to bucketize:Scalar,Tensor can_cast cartesian_prod cat cauchy
    cauchy_ ccol_indices ccol_indices_copy cdist ceil ceil_ celu celu_ chain_matmul chalf
    channel_shuffle cholesky cholesky_inverse cholesky_solve choose_qparams_optimized chunk
    clamp:Tensor,default clamp_:Tensor,default clamp_max:Tensor,default
    clamp_max_:Tensor,default clamp_min:Tensor,default clamp_min_:Tensor,default clear:Tensor
    clip:Tensor,default clip_:Tensor,default clone coalesce col2im col_indices col_indices_copy
    column_stack combinations complex concat concatenate conj conj_physical conj_physical_
    constant_pad_nd contiguous conv1d:default,padding conv2d:default,padding
    conv3d:default,padding conv_depthwise3d conv_tbc conv_tbc_backward conv_transpose1d
    conv_transpose2d:input conv_transpose3d:input convolution convolution_backward
    convolution_backward_overrideable convolution_overrideable copy:Dict_Tensor,default
    copy_:Tensor,default,float,int copy_sparse_to_sparse copy_sparse_to_sparse_
    copysign:Scalar,Tensor copysign_:Scalar,Tensor corrcoef cos cos_ cosh cosh_
    cosine_embedding_loss cosine_similarity count:Tensor count_nonzero:default,dim_IntList cov
    cpu cross cross_entropy_loss crow_indices crow_indices_copy ctc_loss:IntList,Tensor cuda
    cudnn_affine_grid_generator cudnn_affine_grid_generator_backward cudnn_batch_norm
    cudnn_batch_norm_backward cudnn_convolution cudnn_convolution_add_relu
    cudnn_convolution_relu cudnn_convolution_transpose cudnn_grid_sampler
    cudnn_grid_sampler_backward cudnn_is_acceptable cummax cummaxmin_backward cummin cumprod
    cumprod_ cumprod_backward cumsum cumsum_ cumulative_trapezoid:dx,x data deg2rad deg2rad_
    dense_dim dequantize:list,self,tensor,tensors det detach detach_ detach_copy diag diag_embed
    diagflat diagonal diagonal_backward diagonal_copy diagonal_scatter dict:Dict_Tensor,Tensor
    diff digamma digamma_ dim dist dist_backward
    div:Scalar,Scalar_mode,Tensor,Tensor_mode,out_mode
    div_:Scalar,Scalar_mode,Tensor,Tensor_mode
    divide:Scalar,Scalar_mode,Tensor,Tensor_mode,out_mode
    divide_:Scalar,Scalar_mode,Tensor,Tensor_mode dot dropout dropout_ dsplit:array,int dstack
    einsum:default,sublist element_size elu elu_ elu_backward:default,grad_input embedding
    embedding_backward embedding_bag:default,padding_idx embedding_dense_backward
    embedding_renorm embedding_renorm_ embedding_sparse_backward empty:memory_format empty_like
    empty_permuted empty_quantized empty_strided eq:Scalar,Tensor,Tensor_list eq_:Scalar,Tensor
    equal erf erf_ erfc erfc_ erfinv erfinv_ exp exp2 exp2_ exp_ expand expand_as expand_copy
    expm1 expm1_ exponential exponential_ eye:default,m fake_quantize_per_channel_affine
    fake_quantize_per_channel_affine_cachemask
    fake_quantize_per_channel_affine_cachemask_backward
    fake_quantize_per_tensor_affine:default,tensor_qparams
    fake_quantize_per_tensor_affine_cachemask fake_quantize_per_tensor_affine_cachemask_backward
    fbgemm_linear_fp16_weight fbgemm_linear_fp16_weight_fp32_activation
    fbgemm_linear_int8_weight fbgemm_linear_int8_weight_fp32_activation
    fbgemm_linear_quantize_weight fbgemm_pack_gemm_matrix_fp16
    fbgemm_pack_quantized_matrix:KN,default feature_alpha_dropout feature_alpha_dropout_
    feature_dropout feature_dropout_ fft_fft fft_fft2 fft_fftfreq fft_fftn fft_fftshift fft_hfft
    fft_hfft2 fft_hfftn fft_ifft fft_ifft2 fft_ifftn fft_ifftshift fft_ihfft fft_ihfft2
    fft_ihfftn fft_irfft fft_irfft2 fft_irfftn fft_rfft fft_rfft2 fft_rfftfreq fft_rfftn
    fill:Scalar,Tensor fill_:Scalar,Tensor fill_diagonal_ fix fix_ flatten:using_ints
    flatten_dense_tensors flip fliplr flipud float_power:Scalar,Tensor_Scalar,Tensor_Tensor
    float_power_:Scalar,Tensor floor floor_ floor_divide:Scalar,default
    floor_divide_:Scalar,Tensor fmax fmin fmod:Scalar,Tensor fmod_:Scalar,Tensor frac frac_
    fractional_max_pool2d:default,output fractional_max_pool2d_backward:default,grad_input
    fractional_max_pool3d:default,output fractional_max_pool3d_backward:default,grad_input
    frexp:Tensor frobenius_norm:dim from_file full full_like fused_moving_avg_obs_fake_quant
    gather gather_backward gcd gcd_ ge:Scalar,Tensor ge_:Scalar,Tensor gelu gelu_
    gelu_backward:default,grad_input geometric geometric_ geqrf:a,default ger
    get:Tensor,default_Tensor get_device get_gradients glu glu_backward:default,grad_input
    glu_backward_jvp glu_jvp grad
    gradient:array,scalararray,scalarint,scalarrayarray,scalarrayint,tensorarray,tensorarrayint
    greater:Scalar,Tensor greater_:Scalar,Tensor greater_equal:Scalar,Tensor
    greater_equal_:Scalar,Tensor grid_sampler grid_sampler_2d grid_sampler_2d_backward
    grid_sampler_3d grid_sampler_3d_backward group_norm gru:data,input gru_cell gt:Scalar,Tensor
    gt_:Scalar,Tensor hamming_window:default,periodic,periodic_alpha,periodic_alpha_beta
    hann_window:default,periodic hardshrink hardshrink_backward:default,grad_input hardsigmoid
    hardsigmoid_ hardsigmoid_backward:default,grad_input hardswish hardswish_ hardswish_backward
    hardtanh hardtanh_ hardtanh_backward:default,grad_input hash_tensor heaviside heaviside_
    hinge_embedding_loss histc histogram:bin_ct,bins_tensor
    histogramdd:TensorList_bins,default,int_bins hsplit:array,int hspmm hstack huber_loss
    huber_loss_backward hypot hypot_ i0 i0_ igamma igamma_ igammac igammac_ im2col imag
    index:Tensor,Tensor_hacked_twin,list_Tensor index_add index_add_ index_copy index_copy_
    index_fill:int_Scalar,int_Tensor index_fill_:int_Scalar,int_Tensor
    index_put:default,hacked_twin index_put_:default,hacked_twin index_reduce index_reduce_
    index_select index_select_backward indices indices_copy
    infinitely_differentiable_gelu_backward inner instance_norm int_repr inverse is_coalesced
    is_complex is_conj is_contiguous:default,memory_format is_distributed is_floating_point
    is_inference is_leaf is_neg is_non_overlapping_and_dense is_nonzero is_pinned is_same_size
    is_set_to is_signed is_strides_like_format is_vulkan_available isclose isfinite
    isin:Scalar_Tensor,Tensor_Scalar,Tensor_Tensor isinf isnan isneginf isposinf isreal istft
    item items:Tensor kaiser_window:beta,default,periodic keys:Tensor kl_div kron
    kthvalue:default,values l1_loss layer_norm lcm lcm_ ldexp:Tensor ldexp_ le:Scalar,Tensor
    le_:Scalar,Tensor leaky_relu leaky_relu_ leaky_relu_backward:default,grad_input
    len:Dict_Tensor,Tensor lerp:Scalar,Tensor lerp_:Scalar,Tensor less:Scalar,Tensor
    less_:Scalar,Tensor less_equal:Scalar,Tensor less_equal_:Scalar,Tensor lgamma lgamma_ lift
    lift_fresh lift_fresh_copy linalg__powsum linalg_cholesky linalg_cholesky_ex:L,default
    linalg_cond:default,p_str linalg_cross linalg_det linalg_diagonal linalg_eig
    linalg_eigh:default,eigvals linalg_eigvals linalg_eigvalsh linalg_householder_product
    linalg_inv linalg_inv_ex:default,inverse linalg_ldl_factor linalg_ldl_factor_ex
    linalg_ldl_solve linalg_lstsq linalg_lu linalg_lu_factor linalg_lu_factor_ex linalg_lu_solve
    linalg_matmul linalg_matrix_exp linalg_matrix_norm:default,str_ord linalg_matrix_power
    linalg_matrix_rank:atol_rtol_float,atol_rtol_tensor,default,out_tol_tensor,tol_tensor
    linalg_multi_dot linalg_norm:default,ord_str
    linalg_pinv:atol_rtol_float,atol_rtol_tensor,default,out_rcond_tensor,rcond_tensor linalg_qr
    linalg_slogdet linalg_solve linalg_solve_ex linalg_solve_triangular linalg_svd:U,default
    linalg_svdvals linalg_tensorinv linalg_tensorsolve linalg_vander linalg_vecdot
    linalg_vector_norm linear linear_backward
    linspace:Scalar_Tensor,Tensor_Scalar,Tensor_Tensor,default log log10 log10_ log1p log1p_
    log2 log2_ log_ log_normal log_normal_ log_sigmoid log_sigmoid_backward:default,grad_input
    log_sigmoid_forward:default,output log_softmax:int logaddexp logaddexp2 logcumsumexp logdet
    logical_and logical_and_ logical_not logical_not_ logical_or logical_or_ logical_xor
    logical_xor_ logit logit_ logit_backward:default,grad_input
    logspace:Scalar_Tensor,Tensor_Scalar,Tensor_Tensor,default logsumexp lstm:data,input
    lstm_cell lstm_mps_backward lt:Scalar,Tensor lt_:Scalar,Tensor lu_solve lu_unpack
    mH:a,default mT:a,default margin_ranking_loss masked_fill:Scalar,Tensor
    masked_fill_:Scalar,Tensor masked_scatter masked_scatter_ masked_scatter_backward
    masked_select masked_select_backward matmul matmul_backward matrix_H:a,default matrix_exp
    matrix_exp_backward matrix_power max:default,dim,dim_max,other max_pool1d
    max_pool1d_with_indices max_pool2d max_pool2d_backward max_pool2d_with_indices
    max_pool2d_with_indices_backward:default,grad_input max_pool3d max_pool3d_with_indices
    max_pool3d_with_indices_backward:default,grad_input max_unpool2d max_unpool3d maximum
    mean:default,dim median:default,dim,dim_values meshgrid:default,indexing
    min:default,dim,dim_min,other minimum miopen_batch_norm miopen_batch_norm_backward
    miopen_convolution miopen_convolution_add_relu miopen_convolution_relu
    miopen_convolution_transpose miopen_ctc_loss:Tensor,default miopen_depthwise_convolution
    miopen_rnn miopen_rnn_backward mish mish_ mish_backward mkldnn_adaptive_avg_pool2d
    mkldnn_adaptive_avg_pool2d_backward mkldnn_convolution mkldnn_linear mkldnn_linear_backward
    mkldnn_linear_backward_input mkldnn_linear_backward_weights mkldnn_max_pool2d
    mkldnn_max_pool2d_backward mkldnn_max_pool3d mkldnn_max_pool3d_backward
    mkldnn_reorder_conv2d_weight mkldnn_reorder_conv3d_weight mkldnn_rnn_layer
    mkldnn_rnn_layer_backward mm:default,dtype mode:default,values moveaxis:int,intlist
    movedim:int,intlist mps_convolution_backward mps_convolution_transpose_backward mse_loss
    mse_loss_backward:default,grad_input msort mul:Scalar,Tensor mul_:Scalar,Tensor
    multi_margin_loss multi_margin_loss_backward:default,grad_input multilabel_margin_loss
    multilabel_margin_loss_backward:default,grad_input
    multilabel_margin_loss_forward:default,output multinomial multiply:Scalar,Tensor
    multiply_:Scalar,Tensor mv mvlgamma mvlgamma_ nan_to_num nan_to_num_ nanmean
    nanmedian:default,dim,dim_values nanquantile:default,scalar nansum narrow:Tensor,default
    narrow_copy native_batch_norm native_batch_norm_backward native_channel_shuffle
    native_dropout native_dropout_backward native_group_norm native_group_norm_backward
    native_layer_norm native_layer_norm_backward native_norm:ScalarOpt_dim_dtype,default
    ne:Scalar,Tensor,Tensor_list ne_:Scalar,Tensor neg neg_ negative negative_
    nested_to_padded_tensor new_empty new_empty_strided new_full new_ones new_zeros nextafter
    nextafter_ nll_loss nll_loss2d nll_loss2d_backward:default,grad_input
    nll_loss2d_forward:default,output nll_loss_backward:default,grad_input
    nll_loss_forward:default,output nll_loss_nd nonzero nonzero_numpy nonzero_static
    norm:Scalar,ScalarOpt_dim,ScalarOpt_dim_dtype,ScalarOpt_dtype norm_except_dim
    normal:Tensor_Tensor,Tensor_float,float_Tensor,float_float normal_ normal_functional
    not_equal:Scalar,Tensor not_equal_:Scalar,Tensor nuclear_norm:default,dim numel
    numpy_T:a,default one_hot ones ones_like orgqr ormqr outer output_nr pad pad_sequence
    pairwise_distance pdist permute permute_copy pin_memory pinverse pixel_shuffle
    pixel_unshuffle poisson poisson_nll_loss polar polygamma polygamma_
    pop:Dict_Tensor,Dict_default_Tensor popitem:Tensor positive
    pow:Scalar,Tensor_Scalar,Tensor_Tensor pow_:Scalar,Tensor prelu prod:default,dim_int
    promote_types put put_ q_per_channel_axis q_per_channel_scales q_per_channel_zero_points
    q_scale q_zero_point qr:Q,default qscheme quantile:default,scalar quantize_per_channel
    quantize_per_tensor:default,tensor_qparams,tensors quantize_per_tensor_dynamic
    quantized_batch_norm quantized_gru:data,data_legacy,input,input_legacy quantized_gru_cell
    quantized_lstm:data,data_legacy,input,input_legacy quantized_lstm_cell quantized_max_pool1d
    quantized_max_pool2d quantized_max_pool3d quantized_rnn_relu_cell quantized_rnn_tanh_cell
    rad2deg rad2deg_ rand:default,generator rand_like:default,generator
    randint:default,generator,low,low_generator
    randint_like:Tensor,Tensor_generator,default,generator,low_dtype,low_generator_dtype
    randn:default,generator randn_like:default,generator random:default,from,to
    random_:default,from,to randperm:default,generator range:default,out_,step ravel real
    reciprocal reciprocal_ record_stream reflection_pad1d
    reflection_pad1d_backward:default,grad_input reflection_pad2d
    reflection_pad2d_backward:default,grad_input reflection_pad3d
    reflection_pad3d_backward:default,grad_input relu relu6 relu6_ relu_
    remainder:Scalar,Scalar_Tensor,Tensor remainder_:Scalar,Tensor remove:Tensor renorm renorm_
    repeat repeat_interleave:Tensor,self_Tensor,self_int replication_pad1d
    replication_pad1d_backward:default,grad_input replication_pad2d
    replication_pad2d_backward:default,grad_input replication_pad3d
    replication_pad3d_backward:default,grad_input requires_grad_ reshape reshape_as resize
    resize_ resize_as resize_as_ resize_as_sparse resize_as_sparse_ resolve_conj resolve_neg
    result_type:Scalar,Scalar_Scalar,Scalar_Tensor,Tensor retain_grad retains_grad rms_norm
    rnn_relu:data,input rnn_relu_cell rnn_tanh:data,input rnn_tanh_cell roll rot90
    round:decimals,default round_:decimals,default row_indices row_indices_copy row_stack rrelu
    rrelu_ rrelu_with_noise rrelu_with_noise_ rrelu_with_noise_backward
    rrelu_with_noise_functional rsqrt rsqrt_ rsub:Scalar,Tensor scalar_tensor
    scaled_dot_product_attention scatter:reduce,src,value,value_reduce
    scatter_:reduce,src,value,value_reduce scatter_add scatter_add_ scatter_reduce:two
    scatter_reduce_:two searchsorted:Scalar,Tensor segment_reduce select:int select_backward
    select_copy:int select_scatter selu selu_
    set:default,source_Storage,source_Storage_storage_offset,source_Tensor
    set_:default,source_Storage,source_Storage_storage_offset,source_Tensor,source_Tensor_storage_offset
    set_data setdefault:Tensor sgn sgn_ sigmoid sigmoid_ sigmoid_backward:default,grad_input
    sign sign_ signbit silu silu_ silu_backward:default,grad_input sin sin_ sinc sinc_ sinh
    sinh_ size:default,int slice:Tensor slice_backward slice_copy:Tensor slice_inverse
    slice_scatter slogdet slow_conv3d slow_conv3d_forward:default,output slow_conv_dilated2d
    slow_conv_dilated3d slow_conv_transpose2d slow_conv_transpose3d smm smooth_l1_loss
    smooth_l1_loss_backward:default,grad_input soft_margin_loss
    soft_margin_loss_backward:default,grad_input softmax:int softplus
    softplus_backward:default,grad_input softshrink softshrink_backward:default,grad_input
    sort:Tensor,default,stable,values,values_stable sorted:Tensor
    sparse_bsc_tensor:ccol_row_value,ccol_row_value_size
    sparse_bsr_tensor:crow_col_value,crow_col_value_size
    sparse_compressed_tensor:comp_plain_value,comp_plain_value_size
    sparse_coo_tensor:indices,indices_size,size
    sparse_csc_tensor:ccol_row_value,ccol_row_value_size
    sparse_csr_tensor:crow_col_value,crow_col_value_size sparse_dim sparse_mask sparse_resize
    sparse_resize_ sparse_resize_and_clear sparse_resize_and_clear_ sparse_sampled_addmm
    special_airy_ai special_bessel_j0 special_bessel_j1 special_bessel_y0 special_bessel_y1
    special_chebyshev_polynomial_t:default,n_scalar,x_scalar
    special_chebyshev_polynomial_u:default,n_scalar,x_scalar
    special_chebyshev_polynomial_v:default,n_scalar,x_scalar
    special_chebyshev_polynomial_w:default,n_scalar,x_scalar special_digamma special_entr
    special_erf special_erfc special_erfcx special_erfinv special_exp2 special_expit
    special_expm1 special_gammainc special_gammaincc special_gammaln
    special_hermite_polynomial_h:default,n_scalar,x_scalar
    special_hermite_polynomial_he:default,n_scalar,x_scalar special_i0 special_i0e special_i1
    special_i1e special_laguerre_polynomial_l:default,n_scalar,x_scalar
    special_legendre_polynomial_p:default,n_scalar,x_scalar special_log1p special_log_ndtr
    special_log_softmax special_logit special_logsumexp special_modified_bessel_i0
    special_modified_bessel_i1 special_modified_bessel_k0 special_modified_bessel_k1
    special_multigammaln special_ndtr special_ndtri special_polygamma special_psi special_round
    special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1
    special_shifted_chebyshev_polynomial_t:default,n_scalar,x_scalar
    special_shifted_chebyshev_polynomial_u:default,n_scalar,x_scalar
    special_shifted_chebyshev_polynomial_v:default,n_scalar,x_scalar
    special_shifted_chebyshev_polynomial_w:default,n_scalar,x_scalar special_sinc
    special_softmax special_spherical_bessel_j0 special_xlog1py:default,other_scalar,self_scalar
    special_xlogy:default,other_scalar,self_scalar special_zeta:default,other_scalar,self_scalar
    split:Tensor,default,sizes split_copy:Tensor split_with_sizes split_with_sizes_copy sqrt
    sqrt_ square square_ squeeze:default,dim,dims squeeze_:default,dim,dims
    squeeze_copy:default,dim,dims sspaddmm stack std:correction,default,dim
    std_mean:correction,default,dim stft:center,default storage_offset stride:default,int
    sub:Scalar,Tensor sub_:Scalar,Tensor subtract:Scalar,Tensor subtract_:Scalar,Tensor
    sum:default,dim_IntList sum_to_size svd:U,default swapaxes swapaxes_ swapdims swapdims_
    sym_constrain_range sym_constrain_range_for_size sym_is_contiguous sym_numel
    sym_size:default,int sym_storage_offset sym_stride:default,int t t_ t_copy take
    take_along_dim tan tan_ tanh tanh_ tanh_backward:default,grad_input
    tensor_split:indices,sections,tensor_indices_or_sections tensordot thnn_conv2d threshold
    threshold_ threshold_backward:default,grad_input tile
    to:device,dtype,other,prim_Device,prim_dtype,prim_other to_dense to_dense_backward to_mkldnn
    to_mkldnn_backward to_padded_tensor to_sparse:default,sparse_dim to_sparse_bsc to_sparse_bsr
    to_sparse_csc to_sparse_csr topk:default,values trace trace_backward transpose:int
    transpose_ transpose_copy:int trapezoid:dx,x trapz:dx,x triangular_solve:X,default tril
    tril_ tril_indices triplet_margin_loss triu triu_ triu_indices true_divide:Scalar,Tensor
    true_divide_:Scalar,Tensor trunc trunc_ type_as unbind:int unbind_copy:int unflatten:int
    unflatten_dense_tensors unfold unfold_backward unfold_copy uniform uniform_
    unique_consecutive unique_dim unique_dim_consecutive unsafe_chunk unsafe_split:Tensor
    unsafe_split_with_sizes unsqueeze unsqueeze_ unsqueeze_copy update:Tensor
    upsample_bicubic2d:default,vec upsample_bicubic2d_backward:default,grad_input
    upsample_bilinear2d:default,vec upsample_bilinear2d_backward:default,grad_input
    upsample_linear1d:default,vec upsample_linear1d_backward:default,grad_input
    upsample_nearest1d:default,vec upsample_nearest1d_backward:default,grad_input
    upsample_nearest2d:default,vec upsample_nearest2d_backward:default,grad_input
    upsample_nearest3d:default,vec upsample_nearest3d_backward:default,grad_input
    upsample_trilinear3d:default,vec upsample_trilinear3d_backward:default,grad_input
    value_selecting_reduction_backward values:Tensor,default values_copy vander
    var:correction,default,dim var_mean:correction,default,dim vdot view:default,dtype view_as
    view_as_complex view_as_complex_copy view_as_real view_as_real_copy view_copy:default,dtype
    vsplit:array,int vstack where:Scalar,ScalarOther,ScalarSelf,default,self
    xlogy:OutScalar_Other,OutScalar_Self,OutTensor,Scalar_Other,Scalar_Self,Tensor
    xlogy_:Scalar_Other,Tensor zero zero_ zeros zeros_like
"""
