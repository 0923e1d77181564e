"""The table of ``compiled_call.py``, and the lists in it. This file must not import Numba."""

from __future__ import annotations

from ..codegen.record import List, Nested, Pointer, Record, Word, list_of
from .guard_layout import GuardTable
from .replay_layout import ReplayTable, TensorPosition


class Switch(Record):
    """A setting of the process: a word of an object, and what that has to be."""

    position = Word()  # the address of the word
    value = Word()


class Returned(Record):
    """A value that a call returns: an argument, an object, or a new Tensor."""

    argument = Word()  # which argument, or -1
    object = Word()  # the object, or 0
    result = Word()  # which result of the program the Tensor holds
    requires_grad = Word()  # the object that says whether it requires gradients
    output = Word()  # which output of the node it is, or -1
    version = Word()  # the int that begins its version cell; 0 without a cell


class CompiledNodeSlots(Record):
    """Slots of the nodes of compiled functions, beyond those of all nodes."""

    plan = Word()
    output_count = Word()
    numbers = Word()
    versions = Word()


class CompiledNode(Record):
    """How the node is made that differentiates the results of a call."""

    type = Word()
    plan = Word()
    output_count = Word()  # an int
    numbers = Word()
    slots = Nested(CompiledNodeSlots)
    inputs = list_of(TensorPosition)  # that have edges
    saved = Nested(List)  # which results of the program it keeps
    given = list_of(TensorPosition)  # tensors whose arrays it keeps
    watched = Nested(List)  # which of the values returned it keeps


class CallTable(ReplayTable):
    """A recorded call whose effects are writes, results and a node."""

    known = Word()  # number of the time when it was learned; 0 if calls are left to Python
    recording = Word()  # 1 if threads have to record
    changed = Word()  # the object that is returned in the place of a result
    guards = Pointer(GuardTable)  # what has to be as it was, or 0 if only Python can tell
    switches = list_of(Switch)
    returned = list_of(Returned)
    several = Word()  # 1 if a tuple is returned
    node = Pointer(CompiledNode)  # or 0 if no result has a history


class Incoming(Record):
    """How the gradient of a result has to lie."""

    rank = Word()
    sizes = Word()  # address of its shape, then its strides
    dtype = Word()


class Saved(Record):
    """An array that the node keeps, and the backward reads."""

    kept = Word()  # which one
    position = Word()  # where among the arrays of the program


class BackwardTable(ReplayTable):
    """The backward of a call; its arguments are the node and the gradients of all results."""

    slots = Nested(CompiledNodeSlots)
    incoming = list_of(Incoming)
    saved = list_of(Saved)
    gradients = Nested(List)  # for each input, which result its gradient is, or -1 for None


__all__ = [
    "BackwardTable", "CallTable", "CompiledNode", "CompiledNodeSlots", "Incoming", "Returned",
    "Saved", "Switch", "TensorPosition",
]  # fmt: skip
