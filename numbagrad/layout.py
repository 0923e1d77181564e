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
    """The order in which the elements of a new tensor lie in memory.

    Attributes:
        order: the dimensions from the one with the greatest stride to the one with the least, for
            formats that name one; None for the others.
    """

    __slots__ = ("_name", "order")

    def __init__(self, name: str, order: tuple[int, ...] | None = None) -> None:
        self._name = name
        self.order = order

    def order_of(self, rank: int) -> tuple[int, ...]:
        """``order``, for a tensor of that many dimensions.

        Raises:
            RuntimeError: if the format is one of tensors with another number of them.
        """
        assert self.order is not None
        if rank != len(self.order):
            raise RuntimeError(f"required rank {len(self.order)} tensor to use {self._name} format")
        return self.order

    def __repr__(self) -> str:
        return f"torch.{self._name}"

    def __reduce__(self) -> str:
        return self._name


strided = layout("strided")

#: Layouts that no tensor here has, for programs that ask for a tensor's.
sparse_coo = layout("sparse_coo")
sparse_csr = layout("sparse_csr")
sparse_csc = layout("sparse_csc")
sparse_bsr = layout("sparse_bsr")
sparse_bsc = layout("sparse_bsc")
jagged = layout("jagged")
_mkldnn = layout("_mkldnn")

#: In the order of the indices.
contiguous_format = memory_format("contiguous_format")
#: In the order of the tensor that the new one is made from.
preserve_format = memory_format("preserve_format")
#: Images whose channels lie beside each other, though they are the second dimension.
channels_last = memory_format("channels_last", (0, 2, 3, 1))
#: The same for volumes.
channels_last_3d = memory_format("channels_last_3d", (0, 2, 3, 4, 1))
