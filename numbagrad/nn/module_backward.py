"""Backward hooks: how the backward walk reaches the hooks of a module.

``module_hooks.py`` makes a watcher for a call with full backward hooks. Gradients of a module's
inputs and outputs are seen by an identity Function around each, whose node runs the hooks.
"""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..autograd.function import Function
from ..autograd.grad_mode import is_grad_enabled
from ..tensor import Tensor

if TYPE_CHECKING:
    from .module import Module


class WithModule:
    """A hook that gets its module as first argument, without keeping the module alive."""

    def __init__(self, hook: Callable[..., Any], module: Any) -> None:
        self.hook = hook
        self.module = weakref.ref(module)

    def __call__(self, *args: Any) -> Any:
        return self.hook(self.module(), *args)

    def __getstate__(self) -> dict[str, Any]:
        return {"hook": self.hook, "module": self.module()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.hook = state["hook"]
        self.module = weakref.ref(state["module"])


class BackwardHookFunction(Function):
    """The identity, for its node."""

    @staticmethod
    def forward(ctx: Any, *args: Any) -> Any:
        """Return the inputs."""
        ctx.mark_non_differentiable(*[arg for arg in args if not arg.requires_grad])
        return args

    @staticmethod
    def backward(ctx: Any, *args: Any) -> Any:
        """Return the gradients."""
        return args


class BackwardWatcher:
    """Runs the full backward hooks of one call of a module."""

    def __init__(
        self, module: Module, hooks: list[Callable[..., Any]], pre_hooks: list[Callable[..., Any]]
    ) -> None:
        self.module = module
        self.hooks = hooks
        self.pre_hooks = pre_hooks
        self.grad_outputs: Any = None
        self.input_count = self.output_count = -1
        self.input_positions: list[int] | None = None
        self.output_positions: list[int] = []

    def watch_inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments, those that are tensors through the identity."""
        self.input_count = len(args)
        args, self.input_positions = self._through_identity(args, self._grads_of_inputs)
        return args

    def watch_outputs(self, result: Any) -> Any:
        """The outputs through the identity."""
        single = isinstance(result, Tensor)
        if not single and not isinstance(result, tuple):
            warnings.warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of "
                f"Tensors but received {type(result)}",
                stacklevel=4,
            )
            return result
        results = (result,) if single else result
        self.output_count = len(results)
        results, positions = self._through_identity(results, self._grads_of_outputs)
        self.output_positions = positions or []
        return results[0] if single else results

    @staticmethod
    def _through_identity(
        values: tuple[Any, ...], hook: Callable[[Any, Any], Any]
    ) -> tuple[tuple[Any, ...], list[int] | None]:
        """The values and the places of the tensors, or None if no gradient will come."""
        positions = [i for i, value in enumerate(values) if isinstance(value, Tensor)]
        if not is_grad_enabled() or not any(values[i].requires_grad for i in positions):
            return values, None
        made = BackwardHookFunction.apply(*[values[i] for i in positions])
        made = made if isinstance(made, tuple) else (made,)
        node = next(tensor._producer for tensor in made if tensor._producer is not None)
        node.register_hook(hook)
        replaced = list(values)
        for position, tensor in zip(positions, made, strict=True):
            replaced[position] = tensor
        fields = getattr(values, "_fields", None)
        return (type(values)(*replaced) if fields else tuple(replaced)), positions

    def _grads_of_outputs(self, _: Any, grads: Sequence[Any]) -> Any:
        """Before the module's backward: pre hooks may replace the gradients."""
        self.grad_outputs = _spread(grads, self.output_positions, self.output_count)
        for hook in self.pre_hooks:
            replaced = hook(self.module, self.grad_outputs)
            if replaced is not None:
                self.grad_outputs = _checked(
                    "Backward pre hook", "grad_output", replaced, self.output_count
                )
        current = self.grad_outputs
        if self.input_positions is None:
            self._run_without_inputs()
        return tuple(current[position] for position in self.output_positions)

    def _run_without_inputs(self) -> None:
        """No input requires grad, so this is the only time the hooks can run."""
        if self.hooks:
            warnings.warn(
                "Full backward hook is firing when gradients are computed with respect to module "
                "outputs since no inputs require gradients. See "
                "https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module."
                "register_full_backward_hook for more details.",
                stacklevel=2,
            )
        nothing = (None,) * self.input_count
        for hook in self.hooks:
            result = hook(self.module, nothing, self.grad_outputs)
            returned = result if isinstance(result, tuple) else (result,)
            if any(value is not None for value in returned):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always "
                    "return None or None for all gradients."
                )
        self.grad_outputs = None

    def _grads_of_inputs(self, grads: Sequence[Any], _: Any) -> Any:
        """After the module's backward: hooks see both ends and may replace the gradients."""
        if self.grad_outputs is None or self.input_positions is None:
            return None
        current = _spread(grads, self.input_positions, self.input_count)
        for hook in self.hooks:
            replaced = hook(self.module, current, self.grad_outputs)
            if replaced is not None:
                current = _checked("Backward hook", "grad_input", replaced, self.input_count)
        self.grad_outputs = None
        return tuple(current[position] for position in self.input_positions)


