"""The two programs of a composite operator: one signature, its forward and its backward.

``composite.py`` makes a ``Pair`` for every form of the arguments. The definition and a walk of its
graph are traced (``program/abstract_trace.py``): nothing is computed, so that this takes a few
milliseconds, and what the fused kernels replace is never compiled. What the backward reads of the
forward is cut: pointwise values are computed again from the inputs and from what was reduced, and
only the latter is kept.
"""

from __future__ import annotations

import copy
import functools
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ...autograd.engine.backward import run_backward
from ...autograd.grad_mode import state as grad_mode
from ...autograd.node import wanted_edge
from ...executor.cache import library
from ...executor.pair import Kept, described, signature_of
from ...executor.plan.forms import Form
from ...executor.plan.lowering import lower
from ...executor.plan.operations import Array, Call, Operation, Pointwise, renamed
from ...executor.plan.views import Memory, View
from ...program.abstract_trace import AbstractTrace, CannotTrace
from ...program.decomposition import in_primitives
from ...program.fusion import optimise
from ...program.pair import ProgramPair
from ...program.program import Program, as_view
from ...tensor import Tensor, new_tensor
from . import foresight
from .program_call import ProgramCall
from .recorded_gradients import gradients_of
from .saved_names import NOT_SAVED


class Pair(ProgramPair):
    """Forward and backward of one composite operator for arguments of one form.

    Args:
        definition: the operator, in Tensor operations.
        arguments: the arguments of the call; of tensors only the form is used.
        needed: for every tensor among them, in order, whether it needs a gradient.

    Attributes:
        forward: called with the tensors; returns arrays, see :meth:`array_of` and ``positions``.
        saved: which of the tensors a node saves, by their number: those that the backward reads,
            as many as ``read``, then those that its derivatives depend on.

    Raises:
        CannotTrace: for a definition that looks at elements, or runs in Python.
    """

    def __init__(
        self,
        definition: Callable[..., Any],
        arguments: Sequence[Any],
        needed: tuple[bool, ...],
    ):
        self.definition = definition
        self.needed = needed
        #: The tensors whose gradients the backward computes; see ``narrowed``.
        self.wanted = needed
        self._narrowed: dict[tuple[bool, ...], Pair | None] = {}
        #: The arguments, with the form of a tensor in its place.
        self._arguments = [Form.of(x._array) if isinstance(x, Tensor) else x for x in arguments]
        self._backwards: dict[Any, _Backward] = {}
        self.differentiable = differentiable = True in needed
        trace = _Trace(self)
        kept: list[Memory] = []
        #: The operations of the forward that make what is kept, with the memory's index there.
        self._cut: dict[int, int] = {}
        if differentiable:
            kept = trace.walk(trace.made._array)
            self._cut = dict(map(trace.writer_of, kept))
        trace.release()
        #: The name of the node of the result in the definition.
        self.ends_in = trace.made._producer.name() if trace.made._producer is not None else ""
        #: The class of its nodes.
        self.node: Any = None
        result = trace.results[0]
        memories = list(dict.fromkeys([*[view.memory for view in trace.results], *kept]))
        # The kernels of the backward are requested first: processes begin with what came last.
        first = _Backward(trace) if differentiable else None
        operations = optimise(trace.forward, memories)
        if first is not None and first.comes_later:
            self._foresee_evaluation()
        constants = trace.constants_of(operations)
        given = [*constants, *trace.given]
        self.program = program = Program(operations, given, _with_large(operations, memories))
        self.strides = result.strides
        self._results = [
            (memories.index(view.memory), None if _is_whole(view) else view)
            for view in trace.results
        ]
        #: Which of what the forward made the first result is, and how it lies there if not whole.
        self.position, self.view = self._results[0]
        #: Whether the definition returns one tensor, and no tuple.
        self.single = trace.single
        self.forward = _with_constants(ProgramCall(program), constants)
        #: Arrays of the forward that the backward is given.
        self.positions = [memories.index(memory) for memory in kept]
        self.saved: tuple[int, ...] = ()
        self.read = 0
        if first is not None:
            # What the backward reads, and, for derivatives of it, what that was computed from.
            influence = trace.tensors_behind(kept)
            self.saved = (*first.inputs, *sorted(influence - {*first.inputs}))
            self.read = len(first.inputs)
            self._backwards[result.strides] = first
        #: The tensors, and the arrays of the forward, that a node keeps.
        self.saves, self.keeps = _getter(self.saved), _getter(self.positions)

    def numbers_of_tensors(self) -> Iterable[tuple[int, int]]:
        """For each tensor among the arguments its place there, and its number."""
        places = [k for k, x in enumerate(self._arguments) if isinstance(x, Form)]
        return zip(places, range(len(places)), strict=True)

    def values(self) -> list[Any]:
        """The arguments, with ``NOT_SAVED`` in the places of tensors."""
        return [NOT_SAVED if isinstance(x, Form) else x for x in self._arguments]

    def _foresee_evaluation(self) -> None:
        """Request the kernels of the forward without gradients: an evaluation follows training."""
        pair = copy.copy(self)
        pair.needed = pair.wanted = (False,) * len(self.needed)
        try:
            trace = _Trace(pair)
        except CannotTrace:  # the evaluation itself will run the definition
            return
        trace.release()
        operations = optimise(trace.forward, [view.memory for view in trace.results])
        library.request_missing([functools.partial(lower, x) for x in operations], last=True)

    @property
    def nbytes(self) -> int:
        """Bytes that its programs hold between calls."""
        return self.program.arena_bytes + sum([x.nbytes for x in self._backwards.values()])

    @property
    def programs(self) -> tuple[Program, Program | None]:
        """The program of the forward, and that of the backward if there is one."""
        first = self._backwards.get(self.strides)
        return self.program, None if first is None else first.program

    @property
    def signature(self) -> str:
        """The arguments, with the form of a tensor in its place."""
        return signature_of(self._arguments)

    @property
    def kept(self) -> tuple[Kept, ...]:
        """Saved tensors of its node: tensors among the arguments, and results of the forward."""
        if not self.differentiable:
            return ()
        forms = [argument for argument in self._arguments if isinstance(argument, Form)]
        results = self.program.results
        values = [*[forms[k] for k in self.saved], *[results[k].array for k in self.positions]]
        name = self.node.__name__ if self.node is not None else self.ends_in
        return ((name, tuple(map(described, values))),)

    def array_of(self, made: tuple[Array, ...], number: int = 0) -> Array:
        """A result among what the forward made."""
        position, view = self._results[number]
        return made[position] if view is None else as_view(made[position], view)

    def arrays_of(self, made: tuple[Array, ...]) -> Any:
        """All results among what the forward made."""
        arrays = tuple([self.array_of(made, k) for k in range(len(self._results))])
        return arrays[0] if self.single else arrays

    def further(self, made: tuple[Array, ...]) -> list[Tensor]:
        """The results after the first, which have no gradient."""
        return [new_tensor(self.array_of(made, k)) for k in range(1, len(self._results))]

    def backward(
        self, grad: Tensor, saved: Sequence[Tensor], kept: Sequence[Array]
    ) -> tuple[Tensor | None, ...]:
        """The gradient of every tensor that needs one, None for the others."""
        array = grad._array
        found = self._backwards.get(array.strides)
        if found is None:
            if any(array.strides) or array.size == 1:
                grad = new_tensor(_laid(array, self.strides))
                found = self._backwards[self.strides]
            else:  # one element, repeated, as the gradient of a sum
                found = self._backwards[array.strides] = self._backward_of(array)
        if found.inputs != self.saved[: self.read]:
            known = dict(zip(self.saved, saved, strict=False))
            saved = [known[k] for k in found.inputs]
        return found(grad, saved, kept)

    def _backward_of(self, grad: Array | None) -> _Backward:
        """The backward for a gradient of this form, or one that lies as the result does."""
        trace = _Trace(self)
        trace.walk(trace.made._array if grad is None else grad, self._cut)
        trace.release()
        return _Backward(trace)

    def narrowed(self, wanted: tuple[bool, ...]) -> Pair:
        """This pair with a backward for those tensors alone that are wanted, for its nodes.

        A backward is made when it is asked for the second time: that takes milliseconds.
        """
        found = self._narrowed.get(wanted, self)
        if found is None:
            found = self._narrowed[wanted] = self._with_wanted(wanted)
        elif found is self and wanted not in self._narrowed:
            self._narrowed[wanted] = None
        return found

    def _with_wanted(self, wanted: tuple[bool, ...]) -> Pair:
        pair = copy.copy(self)
        pair.wanted = tuple([a and b for a, b in zip(self.needed, wanted, strict=True)])
        try:
            first = pair._backward_of(None)
        except CannotTrace:
            return self
        pair._backwards = {self.strides: first}
        return pair if {*first.inputs} <= {*self.saved[: self.read]} else self

    def differentiate(self, grad: Tensor, saved: Sequence[Tensor]) -> tuple[Tensor | None, ...]:
        """The same gradients as :meth:`backward`, by walking the graph of the definition.

        They are recorded if this thread records. A tensor that was not saved has no influence on
        them: another of its form does as well.
        """
        known = dict(zip(self.saved, saved, strict=True))
        arguments: list[Any] = []
        position = 0
        for argument in self._arguments:
            if isinstance(argument, Form):
                tensor = known.get(position)
                if tensor is None:
                    tensor = new_tensor(np.zeros(argument.shape, argument.dtype))
                    tensor._requires_grad = self.needed[position]
                argument = tensor
                position += 1
            arguments.append(argument)
        return gradients_of(self.definition, arguments, self.wanted, [grad])


