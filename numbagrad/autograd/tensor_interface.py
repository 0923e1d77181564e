"""All that autograd needs of Tensors, as one table that ``tensor/tensor.py`` fills at import.

The engine, ``Function`` and ``gradcheck`` reach tensors only through the names of this module, so
they know nothing of operators and can be tested with any class that has the slots of a Tensor.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..executor import capture
from .hooks.watching import INFERENCE_CELL

__all__ = ["register"]

#: The Tensor class. Its instances have the slots ``_array``, ``_requires_grad``, ``_producer``,
#: ``_output_nr``, ``_version_cell`` and ``_accumulated``; its class has the defaults
#: ``_hooks = None`` and ``_retains_grad = False``.
Tensor: Any = None

#: ``new_tensor(array, requires_grad, grad_fn, output_nr)``: wrap an ndarray, nothing copied.
new_tensor: Any = None
#: ``ones_like(tensor)``, not recorded: the gradient of a scalar root.
ones_like: Any = None
#: ``zeros(shape, dtype)`` with a NumPy dtype: what an undefined gradient stands for.
zeros: Any = None
#: ``uniform(shape, dtype, low, high)``: an ndarray drawn from the default generator.
uniform: Any = None

# The operators below are recorded while grad mode is on, as every operator is.

#: ``add(a, b)``, a new tensor.
add: Any = None
#: ``add_(a, b)``, into ``a``, which is returned; only called while grad mode is off. A sparse ``a``
#: stays as it is beside a dense ``b``: the sum, which is dense, is returned then.
add_: Any = None
#: ``clone(a)``, contiguous.
clone: Any = None
#: ``cast(a, dtype)`` with a NumPy dtype.
cast: Any = None
#: ``copied(a, leaf)``: with the strides of the leaf if that has no gaps, else contiguous; recorded
#: as a copy in place.
copied: Any = None
#: ``copied_unrecorded(a, leaf)``: the same; only called while grad mode is off.
copied_unrecorded: Any = None
#: ``has_own_order(a)``: whether elements lie without gaps, but not in the order of the indices.
has_own_order: Any = None
#: ``stack(tensors)`` along a new first dimension.
stack: Any = None
#: ``sum_to_size(a, shape)``: the adjoint of expanding ``shape`` to the shape of ``a``.
sum_to_size: Any = None

#: ``copy_into(a, b)``: write the elements of ``b`` into ``a``, which is returned.
copy_into: Any = None

#: ``apply_transformed(function, args)``: ``Function.apply`` for tensors under a transformation.
apply_transformed: Any = None
#: ``elements_of(a)``: an ndarray of what a tensor under a transformation consists of, all samples.
elements_of: Any = None
#: ``write_transformed(tensor, compute, others)``: write ``compute(tensor)``, which reads ``others``
#: too, into a tensor, where one of them is under a transformation.
write_transformed: Any = None

_REQUIRED = (
    "Tensor",
    "new_tensor",
    "ones_like",
    "zeros",
    "uniform",
    "add",
    "add_",
    "clone",
    "cast",
    "sum_to_size",
    "stack",
    "copied",
    "copied_unrecorded",
    "has_own_order",
    "copy_into",
)


def expands_to(shape: tuple[int, ...], larger: tuple[int, ...]) -> bool:
    """Return True if an array of ``shape`` can be broadcast to the shape ``larger``."""
    if len(shape) > len(larger):
        return False
    aligned = larger[len(larger) - len(shape) :]
    return all([size in (1, other) for size, other in zip(shape, aligned, strict=True)])


def alias(tensor: Any) -> Any:
    """Return a tensor without history that shares the memory and the version of ``tensor``."""
    if tensor._version_cell is None:
        tensor._version_cell = [0]
    result = new_tensor(tensor._array, False, None, 0)
    if tensor._version_cell is not INFERENCE_CELL:
        result._version_cell = tensor._version_cell
    return result


def array_of(tensor: Any) -> Any:
    """The elements of a tensor as an ndarray to be read: its memory, unless more is to be done."""
    array = tensor._array
    return array if array.__class__ is np.ndarray else elements_of(tensor)


def bump_version(tensor: Any) -> None:
    """Count one write in place to the memory of ``tensor``."""
    if capture.active is not None:
        capture.check_written(tensor._array)
    if tensor._version_cell is None:
        tensor._version_cell = [1]
    else:
        tensor._version_cell[0] += 1


def set_history(tensor: Any, node: Any, number: int) -> None:
    """Make ``tensor`` output ``number`` of a node."""
    tensor._requires_grad = True
    tensor._producer = node
    tensor._output_nr = number


#: ``rebase_history(tensor, node, number)``: the same of a tensor that was just written in place.
rebase_history: Any = set_history

_OPTIONAL = (
    "alias", "apply_transformed", "bump_version", "elements_of", "rebase_history",
    "write_transformed",
)  # fmt: skip


def register(**functions: Any) -> None:
    """Fill the table. ``tensor/tensor.py`` calls this once; later calls may replace single entries.

    Args:
        functions: entries by name. ``alias``, ``bump_version`` and ``rebase_history`` have defaults
            that suit tensors whose views need no care.

    Raises:
        TypeError: if a name is not in the table, or if a required entry is still missing.
    """
    unknown = sorted(set(functions) - set(_REQUIRED) - set(_OPTIONAL))
    if unknown:
        raise TypeError(f"tensor_interface.register: unknown entries {unknown}")
    table = globals()
    table.update(functions)
    missing = [name for name in _REQUIRED if table.get(name) is None]
    if missing:
        raise TypeError(f"tensor_interface.register: missing entries {missing}")
