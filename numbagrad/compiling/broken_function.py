"""A function with lines that no program can hold: compiled pieces around them, the rest as it is.

``function.py`` makes a ``BrokenFunction`` when a capture ends at a line. The function is cut
there (``splitting.py``); a piece that turns out to hold another such line cuts it again.
"""

from __future__ import annotations

import threading
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..autograd.grad_mode import state as grad_mode
from ..executor.threads.forking import new_lock
from ..nn import module_hooks
from ..nn.module import Module
from ..tensor import Tensor
from .call_capture import CallCapture
from .captured_call import CapturedCall
from .captured_function import CapturedFunction, Frames
from .delayed_warnings import warn
from .splitting import FunctionSource, PieceSource, Split

#: Lines that a function may be cut at.
_MOST_LINES = 32
#: Operations from which on a piece is worth calling its program.
_FEWEST_OPERATIONS = 4
#: Objects that a piece may be given in one place, each with programs of its own.
_MOST_OBJECTS = 4


class BrokenFunction:
    """A function that runs in pieces. Raises ``ValueError`` if it cannot be cut, and says why.

    Attributes:
        pieces: the compiled pieces, in order.
    """

    def __init__(self, function: Callable[..., Any], name: str, records_walks: bool):
        self.function = function
        self.name = name
        #: Whether its calls record walks, which graphs that programs leave do not allow.
        self.records_walks = records_walks
        self._target = target_of(function)
        source = getattr(self._target, "__func__", self._target)
        if not isinstance(source, types.FunctionType):
            raise ValueError("it is not written in Python")
        self._source = FunctionSource(source)
        self._codes = {source.__code__}
        self._lines = set(self._source.asking_lines)
        self._found: set[int] = set()
        self._whole: set[int] = set()
        self._foreign: set[str] = set()
        self._made: dict[Any, Piece] = {}
        self._lock = new_lock(self, threading.RLock)
        self.pieces: list[Piece] = []
        self._driver: Any = self._target
        #: While a call is explained: the pieces that ran, and their programs.
        self.collected: list[tuple[Piece, CapturedCall | None]] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._target is not self.function and not self._is_current():
            return self.function(*args, **kwargs)
        walks = grad_mode.recorded_walks
        try:
            return self._driver(*args, **kwargs)
        finally:
            if grad_mode.recorded_walks != walks and not self.records_walks:
                self._keep_graphs()

    def _keep_graphs(self) -> None:
        """Leave no graph of a program to the walks of later calls."""
        self.records_walks = True
        for piece in self.pieces:
            piece.keep_graphs()

    def call_and_find(
        self, *args: Any, **kwargs: Any
    ) -> tuple[Any, list[tuple[Piece, CapturedCall | None]]]:
        """The result of a call, and the pieces that ran in it, each with its program."""
        with self._lock:
            found: list[tuple[Piece, CapturedCall | None]] = []
            self.collected = found
            try:
                return self(*args, **kwargs), found
            finally:
                self.collected = None

    @property
    def left_to_python(self) -> list[int]:
        """The lines that the function is cut at."""
        return sorted(self._lines)

    def _is_current(self) -> bool:
        """Whether a call of the module, or object, is still one of the method that was cut."""
        target = target_of(self.function)
        same = getattr(target, "__func__", target) is self._source.function
        return same and not _has_hooks(self.function)

    def cut(self, frames: Frames) -> bool:
        """Cut the function at the line where a capture ended; False if it is not one of its own.

        A line that it was cut at before is left to Python as a whole.
        """
        line = next((at for code, at in frames if code in self._codes), None)
        with self._lock:
            if line is None or line in self._whole or len(self._found) >= _MOST_LINES:
                return False
            (self._whole if line in self._found else self._found).add(line)
            self._lines.add(line)
            self._split()
        return True

    def cut_at_changes(self, within: range | None = None) -> list[int]:
        """Cut the function where it may write state of Python; returns the lines that are new."""
        with self._lock:
            found = self._source.changing_lines - self._lines
            if within is not None:
                found &= set(within)
            if found:
                self._lines |= found
                self._split()
        return sorted(found)

    def keep_from_pieces(self, names: set[str]) -> None:
        """Leave the statements to Python that read these local names."""
        with self._lock:
            self._foreign |= names
            self._split()

    def _split(self) -> None:
        split = Split(self._source, self._lines, self._whole, self._foreign)
        pieces: list[Piece] = []

        def compiled(source: PieceSource, function: types.FunctionType) -> Piece:
            key = source.first, source.last, source.inputs, source.outputs, function.__code__
            if key not in self._made:
                self._made[key] = Piece(function, source, self)
            self._codes.add(function.__code__)
            pieces.append(self._made[key])
            return pieces[-1]

        driver = split.made(compiled)
        self._codes.add(driver.__code__)
        bound = getattr(self._target, "__self__", None)
        self._driver = driver if bound is None else types.MethodType(driver, bound)
        self.pieces = pieces


