"""The check of a new program: run once on copies of what the call was given, it has to do the same.

Called by ``call_capture.py``. An operator that went past the trace does not survive this, nor does
a number that became a constant unseen.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from .. import half_precision as half
from ..backend import foreign, on_host
from ..executor import capture
from ..executor.plan.operations import Array, Call
from ..program.input_numbers import NumberInputs
from ..program.program import Program, as_view
from ..program.trace import Trace
from ..program.traced_values import root_of
from ..random import Generator
from .captured_call import CapturedCall
from .effects import Unusable
from .snapshot import Snapshot


class RandomStates:
    """The generators of random numbers that a call can reach, as they were before it."""

    def __init__(self, generators: Iterable[Generator]):
        nothing = np.empty(0, np.int64)
        self._before = [(each, each.rewind(nothing)) for each in generators]

    @contextlib.contextmanager
    def repeated(self) -> Iterator[None]:
        """Draw the numbers of the call again inside the ``with`` block, and go on where it ended.

        Raises ``Unusable`` if other numbers were drawn than in the call.
        """
        after = [each.rewind(words) for each, words in self._before]
        try:
            yield
        finally:
            pairs = zip(self._before, after, strict=True)
            again = [(each.rewind(words), words) for (each, _), words in pairs]
        if not all([np.array_equal(found, words) for found, words in again]):
            raise Unusable("random numbers that something else drew meanwhile", may_settle=True)


def verify(
    program: Program,
    trace: Trace,
    before: Snapshot,
    copies: dict[int, Array],
    random: RandomStates,
) -> None:
    """Compare what the program does with what the captured call did.

    Args:
        program: the program, which was not run yet.
        trace: what captured the call.
        before: the tensors before the call.
        copies: the memory that the program is given, as it was, by the id of its owner.
        random: the generators before the call.
    """
    known = {id(view.memory.array) for view in program.given} | trace.managed
    for root in before.roots:
        if id(root) not in known and not _equal(root, copies[id(root)]):
            raise Unusable(f"a write to an array of shape {root.shape} that no kernel did")
    roots = [view.memory.array for view in program.given]
    copied = [copies[id(root)] for root in roots]
    rounding = Rounding(program, _before_writes(program, copied), trace.drawn, random)
    found = _outcome(program, copied, trace.drawn, random)
    expected = [*roots, *[memory.array for memory in program.results]]
    wrong = rounding.first_beyond(expected, found)
    if wrong is not None:
        raise Unusable(
            "a difference between the program and the call it was recorded from: something that "
            f"the program does not know of wrote an array of shape {expected[wrong].shape}"
        )


class Rounding:
    """Separates rounding differences of a fused program from real errors.

    Of memory that was there before the call, what the call added to it is compared: a small write
    that the program does not know of is as wrong as a large one. Most rounding is told by its size.
    But the gradient of a bias in front of a batch norm is zero, and what is computed for it is the
    rounding of what cancels out: two ways to compute it have nothing in common. So where outcomes
    differ, the program runs again on given arrays that are off by a unit in the last place or two;
    what that changes is no sign of an error.

    Args:
        program: the program.
        given: the arrays that it is given, as they are before it writes them.
        numbers: its numbers.
        random: the generators before the call.
    """

    #: Runs on other numbers: three, and more where these do not explain an outcome. A gradient that
    #: is rounding alone, as that of the bias of keys, may well keep its sign three times, and Adam
    #: makes a step of the sign.
    _RUNS = (3, 12)
    #: Times the change under rounding, of the element and of the middle one of its array.
    _ELEMENT, _ARRAY = 16, 64
    #: Units in the last place: of what is added, and of what it is added to.
    _OF_ADDED, _OF_STORED = 64, 2
    #: The largest relative difference that is told to be rounding by its size alone.
    _MOST = 1e-2

    def __init__(
        self,
        program: Program,
        given: Sequence[Array],
        numbers: Sequence[float],
        random: RandomStates,
    ):
        self._given = given
        self._outcome_of = lambda arrays: _outcome(program, arrays, numbers, random)
        self._generator = np.random.default_rng(0)
        self._remaining_runs = list(self._RUNS)
        self._changes: list[Array] | None = None

    def first_beyond(self, expected: Sequence[Array], found: Sequence[Array]) -> int | None:
        """The first array of ``found``, an outcome of the program, that is not as expected."""
        for k, (a, b) in enumerate(zip(expected, found, strict=True)):
            if a.shape != b.shape or a.dtype != b.dtype:
                return k
            a, b = on_host(a), on_host(b)
            while not self._agree(k, a, b):
                if half.readable(a).dtype.kind != "f" or not self._run_again(found):
                    return k
        return None

    def _agree(self, k: int, expected: Array, found: Array) -> bool:
        """Whether an array of the outcome is as expected, but for rounding as known so far."""
        floats = half.readable(expected).dtype.kind == "f"
        if np.array_equal(half.readable(expected), half.readable(found), equal_nan=floats):
            return True
        if not floats:
            return False
        unit = _unit(expected)
        share = min(self._OF_ADDED * unit, self._MOST)
        parts = range(0, expected.size, _BLOCK)
        with np.errstate(all="ignore"):
            scale = max([_largest(self._added(k, expected, start)) for start in parts])
            change = None if self._changes is None else self._changes[k]
            middle = 0.0 if change is None else self._ARRAY * float(np.median(change))
            for start in parts:
                a, b = self._added(k, expected, start), self._added(k, found, start)
                off, size = np.abs(b - a), np.abs(_block(expected, start))
                allowed = self._OF_STORED * unit * size + share * (np.abs(a) + scale)
                near = (off <= allowed) | (a == b) | (np.isnan(a) & np.isnan(b))
                if near.all():
                    continue
                if change is None:
                    return False
                allowed += self._ELEMENT * change[start : start + _BLOCK] + middle
                if not (near | (off <= allowed)).all():
                    return False
        return True

    def _added(
        self, k: int, array: Array, start: int, given: Sequence[Array] | None = None
    ) -> Array:
        """The sum that was added to a block of a given array, or the contents of a new one."""
        given = self._given if given is None else given
        now = _block(array, start)
        if k >= len(given):
            return now
        before = _block(on_host(given[k]), start)
        return now - np.where(np.isfinite(before), before, 0)

    def _run_again(self, found: Sequence[Array]) -> bool:
        """Learn more of how much rounding changes each element; False where no more can be told."""
        if not self._remaining_runs:
            return False
        if self._changes is None:
            self._changes = [np.zeros(array.size) for array in found]
        try:
            for _ in range(self._remaining_runs.pop(0)):
                self._measure(self._changes, found)
        except Exception:  # code of users may refuse such numbers: then nothing is explained
            self._remaining_runs.clear()
            return False
        return True

    def _measure(self, changes: Sequence[Array], found: Sequence[Array]) -> None:
        """Raise each element's change to that of one more run, in what the program adds."""
        given = [self._off(x) for x in self._given]
        made = self._outcome_of([x.copy("K") for x in given])
        for k, (change, a, b) in enumerate(zip(changes, found, made, strict=True)):
            a, b = on_host(a), on_host(b)
            if half.readable(a).dtype.kind != "f":
                continue
            for start in range(0, a.size, _BLOCK):
                part = change[start : start + _BLOCK]
                off = np.abs(self._added(k, a, start) - self._added(k, b, start, given))
                np.fmax(part, off, out=part)

    def _off(self, array: Array) -> Array:
        """A copy with floats up to two units nearer to zero, where domains do not end."""
        if (where := foreign(array)) is not None:
            return where.from_host(self._off(where.to_host(array)))
        if array.dtype.kind == "V":
            return half.converted(self._off(half.readable(array)), array.dtype)
        copied = array.copy("K")
        if array.dtype.kind == "f":
            units = self._generator.uniform(0, 2, array.shape) * np.finfo(array.dtype).eps
            np.multiply(copied, 1 - units, out=copied, casting="same_kind")
        return copied


