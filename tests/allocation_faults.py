"""Allocations that fail on purpose: the n-th of a call, for every n, in a process of its own.

``test_allocation_faults.py`` runs this file as a program, with the names of cases (in
``allocation_cases.py``); it prints what it is at, so that a crash says where. The functions that
CPython allocates with are wrapped in compiled ones, which work in every Python that has a kernel;
they count the allocations of a call and refuse those that are asked for.
"""

from __future__ import annotations

import ctypes
import faulthandler
import gc
import os
import sys
from collections.abc import Callable, Iterator
from types import BuiltinFunctionType, CodeType
from typing import Any

import numpy as np

import numbagrad
from numbagrad.executor.builtin import launcher_address
from numbagrad.executor.cache import deferred, library

#: How many allocations fail, one after another. Not all that follow: CPython 3.11 tries for ever to
#: enter an exception handler.
MODES = {"alone": 1, "and two more": 3}
#: Repetitions of a call that fails: what is lost in each of them cannot be overlooked.
REPETITIONS = 12
#: Allocations that may be kept once by all of them, in the caches of the interpreter.
NOISE = REPETITIONS // 2

#: Calls until the interpreter has allocated what it keeps of functions, such as the caches of their
#: instructions: CPython 3.10 makes those at call 1024, and forgets the exception if it cannot.
CALLS_BEFORE = 1030

# Words of the state: whether to count, the count, and the range of numbers that fail.
ARMED, COUNT, FIRST, END = range(4)
# Words of the context of a domain: the state, and what CPython used before.
STATE, CONTEXT, MALLOC, CALLOC, REALLOC, FREE = range(6)

_FAILING = f"""
from numbagrad.codegen.atomics import call_2, call_5
from numbagrad.codegen.intrinsics import int64, load, store

def kernel({{parameters}}):
    state = load(context, {STATE}, int64)
    if load(state, {ARMED}, int64) != 0:
        number = load(state, {COUNT}, int64) + 1
        store(state, {COUNT}, number, int64)
        if number >= load(state, {FIRST}, int64) and number < load(state, {END}, int64):
            return 0
    return {{call}}
"""
_BEFORE = f"load(context, {{word}}, int64), load(context, {CONTEXT}, int64)"
_FREE = f"""
from numbagrad.codegen.atomics import call_2
from numbagrad.codegen.intrinsics import int64, load

def kernel(context, memory):
    call_2({_BEFORE.format(word=FREE)}, memory)
"""


def _compiled(name: str, word: int, *parameters: str) -> int:
    """An allocating function; the unused registers of a C call hold zeros."""
    call = "call_2" if len(parameters) == 1 else "call_5"
    zeros = ", 0, 0" if len(parameters) == 2 else ""
    call = f"{call}({_BEFORE.format(word=word)}, {', '.join(parameters)}{zeros})"
    source = _FAILING.format(parameters=", ".join(["context", *parameters]), call=call)
    signature = f"int64({', '.join(['int64'] * (1 + len(parameters)))})"
    return library.generated(f"failing_{name}", source, signature, code="calls")


class _Allocator(ctypes.Structure):
    """CPython's PyMemAllocatorEx."""

    _fields_ = [(name, ctypes.c_int64) for name in ("ctx", "malloc", "calloc", "realloc", "free")]