_CALLS = (Module.__call__, Module._call_impl)


def target_of(function: Callable[..., Any]) -> Any:
    """The function to cut in place of another: ``forward`` of a module, the call of an object."""
    if isinstance(function, types.MethodType) and function.__func__ in _CALLS:
        module: Any = function.__self__
        return module.forward
    if isinstance(function, (types.FunctionType, types.MethodType)):
        return function
    return function.__call__  # type: ignore[operator]


def _has_hooks(function: Any) -> bool:
    """Whether calling a module does more than calling its ``forward``."""
    module = getattr(function, "__self__", None)
    if not isinstance(module, Module):
        return False
    own = (
        module._forward_hooks, module._forward_pre_hooks, module._backward_hooks,
        module._backward_pre_hooks,
    )  # fmt: skip
    return any(own) or module_hooks.EVERY_MODULE.of_calls


class Piece(CapturedFunction):
    """A run of statements of a function, compiled."""

    _is_piece = True

    def __init__(self, function: types.FunctionType, source: PieceSource, owner: BrokenFunction):
        super().__init__(function)
        self._source = source
        self._owner = owner
        #: The objects, other than tensors and plain values, that it was given for a name.
        self._objects: dict[str, set[int]] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        collected = self._owner.collected
        if collected is None:
            return super().__call__(*args, **kwargs)
        self._owner.collected = None
        try:
            result, captured = self.call_and_find(*args)
        finally:
            self._owner.collected = collected
        collected.append((self, captured))
        return result

    @property
    def where(self) -> str:
        """The lines it consists of."""
        first, last = self._source.first, self._source.last
        lines = f"line {first}" if first == last else f"lines {first} to {last}"
        return f"{self._owner.name}, {lines}"

    def keep_graphs(self) -> None:
        """Run uncompiled from now on if a program leaves a graph: no walk of it is recorded."""
        if any([each.leaves_graph for found in self._programs.values() for each in found]):
            self._given_up = True
            self._quick = self._direct = None

    def _record(self, key: Any, call_capture: CallCapture) -> Any:
        foreign = self._foreign(call_capture.args)
        if foreign:
            self._given_up = True
            self._owner.keep_from_pieces(foreign)
            return self._function(*call_capture.args)
        return super()._record(key, call_capture)

    def _foreign(self, args: tuple[Any, ...]) -> set[str]:
        """The names of what no program is given: memory of NumPy, and ever new objects."""
        found = set()
        for name, value in zip(self._source.inputs, args, strict=True):
            if isinstance(value, (np.ndarray, Iterator)):
                found.add(name)
            elif not isinstance(value, (Tensor, bool, int, float, str, list, tuple, dict)):
                objects = self._objects.setdefault(name, set())
                objects.add(id(value))
                if len(objects) > _MOST_OBJECTS:
                    found.add(name)
        return found

    def _pays(self, captured: CapturedCall) -> bool:
        if self._owner.records_walks and captured.leaves_graph:
            return False
        programs = [program for program in captured.programs if program is not None]
        operators = [max(len(x.parts), 1) for program in programs for x in program.operations]
        return sum(operators) >= _FEWEST_OPERATIONS

    def _cut_at_changes(self, reason: str) -> None:
        found = self._owner.cut_at_changes(range(self._source.first, self._source.last + 1))
        if found:
            self._given_up = True
            how = f"is compiled in pieces, because of {reason}"
            warn(f"compile: {self._owner.name} {how}{_at(found)}")

    def _stop_capture(self, reason: str, frames: Frames) -> None:
        self._given_up = True
        lines = range(self._source.first, self._source.last + 1)
        if self._owner.cut(frames) or self._owner.cut_at_changes(lines):
            said = f"compile: {self._owner.name} is compiled in pieces, because of {reason}"
        else:
            said = f"compile: {self.where}, runs uncompiled, because of {reason}"
        warn(said)


def _at(lines: list[int]) -> str:
    return f", at line {', '.join(map(str, lines))}"


__all__ = ["BrokenFunction", "Piece"]
