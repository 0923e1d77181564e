"""Custom Functions under transformations: ``forward`` on values, ``jvp`` on tangents.

``autograd.function`` calls ``apply_transformed``, through ``tensor_interface``, when an argument is
under a transformation.
"""

from __future__ import annotations

from typing import Any

from ..autograd.grad_mode import set_grad_enabled
from ..autograd.grad_mode import state as grad_mode
from ..ops.creation import zeros_like
from ..tensor import Tensor
from .dispatch import deepest, split
from .function_batches import apply_to_batch, require_setup_context
from .levels import BATCH, GRAD, Level, dual, settled, state_of, without_tangents

__all__ = ["apply_transformed"]


def apply_transformed(function: Any, args: tuple[Any, ...]) -> Any:
    """``function.apply(*args)``, of which at least one is or was under a transformation."""
    args = tuple([settled(x) if isinstance(x, Tensor) else x for x in args])
    level = deepest(args)
    if level is None:
        return function.run(args)[1]
    if level.kind is BATCH:
        return apply_to_batch(function, level, args)
    if level.kind is GRAD:
        return apply_to_tracked(function, level, args)
    return apply_to_dual(function, level, args)


def apply_to_tracked(function: Any, level: Level, args: tuple[Any, ...]) -> Any:
    """``function.apply(*args)`` for a gradient inside of a batch: applied below, recorded here.

    Raises:
        RuntimeError: for a Function without ``setup_context``, whose ``forward`` cannot be apart.
    """
    require_setup_context(function)
    values = [split(level, argument)[0] for argument in args]
    recorded = grad_mode.enabled

    def forward(*given: Any) -> Any:
        with set_grad_enabled(recorded):  # the level below has a history of its own
            made = function.apply(*values)
        if isinstance(made, tuple):
            return tuple([_at(level, x) for x in made])
        return _at(level, made)

    of_level: Any = type(function.__name__, (function,), {"forward": staticmethod(forward)})
    return of_level.run(args)[1]


def _at(level: Level, output: Any) -> Any:
    return dual(level, output, None) if isinstance(output, Tensor) else output


def apply_to_dual(function: Any, level: Level, args: tuple[Any, ...]) -> Any:
    """``function.apply(*args)`` where some arguments have a tangent of this level.

    ``forward`` sees tensors without tangents, but keeps those it saves as they are, so that the
    backward pass has a tangent too.

    Raises:
        NotImplementedError: for a Function without ``jvp``.
        RuntimeError: if ``jvp`` returns another number of values than ``forward``.
    """
    tangents = [split(level, argument)[1] for argument in args]
    with without_tangents(level):
        ctx, output = function.run(args)
        given = [_given(ctx, x, t) for x, t in zip(args, tangents, strict=True)]
        made = function.jvp(ctx, *given)
    outputs = output if isinstance(output, tuple) else (output,)
    results = made if isinstance(made, tuple) else (made,)
    if len(results) != len(outputs):
        raise RuntimeError(
            f"{function.__name__}.jvp returned {len(results)} values, but forward returned "
            f"{len(outputs)}: one tangent is needed for each"
        )
    duals = tuple([_dual(level, x, t) for x, t in zip(outputs, results, strict=True)])
    ctx.saved_for_forward = None
    return duals if isinstance(output, tuple) else duals[0]


def _given(ctx: Any, argument: Any, tangent: Tensor | None) -> Any:
    """What ``jvp`` is given for an argument: zeros for a Tensor without a tangent."""
    if tangent is not None or not isinstance(argument, Tensor) or not ctx.materialize_grads:
        return tangent
    return zeros_like(argument) if argument._array.dtype.kind == "f" else None


def _dual(level: Level, output: Any, tangent: Any) -> Any:
    if not isinstance(output, Tensor) or tangent is None:
        return output
    state = state_of(output)
    if state is not None and state.level is level:  # an input that forward wrote
        state.tangent = tangent
        return output
    made = dual(level, output, tangent)
    made._requires_grad, made._grad_fn = output._requires_grad, output._grad_fn
    made._output_nr = output._output_nr
    return made