class Faults:
    """Counts allocations of CPython, in all three domains, and has some of them fail."""

    def __init__(self) -> None:
        self.state = (ctypes.c_int64 * 4)()
        functions = (
            _compiled("malloc", MALLOC, "size"),
            _compiled("calloc", CALLOC, "count", "size"),
            _compiled("realloc", REALLOC, "memory", "size"),
            library.generated("failing_free", _FREE, "void(int64, int64)", code="calls"),
        )
        self._kept = []
        for domain in range(3):
            allocator = _Allocator()
            ctypes.pythonapi.PyMem_GetAllocator(domain, ctypes.byref(allocator))
            before = [getattr(allocator, name) for name, _ in _Allocator._fields_]
            context = (ctypes.c_int64 * 6)(ctypes.addressof(self.state), *before)
            wrapped = _Allocator(ctypes.addressof(context), *functions)
            self._kept.append((context, wrapped))
            ctypes.pythonapi.PyMem_SetAllocator(domain, ctypes.byref(wrapped))

    def attempt(self, run: Callable[[], Any], first: int, end: int) -> Any:
        """What ``run()`` returns, or the exception, if allocations from ``first`` on fail."""
        state = self.state
        state[COUNT], state[FIRST], state[END] = 0, first, end
        state[ARMED] = 1
        try:
            found = run()
        except BaseException as error:
            state[ARMED] = 0
            found = error.with_traceback(None)
            found.__context__ = None
        state[ARMED] = 0
        return found


# --- which launchers run --------------------------------------------------------------------------


def launchers() -> dict[int, str]:
    """Launchers of this process, by address."""
    import allocation_cases

    found = {}
    for module, function in allocation_cases.all_launchers():
        address = launcher_address(function, module, compiling=False)
        if address:
            found[address] = f"{module}.{function}"
    return found


def address_of(builtin: BuiltinFunctionType) -> int:
    """Address of the C function of a builtin: ``m_ml->ml_meth``."""
    definition = ctypes.c_int64.from_address(id(builtin) + 16).value
    return ctypes.c_int64.from_address(definition + 8).value


def called(run: Callable[[], Any]) -> tuple[set[int], set[CodeType]]:
    """Addresses of the builtins with a table that Python calls, and Python functions."""
    builtins: set[int] = set()
    functions: set[CodeType] = set()

    def listen(frame: Any, event: str, argument: Any) -> None:
        if event == "c_call" and isinstance(getattr(argument, "__self__", None), np.ndarray):
            if isinstance(argument, BuiltinFunctionType):
                builtins.add(address_of(argument))
        elif event == "call":
            functions.add(frame.f_code)

    sys.setprofile(listen)
    try:
        run()
    finally:
        sys.setprofile(None)
    return builtins, functions


# --- cases ----------------------------------------------------------------------------------------


def described(found: Any) -> Any:
    """All that can be seen of a result."""
    if isinstance(found, numbagrad.Tensor):
        node = found.grad_fn
        array = np.asarray(found._array)
        history = None if node is None else (type(node).__name__, len(node.next_functions))
        return described(array), found.requires_grad, history, tuple(found.shape)
    if isinstance(found, np.ndarray):
        return found.shape, found.strides, found.dtype.str, found.tobytes()
    if isinstance(found, (list, tuple)):
        return [described(item) for item in found]
    return found


