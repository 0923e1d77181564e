"""Multi-head attention as a layer; the mathematics is in ``nn/functional/attention.py``."""

from __future__ import annotations

from typing import Any

from ...ops.creation.filled import empty
from ...tensor import Tensor
from .. import functional as F
from .. import init
from ..linear import Linear
from ..module import Module
from ..parameter import Parameter

__all__ = ["MultiheadAttention"]


class NonDynamicallyQuantizableLinear(Linear):
    """Linear by torch's name for the one inside of attention, which its text shows."""


class MultiheadAttention(Module):
    """Attention of several heads side by side (Vaswani et al., 2017).

    Args:
        embed_dim: features of query and output; each head has ``embed_dim / num_heads`` of them.
        num_heads: how many heads.
        dropout: probability of dropping a weight of attention.
        bias: whether projections have biases.
        add_bias_kv: whether a trained key and value are added to every sequence.
        add_zero_attn: whether a key and value of zeros are added.
        kdim, vdim: features of key and value, if not ``embed_dim``.
        batch_first: whether sequences are (batch, length, features), not (length, batch, ...).
    """

    bias_k: Parameter | None
    bias_v: Parameter | None

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                "embed_dim and num_heads must be greater than 0, got embed_dim="
                f"{embed_dim} and num_heads={num_heads} instead"
            )
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")

        def parameter(wanted: bool, *shape: int) -> Parameter | None:
            return Parameter(empty(*shape, device=device, dtype=dtype)) if wanted else None

        one = self._qkv_same_embed_dim
        self.register_parameter("q_proj_weight", parameter(not one, embed_dim, embed_dim))
        self.register_parameter("k_proj_weight", parameter(not one, embed_dim, self.kdim))
        self.register_parameter("v_proj_weight", parameter(not one, embed_dim, self.vdim))
        self.register_parameter("in_proj_weight", parameter(one, 3 * embed_dim, embed_dim))
        self.register_parameter("in_proj_bias", parameter(bias, 3 * embed_dim))
        self.out_proj = NonDynamicallyQuantizableLinear(
            embed_dim, embed_dim, bias=bias, device=device, dtype=dtype
        )
        self.register_parameter("bias_k", parameter(add_bias_kv, 1, 1, embed_dim))
        self.register_parameter("bias_v", parameter(add_bias_kv, 1, 1, embed_dim))
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        """Draw new initial values."""
        for name in ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight"):
            if getattr(self, name) is not None:
                init.xavier_uniform_(getattr(self, name))
        if self.in_proj_bias is not None:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def merge_masks(
        self, attn_mask: Tensor | None, key_padding_mask: Tensor | None, query: Tensor
    ) -> tuple[Tensor | None, int | None]:
        """One mask of two, as numbers to be added, and its kind: 1 of keys, 2 of pairs, or None.

        Args:
            attn_mask: (L, L) or (N * num_heads, L, L), or None.
            key_padding_mask: (N, L), or None.
            query: (N, L, embed_dim).

        Returns:
            The mask of keys itself, or (N, num_heads, L, L); and its kind.
        """
        if attn_mask is None:
            return key_padding_mask, None if key_padding_mask is None else 1
        batch, length, _ = query.shape
        if attn_mask.ndim == 3:
            mask = attn_mask.view(batch, -1, length, length)
        else:
            mask = attn_mask.view(1, 1, length, length).expand(batch, self.num_heads, -1, -1)
        if key_padding_mask is not None:
            keys = key_padding_mask.view(batch, 1, 1, length)
            mask = mask + keys.expand(-1, self.num_heads, -1, -1)
        return mask, 2

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Attend to key and value, (S, N, ...), from query, (L, N, embed_dim).

        Args:
            query, key, value: sequences, in the layout of ``batch_first``, or without a batch.
            key_padding_mask: (N, S): True, or minus infinity, at keys that do not count.
            need_weights: whether the weights of attention are returned too; without is faster.
            attn_mask: (L, S) or (N * num_heads, L, S): True at pairs that do not count, or numbers
                to be added.
            average_attn_weights: whether weights are averaged over the heads.
            is_causal: a hint that ``attn_mask`` is the causal mask.
        """
        swapped = self.batch_first and query.ndim == 3
        if swapped:
            same = query is key is value
            query = query.transpose(0, 1)
            key = query if same else key.transpose(0, 1)
            value = query if same else value.transpose(0, 1)
        output, attention = F.multi_head_attention_forward(
            query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight,
            self.in_proj_bias, self.bias_k, self.bias_v, self.add_zero_attn, self.dropout,
            self.out_proj.weight, self.out_proj.bias, self.training, key_padding_mask,
            need_weights, attn_mask, not self._qkv_same_embed_dim, self.q_proj_weight,
            self.k_proj_weight, self.v_proj_weight, average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )  # fmt: skip
        return (output.transpose(0, 1) if swapped else output), attention
