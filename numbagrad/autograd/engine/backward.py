"""The engine: walks the graph from its roots to the leaves, runs the nodes and sums gradients.

``interface.py`` has torch's ``backward`` and ``grad``, which come here. The engine runs the
``backward`` of nodes and adds Tensors through ``tensor_interface``; it knows no operator. The walk
is a loop over a heap, so that depth is bounded by memory alone.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from heapq import heappop, heappush, heappushpop
from sys import getrefcount
from typing import Any

from numpy import ndarray

from ...executor import capture
from ...executor.memory.buffers import any_large
from .. import tensor_interface as interface
from ..anomaly_mode import anomaly, check_for_nan, explain
from ..grad_mode import state as grad_mode
from ..hooks import saved_hooks
from ..hooks.tensor_hooks import (
    run_post_accumulate_hooks,
    run_post_hooks,
    run_pre_hooks,
    run_tensor_hooks,
)
from ..node import Node, priorities
from .grad_dtype import converted
from .walk import (
    FINISHED,
    MAX_DEPTH,
    HookedLeaves,
    Plan,
    Schedule,
    Walk,
    edge_of_root,
    in_new_thread,
    with_hooks,
    wrong_count,
)  # fmt: skip
from .walk_log import DEBUG, log

__all__ = ["run_backward"]

# A buffer is a list: [node, gradient of its output 0, of its output 1, ...], or [leaf, gradient].
# Buffers hold the engine's only reference to a gradient, so that a reference count of two (the list
# and the expression that asks) means that no node, hook or user can see the tensor change.

#: Elements from which on chains run as one kernel: to ask takes a twentieth of a small node.
_LARGE = 1 << 16

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
        roots: tensors that require grad, or edges ``(target, output_nr)``.
        root_gradients: a tensor for each of them.
        retain_graph: keep what the nodes saved, for another walk.
        create_graph: record the walk itself, so that its results can be differentiated.
        inputs: edges whose gradients are wanted; None stands for all leaves. Nodes that do not lead
            to one of them are not run.
        accumulate: add the gradients of the leaves to their ``grad``.

    Returns:
        The gradients of ``inputs``, None where the roots do not depend on one.
    """
    switches = grad_mode.__dict__  # of this thread; a dictionary is quicker to read and write
    outer = switches["walk"]
    if outer is not None and outer.depth >= MAX_DEPTH:
        return in_new_thread(
            run_backward, roots, root_gradients, retain_graph, create_graph, inputs, accumulate
        )
    if create_graph:
        switches["recorded_walks"] += 1
    if capture.active is not None:
        _note_for_trace(roots, retain_graph)
    walk = Walk()
    walk.roots = roots
    if outer is not None:
        walk.depth = outer.depth + 1
        walk.leads_to_all = outer.leads_to_all
    if retain_graph:
        walk.keeps_graph = True
    if log.isEnabledFor(DEBUG):
        walk.note_nodes()
    if inputs is not None:
        walk.plan = Plan(roots, inputs, accumulate)
        walk.leads_to_all = False
    return _finished_walk(walk, outer, root_gradients, create_graph, accumulate)


# Functions of a walk with exception handlers are short: tests/test_short_handlers.py says why.


def _finished_walk(
    walk: Walk,
    outer: Walk | None,
    root_gradients: Sequence[Any],
    create_graph: bool,
    accumulate: bool,
) -> list[Any]:
    """``run_backward`` in the mode of the walk, which is the one of this thread meanwhile."""
    switches = grad_mode.__dict__
    previous_mode = switches["enabled"]
    switches["enabled"] = create_graph
    switches["walk"] = walk
    try:
        leaves = _walk_to_leaves(walk, root_gradients, create_graph, accumulate)
        # Nothing is added to a leaf without hooks before every node has run that may raise.
        late = _accumulate_all(leaves, create_graph) if accumulate else with_hooks(leaves)
        if late:
            _finish_leaves(late, create_graph, accumulate)
        if walk.callbacks is not None:
            switches["enabled"] = previous_mode
            walk.run_callbacks()
        return [] if walk.plan is None or accumulate else walk.plan.results(leaves)
    finally:
        switches["enabled"] = previous_mode
        switches["walk"] = outer
        if walk.noted:
            walk.forget_nodes()


