"""Capture: what the executor computes on behalf of one thread, as a list of operations.

While a trace is active the launchers of its thread raise ``LaunchMiss`` with
``layout.MISS_CAPTURE``; the programs of the executor pass such calls to the trace, which runs
them as always and writes down what ran. Arrays are told apart by the memory they lie in, so that
views need no operation of their own. Called by ``numbagrad.compiling``.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import threading
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .. import awake
from .. import half_precision as half
from ..backend import address_of, foreign_among, is_array
from ..executor import capture
from ..executor.builtin import LaunchMiss, runtime
from ..executor.plan.dtypes import code_of
from ..executor.plan.forms import contiguous
from ..executor.plan.operations import (
    Array,
    Call,
    Check,
    Kernel,
    Opaque,
    Operation,
    Pointwise,
    Product,
    Reduce,
    Rowwise,
)
from ..executor.plan.views import Memory, Number, View, mapped, views_in
from ..executor.user_kernels import numba_function
from ..native.interpreter import thread_state
from ..number_range import check_bits, wrapped_number
from .capture_lock import Pause, one_at_a_time
from .input_numbers import DrawnNumber, is_given
from .running_code import line_of_user, running_code
from .traced_values import (
    COPIES,
    PARTS,
    arrays_in,
    concrete,
    launched,
    name_of,
    plain,
    returned,
    root_of,
)


def _of_64_bits(number: Any) -> Any:
    """A number that a run is given; ints of more bits are refused as without a program."""
    check_bits(number)
    return number


class Trace:
    """The operations that one thread ran, and the memory they touched."""

    #: Whether it only looks on: then what runs is no capture, and another trace comes first.
    observes = False
    #: Whether compiled functions are to run as Python: their operators are looked at one by one.
    needs_operators = True
    #: Whether it notes what would run, and nothing runs: elements of arrays mean nothing.
    traces = False

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self.memories: dict[int, Memory] = {}
        #: Functions that are called before each run, each for some of the numbers.
        self.number_sources: list[Callable[[], tuple[float, ...]]] = []
        self.numbers: dict[int, Number] = {}
        self.drawn: list[float] = []
        #: Memory of the tensors that were there before, by the id of its owner.
        self.outside: set[int] = set()
        #: Memory that the sources of numbers write, by the id of its owner.
        self.managed: set[int] = set()
        #: Entries of dictionaries that the sources of numbers read: they may change between runs.
        self.anew: list[tuple[dict[Any, Any], Any, bool]] = []
        self._kept: list[Any] = []
        self._checked = 0
        #: Arrays that every run may read and none writes.
        self.constants: list[Array] = []
        self.thread = threading.get_ident()
        self._runtime = runtime()
        self.paused = False
        #: Why what ran cannot become a program, and the line of the user's code; None if it can.
        self.failure: str | None = None
        #: The code that was running when it failed, and its line, from the inside out.
        self.failed_at: list[tuple[types.CodeType, int]] = []
        #: Whether that is an exception, which another call may not raise.
        self.raised = False
        #: Called with the tensors whose graph is about to be walked.
        self.when_walked: Callable[[Any], None] = lambda tensors: None
        #: Called with the failure, at once.
        self.when_failed: Callable[[str], None] | None = None

    # --- being active -----------------------------------------------------------------------------

    @contextlib.contextmanager
    def capturing(self) -> Iterator[Trace]:
        """Capture what this thread computes inside the ``with`` block."""
        if capture.is_capturing():
            raise RuntimeError("this thread records already")
        with one_at_a_time():
            before = capture.active
            try:
                capture.active = self
                self._attend(True)
                yield self
            finally:
                self._attend(False)
                capture.active = before
                capture.attend_again()

    def pause(self) -> contextlib.AbstractContextManager[None]:
        """Compute without capturing inside the ``with`` block."""
        return Pause(self)

    def attend_again(self) -> None:
        """Go on, after another trace took this one's place for a while."""
        self._attend(not self.paused)

    def _attend(self, active: bool) -> None:
        self._runtime.capture = thread_state() if active else 0
        awake.note(awake.CAPTURE, active)

    def fail(self, what: str, at: list[tuple[types.CodeType, int]] | None = None) -> None:
        """Note that ``what`` cannot be part of a program, and compute the rest as always.

        ``at`` is the code that is running, each with its line, if that is not the present one.
        """
        if self.failure is None:
            where = f"{at[0][0].co_filename}:{at[0][1]}" if at else line_of_user()
            self.failure = f"{what}, called at {where}"
            self.failed_at = at or running_code()
        self.paused = True
        self._attend(False)
        if self.when_failed is not None:
            self.when_failed(self.failure)

    def note_raised(self, error: Exception) -> None:
        """Note that values made an operator raise: if the caller catches that, no program does."""
        if isinstance(error, LaunchMiss):  # whoever catches it does what was asked for
            return
        if self.failure is None:
            self.failure = f"{type(error).__name__}, raised and caught, called at {line_of_user()}"
            self.failed_at = running_code()
            self.raised = True
        self.paused = True
        self._attend(False)

    def keep(self, value: Any) -> None:
        """Keep an object, so that its id stays its own."""
        self._kept.append(value)

    def let_go(self) -> None:
        """Let go of what only the call needed, once it is captured or was given up."""
        self._kept.clear()
        del self.when_walked  # which refers to who listens

    # --- memory -----------------------------------------------------------------------------------

    def memory(self, array: Array, made: bool = False) -> Memory:
        """The block of memory that an array lies in."""
        root = root_of(array)
        found = self.memories.get(id(root))
        if found is None:
            found = self.memories[id(root)] = Memory(root, made)
        return found

    def knows(self, array: Array) -> bool:
        """Whether the memory of an array has been seen."""
        return id(root_of(array)) in self.memories

    def view(self, array: Array, made: bool = False) -> View:
        """An array as a view of its memory."""
        memory = self.memory(array, made)
        whole = array is memory.array
        if whole and memory.whole is not None:
            return memory.whole
        offset = 0
        if not (whole and array.flags.c_contiguous):
            offset = address_of(array) - memory.address
        found = View(memory, offset, array.shape, array.strides, array.dtype)
        if whole:
            memory.whole = found
        return found

    def is_new(self, array: Array) -> bool:
        """Whether an array that is written as a whole is all of memory that nobody had before."""
        root = root_of(array)
        return id(root) not in self.outside and array.nbytes == root.nbytes

    def number(self, value: Any, dtype: str | None) -> Any:
        """A number given at each run as such; any other as the constant it is.

        ``dtype`` is that in which it is used.
        """
        if is_given(value):
            if dtype is None or not dtype.startswith("float"):  # others may not be whole
                return value.concrete()
            if id(value) not in self.numbers:
                compute = value.inputs.computed[len(self.numbers)] = value.compute
                self._add(value, value.plain())
                self.number_sources.append(lambda: (_of_64_bits(compute()),))
        return self.numbers.get(id(value), value)

    def _add(self, number: float, value: float) -> None:
        self.numbers[id(number)] = Number(len(self.numbers))
        self.drawn.append(value)
        self.keep(number)

    def add_numbers(self, source: Callable[[], tuple[float, ...]]) -> tuple[float, ...]:
        """Numbers that ``source`` computes, now and before each run of the program."""
        with self.pause():
            values = tuple([DrawnNumber(value) for value in source()])
        for value in values:
            self._add(value, value)
        self.number_sources.append(source)
        return values

    def manage(self, array: Array) -> None:
        """Leave the memory of an array to a source of numbers."""
        root = root_of(array)
        self.managed.add(id(root))
        self.keep(root)

    # --- operations -------------------------------------------------------------------------------

    def pointwise(self, program: Any, operands: tuple[Any, ...], into: bool) -> Any:
        """A call of a ``PointwiseProgram``."""
        operands = tuple([x.item() if isinstance(x, np.generic) else x for x in operands])
        inputs = operands[:-1] if into else operands
        outputs = self._outputs_of(program, plain(operands), into)
        new = not into or self.is_new(operands[-1])
        self.operations.append(self.pointwise_operation(program, inputs, outputs, new))
        return returned(outputs, into)

    def _outputs_of(self, program: Any, operands: tuple[Any, ...], into: bool) -> tuple[Array, ...]:
        """Results of a ``PointwiseProgram`` on operands; with ``into`` the last is written."""
        values, written = (operands[:-1], operands[-1]) if into else (operands, None)
        with self.pause():
            outputs = self._run_single("pointwise", program, values, written)
            if outputs is not None:
                return outputs
            made = launched(program, operands, into)
        return (written,) if into else made if isinstance(made, tuple) else (made,)

    def _run_single(self, kind: str, *arguments: Any) -> Any:
        """The result of a function of ``run_single.py``; None if launchers are to be used."""
        if self.observes or foreign_among(arguments) is not None:
            return None
        from . import run_single  # which imports what needs this module

        return getattr(run_single, kind)(self, *arguments)

    def pointwise_operation(
        self, program: Any, inputs: tuple[Any, ...], outputs: tuple[Array, ...], new: bool
    ) -> Pointwise:
        """A call of a ``PointwiseProgram``; ``new`` says that its outputs are memory it made."""
        inputs = self._rounded(program, inputs, outputs[0].ndim)
        values = tuple([x.plain() if is_given(x) else x for x in inputs])
        signature = program.rules.signature(values, outputs[0])
        called = program.name, program.formula
        return Pointwise.of_call(self.view, called, inputs, outputs, signature, self._fitting, new)

    def _fitting(self, value: Any, dtype: str | None) -> Any:
        """``number``, of an int the bits that the dtype holds; the call refused what is refused."""
        if isinstance(value, int) and dtype is not None and "int" in dtype and not is_given(value):
            return wrapped_number(value, np.dtype(dtype))
        return self.number(value, dtype)

    def _rounded(self, program: Any, inputs: tuple[Any, ...], rank: int) -> tuple[Any, ...]:
        """The inputs, with numbers rounded to half precision where the operator compares them."""
        narrow = program.rules.rounded([code_of(x, rank) for x in inputs])
        if narrow is None:
            return inputs
        kind = narrow.numpy
        if any([is_given(x) or (is_array(x) and x.dtype != kind) for x in inputs]):
            self.fail("a comparison of half precision with what is to be rounded to it")
            return inputs
        return tuple([x if is_array(x) else half.rounded_number(x, kind) for x in inputs])

    def fill(self, array: Array, value: float, made: bool) -> Array:
        """An array of which every element was set to ``value``."""
        value = concrete(value)
        if array.dtype.kind == "c":
            self.view(array, made)  # the memory of both parts
            self.fill(array.real, value.real, False)
            self.fill(array.imag, value.imag, False)
            return array
        element = half.readable(half.converted(np.array(value), array.dtype)).item()
        self.operations.append(Pointwise.fill(self.view(array, made), element))
        return array

    def copy(self, source: Array, target: Array, made: bool = False) -> None:
        """``target[...] = source`` for arrays of one dtype, in C order if the shapes differ."""
        if target.dtype.kind == "c":
            self.view(target, made)
            if target.size == source.size and target.flags.c_contiguous:
                target = target.reshape(source.shape)
            self.copy(source.real, target.real)
            self.copy(source.imag, target.imag)
            return
        written = self.view(target, made)
        if target.size == source.size and target.flags.c_contiguous:
            steps = contiguous(source.shape, target.dtype).strides
            written = dataclasses.replace(written, shape=source.shape, strides=steps)
        read = self.view(source).expanded(written.shape)
        self.operations.append(Pointwise.copy(read, written))

    def constant(self, array: Array) -> None:
        """An array that Python made, and would make again with the same elements."""
        kept = array.copy()
        self.constants.append(kept)
        self.copy(kept, array, made=True)

    def product(self, function: Callable[..., Array], a: Array, b: Array) -> Array:
        """A call of the matrix product."""
        c = self._product_of(function, a, b)
        if a.dtype.kind == "f" and a.itemsize >= 4 and a.ndim == b.ndim <= 4:
            self.operations.append(Product.of_call(self.view, a, b, c))
            return c
        return self._note(Call("matmul", function, (a, b), ()), (a, b), c)

    def _product_of(self, function: Callable[..., Array], a: Array, b: Array) -> Array:
        with self.pause():
            made = self._run_single("product", a, b)
            return function(a, b) if made is None else made

    def reduce(self, program: Any, arguments: tuple[Any, ...]) -> Any:
        """A call of a ``ReductionProgram``."""
        with self.pause():
            made = self._run_single("reduce", program, arguments)
            if made is None:
                made = program.run(*arguments)
        if isinstance(made, tuple):
            return self._note(Call(program.definition.name, program.run, (), ()), arguments, made)
        self.operations.append(Reduce.of_call(self.view, program, arguments, (made,)))
        return made

    def rowwise(self, program: Any, dim: int, arrays: tuple[Array, ...]) -> Any:
        """A call of a ``RowwiseProgram``."""
        with self.pause():
            made = self._run_single("rowwise", program, dim, arrays)
            if made is None:
                made = program.run(dim, *arrays)
        if not all([x.flags.c_contiguous for x in arrays]):
            return self._note(Call(program.name, program.run, (), ()), (dim, *arrays), made)
        outputs = made if isinstance(made, tuple) else (made,)
        self.operations.append(Rowwise.of_call(self.view, program, dim, arrays, outputs))
        return made

    def opaque(
        self,
        name: str,
        function: Any,
        run: Callable[..., None],
        arguments: tuple[Any, ...],
        outputs: list[Array],
    ) -> None:
        """``run(*arguments)`` for a user's function that writes ``outputs``, new arrays."""
        values = plain(arguments)
        self._run_paused(run, values)
        native = numba_function.is_native(function, values)
        made = tuple([self.view(array, made=True) for array in outputs])
        if native:
            passed = tuple(
                [
                    self.view(x)
                    if isinstance(x, np.ndarray)
                    else self.number(x, "float64" if isinstance(x, float) else None)
                    for x in arguments
                ]
            )
            self.operations.append(Opaque(name, function, passed, made))
        else:
            self.operations.append(Call(name, run, self._passed(arguments), (), made))

    def _run_paused(self, run: Callable[..., None], values: tuple[Any, ...]) -> None:
        with capture.noting_exceptions(), self.pause():
            run(*values)

    def call(self, function: Callable[..., Any], *arguments: Any, effect: bool = False) -> Any:
        """``function(*arguments)`` as one operation that runs in Python each time."""
        with capture.noting_exceptions(), self.pause():
            made = function(*arguments)
        operation = Call(name_of(function), function, (), (), effect=effect)
        return self._note(operation, arguments, made)

    def check(self, function: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        """``function(*arguments)``, which raises or does nothing."""
        with capture.noting_exceptions(), self.pause():
            function(*arguments)
        passed = self._passed(arguments)
        if not all([self._is_constant(view.memory) for view in views_in(passed)]):
            self.operations.append(Call(name_of(function), function, passed, (), check=True))

    def _is_constant(self, memory: Memory) -> bool:
        """Whether all that was written to memory is a constant: what holds now always will."""
        writers = [x for x in self.operations if any([v.memory is memory for v in x.writes])]
        kept = {id(array) for array in self.constants}
        sources = [view.memory.array for x in writers for view in x.reads]
        return len(writers) == 1 and [id(array) in kept for array in sources] == [True]

    def note_check(
        self,
        kernel: Any,
        launch: tuple[int, int, tuple[Any, ...]],
        explain: Callable[..., None],
        arguments: tuple[Any, ...],
    ) -> None:
        """A check that a ``HandWrittenKernel`` made."""
        total, grain, launch_args = launch
        passed = self._passed(launch_args), self._passed(arguments)
        if not all([self._is_constant(view.memory) for view in views_in(passed)]):
            self.operations.append(Check(kernel, total, grain, *passed, explain))

    def kernel(self, kernel: Any, total: int, grain: int, launch_args: tuple[Any, ...]) -> None:
        """A call of a ``HandWrittenKernel``."""
        for output in launch_args[: kernel.writes - kernel.updates]:
            if is_array(output):
                self.memory(output, made=id(root_of(output)) not in self.outside)
        passed = self._passed(launch_args)
        self.operations.append(Kernel(kernel, total, grain, passed))

    def forward(self, name: str, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        """``function(*arguments)``, the forward of an operator, which returns new arrays or views.

        Launches inside of it are noted as such, unless they read memory that Python made: then,
        and where nothing explains the result, the call is noted in their place.
        """
        before = len(self.operations), len(self.memories), len(self.constants)
        with capture.noting_exceptions():
            made = function(*arguments)
        if not self.paused:
            effect = self._forget_unexplained(before, arguments)
            self._result_of(name, function, arguments, made, effect)
        return made

    def _forget_unexplained(self, before: tuple[int, int, int], arguments: tuple[Any, ...]) -> bool:
        """Forget what a forward noted if it read memory of unknown origin.

        Returns whether what is forgotten drew random numbers.
        """
        operations, memories, constants = before
        new = dict(itertools.islice(self.memories.items(), memories, None))
        known = {id(root_of(x)) for x in arrays_in(arguments)} | self.outside
        known.update([id(array) for array in self.constants[constants:]])
        unknown = {memory for key, memory in new.items() if not memory.made and key not in known}
        inside = self.operations[operations:]
        written = {view.memory for operation in inside for view in operation.writes}
        if not unknown or not written.issubset(new.values()):
            return False
        del self.operations[operations:], self.constants[constants:]
        for key in new:
            del self.memories[key]
        return any([isinstance(x, Call) and x.effect for x in inside])

    def _result_of(
        self,
        name: str,
        function: Callable[..., Any],
        arguments: tuple[Any, ...],
        made: Any,
        effect: bool,
    ) -> None:
        """Note what a function made, unless operations noted before, or views, explain it."""
        outputs = made if isinstance(made, (tuple, list)) else (made,)
        if all([self.knows(x) or self._within(x, arguments) for x in outputs]):
            return
        if name in PARTS and is_array(made) and made.flags.c_contiguous:
            pieces = PARTS[name](made, *arguments)
            if all([array.dtype == part.dtype for array, part in pieces]):
                for array, part in pieces:
                    self.copy(array, part, made=True)
                return
        if name in COPIES and is_array(made) and made.dtype == arguments[0].dtype:
            self.copy(arguments[0], made, made=True)
        else:
            self._note(Call(name, function, (), (), effect=effect), arguments, made)

    def _within(self, array: Array, arguments: tuple[Any, ...]) -> bool:
        root = root_of(array)
        return any([root_of(x) is root for x in arrays_in(arguments)])

    def write(
        self,
        function: Callable[..., Any],
        *arguments: Any,
        effect: bool = False,
        exchanges: bool = False,
    ) -> None:
        """``function(*arguments)``, which writes its first argument and returns nothing."""
        with capture.noting_exceptions(), self.pause():
            function(*arguments)
        name = name_of(function)
        self.memory(arguments[0], made=id(root_of(arguments[0])) not in self.outside)
        passed = self._passed(arguments)
        written = (passed[0],)
        call = Call(name, function, passed, (), written, effect, exchanges=exchanges)
        self.operations.append(call)

    def check_written(self, array: Array) -> None:
        """Fail unless an operation since the last check writes the memory of an array."""
        root = root_of(array)
        new = self.operations[self._checked :]
        self._checked = len(self.operations)
        if not any([view.memory.array is root for each in new for view in each.writes]):
            self.fail("a write in place that no kernel does")

    def _passed(self, arguments: Any) -> Any:
        """Arguments with views in the places of arrays."""
        return mapped(arguments, self._passed_as)

    def _passed_as(self, argument: Any) -> Any:
        if is_array(argument):
            return self.view(argument)
        if is_given(argument):
            return argument.concrete()
        if id(argument) in self.numbers:
            self.fail("a number that changes from step to step, given to a Python function")
        return argument

    def _note(self, operation: Call, arguments: tuple[Any, ...], made: Any) -> Any:
        operation.arguments = self._passed(tuple(arguments))
        outputs = made if isinstance(made, (tuple, list)) else (made,)
        for each in outputs:
            if not is_array(each):
                self.fail(f"{operation.name}, which returns {type(each).__name__}")
                return made
        operation.outputs = tuple([self.view(x, made=True) for x in outputs])
        self.operations.append(operation)
        return made


__all__ = ["Trace"]
