"""State of one walk of the engine: where it leads, and what waits for its end.

``backward.py`` makes a ``Walk`` for each backward and keeps it in ``grad_mode.state.walk``; hooks,
anomaly detection and ``graph/`` look it up there.
"""

from __future__ import annotations

import heapq
import itertools
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from heapq import heappop, heappush
from typing import Any

from ...executor import capture
from ..grad_mode import state as grad_mode
from ..hooks import creation_hooks, saved_hooks
from ..hooks.tensor_hooks import RemovableHandle
from ..node import UNRECORDED, Node, accumulator_of, edge_of, visible
from .walk_log import note_nodes

__all__ = [
    "FINISHED", "MAX_DEPTH", "HookedLeaves", "Plan", "Schedule", "Walk", "edge_of_root",
    "in_new_thread",
]  # fmt: skip

#: Walks that are started in the backward of a node of another walk, so many deep, go on in a new
#: thread, which has a Python stack of its own.
MAX_DEPTH = 30
#: Ends the buffer of a leaf whose hooks have run.
FINISHED = object()

_next_id = itertools.count().__next__


def edge_of_root(root: Any) -> Any:
    """The edge ``(target, output_nr)`` that a root, a tensor or an edge, stands for."""
    edge = root if root.__class__ is tuple else edge_of(root)
    return None if edge is not None and edge[0] is UNRECORDED else edge


class Walk:
    """One walk. Most of it has its default: making one must cost next to nothing."""

    roots: Sequence[Any] = ()
    plan: Plan | None = None
    #: The node that runs, as far as somebody may ask for it.
    node: Any = None
    #: How many walks of this thread this one is started in.
    depth = 0
    #: Whether nodes keep what they saved.
    keeps_graph = False
    #: Whether the walk, and those it is started in, lead to all leaves, not to chosen inputs.
    leads_to_all = True
    callbacks: list[Callable[[], Any]] | None = None
    #: Undoes that the nodes write into the log.
    noted: Sequence[RemovableHandle] = ()
    _id: int | None = None
    _reachable: dict[int, Any] | None = None

    @property
    def id(self) -> int:
        """The number of the walk, in the order in which somebody asked."""
        if self._id is None:
            self._id = _next_id()
        return self._id

    def run_callbacks(self) -> None:
        """Call what was queued for the end of the walk; that may queue more."""
        for callback in self.callbacks or ():
            callback()

    def note_nodes(self) -> None:
        """Have all that lies behind the roots write into the log."""
        targets = [edge[0] for edge in map(edge_of_root, self.roots) if edge is not None]
        self.noted = note_nodes(reachable(targets))

    def forget_nodes(self) -> None:
        """Take back what ``note_nodes`` did."""
        for handle in self.noted:
            handle.remove()

    def reaches(self, node: Any) -> bool:
        """Whether a node lies behind the roots. Leaves are asked for by their tensors."""
        if self._reachable is None:
            targets = [edge[0] for edge in map(edge_of_root, self.roots) if edge is not None]
            self._reachable = {id(target): target for target in reachable(targets)}
        return id(node) in self._reachable

    def execution_order(self) -> list[Node]:
        """The nodes that run, and the leaves that get a gradient, in the order of their turns."""
        edges = self._taken(list(map(edge_of_root, self.roots)))
        left = Counter([id(edge[0]) for edge in edges])
        for target in reachable([edge[0] for edge in edges]):
            left.update([id(edge[0]) for edge in self._behind(target)])
        order: list[Node] = []
        ready: list[tuple[int, int, Any]] = []
        while True:
            for target, _ in edges:
                left[id(target)] -= 1
                if not left[id(target)]:
                    # A leaf has its turn as soon as no further edge leads to it.
                    number = -target._sequence_nr() if isinstance(target, Node) else -(2**63)
                    heappush(ready, (number, id(target), target))
            if not ready:
                return order
            target = heappop(ready)[2]
            order.append(visible(target) if isinstance(target, Node) else accumulator_of(target))
            edges = self._behind(target)

    def _behind(self, target: Any) -> list[Any]:
        """The edges behind a node that the walk takes; a leaf has none."""
        if not isinstance(target, Node):
            return []
        return self._taken(target.next_edges, target.sequence_nr)

    def _taken(self, edges: Sequence[Any], number: int | None = None) -> list[Any]:
        """The edges of a node, or of roots, that the walk takes."""
        plan = self.plan
        return [
            edge
            for edge in edges
            if edge is not None and (plan is None or plan.leads_to_input(edge, number))
        ]


