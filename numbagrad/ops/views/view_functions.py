"""Views made again of another base, and bases made again of a view: ``_view_func`` and its inverse.

While ``_force_original_view_tracking`` is on, views know the operator that made them
(``ops/operators/view_operator.py``), and that runs again; else the same place in the memory is
shown.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...autograd.writes.regions import Geometry, region_of
from ...executor.plan.sharing import reach
from ...tensor import Tensor
from ..complex.lazy_conj import view_as_lazy_conj
from ..methods.registry import method
from .strided import extent, view_region

__all__: list[str] = []

#: Changes a size, a stride or an index that a view was made with.
NumberVisitor = Callable[[int], int]


def _same_extent(one: Tensor, other: Tensor) -> bool:
    return extent(one) * one._array.itemsize == extent(other) * other._array.itemsize


@method("_view_func")
def _view_func(
    self: Tensor,
    new_base: Tensor,
    symint_visitor_fn: NumberVisitor | None = None,
    tensor_visitor_fn: Any = None,
) -> Tensor | None:
    """The view of ``new_base`` that this tensor is of its base.

    ``symint_visitor_fn`` gets each size, stride and index that the operators were given, and
    returns the one to use instead. None if this is no view, or if the memory of ``new_base`` has
    another size than that of the base.
    """
    if not self._is_view() or not _same_extent(new_base, self._viewed):  # type: ignore[arg-type]
        return None
    return _view_func_unsafe(self, new_base, symint_visitor_fn, tensor_visitor_fn)


@method("_view_func_unsafe")
def _view_func_unsafe(
    self: Tensor,
    new_base: Tensor,
    symint_visitor_fn: NumberVisitor | None = None,
    tensor_visitor_fn: Any = None,
) -> Tensor | None:
    """``_view_func`` of a base with memory of any size; None if this is no view."""
    if not self._is_view():
        return None
    return _replayed(self, new_base, symint_visitor_fn)


def _replayed(view: Tensor, new_base: Tensor, visitor: NumberVisitor | None) -> Tensor:
    """A view made of another base in the way in which it was made of its own."""
    base: Any = view._viewed
    made_by = view._made_by
    if made_by is None:
        return _shown(new_base, Geometry.between(base._array, view._array))
    operator, parent, values, position = made_by
    before = new_base if parent is base else _replayed(parent, new_base, visitor)
    if visitor is not None:
        names = operator.parameters[1:]
        values = tuple(
            [
                value if name.startswith("dim") else _visited(value, visitor)
                for name, value in zip(names, values, strict=True)
            ]
        )
    made = operator(before, *values)
    result: Tensor = made if position is None else made[position]
    return result


def _visited(value: Any, visitor: NumberVisitor) -> Any:
    """A number, or each number of a tuple, as the visitor wants it."""
    if isinstance(value, (tuple, list)):
        return type(value)([_visited(one, visitor) for one in value])
    return visitor(value) if value.__class__ is int else value


@method("_rev_view_func_unsafe")
def _rev_view_func_unsafe(self: Tensor, new_view: Tensor) -> Tensor:
    """The base of which ``new_view`` is the view that this tensor is of its own base.

    It is a view of ``new_view``, whose memory has to reach as far as that of the base.

    Raises:
        RuntimeError: if this is no view, or if there is no such memory.
    """
    if not self._is_view():
        raise RuntimeError("No _rev_view_func() found")
    base: Any = self._viewed
    return _shown(new_view, Geometry.between(self._array, base._array))


def _shown(base: Tensor, geometry: Geometry) -> Tensor:
    """The view of a base that a geometry describes.

    Raises:
        RuntimeError: if it reaches beyond the memory of the base.
    """
    made: Tensor = region_of(base, geometry, _checked_region, view_as_lazy_conj)
    return made


def _checked_region(base: Tensor, geometry: Geometry) -> Tensor:
    end = reach(geometry.shape, geometry.strides)
    before = base.storage_offset()
    if end and not 0 <= before + geometry.offset <= extent(base) - end:
        raise RuntimeError(
            f"a view of shape {list(geometry.shape)} with strides {list(geometry.strides)} from "
            f"{geometry.offset} reaches beyond the memory of a tensor of shape "
            f"{list(base._array.shape)}"
        )
    return view_region(base, geometry)
