"""The engine: walks the graph from its roots to the leaves, runs the nodes and sums gradients.

``backward`` and ``grad`` here are torch's public functions; ``Tensor.backward`` calls the former.
The engine runs the ``backward`` of nodes and adds Tensors through ``tensor_interface``; it knows no
operator. The walk is a loop over a heap, so that depth is bounded by memory alone.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Sequence
from heapq import heappop, heappush, heappushpop
from sys import getrefcount
from typing import Any

from ..executor import capture
from . import tensor_interface as interface
from .anomaly import anomaly, check_for_nan
from .grad_mode import state as grad_mode
from .hooks import retain_grad as retain_tensor_grad
from .hooks import run_post_hooks, run_pre_hooks, run_tensor_hooks
from .node import Node, edge_of

__all__ = ["backward", "grad", "run_backward"]

# A buffer is a list: [node, gradient of its output 0, of its output 1, ...], or [leaf, gradient].
# Buffers hold the engine's only reference to a gradient, so that a reference count of two (the list
# and the expression that asks) means that no node, hook or user can see the tensor change.

#: Leaves that several threads share are added to by one thread at a time. Reentrant, because
#: garbage collection may run code of the user in between.
_ACCUMULATE_LOCK = threading.RLock()


def run_backward(
    roots: Sequence[Any],
    root_gradients: Sequence[Any],
    retain_graph: bool,
    create_graph: bool,
    inputs: Sequence[tuple[Any, int]] | None = None,
    accumulate: bool = True,
) -> list[Any]:
    """Walk the graph behind ``roots``.

    Args:
        roots: tensors that require grad.
        root_gradients: a tensor for each of them.
        retain_graph: keep what the nodes saved, for another walk.
        create_graph: record the walk itself, so that its results can be differentiated.
        inputs: edges whose gradients are wanted; None stands for all leaves. Nodes that do not lead
            to one of them are not run.
        accumulate: add the gradients of the leaves to their ``grad``.

    Returns:
        The gradients of ``inputs``, None where the roots do not depend on one.
    """
    if capture.active is not None:
        capture.note_backward(roots, retain_graph)
    plan = None if inputs is None else _Plan(roots, inputs)
    leaves: dict[int, list[Any]] = {}
    buffers: dict[int, list[Any]] = {}
    ready: list[int] = []
    previous_mode = grad_mode.enabled
    grad_mode.enabled = create_graph
    try:
        node = roots[0]._grad_fn if plan is None and len(roots) == 1 else None
        if node is not None and node._output_count == 1:
            # One loss, by far the most frequent case.
            buffers[-node.sequence_nr] = [node, root_gradients[0]]
            ready.append(-node.sequence_nr)
        else:
            for root, gradient in zip(roots, root_gradients, strict=True):
                edge = edge_of(root)
                if plan is None or plan.leads_to_input(edge):
                    _hand_over(edge, gradient, leaves, buffers, ready, create_graph)
        if plan is None and not anomaly.enabled:
            if ready:
                _walk(leaves, buffers, ready, retain_graph, create_graph)
        else:
            _walk_with_care(leaves, buffers, ready, retain_graph, create_graph, plan)
        return _finish(leaves, create_graph, plan, accumulate)
    finally:
        grad_mode.enabled = previous_mode


def _walk(
    leaves: dict[int, list[Any]],
    buffers: dict[int, list[Any]],
    ready: list[int],
    retain_graph: bool,
    create_graph: bool,
) -> None:
    """Run every node that is ready, the youngest first, until only leaves are left.

    A node is younger than all nodes it depends on, so when the youngest node is taken, every node
    that contributes to its gradient has run. ``ready`` holds negated sequence numbers; one of them
    may wait in ``order`` instead, which spares a chain of nodes the heap.

    The body repeats ``_run`` and ``_hand_over``: the calls would be a third of the engine's time.
    """
    order: Any = heappop(ready)
    buffer: Any
    while True:
        buffer = buffers.pop(order)
        node = buffer[0]
        if node._hooks is not None:
            results = _run_with_hooks(buffer, retain_graph)
        elif len(buffer) == 2 and buffer[1] is not None:
            results = node.backward(buffer[1])
            if not retain_graph:
                node.release()
        else:
            results = _run(buffer, buffer[1:], retain_graph)
        # Gradients must not be held here while they are summed further on.
        buffer = gradient = order = None
        edges = node.next_edges
        while len(edges) == 1 and len(results) == 1:
            # The only input is run at once, without a buffer, if no other node comes before it.
            edge = edges[0]
            if edge is None or not isinstance(edge[0], Node):
                break
            target = edge[0]
            number = -target.sequence_nr
            if number in buffers or (ready and ready[0] < number):
                break
            if target._hooks is not None or target._output_count != 1 or results[0] is None:
                break
            node = target
            results = node.backward(results[0])
            if not retain_graph:
                node.release()
            edges = node.next_edges
        if len(edges) != len(results):
            raise _wrong_count(node, results)
        # Counting by hand: for one or two edges a zip costs more than all the rest.
        index = 0
        for edge in edges:
            gradient = results[index]
            index += 1
            if edge is None:
                continue
            target, output_nr = edge
            if isinstance(target, Node):
                number = -target.sequence_nr
                waiting = buffers.get(number)
                if waiting is not None:
                    if gradient is not None:
                        _add(waiting, output_nr + 1, gradient, create_graph)
                    continue
                if target._output_count == 1:
                    buffers[number] = [target, gradient]
                else:
                    buffers[number] = waiting = [target, *(None,) * target._output_count]
                    waiting[output_nr + 1] = gradient
                if order is None:
                    order = number
                else:
                    heappush(ready, number)
            else:
                waiting = leaves.get(id(target))
                if waiting is None:
                    leaves[id(target)] = [target, gradient]
                elif gradient is not None:
                    _add(waiting, 1, gradient, create_graph)
        results = None
        if order is None:
            if not ready:
                return
            order = heappop(ready)
        elif ready:
            order = heappushpop(ready, order)


def _hand_over(
    edge: Any,
    gradient: Any,
    leaves: dict[int, list[Any]],
    buffers: dict[int, list[Any]],
    ready: list[int],
    create_graph: bool,
) -> None:
    """Put a gradient into the buffer that an edge leads to."""
    if edge is None:
        return
    target, output_nr = edge
    if isinstance(target, Node):
        number = -target.sequence_nr
        waiting = buffers.get(number)
        if waiting is None:
            buffers[number] = waiting = [target, *(None,) * target._output_count]
            heappush(ready, number)
    else:
        waiting = leaves.setdefault(id(target), [target, None])
    if gradient is not None:
        _add(waiting, output_nr + 1, gradient, create_graph)


def _add(buffer: list[Any], index: int, gradient: Any, create_graph: bool) -> None:
    """Add to a gradient in a buffer: in place if the engine alone can see it."""
    if buffer[index] is None:
        buffer[index] = gradient
    elif (
        not create_graph
        and _is_exclusive(buffer, index)
        and gradient._array.__class__ is buffer[index]._array.__class__
    ):
        interface.add_(buffer[index], gradient)
    else:
        buffer[index] = interface.add(buffer[index], gradient)


def _is_exclusive(buffer: list[Any], index: int) -> bool:
    """Return True if nothing but the buffer sees a gradient, and if it is contiguous memory."""
    if getrefcount(buffer[index]) != 2 or getrefcount(buffer[index]._array) != 2:
        return False
    array = buffer[index]._array
    if not array.flags.carray:
        return False
    base = array.base
    if base is None:
        return True
    # The only view of all of an array: the view, ``base`` and the expression refer to that.
    return (
        type(base) is type(array)
        and base.base is None
        and base.size == array.size
        and getrefcount(array.base) == 3
    )


def _run(buffer: list[Any], gradients: list[Any], retain_graph: bool) -> Any:
    """Run a node on the gradients of its outputs; free what it saved unless told otherwise."""
    node = buffer[0]
    if node._runs_on_undefined or any([gradient is not None for gradient in gradients]):
        results = node.backward(*gradients)
    else:
        results = (None,) * len(node.next_edges)
    if not retain_graph:
        node.release()
    return results


def _run_with_hooks(buffer: list[Any], retain_graph: bool, run_tensors: bool = True) -> Any:
    """Run a node and its hooks."""
    hooks = buffer[0]._hooks
    gradients = buffer[1:]
    if run_tensors:
        run_tensor_hooks(hooks, gradients)
    gradients = run_pre_hooks(hooks, gradients)
    results = _run(buffer, gradients, retain_graph)
    return run_post_hooks(hooks, results, gradients)


def _wrong_count(node: Node, results: Sequence[Any]) -> RuntimeError:
    return RuntimeError(
        f"{node.name()}.backward returned {len(results)} gradients, but the operation has "
        f"{len(node.next_edges)} inputs; it must return one for each, None where there is none"
    )


# Walks to chosen inputs, and walks under anomaly detection


class _Plan:
    """Which nodes a walk to chosen inputs has to run, and what it picks up on the way.

    Args:
        roots: where the walk starts.
        inputs: the edges whose gradients are wanted.
    """

    def __init__(self, roots: Sequence[Any], inputs: Sequence[tuple[Any, int]]) -> None:
        self.inputs = inputs
        self.captured: dict[tuple[int, int], Any] = {}
        self.wanted_leaves: set[int] = set()
        self.wanted_outputs: dict[int, list[int]] = {}
        for target, output_nr in inputs:
            if isinstance(target, Node):
                self.wanted_outputs.setdefault(target.sequence_nr, []).append(output_nr)
            else:
                self.wanted_leaves.add(id(target))
        #: sequence numbers of the nodes that must run
        self.needed: set[int] = set()
        self._find_needed([root._grad_fn for root in roots if root._grad_fn is not None])

    def _find_needed(self, pending: list[Node]) -> None:
        """Fill ``needed``: collect what is reachable, then go through it from the oldest on."""
        oldest = -1 if self.wanted_leaves else min(self.wanted_outputs, default=0)
        reachable: dict[int, Node] = {}
        while pending:
            node = pending.pop()
            if node.sequence_nr in reachable or node.sequence_nr <= oldest:
                continue
            reachable[node.sequence_nr] = node
            for edge in node.next_edges:
                if edge is not None and isinstance(edge[0], Node):
                    pending.append(edge[0])
        for order in sorted(reachable):
            if any([self.leads_to_input(edge) for edge in reachable[order].next_edges]):
                self.needed.add(order)

    def leads_to_input(self, edge: tuple[Any, int] | None) -> bool:
        """Return True if a gradient on this edge contributes to that of a wanted input."""
        if edge is None:
            return False
        target, output_nr = edge
        if isinstance(target, Node):
            order = target.sequence_nr
            return order in self.needed or output_nr in self.wanted_outputs.get(order, ())
        return id(target) in self.wanted_leaves

    def capture(self, node: Node, gradients: Sequence[Any]) -> None:
        """Keep the gradients of the outputs that are inputs of the walk."""
        for output_nr in self.wanted_outputs.get(node.sequence_nr, ()):
            self.captured[node.sequence_nr, output_nr] = gradients[output_nr]

    def results(self, leaves: dict[int, list[Any]]) -> list[Any]:
        """Return the gradients of the inputs, once the walk is over."""
        results = []
        for target, output_nr in self.inputs:
            if isinstance(target, Node):
                results.append(self.captured.get((target.sequence_nr, output_nr)))
            else:
                results.append(leaves[id(target)][1] if id(target) in leaves else None)
        return results


def _walk_with_care(
    leaves: dict[int, list[Any]],
    buffers: dict[int, list[Any]],
    ready: list[int],
    retain_graph: bool,
    create_graph: bool,
    plan: _Plan | None,
) -> None:
    """``_walk`` to chosen inputs, or with a look at every gradient."""
    check_nan = anomaly.enabled and anomaly.check_nan
    buffer: Any
    gradients: Any
    while ready:
        buffer = buffers.pop(heappop(ready))
        node = buffer[0]
        hooks = node._hooks
        if hooks is not None:
            gradients = buffer[1:]
            run_tensor_hooks(hooks, gradients)
            buffer[1:] = gradients
            gradients = None
        if plan is not None:
            plan.capture(node, buffer[1:])
            if node.sequence_nr not in plan.needed:
                continue
        if hooks is not None:
            results = _run_with_hooks(buffer, retain_graph, run_tensors=False)
        else:
            results = _run(buffer, buffer[1:], retain_graph)
        buffer = None
        edges = node.next_edges
        if len(edges) != len(results):
            raise _wrong_count(node, results)
        if check_nan:
            check_for_nan(node, results)
        gradient = None
        for edge, gradient in zip(edges, results, strict=True):
            if plan is None or plan.leads_to_input(edge):
                _hand_over(edge, gradient, leaves, buffers, ready, create_graph)
        results = None


# Leaves


def _finish(
    leaves: dict[int, list[Any]], create_graph: bool, plan: _Plan | None, accumulate: bool
) -> list[Any]:
    """Run the hooks of the leaves and add the gradients to their ``grad``; return what was asked.

    Nothing is added before every node and every hook that may raise has run.
    """
    hooked = False
    for buffer in leaves.values():
        if buffer[0]._hooks is not None:
            hooked = True
            _run_leaf_hooks(buffer, accumulate)
    if not accumulate:
        return [] if plan is None else plan.results(leaves)
    if hooked:
        _accumulate_with_hooks(leaves, create_graph)
        return []
    _ACCUMULATE_LOCK.acquire()  # a with statement takes three times as long
    try:
        for buffer in leaves.values():
            grad = buffer[0]._grad
            if grad is None or create_graph or buffer[1] is None:
                _accumulate(buffer, create_graph)
            else:
                interface.add_(grad, buffer[1])
                buffer[1] = None
    finally:
        _ACCUMULATE_LOCK.release()
    return []


def _run_leaf_hooks(buffer: list[Any], accumulate: bool) -> None:
    """Run the hooks that may replace the gradient of a leaf."""
    hooks = buffer[0]._hooks
    gradients = buffer[1:]
    run_tensor_hooks(hooks, gradients)
    if accumulate:
        gradients = run_pre_hooks(hooks, gradients)
    buffer[1] = gradients[0]


def _accumulate(buffer: list[Any], create_graph: bool) -> None:
    """Add the gradient of one leaf to its ``grad``, or make it the ``grad`` if there is none."""
    leaf = buffer[0]
    if buffer[1] is None:
        return
    if leaf._grad is not None:
        if create_graph:
            leaf._grad = interface.add(leaf._grad, buffer[1])
        else:
            interface.add_(leaf._grad, buffer[1])
    elif not create_graph and _is_exclusive(buffer, 1) and not buffer[1]._requires_grad:
        leaf._grad = buffer[1]
    else:
        leaf._grad = interface.clone(buffer[1])
    # Another leaf may have got the same tensor, and can now have it for itself.
    buffer[1] = None


def _accumulate_with_hooks(leaves: dict[int, list[Any]], create_graph: bool) -> None:
    """``_accumulate`` for all leaves, each followed by the hooks that wait for it."""
    for buffer in leaves.values():
        leaf, hooks = buffer[0], buffer[0]._hooks
        seen = [buffer[1]] if hooks is not None and hooks.post else None
        accumulated = buffer[1] is not None
        with _ACCUMULATE_LOCK:
            _accumulate(buffer, create_graph)
        if hooks is None:
            continue
        if accumulated:
            for hook in list(hooks.post_accumulate.values()):
                hook(leaf)
        if seen is not None:
            run_post_hooks(hooks, (), seen)


# torch's functions


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
    *,
    retain_variables: bool | None = None,
) -> None:
    """Add the gradients of ``tensors`` to the ``grad`` of the leaves they were computed from.

    Args:
        tensors: the roots: a tensor or a sequence of tensors.
        grad_tensors: the gradient of each root, of its shape; None for a root of one element
            stands for one.
        retain_graph: keep what was saved, so that the graph can be walked again. Defaults to the
            value of ``create_graph``.
        create_graph: record the gradients, so that they can be differentiated.
        grad_variables: the name of ``grad_tensors`` before torch 0.4.
        inputs: tensors to whose ``grad`` to add, instead of all leaves.
        retain_variables: the name of ``retain_graph`` in 2017.

    Raises:
        RuntimeError: if a root does not require grad, if the gradient of a root is missing or has
            another shape, if saved tensors were freed or written in place.
    """
    if retain_variables is not None:
        retain_graph = retain_variables
    if retain_graph is None:
        retain_graph = create_graph
    if (
        inputs is None
        and grad_variables is None
        and isinstance(tensors, interface.Tensor)
        and (grad_tensors is None or isinstance(grad_tensors, interface.Tensor))
    ):
        gradient = _root_gradient(0, tensors, grad_tensors, create_graph)
        run_backward((tensors,), (gradient,), retain_graph, create_graph)
        return
    if grad_variables is not None:
        warnings.warn(
            "`grad_variables` is deprecated. Use `grad_tensors` instead.",
            FutureWarning,
            stacklevel=2,
        )
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to "
                "`backward()`. Please only use `grad_tensors`."
            )
        grad_tensors = grad_variables
    roots = _as_tuple(tensors)
    gradients = _root_gradients(roots, grad_tensors, create_graph)
    edges = None
    if inputs is not None:
        edges = _input_edges(_as_tuple(inputs), "backward")
        for tensor in _as_tuple(inputs):
            retain_tensor_grad(tensor)
    run_backward(roots, gradients, retain_graph, create_graph, edges)


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Any, ...]:
    """Return the gradients of ``outputs`` with respect to ``inputs``; no ``grad`` is touched.

    Args:
        outputs: the roots: a tensor or a sequence of tensors.
        inputs: a tensor or a sequence of tensors that require grad.
        grad_outputs: the gradient of each root, as in ``backward``.
        retain_graph: keep what was saved. Defaults to the value of ``create_graph``.
        create_graph: record the gradients, so that they can be differentiated.
        only_inputs: only True has a meaning.
        allow_unused: return None for an input that no output depends on, instead of raising.
            Defaults to the value of ``materialize_grads``.
        is_grads_batched: not supported; call ``grad`` once for each gradient.
        materialize_grads: return zeros instead of None.

    Raises:
        RuntimeError: as ``backward`` does, and if an input is not used without ``allow_unused``.
        ValueError: if ``materialize_grads`` is set and ``allow_unused`` is False.
    """
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
            "allow_unused=False."
        )
    if is_grads_batched:
        raise NotImplementedError(
            "autograd.grad: is_grads_batched=True is not supported; call autograd.grad with "
            "retain_graph=True once for each gradient in grad_outputs instead"
        )
    if not only_inputs:
        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To "
            "accumulate gradient for other parts of the graph, please use torch.autograd.backward.",
            FutureWarning,
            stacklevel=2,
        )
    roots, wanted = _as_tuple(outputs), _as_tuple(inputs)
    edges = _input_edges(wanted, "grad")
    gradients = _root_gradients(roots, grad_outputs, create_graph)
    if retain_graph is None:
        retain_graph = create_graph
    results = run_backward(roots, gradients, retain_graph, create_graph, edges, accumulate=False)
    for index, result in enumerate(results):
        if result is not None:
            continue
        if materialize_grads and isinstance(wanted[index], interface.Tensor):
            array = wanted[index]._array
            results[index] = interface.zeros(array.shape, array.dtype)
        elif not allow_unused:
            raise RuntimeError(
                f"The differentiated Tensor at index {index} appears to not have been used in the "
                "graph. Set allow_unused=True if this is the desired behavior."
            )
    return tuple(results)


def _as_tuple(values: Any) -> tuple[Any, ...]:
    return tuple(values) if isinstance(values, (tuple, list)) else (values,)


def _input_edges(inputs: tuple[Any, ...], caller: str) -> list[tuple[Any, int]]:
    """Return the edges that stand for the wanted inputs of a walk."""
    if not inputs:
        raise RuntimeError(f"`inputs` argument to `{caller}()` cannot be empty.")
    edges = []
    for tensor in inputs:
        if not isinstance(tensor, interface.Tensor):
            raise RuntimeError(
                f"all inputs have to be Tensors or GradientEdges, but got {type(tensor).__name__}"
            )
        edge = edge_of(tensor)
        if edge is None:
            if caller == "backward":
                raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
            raise RuntimeError("One of the differentiated Tensors does not require grad")
        edges.append(edge)
    return edges


def _root_gradients(roots: tuple[Any, ...], given: Any, create_graph: bool) -> list[Any]:
    """Return a gradient for each root: the given one, checked, or one for a root of one element."""
    if given is None:
        given = (None,) * len(roots)
    elif isinstance(given, interface.Tensor):
        given = (given,)
    else:
        given = tuple(given)
    if len(given) != len(roots):
        raise RuntimeError(f"got {len(roots)} tensors and {len(given)} gradients")
    return [
        _root_gradient(index, root, gradient, create_graph)
        for index, (root, gradient) in enumerate(zip(roots, given, strict=True))
    ]


def _root_gradient(index: int, root: Any, gradient: Any, create_graph: bool) -> Any:
    """Return the gradient of one root."""
    if not isinstance(root, interface.Tensor):
        name = type(root).__name__
        raise TypeError(f"expected output {index} to be a Tensor, but got {name}")
    if not root._requires_grad:
        raise RuntimeError(
            f"element {index} of tensors does not require grad and does not have a grad_fn"
        )
    if gradient is not None:
        return _checked_root_gradient(index, root, gradient, create_graph)
    if root._array.size != 1:
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    return interface.ones_like(root)


def _checked_root_gradient(index: int, root: Any, gradient: Any, create_graph: bool) -> Any:
    """Return the user's gradient of a root, in the root's dtype."""
    if not isinstance(gradient, interface.Tensor):
        raise TypeError(
            "gradients can be either Tensors or None, but got " + type(gradient).__name__
        )
    if gradient._array.shape != root._array.shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{index}] has a shape of "
            f"{_size(gradient)} and output[{index}] has a shape of {_size(root)}."
        )
    if gradient._array.dtype != root._array.dtype:
        previous_mode = grad_mode.enabled
        grad_mode.enabled = create_graph
        try:
            gradient = interface.cast(gradient, root._array.dtype)
        finally:
            grad_mode.enabled = previous_mode
    return gradient


def _size(tensor: Any) -> str:
    return f"torch.Size({list(tensor._array.shape)})"
