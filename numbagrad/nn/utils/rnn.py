"""Sequences of unequal length as one tensor, padded or packed, and back.

Packed sequences lie step by step: the first elements of all, then the second ones, without those
that have ended; the longest is the first. Recurrent layers take and return them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...device import CPU
from ...executor.memory.arrays import constant_beside
from ...ops.arguments.check import check_namespace
from ...ops.arguments.kinds import Real
from ...ops.arguments.requirements import check_elements, require_tensor
from ...ops.creation.filled import empty_like, full
from ...ops.creation.from_data import as_tensor, tensor
from ...ops.creation.sequences import arange
from ...ops.views.join import cat, stack
from ...tensor import Tensor, new_tensor
from ...type_names import type_name
from ..functional.checks import refuse_kinds

__all__ = [
    "PackedSequence", "invert_permutation", "pack_padded_sequence", "pack_sequence",
    "pad_packed_sequence", "pad_sequence", "unpack_sequence", "unpad_sequence",
]  # fmt: skip


class _Packed(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(_Packed):
    """Sequences without padding, as ``pack_sequence`` and ``pack_padded_sequence`` make them.

    Args:
        data: the elements, (all of them, ...).
        batch_sizes: how many sequences have an element at each step, int64.
        sorted_indices: the places in which they were given, the longest first; None if they were
            given in that order.
        unsorted_indices: the inverse of that permutation.
    """

    __slots__ = ()

    def __new__(
        cls,
        data: Any,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> PackedSequence:
        if batch_sizes is None:
            if not isinstance(data, (list, tuple)) or len(data) != 2:
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        if batch_sizes.device.type != "cpu":
            raise ValueError(
                "batch_sizes should always be on CPU. Instances of PackedSequence should never be "
                "created manually. They should be instantiated by functions like "
                "pack_sequence and pack_padded_sequences in nn.utils.rnn."
            )
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """With another dtype, or on another device; itself if nothing changes."""
        return self._with(self.data.to(*args, **kwargs))

    def _with(self, data: Tensor) -> PackedSequence:
        """These sequences with other elements, in the same order."""
        if data is self.data:
            return self
        orders = [None if x is None else x.to(data.device) for x in self[2:]]
        return type(self)(data, self.batch_sizes, *orders)

    def cuda(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """On a GPU; the sizes of batches stay on the CPU."""
        return self._with(self.data.cuda(*args, **kwargs))

    def cpu(self) -> PackedSequence:
        """On the CPU."""
        return self._with(self.data.cpu())

    def double(self) -> PackedSequence:
        """In float64."""
        return self._with(self.data.double())

    def float(self) -> PackedSequence:
        """In float32."""
        return self._with(self.data.float())

    def half(self) -> PackedSequence:
        """In float16."""
        return self._with(self.data.half())

    def long(self) -> PackedSequence:
        """In int64."""
        return self._with(self.data.long())

    def int(self) -> PackedSequence:
        """In int32."""
        return self._with(self.data.int())

    def short(self) -> PackedSequence:
        """In int16."""
        return self._with(self.data.short())

    def char(self) -> PackedSequence:
        """In int8."""
        return self._with(self.data.char())

    def byte(self) -> PackedSequence:
        """In uint8."""
        return self._with(self.data.byte())

    @property
    def is_cuda(self) -> bool:
        """Whether the elements are on a GPU."""
        return self.data.is_cuda

    def is_pinned(self) -> bool:
        """Whether the memory is locked for a GPU."""
        return self.data.is_pinned()


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes one; None for None."""
    if permutation is None:
        return None
    positions = arange(permutation.numel(), device=permutation.device)
    return empty_like(permutation).scatter_(0, permutation, positions)


def pack_padded_sequence(
    input: Tensor,
    lengths: Any,
    batch_first: bool = False,
    enforce_sorted: bool = True,
) -> PackedSequence:
    """Sequences side by side, (longest, batch, ...), without what is behind their ends.

    Args:
        input: the sequences, (batch, longest, ...) if ``batch_first``.
        lengths: how many elements each has.
        batch_first: which dimension is the batch.
        enforce_sorted: whether the longest must be the first, and so on.

    Raises:
        RuntimeError: for lengths out of order or out of range, or another number of them.
    """
    shape = input.shape
    batch_dim, time_dim = (0, 1) if batch_first else (1, 0)
    counts = _lengths(lengths, enforce_sorted)
    if input.numel() == 0:
        raise RuntimeError("Cannot pack empty tensors.")
    steps, batch = input.size(time_dim), input.size(batch_dim)
    if len(counts) != batch:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(counts)} "
            f"(batch_size={batch})"
        )
    if min(counts) <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' "
            "that is <= 0"
        )
    if max(counts) > steps:
        raise RuntimeError(
            f"Expected lengths of at most {steps}, as there are elements, but got {max(counts)}"
        )
    order = None
    if not enforce_sorted:
        order = np.argsort(-np.array(counts), kind="stable")
        counts = [counts[k] for k in order]
    sizes = _batch_sizes(counts)
    # Where each packed element lies among those of the input, all in a row.
    positions = _positions(sizes, order, steps if batch_first else 1, 1 if batch_first else batch)
    rows = input.reshape(steps * batch, *shape[2:])
    return PackedSequence(
        rows.index_select(0, _constant(positions, input)),
        tensor(sizes, device=CPU),
        None if order is None else _constant(order, input),
    )


