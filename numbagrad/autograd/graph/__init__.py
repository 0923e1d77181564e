"""The graph from outside: ``torch.autograd.graph``.

Nodes and edges to them, hooks of several gradients, and the contexts that decide how saved tensors
are stored. The mechanisms are in ``node.py``, ``hooks/saved_hooks.py`` and ``engine/walk.py``.
"""

from __future__ import annotations

import abc
import contextlib
import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

from ...absent import absent
from .. import node as nodes
from .. import tensor_interface as interface
from ..engine.walk import Plan
from ..grad_mode import state as grad_mode
from ..hooks.creation_hooks import pop_hook, push_hook
from ..hooks.saved_hooks import disabled_message, pop_hooks, push_hooks, set_disabled, stack
from ..hooks.tensor_hooks import RemovableHandle
from ..node import AccumulateGrad, accumulator_of
from ..writes.mutation import allow_mutation_on_saved_tensors

__all__ = [
    "GradientEdge", "Node", "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks",
    "get_gradient_edge", "increment_version", "node_creation_hook", "register_multi_grad_hook",
    "save_on_cpu", "saved_tensors_hooks",
]  # fmt: skip


class Node(abc.ABC):
    """The interface of all nodes of the graph: ``isinstance(tensor.grad_fn, Node)``.

    The nodes themselves are made by operators and have another base, ``node.Node``.
    """

    @abc.abstractmethod
    def name(self) -> str:
        """Return the name of the node, as ``MulBackward0``."""

    @property
    @abc.abstractmethod
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """For each input ``(node, output_nr)``; leaves appear as ``AccumulateGrad``."""

    @property
    @abc.abstractmethod
    def metadata(self) -> dict[Any, Any]:
        """A dictionary for the user, kept as long as the node."""

    @abc.abstractmethod
    def register_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Register ``hook(grad_inputs, grad_outputs) -> tuple or None``, to run after the node."""

    @abc.abstractmethod
    def register_prehook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Register ``hook(grad_outputs) -> tuple or None``, called before the node runs."""


Node.register(nodes.Node)


class GradientEdge(NamedTuple):
    """Where a gradient goes: output ``output_nr`` of ``node``. ``grad`` and ``backward`` take it.

    Attributes:
        node: a node, or the ``AccumulateGrad`` of a leaf.
        output_nr: which output of the node.
        ownership_token: unused here, where an edge keeps its graph alive by itself.
    """

    node: Any
    output_nr: int
    ownership_token: Any = None


def get_gradient_edge(tensor: Any) -> GradientEdge:
    """Return the edge on which the gradient of ``tensor`` travels.

    Raises:
        RuntimeError: if the tensor does not require grad.
    """
    if not tensor._requires_grad:
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require "
            "gradients"
        )
    node = accumulator_of(tensor) if tensor._producer is None else tensor.grad_fn
    return GradientEdge(node, tensor._output_nr)


def increment_version(tensor: Any) -> None:
    """Count one write in place to a tensor, or to each of several, that autograd did not see.

    An inference tensor, which counts none, stays as it is.
    """
    for one in (tensor,) if isinstance(tensor, interface.Tensor) else tensor:
        if not one.is_inference():
            interface.bump_version(one)


class _unsafe_preserve_version_counter:
    """Let the writes of a block go uncounted: a backward will not notice them.

    Args:
        tensors: the tensor, or a tuple of tensors, whose counts stay as they are.
    """

    def __init__(self, tensors: Any) -> None:
        self.tensors = (tensors,) if isinstance(tensors, interface.Tensor) else tensors
        self.versions = tuple([tensor._version for tensor in self.tensors])

    def __enter__(self) -> None:
        """The counts were noted when the object was made."""

    def __exit__(self, *exception: object) -> None:
        _unsafe_set_version_counter(self.tensors, self.versions)


