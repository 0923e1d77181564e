"""One captured call: what it did to tensors, as a program that does that again.

``CallCapture`` calls the function once as always while a trace listens, and makes a
``CapturedCall`` of it, which later calls use. Memory that the program is given comes from tensors
that the call could reach; what else the call left behind is found by ``effects_of_call.py``.
"""

from __future__ import annotations

import functools
import operator
import types
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..autograd.node import next_sequence_nr
from ..executor.plan.operations import Operation
from ..executor.plan.views import Memory
from ..optim.optimizer import Optimizer, noting_state
from ..optim.parameter_group import observing
from ..program.backend_program import MixedDevicesError, backend_of_all, program_of
from ..program.fusion import CPU_PASSES, optimise
from ..program.input_numbers import NumberInputs
from ..program.trace import Trace
from ..program.traced_values import root_of
from ..structure import flatten
from ..tensor import Tensor, new_tensor
from . import awaited_kernels
from .argument_names import names_of_leaves
from .argument_numbers import with_inputs, with_plain_numbers
from .backward import CannotDifferentiate, capture_backward, nodes_behind
from .call_events import listening
from .captured_call import CapturedCall
from .change_finder import ChangeFinder
from .effects import Live, Position, Unusable
from .effects_of_call import EffectsOfCall
from .escaped_numbers import put_plain_numbers
from .memory_layout import Layout, shared
from .reachable_state import ReachableState
from .settings import global_settings
from .snapshot import Elements, Owners, Snapshot
from .verification import Previous, RandomStates, verify
from .watched import Assigned


class States:
    """Findings about the state that calls of a function reach, and whether they read it.

    A function that only clears gradients does not depend on what an optimizer remembers, and the
    next capture does not watch it.

    Attributes:
        idle: those whose state no captured call has read.
        may_assign: whether tensors that calls put in the place of others have not been read.
        ran: functions of installed packages that calls were found to run.
    """

    def __init__(self) -> None:
        self.may_assign = True
        self.ran: list[types.FunctionType] = []
        self.idle: weakref.WeakSet[Optimizer] = weakref.WeakSet()
        self._read: weakref.WeakSet[Optimizer] = weakref.WeakSet()

    def found(self, reached: Iterable[Optimizer], read: Iterable[Optimizer]) -> bool:
        """Note what a call reached and read; False if it read what was not watched."""
        self._read.update(read)
        held = self._read.isdisjoint(self.idle)
        self.idle = weakref.WeakSet([each for each in reached if each not in self._read])
        return held


