"""Parameter and Buffer: tensors that a Module registers when they are assigned to it.

``nn/module.py`` recognises them by class; the layers make them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..lazy import lazy_names
from ..tensor import Tensor, leaf_of_class, new_tensor
from ..torch_function import disabled_torch_function

__all__ = ["Buffer", "Parameter"]

#: Classes with a ``__torch_function__``: from the first of them on, operators ask for it.
UNINITIALIZED = (
    "UninitializedBuffer", "UninitializedParameter", "UninitializedTensorMixin", "is_lazy",
)  # fmt: skip

__getattr__, __dir__ = lazy_names(__name__, dict.fromkeys(UNINITIALIZED, "..uninitialized"))


class Parameter(Tensor):
    """A tensor that a Module trains: assigning one as an attribute registers it.

    Args:
        data: the values; the memory is shared.
        requires_grad: whether it is trained. It does not depend on ``no_grad``.
    """

    __torch_function__ = disabled_torch_function  # type: ignore[assignment]

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Parameter:
        if data is None:
            data = new_tensor(np.empty(0, np.float32))
        if not isinstance(data, Tensor):
            raise TypeError(
                f"Parameter(): argument 'data' must be a Tensor, not {type(data).__name__}; make "
                "one with tensor(data)"
            )
        return leaf_of_class(cls, data, requires_grad)

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


#: The class of ``Parameter``, for classes that name it as theirs.
_ParameterMeta = type(Parameter)


class Buffer(Tensor):
    """A tensor that belongs to a Module but is not trained: assigning one registers a buffer.

    Args:
        data: the values; the memory is shared.
        persistent: whether the buffer is part of the ``state_dict``.
    """

    __torch_function__ = disabled_torch_function  # type: ignore[assignment]
    persistent: bool

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Buffer:
        if data is None:
            data = new_tensor(np.empty(0, np.float32))
        made = leaf_of_class(cls, data, data._requires_grad)
        made.persistent = persistent
        return made

    __hash__ = Tensor.__hash__