def reachable(targets: list[Any]) -> Iterator[Any]:
    """All nodes and leaves behind ``targets``, these included."""
    seen: set[int] = set()
    while targets:
        target = targets.pop()
        if id(target) in seen:
            continue
        seen.add(id(target))
        yield target
        if isinstance(target, Node):
            targets += [edge[0] for edge in target.next_edges if edge is not None]


class Plan:
    """Which nodes a walk to chosen inputs has to run, and what it picks up on the way.

    Args:
        roots: where the walk starts.
        inputs: the edges whose gradients are wanted: ``(node, output_nr)``, or ``(leaf, uses)``
            with the first and last sequence number of the nodes whose edges to the leaf count.
        accumulate: the gradients are to be kept by the inputs: nodes that are inputs run as well.
    """

    def __init__(
        self, roots: Sequence[Any], inputs: Sequence[tuple[Any, Any]], accumulate: bool
    ) -> None:
        self.inputs = inputs
        self.accumulate = accumulate
        self.captured: dict[tuple[int, int], Any] = {}
        self.wanted_leaves: dict[int, tuple[int, int]] = {}
        self.wanted_outputs: dict[int, list[int]] = {}
        for target, which in inputs:
            if isinstance(target, Node):
                self.wanted_outputs.setdefault(target.sequence_nr, []).append(which)
            elif self.wanted_leaves.setdefault(id(target), which) != which:
                raise RuntimeError(
                    "the gradients of a leaf before and after its memory was replaced by set_() "
                    "cannot be taken at once: call grad for one of them, and again for the other"
                )
        #: by the sequence numbers of the nodes that must run: for each edge whether it leads to an
        #: input, or None where all do
        self.needed: dict[int, tuple[bool, ...] | None] = {}
        #: whether all nodes and leaves are on the way to inputs, which are leaves: an ordinary walk
        self.is_whole = False
        targets = [edge[0] for edge in map(edge_of_root, roots) if edge is not None]
        self._find_needed([target for target in targets if isinstance(target, Node)])
        if accumulate:
            for target, _ in inputs:
                if isinstance(target, Node):
                    nowhere = (False,) * len(target.next_edges)
                    self.needed.setdefault(target.sequence_nr, nowhere)

    def _find_needed(self, pending: list[Node]) -> None:
        """Fill ``needed``: collect what is reachable, then go through it from the oldest on."""
        oldest = -1 if self.wanted_leaves else min(self.wanted_outputs, default=0)
        whole = not self.wanted_outputs
        reachable: dict[int, Node] = {}
        while pending:
            node = pending.pop()
            order = node.sequence_nr
            if order in reachable or order <= oldest:
                continue
            reachable[order] = node
            leads_on = False
            for edge in node.next_edges:
                if edge is None:
                    continue
                leads_on = True
                if isinstance(edge[0], Node):
                    pending.append(edge[0])
                elif whole:
                    whole = self.leads_to_input(edge, order)
            whole = whole and leads_on
        if whole:
            self.is_whole = True
            self.needed = dict.fromkeys(reachable)
            return
        for order in sorted(reachable):
            edges = reachable[order].next_edges
            leads = tuple([self.leads_to_input(edge, order) for edge in edges])
            if True in leads:
                count = len(edges) - edges.count(None)
                self.needed[order] = None if leads.count(True) == count else leads

    def leads_to_input(self, edge: tuple[Any, int] | None, number: int | None = None) -> bool:
        """Return True if a gradient on this edge contributes to that of a wanted input.

        ``number`` is the sequence number of the node whose edge it is; roots have none.
        """
        if edge is None:
            return False
        target, output_nr = edge
        if isinstance(target, Node):
            order = target.sequence_nr
            return order in self.needed or output_nr in self.wanted_outputs.get(order, ())
        uses = self.wanted_leaves.get(id(target))
        return uses is not None and (number is None or uses[0] < number < uses[1])

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