def say(*words: object) -> None:
    """Tell the parent at once."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


class Failure(Exception):
    """What a case found."""


class Check:
    """Runs one case with each of its allocations failing."""

    def __init__(self, case: Any, faults: Faults, lost: list[Any]):
        self.case, self.faults, self.lost = case, faults, lost
        self.raised = 0
        for _ in range(CALLS_BEFORE):
            case.reset()
            case.run()
        case.reset()
        self.states = [case.observe()]
        self.expected = described(case.run())
        self.states.append(case.observe())

    def ran_natively(self) -> None:
        """Raise unless it was the launchers that ran."""
        self.case.reset()
        builtins, functions = called(self.case.run)
        by_address = launchers()
        ran = {by_address[address] for address in builtins if address in by_address}
        if not set(self.case.launchers) <= ran:
            raise Failure(f"expected {self.case.launchers}, but of launchers {ran or 'none'} ran")
        # CPython 3.11 and 3.12 lose the arguments of a function that they cannot make the cells of,
        # and cells cost time in every call: no function that runs here has any.
        if cells := [(code.co_name, code.co_cellvars) for code in functions if code.co_cellvars]:
            raise Failure(f"variables of a lambda or a comprehension inside: {cells}")
        if python := {code.co_name for code in functions} & set(self.case.never):
            raise Failure(f"left to Python: {python}")

    def all(self) -> None:
        """Have each allocation fail; raise for the first that does harm."""
        self.case.reset()
        self.faults.attempt(self.case.run, 1 << 60, 1 << 60)
        total = self.faults.state[COUNT]
        for mode, span in MODES.items():
            for first in range(1, total + 1):
                where = f"allocation {first} of {total} {mode}"
                say("case", self.case.name, where)
                self.where = where
                self.one(first, first + span)
        if total and not self.raised:
            raise Failure("no MemoryError came through")

    def one(self, first: int, end: int) -> None:
        """Have some allocations fail, often enough to see what that loses."""
        for _ in range(3):
            self.repeat(3, first, end)
            self.reset()
            gc.collect()
            blocks = sys.getallocatedblocks()
            counts = [*map(sys.getrefcount, self.case.watched)]
            self.repeat(REPETITIONS, first, end)
            self.reset()
            gc.collect()
            blocks = sys.getallocatedblocks() - blocks
            after = map(sys.getrefcount, self.case.watched)
            changes = [now - count for now, count in zip(after, counts, strict=True)]
            if max(map(abs, [blocks, *changes])) <= NOISE:
                break  # else it may be the interpreter, which keeps a few objects of each kind
        else:
            raise Failure(f"{self.where}: {blocks} blocks more, references {changes}")
        self.reset()
        if described(self.case.run()) != self.expected:
            raise Failure(f"{self.where}: the next call is wrong")

    def reset(self) -> None:
        """Make all as it was before the first call."""
        self.case.reset()
        for thing in self.case.watched:
            if isinstance(thing, numbagrad.Tensor) and thing._version_cell is not None:
                del thing._version_cell[1:]  # the views that were made

    def repeat(self, times: int, first: int, end: int) -> None:
        """Repeat a call that fails, or does what it should."""
        for _ in range(times):
            self.reset()
            found = self.faults.attempt(self.case.run, first, end)
            if isinstance(found, MemoryError):
                self.raised += 1
                # NumPy tells the hook if it has no memory for the text of its error, and raises a
                # MemoryError without one: nothing is lost, but the list of what is would grow.
                self.lost.clear()
                if (seen := self.case.observe()) not in self.states:
                    raise Failure(f"{self.where}: half done, {seen}")
            elif isinstance(found, BaseException):
                raise Failure(f"{self.where}: {type(found).__name__}: {found}")
            elif described(found) != self.expected:
                raise Failure(f"{self.where}: a wrong result, {described(found)}")
            if self.lost:
                lost = self.lost[0]
                raise Failure(f"{self.where}: lost {lost.exc_value!r}, {lost.err_msg}")
            found = None


def cases_of(names: list[str]) -> Iterator[Any]:
    """The cases of these families."""
    import allocation_cases

    for name in names:
        for case in allocation_cases.FAMILIES[name]():
            case.family = name
            yield case


def main(names: list[str]) -> int:
    """Check cases; the exit code is 1 if something is wrong, which is printed."""
    faulthandler.enable()
    deferred.CALLS_WORTH_COMPILING = 0
    lost: list[Any] = []
    sys.unraisablehook = lost.append
    cases = list(cases_of(names))
    for case in cases:
        case.run()
    faults = Faults()
    gc.disable()
    gc.collect()
    gc.freeze()
    wrong = 0
    for case in cases:
        lost.clear()
        try:
            check = Check(case, faults, lost)
            check.ran_natively()
            check.all()
            say("fine", case.name, check.raised, "and nothing lost")
        except Failure as failure:
            wrong += 1
            say("WRONG", case.name, "-", failure)
    return 1 if wrong else 0


if __name__ == "__main__":
    os._exit(main(sys.argv[1:]))  # at once: the allocators are still those of ``Faults``
