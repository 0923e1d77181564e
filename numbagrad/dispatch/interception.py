"""Interception: contexts that decide for each operator whether it is computed.

``utils/selective_checkpoint.py`` keeps the results of some operators in one context, and gives them
back in another one instead of computing them again. While such a context is open, an observer has
every operator of the thread come by Python (``program/observer.py``). Views compute nothing, and
writes in place have to happen: nobody is asked about them, or about what makes new tensors of
numbers. Modes (``utils/_python_dispatch.py``) see all there is, gradients as well, by the operators
that torch has: ``sees_all``.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..autograd import tensor_interface as interface
from ..executor import capture
from . import half_precision

if TYPE_CHECKING:
    from ..ops.operators.base import Operator
    from ..program.observer import Observer

__all__ = [
    "Interceptor", "call", "computed", "finished", "gradients", "innermost", "is_apart", "is_open",
    "only", "opened_before", "sees_all", "suspended", "written",
]  # fmt: skip

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
    made = computed(
        operator.seen_as,
        arguments,
        lambda: half_precision.computed(operator, arrays),
        operator.shown,
    )
    results = operator.finish(made, arguments)
    finished(operator.seen_as, arguments, results)
    return results


def sees_all() -> bool:
    """Whether one of the open interceptors sees gradients, and operators as torch composes them."""
    return any([interceptor.sees_all for interceptor in _state.interceptors])


def innermost() -> Interceptor | None:
    """The interceptor of this thread that was opened last."""
    return _state.interceptors[-1] if _state.interceptors else None


def opened_before(interceptor: Interceptor) -> list[Interceptor]:
    """The interceptors around the last opening of this one."""
    found = _state.interceptors
    return found[: _last(found, interceptor)]


def _last(interceptors: list[Interceptor], one: Interceptor) -> int:
    return max([k for k, other in enumerate(interceptors) if other is one])


def computed(
    operator: Any,
    arguments: tuple[Any, ...],
    compute: Compute,
    shown: Callable[[Any], Any] | None = None,
) -> Any:
    """The result arrays of ``compute()``, or those of an interceptor instead.

    ``operator`` is its name, or an object that stands for itself. ``shown`` picks the results among
    what ``compute`` makes, where there is more.
    """
    steps: Compute = lambda: _undisturbed(compute)  # noqa: E731
    for interceptor in _state.interceptors:
        steps = interceptor.step(operator, arguments, steps, shown)
    return steps()


def written(name: str, output: Any, operands: tuple[Any, ...], write: Callable[[], None]) -> None:
    """``write()``, which writes what an operator computes into ``output``, as modes have it."""
    in_place = bool(operands) and operands[0] is output

    def compute() -> Any:
        write()
        return output

    computed(f"{name}_" if in_place else name, operands, compute, lambda made: made)


def is_apart(name: str, arguments: tuple[Any, ...]) -> bool:
    """Whether an operator is to run as its definition: somebody sees all, and torch has none."""
    return sees_all() and not interface.aten_calls.is_one(name, arguments)


def gradients(
    name: str, arguments: tuple[Any, ...], grads: tuple[Any, ...], compute: Compute
) -> Any:
    """The gradients that a node computes at once, as the open interceptors that see all have them.

    ``name`` is that of the operator, ``arguments`` those that the node kept.
    """
    if not sees_all():
        return _undisturbed(compute)
    with suspended():
        made = interface.aten_calls.gradients_of(name, arguments, grads)
    steps: Compute = lambda: _undisturbed(compute)  # noqa: E731
    for interceptor in _state.interceptors:
        if interceptor.sees_all:
            steps = interceptor.step(made, (), steps, None)
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


def suspended() -> contextlib.AbstractContextManager[None]:
    """Compute as if no interceptor were open."""
    return only([])


@contextlib.contextmanager
def only(those: list[Interceptor]) -> Iterator[None]:
    """Compute as if, of the open interceptors, ``those`` alone were open."""
    interceptors = _state.interceptors
    if len(interceptors) == len(those):
        yield
        return
    _state.interceptors = those
    try:
        if those:
            yield
        else:
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
    #: Whether it sees gradients too, and what torch composes of operators as these.
    sees_all = False

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
        del _state.interceptors[_last(_state.interceptors, self)]
        self._opened.pop().close()

    def step(
        self, operator: Any, arguments: tuple[Any, ...], compute: Compute, shown: Any = None
    ) -> Compute:
        """The function to call instead of ``compute()``, which makes the arrays of the results.

        ``shown`` is that of ``computed``.
        """
        raise NotImplementedError

    def finished(self, operator: Any, arguments: tuple[Any, ...], results: tuple[Any, ...]) -> None:
        """See the results, Tensors with their history, once they were made."""
