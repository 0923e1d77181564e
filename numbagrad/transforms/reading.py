"""Attributes of a transformed Tensor as code outside the transformation sees them.

``tensor/tensor.py`` asks here for the values, the text and the detached self of such a Tensor;
functions with ``out=`` ask whether a tangent would be lost.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..autograd import tensor_interface
from ..autograd.grad_mode import no_grad
from ..autograd.tensor_interface import alias
from ..printing import tensor_text
from ..tensor import Tensor
from ..tensor.leaves import with_own_memory
from .levels import (
    BRANCH,
    ITEM,
    NO_MEMORY,
    Batched,
    Dual,
    LazyConj,
    batched,
    is_transformed,
    lazy_conj,
    settled,
    state_of,
)
from .unwrapping import resolved

if TYPE_CHECKING:
    import numpy as np

__all__ = [
    "detached", "element_of", "has_tangent", "memory_for_numpy", "refuse_tangents", "text_of",
    "truth_of", "values_of",
]  # fmt: skip


def detached(tensor: Tensor) -> Tensor:
    """A Tensor of the same memory and samples, without a history at any level or a tangent."""
    tensor = settled(tensor)
    state = state_of(tensor)
    if state is None:
        return alias(tensor)
    if state.__class__ is Dual:
        return detached(state.primal)
    if state.__class__ is LazyConj:
        made = lazy_conj(alias(state.primal), state.conjugated, state.negated)
        return with_own_memory(tensor, made)
    made = batched(state.level, detached(state.value))
    if tensor._version_cell is None:
        tensor._version_cell = [0]
    made._version_cell = tensor._version_cell
    return made


def values_of(tensor: Tensor, error: str = NO_MEMORY) -> Tensor:
    """The Tensor without tangents, for what reads its elements in Python.

    Raises:
        RuntimeError: inside of ``vmap``, where a Tensor stands for many values.
    """
    tensor = settled(tensor)
    state = state_of(tensor)
    if state is None:
        return tensor
    if state.__class__ is Batched:
        raise RuntimeError(error)
    if state.__class__ is LazyConj:
        with no_grad():
            found: Tensor = resolved(tensor)
        return found
    return values_of(state.primal, error)


def memory_for_numpy(tensor: Tensor) -> Tensor:
    """``values_of``, for an ndarray that shares the memory.

    Raises:
        RuntimeError: if the elements are not what the memory holds.
    """
    array = tensor._array
    conjugated, negated = getattr(array, "lazy_conj", (False, False))
    for bit, is_set, method in (
        ("conjugate", conjugated, "resolve_conj"), ("negative", negated, "resolve_neg")
    ):  # fmt: skip
        if is_set:
            raise RuntimeError(
                f"Can't call numpy() on Tensor that has {bit} bit set. Use tensor.{method}()."
                "numpy() instead."
            )
    return values_of(tensor)


def elements_of(tensor: Tensor) -> np.ndarray[Any, Any]:
    """The elements of all samples, without tangents."""
    tensor = settled(tensor)
    state = state_of(tensor)
    while state is not None and state.__class__ is not LazyConj:
        tensor = settled(state.value if state.__class__ is Batched else state.primal)
        state = state_of(tensor)
    return values_of(tensor)._array


def element_of(tensor: Tensor) -> Tensor:
    """``values_of`` for ``item()`` and the like."""
    return values_of(tensor, ITEM)


def truth_of(tensor: Tensor) -> Tensor:
    """``values_of`` for branches."""
    return values_of(tensor, BRANCH)


def text_of(tensor: Tensor) -> str:
    """The text of a Tensor with all samples, or with its tangent."""
    tensor = settled(tensor)
    state = state_of(tensor)
    if state is None:
        return repr(tensor)
    if state.__class__ is Batched:
        value = textwrap.indent(repr(state.value), "    ")
        return f"BatchedTensor(lvl={state.level.depth}, bdim=0, value=\n{value}\n)"
    grad_fn = tensor._producer
    tangent = state.tangent if state.__class__ is Dual else None
    return tensor_text(
        values_of(tensor)._array,
        tensor.dtype,
        requires_grad=tensor._requires_grad,
        grad_fn_name=None if grad_fn is None else type(grad_fn).__name__,
        tangent_text=None if tangent is None else repr(tangent),
    )


def has_tangent(tensor: Tensor) -> bool:
    """Whether a Tensor, or what it stands for, is dual at a level that is open."""
    state = state_of(settled(tensor))
    while state is not None:
        if state.__class__ is Dual and state.tangent is not None:
            return True
        state = state_of(settled(state.value if state.__class__ is Batched else state.primal))
    return False


def refuse_tangents(name: str, tensors: Sequence[Any]) -> None:
    """Raise if one of the tensors is dual: a tangent would be lost."""
    if is_transformed(tensors) and any([isinstance(x, Tensor) and has_tangent(x) for x in tensors]):
        raise NotImplementedError(
            f"Trying to use forward AD with {name}_out that does not support it because it is an "
            "out= function"
        )


tensor_interface.register(transformed_reading=sys.modules[__name__])
