"""The backward of a compiled function as one launcher, where it is one program and nothing else.

``backward.py`` asks here for the walk from all results. Gradients that lie otherwise than expected,
or are missing, and programs that are long, draw numbers or may raise, are left to ``Walk.run``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..codegen.record import row_of, write_list
from ..executor.builtin import make_launcher
from ..executor.cache.deferred import Deferred
from ..native.c_structures import slot_offset
from ..native.compiled_call_layout import BackwardTable, CompiledNodeSlots, Incoming, Saved
from ..ops.operators.program_call import describe, is_long

if TYPE_CHECKING:
    from ..autograd.node import Node
    from ..executor.plan.views import View
    from ..program.program import Program

_launchers = Deferred({"backward": "compiled_backward"}, lambda: None)

#: Slots of a node, as compiled code and as the class call them.
_SLOTS = {
    "plan": "plan", "output_count": "_output_count", "numbers": "numbers", "versions": "versions",
}  # fmt: skip


def is_ready() -> bool:
    """Whether the launcher is compiled; counts the calls that had to do without."""
    return _launchers.ready()


def describe_slots(slots: CompiledNodeSlots, node_class: type[Node]) -> None:
    """Say where the slots of nodes lie."""
    for slot, name in _SLOTS.items():
        setattr(slots, slot, slot_offset(node_class, name))


class DirectBackward:
    """The program of a walk in one call.

    Args:
        node_class: the class of the nodes.
        program: the program, which is not long.
        roots: the gradients that it is given first.
        reads: the numbers of the arrays of a node that it is given then.
        gradients: for each input which result its gradient is, or None.

    Attributes:
        launch: ``launch(node, *gradients)``, which returns None for what it leaves to Python.
    """

    def __init__(
        self,
        node_class: type[Node],
        program: Program,
        roots: Sequence[View],
        reads: Sequence[int],
        gradients: Sequence[int | None],
    ):
        table = BackwardTable()
        described = describe(table, program, len(roots))
        describe_slots(table.slots, node_class)
        forms = [np.array([*view.shape, *view.strides, 0], dtype=np.int64) for view in roots]
        incoming = [
            row_of(Incoming, rank=len(view.shape), sizes=form.ctypes.data, dtype=id(view.dtype))
            for view, form in zip(roots, forms, strict=True)
        ]
        results = [-1 if position is None else position for position in gradients]
        self._kept = (
            described, forms, [view.dtype for view in roots],
            write_list(table.incoming, incoming),
            write_list(table.saved, _saved(program, len(roots), reads)),
            write_list(table.gradients, results),
        )  # fmt: skip
        self.launch = make_launcher("backward", table, "backward", "compiled_backward")


def _saved(program: Program, first: int, reads: Sequence[int]) -> list[tuple[int, ...]]:
    """Which arrays of a node the program is called with; they are its inputs from ``first`` on."""
    native = program.native
    assert native is not None
    positions = {slot: position for position, slot in enumerate(native.slots)}
    return [
        row_of(Saved, kept=number, position=positions[slot])
        for slot, number in enumerate(reads, first)
        if slot in positions
    ]


__all__ = ["DirectBackward", "describe_slots", "is_long", "is_ready"]
