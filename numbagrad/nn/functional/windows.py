"""Sliding windows over the spatial dimensions of (N, C, ...): what convolution and pooling share.

Called by the convolutions and poolings beside this file. Windows of a padded array are a view; its
copy, a column a window, makes a convolution a matrix product.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...executor.families.indexing import strided_view

__all__ = ["IMAGES", "LINES", "VOLUMES", "Windows", "named", "per_dimension", "plain_option"]

Array = np.ndarray[Any, Any]

#: How documentation names inputs of one to three spatial dimensions.
LINES = "lines (N, C, L) or (C, L)"
IMAGES = "images (N, C, H, W) or (C, H, W)"
VOLUMES = "volumes (N, C, D, H, W) or (C, D, H, W)"


def named(function: Callable[..., Any], name: str, text: str) -> Callable[..., Any]:
    """A function made for one number of spatial dimensions, with its name and documentation."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = text
    return function


def per_dimension(value: Any, rank: int, name: str, allow_empty: bool = False) -> tuple[int, ...]:
    """An option for each spatial dimension, from one number or a sequence of them."""
    if isinstance(value, int):
        return (value,) * rank
    given = tuple(int(entry) for entry in value)
    if len(given) == 1:
        given *= rank
    if len(given) != rank and not (allow_empty and not given):
        raise RuntimeError(
            f"expected {name} to be a single integer value or a list of {rank} values to match the "
            f"convolution dimensions, but got {name}={list(given)}"
        )
    return given


def plain_option(value: Any) -> Any:
    """An option as an int or a tuple of ints, by which results can be remembered."""
    if isinstance(value, (list, tuple, range)):
        return tuple([int(entry) for entry in value])
    return int(value)


class Windows(NamedTuple):
    """The geometry of windows; each field has an entry for every spatial dimension."""

    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]

    @property
    def reach(self) -> tuple[int, ...]:
        """How far a window extends, with the gaps of dilation."""
        return tuple([d * (k - 1) + 1 for k, d in zip(self.kernel, self.dilation, strict=True)])

    def counts(self, sizes: Sequence[int], ceil_mode: bool = False) -> tuple[int, ...]:
        """How many windows fit into spatial dimensions of these sizes.

        With ``ceil_mode`` the last one may reach beyond the padding, if it starts before its end.
        """
        found = []
        for size, p, r, s in zip(sizes, self.padding, self.reach, self.stride, strict=True):
            count = (size + 2 * p - r + (s - 1 if ceil_mode else 0)) // s + 1
            if ceil_mode and (count - 1) * s >= size + p:
                count -= 1
            found.append(count)
        return tuple(found)

    def _padded_sizes(self, sizes: Sequence[int], counts: Sequence[int]) -> tuple[int, ...]:
        """Sizes with padding, and with what windows of ``ceil_mode`` need at the end."""
        return tuple([
            max(size + 2 * p, (count - 1) * s + r)
            for size, p, count, s, r in zip(
                sizes, self.padding, counts, self.stride, self.reach, strict=True
            )
        ])  # fmt: skip

    def padded(self, array: Array, counts: Sequence[int], value: float = 0) -> Array:
        """``array`` (N, C, ...) with padding around it."""
        sizes = self._padded_sizes(array.shape[2:], counts)
        if sizes == array.shape[2:]:
            return array
        made = np.full((*array.shape[:2], *sizes), value, array.dtype)
        self._inside(made, array.shape[2:])[...] = array
        return made

    def _inside(self, padded: Array, sizes: Sequence[int]) -> Array:
        """The part of a padded array that is not padding."""
        return padded[
            (slice(None), slice(None))
            + tuple([slice(p, p + n) for p, n in zip(self.padding, sizes, strict=True)])
        ]

    def view(self, padded: Array, counts: Sequence[int]) -> Array:
        """All windows of a padded array: (N, C, *kernel, *counts), a view."""
        strides = padded.strides[2:]
        return strided_view(
            padded,
            (*padded.shape[:2], *self.kernel, *counts),
            (
                *padded.strides[:2],
                *[s * d for s, d in zip(strides, self.dilation, strict=True)],
                *[s * t for s, t in zip(strides, self.stride, strict=True)],
            ),
        )

    def positions(self, counts: Sequence[int]) -> Iterator[tuple[tuple[int, ...], tuple[Any, ...]]]:
        """For every place of the kernel, where in a padded array its elements lie: an index."""
        for position in itertools.product(*map(range, self.kernel)):
            slices = [
                slice(k * d, k * d + s * (n - 1) + 1, s)
                for k, d, s, n in zip(position, self.dilation, self.stride, counts, strict=True)
            ]
            yield position, (..., *slices)

    def scatter(self, windows: Array, sizes: Sequence[int]) -> Array:
        """Adjoint of windows of an array of these sizes: sums (N, C, *kernel, *counts) back."""
        counts = windows.shape[2 + len(self.kernel) :]
        made = np.zeros((*windows.shape[:2], *self._padded_sizes(sizes, counts)), windows.dtype)
        for position, index in self.positions(counts):
            at_position: Any = (slice(None), slice(None), *position)
            made[index] += windows[at_position]
        return np.ascontiguousarray(self._inside(made, sizes))

    def sums(self, array: Array, counts: Sequence[int]) -> Array:
        """The sum of every window of an array: (N, C, *counts)."""
        padded = self.padded(array, counts)
        made = np.zeros((*array.shape[:2], *counts), array.dtype)
        for _, index in self.positions(counts):
            made += padded[index]
        return made
