"""Nodes of the graph: what an operator leaves behind so that its gradient can be computed.

Operators and ``Function`` make nodes; the engine runs them. A node refers to the nodes that made
its inputs and to leaf tensors, never to its own outputs, so no graph is kept alive by a cycle.
"""

from __future__ import annotations

import functools
import itertools
import operator
import weakref
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from ..referrers import referrers
from . import tensor_interface as interface
from .hooks import watching
from .hooks.tensor_hooks import RemovableHandle, add_hook, hooks_of, known_outputs, note_output
from .saved import FREED, SavedInput, unpack_entries

__all__ = [
    "AccumulateGrad", "Error", "Node", "begin", "detached", "edge_of", "new_node", "priorities",
    "produce",
]  # fmt: skip

#: Numbers nodes in the order of their creation, over all threads.
next_sequence_nr = itertools.count().__next__


_new = object.__new__


class _Priorities:
    """The sequence numbers that users gave to nodes; the engine has its own in ``sequence_nr``."""

    def __init__(self) -> None:
        #: Whether a user ever set one.
        self.in_use = False
        self.numbers: weakref.WeakKeyDictionary[Node, int] = weakref.WeakKeyDictionary()

    def set(self, node: Node, number: int) -> None:
        """Give a node a number."""
        self.in_use = True
        self.numbers[node] = number


priorities = _Priorities()


class _Detached:
    """The tensors that lost their history in place: nodes that saved them before need it."""

    def __init__(self) -> None:
        #: Whether there ever was one.
        self.in_use = False

    def note(self, tensor: Any) -> None:
        """Note a tensor that is about to be detached."""
        if tensor._version_cell is None:
            tensor._version_cell = [0]  # so that a node that saved it looks closer
        self.in_use = True
        tensor._detached_at = next_sequence_nr()

    def check(self, entries: tuple[Any, ...], node: Node) -> None:
        """Raise if a node saved a tensor that was detached later."""
        for entry in entries:
            tensor = entry.tensor if isinstance(entry, SavedInput) else entry
            if isinstance(tensor, interface.Tensor):
                if tensor._detached_at > node.sequence_nr:
                    raise RuntimeError(
                        "Trying to use a saved tensor that has been detached in-place, i.e. with "
                        ".detach_().This is not supported, please use out-of-place `.detach()` "
                        "instead"
                    )


detached = _Detached()


def edge_of(tensor: Any) -> tuple[Any, int] | None:
    """Return where the gradient of ``tensor`` goes: ``(target, output_nr)``, or None."""
    if not tensor._requires_grad:
        return None
    grad_fn = tensor._producer
    return (tensor, 0) if grad_fn is None else (grad_fn, tensor._output_nr)


def begin(
    node: Any, edges: tuple[Any, ...], saved: tuple[Any, ...] | None = (), number: Any = None
) -> None:
    """Give a new node what all nodes have: here, for every node that Python makes.

    ``new_node`` of ``native/nodes.py`` does the same in compiled code. ``number`` is the sequence
    number, the next one if there is none.
    """
    node.next_edges = edges
    node.saved = saved
    node._hooks = None
    node.sequence_nr = next_sequence_nr() if number is None else number


