"""Gradients by the definition of an operator: its graph is made, walked, and recorded if need be.

Called by the nodes of operators that have programs or kernels for their gradients, where the
gradients have to be differentiated themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...autograd.engine.backward import run_backward
from ...autograd.grad_mode import state as grad_mode
from ...autograd.node import wanted_edge
from ...tensor import Tensor

__all__ = ["gradients_of"]


def _behind_a_node(tensor: Tensor) -> Tensor:
    """The tensor as a view with a node of its own, at which a walk of the graph can end."""
    recorded = grad_mode.enabled
    try:
        grad_mode.enabled = True
        return tensor.view_as(tensor)
    finally:
        grad_mode.enabled = recorded


def gradients_of(
    definition: Callable[..., Any],
    arguments: Sequence[Any],
    needed: Sequence[bool],
    grads: Sequence[Tensor | None],
) -> tuple[Tensor | None, ...]:
    """The gradients of the Tensors among the arguments that are ``needed``, None for the others.

    ``grads`` are those of the results, of which there may be more. They are recorded if this thread
    records.
    """
    tensors: list[Tensor] = []
    passed: list[Any] = []
    for argument in arguments:
        if isinstance(argument, Tensor):
            if needed[len(tensors)]:
                argument = _behind_a_node(argument)
            tensors.append(argument)
        passed.append(argument)
    recorded = grad_mode.enabled
    try:
        grad_mode.enabled = True
        made = definition(*passed)
    finally:
        grad_mode.enabled = recorded
    results = made if made.__class__ is tuple else (made,)
    known = [(x, g) for x, g in zip(results, grads, strict=False) if g is not None]
    wanted = [x for x, need in zip(tensors, needed, strict=True) if need]
    edges: list[Any] = [wanted_edge(x) for x in wanted]
    roots, incoming = [x for x, _ in known], [g for _, g in known]
    gradients = iter(run_backward(roots, incoming, True, recorded, edges, accumulate=False))
    return tuple([next(gradients) if need else None for need in needed])
