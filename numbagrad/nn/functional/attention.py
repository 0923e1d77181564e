"""Attention: ``scaled_dot_product_attention``, and the multi-head attention built on it.

Called by users and by the layers of ``nn/attention/multihead.py``. Defined by matrix products,
softmax and masks, so gradients of every order follow; heads of batches have kernels that go block
by block and keep no matrix of scores (``executor/families/attention.py``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...dispatch.policies import autocasts
from ...dtype import scalar_type_name
from ...executor.families import attention as executor
from ...ops.arguments.requirements import require_tensor
from ...ops.creation.filled import zeros, zeros_like
from ...ops.creation.sequences import arange
from ...ops.operators.composite import composite
from ...ops.operators.kernel_operator import KernelOperator
from ...ops.reductions.softmax import softmax
from ...ops.views.join import cat
from ...tensor import Tensor, new_tensor
from ...type_names import type_name
from ...warn_once import warn_caller
from .dropout import dropout
from .linear import linear
from .padding import pad

__all__ = ["multi_head_attention_forward", "scaled_dot_product_attention"]


def _check_operands(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None) -> None:
    operands = (query, key, value)
    for position, (name, x) in enumerate(zip(("query", "key", "value"), operands, strict=True), 1):
        require_tensor("scaled_dot_product_attention", x, name, position)
    if any(tensor.ndim < 2 for tensor in operands):
        raise RuntimeError(
            "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: "
            f"{query.ndim} key.dim: {key.ndim} and value.dim: {value.ndim} instead."
        )
    q, k, v = [scalar_type_name(tensor.dtype) for tensor in operands]
    if not q == k == v:
        raise RuntimeError(
            f"Expected query, key, and value to have the same dtype, but got query.dtype: {q} "
            f"key.dtype: {k} and value.dtype: {v} instead; convert them with .to(dtype)"
        )
    if attn_mask is not None and attn_mask._array.dtype.kind not in "bfV":
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got "
            f"attn_mask.dtype: {scalar_type_name(attn_mask.dtype)} and  query.dtype: {q} instead."
        )


def _attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    is_causal: bool,
    scale: float,
    dropout_p: float = 0.0,
) -> Tensor:
    """``softmax(query @ key.T * scale + mask) @ value``; 0 for queries that see no key."""
    scores = (query if scale == 1 else query * scale) @ key.transpose(-2, -1)
    if is_causal:
        rows, columns = scores._array.shape[-2:]
        where = scores.device
        later = arange(columns, device=where) > arange(rows, device=where).unsqueeze(-1)
        scores = scores.masked_fill(later, -math.inf)
    if mask is not None:
        scores = scores + mask
    weights = softmax(scores, -1) if mask is None else _softmax_of_what_is_left(scores)
    if dropout_p:
        weights = dropout(weights, dropout_p)
    return weights @ value


def _softmax_of_what_is_left(scores: Tensor) -> Tensor:
    """Softmax along the last dimension; 0 where all scores of a row are minus infinity.

    Written with ``softmax``, whose gradient of any order subtracts before it multiplies: those of
    exponentials over their sum are differences of large numbers where one score dominates.
    """
    nothing_left = scores.detach().amax(-1, keepdim=True) == -math.inf
    return softmax(scores.masked_fill(nothing_left, 0.0), -1).masked_fill(nothing_left, 0.0)


# torch has a fused operator for batches of heads, and computes all else in steps.
_fused_attention = composite("ScaledDotProductFlashAttentionForCpuBackward0")(_attention)
_other_attention = composite("UnsafeViewBackward0")(_attention)


def _takes(query: Any, key: Any, value: Any, mask: Any, is_causal: bool, scale: float) -> bool:
    return executor.takes(query, key, value, mask)


def _gradients(
    grads: Sequence[Tensor | None], arguments: Sequence[Any], results: Sequence[Any],
    kept: Sequence[Any], needed: Sequence[bool],
) -> tuple[Tensor | None, ...]:  # fmt: skip
    (grad,) = grads
    assert grad is not None
    arrays = [x._array if isinstance(x, Tensor) else x for x in arguments]
    made = executor.backward(grad._array, arrays, results[0], kept[0])
    found = [new_tensor(x) if need else None for x, need in zip(made, needed, strict=False)]
    return (*found, *[None for _ in needed[3:]])  # the mask has none


#: With kernels that keep one number for each query, where they apply.
_blockwise = KernelOperator(
    "scaled_dot_product_attention", _fused_attention, _takes, executor.forward, _gradients,
    "ScaledDotProductFlashAttentionForCpuBackward0", reads=1,
)  # fmt: skip


def _added(mask: Tensor, like: Tensor) -> Tensor:
    """A mask of numbers to be added: where a mask of booleans is True, minus infinity."""
    if mask._array.dtype.kind in "fV":
        return mask
    return zeros_like(mask, dtype=like.dtype).masked_fill_(mask, -math.inf)


@autocasts("lower")
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """``softmax(query @ key.T * scale + mask) @ value`` (Vaswani et al., 2017).

    Args:
        query: (..., L, E).
        key: (..., S, E).
        value: (..., S, Ev); the result is (..., L, Ev).
        attn_mask: broadcasts to (..., L, S): numbers to be added, or True where a key counts.
        dropout_p: probability of dropping a weight, applied always.
        is_causal: instead of a mask, whether a query sees only keys that are not behind it.
        scale: 1/sqrt(E) unless given.
        enable_gqa: whether key and value may have fewer heads (dimension -3), each for several
            heads of the query.

    Raises:
        RuntimeError: for shapes or dtypes that do not fit, or both a mask and ``is_causal``.
    """
    _check_operands(query, key, value, attn_mask)
    if enable_gqa:
        repeats = query.size(-3) // key.size(-3)
        key = key.repeat_interleave(repeats, -3)
        value = value.repeat_interleave(repeats, -3)
    if is_causal and attn_mask is not None:
        raise RuntimeError(
            "_scaled_dot_product_attention: Explicit attn_mask should not be set when "
            "is_causal=True"
        )
    if attn_mask is not None:
        if attn_mask._array.dtype.kind == "b":
            attn_mask = attn_mask.logical_not()
        attn_mask = _added(attn_mask, query)
    width = query.size(-1)
    factor = (1 / math.sqrt(width) if width else 1.0) if scale is None else scale
    if query.ndim == key.ndim == value.ndim == 4 and not dropout_p:
        learned = attn_mask is not None and attn_mask._requires_grad
        attend = _fused_attention if learned else _blockwise
        return attend(query, key, value, attn_mask, is_causal, factor)
    # In steps torch scales both, and so keeps copies: query and key may be written afterwards.
    root = math.sqrt(abs(factor))
    operands = query * math.copysign(root, factor), key * root, value, attn_mask, is_causal, 1.0
    return _attention(*operands, dropout_p) if dropout_p else _other_attention(*operands)


# --- multi-head attention -------------------------------------------------------------------------


def _check_dimensions(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    key_padding_mask: Tensor | None,
    attn_mask: Tensor | None,
    num_heads: int,
) -> None:
    if query.ndim not in (2, 3):
        raise AssertionError(
            "query should be unbatched 2D or batched 3D tensor but received "
            f"{query.ndim}-D query tensor"
        )
    rank = query.ndim
    case = f"For {'batched' if rank == 3 else 'unbatched'} ({rank}-D) `query`, expected"
    if not key.ndim == value.ndim == rank:
        raise AssertionError(
            f"{case} `key` and `value` to be {rank}-D but found {key.ndim}-D and {value.ndim}-D "
            "tensors respectively"
        )
    if key_padding_mask is not None and key_padding_mask.ndim != rank - 1:
        raise AssertionError(
            f"{case} `key_padding_mask` to be `None` or {rank - 1}-D but found "
            f"{key_padding_mask.ndim}-D tensor instead"
        )
    if attn_mask is None:
        return
    if attn_mask.ndim not in (2, 3):
        raise AssertionError(
            f"{case} `attn_mask` to be `None`, 2-D or 3-D but found {attn_mask.ndim}-D tensor "
            "instead"
        )
    expected = (num_heads, query.shape[0], key.shape[0])
    if rank == 2 and attn_mask.ndim == 3 and attn_mask._array.shape != expected:
        raise AssertionError(
            f"Expected `attn_mask` shape to be {expected} but got {attn_mask.shape}"
        )


def canonical_mask(mask: Tensor | None, name: str, like: Tensor) -> Tensor | None:
    """A mask of numbers to be added to the scores.

    Raises:
        AssertionError: for a mask neither of booleans (True: does not count) nor of floats.
    """
    if mask is None:
        return None
    if not isinstance(mask, Tensor):
        raise RuntimeError(
            f"argument '{name}' must be None or a Tensor, not {type_name(mask)}; make one with "
            "tensor()"
        )
    if mask._array.dtype.kind not in "bfV":
        raise AssertionError(f"only bool and floating types of {name} are supported")
    return _added(mask, like)


def warn_of_mixed_masks(mask: Any, name: str, other: Any, other_name: str) -> None:
    """Warn where of two masks one is of booleans and one of numbers."""
    if isinstance(mask, Tensor) and isinstance(other, Tensor) and mask.dtype != other.dtype:
        warn_caller(
            f"Support for mismatched {name} and {other_name} is deprecated. Use same type for both "
            "instead.",
        )


def _check_mask_size(mask: Tensor, batch: int, heads: int, rows: int, columns: int) -> None:
    expected = (rows, columns) if mask.ndim == 2 else (batch * heads, rows, columns)
    if mask._array.shape != expected:
        raise RuntimeError(
            f"The shape of the {mask.ndim}D attn_mask is {mask.shape}, but should be {expected}."
        )


def _check_padding_size(padding: Tensor, batch: int, columns: int) -> None:
    for position, expected in enumerate((batch, columns)):
        if padding.size(position) != expected:
            raise AssertionError(
                f"Expected key_padded_mask.shape[{position}] to be {expected}, but got "
                f"{padding.size(position)}"
            )


def _check_features(given: int, expected: int, heads: int) -> None:
    if given != expected:
        raise AssertionError(f"was expecting embedding dimension of {expected}, but got {given}")
    if given % heads:
        raise AssertionError(f"embed_dim {given} not divisible by num_heads {heads}")


def _check_key_and_value(key: Tensor, value: Tensor, other_sizes: bool) -> None:
    if other_sizes and key.shape[:2] != value.shape[:2]:
        raise AssertionError(
            f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}"
        )
    if not other_sizes and key.shape != value.shape:
        raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")


def _with_more_keys(
    key: Tensor, value: Tensor, bias_k: Tensor | None, bias_v: Tensor | None, add_zeros: bool
) -> tuple[Tensor, Tensor]:
    """Keys and values (length, batch, features) with a trained one and one of zeros at the end."""
    more: list[Any] = []
    if (bias_k is None) != (bias_v is None):
        given = ("bias_k", "bias_v") if bias_v is None else ("bias_v", "bias_k")
        raise AssertionError(
            f"multi_head_attention_forward(): {given[0]} is set but {given[1]} is None; give both "
            "or neither"
        )
    if bias_k is not None and bias_v is not None:
        more.append((bias_k, bias_v))
    if add_zeros:
        more.append([zeros(1, 1, x.size(-1), dtype=x.dtype, device=x.device) for x in (key, value)])
    for pair in more:
        key, value = [
            cat([x, extra.expand(1, x.size(1), -1)])
            for x, extra in zip((key, value), pair, strict=True)
        ]
    return key, value


def _projected(
    operands: tuple[Tensor, Tensor, Tensor], weights: Any, bias: Tensor | None
) -> tuple[Tensor, ...]:
    """Query, key and value times their weights: three, or one above the other."""
    query, key, value = operands
    if isinstance(weights, Tensor):
        if query is key is value:
            return linear(query, weights, bias).chunk(3, -1)
        weights = weights.chunk(3)
    biases = (None, None, None) if bias is None else bias.chunk(3)
    return tuple([linear(*each) for each in zip(operands, weights, biases, strict=True)])


def _heads(tensor: Tensor, count: int) -> Tensor:
    """(length, batch, count * size) as (batch, count, length, size)."""
    return tensor.unflatten(-1, (count, -1)).permute(1, 2, 0, 3)


def _as_batches_of_one(*tensors: Tensor) -> list[Tensor]:
    """(length, features) as (length, 1, features); what is one tensor stays one."""
    made = {id(x): x for x in tensors}
    for key, x in made.items():
        made[key] = x.unsqueeze(1)
    return [made[id(x)] for x in tensors]


def _with_weights(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, dropout_p: float
) -> tuple[Tensor, Tensor]:
    """Attention and its weights, step by step, since nobody is told weights by a fused kernel."""
    scores = (q * math.sqrt(1.0 / q.size(-1))) @ k.transpose(-2, -1)
    weights = softmax(scores if mask is None else scores + mask, -1)
    weights = dropout(weights, dropout_p)
    return weights @ v, weights


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Multi-head attention of :class:`numbagrad.nn.MultiheadAttention`, its weights given.

    Query, key and value are (length, batch, features), or without the batch. Returns the output and
    the weights of attention, (batch, L, S), or (batch, heads, L, S) unless averaged; None for the
    weights unless needed.
    """
    _check_dimensions(query, key, value, key_padding_mask, attn_mask, num_heads)
    _refuse_static(static_k, static_v)
    batched = query.ndim == 3
    if not batched:
        query, key, value = _as_batches_of_one(query, key, value)
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    warn_of_mixed_masks(key_padding_mask, "key_padding_mask", attn_mask, "attn_mask")
    _check_hint(is_causal, attn_mask)
    # The hint takes the place of the mask where nothing else is masked.
    is_causal = is_causal and key_padding_mask is None and not need_weights
    mask = None if is_causal else canonical_mask(attn_mask, "attn_mask", query)
    padding = canonical_mask(key_padding_mask, "key_padding_mask", query)
    length, batch, embed_dim = query._array.shape
    _check_features(embed_dim, embed_dim_to_check, num_heads)
    weights: Any = in_proj_weight
    if use_separate_proj_weight:
        weights = (q_proj_weight, k_proj_weight, v_proj_weight)
    _check_key_and_value(key, value, use_separate_proj_weight)
    q, k, v = _projected((query, key, value), weights, in_proj_bias)
    if mask is not None:
        _check_mask_size(mask, batch, num_heads, length, key.size(0))
    if padding is not None:
        _check_padding_size(padding, batch, key.size(0))
    k, v = _with_more_keys(k, v, bias_k, bias_v, add_zero_attn)
    merged = _merged(mask, padding, batch, num_heads, k.size(0) - key.size(0))
    q, k, v = [_heads(x, num_heads) for x in (q, k, v)]
    dropout_p = dropout_p if training else 0.0
    attention = None
    if need_weights:
        made, attention = _with_weights(q, k, v, merged, dropout_p)
        attention = attention.mean(1) if average_attn_weights else attention
    else:
        made = scaled_dot_product_attention(q, k, v, merged, dropout_p, is_causal)
    made = made.permute(2, 0, 1, 3).reshape(length, batch, embed_dim)
    made = linear(made, out_proj_weight, out_proj_bias)
    if not batched:
        return made.squeeze(1), None if attention is None else attention.squeeze(0)
    return made, attention


def _refuse_static(*tensors: Tensor | None) -> None:
    if any([x is not None for x in tensors]):
        raise NotImplementedError(
            "multi_head_attention_forward: static_k and static_v are not supported; call "
            "scaled_dot_product_attention with your keys and values"
        )


def _check_hint(is_causal: bool, mask: Tensor | None) -> None:
    if is_causal and mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module "
            "method `generate_square_subsequent_mask` to create this mask."
        )


def _merged(
    mask: Tensor | None, padding: Tensor | None, batch: int, heads: int, extra: int
) -> Tensor | None:
    """Both masks as one that broadcasts to (batch, heads, L, S), with ``extra`` keys that count."""
    if mask is not None:
        if mask.ndim == 3:
            mask = mask.view(batch, heads, *mask.shape[1:])
        mask = pad(mask, (0, extra)) if extra else mask
    if padding is None:
        return mask
    padding = pad(padding, (0, extra)) if extra else padding
    padding = padding.view(batch, 1, 1, -1)
    return padding if mask is None else mask + padding