class _Trace:
    """One trace of a definition, and of the walk of its graph."""

    def __init__(self, pair: Pair):
        self.tracer = tracer = AbstractTrace()
        self.wanted = pair.wanted
        self.tensors: list[Tensor] = []
        arguments: list[Any] = []
        flags = iter(pair.needed)
        for argument in pair._arguments:
            if isinstance(argument, Form):
                argument = new_tensor(argument.with_gaps(), next(flags))
                self.tensors.append(argument)
            arguments.append(argument)
        before = grad_mode.enabled
        try:
            grad_mode.enabled = True in pair.needed
            with tracer.capturing():
                #: Views of the memory that the programs are given, one for each tensor.
                self.given = [tracer.view(x._array) for x in self.tensors]
                made = pair.definition(*arguments)
        finally:
            grad_mode.enabled = before
        self.single = not isinstance(made, tuple)
        results = (made,) if self.single else made
        if not all([type(x) is Tensor for x in results]):
            raise CannotTrace("a result that is no Tensor")
        self.made: Tensor = results[0]
        self.results = [tracer.view(x._array) for x in results]
        self._traced = len(tracer.operations)
        self.forward = in_primitives(tracer.operations, [view.memory for view in self.results])
        if not all([view.memory.made for view in self.results]):
            raise CannotTrace("a result in memory that was given")
        written = [view.memory for operation in self.forward for view in operation.writes]
        if not all([memory.made for memory in written]):
            raise CannotTrace("a write to memory that was given")
        self._writers = {view.memory: k for k, x in enumerate(self.forward) for view in x.writes}
        self._once = {memory for memory in written if written.count(memory) == 1}
        #: Set by ``walk``.
        self.again: list[Operation] = []
        self.kept: list[Memory] = []
        self.gradients: list[View | None] = []
        self.incoming = self.results[0]

    def release(self) -> None:
        """Let go of the memory that nothing was computed in."""
        for memory in (*self.tracer.memories.values(), *self.kept):
            memory.release()

    def tensors_behind(self, memories: Sequence[Memory]) -> set[int]:
        """The numbers of the tensors from which the forward computes these blocks."""
        found = set(memories)
        for operation in reversed(self.forward):
            if any([view.memory in found for view in operation.writes]):
                found.update([view.memory for view in operation.reads])
        return {k for k, view in enumerate(self.given) if view.memory in found}

    def constants_of(self, operations: Sequence[Operation]) -> dict[View, Tensor]:
        """The constants that operations read, by the views of them that programs are given."""
        read = {view.memory for x in operations for view in x.reads}
        views = [(self.tracer.view(array), array) for array in self.tracer.constants]
        return {view: new_tensor(array) for view, array in views if view.memory in read}

    def writer_of(self, memory: Memory) -> tuple[int, int]:
        """The number of the operation of the forward that makes it, and that among its outputs."""
        number = self._writers[memory]
        return number, [view.memory for view in self.forward[number].writes].index(memory)

    def walk(self, grad: Array, cut: dict[int, int] | None = None) -> list[Memory]:
        """Trace the walk of the graph; returns the memory of the forward that it reads.

        ``cut`` says which operations make what is kept, if that is decided; else it is here.
        """
        incoming = new_tensor(Form.of(grad).with_gaps())
        wanted = [x for x, want in zip(self.tensors, self.wanted, strict=True) if want]
        edges: list[Any] = [wanted_edge(x) for x in wanted]
        if self.made._producer is None:
            raise CannotTrace("a result without a gradient")
        with self.tracer.capturing():
            self.incoming = self.tracer.view(incoming._array)
            found = run_backward([self.made], [incoming], True, False, edges, accumulate=False)
        views = [None if x is None else self.tracer.view(x._array) for x in found]
        remaining = iter(views)
        self.gradients = [next(remaining) if want else None for want in self.wanted]
        operations = self.tracer.operations[self._traced :]
        read = [view.memory for x in operations for view in x.reads]
        read += [view.memory for view in views if view is not None]
        repeated, kept = self._computed_again(read, cut)
        # For the backward what is kept is given.
        given = {memory: Memory(memory.array, made=False) for memory in kept}
        self.kept = [given[memory] for memory in kept]
        self.again = [
            renamed(operation, lambda memory: given.get(memory, memory))
            for operation in (*[self.forward[k] for k in sorted(repeated)], *operations)
        ]
        return kept

    def _computed_again(
        self, read: Sequence[Memory], cut: dict[int, int] | None
    ) -> tuple[set[int], list[Memory]]:
        """Operations to compute again, and memory to keep, so that the backward can read some.

        Pointwise work is computed again: in a loop that reads their operands anyway it costs less
        than writing and reading what it makes.
        """
        repeated: set[int] = set()
        kept = {at: [*self.forward[at].writes][which].memory for at, which in (cut or {}).items()}
        pending = list(read)
        while pending:
            memory = pending.pop()
            at = self._writers.get(memory)
            if at is None or at in repeated or at in kept:
                continue
            operation = self.forward[at]
            once = all([view.memory in self._once for view in operation.writes])
            if once and isinstance(operation, Pointwise):
                repeated.add(at)
                pending += [view.memory for view in operation.reads]
            elif not once:
                raise CannotTrace("memory that is written more than once, and read by a gradient")
            else:
                kept[at] = memory
        return repeated, [kept[at] for at in sorted(kept)]


