"""``torch.nn.attention.flex_attention``: attention whose scores, and masks, are functions.

Composed of products, ``vmap`` of the functions, and a softmax, so gradients of every order follow,
those of tensors that the functions use among them. All scores are in memory at once, as in torch
without its compiler.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, TypedDict

from ...dtype import float32, float64
from ...ops.arguments.requirements import require_tensor
from ...tensor import Tensor
from .block_mask import (
    DEFAULT_BLOCK_SIZE,
    BlockMask,
    MaskMod,
    and_masks,
    create_block_mask,
    create_mask,
    indices_of,
    noop_mask,
    or_masks,
    over_scores,
)

__all__ = [
    "AuxOutput", "AuxRequest", "BlockMask", "FlexKernelOptions", "and_masks", "create_block_mask",
    "create_mask", "flex_attention", "noop_mask", "or_masks",
]  # fmt: skip

_DEFAULT_SPARSE_BLOCK_SIZE = DEFAULT_BLOCK_SIZE
_mask_mod_signature = MaskMod
_score_mod_signature = Any


class AuxRequest(NamedTuple):
    """A request for more than the result of ``flex_attention``."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """The answer to an ``AuxRequest``: (batch, heads, queries) each, or None."""

    lse: Tensor | None = None
    max_scores: Tensor | None = None


class FlexKernelOptions(TypedDict, total=False):
    """Options of torch's kernels for GPUs, which are taken and change nothing."""

    num_warps: int
    num_stages: int
    BLOCK_M: int
    BLOCK_N: int
    PRESCALE_QK: bool
    ROWS_GUARANTEED_SAFE: bool
    BLOCKS_ARE_CONTIGUOUS: bool
    WRITE_DQ: bool
    FORCE_USE_FLEX_ATTENTION: bool
    BACKEND: str


def _check(query: Tensor, key: Tensor, value: Tensor, enable_gqa: bool) -> None:
    for position, (name, x) in enumerate(
        zip(("query", "key", "value"), (query, key, value), strict=True), 1
    ):
        require_tensor("flex_attention", x, name, position)
    if not query.dim() == key.dim() == value.dim() == 4:
        raise NotImplementedError("NYI: query, key, and value must be 4D tensors")
    heads, others = query.size(1), key.size(1)
    if not enable_gqa and heads != others:
        raise ValueError(
            "Expect query and key/value to have the same number of heads but got "
            f"Hq={heads} and Hkv={others}. Try setting enable_gqa=True for GQA."
        )
    if enable_gqa and heads % others:
        raise ValueError(
            "Expect number of query heads to be a multiple of kv heads for GQA but got "
            f"Hq={heads} and Hkv={others}."
        )
    if query.size(-1) != key.size(-1):
        raise ValueError(
            "Expect query and key/value to have the same embedding dimension but got "
            f"E={query.size(-1)} and E={key.size(-1)}."
        )
    if query.size(0) != key.size(0) and key.size(0) != 1:
        raise ValueError(f"Expect Bq == Bkv or Bkv == 1 but got Bq={query.size(0)} and "
                         f"Bkv={key.size(0)}.")  # fmt: skip


def _check_block_mask(block_mask: BlockMask, queries: int, keys: int) -> None:
    rows, columns = block_mask.seq_lengths
    if (rows, columns) == (queries, keys):
        return
    text = (
        f"block_mask was created for block_mask.shape={block_mask.shape} but got q_len={queries} "
        f"and kv_len={keys}. "
    )
    if queries > rows or keys > columns:
        raise ValueError(
            text + "As the block mask was created for a smaller length than you're using it for, "
            "you likely need to create a new block mask."
        )
    raise ValueError(
        text + "As the block mask was created for a larger length than you're using it for, you "
        "can either 1. create a new block mask with the correct length, or 2. 'adjust' the "
        "existing block mask to the correct length by calling "
        "block_mask._adjust(q_len, kv_len). This essentially 'crops' the block mask to the upper "
        "left corner, which does not work for all mask_mods!"
    )


def flex_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: Any = None,
    block_mask: BlockMask | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: Any = None,
    *,
    return_aux: AuxRequest | None = None,
) -> Any:
    """Attention with scores changed, and hidden, by functions: ``softmax(score_mod(q kᵀ)) v``.

    Args:
        query: (batch, heads, queries, features).
        key: (batch or 1, heads, keys, features).
        value: (batch or 1, heads, keys, features of the result).
        score_mod: ``score_mod(score, b, h, q_idx, kv_idx)``, a 0-dimensional tensor from such.
        block_mask: what ``create_block_mask`` returns, or None; queries that see no key give zeros.
        scale: factor of the scores, one over the root of the features by default.
        enable_gqa: whether ``key`` and ``value`` may have fewer heads, each for several of the
            query's.
        return_lse: whether the logarithms of the sums of exponentials are returned too.
        kernel_options: of torch's kernels; changes nothing.
        return_aux: what is returned too, as an ``AuxOutput``.

    Returns:
        The result (batch, heads, queries, features of the value); or a pair of it and what else was
        asked for.

    Raises:
        NotImplementedError: for tensors of other than four dimensions.
        ValueError: for shapes or a block mask that do not fit.
    """
    _check(query, key, value, enable_gqa)
    if return_lse and return_aux is not None:
        raise ValueError(
            "Cannot specify both return_lse and return_aux. return_lse is deprecated, please use "
            "return_aux=AuxRequest(lse=True) instead."
        )
    if block_mask is not None:
        _check_block_mask(block_mask, query.size(2), key.size(2))
    if enable_gqa and key.size(1) != query.size(1):
        times = query.size(1) // key.size(1)
        key, value = [x.repeat_interleave(times, 1) for x in (key, value)]
    dtype = float64 if query.dtype == float64 else float32
    factor = 1 / math.sqrt(query.size(-1)) if scale is None else scale
    scores = (query.to(dtype) @ key.to(dtype).transpose(-2, -1)) * factor
    indices = indices_of(tuple(scores.shape), query.device)
    if score_mod is not None:
        scores = over_scores(score_mod, True)(scores, *indices).to(dtype)
    if block_mask is not None:
        mask_mod = block_mask.mask_mod
        scores = scores.masked_fill(~over_scores(mask_mod, False)(*indices), -math.inf)
    # A row of which nothing is seen has no softmax; its weights are zeros.
    is_hidden = (scores == -math.inf).all(-1, keepdim=True)
    weights = scores.masked_fill(is_hidden, 0.0).softmax(-1).masked_fill(is_hidden, 0.0)
    result = (weights @ value.to(dtype)).to(query.dtype)
    wanted = AuxRequest(lse=True) if return_lse else return_aux
    if wanted is None:
        return result
    lse = scores.logsumexp(-1) if wanted.lse else None
    if return_lse:
        return result, lse
    return result, AuxOutput(lse, scores.amax(-1) if wanted.max_scores else None)