def _spread(grads: Sequence[Any], positions: list[int], count: int) -> tuple[Any, ...]:
    """The gradients in the places of their tensors, None in the others."""
    full: list[Any] = [None] * count
    for position, grad in zip(positions, grads, strict=False):
        full[position] = grad
    return tuple(full)


def _checked(hook: str, name: str, replaced: Any, count: int) -> tuple[Any, ...]:
    if len(replaced) != count:
        raise RuntimeError(
            f"{hook} returned an invalid number of {name}, got {len(replaced)}, but expected "
            f"{count}"
        )
    return tuple(replaced)


# --- the old kind of hook -------------------------------------------------------------------------


def watch_last_node(
    module: Module, args: tuple[Any, ...], result: Any, hooks: Sequence[Any]
) -> None:
    """Let old backward hooks see the gradients of the node that made the first tensor."""
    found = result
    while not isinstance(found, Tensor):
        if isinstance(found, dict):
            found = next(value for value in found.values() if isinstance(value, Tensor))
        else:
            found = found[0]
    node = found._producer
    if node is None:
        return
    _warn_of_what_is_missing(args, result, node)
    for hook in hooks:
        node.register_hook(WithModule(hook, module))


def _warn_of_what_is_missing(args: tuple[Any, ...], result: Any, node: Any) -> None:
    """Say why an old hook will not see all gradients, if it will not."""
    problem, gradients = "", "grad_output"
    results = (result,) if isinstance(result, Tensor) else result
    if not _all_tensors(results):
        problem = "Using non-full backward hooks on a Module that does not return a single Tensor"
        problem += " or a tuple of Tensors"
        gradients = "of the grad_output"
    elif not _all_tensors(args):
        problem = "Using non-full backward hooks on a Module that does not take as input a single"
        problem += " Tensor or a tuple of Tensors"
        gradients = "of the grad_input"
    else:
        nodes = {tensor.grad_fn for tensor in results if tensor.grad_fn is not None}
        if len(nodes) > 1:
            problem = "Using a non-full backward hook when outputs are generated by different"
            problem += " autograd Nodes"
        elif {arg.grad_fn for arg in args if arg.grad_fn is not None} != {
            entry[0] for entry in node.next_functions
        }:
            problem = "Using a non-full backward hook when the forward contains multiple autograd"
            problem += " Nodes"
            gradients = "grad_input"
    if problem:
        warnings.warn(
            f"{problem} is deprecated and will be removed in future versions. This hook will be "
            f"missing some {gradients}. Please use register_full_backward_hook to get the "
            "documented behavior.",
            FutureWarning,
            stacklevel=5,
        )


def _all_tensors(values: Any) -> bool:
    return isinstance(values, tuple) and all(isinstance(value, Tensor) for value in values)