class _Backward:
    """The backward of a trace as a program.

    Where other processes have kernels of it to compile, it is made when it is first called.
    """

    def __init__(self, trace: _Trace):
        results = [x.memory for x in trace.gradients if x is not None and x.memory.made]
        memories = list(dict.fromkeys(results))
        operations = optimise(trace.again, memories)
        read = {view.memory for x in operations for view in x.reads}
        known = {*[view.memory for view in (*trace.given, trace.incoming)], *trace.kept}
        made = {view.memory for x in operations for view in x.writes}
        if made & known or not set(memories) <= made:
            raise CannotTrace("a gradient that is not made by the backward")
        #: The numbers of the tensors that it reads.
        self.inputs = tuple([k for k, x in enumerate(trace.given) if x.memory in read])
        constants = trace.constants_of(operations)
        given = [*constants, trace.incoming, *[trace.given[k] for k in self.inputs]]
        given += [_whole(memory) for memory in trace.kept]
        if any([isinstance(x, Call) for x in operations]):
            raise CannotTrace("a gradient that runs in Python")
        self._parts = operations, given, _with_large(operations, memories)
        self._constants = constants
        #: Whether other processes compile kernels of it meanwhile.
        self.comes_later = foresight.compiles_more() and library.request_missing(
            [functools.partial(lower, x) for x in operations]
        )
        self._call: Any = self._first_call if self.comes_later else self._made()
        #: The result that each gradient is and, if it is not all of that, how it lies there.
        self._makers: list[Any] = []
        for view in trace.gradients:
            if view is None:
                self._makers.append(None)
            elif view.memory is trace.incoming.memory:
                self._makers.append((-1, None if view == trace.incoming else view))
            elif view.memory in memories:
                position = memories.index(view.memory)
                self._makers.append((position, None if _is_whole(view) else view))
            else:
                raise CannotTrace("a gradient that is an input")
        #: The same where each is all of a result, as almost always.
        self._positions: list[Any] | None = None
        if all([x is None or (x[0] >= 0 and x[1] is None) for x in self._makers]):
            self._positions = [None if x is None else x[0] for x in self._makers]

    @functools.cached_property
    def program(self) -> Program:
        """The program, whose kernels are compiled if need be."""
        return Program(*self._parts)

    @property
    def nbytes(self) -> int:
        """Bytes that the program holds between calls."""
        made: Program | None = self.__dict__.get("program")
        return 0 if made is None else made.arena_bytes

    def _made(self) -> Callable[..., tuple[Array, ...]]:
        return _with_constants(ProgramCall(self.program), self._constants)

    def _first_call(self, *tensors: Tensor) -> tuple[Array, ...]:
        self._call = self._made()
        made: tuple[Array, ...] = self._call(*tensors)
        return made

    def __call__(
        self, grad: Tensor, saved: Sequence[Tensor], kept: Sequence[Array]
    ) -> tuple[Tensor | None, ...]:
        made = self._call(grad, *saved, *map(new_tensor, kept))
        positions = self._positions
        if positions is not None:
            return tuple([None if k is None else new_tensor(made[k]) for k in positions])
        return tuple([None if x is None else self._gradient(grad, made, *x) for x in self._makers])

    @staticmethod
    def _gradient(
        grad: Tensor, made: tuple[Array, ...], position: int, view: View | None
    ) -> Tensor:
        if position < 0:
            return grad if view is None else new_tensor(as_view(grad._array, view))
        return new_tensor(made[position] if view is None else as_view(made[position], view))