def _walk_to_leaves(
    walk: Walk,
    root_gradients: Sequence[Any],
    create_graph: bool,
    accumulate: bool,
) -> dict[int, list[Any]]:
    """Run the nodes behind the roots; returns the buffers of the leaves, by their ids."""
    leaves: dict[int, list[Any]] = {}
    buffers: dict[int, list[Any]] = {}
    ready: list[int] = []
    roots, retain_graph = walk.roots, walk.keeps_graph
    whole = walk.plan is None or walk.plan.is_whole
    node = None
    if whole and len(roots) == 1 and roots[0].__class__ is not tuple:
        node = roots[0]._producer
    if node is not None and node._output_count == 1:
        # One loss, by far the most frequent case.
        buffers[-node.sequence_nr] = [node, root_gradients[0]]
        ready.append(-node.sequence_nr)
    else:
        _hand_over_roots(walk, root_gradients, leaves, buffers, ready, create_graph)
    careful = not whole or anomaly.enabled or priorities.in_use
    if ready and not careful:
        careful = _walk(leaves, buffers, ready, retain_graph, create_graph)
    if careful:
        _walk_with_care(walk, leaves, buffers, ready, retain_graph, create_graph, accumulate)
    return leaves


def _note_for_trace(roots: Sequence[Any], retain_graph: bool) -> None:
    """Tell a program that is being recorded which graphs are walked."""
    if any([root.__class__ is tuple for root in roots]):
        capture.refuse("a backward from an edge")
    capture.note_backward([r for r in roots if r.__class__ is not tuple])


def _hand_over_roots(
    walk: Walk,
    gradients: Sequence[Any],
    leaves: dict[int, list[Any]],
    buffers: dict[int, list[Any]],
    ready: list[int],
    create_graph: bool,
) -> None:
    """Put the gradients of the roots into their buffers."""
    for root, gradient in zip(walk.roots, gradients, strict=True):
        edge = edge_of_root(root)
        if walk.plan is None or walk.plan.leads_to_input(edge):
            _hand_over(edge, gradient, leaves, buffers, ready, create_graph)


def _walk(
    leaves: dict[int, list[Any]],
    buffers: dict[int, list[Any]],
    ready: list[int],
    retain_graph: bool,
    create_graph: bool,
) -> bool:
    """Run every node that is ready, the youngest first, until only leaves are left.

    Returns True if a leaf with hooks was met: ``_walk_with_care`` has to go on.

    A node is younger than all nodes it depends on, so when the youngest node is taken, every node
    that contributes to its gradient has run. ``ready`` holds negated sequence numbers; one of them
    may wait in ``order`` instead, which spares a chain of nodes the heap.

    The body repeats ``_run`` and ``_hand_over``: the calls would be a third of the engine's time.
    """
    order: Any = heappop(ready)
    buffer: Any
    chain: Any = None
    gradient: Any
    hooked = False
    joins = not create_graph and capture.active is None and any_large()
    while True:
        buffer = buffers.pop(order)
        node = buffer[0]
        if node._hooks is not None:
            results = _run_with_hooks(buffer, retain_graph)
        elif len(buffer) == 2 and buffer[1] is not None:
            if joins and node._begins_chains and buffer[1]._array.size >= _LARGE:
                chain = node.run_chain(buffer[1], buffers, ready)
            if chain is not None:
                node, results = _end_of(chain, retain_graph)
            else:
                results = node.backward(buffer[1])
                if not retain_graph:
                    node.release()
        else:
            results = _run(buffer, buffer[1:], retain_graph)
        # Gradients must not be held here while they are summed further on.
        buffer = order = chain = None
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
            if joins and node._begins_chains and results[0]._array.size >= _LARGE:
                chain = node.run_chain(results[0], buffers, ready)
            if chain is not None:
                node, results = _end_of(chain, retain_graph)
                chain = None
            else:
                results = node.backward(results[0])
                if not retain_graph:
                    node.release()
            edges = node.next_edges
        if len(edges) != len(results):
            raise wrong_count(node, results)
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
                    if target._hooks is not None:
                        hooked = True
                elif gradient is not None:
                    _add(waiting, 1, gradient, create_graph)
        results = gradient = None
        if hooked:
            if order is not None:
                heappush(ready, order)
            return True
        if order is None:
            if not ready:
                return False
            order = heappop(ready)
        elif ready:
            order = heappushpop(ready, order)


def _end_of(chain: tuple[list[Any], Any], retain_graph: bool) -> tuple[Any, Any]:
    """The last node of a chain that ran, and its results."""
    nodes, results = chain
    if not retain_graph:
        for node in nodes:
            node.release()
    return nodes[-1], results


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
    flags = array.flags
    if not (flags.carray if array.__class__ is ndarray else flags.c_contiguous):
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


