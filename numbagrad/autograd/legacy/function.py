"""Functions of 2017: objects with instance methods, of which each is called once.

``Function.__call__`` comes here. The methods run unrecorded on plain tensors, as they did then; one
node, the same as that of a ``Function`` of today, keeps the instance and calls its ``backward``.
"""

from __future__ import annotations

import weakref
from typing import Any

from .. import tensor_interface as interface
from ..function.node import BackwardCFunction, node_of_call
from ..function.once_differentiable import with_history
from ..function.outputs import keep, wrap_outputs
from ..grad_mode import state as grad_mode
from ..node import Error, edge_of
from ..writes.inplace import NO_GRAD
from . import volatile

__all__ = ["call_instance"]

_MODERN_FORM = (
    "Today's form has static methods, forward(ctx, ...) and backward(ctx, ...), keeps what it "
    "needs on ctx and is called on the class: {name}.apply(...)"
)


class InstanceNode(BackwardCFunction):
    """The node of a called instance. It keeps the instance; the instance knows it weakly."""

    _instance: Any

    def _user_backward(self) -> Any:
        return InstanceNode._call_backward

    def _call_backward(self, *gradients: Any) -> tuple[Any, ...]:
        """Run the instance's ``backward`` unrecorded; its results cannot be differentiated."""
        recording = grad_mode.enabled
        results = self._run_backward(gradients)
        if not isinstance(results, tuple):
            results = (results,)
        if not recording:
            return results
        sources = [edge_of(gradient) for gradient in gradients if gradient is not None]
        edges = tuple([edge for edge in (*sources, *self.next_edges) if edge is not None])
        name = type(self._instance).__name__
        error = RuntimeError(
            f"the gradient of {name} has no gradient: its backward is a method of an instance, "
            "which is not recorded. " + _MODERN_FORM.format(name=name)
        )
        return tuple([with_history(result, Error(error, edges)) for result in results])

    def _run_backward(self, gradients: tuple[Any, ...]) -> Any:
        recording = grad_mode.enabled
        grad_mode.enabled = False
        try:
            return self._instance.backward(*[_plain(gradient) for gradient in gradients])
        finally:
            grad_mode.enabled = recording


def _plain(value: Any) -> Any:
    """A tensor without its history; what is none as it is."""
    return interface.alias(value) if _is_tensor(value) and value._requires_grad else value


def _node_class(cls: Any) -> type[InstanceNode]:
    """The class of the nodes of a Function's instances, named after it."""
    if "_instance_node" not in vars(cls):
        attributes = {"_forward_cls": cls, "__module__": cls.__module__}
        cls._instance_node = type(cls.__name__ + "Backward", (InstanceNode,), attributes)
    return cls._instance_node


def call_instance(instance: Any, inputs: tuple[Any, ...]) -> Any:
    """Run ``instance.forward`` on plain tensors of the memory of ``inputs`` and record one node.

    Raises:
        TypeError: for an input that is neither a tensor nor None.
        RuntimeError: if the instance was called before.
    """
    _check_call(instance, inputs)
    needs = tuple([_is_tensor(x) and x._requires_grad for x in inputs])
    unrecorded = volatile.in_use and volatile.touched(inputs)
    record = grad_mode.enabled and True in needs and not unrecorded
    node = node_of_call(_node_class(type(instance)), inputs, record)
    node._instance = instance
    node.needs_input_grad = needs
    instance._node = weakref.ref(node)
    results, single = _without_recording(instance, node, inputs, record)
    if unrecorded:
        volatile.mark(results)
    return results[0] if single else results


def _without_recording(
    instance: Any, node: Any, inputs: tuple[Any, ...], record: bool
) -> tuple[Any, bool]:
    recording = grad_mode.enabled
    grad_mode.enabled = False
    try:
        return _run_forward(instance, node, inputs, record)
    finally:
        grad_mode.enabled = recording


def _run_forward(
    instance: Any, node: Any, inputs: tuple[Any, ...], record: bool
) -> tuple[Any, bool]:
    """The outputs of ``forward``, with the node as their history; whether there is but one."""
    seen = [None if value is None else interface.alias(value) for value in inputs]
    output = instance.forward(*seen)
    outputs = output if isinstance(output, tuple) else (output,)
    # What the methods see stays plain, and what is returned is new: the instance may keep its
    # outputs without closing a cycle through their history.
    returned = _originals([_renewed(value, seen) for value in outputs], seen, inputs)
    fixed = instance.non_differentiable or ()
    node.non_differentiable = tuple(
        [new for new, old in zip(returned, outputs, strict=True) if _among(old, fixed)]
    )
    node.dirty_tensors = _originals(instance.dirty_tensors or (), seen, inputs)
    node.materialize_grads = instance.materialize_grads
    results = wrap_outputs(node, inputs, returned, record)
    node.to_save, instance.to_save = instance.to_save, None
    if node.to_save is not None:
        keep(node, record)
    return results, not isinstance(output, tuple)


def _renewed(value: Any, seen: list[Any]) -> Any:
    """An output as a new tensor, which is a view if it was one; inputs as they are."""
    if not _is_tensor(value) or _among(value, seen):
        return value
    made = interface.alias(value)
    if value._viewed is not None:
        made._viewed, made._view_origin = value._viewed, NO_GRAD
    return made


def _check_call(instance: Any, inputs: tuple[Any, ...]) -> None:
    name = type(instance).__name__
    if instance._node is not None:
        raise RuntimeError(
            f"this instance of {name} was called before: an instance of a Function records one "
            f"call. Make one for each call: {name}(...)(...). " + _MODERN_FORM.format(name=name)
        )
    for position, value in enumerate(inputs):
        if value is not None and not _is_tensor(value):
            raise TypeError(
                f"{name}: argument {position} of an instance of a Function must be a Tensor or "
                f"None, not {type(value).__name__}; give other values to its constructor. "
                + _MODERN_FORM.format(name=name)
            )


def _is_tensor(value: Any) -> bool:
    return isinstance(value, interface.Tensor)


def _among(tensor: Any, tensors: Any) -> bool:
    return any([tensor is one for one in tensors])


def _originals(values: Any, seen: list[Any], inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The tensors that ``forward`` was called for, in the place of the plain ones that it saw."""
    originals = {id(plain): original for plain, original in zip(seen, inputs, strict=True)}
    return tuple([originals.get(id(value), value) for value in values])
