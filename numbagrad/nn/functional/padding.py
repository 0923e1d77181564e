"""``pad``: elements added around a tensor, constant or taken from it.

Called by users, by the padding layers and by convolutions whose padding is not zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...executor import capture
from ...ops.tensor_operator import TensorOperator
from ...tensor import Tensor, new_tensor
from ...transforms.batching import stacked

__all__ = ["pad"]


_pad_constant = TensorOperator(
    "constant_pad_nd",
    lambda input, widths, value: np.pad(input, widths, constant_values=input.dtype.type(value)),
    {"input": lambda grad, widths, input_shape: _unpad(grad, widths, input_shape)},
    batch=stacked(widths=lambda widths, size: ((0, 0), *widths)),
)


def _unpad(grad: Tensor, widths: Any, shape: tuple[int, ...]) -> Tensor:
    return grad[tuple([slice(w[0], w[0] + n) for w, n in zip(widths, shape, strict=True)])]


#: How torch names what NumPy calls otherwise.
_PAD_MODES: dict[str, Any] = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def pad(
    input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None
) -> Tensor:
    """``input`` with elements added before and after, given for the last dimension first.

    Negative numbers take elements away. Modes are "constant", "reflect", "replicate", "circular".
    """
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
    cut = tuple(
        [slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(pairs, input.shape, strict=True)]
    )
    if any(a < 0 or b < 0 for a, b in pairs):
        input = input[cut]
    widths = tuple([(max(a, 0), max(b, 0)) for a, b in pairs])
    if mode == "constant":
        kind = input._array.dtype
        if value and kind.kind in "iu":
            limits = np.iinfo(kind)
            if not limits.min <= int(value) <= limits.max:
                raise RuntimeError(
                    f"pad: value {value} cannot be converted to type {input.dtype} without overflow"
                )
        return _pad_constant(input, widths, value or 0)
    if mode not in _PAD_MODES:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if value:
        raise ValueError(f'Padding mode "{mode}" doesn\'t take in value argument')
    _check_neighbours(input, len(pad), widths, mode)
    if mode == "replicate" or (mode == "reflect" and len(pad) < 6):
        return pad_by_neighbours(input, widths, mode)
    return _pad_by_copies(input, widths, mode)


def _check_neighbours(
    input: Tensor, given: int, widths: tuple[tuple[int, int], ...], mode: str
) -> None:
    """Raise unless there is a neighbour for every element that is added."""
    sizes = input._array.shape
    if given not in (2, 4, 6) or len(sizes) - given // 2 not in (1, 2):
        raise NotImplementedError(
            f"pad: Padding size {given} is not supported for {len(sizes)}D input tensor; {mode} "
            "takes the last one, two or three dimensions behind a batch and channels"
        )
    for dim, (size, width) in enumerate(zip(sizes, widths, strict=True)):
        most = {"reflect": size - 1, "circular": size}.get(mode, max(width) if size else 0)
        if max(width) > most:
            raise RuntimeError(
                f"pad: {mode} has no elements for the padding {width} at dimension {dim} of an "
                f"input of shape {list(sizes)}; it may be at most {max(most, 0)}"
            )


def _pad_by_copies(input: Tensor, widths: tuple[tuple[int, int], ...], mode: str) -> Tensor:
    for dim, width in enumerate(widths):
        if any(width):
            source = np.pad(np.arange(input._array.shape[dim]), width, _PAD_MODES[mode])
            input = input.index_select(dim, new_tensor(capture.constant(source)))
    return input


def pad_by_neighbours(input: Tensor, widths: tuple[tuple[int, int], ...], mode: str) -> Tensor:
    """``pad`` in the modes that are one operator each in torch, which autocast has in float32."""
    return _pad_by_copies(input, widths, mode)
