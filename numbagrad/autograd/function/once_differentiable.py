"""Histories that fail: results of a backward that is not written in operators.

``once_differentiable`` is torch's decorator; ``failing_later`` and ``with_history`` give tensors a
node that raises, for it and for operators without a gradient.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from .. import tensor_interface as interface
from ..grad_mode import state as grad_mode
from ..node import Error, Node, edge_of

__all__ = ["failing_later", "once_differentiable", "with_history"]


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a ``backward`` that is not written in operators and has no gradient itself.

    It runs unrecorded. Under ``create_graph=True`` its results raise when they are differentiated,
    if a gradient of the outputs requires grad. As in torch they are constants otherwise, though
    they may depend on the saved tensors.
    """

    @functools.wraps(fn)
    def wrapper(ctx: Any, *args: Any) -> Any:
        recording = grad_mode.enabled
        grad_mode.enabled = False
        try:
            results = fn(ctx, *args)
        finally:
            grad_mode.enabled = recording
        if not recording:
            return results
        if not any([isinstance(arg, interface.Tensor) and arg._requires_grad for arg in args]):
            return results
        several = results if isinstance(results, tuple) else (results,)
        several = _delayed_error(several)
        return several if isinstance(results, tuple) else several[0]

    return wrapper


def _delayed_error(results: tuple[Any, ...]) -> tuple[Any, ...]:
    """The results, with a history that raises when they are differentiated."""
    leaves = [None if result is None else interface.alias(result) for result in results]
    for leaf in leaves:
        if leaf is not None:
            leaf._requires_grad = True
    return failing_later(
        "trying to differentiate twice a function that was marked with @once_differentiable", leaves
    )


def failing_later(text: str, tensors: Sequence[Any]) -> tuple[Any, ...]:
    """The tensors (or None), with a history that raises ``text`` when the engine reaches it."""
    edges = tuple([None if tensor is None else edge_of(tensor) for tensor in tensors])
    node = Error(RuntimeError(text), edges, len(tensors))
    return tuple([with_history(tensor, node, number) for number, tensor in enumerate(tensors)])


def with_history(result: Any, node: Node, number: int = 0) -> Any:
    """Return a tensor of the memory of ``result`` that ``node`` seems to have made."""
    if not isinstance(result, interface.Tensor):
        return result
    made = interface.alias(result)
    interface.set_history(made, node, number)
    return made
