"""The shape of a tensor: a tuple of ints that prints as torch's and can count its elements.

Tensors return it from ``shape`` and ``size()``; it calls nothing. Code that already holds a tuple
of ints, such as an ndarray's shape, makes one without checks by ``tuple.__new__(Size, shape)``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from operator import index
from typing import Any, SupportsIndex


class Size(tuple[int, ...]):
    """A shape. Slices, sums and multiples of shapes are shapes."""

    __slots__ = ()

    def __new__(cls, lengths: Iterable[SupportsIndex] = ()) -> Size:
        size = tuple.__new__(cls, lengths)
        for length in size:
            if type(length) is not int:
                return tuple.__new__(cls, [_as_int(k, other) for k, other in enumerate(size)])
        return size

    def numel(self) -> int:
        """Return the number of elements of a tensor of this shape."""
        return math.prod(self)

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    def __getitem__(self, key: Any) -> Any:
        found = tuple.__getitem__(self, key)
        return tuple.__new__(type(self), found) if isinstance(key, slice) else found

    def __add__(self, other: Any) -> Any:
        if isinstance(other, tuple):
            return type(self)(tuple.__add__(self, other))
        # Python would add as tuples before it asked ``other``, so it is asked here.
        reflected = getattr(type(other), "__radd__", None)
        result = NotImplemented if reflected is None else reflected(other, self)
        if result is NotImplemented:
            raise TypeError(
                f"can only concatenate tuple (not {type(other).__name__}) to torch.Size"
            )
        return result

    def __radd__(self, other: Any) -> Any:
        if not isinstance(other, tuple):
            return NotImplemented
        return type(self)(tuple.__add__(other, self))

    def __mul__(self, count: Any) -> Any:
        repeated = tuple.__mul__(self, count)
        return repeated if repeated is NotImplemented else tuple.__new__(type(self), repeated)

    __rmul__ = __mul__

    def __reduce__(self) -> tuple[Any, tuple[tuple[int, ...]]]:
        return type(self), (tuple(self),)


def _as_int(position: int, length: SupportsIndex) -> int:
    try:
        return index(length)
    except TypeError:
        raise TypeError(
            "torch.Size() takes an iterable of 'int' "
            f"(item {position} is '{type(length).__name__}')"
        ) from None