#: Elements that are compared at once, in double precision.
_BLOCK = 1 << 18


def _block(array: Array, start: int) -> Array:
    """A block of the elements of an array, in double precision."""
    return half.readable(array.reshape(-1)[start : start + _BLOCK]).astype(np.float64)


def _largest(array: Array) -> float:
    """The largest finite size of an element."""
    return float(np.abs(array[np.isfinite(array)]).max(initial=0.0))


def _unit(array: Array) -> float:
    """A unit in the last place of 1, in the dtype of an array; bfloat16 has eight bits."""
    return 2.0**-7 if array.dtype.kind == "V" else float(np.finfo(array.dtype).eps)


class Previous:
    """An earlier capture of the same call with other numbers, just before it is captured again.

    What a number does that nobody noticed, as a constant that a function in C made of it, shows
    when the new program is given the old number: it then has to do what the old one does.
    """

    def __init__(self, captured: CapturedCall):
        self._program = captured.program
        self._numbers = captured.numbers
        self._roots = [root_of(array) for array in captured.given]

    def agrees(
        self,
        program: Program,
        trace: Trace,
        inputs: NumberInputs,
        copies: dict[int, Array],
        random: RandomStates,
    ) -> bool:
        """Whether the new program does the same, when both are given the old numbers."""
        old, roots = self._program, [view.memory.array for view in program.given]
        if len(old.given) != len(roots) or len(old.results) != len(program.results):
            return False
        others = [x for k, x in enumerate(trace.drawn) if k not in inputs.computed]
        present = dict(inputs.values)
        self._numbers.give(present)
        try:
            inputs.values.update(self._numbers.expected(present))
            with capture.without_recall():
                expected, found = [
                    _outcome(each, _copies(memory, copies), given.merged(others), random)
                    for each, memory, given in (
                        (old, self._roots, self._numbers.inputs),
                        (program, roots, inputs),
                    )
                ]
                before = [copies.get(id(root), root) for root in roots]
                rounding = Rounding(program, before, inputs.merged(others), random)
                return rounding.first_beyond(expected, found) is None
        finally:
            inputs.values.update(present)


def _outcome(
    program: Program, roots: Sequence[Array], numbers: Sequence[float], random: RandomStates
) -> list[Array]:
    """The memory that a program was given, after its run, and its results."""
    arrays = [as_view(root, view) for root, view in zip(roots, program.given, strict=True)]
    draws = any([isinstance(each, Call) and each.effect for each in program.operations])
    with random.repeated() if draws else contextlib.nullcontext(), capture.rehearsed():
        return [*roots, *program.run(arrays, numbers=numbers)]


def _copies(roots: Sequence[Array], copies: dict[int, Array]) -> list[Array]:
    """Copies of copies, for a program to write; what has none is a constant."""
    return [copies.get(id(root), root).copy("K") for root in roots]


def _equal(one: Array, other: Array) -> bool:
    return np.array_equal(on_host(one), on_host(other), _nan(one))


def _nan(array: Array) -> bool:
    """Whether elements of an array may be NaN, which is not equal to itself; bfloat16 is bits."""
    return array.dtype.kind == "f"


def _before_writes(program: Program, given: Sequence[Array]) -> list[Array]:
    """The arrays, and copies of those that a run of the program on them writes."""
    written = {id(view.memory) for each in program.operations for view in each.writes}
    return [
        array.copy("K") if id(view.memory) in written else array
        for array, view in zip(given, program.given, strict=True)
    ]


__all__ = ["Previous", "RandomStates", "Rounding", "verify"]