def _getter(positions: Sequence[int]) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    """``f(values)``: those in these places."""
    if len(positions) > 1:
        return operator.itemgetter(*positions)
    if positions:
        (position,) = positions
        return lambda values: (values[position],)
    return lambda values: ()


def _with_constants(
    call: ProgramCall, constants: dict[View, Tensor]
) -> Callable[..., tuple[Array, ...]]:
    """The call of a program whose first arguments are always the same."""
    return functools.partial(call, *constants.values()) if constants else call


#: Blocks of fewer bytes stay with the programs; larger ones are made for each call.
_HELD_BYTES = 1 << 20


def _with_large(operations: Sequence[Operation], results: list[Memory]) -> list[Memory]:
    """The results, and large blocks in between: made for each call, so that they are not held."""
    known = set(results)
    large: dict[Memory, None] = {}
    for operation in operations:
        for view in operation.writes:
            memory = view.memory
            if memory.made and memory not in known and memory.nbytes >= _HELD_BYTES:
                large[memory] = None
    return [*results, *large]


def _is_whole(view: View) -> bool:
    """Whether a view is what a program returns for its memory."""
    array = view.memory.array
    lies = view.shape == array.shape and view.strides == array.strides
    return lies and view.offset == 0 and view.dtype == array.dtype


def _whole(memory: Memory) -> View:
    array = memory.array
    return View(memory, 0, array.shape, array.strides, array.dtype)


def _laid(array: Array, strides: tuple[int, ...]) -> Array:
    """A copy of an array with these strides, those of a dense one."""
    made = Form(array.shape, strides, array.dtype).with_gaps()
    made[...] = array
    return made


__all__ = ["CannotTrace", "Pair"]
