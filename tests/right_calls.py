"""Right calls of public functions that the operator table does not call, or calls in other words.

``wrong_inputs.py`` makes wrong calls from them. Each is written once for all namespaces.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import numbagrad

RIGHT_CALLS: list[Callable[[Any], Any]] = []


def floats(*shape: int) -> Any:
    """Positive floats below one."""
    values = (np.arange(int(np.prod(shape))) % 7 + 1) / 8
    return numbagrad.from_numpy(np.asarray(values.reshape(shape), np.float32))


def ints(*values: Any) -> Any:
    """A tensor of int64."""
    return numbagrad.tensor(list(values))


def _add(*calls: Callable[[Any], Any]) -> None:
    RIGHT_CALLS.extend(calls)


# --- what makes tensors ---------------------------------------------------------------------------

_add(
    lambda t: t.arange(5),
    lambda t: t.arange(0, 5, 2, dtype=t.float32),
    lambda t: t.range(0, 4),
    lambda t: t.linspace(0.0, 1.0, 5),
    lambda t: t.logspace(0.0, 1.0, 5),
    lambda t: t.zeros(2, 3),
    lambda t: t.ones([2, 3], dtype=t.float64),
    lambda t: t.empty((2, 3)),
    lambda t: t.full((2, 3), 1.5),
    lambda t: t.zeros_like(floats(2, 3)),
    lambda t: t.ones_like(floats(2, 3), dtype=t.int64),
    lambda t: t.empty_like(floats(2, 3)),
    lambda t: t.full_like(floats(2, 3), 2),
    lambda t: t.empty_strided((2, 3), (3, 1)),
    lambda t: t.eye(3, 4),
    lambda t: t.scalar_tensor(1.5),
    lambda t: t.tril_indices(3, 3, 1),
    lambda t: t.triu_indices(3, 3, 1),
    lambda t: t.as_tensor([1.0, 2.0]),
    lambda t: t.asarray([1.0, 2.0]),
    lambda t: t.tensor([1.0, 2.0]),
    lambda t: t.rand(2, 3),
    lambda t: t.randn(2, 3),
    lambda t: t.randint(0, 5, (2, 3)),
    lambda t: t.randint(5, (2,)),
    lambda t: t.randperm(5),
    lambda t: t.rand_like(floats(2)),
    lambda t: t.randn_like(floats(2)),
    lambda t: t.randint_like(floats(2), 5),
    lambda t: t.normal(floats(3), floats(3)),
    lambda t: t.normal(0.0, 1.0, (2, 3)),
    lambda t: t.bernoulli(floats(3)),
    lambda t: t.multinomial(floats(4), 2),
    lambda t: t.bartlett_window(5),
    lambda t: t.blackman_window(5),
    lambda t: t.hamming_window(5),
    lambda t: t.hann_window(5, True),
    lambda t: t.kaiser_window(5),
    lambda t: t.fft.fftfreq(5, 0.5),
    lambda t: t.fft.rfftfreq(5, 0.5),
)

# --- questions ------------------------------------------------------------------------------------

_add(
    lambda t: t.allclose(floats(3), floats(3)),
    lambda t: t.equal(floats(3), floats(3)),
    lambda t: t.is_same_size(floats(3), floats(3)),
    lambda t: t.is_complex(floats(3)),
    lambda t: t.is_floating_point(floats(3)),
    lambda t: t.is_nonzero(floats(1)),
    lambda t: t.is_signed(floats(1)),
    lambda t: t.is_conj(floats(1)),
    lambda t: t.is_neg(floats(1)),
    lambda t: t.is_inference(floats(1)),
    lambda t: t.isreal(floats(3)),
    lambda t: t.numel(floats(3)),
    lambda t: t.get_device(floats(3)),
    lambda t: t.can_cast(t.float32, t.float64),
    lambda t: t.promote_types(t.float32, t.int64),
    lambda t: t.result_type(floats(3), 1.5),
    lambda t: t.broadcast_shapes((2, 1), (3,)),
    lambda t: t.unique(ints(3, 1, 3)),
    lambda t: t.unique(floats(3, 2), dim=0),
    lambda t: t.unique_consecutive(ints(3, 3, 1)),
    lambda t: t.bucketize(floats(3), floats(4)),
    lambda t: t.searchsorted(floats(4), floats(3)),
    lambda t: t.histogram(floats(6), 3),
    lambda t: t.unravel_index(ints(3, 1), (2, 3)),
)

# --- complex numbers, views and copies of views ---------------------------------------------------

_add(
    lambda t: t.complex(floats(3), floats(3)),
    lambda t: t.polar(floats(3), floats(3)),
    lambda t: t.conj(floats(3)),
    lambda t: t.conj_physical(floats(3)),
    lambda t: t.real(floats(3)),
    lambda t: t.imag(floats(3).to(numbagrad.complex64)),
    lambda t: t.resolve_conj(floats(3)),
    lambda t: t.resolve_neg(floats(3)),
    lambda t: t.view_as_complex(floats(3, 2)),
    lambda t: t.view_as_real(floats(3).to(numbagrad.complex64)),
    lambda t: t.detach(floats(3)),
    lambda t: t.alias_copy(floats(3)),
    lambda t: t.as_strided_copy(floats(6), (2, 2), (1, 2)),
    lambda t: t.diagonal_copy(floats(3, 3)),
    lambda t: t.expand_copy(floats(1, 3), (2, 3)),
    lambda t: t.narrow_copy(floats(5), 0, 1, 2),
    lambda t: t.permute_copy(floats(2, 3), (1, 0)),
    lambda t: t.select_copy(floats(2, 3), 0, 1),
    lambda t: t.slice_copy(floats(5), 0, 1, 3),
    lambda t: t.split_copy(floats(4), 2),
    lambda t: t.split_with_sizes_copy(floats(4), (1, 3)),
    lambda t: t.squeeze_copy(floats(1, 3)),
    lambda t: t.t_copy(floats(2, 3)),
    lambda t: t.transpose_copy(floats(2, 3), 0, 1),
    lambda t: t.unbind_copy(floats(2, 3)),
    lambda t: t.unfold_copy(floats(5), 0, 2, 1),
    lambda t: t.unsqueeze_copy(floats(3), 0),
    lambda t: t.view_copy(floats(6), (2, 3)),
)

# --- linear algebra -------------------------------------------------------------------------------

_add(
    lambda t: t.linalg.cross(floats(2, 3), floats(2, 3)),
    lambda t: t.linalg.det(floats(3, 3)),
    lambda t: t.linalg.diagonal(floats(3, 3)),
    lambda t: t.linalg.eigvalsh(floats(3, 3)),
    lambda t: t.linalg.inv(numbagrad.eye(3)),
    lambda t: t.linalg.lu_factor_ex(floats(3, 3)),
    lambda t: t.linalg.matmul(floats(2, 3), floats(3, 2)),
    lambda t: t.linalg.matrix_power(floats(3, 3), 2),
    lambda t: t.linalg.slogdet(floats(3, 3)),
    lambda t: t.linalg.svdvals(floats(3, 2)),
    lambda t: t.linalg.vecdot(floats(2, 3), floats(2, 3)),
    lambda t: t.linalg.vector_norm(floats(2, 3), 2, 1),
    lambda t: t.cholesky(numbagrad.eye(3)),
    lambda t: t.geqrf(floats(3, 2)),
    lambda t: t.orgqr(floats(3, 2), floats(2)),
)

# --- torch.nn.functional --------------------------------------------------------------------------

_add(
    lambda t: t.addmm(floats(3, 2), floats(3, 4), floats(4, 2), beta=0.3, alpha=0.6),
    lambda t: t.addmv(floats(3), floats(3, 4), floats(4), beta=0.3, alpha=0.6),
    lambda t: t.addr(floats(3, 2), floats(3), floats(2), beta=0.3, alpha=0.6),
    lambda t: t.baddbmm(floats(2, 3, 2), floats(2, 3, 4), floats(2, 4, 2), beta=0.3, alpha=0.6),
    lambda t: t.addbmm(floats(3, 2), floats(2, 3, 4), floats(2, 4, 2), beta=0.3, alpha=0.6),
    lambda t: t.nn.functional.avg_pool2d(floats(2, 5, 5), 3, 2, 1, count_include_pad=False),
    lambda t: t.nn.functional.interpolate(floats(1, 2, 5, 4), (3, 3), mode="area"),
    lambda t: t.nn.functional.adaptive_avg_pool1d(floats(2, 3, 8), 2),
    lambda t: t.nn.functional.adaptive_avg_pool2d(floats(2, 3, 8, 8), (2, 3)),
    lambda t: t.nn.functional.adaptive_avg_pool3d(floats(2, 3, 4, 4, 4), 2),
    lambda t: t.nn.functional.adaptive_max_pool1d(floats(2, 3, 8), 2),
    lambda t: t.nn.functional.adaptive_max_pool2d(floats(2, 3, 8, 8), (2, 3)),
    lambda t: t.nn.functional.adaptive_max_pool3d(floats(2, 3, 4, 4, 4), 2),
    lambda t: t.nn.functional.affine_grid(floats(2, 2, 3), (2, 3, 4, 4)),
    lambda t: t.nn.functional.avg_pool1d(floats(2, 3, 8), 2),
    lambda t: t.nn.functional.avg_pool2d(floats(2, 3, 8, 8), 2, 2, 1),
    lambda t: t.nn.functional.avg_pool3d(floats(2, 3, 4, 4, 4), 2),
    lambda t: t.nn.functional.batch_norm(floats(4, 3), floats(3), floats(3), floats(3), floats(3)),
    lambda t: t.nn.functional.bilinear(floats(4, 2), floats(4, 3), floats(5, 2, 3), floats(5)),
    lambda t: t.nn.functional.channel_shuffle(floats(1, 4, 2, 2), 2),
    lambda t: t.nn.functional.conv1d(floats(2, 4, 8), floats(6, 4, 3), floats(6), 1, 1),
    lambda t: t.nn.functional.conv2d(floats(2, 4, 6, 6), floats(6, 2, 3, 3), groups=2),
    lambda t: t.nn.functional.conv3d(floats(1, 2, 4, 4, 4), floats(3, 2, 2, 2, 2)),
    lambda t: t.nn.functional.conv_transpose1d(floats(2, 4, 5), floats(4, 3, 3), floats(3), 2, 1),
    lambda t: t.nn.functional.conv_transpose2d(floats(2, 4, 5, 5), floats(4, 3, 3, 3)),
    lambda t: t.nn.functional.conv_transpose3d(floats(1, 2, 3, 3, 3), floats(2, 3, 2, 2, 2)),
    lambda t: t.nn.functional.cosine_embedding_loss(floats(3, 4), floats(3, 4), ints(1, -1, 1)),
    lambda t: t.nn.functional.cosine_similarity(floats(3, 4), floats(3, 4), 1, 1e-8),
    lambda t: t.nn.functional.cross_entropy(floats(3, 4), ints(0, 3, 1)),
    lambda t: t.nn.functional.cross_entropy(
        floats(3, 4), ints(0, 3, 1), floats(4), ignore_index=1, reduction="sum", label_smoothing=0.1
    ),
    lambda t: t.nn.functional.ctc_loss(
        floats(5, 2, 4), ints([1, 2], [2, 1]), ints(5, 5), ints(2, 2), blank=0, reduction="sum"
    ),
    lambda t: t.nn.functional.dropout(floats(3, 4), 0.5, True),
    lambda t: t.nn.functional.dropout1d(floats(3, 4), 0.5),
    lambda t: t.nn.functional.dropout2d(floats(3, 4, 2, 2), 0.5),
    lambda t: t.nn.functional.dropout3d(floats(3, 4, 2, 2, 2), 0.5),
    lambda t: t.nn.functional.alpha_dropout(floats(3, 4), 0.5, True),
    lambda t: t.nn.functional.feature_alpha_dropout(floats(3, 4), 0.5, True),
    lambda t: t.nn.functional.elu(floats(3), 1.0),
    lambda t: t.nn.functional.embedding(ints(0, 2), floats(4, 3), padding_idx=1),
    lambda t: t.nn.functional.embedding_bag(ints(0, 2, 1), floats(4, 3), ints(0, 2), mode="sum"),
    lambda t: t.nn.functional.fold(floats(1, 8, 9), (4, 4), (2, 2)),
    lambda t: t.nn.functional.unfold(floats(1, 2, 4, 4), (2, 2), 1, 0, 1),
    lambda t: t.nn.functional.fractional_max_pool2d(floats(1, 2, 6, 6), 2, 3),
    lambda t: t.nn.functional.fractional_max_pool3d(floats(1, 2, 6, 6, 6), 2, 3),
    lambda t: t.nn.functional.gaussian_nll_loss(floats(3), floats(3), floats(3)),
    lambda t: t.nn.functional.glu(floats(3, 4), 1),
    lambda t: t.nn.functional.grid_sample(floats(1, 2, 4, 4), floats(1, 3, 3, 2)),
    lambda t: t.nn.functional.group_norm(floats(2, 4, 3), 2, floats(4), floats(4), 1e-5),
    lambda t: t.nn.functional.gumbel_softmax(floats(3, 4), 1.0),
    lambda t: t.nn.functional.hinge_embedding_loss(floats(3), ints(1, -1, 1)),
    lambda t: t.nn.functional.instance_norm(floats(2, 3, 4)),
    lambda t: t.nn.functional.interpolate(floats(1, 2, 4, 4), (6, 6), mode="bilinear"),
    lambda t: t.nn.functional.interpolate(floats(1, 2, 4, 4), scale_factor=2.0, mode="nearest"),
    lambda t: t.nn.functional.layer_norm(floats(2, 4), (4,), floats(4), floats(4), 1e-5),
    lambda t: t.nn.functional.rms_norm(floats(2, 4), (4,), floats(4)),
    lambda t: t.nn.functional.local_response_norm(floats(2, 4, 3), 2),
    lambda t: t.nn.functional.softmax(floats(3, 4), 1),
    lambda t: t.nn.functional.log_softmax(floats(3, 4), 1),
    lambda t: t.nn.functional.lp_pool1d(floats(2, 3, 8), 2.0, 2),
    lambda t: t.nn.functional.lp_pool2d(floats(2, 3, 8, 8), 2.0, 2),
    lambda t: t.nn.functional.lp_pool3d(floats(1, 2, 4, 4, 4), 2.0, 2),
    lambda t: t.nn.functional.margin_ranking_loss(floats(3), floats(3), ints(1, -1, 1)),
    lambda t: t.nn.functional.max_pool1d(floats(2, 3, 8), 2, 2, 1, 1),
    lambda t: t.nn.functional.max_pool2d(floats(2, 3, 8, 8), (2, 2)),
    lambda t: t.nn.functional.max_pool3d(floats(1, 2, 4, 4, 4), 2),
    lambda t: t.nn.functional.max_unpool1d(floats(1, 2), ints([0, 3]), 2),
    lambda t: t.nn.functional.max_unpool2d(floats(1, 1, 1), ints([[3]]), 2),
    lambda t: t.nn.functional.multi_margin_loss(floats(3, 4), ints(0, 3, 1)),
    lambda t: t.nn.functional.multilabel_margin_loss(floats(2, 3), ints([0, 2, -1], [1, -1, 0])),
    lambda t: t.nn.functional.multilabel_soft_margin_loss(floats(2, 3), floats(2, 3)),
    lambda t: t.nn.functional.nll_loss(floats(3, 4), ints(0, 3, 1), floats(4)),
    lambda t: t.nn.functional.normalize(floats(3, 4), 2.0, 1),
    lambda t: t.nn.functional.one_hot(ints(0, 2), 4),
    lambda t: t.nn.functional.pad(floats(2, 3), (1, 1), "constant", 0.5),
    lambda t: t.nn.functional.pad(floats(1, 2, 5), (1, 1), mode="reflect"),
    lambda t: t.nn.functional.pairwise_distance(floats(3, 4), floats(3, 4), 2.0),
    lambda t: t.nn.functional.pdist(floats(3, 4), 2.0),
    lambda t: t.nn.functional.pixel_shuffle(floats(1, 4, 2, 2), 2),
    lambda t: t.nn.functional.pixel_unshuffle(floats(1, 1, 4, 4), 2),
    lambda t: t.nn.functional.poisson_nll_loss(floats(3), floats(3)),
    lambda t: t.nn.functional.prelu(floats(2, 3), floats(3)),
    lambda t: t.nn.functional.relu(floats(3)),
    lambda t: t.nn.functional.relu6(floats(3)),
    lambda t: t.nn.functional.sigmoid(floats(3)),
    lambda t: t.nn.functional.tanh(floats(3)),
    lambda t: t.nn.functional.rrelu(floats(3), 0.1, 0.3),
    lambda t: t.nn.functional.scaled_dot_product_attention(
        floats(1, 2, 3, 4), floats(1, 2, 3, 4), floats(1, 2, 3, 4)
    ),
    lambda t: t.nn.functional.soft_margin_loss(floats(3), floats(3)),
    lambda t: t.nn.functional.triplet_margin_loss(floats(3, 4), floats(3, 4), floats(3, 4)),
    lambda t: t.nn.functional.upsample(floats(1, 2, 4), 8),
    lambda t: t.nn.functional.kl_div(floats(3), floats(3), reduction="sum"),
    lambda t: t.nn.functional.mse_loss(floats(3), floats(3)),
    lambda t: t.nn.functional.l1_loss(floats(3), floats(3), reduction="sum"),
    lambda t: t.dropout(floats(3, 4), 0.5, True),
    lambda t: t.alpha_dropout(floats(3, 4), 0.5, True),
    lambda t: t.feature_dropout(floats(3, 4), 0.5, True),
    lambda t: t.feature_alpha_dropout(floats(3, 4), 0.5, True),
    lambda t: t.native_dropout(floats(3, 4), 0.5, True),
    lambda t: t.native_layer_norm(floats(2, 4), (4,), floats(4), floats(4), 1e-5),
    lambda t: t.native_channel_shuffle(floats(1, 4, 2, 2), 2),
    lambda t: t.batch_norm(
        floats(4, 3), floats(3), floats(3), floats(3), floats(3), True, 0.1, 1e-5, False
    ),
    lambda t: t.instance_norm(
        floats(2, 3, 4), floats(3), floats(3), floats(3), floats(3), True, 0.1, 1e-5, False
    ),
    lambda t: t.group_norm(floats(2, 4, 3), 2),
    lambda t: t.layer_norm(floats(2, 4), (4,)),
    lambda t: t.rms_norm(floats(2, 4), (4,)),
    lambda t: t.constant_pad_nd(floats(2, 3), (1, 1), 0.5),
    lambda t: t.convolution(
        floats(2, 4, 8), floats(6, 4, 3), floats(6), (1,), (1,), (1,), False, (0,), 1
    ),
    lambda t: t.embedding_bag(floats(4, 3), ints(0, 2, 1), ints(0, 2)),
    lambda t: t.gru_cell(floats(2, 3), floats(2, 4), floats(12, 3), floats(12, 4)),
    lambda t: t.rnn_tanh_cell(floats(2, 3), floats(2, 4), floats(4, 3), floats(4, 4)),
    lambda t: t.lstm_cell(floats(2, 3), [floats(2, 4), floats(2, 4)], floats(16, 3), floats(16, 4)),
)


# --- other names and forms ------------------------------------------------------------------------

_add(
    lambda t: t.ctc_loss(
        floats(5, 2, 4), ints([1, 2], [2, 1]), ints(5, 5), ints(2, 2), 0, 1, False
    ),
    lambda t: t.poisson_nll_loss(floats(3), floats(3), True, False, 1e-8, 1),
    lambda t: t.kl_div(floats(3), floats(3)),
    lambda t: t.binary_cross_entropy_with_logits(floats(3), floats(3)),
    lambda t: t.detach_copy(floats(3)),
    lambda t: t.lobpcg(numbagrad.eye(9), 1),
    lambda t: t.max_pool1d_with_indices(floats(2, 3, 8), 2),
    lambda t: t.rnn_relu_cell(floats(2, 3), floats(2, 4), floats(4, 3), floats(4, 4)),
    lambda t: t.square(floats(3)),
    lambda t: t.trapz(floats(3, 4)),
    lambda t: t.view_as_complex_copy(floats(3, 2)),
    lambda t: t.view_as_real_copy(floats(3).to(numbagrad.complex64)),
    lambda t: t.zero_(floats(3)),
    lambda t: t.nn.functional.adaptive_max_pool1d_with_indices(floats(2, 3, 8), 2),
    lambda t: t.nn.functional.adaptive_max_pool2d_with_indices(floats(2, 3, 8, 8), 2),
    lambda t: t.nn.functional.adaptive_max_pool3d_with_indices(floats(1, 2, 4, 4, 4), 2),
    lambda t: t.nn.functional.fractional_max_pool2d_with_indices(floats(1, 2, 6, 6), 2, 3),
    lambda t: t.nn.functional.fractional_max_pool3d_with_indices(floats(1, 2, 6, 6, 6), 2, 3),
    lambda t: t.nn.functional.max_pool1d_with_indices(floats(2, 3, 8), 2),
    lambda t: t.nn.functional.max_pool2d_with_indices(floats(2, 3, 8, 8), 2),
    lambda t: t.nn.functional.max_pool3d_with_indices(floats(1, 2, 4, 4, 4), 2),
    lambda t: t.nn.functional.max_unpool3d(floats(1, 1, 1, 1), ints([[[3]]]), 2),
    lambda t: t.nn.functional.triplet_margin_with_distance_loss(
        floats(3, 4), floats(3, 4), floats(3, 4), margin=1.0
    ),
    lambda t: t.nn.functional.upsample_bilinear(floats(1, 2, 4, 4), 8),
    lambda t: t.nn.functional.upsample_nearest(floats(1, 2, 4, 4), 8),
    lambda t: t.nn.functional.multi_head_attention_forward(
        floats(3, 2, 4), floats(3, 2, 4), floats(3, 2, 4), 4, 2, floats(12, 4), floats(12), None,
        None, False, 0.0, floats(4, 4), floats(4),
    ),
    lambda t: t.special.expit(floats(3)),
    lambda t: t.special.gammainc(floats(3), floats(3)),
    lambda t: t.special.gammaincc(floats(3), floats(3)),
    lambda t: t.special.gammaln(floats(3)),
    lambda t: t.special.multigammaln(floats(3) + 3, 2),
    lambda t: t.special.psi(floats(3)),
)  # fmt: skip


# --- initial values, and helpers of training ------------------------------------------------------

_add(
    lambda t: t.nn.init.uniform_(floats(3, 4), 0.0, 1.0),
    lambda t: t.nn.init.normal_(floats(3, 4), 0.0, 1.0),
    lambda t: t.nn.init.trunc_normal_(floats(3, 4), 0.0, 1.0, -2.0, 2.0),
    lambda t: t.nn.init.constant_(floats(3, 4), 1.5),
    lambda t: t.nn.init.ones_(floats(3, 4)),
    lambda t: t.nn.init.zeros_(floats(3, 4)),
    lambda t: t.nn.init.eye_(floats(3, 4)),
    lambda t: t.nn.init.dirac_(floats(3, 4, 3), 1),
    lambda t: t.nn.init.xavier_uniform_(floats(3, 4), 1.0),
    lambda t: t.nn.init.xavier_normal_(floats(3, 4), 1.0),
    lambda t: t.nn.init.kaiming_uniform_(floats(3, 4), 0.0, "fan_in", "leaky_relu"),
    lambda t: t.nn.init.kaiming_normal_(floats(3, 4), 0.0, "fan_out", "relu"),
    lambda t: t.nn.init.orthogonal_(floats(3, 4), 1.0),
    lambda t: t.nn.init.sparse_(floats(3, 4), 0.5, 0.01),
    lambda t: t.nn.init.calculate_gain("leaky_relu", 0.2),
    lambda t: t.nn.utils.clip_grad_norm_([floats(3)], 1.0, 2.0),
    lambda t: t.nn.utils.clip_grads_with_norm_([floats(3)], 1.0, floats(1)[0]),
    lambda t: t.nn.utils.get_total_norm([floats(3)], 2.0),
    lambda t: t.nn.utils.parameters_to_vector([floats(3), floats(2)]),
    lambda t: t.nn.utils.vector_to_parameters(floats(5), [floats(3), floats(2)]),
    lambda t: t.nn.utils.rnn.pad_sequence([floats(3), floats(2)], True, 0.0),
    lambda t: t.nn.utils.rnn.pack_padded_sequence(floats(5, 2, 3), ints(5, 3)),
    lambda t: t.nn.utils.rnn.pack_sequence([floats(3, 2), floats(2, 2)]),
    lambda t: t.nn.utils.rnn.unpad_sequence(floats(5, 2, 3), ints(5, 3)),
)


# --- methods --------------------------------------------------------------------------------------


def _methods(**calls: tuple[Any, ...]) -> None:
    for name, (x, *rest) in calls.items():
        RIGHT_CALLS.append(lambda t, name=name, x=x, rest=rest: getattr(t.Tensor, name)(x, *rest))


_methods(
    view=(floats(6), 2, 3),
    view_as=(floats(6), floats(2, 3)),
    reshape_as=(floats(6), floats(2, 3)),
    expand=(floats(1, 3), 2, 3),
    expand_as=(floats(1, 3), floats(2, 3)),
    repeat=(floats(3), 2, 2),
    unfold=(floats(5), 0, 2, 1),
    sum_to_size=(floats(2, 3), 1, 3),
    to=(floats(3), numbagrad.float64),
    type=(floats(3), numbagrad.float64),
    type_as=(floats(3), floats(3)),
    size=(floats(2, 3), 0),
    stride=(floats(2, 3), 0),
    item=(floats(1),),
    tolist=(floats(1),),
    contiguous=(floats(2),),
    new_empty=(floats(2), (2, 3)),
    new_full=(floats(2), (2, 3), 1.5),
    new_ones=(floats(2), (2, 3)),
    new_zeros=(floats(2), (2, 3)),
    new_tensor=(floats(2), [1.0]),
    requires_grad_=(floats(2), True),
    resize_=(floats(6), 2, 2),
    resize_as_=(floats(6), floats(2, 2)),
    backward=(floats(1).requires_grad_(),),
    bernoulli_=(floats(3), 0.5),
    cauchy_=(floats(3), 0.0, 1.0),
    exponential_=(floats(3), 1.0),
    geometric_=(floats(3), 0.5),
    log_normal_=(floats(3), 0.0, 1.0),
    normal_=(floats(3), 0.0, 1.0),
    random_=(floats(3), 0, 5),
    uniform_=(floats(3), 0.0, 1.0),
    copy_=(floats(3), floats(3)),
    fill_=(floats(3), 1.5),
    fill_diagonal_=(floats(3, 3), 1.5),
    index_put_=(floats(3), (ints(0, 2),), floats(2)),
    index_fill_=(floats(3), 0, ints(0, 2), 1.5),
    masked_fill_=(floats(3), floats(3) > 0.2, 1.5),
    masked_scatter_=(floats(3), floats(3) > 0.2, floats(3)),
    scatter_=(floats(3), 0, ints(0, 2), 1.5),
    unsqueeze_=(floats(3), 0),
    squeeze_=(floats(1, 3), 0),
    transpose_=(floats(2, 3), 0, 1),
    set_=(floats(3), floats(2)),
    register_hook=(floats(3).requires_grad_(), print),
    __getitem__=(floats(3, 4), 1),
    __setitem__=(floats(3, 4), 1, 2.0),
    __add__=(floats(3), floats(3)),
    __mul__=(floats(3), 2.0),
    __truediv__=(floats(3), floats(3)),
    __pow__=(floats(3), 2),
    __matmul__=(floats(2, 3), floats(3, 2)),
    __and__=(ints(1, 2), ints(1, 3)),
    __iadd__=(floats(3), floats(3)),
)


# --- modules: what they are made with, and what they are called with ------------------------------

MODULES: dict[str, tuple[tuple[Any, ...], tuple[Any, ...]]] = {
    "Linear": ((4, 3), (floats(2, 4),)),
    "Bilinear": ((2, 3, 4), (floats(5, 2), floats(5, 3))),
    "Embedding": ((5, 3), (ints(0, 2),)),
    "EmbeddingBag": ((5, 3), (ints([0, 2], [1, 1]),)),
    "Flatten": ((1, -1), (floats(2, 3, 4),)),
    "Unflatten": ((1, (2, 2)), (floats(3, 4),)),
    "Dropout": ((0.5,), (floats(3, 4),)),
    "LayerNorm": ((4,), (floats(2, 4),)),
    "RMSNorm": ((4,), (floats(2, 4),)),
    "GroupNorm": ((2, 4), (floats(2, 4, 3),)),
    "BatchNorm1d": ((4,), (floats(3, 4),)),
    "BatchNorm2d": ((3,), (floats(2, 3, 2, 2),)),
    "InstanceNorm1d": ((3,), (floats(2, 3, 4),)),
    "Conv1d": ((4, 6, 3), (floats(2, 4, 8),)),
    "Conv2d": ((4, 6, 3), (floats(2, 4, 6, 6),)),
    "ConvTranspose1d": ((4, 3, 3), (floats(2, 4, 5),)),
    "ConvTranspose2d": ((4, 3, 3), (floats(2, 4, 5, 5),)),
    "MaxPool1d": ((2,), (floats(2, 3, 8),)),
    "MaxPool2d": ((2,), (floats(2, 3, 8, 8),)),
    "AvgPool1d": ((2,), (floats(2, 3, 8),)),
    "AvgPool2d": ((2,), (floats(2, 3, 8, 8),)),
    "AdaptiveAvgPool2d": (((2, 3),), (floats(2, 3, 8, 8),)),
    "AdaptiveMaxPool1d": ((2,), (floats(2, 3, 8),)),
    "Upsample": (((6, 6),), (floats(1, 2, 4, 4),)),
    "PixelShuffle": ((2,), (floats(1, 4, 2, 2),)),
    "ReLU": ((), (floats(3),)),
    "GELU": (("tanh",), (floats(3),)),
    "Softmax": ((1,), (floats(3, 4),)),
    "PReLU": ((3,), (floats(2, 3),)),
    "Hardtanh": ((-1.0, 1.0), (floats(3),)),
    "RNN": ((3, 4), (floats(5, 2, 3),)),
    "LSTM": ((3, 4), (floats(5, 2, 3),)),
    "GRU": ((3, 4), (floats(5, 2, 3),)),
    "LSTMCell": ((3, 4), (floats(2, 3),)),
    "MultiheadAttention": ((4, 2), (floats(3, 2, 4), floats(3, 2, 4), floats(3, 2, 4))),
    "MSELoss": ((), (floats(3), floats(3))),
    "L1Loss": ((), (floats(3), floats(3))),
    "CrossEntropyLoss": ((floats(4),), (floats(3, 4), ints(0, 3, 1))),
    "NLLLoss": ((), (floats(3, 4), ints(0, 3, 1))),
    "BCELoss": ((), (floats(3), floats(3))),
    "BCEWithLogitsLoss": ((), (floats(3), floats(3))),
    "KLDivLoss": ((), (floats(3), floats(3))),
    "SmoothL1Loss": ((), (floats(3), floats(3))),
    "CosineSimilarity": ((1,), (floats(3, 4), floats(3, 4))),
    "ZeroPad2d": ((1,), (floats(1, 1, 2, 2),)),
    "Identity": ((), (floats(2),)),
    "AdaptiveAvgPool1d": ((2,), (floats(2, 3, 8),)),
    "AdaptiveAvgPool3d": ((2,), (floats(2, 3, 4, 4, 4),)),
    "AdaptiveMaxPool2d": ((2,), (floats(2, 3, 8, 8),)),
    "AdaptiveMaxPool3d": ((2,), (floats(2, 3, 4, 4, 4),)),
    "AvgPool3d": ((2,), (floats(2, 3, 4, 4, 4),)),
    "MaxPool3d": ((2,), (floats(2, 3, 4, 4, 4),)),
    "LPPool1d": ((2.0, 2), (floats(2, 3, 8),)),
    "LPPool2d": ((2.0, 2), (floats(2, 3, 8, 8),)),
    "LPPool3d": ((2.0, 2), (floats(2, 3, 4, 4, 4),)),
    "FractionalMaxPool2d": ((2, 3), (floats(1, 2, 6, 6),)),
    "FractionalMaxPool3d": ((2, 3), (floats(1, 2, 6, 6, 6),)),
    "MaxUnpool1d": ((2,), (floats(1, 2), ints([1, 3]))),
    "MaxUnpool2d": ((2,), (floats(1, 1, 1), ints([[3]]))),
    "MaxUnpool3d": ((2,), (floats(1, 1, 1, 1), ints([[[3]]]))),
    "BatchNorm3d": ((3,), (floats(2, 3, 2, 2, 2),)),
    "InstanceNorm2d": ((3,), (floats(2, 3, 4, 4),)),
    "InstanceNorm3d": ((3,), (floats(2, 3, 4, 4, 4),)),
    "LocalResponseNorm": ((2,), (floats(2, 3, 4),)),
    "CrossMapLRN2d": ((2,), (floats(2, 3, 4, 4),)),
    "Conv3d": ((2, 3, 2), (floats(1, 2, 4, 4, 4),)),
    "ConvTranspose3d": ((2, 3, 2), (floats(1, 2, 3, 3, 3),)),
    **{f"{kind}Pad{rank}d": ((1,), (floats(1, 2, *[3] * rank),))
       for kind in ("Circular", "Reflection", "Replication", "Zero") for rank in (1, 2, 3)},
    **{f"ConstantPad{rank}d": ((1, 2.0), (floats(1, 2, *[3] * rank),)) for rank in (1, 2, 3)},
    "PixelUnshuffle": ((2,), (floats(1, 1, 4, 4),)),
    "ChannelShuffle": ((2,), (floats(1, 4, 2, 2),)),
    "UpsamplingNearest2d": ((4,), (floats(1, 2, 2, 2),)),
    "UpsamplingBilinear2d": ((4,), (floats(1, 2, 2, 2),)),
    "Fold": (((4, 4), (2, 2)), (floats(1, 8, 9),)),
    "Unfold": (((2, 2),), (floats(1, 2, 4, 4),)),
    **dict.fromkeys(("ELU", "CELU"), ((1.0,), (floats(3),))),
    **dict.fromkeys(("Hardshrink", "LeakyReLU", "Softshrink"), ((0.5,), (floats(3),))),
    **dict.fromkeys(
        ("SELU", "Hardsigmoid", "Hardswish", "LogSigmoid", "ReLU6", "SiLU", "Mish", "Softsign",
         "Tanh", "Sigmoid", "Tanhshrink"),
        ((), (floats(3),)),
    ),
    "RReLU": ((0.1, 0.3), (floats(3),)),
    "Softplus": ((1.0, 20.0), (floats(3),)),
    "Threshold": ((0.1, 2.0), (floats(3),)),
    "GLU": ((-1,), (floats(4),)),
    **dict.fromkeys(("Softmin", "LogSoftmax"), ((1,), (floats(3, 4),))),
    "Softmax2d": ((), (floats(1, 2, 3, 3),)),
    "AlphaDropout": ((0.5,), (floats(3, 4),)),
    "Dropout1d": ((0.5,), (floats(3, 4, 2),)),
    "Dropout2d": ((0.5,), (floats(3, 4, 2, 2),)),
    "Dropout3d": ((0.5,), (floats(3, 4, 2, 2, 2),)),
    "FeatureAlphaDropout": ((0.5,), (floats(3, 4, 2),)),
    "RNNCell": ((3, 4), (floats(2, 3), floats(2, 4))),
    "GRUCell": ((3, 4), (floats(2, 3), floats(2, 4))),
    "TransformerEncoderLayer": ((4, 2, 8, 0.0), (floats(3, 2, 4),)),
    "TransformerDecoderLayer": ((4, 2, 8, 0.0), (floats(3, 2, 4), floats(3, 2, 4))),
    **dict.fromkeys(
        ("HuberLoss", "PoissonNLLLoss", "SoftMarginLoss"), ((), (floats(3), floats(3)))
    ),
    "GaussianNLLLoss": ((), (floats(3), floats(3), floats(3))),
    "CTCLoss": ((), (floats(5, 2, 4), ints([1, 2], [2, 1]), ints(5, 5), ints(2, 2))),
    "HingeEmbeddingLoss": ((1.0,), (floats(3), ints(1, -1, 1))),
    "MarginRankingLoss": ((0.5,), (floats(3), floats(3), ints(1, -1, 1))),
    "MultiLabelMarginLoss": ((), (floats(2, 3), ints([0, 1, -1], [1, -1, 0]))),
    "MultiLabelSoftMarginLoss": ((), (floats(2, 3), floats(2, 3))),
    "MultiMarginLoss": ((1, 1.0), (floats(3, 4), ints(0, 3, 1))),
    "CosineEmbeddingLoss": ((0.5,), (floats(3, 4), floats(3, 4), ints(1, -1, 1))),
    "TripletMarginLoss": ((1.0, 2.0), (floats(3, 4), floats(3, 4), floats(3, 4))),
    "TripletMarginWithDistanceLoss": ((), (floats(3, 4), floats(3, 4), floats(3, 4))),
    "PairwiseDistance": ((2.0,), (floats(3, 4), floats(3, 4))),
}  # fmt: skip

#: What optimizers are made with.
OPTIMIZERS: dict[str, tuple[Any, ...]] = {
    "SGD": ([floats(3)], 0.1, 0.9),
    "Adam": ([floats(3)], 0.1, (0.9, 0.99), 1e-8),
    "AdamW": ([floats(3)], 0.1),
    "RMSprop": ([floats(3)], 0.1, 0.9),
    "Adagrad": ([floats(3)], 0.1),
    "Adafactor": ([floats(3)], 0.1),
    "Muon": ([floats(3, 2)], 0.1),
    "SparseAdam": ([floats(3)], 0.1, (0.9, 0.99), 1e-8),
    **dict.fromkeys(("Adamax", "NAdam", "RAdam"), ([floats(3)], 0.1, (0.9, 0.99), 1e-8)),
    "Adadelta": ([floats(3)], 0.1, 0.9, 1e-6),
    "ASGD": ([floats(3)], 0.1, 1e-4, 0.75),
    "Rprop": ([floats(3)], 0.1, (0.5, 1.2), (1e-6, 50.0)),
    "LBFGS": ([floats(3)], 1.0, 20, 25),
}


# --- special functions, decompositions of rare kinds, draws ---------------------------------------

_UNARY = (
    "airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "erfcx", "log_ndtr",
    "modified_bessel_i0", "modified_bessel_i1", "modified_bessel_k0", "modified_bessel_k1",
    "ndtri", "scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "spherical_bessel_j0",
)  # fmt: skip
_POLYNOMIALS = (
    *(f"{shifted}chebyshev_polynomial_{kind}" for shifted in ("", "shifted_") for kind in "tuvw"),
    "hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l",
    "legendre_polynomial_p",
)  # fmt: skip


def _of_special(name: str, *operands: Any) -> Callable[[Any], Any]:
    return lambda t: getattr(t.special, name)(*operands)


_add(
    *(_of_special(name, floats(5)) for name in _UNARY),
    *(_of_special(name, floats(5), floats(5)) for name in _POLYNOMIALS),
    lambda t: t.linalg.ldl_factor(floats(3, 3)),
    lambda t: t.linalg.ldl_factor_ex(floats(3, 3)),
    lambda t: t.linalg.ldl_solve(numbagrad.eye(3), ints(1, 2, 3).int(), floats(3, 2)),
    lambda t: t.svd_lowrank(floats(6, 4), 3),
    lambda t: t.pca_lowrank(floats(6, 4), 3),
    lambda t: t.poisson(floats(5)),
    lambda t: t.binomial(floats(5) * 0 + 4, floats(5)),
    lambda t: t.grid_sampler(floats(1, 2, 4, 4), floats(1, 3, 3, 2), 0, 0, False),
    lambda t: t.grid_sampler_2d(floats(1, 2, 4, 4), floats(1, 3, 3, 2), 0, 0, False),
    lambda t: t.grid_sampler_3d(floats(1, 2, 4, 4, 4), floats(1, 3, 3, 3, 3), 0, 0, False),
    lambda t: t.native_batch_norm(
        floats(4, 3), floats(3), floats(3), floats(3), floats(3), True, 0.1, 1e-5
    ),
    lambda t: t.native_group_norm(floats(2, 4, 3), floats(4), floats(4), 2, 4, 3, 2, 1e-5),
    lambda t: t.histogramdd(floats(6, 2), 3),
    lambda t: t.nonzero_static(ints(0, 1, 2), size=3),
    lambda t: t.segment_reduce(floats(5), "sum", lengths=ints(2, 3)),
    lambda t: t.empty_permuted((2, 3), (1, 0)),
    lambda t: t.nn.functional.linear_cross_entropy(floats(3, 4), floats(5, 4), ints(0, 1, 2)),
    lambda t: t.conv_tbc(floats(5, 2, 3), floats(2, 3, 4), floats(4), 1),
    lambda t: t.nn.functional.conv_tbc(floats(5, 2, 3), floats(2, 3, 4), floats(4), 1),
    lambda t: t.nn.functional.native_channel_shuffle(floats(1, 4, 2, 2), 2),
    lambda t: t.affine_grid_generator(floats(1, 2, 3), [1, 1, 2, 2], False),
    lambda t: t.embedding_renorm_(floats(4, 3), ints(0, 2), 0.5, 2.0),
    lambda t: t.fake_quantize_per_tensor_affine(floats(3, 4), 0.1, 2, 0, 9),
    lambda t: t.fake_quantize_per_channel_affine(
        floats(3, 4), floats(3), ints(0, 1, 2).int(), 0, 0, 9
    ),
    lambda t: t.frobenius_norm(floats(3, 4), [0]),
    lambda t: t.nuclear_norm(floats(3, 4)),
    lambda t: t.gcd_(ints(4, 6), ints(6, 9)),
    lambda t: t.lcm_(ints(4, 6), ints(6, 9)),
    lambda t: t.ldexp_(floats(3), ints(0, 1, 2)),
    lambda t: t.i0_(floats(3)),
    lambda t: t.is_distributed(floats(3)),
    lambda t: t.sparse_coo_tensor(ints([0, 1], [1, 2]), floats(2), (2, 3)),
    lambda t: t.sparse_csr_tensor(ints(0, 1, 2), ints(1, 2), floats(2), (2, 3)),
    lambda t: t.dsmm(floats(2, 3), floats(3, 4)),
    lambda t: t.spmm(floats(2, 3), floats(3, 4)),
    lambda t: t.saddmm(floats(2, 4), floats(2, 3), floats(3, 4)),
)
