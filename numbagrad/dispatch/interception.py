"""Interception: contexts that decide for each operator whether it is computed.

``utils/selective_checkpoint.py`` keeps the results of some operators in one context, and gives them
back in another one instead of computing them again. While such a context is open, an observer has
every operator of the thread come by Python (``program/observer.py``). Views compute nothing, and
writes in place have to happen: nobody is asked about them, or about what makes new tensors of
numbers.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..executor import capture
from . import half_precision

if TYPE_CHECKING:
    from ..ops.operators.base import Operator
    from ..program.observer import Observer

__all__ = ["Interceptor", "call", "computed", "finished", "is_open", "suspended"]

Compute = Callable[[], Any]


class _State(threading.local):
    """The interceptors that one thread has entered."""

    def __init__(self) -> None:
        self.interceptors: list[Interceptor] = []


_state = _State()


def is_open() -> bool:
    """Whether an interceptor is open in this thread."""
    return bool(_state.interceptors)


def call(operator: Operator, arguments: Sequence[Any], arrays: list[Any]) -> Any:
    """An operator, as the open interceptors have it; the one opened last is asked first."""
    arguments = tuple(arguments)
    made = computed(operator.seen_as, arguments, lambda: half_precision.computed(operator, arrays))
    results = operator.finish(made, arguments)
    finished(operator.seen_as, arguments, results)
    return results


def computed(operator: Any, arguments: tuple[Any, ...], compute: Compute) -> Any:
    """The result arrays of ``compute()``, or those of an interceptor instead.

    ``operator`` is its name, or an object that stands for itself.
    """
    steps: Compute = lambda: _undisturbed(compute)  # noqa: E731
    for interceptor in _state.interceptors:
        steps = interceptor.step(operator, arguments, steps)
    return steps()


def finished(operator: Any, arguments: tuple[Any, ...], results: Any) -> None:
    """Show the results, Tensors with their history."""
    outputs = results if results.__class__ is tuple else (results,)
    interceptors = _state.interceptors
    with suspended():
        for interceptor in reversed(interceptors):
            interceptor.finished(operator, arguments, outputs)


def _undisturbed(compute: Compute) -> Any:
    """``compute()``, which may be made of operators that nobody is asked about."""
    with suspended():
        return compute()


@contextlib.contextmanager
def suspended() -> Iterator[None]:
    """Compute as if no interceptor were open."""
    interceptors = _state.interceptors
    if not interceptors:
        yield
        return
    _state.interceptors = []
    try:
        with interceptors[0].observer.pause():
            yield
    finally:
        _state.interceptors = interceptors


class Interceptor:
    """A context in which operators are asked about; may be opened again after it was left.

    Only one thread at a time has such contexts open: others wait, also those that are about to
    record a program.
    """

    observer: Observer

    def __init__(self) -> None:
        self._opened: list[contextlib.ExitStack] = []

    def __enter__(self) -> Interceptor:
        opened = contextlib.ExitStack()
        interceptors = _state.interceptors
        if interceptors:
            self.observer = interceptors[0].observer
        else:
            capture.refuse("a selective checkpoint")
            from ..program.observer import Observer  # few programs need it

            self.observer = Observer()
            self.observer.needs_operators = True
            opened.enter_context(self.observer.instead())
        interceptors.append(self)
        self._opened.append(opened)
        return self

    def __exit__(self, *exception: object) -> None:
        _state.interceptors.remove(self)
        self._opened.pop().close()

    def step(self, operator: Any, arguments: tuple[Any, ...], compute: Compute) -> Compute:
        """The function to call instead of ``compute()``, which makes the arrays of the results."""
        raise NotImplementedError

    def finished(self, operator: Any, arguments: tuple[Any, ...], results: tuple[Any, ...]) -> None:
        """See the results, Tensors with their history, once they were made."""
