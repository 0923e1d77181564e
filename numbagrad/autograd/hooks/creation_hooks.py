"""Hooks that are called with each node as soon as it is complete: ``graph.node_creation_hook``.

They hear of nodes as a watcher (``watching.py``). What makes a node in several steps, as
``function/`` and ``writes/inplace.py`` do, shows it here when it is complete.
Leaves have no node until somebody asks for it, so the ``AccumulateGrad`` of a leaf is made here.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from ..node import AccumulateGrad, Node, accumulator_of, visible
from . import (
    watching,
)

__all__ = ["announce", "pop_hook", "push_hook", "quietly", "stack"]

Hook = Callable[[Any], None]


class _Hooks(threading.local):
    """The hooks of one thread, the innermost last, and what it is doing."""

    def __init__(self) -> None:
        self.stack: list[Hook] = []
        #: whether a hook runs: nodes that are made by it are an error
        self.running = False
        #: whether nodes are made that another one is going to contain
        self.quiet = False


_hooks = _Hooks()
#: by node: what stands for its leaves, as long as it is in use
_accumulators: WeakKeyDictionary[Node, list[AccumulateGrad]] = WeakKeyDictionary()


def stack() -> list[Hook]:
    """The hooks of this thread."""
    return _hooks.stack


def push_hook(hook: Hook) -> None:
    """Have ``hook(node)`` called, after those that are there."""
    _hooks.stack.append(hook)
    watching.change(1)


def pop_hook() -> None:
    """Drop the hook that came last."""
    _hooks.stack.pop()
    watching.change(-1)


def quietly(function: Callable[..., Any], *arguments: Any) -> Any:
    """``function(*arguments)``, whose nodes another one is going to contain: no hook sees them."""
    before, _hooks.quiet = _hooks.quiet, True
    try:
        return function(*arguments)
    finally:
        _hooks.quiet = before


def _announce_complete(node: Node) -> None:
    if not node._announced_when_complete:
        announce(node)


watching.watcher(_announce_complete, switch=stack)


def announce(node: Node) -> None:
    """Call the hooks of this thread with a node, after those of its leaves that are new.

    Raises:
        RuntimeError: if a hook made the node, or if a hook returns something.
    """
    if not _hooks.stack or _hooks.quiet:
        return
    if _hooks.running:
        raise RuntimeError(
            f"{node.name()} was created from inside a node creation hook, which may inspect nodes "
            "and register hooks on them, but must not run operations that are recorded; use "
            "torch.no_grad() around them"
        )
    _hooks.running = True
    try:
        for accumulator in _new_accumulators(node):
            _call_hooks(accumulator)
        _call_hooks(visible(node))
    finally:
        _hooks.running = False


def _call_hooks(node: Node) -> None:
    for hook in list(_hooks.stack):
        result = hook(node)
        if result is not None:
            raise RuntimeError(f"node creation hook must return None, got {type(result).__name__}")


def _new_accumulators(node: Node) -> list[AccumulateGrad]:
    """The nodes of the leaves that a node uses, of which nothing stood for the leaf before."""
    leaves = [edge[0] for edge in node.next_edges if edge and not isinstance(edge[0], Node)]
    if not leaves:
        return []
    known = [None if leaf._accumulator is None else leaf._accumulator() for leaf in leaves]
    made = [accumulator_of(leaf) for leaf in leaves]
    _accumulators[node] = made
    new = [a for a, before in zip(made, known, strict=True) if before is None]
    return list(dict.fromkeys(new))
