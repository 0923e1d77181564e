"""Sequences of unequal length as one tensor, and back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ...ops.creation import full
from ...ops.join import cat, stack
from ...tensor import Tensor

__all__ = ["pad_sequence", "unpad_sequence"]


def pad_sequence(
    sequences: Tensor | Sequence[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Tensors (length, ...) side by side as (longest, batch, ...), padded with one value.

    Args:
        sequences: at least one; they may differ in their first size.
        batch_first: whether to return (batch, longest, ...).
        padding_value: what is put behind, or in front of, shorter ones.
        padding_side: "right" or "left".

    Raises:
        RuntimeError: for anything else than tensors, or none of them.
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: "
            f"{type(sequences)}"
        )
    found: list[Any] = list(sequences)
    if not found:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(
            f"Expected padding_side to be one of left or right, but got {padding_side}."
        )
    longest = max(sequence.size(0) for sequence in found)
    padded = []
    for sequence in found:
        missing = longest - sequence.size(0)
        rest = full((missing, *sequence.shape[1:]), padding_value, dtype=sequence.dtype)
        padded.append(cat([sequence, rest] if padding_side == "right" else [rest, sequence]))
    return stack(padded, 0 if batch_first else 1)


def unpad_sequence(
    padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False
) -> list[Tensor]:
    """The sequences that ``pad_sequence`` put together, given their lengths."""
    sequences = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [sequence[:length] for sequence, length in zip(sequences, lengths.tolist(), strict=True)]