def _run(
    buffer: list[Any],
    gradients: list[Any],
    retain_graph: bool,
    wanted: tuple[bool, ...] | None = None,
) -> Any:
    """Run a node on the gradients of its outputs; free what it saved unless told otherwise.

    ``wanted`` says which of its edges lead to inputs of the walk, None that all do.
    """
    node = buffer[0]
    if node._runs_on_undefined or any([gradient is not None for gradient in gradients]):
        if wanted is None or not node._computes_wanted:
            results = node.backward(*gradients)
        elif True in wanted:
            results = node.backward(*gradients, wanted=wanted)
        else:
            results = (None,) * len(wanted)
    else:
        results = (None,) * len(node.next_edges)
    if not retain_graph:
        node.release()
    return results


def _run_with_hooks(
    buffer: list[Any], retain_graph: bool, wanted: tuple[bool, ...] | None = None
) -> Any:
    """Run a node and its hooks, and those that it gets while it runs.

    As in torch, such hooks see None for the gradients that the node ran on, and hooks of saved
    tensors that are entered or left meanwhile are as before afterwards.
    """
    node = buffer[0]
    walk: Any = grad_mode.walk
    walk.node = node
    pairs = tuple(saved_hooks.stack())
    try:
        return _run_and_call_hooks(buffer, node._hooks, retain_graph, wanted)
    finally:
        walk.node = None
        if pairs != tuple(saved_hooks.stack()):
            saved_hooks.restore(pairs)


def _run_and_call_hooks(
    buffer: list[Any], hooks: Any, retain_graph: bool, wanted: tuple[bool, ...] | None
) -> Any:
    node = buffer[0]
    gradients = buffer[1:]
    run_tensor_hooks(hooks, gradients)
    gradients = run_pre_hooks(hooks, gradients)
    seen = list(gradients) if hooks.post else [None] * len(gradients)
    if node._takes_list:
        del buffer[1:]
        results = node.backward_of_list(gradients)
        if not retain_graph:
            node.release()
    else:
        results = _run(buffer, gradients, retain_graph, wanted)
        if wanted is not None and node._computes_wanted:
            results = [x if want else None for x, want in zip(results, wanted, strict=True)]
    return run_post_hooks(node._hooks, results, seen)


# Walks to chosen inputs, and walks with hooks of leaves or anomaly detection


def _walk_with_care(
    walk: Walk,
    leaves: dict[int, list[Any]],
    buffers: dict[int, list[Any]],
    ready: list[int],
    retain_graph: bool,
    create_graph: bool,
    accumulate: bool,
) -> None:
    """``_walk`` to chosen inputs, with hooks of leaves or numbers of users, or for anomalies.

    A leaf with hooks is finished as soon as its gradient is known, so that its hooks run in torch's
    order; all others are finished together at the end of the walk.
    """
    plan = walk.plan
    hooked = None
    if any([leaf_buffer[0]._hooks is not None for leaf_buffer in leaves.values()]):
        hooked = HookedLeaves(plan, leaves)
    schedule = Schedule(walk.roots) if priorities.in_use else None
    buffer: Any
    while True:
        if hooked is not None:
            for leaf_buffer in hooked.complete(leaves, buffers):
                _finish_leaf(leaf_buffer, create_graph, accumulate)
        if not ready:
            return
        buffer = buffers.pop(heappop(ready) if schedule is None else schedule.take(ready))
        node = buffer[0]
        needed = plan is None or node.sequence_nr in plan.needed
        if plan is not None:
            if node._hooks is not None and not needed:
                gradients = buffer[1:]
                run_tensor_hooks(node._hooks, gradients)
                buffer[1:] = gradients
                gradients = None
            plan.capture(node, buffer[1:])
            if not needed:
                continue
        walk.node = node
        wanted = None if plan is None else plan.needed[node.sequence_nr]
        results = _run_explained(buffer, retain_graph, wanted)
        walk.node = buffer = None
        for number, (edge, gradient) in enumerate(zip(node.next_edges, results, strict=True)):
            if edge is None or not (wanted is None or wanted[number]):
                continue
            _hand_over(edge, gradient, leaves, buffers, ready, create_graph)
            if not isinstance(edge[0], Node) and edge[0]._hooks is not None:
                if hooked is None:
                    hooked = HookedLeaves(plan, {})
                hooked.passed(edge[0])
        results = gradient = None


