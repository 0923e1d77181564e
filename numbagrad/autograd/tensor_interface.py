"""All that autograd needs of the rooms above it, as one table that those fill at import.

The engine, ``Function`` and ``gradcheck`` reach tensors only through the names of this module, so
they know nothing of operators and can be tested with any class that has the slots of a Tensor.
``ops/operators/autograd_interface.py`` fills most entries.
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

#: ``rebase_history(tensor, node, number)``: ``set_history`` of one that was just written in place.
rebase_history: Any = None

# Histories of views (``writes/regions.py``); a geometry says which region of a base a view shows.

#: ``read_region(base, geometry)``: the region; ``spread_region(region, geometry)`` is its adjoint.
read_region: Any = None
spread_region: Any = None
#: ``clear_region(base, geometry)``: the base with zeros in the region.
clear_region: Any = None
#: ``replace_region(base, region, geometry)``: the base with other values there.
replace_region: Any = None
#: ``as_real(a)``: the parts of a complex tensor; ``as_complex(parts)``: the tensor of such parts.
as_real: Any = None
as_complex: Any = None
#: ``as_lazy_conj(a, (conjugated, negated))``, its own adjoint.
as_lazy_conj: Any = None
#: ``lazy_conj_node(edge, change)``: the node of such a view of the tensor behind an edge.
lazy_conj_node: Any = None

# What rooms between autograd and operators call of the rooms above them.

#: ``show_saved(node, position)``: the saved tensor of a node as users see it.
show_saved: Any = None
#: The answers for Tensors under a transformation: ``TransformedReading`` of ``tensor/state.py``.
transformed_reading: Any = None
#: ``resolve_lazy_conj(a)``: the elements of a tensor that waits to be conjugated or negated.
resolve_lazy_conj: Any = None
#: ``complex_variant(operator, operands)``: a pointwise operator for complex operands.
complex_variant: Any = None
#: torch's names of calls (``ops/aten_calls.py``), as soon as a mode sees calls.
aten_calls: Any = None

_ENTRIES = frozenset(__annotations__)


def register(**functions: Any) -> None:
    """Fill entries of the table at import, each once, by the room above that has the function.

    Raises:
        TypeError: if a name is not in the table, or was filled before.
    """
    for name, function in functions.items():
        if name not in _ENTRIES:
            raise TypeError(f"tensor_interface.register: unknown entry {name!r}")
        if globals()[name] is not None:
            raise TypeError(f"tensor_interface.register: {name!r} is registered already")
        globals()[name] = function


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
