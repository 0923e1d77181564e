"""Whether the calling thread captures what it computes, and where that goes.

The executor and the operators ask here; the trace itself is ``program/trace.py``. This module
imports nothing of the package but who holds arrays, so that everything can import it.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from ..backend import foreign_among

Function = TypeVar("Function", bound=Callable[..., Any])

#: The trace that is at work, of whatever thread; None most of the time.
active: Any = None

#: The profile function that listens for a capture, None most of the time.
listener: Any = None


class Outdated(RuntimeError):
    """Raised by a source of numbers if a program does not hold for the state that it reads.

    Nothing has run then, and the call is captured again.

    Attributes:
        source: the object whose state it is; see ``undo`` of :func:`numbers`.
    """

    def __init__(self, text: str, source: Any):
        super().__init__(text)
        self.source = source


class _Exclusive(threading.local):
    """Whether other threads wait for this one before they capture."""

    held = False


exclusive = _Exclusive()


class _Rehearsal(threading.local):
    """Whether this thread runs a new program to compare it with the call it was captured from."""

    active = False
    #: Whether outcomes of the captured call are known; an older program has forgotten its own.
    recalls = True


#: Operations on other processes repeat their outcome of the captured call while this is active.
rehearsal = _Rehearsal()


@contextlib.contextmanager
def rehearsed() -> Iterator[None]:
    """Have what acts on other processes repeat its outcome inside the ``with`` block."""
    rehearsal.active = True
    try:
        yield
    finally:
        rehearsal.active = False


@contextlib.contextmanager
def without_recall() -> Iterator[None]:
    """Have rehearsals inside the ``with`` block take a tensor itself for what comes of it.

    So two programs can be compared that were captured at different times.
    """
    rehearsal.recalls = False
    try:
        yield
    finally:
        rehearsal.recalls = True


def current_trace() -> Any:
    """The trace of this thread, or None if it does not capture."""
    found = active
    if found is None or found.paused or found.thread != threading.get_ident():
        return None
    return found


def hand_over(method: str, *arguments: Any) -> tuple[Any, ...]:
    """The result of the trace's ``method`` for a call that a launcher left to it, in a tuple.

    The tuple is empty if the capture has ended since the launcher looked: a function of a user's
    may run at any moment, as when garbage is collected. Then the launcher is called again.
    """
    found = current_trace()
    return () if found is None else (getattr(found, method)(*arguments),)


@contextlib.contextmanager
def unheard() -> Iterator[None]:
    """Compile inside the ``with`` block: nobody hears of the calls, which takes a third longer."""
    heard = sys.getprofile()
    if heard is None or heard is not listener:
        yield
        return
    sys.setprofile(None)
    try:
        yield
    finally:
        sys.setprofile(heard)


def attend_again() -> None:
    """Have the trace of this thread go on, after another one took its place for a while."""
    if active is not None and active.thread == threading.get_ident():
        active.attend_again()


def is_capturing() -> bool:
    """Whether this thread is inside of a capture, be it one that has ended early."""
    return active is not None and not active.observes and active.thread == threading.get_ident()


def needs_operators() -> bool:
    """Whether this thread looks at operators one by one: programs are to run as Python."""
    return active is not None and active.needs_operators and active.thread == threading.get_ident()


def computes() -> bool:
    """Whether kernels are to run, as always but while this thread traces what has no elements."""
    found = active
    return found is None or not found.traces or found.thread != threading.get_ident()


def call(function: Callable[..., Any], *arguments: Any) -> Any:
    """``function(*arguments)``, noted as one operation if this thread captures.

    For what makes arrays in Python: it is called again at each run of the program.
    """
    found = active and current_trace()
    if (where := foreign_among(arguments)) is not None:
        function, arguments = where.call, (function, *arguments)
    return function(*arguments) if found is None else found.call(function, *arguments)


def drawn(function: Callable[..., Any], *arguments: Any) -> Any:
    """``call`` of a function that draws random numbers: a program draws anew at each run."""
    found = active and current_trace()
    if (where := foreign_among(arguments)) is not None:
        function, arguments = where.call, (function, *arguments)
    if found is None:
        return function(*arguments)
    return found.call(function, *arguments, effect=True)


def check(function: Callable[..., None], *arguments: Any) -> None:
    """``function(*arguments)``, which raises or does nothing; in a program, at each run.

    A program calls it before all else where it can, so that a run that fails leaves nothing behind.
    """
    found = active and current_trace()
    if (where := foreign_among(arguments)) is not None:
        if not where.has_elements:
            return
        function, arguments = where.call, (function, *arguments)
    if found is None:
        function(*arguments)
    else:
        found.check(function, arguments)


@contextlib.contextmanager
def noting_exceptions() -> Iterator[None]:
    """Stop capturing if the ``with`` block raises: what then runs depends on values."""
    try:
        yield
    except Exception as error:
        found = current_trace()
        if found is not None:
            found.note_raised(error)
        raise


def note_check(kernel: Any, launch: Any, explain: Callable[..., None], arguments: Any) -> None:
    """Tell the trace of this thread, if it has one, of a check that a kernel made.

    ``launch`` is its total, its grain and its arguments; ``explain(*arguments)`` raises if it
    failed.
    """
    if active is not None:
        found = current_trace()
        if found is not None:
            found.note_check(kernel, launch, explain, arguments)


def note_kernel(kernel: Any, total: int, grain: int, launch_args: tuple[Any, ...]) -> None:
    """Tell the trace of this thread, if it has one, that a ``HandWrittenKernel`` ran."""
    found = current_trace()
    if found is not None:
        found.kernel(kernel, total, grain, launch_args)


def refuse(what: str) -> None:
    """Say that ``what`` cannot be part of a program: if this thread captures, it stops to."""
    if active is not None:
        found = current_trace()
        if found is not None:
            found.fail(what)


def outside_programs(what: str) -> Callable[[Function], Function]:
    """Decorate a function that cannot be part of a program: a capture ends where it is called.

    ``what`` says in the warning what it is, or does.
    """

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def call(*arguments: Any, **options: Any) -> Any:
            refuse(what)
            return function(*arguments, **options)

        return call  # type: ignore[return-value]

    return decorate


def note_fill(array: Any, value: Any, made: bool = True) -> None:
    """Tell the trace of this thread, if it has one, that an array was filled with a number."""
    if active is not None:
        found = current_trace()
        if found is not None:
            found.fill(array, value, made)


def forward(name: str, function: Callable[..., Any], arguments: list[Any]) -> Any:
    """The result of the forward of an operator; noted if this thread captures.

    As the launches that made it where these explain it, else as one call of the forward.
    """
    found = current_trace()
    if found is None:
        return function(*arguments)
    return found.forward(name, function, tuple(arguments))


def note_backward(tensors: Any) -> None:
    """Tell the trace of this thread, if it has one, that the graph of these was walked."""
    found = current_trace()
    if found is not None:
        found.when_walked(tensors)


def note_constant(array: Any) -> None:
    """Tell the trace of this thread, if it has one, of elements that shapes alone decide."""
    found = current_trace()
    if found is not None:
        found.constant(array)


def check_written(array: Any) -> None:
    """Stop capturing if nothing captured wrote this array: a write went past the trace."""
    found = current_trace()
    if found is not None:
        found.check_written(array)


def write(function: Callable[..., Any], array: Any, *arguments: Any) -> None:
    """``function(array, *arguments)``, which writes ``array``; noted if this thread captures."""
    found = active and current_trace()
    if found is None:
        function(array, *arguments)
    else:
        found.write(function, array, *arguments)


def note_copy(source: Any, target: Any, made: bool = False) -> None:
    """Tell the trace of this thread, if it has one, that elements were copied, one dtype."""
    if active is not None:
        found = current_trace()
        if found is not None:
            found.copy(source, target, made)


def numbers(
    source: Callable[[], tuple[float, ...]],
    options: dict[str, Any],
    anew: tuple[str, ...],
    positive: tuple[str, ...] = (),
) -> tuple[float, ...]:
    """The numbers that ``source`` computes; in a program, anew before each run.

    ``options`` is the dictionary it reads: entries named in ``anew`` may change between runs, those
    in ``positive`` as long as they are positive if they are now. A source that writes state has an
    attribute ``state``, an object whose method ``undo`` takes its last call back.
    """
    found = active and current_trace()
    if found is None:
        return source()
    found.anew += [(options, key, False) for key in anew if key in options]
    found.anew += [(options, key, True) for key in positive if dict.get(options, key, 0) > 0]
    return found.add_numbers(source)


def varies(number: Any) -> bool:
    """Whether the program that is being captured is given a number anew at each run."""
    return active is not None and hasattr(number, "concrete")


def manage(array: Any) -> None:
    """Say that the source of a program's numbers writes an array itself, at each run."""
    if active is not None and active.thread == threading.get_ident():
        active.manage(array)


def draw(function: Callable[..., Any], array: Any, *arguments: Any) -> None:
    """``function(array, *arguments)``, which fills ``array`` with random numbers."""
    found = current_trace()
    if found is None:
        function(array, *arguments)
    else:
        found.write(function, array, *arguments, effect=True)


def exchange(function: Callable[..., Any], array: Any, *arguments: Any) -> None:
    """``function(array, *arguments)``, which writes ``array`` with what other processes have.

    A program calls it at each run, in the order of the captured call, and not in a rehearsal. What
    it raises comes through: other processes would not take part in a second call of the function.
    """
    found = active and current_trace()
    if found is None:
        function(array, *arguments)
    else:
        found.write(function, array, *arguments, effect=True, exchanges=True)
