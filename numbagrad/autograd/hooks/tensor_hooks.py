"""Hooks: functions of the user that see or replace gradients while the engine walks.

Tensors and nodes register here; the engine calls the ``run_*`` functions for the few nodes and
leaves that have hooks. Hooks of a tensor live on the node that produced it, because the graph may
outlive the tensor object.
"""

from __future__ import annotations

import itertools
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from .. import tensor_interface as interface
from ..saved import type_name

__all__ = [
    "Hooks",
    "RemovableHandle",
    "move_retained_grad",
    "register_post_accumulate_grad_hook",
    "register_tensor_hook",
    "retain_grad",
]

_next_hook_id = itertools.count().__next__


class RemovableHandle:
    """The handle of a registered hook; ``remove()`` or the end of a ``with`` takes it out.

    Args:
        hooks: the table of hooks that the hook is in.
    """

    def __init__(self, hooks: OrderedDict[int, Any]) -> None:
        self.hooks_dict_ref = weakref.ref(hooks)
        self.id = _next_hook_id()

    def remove(self) -> None:
        """Take the hook out; a second call does nothing."""
        hooks = self.hooks_dict_ref()
        if hooks is not None:
            hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


def add_hook(hooks: OrderedDict[int, Any], hook: Callable[..., Any], prepend: bool = False) -> Any:
    """Put ``hook`` into a table of hooks; return its handle."""
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


class Hooks:
    """All hooks of one node, or of one leaf tensor; made when the first one is registered."""

    __slots__ = (
        "memory", "metadata", "placed", "post", "post_accumulate", "pre", "retained", "tensor"
    )  # fmt: skip

    def __init__(self) -> None:
        #: by output number: hooks of the tensors that the node produced
        self.tensor: dict[int, OrderedDict[int, Callable[..., Any]]] = {}
        #: by output number: the tensors that asked to retain their gradient
        self.retained: dict[int, weakref.ref[Any]] = {}
        self.pre: OrderedDict[int, Callable[..., Any]] = OrderedDict()
        self.post: OrderedDict[int, Callable[..., Any]] = OrderedDict()
        #: of a leaf: called after its ``grad`` was added to
        self.post_accumulate: OrderedDict[int, Callable[..., Any]] = OrderedDict()
        self.metadata: dict[Any, Any] = {}
        #: of a leaf: asked by a node for the array that its gradient is to be written to, which the
        #: walk then keeps as the ``grad`` as it is; None says that there is none now
        self.memory: Callable[[], Any] | None = None
        #: the tensor that a node has written there
        self.placed: Any = None


#: Stands for no hooks where the engine shall look twice: on nodes that run functions of the user,
#: which may register some, and on leaves that required grad once.
MAY_COME = Hooks()


#: Shapes and dtypes of what nodes received from operators, as far as users looked at them.
_output_metadata: weakref.WeakKeyDictionary[Any, dict[int, Any]] = weakref.WeakKeyDictionary()


def note_output(node: Any, tensor: Any) -> None:
    """Remember the shape and dtype of an output of a node, for whoever asks the node later."""
    array = tensor._array
    note_metadata(node, tensor._output_nr, array.shape, array.dtype)


def note_metadata(node: Any, output_nr: int, shape: tuple[int, ...], dtype: Any) -> None:
    """``note_output`` for a tensor that is not at hand."""
    known = _output_metadata.get(node)
    if known is None:  # CPython 3.13.0 loses a MemoryError in setdefault
        known = _output_metadata[node] = {}
    known[output_nr] = (shape, dtype)


def known_outputs(node: Any) -> dict[int, Any]:
    """The outputs of a node that ``note_output`` remembered, by their numbers."""
    return _output_metadata.get(node, {})


def hooks_of(holder: Any) -> Hooks:
    """Return the hooks of a node or of a leaf tensor; make the table if there is none."""
    if holder._hooks is None or holder._hooks is MAY_COME:
        holder._hooks = Hooks()
    return holder._hooks


def switched_off(leaf: Any) -> None:
    """Say that a leaf requires grad no more: graphs of before may still lead to it."""
    if leaf._hooks is None:
        leaf._hooks = MAY_COME


