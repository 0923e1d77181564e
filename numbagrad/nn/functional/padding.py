"""``pad``: elements added around a tensor, constant or taken from it.

Called by users, by the padding layers and by convolutions whose padding is not zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...dispatch.policies import autocasts
from ...executor.memory.arrays import constant_beside, embedded
from ...number_range import checked_number
from ...ops.arguments.requirements import is_complex_number
from ...ops.operators.tensor_operator import TensorOperator
from ...tensor import Tensor, new_tensor
from ...transforms.batching import stacked
from ...type_names import type_name
from .checks import refuse_kinds

__all__ = ["pad"]


_pad_constant = TensorOperator(
    "constant_pad_nd",
    lambda input, widths, value: _with_constant(input, widths, value),
    {"input": lambda grad, widths, input_shape: _unpad(grad, widths, input_shape)},
    batch=stacked(widths=lambda widths, size: ((0, 0), *widths)),
    tangent=lambda operator, primals, tangents, results: (operator(tangents[0], primals[1], 0),),
    portable=True,
)


def _with_constant(array: Any, widths: Any, value: Any) -> Any:
    shape = [a + n + b for (a, b), n in zip(widths, array.shape, strict=True)]
    inside = tuple([slice(a, a + n) for (a, _), n in zip(widths, array.shape, strict=True)])
    return embedded(array, shape, lambda whole: whole[inside], value)


def _unpad(grad: Tensor, widths: Any, shape: tuple[int, ...]) -> Tensor:
    return grad[tuple([slice(w[0], w[0] + n) for w, n in zip(widths, shape, strict=True)])]


#: How torch names what NumPy calls otherwise.
_PAD_MODES: dict[str, Any] = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def pad(
    input: Tensor, pad: Sequence[int], mode: str = "constant", value: complex | None = None
) -> Tensor:
    """``input`` with elements added before and after, given for the last dimension first.

    Negative numbers take elements away. Modes are "constant", "reflect", "replicate", "circular".
    """
    if value is not None and not (input._array.dtype.kind == "c" and is_complex_number(value)):
        is_scalar = isinstance(value, Tensor) and value._array.ndim == 0
        if is_complex_number(value) or not (
            is_scalar or isinstance(value, (int, float, np.generic))
        ):
            raise TypeError(
                f"pad(): argument 'value' (position 4) must be float, not {type_name(value)}"
            )
    rank = input._array.ndim
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pad) > 2 * rank:
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got "
            f"padding length {len(pad)} and input of dimension {rank}"
        )
    pairs = [(0, 0)] * (rank - len(pad) // 2)
    pairs += [(pad[i], pad[i + 1]) for i in range(len(pad) - 2, -1, -2)]
    if mode in ("constant", *_PAD_MODES):
        _check_sizes(input._array.shape, pairs, mode, len(pad) // 2)
    widths = tuple([(max(a, 0), max(b, 0)) for a, b in pairs])
    less = tuple([(max(-a, 0), max(-b, 0)) for a, b in pairs])
    if mode == "constant":
        kind = input._array.dtype
        if isinstance(value, int) and (kind.kind == "u" or not -(1 << 63) <= value < 1 << 63):
            value = float(value)  # so that it does not wrap around
        number = checked_number(value, kind) if value else 0
        return _pad_constant(_without(input, less), widths, number)
    if mode not in _PAD_MODES:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if value:
        raise ValueError(f'Padding mode "{mode}" doesn\'t take in value argument')
    _check_rank(input, len(pad), mode)
    if mode != "circular":
        refuse_kinds(f"pad of mode {mode}", input, "b")
    if mode == "circular":
        return _pad_by_copies(_without(input, less), widths, mode)
    # Elements are taken from what the input was, not from what is left of it.
    if mode == "replicate" or len(pad) < 6:
        return _without(pad_by_neighbours(input, widths, mode), less)
    return _without(_pad_by_copies(input, widths, mode), less)


def _without(input: Tensor, less: tuple[tuple[int, int], ...]) -> Tensor:
    """The input without so many elements at the beginning and at the end of each dimension."""
    if not any(map(any, less)):
        return input
    sizes = input._array.shape
    return input[tuple([slice(a, n - b) for (a, b), n in zip(less, sizes, strict=True)])]


def _check_sizes(
    shape: tuple[int, ...], pairs: list[tuple[int, int]], mode: str, padded: int
) -> None:
    """Raise torch's errors for padding that does not fit the last ``padded`` dimensions."""
    for dim in range(len(shape) - padded, len(shape)):
        size, (before, after) = shape[dim], pairs[dim]
        left = size + before + after
        if mode == "constant":
            # What is taken away at one side has to be there, whatever is added at the other.
            wrong = min(left, size + min(before, 0), size + min(after, 0)) < 0
        else:
            most = {"reflect": size - 1, "circular": size}.get(mode, max(before, after))
            wrong = left < 1 or size == 0 or max(before, after) > most
            if mode == "circular":  # of what is left of the input
                rest = size + min(before, 0) + min(after, 0)
                wrong = min(left, rest) < (left > 0) or max(before, after) > most
        if wrong:
            raise RuntimeError(
                f"pad(): the padding {(before, after)} in mode '{mode}' does not fit dimension "
                f"{dim}, of size {size}, of the input of shape {list(shape)}"
            )


def _check_rank(input: Tensor, given: int, mode: str) -> None:
    """Raise unless the padding is for all dimensions behind a batch and channels."""
    rank = input._array.ndim
    if given not in (2, 4, 6) or rank - given // 2 not in (1, 2):
        raise NotImplementedError(
            f"pad: Padding size {given} is not supported for {rank}D input tensor; {mode} "
            "takes the last one, two or three dimensions behind a batch and channels"
        )


def _pad_by_copies(input: Tensor, widths: tuple[tuple[int, int], ...], mode: str) -> Tensor:
    for dim, width in enumerate(widths):
        if any(width):
            source = np.pad(np.arange(input._array.shape[dim]), width, _PAD_MODES[mode])
            input = input.index_select(dim, new_tensor(constant_beside(input._array, source)))
    return input


@autocasts("float32")
def pad_by_neighbours(input: Tensor, widths: tuple[tuple[int, int], ...], mode: str) -> Tensor:
    """``pad`` in the modes that are one operator each in torch, which autocast has in float32."""
    return _pad_by_copies(input, widths, mode)
