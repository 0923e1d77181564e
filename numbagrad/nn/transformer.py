"""Transformers: encoder and decoder layers, stacks of them, and the whole of Vaswani et al."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

from ..executor.memory.arrays import may_use_elements
from ..ops.creation.filled import full
from ..tensor import Tensor
from . import functional as F
from . import init
from .attention import MultiheadAttention
from .containers import ModuleList
from .dropout import Dropout
from .functional.attention import canonical_mask, warn_of_mixed_masks
from .linear import Linear
from .module import Module
from .normalization import LayerNorm

__all__ = [
    "Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder",
    "TransformerEncoderLayer",
]  # fmt: skip

Activation = Callable[[Tensor], Tensor]


def _activation(given: str | Activation) -> Activation:
    if not isinstance(given, str):
        return given
    if given not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {given}")
    return F.relu if given == "relu" else F.gelu


def _copies(layer: Module, count: int) -> ModuleList:
    return ModuleList([copy.deepcopy(layer) for _ in range(count)])


class _Layer(Module):
    """Base of encoder and decoder layers: blocks, each with a residual connection and a norm.

    Args:
        d_model: features.
        nhead: heads of attention.
        dim_feedforward: features inside of the feed-forward block.
        dropout: probability of dropout, in every block.
        activation: "relu", "gelu" or a function.
        layer_norm_eps: ``eps`` of the norms.
        batch_first: whether sequences are (batch, length, features).
        norm_first: whether a block starts with its norm, or the sum after it is normalized.
        bias: whether linear layers and norms have biases.
    """

    #: Whether there is attention to another sequence.
    _attends_to_memory = False

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        kind = {"device": device, "dtype": dtype}
        blocks = 3 if self._attends_to_memory else 2
        for name in ("self_attn", "multihead_attn")[: blocks - 1]:
            attention = MultiheadAttention(
                d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, **kind
            )
            self.add_module(name, attention)
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **kind)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **kind)
        self.norm_first = norm_first
        for number in range(1, blocks + 1):
            norm = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **kind)
            self.add_module(f"norm{number}", norm)
        for number in range(1, blocks + 1):
            self.add_module(f"dropout{number}", Dropout(dropout))
        self.activation = _activation(activation)

    def _residual(self, x: Tensor, norm: Module, block: Callable[[Tensor], Tensor]) -> Tensor:
        return x + block(norm(x)) if self.norm_first else norm(x + block(x))

    def _attend(
        self, attention: Module, x: Tensor, to: Tensor, mask: Any, padding: Any, causal: bool
    ) -> Tensor:
        made, _ = attention(
            x, to, to, attn_mask=mask, key_padding_mask=padding, need_weights=False,
            is_causal=causal,
        )  # fmt: skip
        return made

    def _feed_forward(self, x: Tensor) -> Tensor:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


class TransformerEncoderLayer(_Layer):
    """Attention of a sequence to itself, then a feed-forward block."""

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """The sequence, as given: (length, batch, d_model) in the layout of ``batch_first``."""
        warn_of_mixed_masks(src_key_padding_mask, "src_key_padding_mask", src_mask, "src_mask")
        padding = canonical_mask(src_key_padding_mask, "src_key_padding_mask", src)
        mask = canonical_mask(src_mask, "src_mask", src)

        def attend(x: Tensor) -> Tensor:
            made = self._attend(self.self_attn, x, x, mask, padding, is_causal)
            return self.dropout1(made)

        src = self._residual(src, self.norm1, attend)
        return self._residual(src, self.norm2, lambda x: self.dropout2(self._feed_forward(x)))


class TransformerDecoderLayer(_Layer):
    """Attention to itself, attention to the encoder's sequence, then a feed-forward block."""

    _attends_to_memory = True

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """The sequence ``tgt`` attending to ``memory``."""

        def attend(x: Tensor) -> Tensor:
            made = self._attend(self.self_attn, x, x, tgt_mask, tgt_key_padding_mask, tgt_is_causal)
            return self.dropout1(made)

        def attend_to_memory(x: Tensor) -> Tensor:
            made = self._attend(
                self.multihead_attn, x, memory, memory_mask, memory_key_padding_mask,
                memory_is_causal,
            )  # fmt: skip
            return self.dropout2(made)

        tgt = self._residual(tgt, self.norm1, attend)
        tgt = self._residual(tgt, self.norm2, attend_to_memory)
        return self._residual(tgt, self.norm3, lambda x: self.dropout3(self._feed_forward(x)))


