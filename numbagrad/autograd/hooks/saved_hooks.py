"""Hooks of saved tensors: functions of the user that store and restore what nodes keep.

``autograd/graph/`` offers the contexts; they reach ordinary nodes as a watcher (``watching.py``),
and ``Function`` nodes through ``pack``. ``SavedTensor`` is one saved tensor of a node, as users see
it in ``grad_fn._raw_saved_self``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from .. import tensor_interface as interface
from ..grad_mode import state as grad_mode
from ..node import Node, edge_of
from ..saved import ProducedOutput, ProducerLater, SavedInput, SavedOutput, save
from . import watching
from .tensor_hooks import MAY_COME

__all__ = [
    "HookedTensor", "SavedTensor", "default_hooks", "disabled_message", "make_saved_tensor", "pack",
    "stack", "state",
]  # fmt: skip

Hook = Callable[[Any], Any]


class _Hooks(threading.local):
    """The hooks of one thread, the innermost last, and why there may be none."""

    def __init__(self) -> None:
        self.stack: list[tuple[Hook, Hook]] = []
        self.disabled: str | None = None


#: The stacks of this thread.
state = _Hooks()


def stack() -> list[tuple[Hook, Hook]]:
    """The pairs of hooks of this thread, the one that applies last."""
    return state.stack


def default_hooks() -> tuple[Hook, Hook] | None:
    """The pair of hooks that tensors saved by this thread go through."""
    return state.stack[-1] if state.stack else None


def disabled_message() -> str | None:
    """The error for setting hooks in this thread, or None if hooks are allowed."""
    return state.disabled


def set_disabled(message: str | None) -> None:
    """Allow hooks in this thread (None), or say what to raise if somebody sets them."""
    state.disabled = message


def push_hooks(pack_hook: Hook, unpack_hook: Hook) -> None:
    """Make a pair of hooks the one that applies.

    Raises:
        RuntimeError: if hooks are disabled.
    """
    if state.disabled is not None:
        raise RuntimeError(state.disabled)
    pairs, pair = state.stack, (pack_hook, unpack_hook)
    watching.change(1)
    try:
        pairs.append(pair)  # last: hooks that could not be entered would stay for ever
    except BaseException:
        watching.change(-1)
        raise


def pop_hooks() -> None:
    """Drop the pair of hooks that applies; without one nothing happens."""
    if state.stack:
        state.stack.pop()
        watching.change(-1)


def restore(pairs: tuple[tuple[Hook, Hook], ...]) -> None:
    """Make the pairs of hooks of this thread what they were, whatever was entered or left since."""
    changed = len(pairs) - len(state.stack)
    state.stack[:] = pairs
    if changed:
        watching.change(changed)


def _pack_all(node: Any) -> None:
    """Pass all that a new node saves through the hooks that apply."""
    hooks = default_hooks()
    if hooks is not None and node.saved:
        packed = []  # a comprehension would have cells, which CPython 3.11 may lose
        for entry in node.saved:
            packed.append(pack(entry, node, hooks))
        node.saved = tuple(packed)


watching.watcher(_pack_all, switch=stack)


def pack(entry: Any, node: Any, hooks: tuple[Hook, Hook] | None) -> Any:
    """One entry of ``Node.saved``, or of what a ``Function`` saved, through a pair of hooks."""
    if entry is None or hooks is None:
        return entry
    return HookedTensor(_tensor_of(entry, node), *hooks).kept_by(node)


def _tensor_of(entry: Any, node: Any) -> Any:
    if entry.__class__ is SavedInput:
        return entry.tensor
    return entry.unpack(node) if isinstance(entry, SavedOutput) else entry


class HookedTensor:
    """A saved tensor that a pack hook has stored: what the hook returned, and its history.

    A leaf is kept beside, since the gradient of what the unpack hook returns goes there.
    """

    __slots__ = ("leaf", "output_nr", "packed", "producer", "requires_grad", "unpack_hook")

    #: Read by ``Node.unpack`` to see that an entry is no plain tensor.
    _version_cell = watching.INFERENCE_CELL

    def __init__(self, tensor: Any, pack_hook: Hook, unpack_hook: Hook) -> None:
        self.requires_grad = tensor._requires_grad
        self.producer = tensor._producer
        self.output_nr = tensor._output_nr
        leaf = self.requires_grad and self.producer is None
        self.leaf = edge_of(tensor) if leaf else None
        self.unpack_hook = unpack_hook
        recording = grad_mode.enabled
        grad_mode.enabled = False
        before = _version(tensor)
        try:
            self.packed = pack_hook(tensor)
        finally:
            grad_mode.enabled = recording
        if _version(tensor) != before:
            raise RuntimeError(
                "A saved tensor pack hook is modifying its input in place. Tensors provided as "
                "input to pack hook cannot be modified by in-place operations as this can lead to "
                "unexpected side-effects. Please open an issue if you need to perform in-place "
                "operations on the input to a pack hook."
            )

    def kept_by(self, node: Any) -> HookedTensor:
        """Belong to a node, or None: without a reference to it, if this is its output.

        The unpack hook may register hooks on the node while that runs, so the engine has to look.
        """
        if self.producer is node:
            self.producer = None
        if node is not None and node._hooks is None:
            node._hooks = MAY_COME
        return self

    def produced(self, later: ProducerLater) -> HookedTensor:
        """This tensor, with another history if it is an output of the node that keeps it."""
        if self.requires_grad and self.producer is None and self.leaf is None:
            self.producer, self.output_nr = later, 0
        return self

    def unpack(self, node: Any) -> Any:
        """The result of the unpack hook, with the history of the tensor that was packed.

        Raises:
            TypeError: if that is no tensor.
        """
        data = self.unpack_hook(self.packed)
        if not isinstance(data, interface.Tensor):
            raise TypeError(
                "Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                f"{type(data).__name__}"
            )
        if not self.requires_grad and not data._requires_grad:
            return data
        result = interface.alias(data)
        if self.requires_grad:
            result._requires_grad = True
            producer = self.producer or node
            if producer.__class__ is ProducerLater:
                producer = producer.make(node)
            result._producer = producer if self.leaf is None else ToLeaf(self.leaf)
            result._output_nr = self.output_nr
        return result


def _version(tensor: Any) -> int:
    return 0 if tensor._version_cell is None else tensor._version_cell[0]


class ToLeaf(Node):
    """Node of what was unpacked for a leaf: the gradient goes to the leaf itself."""

    __slots__ = ()

    def __init__(self, edge: Any) -> None:
        super().__init__((edge,))

    def name(self) -> str:
        """Return what torch calls the node of a leaf."""
        return "torch::autograd::AccumulateGrad"

    def backward(self, grad: Any) -> tuple[Any, ...]:
        return (grad,)


#: Stands for a saved tensor that was freed with the graph.
_GONE = object()


class SavedTensor:
    """One saved tensor of a node. Hooks may be registered on it until the node is freed."""

    __slots__ = ("_node", "_position")

    _node: Any
    _position: int

    def __init__(self) -> None:
        raise RuntimeError("Trying to create a SavedTensor object from Python is forbidden.")

    @classmethod
    def of(cls, node: Any, position: int) -> SavedTensor:
        """The saved tensor at ``position`` of ``node``."""
        made = cls.__new__(cls)
        made._node = node
        made._position = position
        return made

    def _entry(self) -> Any:
        entries = self._node._saved_entries()
        return _GONE if entries is None else entries[self._position]

    def register_hooks(
        self, pack_hook: Hook | None = None, unpack_hook: Hook | None = None
    ) -> None:
        """Store this tensor by ``pack_hook(tensor)``, restore it by ``unpack_hook``.

        Raises:
            TypeError: if one of them cannot be called.
            RuntimeError: if the tensor has hooks, if it is None, or if it was freed.
        """
        if not (callable(pack_hook) and callable(unpack_hook)):
            raise TypeError(
                "register_hooks(): incompatible function arguments: pack_hook and unpack_hook must "
                f"be callable, but got {type(pack_hook).__name__} and {type(unpack_hook).__name__}"
            )
        entry = self._entry()
        if entry.__class__ is HookedTensor:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: "
                "only one pair of hooks is allowed at a time."
            )
        if entry is _GONE:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor after it has been freed. Saved "
                "intermediate values of the graph are freed when you call .backward() or "
                "autograd.grad(). Specify retain_graph=True if you need to backward through the "
                "graph a second time or if you need to access saved variables after calling "
                "backward."
            )
        if entry is None:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor with value None is forbidden"
            )
        entries = list(self._node._saved_entries())
        original = _tensor_of(entry, self._node)
        seen = interface.alias(original)
        hooked = HookedTensor(seen, pack_hook, unpack_hook)
        hooked.requires_grad = original._requires_grad
        hooked.output_nr = original._output_nr
        hooked.producer = original._producer
        if entry.__class__ is ProducedOutput:  # what keeps the node must not be kept by it
            hooked.producer = entry.later
        if original._requires_grad and original._producer is None:
            hooked.leaf = edge_of(original)
        entries[self._position] = hooked.kept_by(self._node)
        self._node._set_saved_entries(tuple(entries))

    def unpack(self) -> Any:
        """The saved tensor itself."""
        return self._node._unpack_entry(self._position)

    @property
    def data(self) -> Any:
        """The saved tensor; if it has hooks, what the pack hook returned."""
        entry = self._entry()
        return entry.packed if entry.__class__ is HookedTensor else self.unpack()

    @property
    def unpack_hook(self) -> Hook | None:
        """The unpack hook, if the tensor has hooks."""
        entry = self._entry()
        return entry.unpack_hook if entry.__class__ is HookedTensor else None


interface.register(show_saved=SavedTensor.of)


def make_saved_tensor(tensor: Any, is_output: bool) -> SavedTensor:
    """Save a tensor as a node would, through the hooks that apply.

    Args:
        tensor: the tensor.
        is_output: whether the node that saves it made it; the node of its own is none of those.
    """
    return SavedTensor.of(Node((), (save(tensor),)), 0)
