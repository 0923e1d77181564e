"""Views that keep the operators that made them when their memory is written.

``_force_original_view_tracking`` switches it on. Nodes that are made meanwhile are noted, by a
watcher; ``inplace.py`` asks here when it gives a view a new history, and gets copies of the nodes
that lead from the base to the view.
"""

from __future__ import annotations

import copy
import weakref
from typing import Any

from ..grad_mode import state as grad_mode
from ..hooks import watching
from ..node import Node, begin

__all__ = ["is_replayed", "replayed"]

_noted: weakref.WeakSet[Node] = weakref.WeakSet()


@watching.watcher
def _note(node: Node) -> None:
    """Note a node that is made while the switch of this thread is on."""
    if grad_mode.view_replay:
        _noted.add(node)


def is_replayed(view: Any, producer: Node | None) -> bool:
    """Whether the nodes from ``producer``, which made the base of a view, to the view are noted."""
    node = view._producer
    while node is not producer:
        if node is None or node not in _noted or len(node.next_edges) != 1:
            return False
        node = _before(node)
    return node is not None


def replayed(view: Any, producer: Node | None, edge: Any) -> Any:
    """Copies of the nodes that lead from the base to a view, behind another ``edge``; the last.

    ``producer`` is the node that made the base when they were recorded.
    """
    nodes = []
    node = view._producer
    while node is not producer:
        nodes.append(node)
        node = _before(node)
    for original in reversed(nodes):
        made = copy.copy(original)
        begin(made, (edge,), made.saved)
        if watching.count:
            watching.made(made)
        _noted.add(made)
        edge = (made, 0)
    return edge[0]


def _before(node: Node) -> Node | None:
    """The node that made the only input of a node, or None for a leaf."""
    target = None if node.next_edges[0] is None else node.next_edges[0][0]
    return target if isinstance(target, Node) else None