def _run_explained(buffer: list[Any], retain_graph: bool, wanted: tuple[bool, ...] | None) -> Any:
    """Run a node and its hooks; anomaly detection tells where a node was made that raises."""
    try:
        return _run_checked(buffer, retain_graph, wanted)
    except Exception:
        if anomaly.enabled and capture.computes():
            explain(buffer[0])
        raise


def _run_checked(buffer: list[Any], retain_graph: bool, wanted: tuple[bool, ...] | None) -> Any:
    """Run a node and its hooks, and look at what they return."""
    node = buffer[0]
    if node._hooks is not None:
        results = _run_with_hooks(buffer, retain_graph, wanted)
    else:
        results = _run(buffer, buffer[1:], retain_graph, wanted)
    if len(node.next_edges) != len(results):
        raise wrong_count(node, results)
    if anomaly.enabled and anomaly.check_nan and capture.computes():
        check_for_nan(node, results)
    return results


# Leaves


def _accumulate_all(leaves: dict[int, list[Any]], create_graph: bool) -> Sequence[Any]:
    """Add the gradients of the leaves without hooks; returns the buffers of the others."""
    late: Sequence[Any] = ()
    _ACCUMULATE_LOCK.acquire()  # a with statement takes three times as long
    try:
        for buffer in leaves.values():
            grad = buffer[0]._accumulated
            if buffer[0]._hooks is not None:
                late = [*late, buffer]
            elif grad is None or create_graph or buffer[1] is None:
                _accumulate(buffer, create_graph)
            else:
                buffer[0]._accumulated = interface.add_(grad, buffer[1])
                buffer[1] = None
    finally:
        _ACCUMULATE_LOCK.release()
    return late


def _accumulate_locked(buffer: list[Any], create_graph: bool) -> None:
    with _ACCUMULATE_LOCK:
        _accumulate(buffer, create_graph)


def _finish_leaves(buffers: Sequence[Any], create_graph: bool, accumulate: bool) -> None:
    for buffer in buffers:
        if len(buffer) == 2:
            _finish_leaf(buffer, create_graph, accumulate)


def _finish_leaf(buffer: list[Any], create_graph: bool, accumulate: bool) -> None:
    """Run the hooks of a leaf and, between them, add the gradient to its ``grad``."""
    leaf = buffer[0]
    hooks = leaf._hooks
    buffer[1] = converted(buffer[1], leaf._grad_dtype)
    gradients = buffer[1:]
    run_tensor_hooks(hooks, gradients)
    if accumulate:
        gradients = run_pre_hooks(hooks, gradients)
    buffer[1] = gradients[0]
    buffer.append(FINISHED)
    if not accumulate:
        return
    accumulated = buffer[1] is not None
    # If the gradient becomes the ``grad`` itself, that is what later hooks see, as in torch.
    wanted = leaf._requires_grad  # it may have been switched off since
    becomes_grad = accumulated and wanted and leaf._accumulated is None and not create_graph
    seen = gradients if hooks.post and not becomes_grad else None
    gradients = None  # type: ignore[assignment]  # it must not be held while it is accumulated
    if wanted:
        _accumulate_locked(buffer, create_graph)
    if becomes_grad and hooks.post:
        seen = [leaf._accumulated]
    if accumulated:
        run_post_accumulate_hooks(hooks, leaf)
    if seen is not None:
        run_post_hooks(hooks, (), seen)


def _accumulate(buffer: list[Any], create_graph: bool) -> None:
    """Add the gradient of one leaf to its ``grad``, or make it the ``grad`` if there is none."""
    leaf = buffer[0]
    if buffer[1] is None:
        return
    if leaf._accumulated is not None:
        add = interface.add if create_graph else interface.add_
        leaf._accumulated = add(leaf._accumulated, buffer[1])
    elif (
        not create_graph
        and _is_exclusive(buffer, 1)
        and not buffer[1]._requires_grad
        and buffer[1]._array.shape == leaf._array.shape
        and (leaf._array.flags.c_contiguous or not interface.has_own_order(leaf))
    ):
        leaf._accumulated = buffer[1]
    elif leaf._hooks is not None and leaf._hooks.placed is buffer[1] and not create_graph:
        leaf._accumulated, leaf._hooks.placed = buffer[1], None
    else:
        # Its shape and strides are those of the leaf, if that has no gaps.
        copy = interface.copied if create_graph else interface.copied_unrecorded
        leaf._accumulated = copy(buffer[1], leaf)
    # Another leaf may have got the same tensor, and can now have it for itself.
    buffer[1] = None