class CallCapture:
    """One call of a function that is listened to."""

    def __init__(
        self,
        function: Callable[..., Any],
        leaves: list[Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        structure: Any,
        numbers: NumberInputs,
        earlier: CapturedCall | None = None,
        is_piece: bool = False,
        states: States | None = None,
    ):
        self._states = States() if states is None else states
        #: Whether the function is a part of another one.
        self.is_piece = is_piece
        self.function = function
        self.leaves = leaves
        self.args = args
        self.kwargs = kwargs
        self.structure = structure
        #: The numbers among the arguments that are not taken for constants.
        self.numbers = numbers
        #: The tensors that the call put in the place of others, as attributes of objects.
        self.assigned: list[Assigned] = []
        #: The program captured for other numbers, if it holds but for these.
        self.earlier = earlier
        self.trace = Trace()
        #: Whether another capture may do better.
        self.may_settle = False
        #: The code in which to look for the line that changes what the call reads, if asked for.
        self.code: types.CodeType | None = None
        #: Kernels without which no program was made, as other processes are at them.
        self.awaits: frozenset[str] = frozenset()
        #: Where it was found.
        self.changed_at: list[tuple[types.CodeType, int]] = []
        #: Options of optimizers that users' code read, by the id of their group.
        self._options_read: dict[int, set[Any]] = {}

    def run(self) -> tuple[Any, CapturedCall | None, str]:
        """The result of the call; what later calls can use, or None and why not."""
        try:
            return self._run()
        finally:
            self.trace.let_go()
            escaped = self.numbers.escaped()
            if escaped:
                put_plain_numbers(escaped)

    def _run(self) -> tuple[Any, CapturedCall | None, str]:
        trace = self.trace
        reachable = self._reachable = ReachableState(
            {"the function": self.function}, self.leaves, self._states.idle, self._states.ran
        )
        if reachable.always_refused is not None:
            return self.function(*self.args, **self.kwargs), None, reachable.always_refused
        before = Snapshot(reachable, self.leaves)
        trace.outside = set(before.copies)
        self.random = RandomStates(reachable.generators)
        settings = global_settings()
        trace.when_walked = functools.partial(self._check_walked, next_sequence_nr())
        if reachable.may_read_numbers:
            self.numbers.values.clear()
        args, kwargs = with_inputs(self.args, self.kwargs, self.numbers)
        previous = None if self.earlier is None else Previous(self.earlier)
        finder = self._change_finder(reachable)
        read: list[Optimizer] = []
        found = self._call_and_listen(args, kwargs, reachable, finder, read)
        result = with_plain_numbers(found) if self.numbers.values else found
        self._states.ran += reachable.found_late
        if trace.failure is not None:
            self.may_settle = trace.raised
            return result, None, trace.failure
        refused = self._refused(reachable)
        if refused is not None:
            return result, None, refused
        if not reachable.is_complete:
            self.may_settle = True
            return result, None, "tensors that a function of another package was found to read"
        if reachable.may_read_numbers:
            self.numbers.pin_all()
        if not self._states.found(reachable.optimizers, read):
            self.may_settle = True
            return result, None, "the state of an optimizer, which calls before did not read"
        if global_settings() != settings:
            return result, None, "a setting of the whole process that the function changes"
        if not self._arguments_unchanged():
            return result, None, "a list, dict or dataclass among the arguments, which it changes"
        changed = self._changed(reachable)
        if changed is not None:
            self.may_settle = True
            self.changed_at = finder.found
            return result, None, f"a change during the call, of {changed}"
        return result, *self._captured_or_why_not(reachable, before, found, previous)

    def _call_and_listen(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        reachable: ReachableState,
        finder: ChangeFinder,
        read: list[Optimizer],
    ) -> Any:
        """The result of the function; adds to ``read`` the optimizers whose state it asks for."""
        groups = [group for each in reachable.optimizers for group in each.param_groups]
        # One thread captures at a time, hence first.
        with self.trace.capturing(), noting_state(read.append):
            with observing(groups) as self._options_read:
                return self._call_and_look(args, kwargs, reachable, finder)

    def _call_and_look(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        reachable: ReachableState,
        finder: ChangeFinder,
    ) -> Any:
        with listening(self.trace, reachable), finder:
            return self.function(*args, **kwargs)

    def _captured_or_why_not(
        self, reachable: ReachableState, before: Snapshot, found: Any, previous: Previous | None
    ) -> tuple[CapturedCall | None, str]:
        try:
            return self._captured(reachable, before, found, previous), ""
        except Unusable as reason:
            self.may_settle = reason.may_settle
            if self.assigned:  # what was there before was read, or is needed otherwise
                self._states.may_assign, self.may_settle = False, True
                return None, f"a change during the call, of {self.assigned[0].watched.what}"
            return None, str(reason)

    def _refused(self, reachable: ReachableState) -> str | None:
        """The first unwatchable object that the call reads, found out after it was read."""
        if reachable.always_refused is not None:
            return reachable.always_refused
        for code in reachable.executed:
            refused = reachable.refused_by(code)
            if refused is not None:
                self.changed_at = [(code, refused[1])]
                return refused[0]
        return None

    def _changed(self, reachable: ReachableState) -> str | None:
        """Changes that the call has made so far to state that its program would depend on."""
        for dictionary, key, positive in self.trace.anew:
            reachable.ignore(dictionary, key, positive, self._options_read)
        if self._states.may_assign:
            self.assigned = reachable.assigned()
        return reachable.changed()

    def _change_finder(self, reachable: ReachableState) -> ChangeFinder:
        return ChangeFinder(self.code, lambda: self._changed(reachable) is not None)

    def _check_walked(self, begin: int, tensors: list[Tensor]) -> None:
        """Fail if the graph of some tensors is older than the call."""
        if any([node.sequence_nr < begin for node in nodes_behind(tensors)]):
            self.trace.fail("a graph that was made before the call, and is walked in it")

    def _arguments_unchanged(self) -> bool:
        """Whether the containers among the arguments hold what they held before the call."""
        leaves, structure = flatten((self.args, self.kwargs))
        same = len(leaves) == len(self.leaves) and all(map(operator.is_, leaves, self.leaves))
        return same and structure == self.structure

    def difference(self, programs: list[CapturedCall], keys: list[Any]) -> str:
        """The difference between captures: those of one signature, or the signatures themselves.

        ``keys`` are all signatures, each with an entry for every leaf of the arguments at its end.
        """
        found = [each.reachable.changed() for each in programs[:-1]]
        names = names_of_leaves(self.function, self.args, self.kwargs)
        count = len(names)
        for k, name in enumerate(names):
            if any([k in each.numbers.changed(self.leaves) for each in programs]):
                found.append(f"the value of {name}")
            forms = {key[2 + k] for key in keys if len(key) == 2 + count}
            if len(forms) > 1:
                found.append(f"the shape, layout, dtype or flags of {name}")
        return ", ".join(sorted({text for text in found if text})) or "the number of arguments"

    def _captured(
        self, reachable: ReachableState, before: Snapshot, result: Any, previous: Previous | None
    ) -> CapturedCall:
        """The program of the call, and all that has to be done around it."""
        trace = self.trace
        before.forget([each.old for each in self.assigned])
        owners = Owners()
        owners.find(trace, before.positions, before.arrays)
        found = EffectsOfCall(trace, reachable, before, owners, self.is_piece)
        effects = found.find(self.args, self.kwargs, result, self.assigned)
        results, count, own = found.results, len(trace.operations), set()
        if found.live:
            effects.backward, count = self._backward(found, before, results, owners)
            own = {view.memory for view in effects.backward.backward.gradients}
        copies = dict(before.copies)
        owners.find(trace, before.positions, before.arrays)
        for array in trace.constants:
            owners[trace.memory(array)] = Position(new_tensor(array), None), trace.view(array)
            copies[id(array)] = array
        self._check_memory({*owners, *own})
        operations = optimise(trace.operations[:count], results, self._passes())
        self._ask_for_kernels(operations, effects.backward)
        given = [view for _, view in owners.values()]
        program = program_of(operations, given, results, trace.number_sources)
        if self._has_inputs() and (
            previous is None
            or not previous.agrees(program, trace, self.numbers, copies, self.random)
        ):
            self.numbers.pin_all()
        verify(program, trace, before, copies, self.random)
        layout = self._layout(before, owners)
        for each in self.assigned:
            each.expect_old()
        for memory in trace.memories.values():  # what the call made is not kept with the program
            memory.release()
        flags, of_gradients = (
            [
                before.state(position).requires_grad
                for position in before.positions
                if position.of_gradient is of_gradient and position.argument is None
            ]
            for of_gradient in (False, True)
        )
        return CapturedCall(
            reachable, self.leaves, before.positions, [position for position, _ in owners.values()],
            layout, program, effects, flags, of_gradients, self.numbers,
        )  # fmt: skip

    def _ask_for_kernels(self, operations: Sequence[Operation], live: Live | None) -> None:
        """Have other processes compile what the program lacks, if calls are to go on meanwhile.

        Raises:
            Unusable: if they are at it.
        """
        if not awaited_kernels.process.enabled or backend_of_all(operations) is not None:
            return
        walk = () if live is None else live.backward.together.operations
        self.awaits = awaited_kernels.missing([*operations, *walk])
        if self.awaits:
            raise Unusable("kernels that other processes are compiling", may_settle=True)

    def _passes(self) -> Sequence[str]:
        """The passes of the backend on which the operations run.

        Raises:
            Unusable: if they touch several devices.
        """
        try:
            where = backend_of_all(self.trace.operations)
        except MixedDevicesError as error:
            raise Unusable(str(error)) from None
        return CPU_PASSES if where is None else where.passes

    def _has_inputs(self) -> bool:
        """Whether there are numbers that the call was not seen to look at."""
        return not self.numbers.pinned.issuperset(self.numbers.values)

    def _backward(
        self, found: EffectsOfCall, before: Snapshot, results: list[Memory], owners: Owners
    ) -> tuple[Live, int]:
        """The backward of results that are differentiated later.

        What it reads joins the results. Also returns how many operations belong to the call.
        """
        inputs = [
            position
            for position in before.positions
            if not position.of_gradient and position.find(self.leaves)._requires_grad
        ]
        tensors = [position.find(self.leaves) for position in inputs]
        backward, count = self._walked(found.live, tensors, results)
        results += [memory for memory in backward.saved if memory not in results]
        return Live(backward, inputs, len(found.live), results, owners, found.made), count

    def _walked(self, live: Any, tensors: list[Tensor], results: list[Memory]) -> tuple[Any, int]:
        try:
            with listening(self.trace, self._reachable):
                return capture_backward(self.trace, live, tensors, results)
        except CannotDifferentiate as reason:
            raise Unusable(str(reason)) from None

    def _check_memory(self, known: set[Memory]) -> None:
        """Raise if the call read or wrote memory that nobody knows how to find."""
        for memory in self.trace.memories.values():
            if not memory.made and memory not in known:
                raise Unusable(
                    f"memory of shape {memory.array.shape} that no tensor reachable from the "
                    "function or its arguments holds"
                )

    def _layout(self, before: Snapshot, owners: Owners) -> Layout:
        """How the arrays have to lie that the program is given."""
        writes = False
        elements = Elements(self.trace, [*before.arrays, *self.trace.constants])
        for operation in self.trace.operations:
            for view in (*operation.reads, *operation.writes):
                if view.memory in owners and view.size and view not in elements:
                    raise Unusable("memory beyond the elements of the tensors it belongs to")
            writes = writes or any([view.memory in owners for view in operation.writes])
        if writes and shared([memory.array for memory in owners]):
            raise Unusable("memory that two tensors share without knowing of each other")
        roots = {id(memory.array) for memory in owners}
        touched = [id(root_of(array)) in roots for array in before.arrays]
        return Layout(before.arrays, touched, writes)


__all__ = ["CallCapture", "States"]