def _lengths(lengths: Any, must_be_sorted: bool) -> list[int]:
    for entry in lengths if isinstance(lengths, (list, tuple)) else (lengths,):
        alone = isinstance(entry, Tensor) and (entry is lengths or entry._array.size == 1)
        if not alone and not isinstance(entry, (int, float, np.number, np.ndarray)):
            raise TypeError(
                "pack_padded_sequence(): argument 'lengths' (position 2) must be a Tensor or a "
                f"list of ints, but found {type_name(entry)}"
            )
    found = as_tensor(lengths)
    if found.ndim != 1:
        raise RuntimeError(
            f"'lengths' argument should be a 1D CPU int64 tensor, but got {found.ndim}D cpu Long "
            "tensor"
        )
    counts = [int(count) for count in found.tolist()]
    if must_be_sorted and any(a < b for a, b in zip(counts, counts[1:], strict=False)):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You "
            "can pass `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to "
            "sidestep this requirement if you do not need ONNX exportability."
        )
    return counts


def _batch_sizes(counts: list[int]) -> list[int]:
    """How many sequences have an element at each step; ``counts`` are their lengths."""
    steps = np.arange(max(counts))[:, None]
    sizes: list[int] = (np.array(counts) > steps).sum(1).tolist()
    return sizes


def _positions(sizes: list[int], order: Any, per_sequence: int, per_step: int) -> Any:
    """Places of packed elements in memory in which steps and sequences have the given distances."""
    sequences = np.concatenate([np.arange(size) for size in sizes])
    if order is not None:
        sequences = order[sequences]
    return sequences * per_sequence + np.repeat(np.arange(len(sizes)), sizes) * per_step


def _constant(array: Any, like: Tensor) -> Tensor:
    """Integers that follow from lengths, on the device of a tensor."""
    return new_tensor(constant_beside(like._array, array))


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: Real = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """The sequences side by side, (longest, batch, ...), in the order given, and their lengths.

    Args:
        sequence: what was packed.
        batch_first: whether to return (batch, longest, ...).
        padding_value: what is put behind the shorter ones.
        total_length: a length to pad all of them to.

    Raises:
        ValueError: if the longest is longer than ``total_length``.
    """
    sizes = sequence.batch_sizes.tolist()
    steps, batch = len(sizes), sizes[0]
    if total_length is not None:
        if total_length < steps:
            raise ValueError(
                "Expected total_length to be at least the length of the longest sequence in "
                f"input, but got total_length={total_length} and max sequence length being {steps}"
            )
        steps = total_length
    indices = sequence.sorted_indices
    order = None if indices is None else np.array(indices.tolist())
    positions = _positions(sizes, order, steps if batch_first else 1, 1 if batch_first else batch)
    data = sequence.data
    rest = data.shape[1:]
    padded = full((steps * batch, *rest), padding_value, dtype=data.dtype, device=data.device)
    padded = padded.index_copy(0, _constant(positions, data), data)
    counts = np.bincount(positions // steps if batch_first else positions % batch)
    shape = (batch, steps) if batch_first else (steps, batch)
    return padded.reshape(*shape, *rest), tensor(counts, device=CPU)


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Tensors (length, ...) as packed sequences.

    Raises:
        RuntimeError: if there are none, or the longest is not the first and ``enforce_sorted``.
    """
    lengths = [sequence.size(0) for sequence in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The tensors that ``pack_sequence`` put together."""
    return unpad_sequence(*pad_packed_sequence(packed_sequences, batch_first=True), True)


def pad_sequence(
    sequences: Any,
    batch_first: bool = False,
    padding_value: Real = 0.0,
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
    check_elements("pad_sequence", found)
    if not all([sequence._array.ndim for sequence in found]):
        raise RuntimeError("pad_sequence(): a sequence has no dimensions; the first is its length")
    if padding_side not in ("left", "right"):
        raise RuntimeError(
            f"Expected padding_side to be one of left or right, but got {padding_side}."
        )
    longest = max(sequence.size(0) for sequence in found)
    padded = []
    for sequence in found:
        missing = longest - sequence.size(0)
        like: Any = {"dtype": sequence.dtype, "device": sequence.device}
        rest = full((missing, *sequence.shape[1:]), padding_value, **like)
        padded.append(cat([sequence, rest] if padding_side == "right" else [rest, sequence]))
    return stack(padded, 0 if batch_first else 1)


def unpad_sequence(
    padded_sequences: Tensor, lengths: Any, batch_first: Any = False
) -> list[Tensor]:
    """The sequences that ``pad_sequence`` put together, given their lengths."""
    require_tensor("unpad_sequence", lengths, "lengths", 2)
    if lengths._array.ndim != 1:
        raise (RuntimeError if lengths._array.ndim else TypeError)(
            "unpad_sequence(): argument 'lengths' (position 2) must be a Tensor of one dimension, "
            f"with a length for each sequence, but it has shape {list(lengths.shape)}"
        )
    refuse_kinds("unpad_sequence", lengths, "c", "lengths")
    sequences = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    if len(sequences) != len(lengths):
        raise ValueError(
            f"unpad_sequence(): got {len(lengths)} lengths for {len(sequences)} sequences, of "
            f"padded_sequences of shape {list(padded_sequences.shape)}"
        )
    return [sequence[:length] for sequence, length in zip(sequences, lengths.tolist(), strict=True)]


check_namespace(globals(), __name__)
