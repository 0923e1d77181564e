"""Checkpoints in the reentrant form: a ``Function`` that runs its function again in backward.

Its backward starts a walk of its own, so that gradients reach what the function uses beside its
arguments. ``checkpoint.py`` has the other form, which is recommended.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ..autocast_state import restored
from ..autocast_state import state as autocast
from ..autograd.engine.interface import backward
from ..autograd.function import Function
from ..autograd.grad_mode import enable_grad, no_grad
from ..autograd.variable import Variable
from ..executor import capture
from ..random import DefaultStreams
from ..tensor import Tensor

#: Asks a generator for its state.
_NOW = np.empty(0, np.int64)


class RandomState:
    """The state of the default generator before a function, if the function drew any numbers.

    Args:
        preserve: False if nothing is to be kept.
    """

    def __init__(self, preserve: bool) -> None:
        self._before = DefaultStreams().rewind(_NOW) if preserve else None

    def settle(self) -> None:
        """Call after the function: forget the state if no number was drawn."""
        if self._before is None:
            return
        if np.array_equal(DefaultStreams().rewind(_NOW), self._before):
            self._before = None
        else:
            capture.refuse("random numbers in a checkpoint, which draws them twice")

    @contextlib.contextmanager
    def again(self) -> Iterator[None]:
        """Draw the same numbers in a block; behind it the generator goes on as if nothing was."""
        if self._before is None:
            yield
            return
        generator = DefaultStreams()
        now = generator.rewind(self._before)
        try:
            yield
        finally:
            generator.rewind(now)


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warn if no input requires grad: the reentrant variant then computes no gradients."""
    if not any([isinstance(value, Tensor) and value.requires_grad for value in inputs]):
        warnings.warn(
            "None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2
        )


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The inputs without their history: tensors that require grad become leaves.

    Raises:
        RuntimeError: if ``inputs`` is no tuple.
    """
    if not isinstance(inputs, tuple):
        raise RuntimeError(
            "Only tuple of tensors is supported. Got Unsupported input type: "
            f"{type(inputs).__name__}"
        )
    return tuple(
        [
            value.detach().requires_grad_(value.requires_grad)
            if isinstance(value, Tensor)
            else value
            for value in inputs
        ]
    )


class CheckpointFunction(Function):
    """A function that runs unrecorded, and again, recorded, in a walk of its own in backward."""

    @staticmethod
    def forward(ctx: Any, run_function: Any, preserve_rng_state: bool, *args: Any) -> Any:
        """``run_function(*args)``."""
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.random_state = RandomState(preserve_rng_state)
        ctx.autocast = autocast.settings
        ctx.positions = [i for i, value in enumerate(args) if isinstance(value, Tensor)]
        ctx.arguments = [None if isinstance(value, Tensor) else value for value in args]
        ctx.save_for_backward(*[args[i] for i in ctx.positions])
        outputs = _unrecorded(run_function, args)
        ctx.random_state.settle()
        return outputs

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """Run the function again and walk back through it."""
        if not Variable._execution_engine.is_checkpoint_valid():
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or "
                "passing an `inputs` parameter to .backward(). To resolve this error, you can "
                "either set use_reentrant=False, or call .backward() without passing the `inputs` "
                "argument."
            )
        inputs = list(ctx.arguments)
        for position, tensor in zip(ctx.positions, ctx.saved_tensors, strict=True):
            inputs[position] = tensor
        leaves = detach_variable(tuple(inputs))
        outputs = _run_as_before(ctx, leaves)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        roots = [
            (output, gradient)
            for output, gradient in zip(outputs, grads, strict=True)
            if isinstance(output, Tensor) and output.requires_grad
        ]
        if not roots:
            raise RuntimeError(
                "none of output has requires_grad=True, this checkpoint() is not necessary"
            )
        backward([output for output, _ in roots], [gradient for _, gradient in roots])
        gradients = [value.grad if isinstance(value, Tensor) else None for value in leaves]
        return (None, None, *gradients)


def _unrecorded(function: Any, args: tuple[Any, ...]) -> Any:
    with no_grad():
        return function(*args)


def _run_as_before(ctx: Any, leaves: tuple[Any, ...]) -> Any:
    with ctx.random_state.again(), restored(ctx.autocast), enable_grad():
        return ctx.run_function(*leaves)
