"""Hooks of modules: what a call with hooks does, and how backward reaches them.

``Module.__call__`` comes here only if there is a hook. Gradients of a module's inputs and outputs
are seen by an identity Function around each, whose node runs the hooks.
"""

from __future__ import annotations

import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..autograd.function import Function
from ..autograd.grad_mode import is_grad_enabled
from ..autograd.hooks import RemovableHandle, add_hook
from ..tensor import Tensor

if TYPE_CHECKING:
    from .module import Module

__all__ = [
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
]

#: The tables every module has.
TABLES = (
    "_backward_pre_hooks", "_backward_hooks", "_forward_hooks", "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called", "_forward_pre_hooks", "_forward_pre_hooks_with_kwargs",
    "_state_dict_hooks", "_state_dict_pre_hooks", "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)  # fmt: skip


class HooksOfEveryModule:
    """The hooks that run for every module; they come before those of the module itself."""

    def __init__(self) -> None:
        self.forward_pre: OrderedDict[int, Any] = OrderedDict()
        self.forward: OrderedDict[int, Any] = OrderedDict()
        self.backward_pre: OrderedDict[int, Any] = OrderedDict()
        self.backward: OrderedDict[int, Any] = OrderedDict()
        #: Whether there may be one: set by the first registration and never taken back, so that
        #: calls without hooks ask for one flag.
        self.any = False

    def add(self, table: OrderedDict[int, Any], hook: Callable[..., Any]) -> RemovableHandle:
        """Register a hook in one of the tables."""
        self.any = True
        return add_hook(table, hook)


EVERY_MODULE = HooksOfEveryModule()


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, args)`` before the forward of every module."""
    return EVERY_MODULE.add(EVERY_MODULE.forward_pre, hook)


def register_module_forward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, args, output)`` after the forward of every module."""
    return EVERY_MODULE.add(EVERY_MODULE.forward, hook)


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, grad_output)`` before the backward of every module."""
    return EVERY_MODULE.add(EVERY_MODULE.backward_pre, hook)


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, grad_input, grad_output)`` in the backward of every module."""
    return EVERY_MODULE.add(EVERY_MODULE.backward, hook)


