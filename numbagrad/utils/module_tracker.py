"""``torch.utils.module_tracker``: the modules that are running, in forward and in backward."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterable
from typing import Any

from ..autograd.graph import _current_graph_task_id, register_multi_grad_hook
from ..autograd.variable import Variable
from ..nn import Module
from ..nn.module_hooks import register_module_forward_hook, register_module_forward_pre_hook
from ..tensor import Tensor
from ._pytree import tree_leaves

__all__ = ["ModuleTracker"]


class ModuleTracker:
    """A context that knows which modules run.

    Attributes:
        parents: the names of the modules that are running, by their path from the class of the
            outermost one, as ``"Net.layer.0"``; ``"Global"`` always. In a backward walk, those
            through which it is on its way: from the gradients of what a module returned until those
            of its inputs are known.
    """

    def __init__(self) -> None:
        self.parents: set[str] = {"Global"}
        self._names: weakref.WeakKeyDictionary[Module, str] = weakref.WeakKeyDictionary()
        self._seen: weakref.WeakSet[Module] = weakref.WeakSet()
        self._hooks = contextlib.ExitStack()
        #: Whether the walk that is under way will reset the names.
        self._resets = False

    def __enter__(self) -> ModuleTracker:
        self._hooks = contextlib.ExitStack()
        for handle in (
            register_module_forward_pre_hook(self._begin),
            register_module_forward_hook(self._end),
        ):
            self._hooks.callback(handle.remove)
        return self

    def __exit__(self, *exception: object) -> None:
        self._hooks.close()

    @property
    def is_bw(self) -> bool:
        """Whether a backward walk of this thread is under way."""
        return _current_graph_task_id() != -1

    def _name_of(self, module: Module) -> str:
        if module not in self._seen:
            name = self._names.setdefault(module, type(module).__name__)
            self._seen.add(module)
            for child_name, child in module.named_children():
                self._names[child] = f"{name}.{child_name}"
                self._name_of(child)
        return self._names[module]

    def _begin(self, module: Module, inputs: Any) -> None:
        name = self._name_of(module)
        self.parents.add(name)
        self._when_known(inputs, lambda *_: self.parents.discard(name))

    def _end(self, module: Module, inputs: Any, outputs: Any) -> None:
        name = self._name_of(module)
        self.parents.discard(name)
        self._when_known(outputs, lambda *_: self._enter_backward(name))

    def _enter_backward(self, name: str) -> None:
        if not self._resets:
            self._resets = True
            Variable._execution_engine.queue_callback(self._reset)
        self.parents.add(name)

    def _reset(self) -> None:
        """At the end of a walk: modules without gradients of their inputs were not left."""
        self.parents = {"Global"}
        self._resets = False

    def _when_known(self, values: Any, function: Callable[..., None]) -> None:
        """Call a function in backward, once gradients of all Tensors in ``values`` are known."""
        leaves: Iterable[Any] = tree_leaves(values)
        tensors = [x for x in leaves if isinstance(x, Tensor) and x.requires_grad]
        if tensors:
            self._hooks.callback(register_multi_grad_hook(tensors, function).remove)