# Registering on tensors


def register_tensor_hook(tensor: Any, hook: Callable[..., Any]) -> RemovableHandle:
    """Register ``hook(grad) -> Tensor or None`` for the gradient of ``tensor``.

    Raises:
        RuntimeError: if the tensor does not require grad.
    """
    if not tensor._requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if tensor._producer is not None and tensor._producer.ends_history:
        raise RuntimeError(
            "cannot register a hook on a view that was made in no_grad mode: no gradient comes "
            "to it"
        )
    holder = tensor if tensor._producer is None else tensor._producer
    output_nr = 0 if tensor._producer is None else tensor._output_nr
    return add_hook(hooks_of(holder).tensor.setdefault(output_nr, OrderedDict()), hook)


class _Fit:
    """A hook that gives gradients the shape and the dtype of what a node has made.

    Where ``data`` of a non-leaf was replaced, they have those of the new elements.
    """

    def __init__(self, tensor: Any) -> None:
        self.name, self.position = tensor._producer.name(), tensor._output_nr
        self.shape, self.dtype = tensor._array.shape, tensor._array.dtype

    def __call__(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(
            [
                self._fit(x) if k == self.position and x is not None else x
                for k, x in enumerate(grads)
            ]
        )

    def _fit(self, grad: Any) -> Any:
        own, shape = grad._array.shape, self.shape
        added = len(own) - len(shape)
        pairs = zip(own[max(added, 0) :], shape, strict=False)
        if added < 0 or any([size not in (1, given) for given, size in pairs]):
            raise RuntimeError(
                "a function returned an invalid gradient at index 0 - got "
                f"{list(own)} but expected shape compatible with {list(shape)}, the shape of what "
                f"{self.name} made before its data or shape was replaced"
            )
        if own != shape:
            grad = grad.sum_to_size(shape)
        return interface.cast(grad, self.dtype)


def fit_gradients(tensor: Any) -> None:
    """Have the node of a non-leaf get gradients of what it made, whatever ``data`` is from now."""
    node = tensor._producer
    known = [hook.position for hook in hooks_of(node).pre.values() if isinstance(hook, _Fit)]
    if tensor._output_nr not in known:
        node.register_prehook(_Fit(tensor))


def table_of(tensor: Any) -> OrderedDict[int, Callable[..., Any]] | None:
    """The hooks of a tensor that requires grad, or None if it has none."""
    holder = tensor if tensor._producer is None else tensor._producer
    return None if holder._hooks is None else holder._hooks.tensor.get(tensor._output_nr)


def set_table(tensor: Any, table: Any) -> None:
    """Let a tensor that requires grad have the hooks of ``table``, a dictionary or None."""
    hooks = hooks_of(tensor if tensor._producer is None else tensor._producer)
    if table is None:
        hooks.tensor.pop(tensor._output_nr, None)
    else:
        hooks.tensor[tensor._output_nr] = table


def registered(tensor: Any) -> list[tuple[Any, ...]]:
    """The numbers of all hooks of a leaf, or of the node of a tensor; and what that retains."""
    hooks: Hooks | None = (tensor if tensor._producer is None else tensor._producer)._hooks
    if hooks is None or hooks is MAY_COME:
        return []
    tables: list[Any] = [*hooks.tensor.values(), hooks.pre, hooks.post, hooks.post_accumulate]
    tables.append(hooks.retained)
    return [tuple(table) for table in tables if table]


def retain_grad(tensor: Any) -> None:
    """Ask for ``tensor.grad`` of a tensor that is not a leaf; a leaf has it anyway.

    Raises:
        RuntimeError: if the tensor does not require grad.
    """
    if not tensor._requires_grad:
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    if tensor._producer is None or tensor._retains_grad or tensor._producer.ends_history:
        return
    hooks_of(tensor._producer).retained[tensor._output_nr] = weakref.ref(tensor)
    tensor._retains_grad = True


def move_retained_grad(tensor: Any, old_node: Any, old_output_nr: int) -> None:
    """Follow a write in place: the tensor keeps the gradient of its new value, not of the old one.

    Call it after ``tensor._producer`` was replaced, for a tensor with ``_retains_grad``.
    """
    if old_node is not None and old_node._hooks is not None:
        old_node._hooks.retained.pop(old_output_nr, None)
    hooks_of(tensor._producer).retained[tensor._output_nr] = weakref.ref(tensor)


def register_post_accumulate_grad_hook(tensor: Any, hook: Callable[..., Any]) -> RemovableHandle:
    """Register ``hook(tensor)``, called after the engine has added to ``tensor.grad``.

    Raises:
        RuntimeError: if the tensor does not require grad or is not a leaf.
    """
    if not tensor._requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if tensor._producer is not None:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    return add_hook(hooks_of(tensor).post_accumulate, hook)


# Running, for the engine


def run_tensor_hooks(hooks: Hooks, gradients: list[Any]) -> None:
    """Run the hooks of the tensors, then give those that retain it their gradient; in place."""
    for output_nr, table in hooks.tensor.items():
        for hook in list(table.values()):
            result = hook(gradients[output_nr])
            if result is not None:
                _check_replacement(hook, gradients[output_nr], result)
                gradients[output_nr] = result
    for output_nr, reference in hooks.retained.items():
        tensor, gradient = reference(), gradients[output_nr]
        if tensor is None or gradient is None:
            continue
        if tensor._accumulated is None:
            tensor._accumulated = interface.clone(gradient)
        else:
            tensor._accumulated = interface.add(tensor._accumulated, gradient)


def run_post_accumulate_hooks(hooks: Hooks, leaf: Any) -> None:
    """Run the hooks that wait until the ``grad`` of a leaf was added to."""
    for hook in list(hooks.post_accumulate.values()):
        if hook(leaf) is not None:
            raise RuntimeError("Tensor post accumulate grad hooks should return None.")


def run_pre_hooks(hooks: Hooks, gradients: list[Any]) -> list[Any]:
    """Run ``hook(grad_outputs)`` of a node; return the gradients it shall run on."""
    for hook in list(hooks.pre.values()):
        result = hook(tuple(gradients))
        if result is not None:
            gradients = _check_tuple(hook, gradients, result)
    return gradients


def run_post_hooks(hooks: Hooks, results: Any, gradients: list[Any]) -> Any:
    """Run ``hook(grad_inputs, grad_outputs)`` of a node; return the gradients it hands on."""
    for hook in list(hooks.post.values()):
        result = hook(tuple(results), tuple(gradients))
        if result is not None:
            results = _check_tuple(hook, results, result)
    return results


def _hook_name(hook: Callable[..., Any]) -> str:
    return getattr(hook, "__name__", type(hook).__name__)


def _check_replacement(hook: Callable[..., Any], gradient: Any, replacement: Any) -> None:
    """A hook may replace a gradient by one of the same shape and dtype only."""
    if not isinstance(replacement, interface.Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type(replacement).__name__}'")
    if gradient is None or isinstance(hook, _Fit):
        return
    if replacement._array.dtype != gradient._array.dtype:
        raise RuntimeError(
            f"hook '{_hook_name(hook)}' has changed the type of value (was "
            f"{type_name(gradient)} got {type_name(replacement)})"
        )
    if replacement._array.shape != gradient._array.shape:
        raise RuntimeError(f"hook '{_hook_name(hook)}' has changed the size of value")


def _check_tuple(hook: Callable[..., Any], gradients: Any, replacements: Any) -> list[Any]:
    """A hook of a node may replace the gradients, by a tuple of as many."""
    if not isinstance(replacements, tuple):
        raise TypeError(f"expected tuple, but hook returned '{type(replacements).__name__}'")
    if len(replacements) != len(gradients):
        raise RuntimeError(
            f"hook '{_hook_name(hook)}' has returned an incorrect number of values (got "
            f"{len(replacements)}, but expected {len(gradients)})"
        )
    for gradient, replacement in zip(gradients, replacements, strict=True):
        if replacement is not None:
            _check_replacement(hook, gradient, replacement)
    return list(replacements)