class WithModule:
    """A hook that gets its module as first argument, without keeping the module alive."""

    def __init__(self, hook: Callable[..., Any], module: Module) -> None:
        self.hook = hook
        self.module = weakref.ref(module)

    def __call__(self, *args: Any) -> Any:
        return self.hook(self.module(), *args)

    def __getstate__(self) -> dict[str, Any]:
        return {"hook": self.hook, "module": self.module()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.hook = state["hook"]
        self.module = weakref.ref(state["module"])


# --- a call ---------------------------------------------------------------------------------------


def call(module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``forward`` of a module with the hooks before and after it."""
    done: set[int] = set()
    try:
        return _call(module, args, kwargs, done)
    except Exception:
        _run_always_called(module, args, kwargs, done)
        raise


def _call(
    module: Module, args: tuple[Any, ...], kwargs: dict[str, Any], done: set[int]
) -> Any:
    for number, hook in [*EVERY_MODULE.forward_pre.items(), *module._forward_pre_hooks.items()]:
        args, kwargs = _run_forward_pre(module, number, hook, args, kwargs)
    full = [*EVERY_MODULE.backward.values()]
    if module._is_full_backward_hook:
        full += module._backward_hooks.values()
    before = [*EVERY_MODULE.backward_pre.values(), *module._backward_pre_hooks.values()]
    watcher = BackwardWatcher(module, full, before) if full or before else None
    if watcher is not None:
        args = watcher.watch_inputs(args)
    result = module.forward(*args, **kwargs)
    for number, hook in [*EVERY_MODULE.forward.items(), *module._forward_hooks.items()]:
        done.add(number)
        if number in module._forward_hooks_with_kwargs:
            replaced = hook(module, args, kwargs, result)
        else:
            replaced = hook(module, args, result)
        if replaced is not None:
            result = replaced
    if watcher is not None:
        result = watcher.watch_outputs(result)
    if module._is_full_backward_hook is False and module._backward_hooks:
        _watch_last_node(module, result)
    return result


def _run_forward_pre(
    module: Module, number: int, hook: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if number not in module._forward_pre_hooks_with_kwargs:
        replaced = hook(module, args)
        if replaced is not None:
            args = replaced if isinstance(replaced, tuple) else (replaced,)
        return args, kwargs
    replaced = hook(module, args, kwargs)
    if replaced is None:
        return args, kwargs
    if isinstance(replaced, tuple) and len(replaced) == 2:
        return replaced
    raise RuntimeError(
        "forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got "
        f"{replaced}."
    )


def _run_always_called(
    module: Module, args: tuple[Any, ...], kwargs: dict[str, Any], done: set[int]
) -> None:
    """The forward hooks that run though ``forward`` raised; what they raise becomes a warning."""
    for number, hook in module._forward_hooks.items():
        if number not in module._forward_hooks_always_called or number in done:
            continue
        given = (args, kwargs) if number in module._forward_hooks_with_kwargs else (args,)
        try:
            hook(module, *given, None)
        except Exception as error:
            warnings.warn(
                "module forward hook with ``always_call=True`` raised an exception that was "
                f"silenced as another error was raised in forward: {error}",
                stacklevel=4,
            )


def _watch_last_node(module: Module, result: Any) -> None:
    """Old backward hooks see the gradients of the node that made the first tensor."""
    while not isinstance(result, Tensor):
        if isinstance(result, dict):
            result = next(value for value in result.values() if isinstance(value, Tensor))
        else:
            result = result[0]
    if result._grad_fn is not None:
        for hook in module._backward_hooks.values():
            result._grad_fn.register_hook(WithModule(hook, module))


# --- backward -------------------------------------------------------------------------------------


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
        self.input_places: list[int] | None = None
        self.output_places: list[int] = []

    def watch_inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments, those that are tensors through the identity."""
        self.input_count = len(args)
        args, self.input_places = self._through_identity(args, self._grads_of_inputs)
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
        results, places = self._through_identity(results, self._grads_of_outputs)
        self.output_places = places or []
        return results[0] if single else results

    @staticmethod
    def _through_identity(
        values: tuple[Any, ...], hook: Callable[[Any, Any], Any]
    ) -> tuple[tuple[Any, ...], list[int] | None]:
        """The values and the places of the tensors, or None if no gradient will come."""
        places = [i for i, value in enumerate(values) if isinstance(value, Tensor)]
        if not is_grad_enabled() or not any(values[i].requires_grad for i in places):
            return values, None
        made = BackwardHookFunction.apply(*[values[i] for i in places])
        made = made if isinstance(made, tuple) else (made,)
        node = next(tensor._grad_fn for tensor in made if tensor._grad_fn is not None)
        node.register_hook(hook)
        replaced = list(values)
        for place, tensor in zip(places, made, strict=True):
            replaced[place] = tensor
        fields = getattr(values, "_fields", None)
        return (type(values)(*replaced) if fields else tuple(replaced)), places

    def _grads_of_outputs(self, _: Any, grads: Sequence[Any]) -> Any:
        """Before the module's backward: pre hooks may replace the gradients."""
        self.grad_outputs = _spread(grads, self.output_places, self.output_count)
        for hook in self.pre_hooks:
            replaced = hook(self.module, self.grad_outputs)
            if replaced is not None:
                self.grad_outputs = _checked(
                    "Backward pre hook", "grad_output", replaced, self.output_count
                )
        current = self.grad_outputs
        if self.input_places is None:
            self._run_without_inputs()
        return tuple(current[place] for place in self.output_places)

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
        if self.grad_outputs is None or self.input_places is None:
            return None
        current = _spread(grads, self.input_places, self.input_count)
        for hook in self.hooks:
            replaced = hook(self.module, current, self.grad_outputs)
            if replaced is not None:
                current = _checked("Backward hook", "grad_input", replaced, self.input_count)
        self.grad_outputs = None
        return tuple(current[place] for place in self.input_places)


def _spread(grads: Sequence[Any], places: list[int], count: int) -> tuple[Any, ...]:
    """The gradients in the places of their tensors, None in the others."""
    full: list[Any] = [None] * count
    for place, grad in zip(places, grads, strict=False):
        full[place] = grad
    return tuple(full)


def _checked(hook: str, name: str, replaced: Any, count: int) -> tuple[Any, ...]:
    replaced = replaced if isinstance(replaced, tuple) else (replaced,)
    if len(replaced) != count:
        raise RuntimeError(
            f"{hook} returned an invalid number of {name}, got {len(replaced)}, but expected "
            f"{count}"
        )
    return replaced
