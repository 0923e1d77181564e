"""Nodes of the graph: what an operator leaves behind so that its gradient can be computed.

Operators and ``Function`` make nodes; the engine runs them. A node refers to the nodes that made
its inputs and to leaf tensors, never to its own outputs, so no graph is kept alive by a cycle.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from .hooks import RemovableHandle, add_hook, hooks_of
from .saved import FREED, unpack_entries

__all__ = ["AccumulateGrad", "Node", "edge_of"]

#: Numbers nodes in the order of their creation, over all threads.
next_sequence_nr = itertools.count().__next__


def edge_of(tensor: Any) -> tuple[Any, int] | None:
    """Return where the gradient of ``tensor`` goes: ``(target, output_nr)``, or None."""
    if not tensor._requires_grad:
        return None
    grad_fn = tensor._grad_fn
    return (tensor, 0) if grad_fn is None else (grad_fn, tensor._output_nr)


class Node:
    """One recorded operation. Subclasses are named as torch's nodes and implement ``backward``.

    Attributes:
        next_edges: for each input of the operation None or ``(target, output_nr)``. The target
            is the node that made the input or, for a leaf, the leaf tensor itself.
        sequence_nr: larger than that of every node this one depends on.
        saved: packed tensors (see ``saved.py``), or None once they were freed.
    """

    __slots__ = ("__weakref__", "_hooks", "next_edges", "saved", "sequence_nr")

    next_edges: tuple[Any, ...]
    saved: tuple[Any, ...] | None
    sequence_nr: int
    _hooks: Any

    #: How many tensors the operation returns. Classes whose count varies have it on the instance.
    _output_count = 1
    #: Whether ``backward`` is to be called if the gradients of all outputs are undefined.
    _runs_on_undefined = False

    def __init__(self, next_edges: tuple[Any, ...] = (), saved: tuple[Any, ...] = ()) -> None:
        self.next_edges = next_edges
        self.saved = saved
        self._hooks = None
        self.sequence_nr = next_sequence_nr()

    def backward(self, *grads: Any) -> tuple[Any, ...]:
        """Return the gradients of the inputs, given those of the outputs.

        Args:
            grads: a tensor or None (undefined, stands for zeros) for each output.

        Returns:
            A tensor or None for each entry of ``next_edges``.
        """
        raise NotImplementedError(f"derivative for {self.name()} is not implemented")

    def unpack(self) -> tuple[Any, ...]:
        """Give back the saved tensors.

        Raises:
            RuntimeError: if they were freed, or if one of them was written in place since.
        """
        saved = self.saved
        if saved is None:
            raise RuntimeError(FREED)
        for entry in saved:
            if entry is not None and entry._version_cell is not None:
                return unpack_entries(saved, self)
        return saved

    def release(self) -> None:
        """Free what was saved. A node that saves nothing may run again."""
        if self.saved:
            self.saved = None

    # What users see

    def name(self) -> str:
        """Return the name of the node, as ``MulBackward0``."""
        return type(self).__name__

    def __repr__(self) -> str:
        return f"<{self.name()} object at {id(self):#x}>"

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """For each input ``(node, output_nr)``; leaves appear as ``AccumulateGrad``."""
        return tuple([_visible_edge(edge) for edge in self.next_edges])

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dictionary for the user, kept as long as the node."""
        return hooks_of(self).metadata

    def _sequence_nr(self) -> int:
        return self.sequence_nr

    def register_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Register ``hook(grad_inputs, grad_outputs) -> tuple or None``, to run after the node."""
        return add_hook(hooks_of(self).post, hook)

    def register_prehook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Register ``hook(grad_outputs) -> tuple or None``, called before the node runs."""
        return add_hook(hooks_of(self).pre, hook)


def _visible_edge(edge: tuple[Any, int] | None) -> tuple[Any, int]:
    if edge is None:
        return None, 0
    target, output_nr = edge
    return (target if isinstance(target, Node) else AccumulateGrad(target)), output_nr


class AccumulateGrad:
    """How the graph shows a leaf: a view made on request, equal for the same leaf.

    Its hooks are kept by the leaf tensor.

    Attributes:
        variable: the leaf tensor.
    """

    __slots__ = ("variable",)

    next_functions: tuple[tuple[Any, int], ...] = ()

    def __init__(self, variable: Any) -> None:
        self.variable = variable

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AccumulateGrad) and other.variable is self.variable

    def __hash__(self) -> int:
        return hash((AccumulateGrad, id(self.variable)))

    def __repr__(self) -> str:
        return f"<AccumulateGrad object at {id(self.variable):#x}>"

    def name(self) -> str:
        """Return ``torch::autograd::AccumulateGrad``, as torch does."""
        return "torch::autograd::AccumulateGrad"

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dictionary for the user, kept by the leaf."""
        return hooks_of(self.variable).metadata

    def register_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Register ``hook((), grad_outputs)``, called after the leaf's grad was added to."""
        return add_hook(hooks_of(self.variable).post, hook)

    def register_prehook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Register ``hook(grad_outputs) -> tuple or None``, to run before the grad is added to."""
        return add_hook(hooks_of(self.variable).pre, hook)
