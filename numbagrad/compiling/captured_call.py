"""A program in the place of a call: whether it holds, running it, and leaving behind what it did.

Made by ``call_capture.py``, asked by ``function.py`` at each call. What it finds to hold it
teaches to ``replay.py``, whose compiled code takes over from then on.
"""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from ..executor.capture import Outdated
from ..executor.pair import Kept, described, signature_of
from ..executor.plan.operations import Array, may_raise
from ..interrupts import uninterrupted
from ..program import timing
from ..program.backend_program import BackendProgram
from ..program.input_numbers import NumberInputs
from ..program.pair import ProgramPair
from ..program.program import Program
from ..structure import LEAF, rebuild
from ..tensor import Tensor
from .argument_numbers import ArgumentNumbers
from .backward import CompiledFunctionBackward
from .direct_call import DirectCall, is_simple
from .effects import COMPUTED, KNOWN, MADE, Effects, Position, Run, finder_of_all, version_cell_of
from .memory_layout import Layout
from .reachable_state import ReachableState, extras_of
from .replay import Found, Replay
from .reused_gradients import ReusedGradients
from .rollback import Failed, Undo

#: Returned in the place of a result by a program of which it is not sure that it holds.
CHANGED = object()


def _key(position: Position) -> int:
    """The identity of the tensor of a place: the number of an argument, or an id."""
    return id(position.tensor) if position.argument is None else position.argument


_array_of = operator.attrgetter("_array")
_gradient_of = operator.attrgetter("_accumulated")
_flag_of = operator.attrgetter("_requires_grad")


