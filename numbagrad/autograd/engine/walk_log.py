"""The log of walks: ``logging.getLogger("numbagrad.autograd.graph")``, at the level DEBUG.

The engine asks whether somebody listens, and has every node of a graph say that it runs.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Iterable, Sequence
from typing import Any

from ..hooks.tensor_hooks import RemovableHandle
from ..node import Node, accumulator_of

__all__ = ["DEBUG", "log", "note_nodes"]

#: Named as torch's, but for the first word.
log = logging.getLogger("numbagrad.autograd.graph")
DEBUG = logging.DEBUG


def note_nodes(targets: Iterable[Any]) -> list[RemovableHandle]:
    """Have nodes, and leaves, write a line when they run; returns what takes that back."""
    nodes = [x if isinstance(x, Node) else accumulator_of(x) for x in targets]
    return [node.register_prehook(functools.partial(_write, node)) for node in nodes]


def _write(node: Node, gradients: Sequence[Any]) -> None:
    described = ",".join(map(_described, gradients))
    log.debug(f"Executing: {node!r} with grad_outputs: [{described}]")


def _described(gradient: Any) -> str:
    if gradient is None:
        return "None"
    return f"{gradient.dtype.abbr}[{', '.join(map(str, gradient.shape))}]"