class Schedule:
    """The order in which nodes run of which users changed the sequence numbers.

    A node's own number is higher than those of all it depends on, so that the highest is always
    ready; with numbers of users, what is ready has to be found out by counting.
    """

    def __init__(self, roots: Sequence[Any]) -> None:
        targets = [edge[0] for edge in map(edge_of_root, roots) if edge is not None]
        nodes = [node for node in reachable(targets) if isinstance(node, Node)]
        waiting = {node: 0 for node in nodes}
        for node in nodes:
            for target in self._inputs(node):
                waiting[target] += 1
        ready = [self._entry(node) for node in nodes if not waiting[node]]
        heapq.heapify(ready)
        #: by own sequence number: the place in the order
        self._positions: dict[int, int] = {}
        while ready:
            node = heapq.heappop(ready)[-1]
            self._positions[node.sequence_nr] = len(self._positions)
            for target in self._inputs(node):
                waiting[target] -= 1
                if not waiting[target]:
                    heapq.heappush(ready, self._entry(target))

    @staticmethod
    def _inputs(node: Node) -> list[Node]:
        return [edge[0] for edge in node.next_edges if edge and isinstance(edge[0], Node)]

    @staticmethod
    def _entry(node: Node) -> tuple[int, int, Node]:
        return -node._sequence_nr(), -node.sequence_nr, node

    def take(self, ready: list[int]) -> int:
        """Take the number of the next node out of ``ready``, which has the negated ones."""
        number = min(ready, key=lambda negated: self._positions[-negated])
        ready.remove(number)
        return number


class HookedLeaves:
    """Tells when the gradient of a leaf with hooks is complete: no further edge leads to it.

    The edges are counted when the first such leaf is met, over what is then left of the graph.
    """

    def __init__(self, plan: Plan | None, leaves: dict[int, list[Any]]) -> None:
        """``leaves`` are the buffers of those that were met before."""
        self._plan = plan
        self._left: dict[int, int] | None = None
        # A dictionary for its order: torch runs the hooks of leaves in the order they were met.
        self._met = {key: None for key, buffer in leaves.items() if buffer[0]._hooks is not None}

    def passed(self, leaf: Any) -> None:
        """Note that a gradient went along an edge to a leaf with hooks."""
        key = id(leaf)
        self._met[key] = None
        if self._left is not None and key in self._left:
            self._left[key] -= 1

    def complete(
        self, leaves: dict[int, list[Any]], buffers: dict[int, list[Any]]
    ) -> Iterator[list[Any]]:
        """The buffers of the leaves that were met since the last time and are complete now."""
        if not self._met:
            return
        if self._left is None:
            self._left = self._count(buffers)
        for key in list(self._met):
            if not self._left.get(key, 0):
                del self._met[key]
                if len(leaves[key]) == 2:
                    yield leaves[key]

    def _count(self, buffers: dict[int, list[Any]]) -> dict[int, int]:
        """How many edges lead from what is still to run to each leaf with hooks."""
        plan = self._plan
        left: dict[int, int] = {}
        for node in reachable([buffer[0] for buffer in buffers.values()]):
            if not isinstance(node, Node):
                continue
            if plan is not None and node.sequence_nr not in plan.needed:
                continue
            for edge in node.next_edges:
                if edge is not None and not isinstance(edge[0], Node):
                    if edge[0]._hooks is not None:
                        left[id(edge[0])] = left.get(id(edge[0]), 0) + 1
        return left


def in_new_thread(function: Callable[..., Any], *arguments: Any) -> Any:
    """``function(*arguments)`` in a new thread, with the switches and hooks of this one."""
    capture.refuse("a backward that is so deep in others")
    outcome: list[Any] = []
    switches = vars(grad_mode).copy()
    pairs, disabled = list(saved_hooks.stack()), saved_hooks.disabled_message()
    exclusive = capture.exclusive.held
    hooks = list(creation_hooks.stack())

    def body() -> None:
        vars(grad_mode).update(switches, walk=None)
        saved_hooks.stack().extend(pairs)
        creation_hooks.stack().extend(hooks)
        saved_hooks.set_disabled(disabled)
        capture.exclusive.held = exclusive  # the thread that waits for this one sees to it
        try:
            outcome.extend((function(*arguments), None))
        except BaseException as error:  # raised again in the thread that waits
            outcome.extend((None, error))

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    capture.attend_again()
    result, error = outcome
    if error is not None:
        raise error
    return result


def wrong_count(node: Node, results: Sequence[Any]) -> RuntimeError:
    """The error of a node that returns other than one gradient for each input."""
    return RuntimeError(
        f"{node.name()}.backward returned {len(results)} gradients, but the operation has "
        f"{len(node.next_edges)} inputs; it must return one for each, None where there is none"
    )


def with_hooks(leaves: dict[int, list[Any]]) -> list[Any]:
    """The buffers of leaves that have hooks."""
    return [buffer for buffer in leaves.values() if buffer[0]._hooks is not None]