class CapturedCall(ProgramPair):
    """A program and what surrounds it: ready to stand for a call of the function.

    Args:
        reachable: the Python values that it holds for.
        leaves: the arguments of the captured call.
        places: all tensors and gradients that the call could reach, as they were before it.
        owners: for each block of memory that the program is given, the place that leads to it.
        layout: how the arrays at the places lie in memory.
        flags: whether the tensors at the places, but for arguments, required gradients.
        gradient_flags: whether the gradients of these that were there required one themselves.
        numbers: the numbers among the arguments that were not taken for constants.
    """

    def __init__(
        self,
        reachable: ReachableState,
        leaves: list[Any],
        positions: list[Position],
        owners: list[Position],
        layout: Layout,
        program: Program,
        effects: Effects,
        flags: list[bool],
        gradient_flags: list[bool],
        numbers: NumberInputs,
    ):
        self.reachable = reachable
        self.numbers = ArgumentNumbers(leaves, numbers)
        self.program = program
        self._effects = effects
        self._layout = layout
        order = {id(position): k for k, position in enumerate(positions)}
        self._owners = [order[id(each)] for each in owners if id(each) in order]
        self._constants = [each.find([])._array for each in owners if id(each) not in order]
        #: The arrays that were found to lie as the layout says, so that they need no other look.
        self._found: list[Any] = [None] * len(positions)
        #: Without tensors there is nothing to look at, and the program is given constants alone.
        self._given: list[Array] = [] if positions else self._constants
        self._look_at_tensors(positions)
        self._flags = flags
        self._gradient_flags = gradient_flags
        self._known = reachable.known
        self._same = [
            (k, leaf) for k, leaf in enumerate(leaves)
            if isinstance(leaf, Tensor) and id(leaf) in self._known
        ]  # fmt: skip
        # What users wrote, or is in Python, may raise: checks before anything is written.
        unsure = [each for each in program.operations if may_raise(each)]
        self._undo = Undo(program, reachable.generators)
        sure = len(unsure) == program.first_checks
        on_cpu = not isinstance(program, BackendProgram)
        self._reused = ReusedGradients(effects, possible=on_cpu and sure and any(self._had))
        #: Whether compiled code may look at the arrays.
        self._may_learn = on_cpu
        self._replay = Replay(program)
        #: Whether a run may raise: then there is more to do around it.
        self._may_raise = bool(unsure)
        self._prepare_results(effects)
        #: Sources of numbers count their runs in this.
        states = [getattr(source, "state", None) for source in program.sources]
        self._counts = [state for state in states if state is not None]
        #: Whether a run is one call of compiled code, with nothing around it.
        self._is_one_call = not (self._may_raise or self._counts or program.sources)
        #: The call in compiled code, where that may do all of it.
        self.direct: DirectCall | None = None
        if on_cpu and self._is_one_call and not self.numbers.free and is_simple(program, effects):
            self.direct = DirectCall(self._replay, program, effects, CHANGED)
        #: How often Python had to look whether the program holds.
        self._looks = 0
        #: The arrays that the program is given of arguments: the place of each, and the argument.
        self._passed: list[tuple[int, int]] = []

    def _look_at_tensors(self, positions: list[Position]) -> None:
        """Tell tensors that the call reached from arguments, and which of them had a gradient."""
        tensors = [position for position in positions if not position.of_gradient]
        self._tensors = [position.tensor for position in tensors if position.tensor is not None]
        self._arguments = [
            position.argument for position in tensors if position.argument is not None
        ]
        with_gradient = {_key(position) for position in positions if position.of_gradient}
        self._had = [id(tensor) in with_gradient for tensor in self._tensors]
        self._argument_had = [argument in with_gradient for argument in self._arguments]
        self._with_gradient = [x for x, had in zip(self._tensors, self._had, strict=True) if had]

    def _prepare_results(self, effects: Effects) -> None:
        """Find out how little has to be done for what a call returns."""
        #: How to find what the call returns, if that needs nothing else of the run; else None.
        self._find_result: Callable[[Sequence[Array], Sequence[Any]], Any] | None = None
        if effects.backward is None and not effects.flags and not effects.attributes:
            self._find_result = finder_of_all(effects.structure, effects.returned)
        if effects.backward is not None:
            effects.backward.backward.pair = weakref.ref(self)
        #: The same where that is one tensor which is differentiated later.
        self._find_live: Callable[..., Tensor] | None = None
        leaves_nothing = not (effects.flags or effects.attributes or effects.gradients)
        if effects.backward is not None and leaves_nothing and effects.structure is LEAF:
            self._find_live = effects.backward.finder(effects.returned[0])

    @property
    def given(self) -> list[Array]:
        """The arrays that the program was last found to be given."""
        return self._given

    @property
    def programs(self) -> tuple[Program, Program | None]:
        """The program, and that of the backward of results that are differentiated later."""
        live = self._effects.backward
        return self.program, None if live is None else live.backward.program

    @property
    def leaves_graph(self) -> bool:
        """Whether results are differentiated later."""
        return self._effects.backward is not None

    @property
    def signature(self) -> str:
        """The inputs of the program."""
        return signature_of(self.program.given)

    @property
    def kept(self) -> tuple[Kept, ...]:
        """The values that the node of its results keeps, if they can be differentiated later."""
        live = self._effects.backward
        if live is None:
            return ()
        arrays = [memory.array for memory in (*live.backward.saved, *live.backward.given)]
        return ((CompiledFunctionBackward.__name__, tuple(map(described, arrays))),)

    def holds(self, leaves: list[Any]) -> bool:
        """Whether the program does what a call with these arguments would do."""
        return self.numbers.hold(leaves) and self.holds_but_for_numbers(leaves)

    def holds_but_for_numbers(self, leaves: list[Any]) -> bool:
        """Whether it would, had the numbers among the arguments the values that it expects."""
        if not self.reachable.hold():
            return False
        if list(map(_flag_of, self._tensors)) != self._flags:
            return False
        if [gradient is not None for gradient in map(_gradient_of, self._tensors)] != self._had:
            return False
        gradients = list(map(_gradient_of, self._with_gradient))
        if list(map(_flag_of, gradients)) != self._gradient_flags:
            return False
        for k, tensor in self._same:
            if leaves[k] is not tensor:
                return False
        arrays = [*map(_array_of, self._tensors), *map(_array_of, gradients)]
        for argument, had in zip(self._arguments, self._argument_had, strict=True):
            tensor = leaves[argument]
            if id(tensor) in self._known or (tensor._accumulated is not None) != had:
                return False
            arrays.append(tensor._array)
            if had:
                arrays.append(tensor._accumulated._array)
        if not all(map(operator.is_, arrays, self._found)):
            if not self._layout.holds(arrays):
                return False
            self._replay.forget()
            self._given = [*[arrays[k] for k in self._owners], *self._constants]
            self._found = arrays  # last: a child may be forked at any time
        return True

    def run(self, leaves: Sequence[Any]) -> Any:
        """Run the program in place of a call for which it holds.

        Returns CHANGED if it does not hold for what the sources of its numbers read.

        Raises:
            Failed: if an operation raised; everything is as it was before.
        """
        with uninterrupted():
            result = self._run_whole(leaves)
        if result is not CHANGED:
            self._looks += 1
            if self._looks & (self._looks - 1) == 0:  # seldom, if it does not help
                self._learn(leaves)
        return result

    def _run_whole(self, leaves: Sequence[Any]) -> Any:
        """``run``, which is not interrupted."""
        self.numbers.give(leaves)
        reused = self._reused.take()
        try:
            results = self._undoing(leaves, self.program.run, self._given, reused)
        except Outdated:
            return CHANGED
        self._count_writes(leaves)
        return self._leave(Run(results, leaves), attach=reused is None)

    def replay(self, given: tuple[Any, ...]) -> Any:
        """The result of a call, if compiled code sees that nothing has changed; else CHANGED."""
        numbers = self.numbers.positions
        # Compiled code knows numbers by their identity.
        arguments = self.numbers.known(given) if numbers else given
        keep = self._replay.holds(*arguments)
        if keep is None:
            return CHANGED
        if not self.reachable.unchanged():
            if not self.reachable.hold():
                return CHANGED
            self._replay.guard(self.reachable.guards)
        if numbers:
            self.numbers.give(given)
        if self._replay.run is None or timing.active is not None:
            self._given = self._given_with(arguments)
            return self.run(given)
        if self._is_one_call:
            results = self._replay.run(keep, *arguments)
        else:
            results = self._run_again(keep, arguments)
            if results is CHANGED:
                return CHANGED
        if self._find_result is not None and (keep or not self._effects.gradients):
            return self._find_result(results, arguments)
        if self._find_live is not None:
            return self._find_live(results, arguments, self.program.drawn)
        return self._leave(Run(results, arguments), attach=not keep)

    def _run_again(self, keep: bool, arguments: tuple[Any, ...]) -> Any:
        """The results of a run in compiled code; if it raises, nothing was run.

        Returns CHANGED if the program does not hold for what the sources of its numbers read.
        """
        try:
            if self._may_raise:
                with uninterrupted():
                    return self._undoing(arguments, self._run_natively, keep, arguments)
            if self._counts:
                return self._run_counted(keep, arguments)
            if self.program.sources:
                self.program.draw_numbers()
            return self._replay.run(keep, *arguments)  # type: ignore[misc]
        except Outdated:
            return CHANGED

    def _run_counted(self, keep: bool, arguments: tuple[Any, ...]) -> Sequence[Array]:
        """A run of which sources of numbers keep count; taken back if nothing was run.

        An interrupt comes at any time, also between the run and a note of it. The version of a
        tensor that the program writes tells whether it was run: compiled code counts it up, in one
        call with the writing. A step that hides its writes (``_unsafe_preserve_version_counter``)
        is not interrupted.
        """
        for state in self._counts:
            state.forget()
        versions = self._effects.versions
        if not versions:
            with uninterrupted():
                return self._run_hidden(keep, arguments)
        cell = version_cell_of(versions[0][0].find(arguments))
        before = cell[0]
        try:
            self.program.draw_numbers()
            return self._replay.run(keep, *arguments)  # type: ignore[misc]
        except BaseException:
            self._undo_sources_if(cell, before)
            raise

    def _undo_sources_if(self, cell: list[Any], version: int) -> None:
        """Take back the counts of a run if nothing was written since a version."""
        with uninterrupted():
            if cell[0] == version:
                self.program.undo_sources()

    def _run_hidden(self, keep: bool, arguments: tuple[Any, ...]) -> Sequence[Array]:
        try:
            self.program.draw_numbers()
            return self._replay.run(keep, *arguments)  # type: ignore[misc]
        except BaseException:
            self.program.undo_sources()
            raise

    def _given_with(self, arguments: Sequence[Any]) -> list[Array]:
        """The inputs of the program for a call with these arguments."""
        given = list(self._given)
        for position, argument in self._passed:
            given[position] = arguments[argument]._array
        return given

    def _run_natively(self, keep: bool, arguments: tuple[Any, ...]) -> tuple[Array, ...]:
        self.program.prepare(self._given_with(arguments) if self.program.checks else ())
        results: tuple[Array, ...] = self._replay.run(keep, *arguments)  # type: ignore[misc]
        self.program.check_launches(lambda: [*self._given_with(arguments), *results])
        return results

    def _count_writes(self, leaves: Sequence[Any]) -> None:
        for position, count in self._effects.versions:
            version_cell_of(position.find(leaves))[0] += count

    def _undoing(self, leaves: Sequence[Any], run: Callable[..., Any], *arguments: Any) -> Any:
        """The result of ``run``; if that raises, its writes are taken back.

        Not if an exchange with other processes raised: then that comes through.
        """
        undo = self._undo
        if undo.needed:
            undo.prepare(self._given_with(leaves))
        try:
            found = run(*arguments)
        except Outdated:  # nothing has run
            undo.forget()
            raise
        except BaseException as problem:
            if self.program.exchange_error is problem:  # others would not take part again
                self.program.exchange_error = None
                undo.forget()
                raise
            undo.take_back()
            if isinstance(problem, Exception):
                raise Failed from problem
            raise
        undo.forget()
        return found

    def _leave(self, run: Run, attach: bool) -> Any:
        """Leave behind what the captured call did, and return what it returned."""
        effects = self._effects
        for position, flag in effects.flags:
            position.find(run.leaves)._requires_grad = flag
        if effects.backward is not None:
            run.graph = effects.backward.node(run.results, run.leaves, self.program.drawn)
        for dictionary, key, reference in effects.attributes:
            dictionary[key] = self._value(reference, run)
        if effects.structure is LEAF:  # as most steps return
            result = self._value(effects.returned[0], run)
        else:
            returned = [self._value(reference, run) for reference in effects.returned]
            result = rebuild(effects.structure, iter(returned))
        if effects.backward is not None:
            effects.backward.watch_results(run)
        if attach:  # only now: the gradients of before may be returned
            gradients = [
                (position.find(run.leaves), self._value(reference, run))
                for position, reference in effects.gradients
            ]
            for tensor, gradient in gradients:
                tensor._accumulated = gradient
            if self._reused.keep(run.results, gradients):
                self._replay.forget()
        return result

    def _learn(self, leaves: Sequence[Any]) -> None:
        """Let compiled code see from now on that the program holds for what it was found to."""
        if not self._may_learn:
            return
        self.numbers.learn(leaves)
        same = [k for k, _ in self._same]
        fixed = [k for k, leaf in enumerate(leaves) if not isinstance(leaf, Tensor) or k in same]
        others = [leaf for k, leaf in enumerate(leaves) if k not in fixed]
        if len(others) != len(self._arguments):
            return
        known = len(self._tensors) + len(self._with_gradient)
        numbers: list[Any] = [None] * known
        gradients: dict[int, Tensor] = {}
        for argument, had in zip(self._arguments, self._argument_had, strict=True):
            numbers.append(argument)
            if had:
                gradient = leaves[argument]._accumulated
                if gradient is None or gradient._array is not self._found[len(numbers)]:
                    return  # the call left another gradient than it found
                if len(numbers) in self._owners:
                    return  # the program is given it: compiled code passes arguments alone
                numbers.append(None)
                gradients[argument] = gradient
        if any([extras_of(tensor) for tensor in (*others, *gradients.values())]):
            return
        for tensor, array in zip(
            self._with_gradient, self._found[len(self._tensors) : known], strict=True
        ):
            if tensor._accumulated is None or tensor._accumulated._array is not array:
                return  # the call left another gradient than it found
        tensors = list(zip(self._tensors, self._had, strict=True))
        given = [*[numbers[k] for k in self._owners], *[None] * len(self._constants)]
        self._passed = [(k, number) for k, number in enumerate(given) if number is not None]
        versions: list[Any] = [
            (
                position.argument if position.tensor is None else position.tensor,
                position.of_gradient,
                count,
            )
            for position, count in self._effects.versions
        ]
        self._replay.learn(
            Found(
                leaves, fixed, gradients, tensors,
                [x if n is None else n for x, n in zip(self._given, given, strict=True)],
                self._reused.kept(), versions,
                {id(position.find(leaves)): not flag for position, flag in self._effects.flags},
            )
        )  # fmt: skip
        self._replay.guard(self.reachable.guards)

    @staticmethod
    def _value(reference: tuple[int, Any], run: Run) -> Any:
        """A value that the captured call left behind, as this run leaves it."""
        kind, value = reference
        if kind == MADE:
            return value.make(run)
        if kind == COMPUTED:
            return value()
        return value.find(run.leaves) if kind == KNOWN else value


__all__ = ["CHANGED", "CapturedCall"]
