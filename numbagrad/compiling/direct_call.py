"""The call of a captured call as one launcher, for those whose effects are few.

``captured_call.py`` asks here. Writes, results that are whole and one node are described for
``native/compiled_call.py`` in the table that ``replay.py`` fills with what has to hold. What else a
call may leave behind, and all that compiled code cannot see, is left to ``CapturedCall.replay``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..codegen.record import row_of, write_list
from ..executor.builtin import make_launcher
from ..executor.cache.deferred import Deferred
from ..native.compiled_call_layout import CompiledNode, Returned, Switch, TensorPosition
from ..program.program import Program
from ..structure import LEAF
from .backward import CompiledFunctionBackward
from .direct_backward import describe_slots, is_long
from .effects import CONSTANT, INFERENCE, KNOWN, MADE, Effects, Live, Made, Position
from .replay import Replay
from .settings import switches_of

_launchers = Deferred({"call": "compiled_call"}, lambda: None)


def is_simple(program: Program, effects: Effects) -> bool:
    """Whether nothing but writes, values that share nothing, and a node is left behind.

    A long program lets go of the GIL, and is run by one thread at a time.
    """
    if program.native is None or is_long(program):
        return False
    if effects.flags or effects.attributes or effects.gradients:
        return False
    if effects.structure not in (LEAF, (tuple, *[LEAF] * len(effects.returned))):
        return False
    made = [value for kind, value in effects.returned if kind == MADE]
    cells = [each.cell for each in made if isinstance(each.cell, int)]
    return len({each.result for each in made}) == len(made) and len(set(cells)) == len(cells)


class DirectCall:
    """``call(*arguments)`` of a captured call: what it returns, or ``changed`` if it may not hold.

    The program and the effects are ``is_simple``.

    Args:
        replay: the check and the run of its program.
        program: the program.
        effects: what a call leaves behind.
        changed: what is returned in the place of a result.
    """

    def __init__(self, replay: Replay, program: Program, effects: Effects, changed: object):
        self._replay = replay
        self._program = program
        self._effects = effects
        self._changed = changed
        self._kept: list[Any] = []
        self._possible = True
        self._call: Callable[..., Any] | None = None

    def of(self, settings: tuple[Any, ...]) -> Callable[..., Any] | None:
        """The launcher, for calls with the settings for which the call was captured.

        None if there is none, or not yet: it is compiled when a program has made many calls.
        """
        if self._call is None and self._possible and _launchers.ready():
            self._possible = self._describe(settings)
            if self._possible:
                table = self._replay.table
                self._call = make_launcher("compiled", table, "call", "compiled_call")
        return self._call

    def _describe(self, settings: tuple[Any, ...]) -> bool:
        """Fill the table; False if compiled code cannot do what a call does."""
        effects, table = self._effects, self._replay.table
        switches = switches_of(settings)
        returned = [self._returned(*reference) for reference in effects.returned]
        if switches is None or None in returned:
            return False
        if effects.backward is not None:
            node = self._node(effects.backward)
            if node is None:
                return False
            table.node = node.address
        table.recording = settings[0]
        table.changed = id(self._changed)
        table.several = effects.structure is not LEAF
        rows = [row_of(Switch, position=x, value=self._address(value)) for x, value in switches]
        self._kept += write_list(table.switches, rows), write_list(table.returned, returned)
        return True

    def _returned(self, kind: int, value: Any) -> tuple[int, ...] | None:
        """How compiled code finds or makes a value that the call returns; None if it cannot."""
        argument, found, result, requires_grad, output, version = -1, 0, 0, 0, -1, 0
        if kind == CONSTANT:
            found = self._address(value)
        elif kind == KNOWN and not value.of_gradient:
            argument = -1 if value.argument is None else value.argument
            found = self._address(value.tensor) if value.argument is None else 0
        elif kind == MADE and _is_new(value):
            result, requires_grad = value.result, id(value.requires_grad)
            output = -1 if value.output is None else value.output
            version = 0 if value.cell is None else self._address(value.version)
        else:
            return None
        return row_of(
            Returned, argument=argument, object=found, result=result, requires_grad=requires_grad,
            output=output, version=version,
        )  # fmt: skip

    def _node(self, live: Live) -> CompiledNode | None:
        """How the node of the results is made; None if compiled code cannot make it."""
        given = live.whole_given
        positions = [id(value) for _, value in self._effects.returned]
        watched = [id(made) for made in live.handed_out]
        if given is None or not set(watched) <= set(positions):
            return None
        node = CompiledNode()
        node.type = id(CompiledFunctionBackward)
        node.plan = self._address(live.backward)
        node.output_count = self._address(live.outputs)
        node.numbers = self._address(self._program.drawn)
        describe_slots(node.slots, CompiledFunctionBackward)
        self._kept += (
            node,
            write_list(node.inputs, list(map(_position, live.inputs))),
            write_list(node.saved, live.saved),
            write_list(node.given, list(map(_position, given))),
            write_list(node.watched, list(map(positions.index, watched))),
        )
        return node

    def _address(self, value: Any) -> int:
        """The address of an object, which is kept alive."""
        self._kept.append(value)
        return id(value)


def _is_new(made: Made) -> bool:
    """Whether compiled code can make a tensor: all of a result, with a history or none."""
    return made.is_whole and made.grad_fn is None and made.cell != INFERENCE


def _position(position: Position) -> tuple[int, ...]:
    return row_of(
        TensorPosition,
        argument=-1 if position.argument is None else position.argument,
        tensor=id(position.tensor) if position.argument is None else 0,
        of_gradient=position.of_gradient,
    )


__all__ = ["DirectCall", "is_simple"]