class Node:
    """One recorded operation. Subclasses are named as torch's nodes and implement ``backward``.

    Attributes:
        next_edges: for each input of the operation None or ``(target, output_nr)``. The target
            is the node that made the input or, for a leaf, the leaf tensor itself.
        sequence_nr: larger than that of every node this one depends on.
        saved: packed tensors (see ``saved.py``), or None once they were freed.
    """

    __slots__ = ("__weakref__", "_hooks", "next_edges", "saved", "sequence_nr")

    #: Whether gradients go no further, and nobody sees the node.
    ends_history = False

    next_edges: tuple[Any, ...]
    saved: tuple[Any, ...] | None
    sequence_nr: int
    _hooks: Any

    #: The operator whose calls leave such nodes, on classes of one operator.
    operator: Any = None
    #: How many tensors the operation returns. Classes whose count varies have it on the instance.
    _output_count = 1
    #: The prefix of names that torch did not generate: ``torch::autograd::``.
    _namespace = ""
    #: Set on classes whose ``_saved_*`` attributes were made.
    _shows_saved = False
    #: Whether what makes such a node shows it to hooks of creation itself, once it is complete.
    _announced_when_complete = False
    #: Whether ``backward`` is to be called if the gradients of all outputs are undefined.
    _runs_on_undefined = False
    #: Whether ``backward`` takes ``wanted``: for each entry of ``next_edges`` whether its gradient
    #: is used (torch's ``task_should_compute_output``). It need not compute the others then.
    _computes_wanted = False
    #: Whether ``run_chain`` runs such nodes, and those behind them, as one kernel.
    _begins_chains = False

    def __init__(self, next_edges: tuple[Any, ...] = (), saved: tuple[Any, ...] = ()) -> None:
        begin(self, next_edges, saved)
        if watching.count:
            watching.made(self)

    def backward(self, *grads: Any) -> tuple[Any, ...]:
        """Return the gradients of the inputs, given those of the outputs.

        Args:
            grads: a tensor or None (undefined, stands for zeros) for each output.

        Returns:
            A tensor or None for each entry of ``next_edges``.
        """
        raise NotImplementedError(f"derivative for {self.name()} is not implemented")

    def run_chain(self, grad: Any, buffers: Collection[int], ready: Sequence[int]) -> Any:
        """Run this node and those behind it as one kernel, which only nodes that begin chains do.

        Args:
            grad: the gradient of the only output.
            buffers, ready: of the engine, without this node.

        Returns:
            The nodes, and the gradients of the last; None if they are to run one by one.
        """
        raise NotImplementedError(f"{self.name()} begins no chain")

    @property
    def _takes_list(self) -> bool:
        """Whether ``backward_of_list(gradients)`` is to run, with a list that nobody else holds."""
        return False

    def unpack(self) -> tuple[Any, ...]:
        """Give back the saved tensors.

        Raises:
            RuntimeError: if they were freed, or if one of them was written or detached in place
                since.
        """
        saved = self.saved
        if saved is None:
            raise RuntimeError(FREED)
        for entry in saved:
            if entry is not None and entry._version_cell is not None:
                if detached.in_use:
                    detached.check(saved, self)
                return unpack_entries(saved, self)
        return saved

    def release(self) -> None:
        """Free what was saved. A node that saves nothing may run again."""
        if self.saved:
            self.saved = None

    # What users see

    def name(self) -> str:
        """Return the name of the node, as ``MulBackward0``."""
        return self._namespace + type(self).__name__

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {id(self):#x}>"

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """For each input ``(node, output_nr)``; leaves appear as ``AccumulateGrad``."""
        return tuple([_visible_edge(edge) for edge in self.next_edges])

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dictionary for the user, kept as long as the node."""
        return hooks_of(self).metadata

    def _sequence_nr(self) -> int:
        """The priority among the nodes that are ready: the highest runs next."""
        return priorities.numbers.get(self, self.sequence_nr)

    def _set_sequence_nr(self, number: int) -> None:
        """Have the node run earlier or later among those that are ready."""
        priorities.set(self, operator.index(number))

    @property
    def _input_metadata(self) -> tuple[OutputMetadata | None, ...]:
        """Shape and dtype of each gradient the node takes; None for a tensor that is gone, if
        nobody looked at its ``grad_fn``."""
        known = known_outputs(self)
        if len(known) < self._output_count:
            self._look_for_outputs()
            known = known_outputs(self)
        return tuple(
            [
                OutputMetadata(*known[number]) if number in known else None
                for number in range(self._output_count)
            ]
        )

    def _look_for_outputs(self) -> None:
        """Note the outputs that are still in use. Only the garbage collector knows all tensors."""
        for holder in referrers(self):
            if isinstance(holder, interface.Tensor) and holder._producer is self:
                note_output(self, holder)

    def __call__(self, *grads: Any) -> Any:
        """Return the gradients of the inputs; one of them alone, several as a tuple.

        Raises:
            TypeError: if the number of gradients is not that of the node's outputs, or if one is
                neither a tensor nor None.
        """
        if len(grads) != self._output_count:
            raise TypeError(f"expected {self._output_count} arguments, got {len(grads)} instead")
        for index, grad in enumerate(grads):
            if grad is not None and not isinstance(grad, interface.Tensor):
                raise TypeError(f"argument {index} is not a Variable")
        results = self.backward(*grads)
        return results[0] if len(results) == 1 else results

    # Saved tensors, as users see them. Subclasses that save name what they save.

    def _saved_fields(self) -> dict[str, tuple[str, Any]]:
        """The values of ``_saved_*``: by name ``("tensor", position)``,
        ``("tensors", positions)`` or ``("value", function of nothing)``."""
        return {}

    def _possible_fields(self) -> Iterable[str]:
        """The names of ``_saved_fields`` that any node of this class may have."""
        return self._saved_fields()

    def _saved_entries(self) -> tuple[Any, ...] | None:
        return self.saved

    def _set_saved_entries(self, entries: tuple[Any, ...]) -> None:
        self.saved = entries

    def _unpack_entry(self, position: int) -> Any:
        entries = self._saved_entries()
        if entries is None:
            raise RuntimeError(FREED)
        return unpack_entries(entries[position : position + 1], self)[0]

    def _look_up(self, name: str, raw: bool) -> Any:
        found = self._saved_fields().get(name)
        if found is None or (raw and found[0] == "value"):
            attribute = f"_{'raw_' if raw else ''}saved_{name}"
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{attribute}'")
        return self._saved_field(*found, raw)

    def _saved_field(self, kind: str, what: Any, raw: bool) -> Any:
        if kind == "value":
            return what()
        if kind == "tensors":
            if self._saved_entries() is None:
                raise RuntimeError(FREED)
            return tuple([self._saved_field("tensor", position, raw) for position in what])
        if raw:
            return interface.show_saved(self, what)
        return None if what is None else self._unpack_entry(what)

    def __dir__(self) -> list[str]:
        names = [name for name in super().__dir__() if not name.startswith(SAVED_PREFIXES)]
        for name, (kind, _) in self._saved_fields().items():
            names += [f"_saved_{name}"] + ([f"_raw_saved_{name}"] if kind != "value" else [])
        return names

    def register_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Register ``hook(grad_inputs, grad_outputs) -> tuple or None``, to run after the node."""
        return add_hook(hooks_of(self).post, hook)

    def register_prehook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Register ``hook(grad_outputs) -> tuple or None``, called before the node runs."""
        return add_hook(hooks_of(self).pre, hook)

    def take_part(self) -> None:
        """Said to a node that ends a walk. One that is only shown to users enters the graph."""

    def _register_hook_dict(self, tensor: Any) -> None:
        """Let the hooks of a tensor run for the gradient of the output of its number."""
        hooks_of(self).tensor[tensor._output_nr] = tensor._backward_hooks


SAVED_PREFIXES = ("_saved_", "_raw_saved_")


def visible(node: Node) -> Node:
    """A node that users get to see: its class has the attributes ``_saved_*`` from now on.

    Not by ``__getattr__``, which would slow down every other attribute of every node.
    """
    cls = type(node)
    if "_shows_saved" not in vars(cls):
        cls._shows_saved = True
        for name in node._possible_fields():
            for raw, prefix in enumerate(SAVED_PREFIXES):
                look_up = functools.partial(cls._look_up, name=name, raw=bool(raw))
                setattr(cls, prefix + name, property(look_up))
    return node


class OutputMetadata:
    """Shape, dtype and device of an output of a node, as torch's ``_input_metadata`` shows them."""

    __slots__ = ("_dtype", "shape")

    is_nested_tensor = False
    is_cpp_nested_tensor = False

    def __init__(self, shape: Sequence[int], dtype: Any) -> None:
        self.shape = list(shape)
        self._dtype = dtype

    @property
    def dtype(self) -> Any:
        """The dtype of the tensor."""
        from ..dtype import from_numpy

        return from_numpy(self._dtype)

    @property
    def device(self) -> Any:
        """The device of the tensor."""
        from ..device import CPU

        return CPU


class Unrecorded(Node):
    """The producer of views that were made while nothing was recorded, of what requires grad.

    They require grad as their bases do, so what is computed of them is recorded; but gradients end
    here, and nobody sees the node.
    """

    __slots__ = ()
    ends_history = True

    def backward(self, *grads: Any) -> tuple[Any, ...]:
        return ()


UNRECORDED = Unrecorded(())


def has_no_history(tensor: Any) -> bool:
    """Whether a tensor is a leaf, or a view of whose making there is no record."""
    return tensor._producer is None or tensor._producer is UNRECORDED


def _visible_edge(edge: tuple[Any, int] | None) -> tuple[Any, int]:
    if edge is None or edge[0] is UNRECORDED:
        return None, 0
    target, output_nr = edge
    return visible(target) if isinstance(target, Node) else accumulator_of(target), output_nr


_FOREVER = 2**63
#: The uses of a leaf whose memory was never replaced.
ALL_USES = (-1, _FOREVER)


def wanted_edge(tensor: Any) -> tuple[Any, Any] | None:
    """``edge_of`` an input of a walk, as ``walk.Plan`` takes it: a leaf comes with its uses."""
    edge = edge_of(tensor)
    if edge is not None and edge[0] is UNRECORDED:
        return Unrecorded(()), 0  # a place that no walk comes to
    return edge if edge is None or edge[0] is not tensor else (tensor, tensor._uses or ALL_USES)


def accumulator_of(leaf: Any) -> AccumulateGrad:
    """How the graph shows a leaf: the same object as long as somebody holds it."""
    found = leaf._accumulator
    found = None if found is None else found()
    if found is None:
        found = AccumulateGrad(leaf)
        leaf._accumulator = weakref.ref(found)
    return found


def replace_accumulator(leaf: Any) -> None:
    """Have another ``AccumulateGrad`` stand for a leaf from now on: its memory was replaced."""
    number = next_sequence_nr()
    old = None if leaf._accumulator is None else leaf._accumulator()
    if old is not None:
        old.uses = (old.uses[0], number)
    leaf._accumulator = None
    leaf._uses = (number, _FOREVER)


def new_node(
    kind: type[Node], edges: tuple[Any, ...], saved: tuple[Any, ...] = (), number: Any = None
) -> Any:
    """A node of a class whose own slots are still to be filled; :func:`produce` completes it."""
    node = _new(kind)
    begin(node, edges, saved, number)
    return node


def produce(node: Any, *results: Any) -> None:
    """Make a complete node the one that made these tensors, None for those without a gradient."""
    for number, result in enumerate(results):
        if result is not None:
            interface.set_history(result, node, number)
    if watching.count:
        watching.made(node)


class Error(Node):
    """The node of a tensor that has no gradient: raises when the engine reaches it."""

    __slots__ = ("_output_count", "error")

    def __init__(
        self, error: Exception, next_edges: tuple[Any, ...] = (), outputs: int = 1
    ) -> None:
        self.error = error
        self._output_count = outputs
        super().__init__(next_edges)

    def backward(self, *grads: Any) -> tuple[Any, ...]:
        """Raise the error, as another exception each time."""
        raise type(self.error)(*self.error.args)


class AccumulateGrad(Node):
    """How the graph shows a leaf. Edges lead to the leaf itself, which keeps the hooks too.

    Attributes:
        variable: the leaf tensor.
        uses: it stands for the leaf in nodes with sequence numbers between these two.
    """

    __slots__ = ("uses", "variable")
    _namespace = "torch::autograd::"

    def __init__(self, variable: Any) -> None:
        self.variable = variable
        self.uses = variable._uses or ALL_USES
        begin(self, (), number=2**63 - 1)

    @property
    def _input_metadata(self) -> tuple[OutputMetadata | None, ...]:
        array = self.variable._array
        return (OutputMetadata(array.shape, array.dtype),)

    def backward(self, *grads: Any) -> tuple[Any, ...]:
        raise RuntimeError("AccumulateGrad is run by the engine only: call backward() on a tensor")

    def __repr__(self) -> str:
        return f"<AccumulateGrad object at {id(self.variable):#x}>"

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