def _is_causal(mask: Tensor | None, hint: bool | None, sequence: Tensor, batch_first: bool) -> bool:
    """The hint, or whether a mask is the causal one for this sequence.

    Layers use a mask as any other where they are not told; a program cannot look at its elements.
    """
    if hint is not None or mask is None or not may_use_elements(mask._array):
        return bool(hint)
    length = sequence.shape[1 if batch_first and sequence.ndim == 3 else 0]
    causal = _causal_mask(length, dtype=mask.dtype)
    return mask.shape == causal.shape and bool((mask == causal).all())


def _causal_mask(size: int, device: Any = None, dtype: Any = None) -> Tensor:
    """Minus infinity above the diagonal, 0 elsewhere; of booleans, True above the diagonal."""
    return full((size, size), -math.inf, device=device, dtype=dtype).triu(1)


class TransformerEncoder(Module):
    """A stack of copies of an encoder layer, and a norm behind it.

    ``enable_nested_tensor`` and ``mask_check`` are taken for the sake of programs that name them.
    """

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = _copies(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor = enable_nested_tensor
        self.mask_check = mask_check

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        """Run a sequence through all layers."""
        warn_of_mixed_masks(src_key_padding_mask, "src_key_padding_mask", mask, "mask")
        padding = canonical_mask(src_key_padding_mask, "src_key_padding_mask", src)
        mask = canonical_mask(mask, "mask", src)
        batch_first = self.layers[0].self_attn.batch_first
        causal = _is_causal(mask, is_causal, src, batch_first)
        for layer in self.layers:
            src = layer(src, src_mask=mask, src_key_padding_mask=padding, is_causal=causal)
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(Module):
    """A stack of copies of a decoder layer, and a norm behind it."""

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = _copies(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Run a sequence through all layers, each attending to ``memory``."""
        batch_first = self.layers[0].self_attn.batch_first
        causal = _is_causal(tgt_mask, tgt_is_causal, tgt, batch_first)
        for layer in self.layers:
            tgt = layer(
                tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=causal, memory_is_causal=memory_is_causal,
            )  # fmt: skip
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder, and a decoder that attends to what it returns (Vaswani et al., 2017).

    Arguments are those of the layers, the numbers of layers, and modules instead of either stack.
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Activation = F.relu,
        custom_encoder: Any | None = None,
        custom_decoder: Any | None = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        options = (
            d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first,
            norm_first, bias, device, dtype,
        )  # fmt: skip

        def norm() -> LayerNorm:
            return LayerNorm(d_model, eps=layer_norm_eps, bias=bias, device=device, dtype=dtype)

        if custom_encoder is None:
            layer = TransformerEncoderLayer(*options)
            custom_encoder = TransformerEncoder(layer, num_encoder_layers, norm())
        self.encoder = custom_encoder
        if custom_decoder is None:
            decoder_layer = TransformerDecoderLayer(*options)
            custom_decoder = TransformerDecoder(decoder_layer, num_decoder_layers, norm())
        self.decoder = custom_decoder
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def _reset_parameters(self) -> None:
        """Draw new values of all matrices."""
        for parameter in self.parameters():
            if parameter.dim() > 1:
                init.xavier_uniform_(parameter)

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """The causal mask: minus infinity above the diagonal, 0 elsewhere."""
        return _causal_mask(sz, device, dtype)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """The output for ``tgt``, given ``src``: sequences of ``d_model`` features."""
        batch_dim = 0 if self.batch_first else 1
        if src.ndim == 3 and src.size(batch_dim) != tgt.size(batch_dim):
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(
            src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal
        )
        return self.decoder(
            tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal, memory_is_causal=memory_is_causal,
        )  # fmt: skip
