"""Cross entropy of scores that a linear layer makes, without keeping the scores.

Called by users and by ``nn.LinearCrossEntropyLoss``. In chunks, the scores of a few samples at a
time are made, and made again in the backward: there is never memory for those of all samples.
"""

from __future__ import annotations

import dataclasses
import warnings
from typing import Any

from ...dtype import bfloat16, dtype, float16, float32, float64
from ...tensor import Tensor
from .class_loss import cross_entropy
from .linear import linear

__all__ = ["LinearCrossEntropyOptions", "linear_cross_entropy"]

_POLICIES = ("auto", "accurate", "balanced", "compact")
_HALVES = (bfloat16, float16)


def _factor(method: str) -> int:
    """N of ``aspect_ratio:N``, 1 without a number."""
    name, colon, digits = method.partition(":")
    factor = digits if colon else "1"
    if name != "aspect_ratio" or not factor.isdigit() or not int(factor):
        raise ValueError(
            f"invalid chunking_method: {method!r}; it is 'auto', 'aspect_ratio', 'aspect_ratio:N' "
            "or None"
        )
    return int(factor)


@dataclasses.dataclass(frozen=True)
class LinearCrossEntropyOptions:
    """How ``linear_cross_entropy`` divides samples into chunks.

    Attributes:
        allow_retain_graph: is ignored: a graph can always be kept.
        batch_chunk_size: samples in a chunk; None leaves it to ``chunking_method``.
        chunking_method: "aspect_ratio" for chunks whose scores take the memory of all of the input,
            "aspect_ratio:N" for the N-th part of it, "auto" for "aspect_ratio:2", None for
            ``batch_chunk_size`` or one chunk.
        acc_policy: "auto", or "accurate", "balanced" and "compact", which are one here.
        acc_dtype: dtype of losses before they are added; None is float32 for half precision under
            "auto", otherwise the dtype of the input.

    Raises:
        ValueError: for other values.
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: dtype | None = None

    def __post_init__(self) -> None:
        if self.acc_policy not in _POLICIES:
            raise ValueError(
                f"invalid acc_policy: {self.acc_policy!r}; it is one of {', '.join(_POLICIES)}"
            )
        if self.chunking_method not in (None, "auto"):
            _factor(self.chunking_method)
        size = self.batch_chunk_size
        if size is not None and not (isinstance(size, int) and size > 0):
            raise ValueError(f"batch_chunk_size must be positive int or None, got {size!r}")
        if self.acc_dtype not in (None, *_HALVES, float32, float64):
            raise ValueError(
                "acc_dtype must be None, torch.float16, torch.bfloat16, torch.float32 or "
                f"torch.float64, but got {self.acc_dtype!r}"
            )

    def chunk_size(self, samples: int, features: int, classes: int) -> int:
        """How many samples a chunk has.

        Raises:
            ValueError: if a size and a method disagree.
        """
        given, method = self.batch_chunk_size, self.chunking_method
        if method == "auto":
            method = None if given is not None else "aspect_ratio:2"
        if method is None:
            return max(1, min(given or samples, samples))
        wanted = -(-samples // max(1, -(-classes // max(1, features))))
        size = max(1, min((1 << (wanted - 1).bit_length()) // _factor(method), samples))
        if given is not None and min(given, samples) != size:
            raise ValueError(
                f"batch_chunk_size (={given}) and chunking_method ({method!r}) give different "
                f"chunk sizes ({given} and {size}); pass only one"
            )
        return size

    def loss_dtype(self, kind: dtype) -> dtype:
        """The dtype in which losses of an input of ``kind`` are added."""
        if self.acc_dtype is not None:
            return self.acc_dtype
        return float32 if self.acc_policy == "auto" and kind in _HALVES else kind


def _check(input: Tensor, linear_weight: Tensor, linear_bias: Tensor | None) -> None:
    shape, wide = tuple(input.shape), tuple(linear_weight.shape)
    if len(shape) not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {len(shape)}")
    if len(wide) < 2:
        raise RuntimeError(
            f"expected linear_weight with dimensionality at least 2, got {len(wide)}"
        )
    if shape[-1] != wide[-1]:
        raise RuntimeError(
            "expected equal input and linear_weight last dimensions (in_features), got "
            f"{shape[-1]} and {wide[-1]}, respectively"
        )
    if linear_bias is not None and tuple(linear_bias.shape) != wide[:-1]:
        raise RuntimeError(
            f"expected linear_bias shape {wide[:-1]}, got {tuple(linear_bias.shape)}"
        )
    if len(wide) > 2 and len(shape) == 1:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {wide} requires batched input, "
            f"(N, {shape[-1]}), got unbatched input with shape {shape}"
        )


def _scores(input: Tensor, linear_weight: Tensor, linear_bias: Tensor | None) -> Tensor:
    """(N, C, ...) or (C) from inputs (N, features) or (features)."""
    if linear_weight.ndim == 2:
        return linear(input, linear_weight, linear_bias)
    flat = linear_weight.reshape(-1, linear_weight.shape[-1])
    made = linear(input, flat, None if linear_bias is None else linear_bias.reshape(-1))
    return made.reshape(*input.shape[:-1], *linear_weight.shape[:-1])


def _chunk(
    input: Tensor,
    linear_weight: Tensor,
    linear_bias: Tensor | None,
    target: Tensor,
    weight: Tensor | None,
    ignore_index: int,
    kind: dtype,
) -> Tensor:
    """The losses (n) of some samples."""
    scores = _scores(input, linear_weight, linear_bias).to(kind)
    weight = None if weight is None else weight.to(kind)
    return cross_entropy(scores, target, weight, ignore_index=ignore_index, reduction="none")


def _in_chunks(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    linear_bias: Tensor | None,
    weight: Tensor | None,
    reduction: str,
    ignore_index: int,
    options: LinearCrossEntropyOptions,
) -> Tensor:
    from ...ops.pointwise.selection import where
    from ...ops.views.join import cat
    from ...utils.checkpoint import checkpoint

    samples, features = input.shape
    kind = options.loss_dtype(input.dtype)
    size = options.chunk_size(samples, features, linear_weight.shape[0])
    losses = cat(
        [
            checkpoint(
                _chunk, input[first : first + size], linear_weight, linear_bias,
                target[first : first + size], weight, ignore_index, kind, use_reentrant=False,
            )
            for first in range(0, samples, size)
        ]
    )  # fmt: skip
    if reduction == "none":
        return losses.to(input.dtype)
    total = losses.sum()
    if reduction == "mean":
        counted = target != ignore_index
        if weight is None:
            total = total / counted.sum()
        else:
            classes = where(counted, target, 0)
            total = total / where(counted, weight.to(kind)[classes], 0).sum()
    return total.to(input.dtype)


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: LinearCrossEntropyOptions | None = None,
) -> Tensor:
    """``cross_entropy(linear(input, linear_weight, linear_bias), target, ...)``.

    Args:
        input: (N, features) or (features).
        linear_weight: (C, features), or (C, d1, ..., features) for a loss at every place of
            (d1, ...), which takes samples (N, features) only.
        target: classes () or (N) or (N, d1, ...), or probabilities of the shape of the scores.
        linear_bias: (C), or (C, d1, ...).
        weight, reduction, label_smoothing: as for ``cross_entropy``.
        ignore_index: the class that counts for nothing, -100 by default.
        options: into which chunks the samples are divided, whose scores are not kept for the
            backward; for (C, features), classes and no label smoothing. None is one chunk whose
            scores are kept.

    Raises:
        RuntimeError: for shapes that do not fit, or an ``ignore_index`` beside probabilities.
    """
    _check(input, linear_weight, linear_bias)
    scores_shape = (*input.shape[:-1], *linear_weight.shape[:-1])
    has_probabilities = tuple(target.shape) == scores_shape
    if has_probabilities and ignore_index is not None:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    ignored = -100 if ignore_index is None else ignore_index
    if options is not None:
        if linear_weight.ndim == 2 and not has_probabilities and not label_smoothing:
            rows = (input, target) if input.ndim == 2 else (input[None], target[None])
            if rows[1].ndim == 1 and reduction in ("mean", "sum", "none") and rows[0].shape[0]:
                made = _in_chunks(
                    rows[0], linear_weight, rows[1], linear_bias, weight, reduction, ignored,
                    options,
                )  # fmt: skip
                return made[0] if reduction == "none" and input.ndim == 1 else made
        warnings.warn(
            "linear_cross_entropy: the options are ignored: chunks are for a linear_weight of two "
            "dimensions, samples, classes as target and no label_smoothing",
            stacklevel=2,
        )
    options_of_loss: dict[str, Any] = {
        "ignore_index": ignored, "reduction": reduction, "label_smoothing": label_smoothing,
    }  # fmt: skip
    scores = _scores(input, linear_weight, linear_bias)
    return cross_entropy(scores, target, weight, **options_of_loss)
