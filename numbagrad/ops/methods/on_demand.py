"""Operators whose files are imported when a program first asks for one of them.

Most programs call none of these, and importing all of them would take longer than many programs
run. The public namespace looks its names up here; on Tensor stands, until then, a method that
imports the file and calls what that installed.
"""

from __future__ import annotations

import importlib
from typing import Any

from ...tensor import Tensor
from .registry import ON_DEMAND

__all__: list[str] = []

#: The public functions of every file.
FUNCTIONS: dict[str, str] = {
    "numbagrad.nn.native": """
        adaptive_avg_pool1d adaptive_max_pool1d alpha_dropout alpha_dropout_ avg_pool1d batch_norm
        binary_cross_entropy_with_logits constant_pad_nd convolution cosine_embedding_loss ctc_loss
        dropout dropout_ embedding_bag feature_alpha_dropout feature_alpha_dropout_ feature_dropout
        feature_dropout_ grid_sampler grid_sampler_2d grid_sampler_3d
        group_norm hinge_embedding_loss instance_norm kl_div layer_norm
        margin_ranking_loss max_pool1d max_pool1d_with_indices max_pool2d max_pool3d
        native_batch_norm native_channel_shuffle native_dropout native_group_norm
        native_layer_norm poisson_nll_loss rms_norm triplet_margin_loss""",
    "numbagrad.nn.native_cells": """
        gru gru_cell lstm lstm_cell rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell""",
    "numbagrad.nn.native_layers": """
        affine_grid_generator conv_tbc embedding_renorm_ fake_quantize_per_channel_affine
        fake_quantize_per_tensor_affine""",
    "numbagrad.ops.methods.older_names": """
        frobenius_norm from_file gcd_ i0_ is_distributed lcm_ ldexp_ nuclear_norm""",
    "numbagrad.ops.methods.removed_functions": "eig lstsq matrix_rank solve symeig",
    "numbagrad.control_flow": """
        compiled_with_cxx11_abi cond get_file_path has_lapack has_mkl has_openmp has_spectral
        init_num_threads is_vulkan_available sym_sqrt sym_sum while_loop""",
    "numbagrad.ops.reductions.calculus": "cumulative_trapezoid gradient trapezoid trapz",
    "numbagrad.ops.pointwise.integers": """
        cartesian_prod combinations frexp gcd lcm ldexp unravel_index""",
    "numbagrad.ops.indexing.replacements": """
        as_strided_scatter fill nanquantile put renorm""",
    "numbagrad.ops.indexing.masked_index": "nonzero_static",
    "numbagrad.ops.reductions.histograms": "histogram histogramdd",
    "numbagrad.ops.reductions.segments": "segment_reduce",
    "numbagrad.ops.pointwise.special_functions": "mvlgamma polygamma",
    "numbagrad.ops.linear_algebra.least_squares": "pinverse",
    "numbagrad.ops.linear_algebra.lu": "lu lu_solve lu_unpack",
    "numbagrad.ops.linear_algebra.matrix_functions": "geqrf matrix_exp orgqr ormqr vander",
    "numbagrad.ops.linear_algebra.older_functions": """
        cholesky_inverse cholesky_solve qr svd triangular_solve""",
    "numbagrad.ops.linear_algebra.low_rank": "pca_lowrank svd_lowrank",
    "numbagrad.distributions.draws": "binomial poisson",
    "numbagrad.ops.spectra.spectrogram": "istft stft",
    "numbagrad.ops.creation.windows": """
        bartlett_window blackman_window hamming_window hann_window kaiser_window""",
}
#: The methods of Tensor that every file installs.
METHODS: dict[str, str] = {
    "numbagrad.ops.conversion.sharing": "is_shared share_memory_",
    "numbagrad.numpy_protocols": "__array_function__ __array_ufunc__",
    "numbagrad.ops.methods.removed_functions": "eig lstsq reinforce solve symeig",
    "numbagrad.ops.pointwise.integers": "frexp gcd gcd_ lcm lcm_ ldexp ldexp_",
    "numbagrad.ops.indexing.replacements": """
        apply_ as_strided_scatter map2_ map_ nanquantile put put_ renorm renorm_""",
    "numbagrad.ops.indexing.masked_index": "nonzero_static",
    "numbagrad.ops.reductions.histograms": "histogram",
    "numbagrad.ops.methods.rare_methods": """
        __array_namespace__ __nonzero__ __rdiv__ const_data_ptr dense_dim dim_order is_coalesced
        is_distributed is_set_to module_load resize resize_as sparse_dim float_power_
        hardshrink new_empty_strided to_device""",
    "numbagrad.ops.methods.sparse_methods": """
        ccol_indices coalesce col_indices crow_indices indices resize_as_sparse_ row_indices smm
        sparse_mask sparse_resize_ sparse_resize_and_clear_ sspaddmm to_sparse to_sparse_bsc
        to_sparse_bsr to_sparse_coo to_sparse_csc to_sparse_csr values""",
    "numbagrad.ops.pointwise.special_functions": "mvlgamma mvlgamma_ polygamma polygamma_",
    "numbagrad.ops.linear_algebra.least_squares": "pinverse",
    "numbagrad.ops.linear_algebra.lu": "lu lu_solve",
    "numbagrad.ops.linear_algebra.matrix_functions": "geqrf matrix_exp orgqr ormqr",
    "numbagrad.ops.linear_algebra.older_functions": """
        cholesky_inverse cholesky_solve qr svd triangular_solve""",
    "numbagrad.ops.spectra.spectrogram": "istft stft",
}


def homes() -> dict[str, str]:
    """For every public function the module that defines it, as ``lazy_names`` takes them."""
    return {name: home for home, names in FUNCTIONS.items() for name in names.split()}


def load_all() -> None:
    """Import all files: for what looks at every function there is."""
    for home in (*FUNCTIONS, *METHODS):
        importlib.import_module(home)


def _waiting(name: str, home: str) -> Any:
    """The method that stands on Tensor until its file is imported."""

    def method(self: Tensor, *arguments: Any, **options: Any) -> Any:
        importlib.import_module(home)
        return getattr(Tensor, name)(self, *arguments, **options)

    method.__name__ = name
    method.__qualname__ = f"Tensor.{name}"
    return method


def _install() -> None:
    for home, names in METHODS.items():
        for name in names.split():
            ON_DEMAND.add(name)
            setattr(Tensor, name, _waiting(name, home))


_install()