def _unsafe_set_version_counter(tensors: Sequence[Any], versions: Sequence[int]) -> None:
    """Set how often tensors were written in place, so that a backward notices other writes.

    Raises:
        RuntimeError: for a count below zero, and for an inference tensor.
    """
    if len(tensors) != len(versions):
        raise RuntimeError(f"tensors_len={len(tensors)}, versions_len={len(versions)}")
    for tensor, version in zip(tensors, versions, strict=True):
        if version < 0:
            raise RuntimeError(f"Cannot set a version_counter to a value below 0: {version}")
        if tensor.is_inference():
            raise RuntimeError(
                "Tried to call torch.autograd._unsafe_set_version() on a tensor that does not have "
                "a version counter. Was it created in inference mode?"
            )
        if tensor._version_cell is None:
            tensor._version_cell = [0]
        tensor._version_cell[0] = version


# --- saved tensors --------------------------------------------------------------------------------


class saved_tensors_hooks:
    """Have nodes that are made in a block store tensors by one function, restore them by another.

    The innermost of several nested pairs applies.

    Args:
        pack_hook: ``pack_hook(tensor)`` is called when a node saves a tensor; it may return
            anything, but must not write the tensor.
        unpack_hook: ``unpack_hook(packed)`` is called when the saved tensor is used; it must return
            a tensor of the same values.
    """

    def __init__(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        push_hooks(self.pack_hook, self.unpack_hook)

    # Without memory a tuple of the arguments may not be made, and the hooks would stay.
    def __exit__(self, error_type: Any = None, error: Any = None, traceback: Any = None) -> None:
        pop_hooks()


class node_creation_hook:
    """Have ``hook(node)`` called with each node that this thread makes in a block.

    The node is complete: what it saves can be looked at, and hooks be registered on it. Of several
    nested hooks the outer ones come first. Nodes that a backward makes are among them, if it runs
    in the block; and so are those of leaves, when something is made of a leaf whose node nobody
    has seen. Of a write through a view hooks see the node of its base, which contains that of the
    write.

    Args:
        hook: it must return None, and must not run operations that are recorded.

    Raises:
        RuntimeError: by the operation that made the node, if the hook does one of those.
    """

    def __init__(self, hook: Callable[[Node], None]) -> None:
        self.hook = hook

    def __enter__(self) -> None:
        push_hook(self.hook)

    def __exit__(self, *exception: object) -> None:
        pop_hook()


class save_on_cpu(saved_tensors_hooks):
    """Have nodes that are made in a block save copies, in memory of the CPU.

    All memory of this library is that of the CPU; what remains is that the copies do not notice
    writes in place, as in torch.

    Args:
        pin_memory: lock the memory for a GPU: there is none, so it has no effect.
        device_type: the kind of the GPU.
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(lambda tensor: tensor.clone(), lambda packed: packed)


@contextlib.contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Forbid hooks of saved tensors in a block.

    Raises:
        RuntimeError: with ``error_message``, when somebody sets hooks, or if there are hooks.
    """
    previous = disabled_message()
    if stack():
        raise RuntimeError(error_message)
    set_disabled(error_message)
    try:
        yield
    finally:
        set_disabled(previous)


# --- walks ----------------------------------------------------------------------------------------


def _current_graph_task_id() -> int:
    """The number of the walk that this thread is on, or -1."""
    return -1 if grad_mode.walk is None else grad_mode.walk.id


def _current_graph_task_execution_order() -> list[Node]:
    """The nodes that the walk which this thread is on runs, in the order in which it does.

    Raises:
        RuntimeError: outside of a walk, and while ``set_multithreading_enabled`` is on, since the
            engine of torch knows no order then.
    """
    walk = grad_mode.walk
    if walk is None:
        raise RuntimeError(
            "_current_graph_task_execution_order should only be called during the backward pass"
        )
    if grad_mode.multithreading:
        raise RuntimeError(
            "get_current_graph_task_execution_order expects the current backward to be executed "
            "with multithreading disabled, e.g. by running:\n\n"
            ">>> with torch.autograd.set_multithreading_enabled(False):\n"
            "...     torch.autograd.grad(...)\n"
        )
    return walk.execution_order()


def _current_autograd_node() -> Any:
    """The node that this thread runs, as far as hooks and anomaly detection know of it, or None."""
    return None if grad_mode.walk is None else grad_mode.walk.node


def _will_engine_execute_node(node: Any) -> bool:
    """Whether the walk that this thread is on runs a node.

    Raises:
        RuntimeError: outside of a walk, for what is no node, and for a leaf in ``grad``.
    """
    if not isinstance(node, nodes.Node):
        raise RuntimeError(
            f"_will_engine_execute_node expects an grad_fn, but got {type(node).__name__}"
        )
    walk = grad_mode.walk
    if walk is None:
        raise RuntimeError(
            "_get_should_execute_nodes should only be called during the backward pass"
        )
    target = node.variable if isinstance(node, AccumulateGrad) else node
    if not walk.reaches(target):
        return False
    return walk.plan is None or _is_planned(walk.plan, target)


def _is_planned(plan: Plan, target: Any) -> bool:
    if isinstance(target, nodes.Node):
        return target.sequence_nr in plan.needed or target.sequence_nr in plan.wanted_outputs
    if id(target) in plan.wanted_leaves and not plan.accumulate:
        raise RuntimeError(
            "A leaf node was passed to _will_engine_execute_node but we are currently running "
            "autograd.grad(). This is currently not supported."
        )
    return id(target) in plan.wanted_leaves


class _MultiHandle(RemovableHandle):
    """Removes the hooks that ``register_multi_grad_hook`` registered."""

    def __init__(self, handles: tuple[RemovableHandle, ...]) -> None:
        self.handles = handles

    def remove(self) -> None:
        """Take all of them out; a second call does nothing."""
        for handle in self.handles:
            handle.remove()


def register_multi_grad_hook(
    tensors: Sequence[Any],
    fn: Callable[..., None],
    *,
    mode: Literal["all", "any"] = "all",
) -> RemovableHandle:
    """Call a function once in each walk, for the gradients of several tensors.

    Args:
        tensors: tensors that require grad.
        fn: with the mode "all" ``fn(gradients)``, called when the gradients of all those tensors
            are known that the walk comes to; the others are None. With "any" ``fn(gradient)``,
            called for the first one.
        mode: "all" or "any".

    Returns:
        A handle; ``remove()`` takes the hook out.

    Raises:
        ValueError: for another mode.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    hook = _AllGradients(tensors, fn) if mode == "all" else _FirstGradient(fn)
    return _MultiHandle(
        tuple([t.register_hook(functools.partial(hook, i)) for i, t in enumerate(tensors)])
    )


class _AllGradients:
    """Collects the gradients of a walk and passes them on when the last one is there."""

    def __init__(self, tensors: Sequence[Any], fn: Callable[..., None]) -> None:
        self.nodes = [get_gradient_edge(tensor).node for tensor in tensors]
        self.fn = fn
        self.lock = threading.RLock()
        #: by walk: how many gradients are still to come, and the gradients
        self.walks: dict[int, tuple[list[int], list[Any]]] = {}

    def __call__(self, position: int, grad: Any) -> None:
        walk = _current_graph_task_id()
        with self.lock:
            if walk not in self.walks:
                expected = sum([_will_engine_execute_node(node) for node in self.nodes])
                self.walks[walk] = [expected], [None] * len(self.nodes)
            left, gradients = self.walks[walk]
            gradients[position] = grad
            left[0] -= 1
            done = left[0] == 0
            if done:
                del self.walks[walk]
        if done:
            self.fn(gradients)


class _FirstGradient:
    """Passes on the first gradient of each walk."""

    def __init__(self, fn: Callable[..., None]) -> None:
        self.fn = fn
        self.lock = threading.RLock()
        self.seen: set[int] = set()

    def __call__(self, position: int, grad: Any) -> None:
        walk = _current_graph_task_id()
        with self.lock:
            first = walk not in self.seen
            self.seen.add(walk)
        if first:
            self.fn(grad)


_REASON = "it is a setting of torch's engine and compiler alone"
region_activation_memory_budget = absent(
    "torch.autograd.graph.region_activation_memory_budget", _REASON
)
set_override_stale_capture_stream = absent(
    "torch.autograd.graph.set_override_stale_capture_stream", _REASON
)
set_warn_on_accumulate_grad_stream_mismatch = absent(
    "torch.autograd.graph.set_warn_on_accumulate_grad_stream_mismatch", _REASON
)
