"""Custom Functions under transformations: ``forward`` on values, ``jvp`` on tangents.

``autograd.function`` calls ``apply_transformed``, through ``tensor_interface``, when an argument is
under a transformation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..autograd.grad_mode import set_grad_enabled
from ..autograd.grad_mode import state as grad_mode
from ..ops.creation.filled import zeros_like
from ..tensor import Tensor
from .function_batches import apply_to_batch, require_setup_context
from .inplace import take_tangent
from .layouts import of_dtype
from .levels import BATCH, GRAD, LAZY_CONJ, Level, dual, settled, state_of, without_tangents
from .unwrapping import deepest, split

__all__ = ["apply_transformed"]


def apply_transformed(function: Any, args: tuple[Any, ...]) -> Any:
    """``function.apply(*args)``, of which at least one is or was under a transformation."""
    args = tuple([settled(x) if isinstance(x, Tensor) else x for x in args])
    level = deepest(args)
    if level is None or level.kind is LAZY_CONJ:
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
        RuntimeError: if ``jvp`` returns something that does not go with what ``forward`` returned.
    """
    tangents = [split(level, argument)[1] for argument in args]
    ctx, output, made, inputs = _run_both(function, level, args, tangents)
    outputs = output if isinstance(output, tuple) else (output,)
    results = made if isinstance(made, tuple) else (made,)
    if len(results) != len(outputs):
        raise RuntimeError(
            "Function's jvp returned an invalid number of forward gradients (expected "
            f"{len(outputs)} but got {len(results)})"
        )
    for position, pair in enumerate(zip(outputs, results, strict=True)):
        _check_tangent(ctx, position, *pair, inputs)
    duals = tuple([_dual(ctx, level, x, t) for x, t in zip(outputs, results, strict=True)])
    ctx.saved_for_forward = None
    return duals if isinstance(output, tuple) else duals[0]


def _run_both(
    function: Any, level: Level, args: tuple[Any, ...], tangents: list[Any]
) -> tuple[Any, Any, Any, list[_Input]]:
    """The node, what ``forward`` and ``jvp`` return, and the inputs that have tangents."""
    with without_tangents(level):
        ctx, output = function.run(args)
        given = [_given(ctx, x, t) for x, t in zip(args, tangents, strict=True)]
        pairs = [pair for pair in zip(args, tangents, strict=True) if pair[1] is not None]
        inputs = [_Input(x, t, _writes(t)) for x, t in pairs]
        if ctx.saved_for_forward is None:
            ctx.saved_for_forward = ()  # what is saved for backward is not for jvp
        return ctx, output, function.jvp(ctx, *given), inputs


class _Input(NamedTuple):
    """An argument with a tangent, and how often that was written before ``jvp``."""

    value: Tensor
    tangent: Tensor
    writes: int


def _check_tangent(
    ctx: Any, position: int, output: Any, tangent: Any, inputs: Sequence[_Input]
) -> None:
    """Raise torch's errors for a tangent that does not go with its output."""
    if tangent is not None and not isinstance(tangent, Tensor):
        raise RuntimeError(
            f"expected Variable or None (got {type(tangent).__name__}) for grad output {position}."
        )
    if not isinstance(output, Tensor):
        return
    if any([output is x for x in ctx.non_differentiable or ()]):
        if tangent is not None:
            raise RuntimeError(
                f"Function's jvp returned a gradient at position {position}, but  the "
                "corresponding forward output is not a differentiable Tensor.You should return "
                "None at that position instead."
            )
        return
    if tangent is None:
        return
    if tangent._array.shape != output._array.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original "
            f"Tensor, this is not supported. Tensor is of size {list(output._array.shape)} while "
            f"the given forward gradient is of size {list(tangent._array.shape)}."
        )
    written = any([output is x for x in ctx.dirty_tensors or ()])
    for input in inputs:
        if written:
            if output is input.value:
                _check_written(tangent, input)
        elif _is_view_of(output, input.value):
            _check_view(tangent, input.tangent)


def _writes(tensor: Tensor) -> int:
    return 0 if tensor._version_cell is None else tensor._version_cell[0]


def _check_written(tangent: Tensor, input: _Input) -> None:
    counted = not tangent.is_inference()
    if tangent is not input.tangent or (counted and _writes(tangent) == input.writes):
        raise RuntimeError(
            "An inplace custom Function is not modifying the forward mode gradients inplace. If "
            "the forward is modifying an input inplace, then the jvp function must modify the "
            "corresponding gradient inplace."
        )


def _check_view(tangent: Tensor, given: Tensor) -> None:
    if tangent._viewed is None:
        raise RuntimeError(
            "A custom Function's forward is returning a view (or an input as-is) but the jvp is "
            "not returning a view."
        )
    if tangent._viewed is not (given if given._viewed is None else given._viewed):
        of_what = "given" if given._viewed is None else "same base as the given"
        raise RuntimeError(
            "A custom Function is returning a view but the jvp is not returning a view of the "
            f"{of_what} grad input."
        )


def _is_view_of(tensor: Tensor, base: Tensor) -> bool:
    cell = tensor._version_cell
    return tensor is not base and cell is not None and cell is base._version_cell


def _given(ctx: Any, argument: Any, tangent: Tensor | None) -> Any:
    """The tangent that ``jvp`` is given for an argument: zeros for a Tensor without one."""
    if tangent is not None or not isinstance(argument, Tensor) or not ctx.materialize_grads:
        return tangent
    return zeros_like(argument) if argument._array.dtype.kind in "fcV" else None


def _dual(ctx: Any, level: Level, output: Any, tangent: Any) -> Any:
    if not isinstance(output, Tensor) or tangent is None:
        return output
    tangent = of_dtype(output, tangent)
    state = state_of(output)
    if state is not None and state.level is level:  # an input that forward wrote
        state.tangent = tangent
        return output
    if any([output is x for x in ctx.dirty_tensors or ()]):
        return take_tangent(level, output, tangent)
    made = dual(level, output, tangent)
    made._requires_grad, made._producer = output._requires_grad, output._producer
    made._output_nr = output._output_nr
    return made
