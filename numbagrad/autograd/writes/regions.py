"""Regions of a memory, and the nodes of bases and views that share them once they were written.

``inplace.py`` makes these nodes; ``tensor_interface`` has the operators that they run. A
region is the place of a view in the memory of its base.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from ...backend import address_of, foreign
from ...executor.families.complex_parts import parts_of_array
from .. import tensor_interface as interface
from ..hooks.saved_hooks import HookedTensor
from ..hooks.tensor_hooks import note_metadata
from ..node import Node, OutputMetadata, edge_of, visible
from ..saved import FREED, ProducerLater, SavedOutput, save_output

__all__ = [
    "AsStridedBackward0", "CopySlices", "Geometry", "region_of", "saved_view",
]  # fmt: skip


class Geometry:
    """Where the elements of a view lie in the memory of its base, counted in elements.

    Of a real view of complex numbers, and the other way round, the elements are real numbers.
    """

    __slots__ = (
        "base_shape", "base_strides", "given_offset", "offset", "parted", "lazy_conj", "shape",
        "strides",
    )  # fmt: skip

    #: Whether the base and whether the view is complex, if only one of them is.
    parted: tuple[bool, bool] | None
    #: Whether the elements of the view are those of the base conjugated, and whether negated; None
    #: if they are neither.
    lazy_conj: tuple[bool, bool] | None
    #: The offset from the beginning of the memory that a user asked for, if one did.
    given_offset: int | None

    def __init__(
        self,
        base: np.ndarray[Any, Any],
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        offset: int,
    ) -> None:
        size = base.itemsize
        self.base_shape = base.shape
        self.base_strides = tuple([stride // size for stride in base.strides])
        self.shape = shape
        self.strides = strides
        self.offset = offset
        self.given_offset = None
        self.parted = None
        self.lazy_conj = None

    @property
    def is_whole(self) -> bool:
        """Whether the view shows the base as it is, but for what is pending."""
        return (
            self.offset == 0
            and self.parted is None
            and self.shape == self.base_shape
            and self.strides == self.base_strides
        )

    def shown(self) -> dict[str, Any]:
        """How nodes show it: under the names of the arguments of ``as_strided``."""
        return {
            "size": self.shape, "stride": self.strides, "storage_offset": self.given_offset,
        }  # fmt: skip

    @classmethod
    def between(cls, base: np.ndarray[Any, Any], view: np.ndarray[Any, Any]) -> Geometry:
        """The geometry of ``view``, an array in the memory of ``base``."""
        if foreign(base) is None and not base.__class__ is view.__class__ is np.ndarray:
            made = cls.between(base.view(np.ndarray), view.view(np.ndarray))
            of_base, of_view = [getattr(x, "lazy_conj", _AS_IT_IS) for x in (base, view)]
            if of_base != of_view:
                made.lazy_conj = of_base[0] != of_view[0], of_base[1] != of_view[1]
            return made
        parted = base.dtype.kind == "c", view.dtype.kind == "c"
        if parted[0] != parted[1]:
            made = cls.between(
                parts_of_array(base) if parted[0] else base,
                parts_of_array(view) if parted[1] else view,
            )
            made.parted = parted
            return made
        size = base.itemsize
        strides = tuple([stride // size for stride in view.strides])
        return cls(base, view.shape, strides, (address_of(view) - address_of(base)) // size)

    def __repr__(self) -> str:
        return (
            f"{list(self.shape)} with strides {list(self.strides)} from {self.offset} of "
            f"{list(self.base_shape)}"
        )


_AS_IT_IS = (False, False)


def region_of(
    base: Any,
    geometry: Geometry,
    read: Callable[[Any, Geometry], Any],
    as_lazy_conj: Callable[[Any, tuple[bool, bool]], Any] | None = None,
) -> Any:
    """The region of a tensor like the base that ``read`` gives, as a tensor like the view.

    ``as_lazy_conj`` conjugates and negates, where a view is to be had instead of a copy.
    """
    if geometry.parted is None:
        found = read(base, geometry)
    else:
        of_base, of_view = geometry.parted
        found = read(interface.as_real(base) if of_base else base, geometry)
        found = interface.as_complex(found) if of_view else found
    if geometry.lazy_conj is None:
        return found
    return (as_lazy_conj or interface.as_lazy_conj)(found, geometry.lazy_conj)


def _spread_region(region: Any, geometry: Geometry) -> Any:
    """The adjoint of reading the region, for a tensor like the view."""
    if geometry.lazy_conj is not None:
        region = interface.as_lazy_conj(region, geometry.lazy_conj)
    if geometry.parted is None:
        return interface.spread_region(region, geometry)
    of_base, of_view = geometry.parted
    found = interface.spread_region(interface.as_real(region) if of_view else region, geometry)
    return interface.as_complex(found) if of_base else found


def _without_region(base: Any, region: Any, geometry: Geometry) -> Any:
    """A tensor like the base with other values in the region, or zeros for None."""
    if geometry.lazy_conj is not None and region is not None:
        region = interface.as_lazy_conj(region, geometry.lazy_conj)
    if geometry.parted is not None:
        of_base, of_view = geometry.parted
        base = interface.as_real(base) if of_base else base
        region = interface.as_real(region) if of_view and region is not None else region
    found = (
        interface.clear_region(base, geometry)
        if region is None
        else interface.replace_region(base, region, geometry)
    )
    return (
        interface.as_complex(found) if geometry.parted is not None and geometry.parted[0] else found
    )


class CopySlices(Node):
    """Node of a base that was written through a view.

    It stands for the node of the write as well. The gradient of the region goes through that one
    and comes back as the gradient of the old value of the view; in its place it is a part of the
    gradient of the base as it was. So the nodes between the base and the view do not run.
    """

    __slots__ = ("_base", "_dtype", "_output_nr", "_position", "_write", "geometry")

    _announced_when_complete = True

    #: The node of the write, whose output ``_output_nr`` is the new value of the view.
    _write: Node | None
    #: The input of that node that was the view, or None if it had no gradient.
    _position: int | None
    _namespace = "torch::autograd::"

    def __init__(self, base: Any, view: Any, write: Node, output_nr: int) -> None:
        before, edges = edge_of(base), write.next_edges
        self._position = position = None if before is None else _position_of(edge_of(view), edges)
        if position is not None:
            edges = edges[:position] + edges[position + 1 :]
        self.geometry = Geometry.between(base._array, view._array)
        self._dtype = view._array.dtype
        self._base = base._array.shape, base._array.dtype
        self._write, self._output_nr = write, output_nr
        super().__init__((before, *edges))
        _produce_as_view(write, self)

    @property
    def _wrapped_node(self) -> Node | None:
        """The node of the write, until it is freed with the graph."""
        if self._write is None:
            return None
        shape = self.geometry.shape
        if self.geometry.parted is not None and self.geometry.parted[1]:
            shape = shape[:-1]
        note_metadata(self._write, self._output_nr, shape, self._dtype)
        return visible(self._write)

    @property
    def _input_metadata(self) -> tuple[OutputMetadata | None, ...]:
        return (OutputMetadata(*self._base),)

    def release(self) -> None:
        """Free the node of the write, so that a second walk raises."""
        if self._write is not None:
            self._write.release()
            self._write = None

    def backward(self, grad: Any) -> tuple[Any, ...]:
        write, position, geometry = self._write, self._position, self.geometry
        if write is None:
            raise RuntimeError(FREED)
        gradients = [None] * write._output_count
        gradients[self._output_nr] = region_of(grad, geometry, interface.read_region)
        results = write.backward(*gradients)
        of_view = None
        if position is not None:
            of_view = results[position]
            results = results[:position] + results[position + 1 :]
        if self.next_edges[0] is None:
            return (None, *results)
        return (_without_region(grad, of_view, geometry), *results)


def _position_of(edge: tuple[Any, int] | None, edges: tuple[Any, ...]) -> int | None:
    """The first of ``edges`` that leads where ``edge`` does, or None."""
    if edge is not None:
        for position, other in enumerate(edges):
            if other is not None and other[0] is edge[0] and other[1] == edge[1]:
                return position
    return None


def _produce_as_view(write: Node, copy_slices: CopySlices) -> None:
    """Let saved outputs of the node of a write have the history of the view that was written.

    That history begins with ``copy_slices``, which keeps the node, which keeps the outputs: so they
    know it weakly.
    """
    entries = write._saved_entries()
    kinds = [entry.__class__ for entry in entries or ()]
    if SavedOutput not in kinds and HookedTensor not in kinds:
        return
    later = _view_behind(copy_slices)
    write._set_saved_entries(tuple([entry and _produced(entry, later) for entry in entries or ()]))


def _view_behind(copy_slices: CopySlices, made: Node | None = None) -> ProducerLater:
    """The node that a view has after the write, as long as the graph is there; ``made`` if it is
    in use."""
    known = weakref.ref(copy_slices)
    known_node = None if made is None else weakref.ref(made)

    def make(node: Node) -> Node:
        used = None if known_node is None else known_node()
        if used is not None:
            return used
        found = known()
        return node if found is None else AsStridedBackward0((found, 0), found.geometry)

    return ProducerLater(make)


def saved_view(view: Any) -> SavedOutput:
    """Pack a view that was just written, for the node of the write."""
    return save_output(view).produced(_view_behind(view._viewed._producer, view._producer))


def _produced(entry: Any, later: ProducerLater) -> Any:
    """An entry of a node, with another history if it is an output of that node."""
    if entry.__class__ is SavedOutput or entry.__class__ is HookedTensor:
        return entry.produced(later)
    return entry


class AsStridedBackward0(Node):
    """Node of a view whose base was written after the view was made."""

    __slots__ = ("geometry",)

    def __init__(self, edge: Any, geometry: Geometry) -> None:
        self.geometry = geometry
        super().__init__((edge,))

    @classmethod
    def of_view(cls, base: Any, view: Any) -> Node:
        """The node of ``view``, which shares the memory of ``base``."""
        geometry = Geometry.between(base._array, view._array)
        change, geometry.lazy_conj = geometry.lazy_conj, None
        if change is None:
            return cls(edge_of(base), geometry)
        edge = edge_of(base) if geometry.is_whole else (cls(edge_of(base), geometry), 0)
        made: Node = interface.lazy_conj_node(edge, change)
        return made

    def backward(self, grad: Any) -> tuple[Any, ...]:
        return (_spread_region(grad, self.geometry),)
