"""How elements are laid out: the constants that torch's ``layout`` and ``memory_format`` take.

Creation functions and ``Tensor.to`` accept them, ``Tensor.layout`` returns one; it calls nothing.
Every tensor is strided.
"""

from __future__ import annotations


class layout:
    """How a tensor holds its elements; the only one is ``strided``."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"torch.{self._name}"

    def __reduce__(self) -> str:
        return self._name


class memory_format:
    """The order in which the elements of a new tensor lie in memory."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"torch.{self._name}"

    def __reduce__(self) -> str:
        return self._name


strided = layout("strided")

#: In the order of the indices.
contiguous_format = memory_format("contiguous_format")
#: In the order of the tensor that the new one is made from.
preserve_format = memory_format("preserve_format")
