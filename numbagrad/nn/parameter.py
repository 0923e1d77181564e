"""Parameter and Buffer: tensors that a Module registers when they are assigned to it.

``nn/module.py`` recognises them by class; the layers make them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd import tensor_interface
from ..tensor import Tensor, new_tensor

__all__ = ["Buffer", "Parameter"]


def _of_class(cls: type[Tensor], source: Tensor, requires_grad: bool) -> Any:
    """A leaf of class ``cls`` with the memory and the version of ``source``."""
    shared = tensor_interface.alias(source)
    made: Any = object.__new__(cls)
    made._array = shared._array
    made._requires_grad = False
    made._grad_fn = None
    made._output_nr = 0
    made._grad = None
    made._version_cell = shared._version_cell
    if requires_grad:
        if made._array.dtype.kind not in "fc":
            raise RuntimeError(
                "Only Tensors of floating point and complex dtype can require gradients"
            )
        made._requires_grad = True
    return made


class Parameter(Tensor):
    """A tensor that a Module trains: assigning one as an attribute registers it.

    Args:
        data: the values; the memory is shared.
        requires_grad: whether it is trained. It does not depend on ``no_grad``.
    """

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Parameter:
        if data is None:
            data = new_tensor(np.empty(0, np.float32))
        if not isinstance(data, Tensor):
            raise TypeError(
                f"Parameter(): argument 'data' must be a Tensor, not {type(data).__name__}; make "
                "one with tensor(data)"
            )
        return _of_class(cls, data, requires_grad)

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        """A parameter with a copy of the values; the gradient and hooks stay behind."""
        if id(self) not in memo:
            values = new_tensor(self._array.copy("K"))
            memo[id(self)] = type(self)(values, self._requires_grad)
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        rebuild, (*arguments, attributes) = super().__reduce_ex__(protocol)
        kept = {name: value for name, value in attributes.items() if name != "_grad"}
        return rebuild, (*arguments, kept)

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()

    __hash__ = Tensor.__hash__


class Buffer(Tensor):
    """A tensor that belongs to a Module but is not trained: assigning one registers a buffer.

    Args:
        data: the values; the memory is shared.
        persistent: whether the buffer is part of the ``state_dict``.
    """

    persistent: bool

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Buffer:
        if data is None:
            data = new_tensor(np.empty(0, np.float32))
        made = _of_class(cls, data, data._requires_grad)
        made.persistent = persistent
        return made

    __hash__ = Tensor.__hash__
