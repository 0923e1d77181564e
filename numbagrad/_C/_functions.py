"""Classes of nodes that programs ask for with ``isinstance``: ``torch._C._functions``.

Two more are called on tensors, to give them a history that fails, or that hands on no gradient.
"""

from __future__ import annotations

from typing import Any

from ..autograd.function.once_differentiable import failing_later
from ..autograd.gradcheck.properties import without_gradient
from ..autograd.graph import Node
from ..autograd.node import AccumulateGrad
from ..autograd.writes.regions import CopySlices

__all__ = ["AccumulateGrad", "CopySlices", "DelayedError", "UndefinedGrad"]


class DelayedError:
    """Gives tensors a history that raises when a backward comes to it.

    Args:
        msg: the text of the RuntimeError.
        num_inputs: how many tensors it is called with.
    """

    def __init__(self, msg: str, num_inputs: int) -> None:
        self._text = msg
        self._count = num_inputs

    def __call__(self, *tensors: Any) -> Any:
        """The tensors with that history; one alone, several as a tuple."""
        if len(tensors) != self._count:
            raise TypeError(f"expected {self._count} arguments, got {len(tensors)} instead")
        made = failing_later(self._text, tensors)
        return made[0] if self._count == 1 else made


class UndefinedGrad:
    """Gives a tensor a history that hands on no gradient: a backward behind it gets None."""

    def __call__(self, tensor: Any) -> Any:
        """The tensor with that history."""
        return without_gradient(tensor)


# In torch these are classes of nodes themselves.
Node.register(DelayedError)
Node.register(UndefinedGrad)
